//! Property: clusters with a larger number in a claim (or ClusterProfile property) score higher; a negative weight
//! turns that round.

use super::{Input, Scored, scale};
use crate::quantity;

pub(crate) fn score(input: &Input<'_>, property: &str) -> Scored {
    let value = |text: &str| quantity::as_float(text.trim()).filter(|value| value.is_finite());
    let values: Vec<f64> = input
        .clusters
        .iter()
        .map(|&id| {
            input
                .fleet
                .cluster(id)
                .and_then(|c| c.claim(property))
                .and_then(value)
                .unwrap_or(f64::NAN)
        })
        .collect();
    Scored {
        is_unpublished: !values.is_empty() && values.iter().all(|value| value.is_nan()),
        scores: scale::scores(&values),
        ..Scored::default()
    }
}
