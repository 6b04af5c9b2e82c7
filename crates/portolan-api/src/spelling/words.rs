//! Likeness of words.

use std::cmp::Reverse;

/// Words longer than this are not compared: no field name is, and the comparison is quadratic.
const MAX_WORD: usize = 64;

/// How many letters two words that mean the same may differ in.
const MAX_DISTANCE: usize = 2;

/// The candidate closest to the word: equal but for case and separators, or at most two edits away. Of several
/// equally close ones the one wins that begins like the word for longest, then the one with the nearest number at its end
/// (member-8 for member-9), then the first in order.
pub(super) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD {
        return None;
    }
    let folded = fold(word);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let distance = if fold(candidate) == folded {
                0
            } else {
                distance(&folded, &fold(candidate))
            };
            // Two edits turn any short word into any other.
            let limit = MAX_DISTANCE.min(candidate.chars().count() / 3);
            (distance <= limit).then_some((distance, candidate))
        })
        .min_by_key(|(distance, candidate)| {
            let prefix = common_prefix(&folded, &fold(candidate));
            (*distance, Reverse(prefix), number_distance(word, candidate))
        })
        .map(|(_, candidate)| candidate)
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// How far apart the numbers at the ends of two words are; as far as can be where one of them has none.
fn number_distance(a: &str, b: &str) -> u64 {
    let number = |word: &str| {
        let start = word
            .trim_end_matches(|letter: char| letter.is_ascii_digit())
            .len();
        word[start..].parse::<u64>().ok()
    };
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.abs_diff(b),
        _ => u64::MAX,
    }
}

fn fold(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// The duration that is meant by a number with a unit that durations do not have: `50min` is `50m`, `2d` is `48h`.
pub(super) fn duration(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let (factor, unit) = match unit.trim().to_ascii_lowercase().as_str() {
        "sec" | "secs" | "second" | "seconds" => (1, "s"),
        "min" | "mins" | "minute" | "minutes" => (1, "m"),
        "hr" | "hrs" | "hour" | "hours" => (1, "h"),
        "d" | "day" | "days" => (24, "h"),
        "w" | "week" | "weeks" => (24 * 7, "h"),
        _ => return None,
    };
    Some(format!("{}{unit}", number.checked_mul(factor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_found() {
        let names = [
            "clusterSets",
            "decisionStrategy",
            "numberOfClusters",
            "type",
            "all",
        ];
        let cases = [
            ("DecisionStrategy", Some("decisionStrategy")),
            ("decision_strategy", Some("decisionStrategy")),
            ("decisionStategy", Some("decisionStrategy")),
            ("clusterSet", Some("clusterSets")),
            ("numberOfCluster", Some("numberOfClusters")),
            ("tpye", Some("type")),
            ("any", None),
            ("replicas", None),
            ("", None),
        ];
        for (word, right) in cases {
            assert_eq!(closest(word, names), right, "{word}");
        }
        assert_eq!(closest(&"x".repeat(10 << 20), names), None);
    }

    #[test]
    fn of_equally_close_names_the_one_with_the_nearest_number_is_meant() {
        let members = ["member-1", "member-2", "member-7", "member-8", "member-10"];
        assert_eq!(closest("member-9", members), Some("member-8"));
        assert_eq!(closest("member-11", members), Some("member-10"));
        assert_eq!(
            closest("prodd", ["rodd", "prod"]),
            Some("prod"),
            "it begins alike"
        );
        assert_eq!(
            closest("weby", ["webx", "webz"]),
            Some("webx"),
            "the first in order"
        );
    }

    #[test]
    fn durations_with_foreign_units_are_put_right() {
        for (wrong, right) in [
            ("50min", "50m"),
            ("2d", "48h"),
            ("3 hours", "3h"),
            ("1w", "168h"),
            ("10secs", "10s"),
        ] {
            assert_eq!(duration(wrong).as_deref(), Some(right), "{wrong}");
        }
        for fine in [
            "50m",
            "1h30m",
            "None",
            "",
            "99999999999999999999d",
            "18446744073709551615d",
        ] {
            assert_eq!(duration(fine), None, "{fine}");
        }
    }
}
