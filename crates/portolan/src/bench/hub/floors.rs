//! The committed floors, and what does not hold.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

/// `bench/hub-floors.json` at the root of the repository.
const FLOORS: &str = include_str!("../../../../../bench/hub-floors.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Floors {
    /// What must hold of the hub on any machine.
    alone: Bounds,
    /// What must hold beside a real server, measured in the same run.
    against: Bounds,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Bounds {
    #[serde(default)]
    at_least: BTreeMap<String, f64>,
    #[serde(default)]
    at_most: BTreeMap<String, f64>,
}

/// One line for each figure of the report that is not what it must be.
pub(super) fn failures(report: &Value) -> anyhow::Result<Vec<String>> {
    let floors: Floors = serde_json::from_str(FLOORS).context("bench/hub-floors.json")?;
    let mut failures = floors.alone.failures(report)?;
    if report.get("ratios").is_some() {
        failures.extend(floors.against.failures(report)?);
    }
    Ok(failures)
}

impl Bounds {
    fn failures(&self, report: &Value) -> anyhow::Result<Vec<String>> {
        let figure = |path: &str| {
            let found = path.split('.').try_fold(report, |value, key| value.get(key));
            found
                .and_then(Value::as_f64)
                .with_context(|| format!("bench/hub-floors.json: no figure {path}"))
        };
        let mut failures = Vec::new();
        for (path, least) in &self.at_least {
            let given = figure(path)?;
            if given < *least {
                failures.push(format!("{path} is {given}, must be at least {least}"));
            }
        }
        for (path, most) in &self.at_most {
            let given = figure(path)?;
            if given > *most {
                failures.push(format!("{path} is {given}, must be at most {most}"));
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
        let floors: Floors = serde_json::from_str(FLOORS).unwrap();
        let against = &floors.against.at_least;
        for figure in ["creates", "statusPatches", "labelPatches", "cpuPerWrite"] {
            assert_eq!(against[&format!("ratios.{figure}")], 3.0, "{figure}");
        }
        assert_eq!(against["ratios.fanOut"], 1.0);
        assert_eq!(against["ratios.memory"], 5.0);
        assert_eq!(floors.alone.at_most["hub.startMs"], 200.0);
    }

    #[test]
    fn a_figure_beyond_its_bound_is_named_with_the_bound() {
        let bounds: Bounds = serde_json::from_str(r#"{"atMost": {"hub.startMs": 200}}"#).unwrap();
        let failures = bounds
            .failures(&serde_json::json!({"hub": {"startMs": 250.5}}))
            .unwrap();
        assert_eq!(failures, ["hub.startMs is 250.5, must be at most 200"]);
    }
}
