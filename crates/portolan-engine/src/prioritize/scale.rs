//! Min–max scaling to −100..100, shared by the resource and property prioritizers.

use super::MAX_SCORE;
use crate::sabotage::{Rule, sabotaged};

/// Scores for `values`, NaN meaning "no data": such a cluster gets 0, the middle, and does not move the scale.
pub(crate) fn scores(values: &[f64]) -> Vec<i64> {
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for &value in values {
        // Comparisons with NaN are false, which is what is wanted.
        if value < min {
            min = value;
        }
        if value > max {
            max = value;
        }
    }
    values
        .iter()
        .map(|&value| {
            if value.is_nan() {
                0
            } else {
                scaled(value, min, max)
            }
        })
        .collect()
}

/// The order of the float operations is OCM's: any other gives results that differ by 1.
pub(crate) fn scaled(value: f64, min: f64, max: f64) -> i64 {
    if max == min {
        return MAX_SCORE;
    }
    truncate(((value - min) / (max - min) - 0.5) * 2.0 * MAX_SCORE as f64)
}

/// Go's conversion of a float to an integer: towards zero.
pub(crate) fn truncate(score: f64) -> i64 {
    if sabotaged(Rule::ExactNumbers) {
        return score.round() as i64;
    }
    score as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_gives_ocms_numbers() {
        assert_eq!(scores(&[1.0, 2.0, 3.0, 8.0]), [-100, -71, -42, 100]);
        assert_eq!(scaled(0.7, 0.0, 1.0), 39);
        assert_eq!(scaled(0.6, 0.0, 1.0), 19);
        assert_eq!(scores(&[4.0, 4.0]), [100, 100]);
    }

    #[test]
    fn a_cluster_without_data_is_in_the_middle_and_does_not_move_the_scale() {
        assert_eq!(scores(&[f64::NAN, 1.0, 2.0]), [0, -100, 100]);
        assert_eq!(scores(&[f64::NAN]), [0]);
    }
}
