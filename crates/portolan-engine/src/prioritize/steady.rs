//! Steady: clusters that the placement already uses score higher.

use super::{Input, MAX_SCORE, Scored};

pub(crate) fn score(input: &Input<'_>) -> Scored {
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
