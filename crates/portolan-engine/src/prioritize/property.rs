//! Property: clusters with a larger number in a claim (or ClusterProfile property) score higher; a negative weight
//! turns that round.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Input, Prioritizer, Reads, Scored, scale};
use crate::quantity;

#[derive(Debug)]
pub(super) struct Property {
    property: Arc<str>,
}

impl Property {
    pub(super) fn of(property: &str) -> Property {
        Property {
            property: property.into(),
        }
    }
}

impl Prioritizer for Property {
    fn name(&self) -> Cow<'_, str> {
        format!("Property/{}", self.property).into()
    }

    fn score(&self, input: &Input<'_>) -> Scored {
        let value = |text: &str| quantity::as_float(text.trim()).filter(|value| value.is_finite());
        let values: Vec<f64> = input
            .clusters
            .iter()
            .map(|&id| {
                input
                    .fleet
                    .cluster(id)
                    .and_then(|c| c.claim(&self.property))
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

    fn reads(&self) -> Vec<Reads> {
        vec![Reads::Claim(self.property.clone())]
    }
}
