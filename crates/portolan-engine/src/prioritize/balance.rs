//! Balance: clusters that other placements use less score higher.

use std::borrow::Cow;
use std::sync::Arc;

use super::{BuiltIn, Input, MAX_SCORE, Prioritizer, Scored, scale};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    name: "Balance",
    default_weight: 1,
    make: || Arc::new(Balance),
};

#[derive(Debug)]
struct Balance;

impl Prioritizer for Balance {
    fn name(&self) -> Cow<'_, str> {
        BUILT_IN.name.into()
    }

    fn score(&self, input: &Input<'_>) -> Scored {
        let counts = &input.fleet.counts;
        let max = counts.max_without(input.counted.counted());
        let mut own = input.counted.counted().peekable();
        let scores = input
            .clusters
            .iter()
            .map(|&cluster| {
                // Both lists are in id order, so one walk finds the placement's own entries.
                while own.peek().is_some_and(|(other, _)| *other < cluster) {
                    own.next();
                }
                let own = own
                    .peek()
                    .filter(|(other, _)| *other == cluster)
                    .map_or(0, |(_, entries)| *entries);
                usage_score(counts.of(cluster).saturating_sub(own), max)
            })
            .collect();
        Scored {
            scores,
            ..Scored::default()
        }
    }

    fn counts_other_placements(&self) -> bool {
        true
    }
}

/// Even numbers from −100 (the most used cluster of the hub) to 100 (never used). The order of the float operations
/// is OCM's: any other gives results that differ by 2.
fn usage_score(count: u32, max: u32) -> i64 {
    if max == 0 {
        return MAX_SCORE;
    }
    2 * scale::truncate(MAX_SCORE as f64 * (0.5 - f64::from(count) / f64::from(max)))
}

#[cfg(test)]
mod tests {
    use super::usage_score;

    #[test]
    fn balance_gives_ocms_numbers() {
        for (count, max, expected) in [
            (7, 9, -54),
            (3, 9, 32),
            (1, 9, 76),
            (0, 9, 100),
            (2, 5, 18),
            (7, 10, -38),
            (0, 0, 100),
        ] {
            assert_eq!(usage_score(count, max), expected, "{count}/{max}");
        }
    }
}
