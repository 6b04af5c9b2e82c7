//! The committed floors.

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{self, Bounds};

/// `bench/fleet-limits.json` at the root of the repository.
const FLOORS: &str = include_str!("../../../../bench/fleet-floors.json");
const FILE: &str = "bench/fleet-floors.json";

/// What must hold.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Floors {
    members: u16,
    /// Members that a placement change is to reach.
    reach: u16,
    at_most: Bounds,
}

/// The floors for a size of fleet.
pub(super) fn of(members: u16, reach: u16) -> anyhow::Result<Floors> {
    let limits: Floors = serde_json::from_str(FLOORS).context(FILE)?;
    if (limits.members, limits.reach) != (members, reach) {
        bail!(
            "--check: no floors for {members} members of which {reach} are reached; there are some for {} and {}",
            limits.members,
            limits.reach
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
    use serde_json::json;

    use super::*;

    #[test]
    fn the_committed_floors_are_no_looser_than_what_was_agreed() {
        let limits = of(200, 100).unwrap();
        let agreed = json!({
            "rssPeakMb": 2_048.5, "idleShare": 0.1001,
            "reach": {"median": 2.01, "longest": 2.01}, "withdrawal": {"median": 2.01, "longest": 2.01},
        });
        let failures = limits.failures(&agreed).unwrap();
        let paths: Vec<&str> = failures
            .iter()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(
            paths,
            [
                "idleShare",
                "reach.longest",
                "reach.median",
                "rssPeakMb",
                "withdrawal.longest",
                "withdrawal.median"
            ]
        );
        assert!(of(6, 3).unwrap_err().to_string().contains("some for 200 and 100"));
    }
}
