//! A rollout as it was read, with what a command says about its Placements in addition to the controllers.

use portolan_api::cluster::Placement;
use portolan_api::labels::conditions;
use portolan_api::spelling;
use portolan_controllers::overview::{Objects, Overview, overview};

use crate::clock;

/// How far a rollout is, and which of its Placements are misconfigured.
pub(super) struct Seen {
    pub(super) overview: Overview,
    pub(super) misconfigured: Vec<String>,
}

impl Seen {
    pub(super) fn of(objects: Objects) -> Seen {
        let name = |placement: &Placement| placement.metadata.name.clone().unwrap_or_default();
        let names: Vec<String> = objects.placements.iter().map(name).collect();
        let broken = objects
            .placements
            .iter()
            .filter(|object| is_misconfigured(object));
        let broken: Vec<String> = broken.map(name).collect();
        let mut overview = overview(objects, clock::now());
        for placement in &mut overview.placements {
            if let Some(problem) = &mut placement.problem
                && !names.contains(&placement.name)
                && let Some(meant) = spelling::did_you_mean(&placement.name, names.iter().map(String::as_str))
            {
                problem.push_str(&format!("; did you mean {meant}?"));
            }
        }
        let placements = overview.placements.iter().map(|placement| placement.name.clone());
        Seen {
            misconfigured: placements.filter(|name| broken.contains(name)).collect(),
            overview,
        }
    }
}

fn is_misconfigured(placement: &Placement) -> bool {
    let mut list = placement.status.iter().flat_map(|status| &status.conditions);
    list.any(|condition| condition.type_ == conditions::PLACEMENT_MISCONFIGURED && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn seen(reference: &str, status: &Value) -> Seen {
        let set = json!({ "metadata": { "name": "web", "namespace": "bank" }, "spec": {
            "manifestWorkTemplate": { "workload": { "manifests": [{ "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": "app", "namespace": "default" } }] } },
            "placementRefs": [{ "name": reference }] } });
        let placement =
            json!({ "metadata": { "name": "ledger", "namespace": "bank" }, "spec": {}, "status": status });
        Seen::of(Objects {
            set: serde_json::from_value(set).unwrap(),
            placements: vec![serde_json::from_value(placement).unwrap()],
            works: Vec::new(),
            decisions: Vec::new(),
            clusters: Vec::new(),
        })
    }

    #[test]
    fn a_missing_placement_is_answered_with_the_name_that_may_be_meant() {
        let problem = seen("ledgre", &json!({})).overview.placements[0].problem.clone();
        assert!(
            problem
                .as_ref()
                .is_some_and(|problem| problem.ends_with("; did you mean ledger?")),
            "{problem:?}"
        );
    }

    #[test]
    fn a_placement_of_the_rollout_that_is_misconfigured_is_named() {
        let condition = json!({ "type": "PlacementMisconfigured", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let status = json!({ "conditions": [condition] });
        assert_eq!(seen("ledger", &status).misconfigured, ["ledger"]);
        assert!(seen("other", &status).misconfigured.is_empty());
    }
}
