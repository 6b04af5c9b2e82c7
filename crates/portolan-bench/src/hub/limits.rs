//! The committed floors, and what does not hold.

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{self, Bounds};

/// `bench/hub-limits.json` at the root of the repository.
const FLOORS: &str = include_str!("../../../../bench/hub-floors.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Floors {
    /// What must hold of the hub on any machine.
    alone: Floor,
    /// What must hold beside a real server, measured in the same run.
    against: Floor,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Floor {
    #[serde(default)]
    at_least: Bounds,
    #[serde(default)]
    at_most: Bounds,
}

/// One line for each figure of the report that is not what it must be.
pub(super) fn failures(report: &Value) -> anyhow::Result<Vec<String>> {
    let limits: Floors = serde_json::from_str(FLOORS).context("bench/hub-floors.json")?;
    let mut failures = limits.alone.failures(report)?;
    // Without another server there are no ratios, and nothing of this is looked at.
    failures.extend(limits.against.failures(report)?);
    Ok(failures)
}

impl Floor {
    fn failures(&self, report: &Value) -> anyhow::Result<Vec<String>> {
        bounds::failures(&self.at_least, &self.at_most, report, "bench/hub-floors.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_floors_are_those_that_were_agreed() {
        let limits: Floors = serde_json::from_str(FLOORS).unwrap();
        let against = &limits.against.at_least;
        for figure in ["creates", "statusPatches", "labelPatches", "cpuPerWrite"] {
            assert_eq!(against[&format!("ratios.{figure}")], 3.0, "{figure}");
        }
        assert_eq!(against["ratios.fanOut"], 1.0);
        assert_eq!(against["ratios.memory"], 5.0);
        assert_eq!(limits.alone.at_most["hub.startMs"], 200.0);
    }
}
