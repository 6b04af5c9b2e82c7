//! A weighted draw in which clusters do not disturb each other.
//!
//! Each cluster draws a number of its own from the hash of the draw and its name, and the weights stretch it
//! (Efraimidis and Spirakis' exponential keys). So a cluster that comes or goes takes or leaves one place and moves
//! nobody else.

use sha2::{Digest, Sha256};

use crate::Chosen;

pub(crate) fn weighted<'a>(chosen: &'a [Chosen], n: usize, draw: &str) -> Vec<&'a Chosen> {
    let unscored = chosen.iter().all(|chosen| chosen.score.is_none());
    let mut drawn: Vec<(bool, f64, &Chosen)> = chosen
        .iter()
        .map(|chosen| {
            let weight = if unscored { 1 } else { chosen.score.unwrap_or(0) };
            let ticket = -uniform(draw, chosen).ln();
            if weight > 0 {
                (false, ticket / weight as f64, chosen)
            } else {
                (true, ticket, chosen)
            }
        })
        .collect();
    drawn.sort_by(|a, b| {
        let numbers = a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        numbers.then_with(|| a.2.cluster.cmp(&b.2.cluster))
    });
    drawn.truncate(n);
    drawn.into_iter().map(|(_, _, chosen)| chosen).collect()
}

/// A number above 0 and below 1 that depends on the draw and the cluster alone.
fn uniform(draw: &str, chosen: &Chosen) -> f64 {
    let mut hash = Sha256::new();
    for part in [draw, &chosen.cluster.namespace, &chosen.cluster.name] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let head = digest
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    // As many bits as a double holds, and half a step so that the logarithm is finite.
    ((head >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}
