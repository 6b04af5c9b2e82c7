//! The committed floors, and what does not hold.

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{self, Bounds};

/// `bench/live-limits.json` at the root of the repository.
const FLOORS: &str = include_str!("../../../../bench/live-floors.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Floors {
    points: Vec<Floor>,
}

/// What must hold for one size of fleet.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Floor {
    clusters: u32,
    placements: u32,
    embedded: bool,
    at_most: Bounds,
}

/// The floor for a size of fleet.
pub(super) fn of(clusters: u32, placements: u32, embedded: bool) -> anyhow::Result<Floor> {
    let limits: Floors = serde_json::from_str(FLOORS).context("bench/live-floors.json")?;
    let place = |embedded: bool| if embedded { "embedded" } else { "on a server" };
    let sizes: Vec<String> = limits
        .points
        .iter()
        .map(|floor| {
            format!(
                "{} × {} {}",
                floor.clusters,
                floor.placements,
                place(floor.embedded)
            )
        })
        .collect();
    let mut points = limits.points.into_iter();
    let wanted = (clusters, placements, embedded);
    let found = points.find(|floor| (floor.clusters, floor.placements, floor.embedded) == wanted);
    found.with_context(|| {
        format!(
            "--check: no floors for {clusters} clusters × {placements} placements {}; there are some for {}",
            place(embedded),
            sizes.join(", ")
        )
    })
}

impl Floor {
    /// One line for each figure that is not what it must be. Parts that were skipped are not looked at.
    pub(super) fn failures(&self, report: &Value) -> anyhow::Result<Vec<String>> {
        bounds::failures(&Bounds::new(), &self.at_most, report, "bench/live-floors.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_floors_are_those_that_were_agreed() {
        let floor = of(2_000, 200, false).unwrap().at_most;
        let agreed = [
            ("change.p50Ms", 50.0),
            ("change.p99Ms", 250.0),
            ("change.cpuMs", 10.0),
            ("heartbeat.cpuMs", 0.2),
            ("heartbeat.evaluations", 0.0),
            ("heartbeat.writes", 0.0),
            ("coldStart.ratio", 1.5),
            ("coldStart.writesRatio", 1.0),
            ("decoding.shareOfColdStart", 0.05),
            ("coldStartProfiles.ratio", 1.5),
            ("coldStartProfiles.writesRatio", 1.0),
            ("restart.writes", 0.0),
            ("rssMb", 65.0),
            ("quiet.seconds", 60.0),
            ("quiet.maxShare", 2.0),
        ];
        for (path, most) in agreed {
            assert_eq!(floor.get(path), Some(&most), "{path}");
        }
        assert_eq!(of(10_000, 1_000, true).unwrap().at_most["rssPeakMb"], 1_024.0);
    }

    #[test]
    fn a_figure_above_its_floor_is_named_and_a_part_that_was_skipped_is_not() {
        let floor = of(2_000, 200, false).unwrap();
        let report = serde_json::json!({"restart": {"writes": 3}, "rssMb": 1.0});
        assert_eq!(
            floor.failures(&report).unwrap(),
            ["restart.writes is 3, must be at most 0"]
        );
    }

    #[test]
    fn a_size_without_floors_is_refused_with_the_sizes_that_have_some() {
        let error = of(5, 5, false).unwrap_err().to_string();
        assert!(error.contains("2000 × 200 on a server"), "{error}");
    }
}
