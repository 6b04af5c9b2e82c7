//! Steady: clusters that the placement already uses score higher.

use std::borrow::Cow;
use std::sync::Arc;

use super::{BuiltIn, Input, MAX_SCORE, Prioritizer, Scored};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    name: "Steady",
    default_weight: 1,
    make: || Arc::new(Steady),
};

#[derive(Debug)]
struct Steady;

impl Prioritizer for Steady {
    fn name(&self) -> Cow<'_, str> {
        BUILT_IN.name.into()
    }

    fn score(&self, input: &Input<'_>) -> Scored {
        let score = |cluster| {
            if input.in_decision.contains(cluster) {
                MAX_SCORE
            } else {
                0
            }
        };
        Scored {
            scores: input.clusters.iter().map(|&cluster| score(cluster)).collect(),
            ..Scored::default()
        }
    }

    fn prefers_selected(&self) -> bool {
        true
    }
}
