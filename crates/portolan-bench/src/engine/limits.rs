//! The committed floors, and what does not hold.

use anyhow::Context;
use serde::Deserialize;

use super::report::Report;
use crate::bounds::{self, Bounds, figure};

/// `bench/engine-limits.json` at the root of the repository.
const FLOORS: &str = include_str!("../../../../bench/engine-floors.json");
const FILE: &str = "bench/engine-floors.json";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Floors {
    points: Vec<Floor>,
}

/// What must hold for one size of fleet.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Floor {
    clusters: u32,
    placements: u32,
    #[serde(default)]
    at_least: Bounds,
    #[serde(default)]
    at_most: Bounds,
    pub(super) at_most_times: Option<AtMostTimes>,
}

/// Figures that may be so many times those of a smaller fleet, measured in the same run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AtMostTimes {
    pub(super) clusters: u32,
    figures: Bounds,
}

/// The floor for a size of fleet.
pub(super) fn of(clusters: u32, placements: u32) -> anyhow::Result<Floor> {
    let limits: Floors = serde_json::from_str(FLOORS).context(FILE)?;
    let sizes: Vec<String> = limits
        .points
        .iter()
        .map(|floor| format!("{} × {}", floor.clusters, floor.placements))
        .collect();
    let found = limits
        .points
        .into_iter()
        .find(|floor| (floor.clusters, floor.placements) == (clusters, placements));
    found.with_context(|| {
        format!(
            "--check: no floors for {clusters} clusters × {placements} placements; there are some for {}",
            sizes.join(" and ")
        )
    })
}

impl Floor {
    /// One line for each figure that is not what it must be.
    pub(super) fn failures(&self, report: &Report, smaller: Option<&Report>) -> anyhow::Result<Vec<String>> {
        let report = serde_json::to_value(report)?;
        let mut failures = bounds::failures(&self.at_least, &self.at_most, &report, FILE)?;
        if let (Some(times), Some(smaller)) = (&self.at_most_times, smaller) {
            let smaller = serde_json::to_value(smaller)?;
            for (path, most) in &times.figures {
                let (given, before) = (figure(&report, path, FILE)?, figure(&smaller, path, FILE)?);
                if given > before * most {
                    failures.push(format!(
                        "{path} is {given}, must be at most {most} times its value at {} clusters, {before}",
                        times.clusters
                    ));
                }
            }
        }
        Ok(failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_floors_are_those_that_were_agreed() {
        let small = of(10_000, 1_000).unwrap();
        assert_eq!(small.at_least["ratios.full.label"], 50.0);
        assert_eq!(small.at_least["ratios.full.claim"], 50.0);
        assert_eq!(small.at_least["ratios.full.topn"], 3.0);
        assert_eq!(small.at_least["ratios.full.all"], 3.0);
        assert_eq!(small.at_least["ratios.change"], 100.0);
        assert_eq!(small.at_most["bytesPerCluster"], 4096.0);
        let large = of(100_000, 1_000).unwrap();
        assert_eq!(large.at_most["bytesPerCluster"], 4096.0);
        assert_eq!(large.at_most_times.unwrap().figures["changeNs"], 3.0);
    }

    #[test]
    fn a_size_without_floors_is_refused_with_the_sizes_that_have_some() {
        let error = of(5, 5).unwrap_err().to_string();
        assert!(error.contains("10000 × 1000 and 100000 × 1000"), "{error}");
    }
}
