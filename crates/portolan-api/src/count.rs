//! Counted nouns: every message that says how many of something there are takes its words from here.

use std::fmt::Display;

/// Any whole number.
pub trait Number: Copy + Display + PartialEq + From<u8> {}

impl<N: Copy + Display + PartialEq + From<u8>> Number for N {}

/// A number with its noun: `1 entry`, `2 entries`. The noun is singular and may have words before it.
pub fn counted(count: impl Number, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// The noun for so many.
pub fn plural<N: Number>(count: N, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == N::from(1) => noun.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

/// The verb for so many: `is` or `are`.
pub fn are<N: Number>(count: N) -> &'static str {
    match count == N::from(1) {
        true => "is",
        false => "are",
    }
}

/// Any other verb, or pronoun, for so many: `agree(1, "waits", "wait")` is `waits`.
pub fn agree<'w, N: Number>(count: N, one: &'w str, many: &'w str) -> &'w str {
    match count == N::from(1) {
        true => one,
        false => many,
    }
}

/// Some of a number of things: `0 of 1 cluster`, `2 of 3 clusters`.
pub fn part(count: impl Number, all: impl Number, noun: &str) -> String {
    format!("{count} of {}", counted(all, noun))
}

/// The same with its verb: `0 of 1 cluster is`, `2 of 3 clusters are`.
pub fn part_are<N: Number>(count: N, all: N, noun: &str) -> String {
    let verb = match all == N::from(1) {
        true => are(all),
        false => are(count),
    };
    format!("{} {verb}", part(count, all, noun))
}

/// Every one of a number of things: `the only cluster`, `all 2 clusters`.
pub fn all<N: Number>(count: N, noun: &str) -> String {
    match count == N::from(1) {
        true => format!("the only {noun}"),
        false => format!("all {}", counted(count, noun)),
    }
}

/// The same with its verb: `the only cluster is`, `all 2 clusters are`.
pub fn all_are(count: impl Number, noun: &str) -> String {
    format!("{} {}", all(count, noun), are(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_is_singular_for_one_and_plural_for_every_other_number() {
        let said = [0_usize, 1, 2].map(|count| counted(count, "bound cluster"));
        assert_eq!(said, ["0 bound clusters", "1 bound cluster", "2 bound clusters"]);
        assert_eq!(
            [counted(1_u64, "entry"), counted(2_u64, "entry")],
            ["1 entry", "2 entries"]
        );
        assert_eq!(counted(2_i32, "day"), "2 days");
        let verbs = [0_usize, 1, 2].map(|count| agree(count, "waits", "wait"));
        assert_eq!(verbs, ["wait", "waits", "wait"]);
        assert_eq!(
            [all_are(1_u32, "work"), all_are(3_u32, "work")],
            ["the only work is", "all 3 works are"]
        );
        let parts = [(0, 1), (1, 1), (0, 3), (1, 3), (2, 3)].map(|(count, all)| part_are(count, all, "work"));
        assert_eq!(
            parts,
            [
                "0 of 1 work is",
                "1 of 1 work is",
                "0 of 3 works are",
                "1 of 3 works is",
                "2 of 3 works are"
            ]
        );
    }
}
