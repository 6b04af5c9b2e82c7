//! ResourceAllocatableCPU and ResourceAllocatableMemory: clusters with more allocatable resources score higher.

use super::{Input, Scored, scale};

/// `column` holds the allocatable amount of each cluster of the fleet.
pub(crate) fn score(input: &Input<'_>, column: &[f64]) -> Scored {
    let values: Vec<f64> = input
        .clusters
        .iter()
        .map(|cluster| column.get(cluster.index()).copied().unwrap_or(f64::NAN))
        .collect();
    let unknown = input
        .clusters
        .iter()
        .zip(&values)
        .filter(|(_, value)| value.is_nan());
    Scored {
        scores: scale::scores(&values),
        missing: unknown.map(|(cluster, _)| *cluster).collect(),
        ..Scored::default()
    }
}
