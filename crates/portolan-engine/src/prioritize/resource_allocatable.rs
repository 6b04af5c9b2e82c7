//! ResourceAllocatableCPU and ResourceAllocatableMemory: clusters with more allocatable resources score higher.

use std::borrow::Cow;
use std::sync::Arc;

use super::{BuiltIn, Input, Prioritizer, Reads, Scored, scale};

pub(super) const CPU: BuiltIn = BuiltIn {
    name: "ResourceAllocatableCPU",
    default_weight: 0,
    make: || Arc::new(Cpu),
};

pub(super) const MEMORY: BuiltIn = BuiltIn {
    name: "ResourceAllocatableMemory",
    default_weight: 0,
    make: || Arc::new(Memory),
};

#[derive(Debug)]
struct Cpu;

#[derive(Debug)]
struct Memory;

impl Prioritizer for Cpu {
    fn name(&self) -> Cow<'_, str> {
        CPU.name.into()
    }

    fn score(&self, input: &Input<'_>) -> Scored {
        score(input, input.fleet.cpu())
    }

    fn reads(&self) -> Vec<Reads> {
        vec![Reads::AllocatableCpu]
    }
}

impl Prioritizer for Memory {
    fn name(&self) -> Cow<'_, str> {
        MEMORY.name.into()
    }

    fn score(&self, input: &Input<'_>) -> Scored {
        score(input, input.fleet.memory())
    }

    fn reads(&self) -> Vec<Reads> {
        vec![Reads::AllocatableMemory]
    }
}

/// `column` holds the allocatable amount of each cluster of the fleet.
fn score(input: &Input<'_>, column: &[f64]) -> Scored {
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
