//! Clusters that leave a decision because they cannot be reached.

use serde_json::json;

use super::fixture::*;
use crate::sabotage::{Rule, with_sabotaged};

/// Cluster `b` is, or is not, healthy.
fn health(hub: &mut Hub, status: &str) {
    health_in(hub, HOME, status);
}

/// A profile of `b` in this namespace says so.
fn health_in(hub: &mut Hub, namespace: &str, status: &str) {
    let mut profile = profile(namespace, "b", json!({}));
    let condition = json!({
        "type": "ControlPlaneHealthy", "status": status, "reason": "R", "message": "",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    profile.status = serde_json::from_value(json!({ "conditions": [condition] })).unwrap();
    hub.server.put(&profile);
    hub.settle();
}

/// Cluster `b` has the work, falls silent and leaves the decision.
fn silenced() -> Hub {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    health(&mut hub, "True");
    health(&mut hub, "Unknown");
    hub.decide(&slice(&["a"]));
    hub.settle();
    hub.wait(1_000);
    hub
}

#[test]
fn a_silent_cluster_that_is_selected_again_finds_its_work_untouched() {
    let mut hub = silenced();
    assert_eq!(hub.made(), ["a", "b"]);
    let before = hub.server.writes;
    health(&mut hub, "True");
    hub.wait(29);
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    hub.wait(1_000);
    assert_eq!(hub.made(), ["a", "b"]);
    assert_eq!(hub.server.writes - before, 2, "the profile and the slice");
    assert_eq!(with_sabotaged(Rule::SilentIsNotUnwanted, silenced).made(), ["a"]);
}

#[test]
fn a_cluster_that_is_back_and_not_selected_loses_its_work_after_a_while() {
    let mut hub = silenced();
    health(&mut hub, "True");
    hub.wait(29);
    assert_eq!(hub.made(), ["a", "b"]);
    hub.wait(1);
    assert_eq!(hub.made(), ["a"]);
}

#[test]
fn a_silent_cluster_whose_place_another_takes_loses_its_work_at_once() {
    let mut hub = silenced();
    hub.decide(&slice(&["a", "c"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "c"]);

    let mut hub = Hub::with_template();
    hub.decide(&slice(&["b"]));
    health(&mut hub, "True");
    health(&mut hub, "False");
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

#[test]
fn a_profile_that_no_decision_may_name_there_keeps_no_work() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    health(&mut hub, "True");
    hub.wait(1_000);
    health_in(&mut hub, "tenant", "Unknown");
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}
