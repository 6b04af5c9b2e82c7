//! ResourceAllocatableCPU and ResourceAllocatableMemory: clusters with more allocatable resources score higher.

use super::{Input, Scored, scale};

/// `column` holds the allocatable amount of each cluster of the fleet.
pub(crate) fn score(input: &Input<'_>, column: &[f64]) -> Scored {
    let values: Vec<f64> = input
        .clusters
        .iter()
        .map(|cluster| column.get(cluster.index()).copied().unwrap_or(f64::NAN))
        .collect();
    Scored {
        scores: scale::scores(&values),
        ..Scored::default()
    }
}
