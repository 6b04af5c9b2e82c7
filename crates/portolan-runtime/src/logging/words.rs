//! Short texts for log lines.

use std::time::Duration;

use crate::failure::shortened;

/// Names shown of the clusters that a decision won or lost.
const NAMES: usize = 5;
/// Characters of all names together: names may have 253 each.
const LONGEST: usize = 200;

/// `45s`, `2m30s`, `1h5m`: as short as it can be read.
pub fn time_span(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// `+east +north -west`, with a count in place of the names beyond the first five of each.
pub fn change(added: &[String], removed: &[String]) -> String {
    let part = |sign: char, names: &[String]| {
        let mut words: Vec<String> = names
            .iter()
            .take(NAMES)
            .map(|name| format!("{sign}{name}"))
            .collect();
        if let Some(more) = names.len().checked_sub(NAMES).filter(|more| *more > 0) {
            words.push(format!("{sign}{more} more"));
        }
        words
    };
    shortened(
        &[part('+', added), part('-', removed)].concat().join(" "),
        LONGEST,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_span_is_short() {
        for (millis, expected) in [
            (1_234, "1.2s"),
            (45_000, "45s"),
            (150_000, "2m30s"),
            (3_900_000, "1h5m"),
        ] {
            assert_eq!(time_span(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn a_change_names_the_first_clusters_and_counts_the_rest() {
        let names = |count: usize| (1..=count).map(|number| format!("c{number}")).collect::<Vec<_>>();
        assert_eq!(change(&names(2), &names(1)), "+c1 +c2 -c1");
        assert_eq!(change(&names(7), &[]), "+c1 +c2 +c3 +c4 +c5 +2 more");
        let long = vec!["x".repeat(253); 100];
        assert!(change(&long, &long).chars().count() <= LONGEST + 1);
    }
}
