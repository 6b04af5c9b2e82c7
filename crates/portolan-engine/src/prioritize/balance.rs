//! Balance: clusters that other placements use less score higher.

use super::{Input, MAX_SCORE, Scored};

pub(crate) fn score(input: &Input<'_>) -> Scored {
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

/// Even numbers from −100 (the most used cluster of the hub) to 100 (never used). The order of the float operations
/// is OCM's: any other gives results that differ by 2.
pub(crate) fn usage_score(count: u32, max: u32) -> i64 {
    if max == 0 {
        return MAX_SCORE;
    }
    2 * super::scale::truncate(MAX_SCORE as f64 * (0.5 - f64::from(count) / f64::from(max)))
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
