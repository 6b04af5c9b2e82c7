//! The committed floors.

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{self, Bounds};

/// `bench/rollout-limits.json` at the root of the repository.
const FLOORS: &str = include_str!("../../../../bench/rollout-floors.json");
const FILE: &str = "bench/rollout-floors.json";

/// What must hold.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Floors {
    clusters: u32,
    at_most: Bounds,
}

/// The floors for a size of fleet.
pub(super) fn of(clusters: u32) -> anyhow::Result<Floors> {
    let limits: Floors = serde_json::from_str(FLOORS).context(FILE)?;
    if limits.clusters != clusters {
        bail!(
            "--check: no floors for {clusters} clusters; there are some for {}",
            limits.clusters
        );
    }
    Ok(limits)
}

impl Floors {
    pub(super) fn failures(&self, report: &Value) -> anyhow::Result<Vec<String>> {
        bounds::failures(&Bounds::new(), &self.at_most, report, FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_floors_are_those_that_were_agreed() {
        let limits = of(1_000).unwrap();
        let report = serde_json::json!({"stepMs": {"p99": 100.5}, "growth": 2.5, "writesPerCluster": 1.5});
        assert_eq!(
            limits.failures(&report).unwrap(),
            [
                "growth is 2.5, must be at most 2.1",
                "stepMs.p99 is 100.5, must be at most 100",
                "writesPerCluster is 1.5, must be at most 1.1"
            ]
        );
        assert!(of(50).unwrap_err().to_string().contains("some for 1000"));
    }
}
