use portolan_runtime::watch::Delta;
use serde_json::json;

use super::fixture::{Hub, cluster, labelled};
use crate::moment::tests::instant;
use crate::reconcile::fake::second;
use crate::reconcile::{Failure, Reconciler};
use crate::registration::state::Input;

fn taints(hub: &Hub, name: &str) -> Vec<(String, Option<String>)> {
    let taints = hub.cluster(name).spec.taints.into_iter();
    taints
        .map(|taint| (taint.key, taint.time_added.map(|time| time.0.to_string())))
        .collect()
}

fn key(name: &str) -> String {
    format!("cluster.open-cluster-management.io/{name}")
}

#[test]
fn the_taint_follows_the_available_condition_and_says_when_it_was_added() {
    let mut hub = Hub::new();
    for (at, available, expected) in [
        (10, "", Some("unreachable")),
        (20, "Unknown", Some("unreachable")),
        (30, "False", Some("unavailable")),
        (40, "True", None),
        (50, "Unknown", Some("unreachable")),
    ] {
        let mut observed = cluster("a", available);
        if at > 10 {
            observed.spec = hub.cluster("a").spec;
        }
        hub.server.put(&observed);
        hub.settle(second(at));
        let added = if at == 20 { 10 } else { at };
        let expected = expected.map(|name| (key(name), Some(second(added).to_string())));
        assert_eq!(taints(&hub, "a"), Vec::from_iter(expected), "{available}");
    }
}

#[test]
fn other_taints_stay_what_and_where_they_are() {
    let mut hub = Hub::new();
    let mut observed = cluster("a", "False");
    observed.spec = serde_json::from_value(json!({"taints": [
        {"key": "first", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"},
        {"key": key("unreachable"), "effect": "NoSelect"},
        {"key": key("unreachable"), "value": "by hand", "effect": "NoSelect"},
        {"key": key("unreachable"), "effect": "NoSelectIfNew"},
        {"key": "last", "effect": "PreferNoSelect"},
    ]}))
    .unwrap();
    let mut expected = observed.spec.taints.clone();
    hub.server.put(&observed);
    hub.settle(second(0));
    expected.remove(1);
    let mut found = hub.cluster("a").spec.taints;
    assert_eq!(found.pop().map(|taint| taint.key), Some(key("unavailable")));
    assert_eq!(found, expected);
}

#[test]
fn a_cluster_without_a_set_joins_the_default_one_in_the_same_write() {
    let mut hub = Hub::new();
    hub.server.put(&labelled("none", "", json!({"env": "prod"})));
    hub.server.put(&labelled(
        "empty",
        "True",
        json!({"cluster.open-cluster-management.io/clusterset": ""}),
    ));
    hub.server.put(&labelled(
        "other",
        "True",
        json!({"cluster.open-cluster-management.io/clusterset": "prod"}),
    ));
    let before = hub.server.writes;
    let writes = hub.settle(second(0));
    let clusters = writes
        .iter()
        .filter(|write| matches!(write, crate::registration::message::Write::Cluster { .. }));
    assert_eq!(clusters.count(), 2);
    assert!(hub.server.writes > before);
    let set = |name| {
        hub.cluster(name).metadata.labels.unwrap()["cluster.open-cluster-management.io/clusterset"].clone()
    };
    assert_eq!(
        [set("none"), set("empty"), set("other")],
        ["default", "default", "prod"]
    );
    assert_eq!(hub.cluster("none").metadata.labels.unwrap()["env"], "prod");
}

#[test]
fn a_cluster_that_is_being_deleted_is_left_alone() {
    let mut hub = Hub::new();
    let mut leaving = labelled("a", "", json!({}));
    leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    hub.server.put(&leaving);
    hub.settle(second(0));
    assert!(hub.cluster("a").spec.taints.is_empty());
}

#[test]
fn a_heartbeat_writes_nothing() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "False"));
    hub.settle(second(0));
    let mut beat = hub.cluster("a");
    beat.status.as_mut().unwrap().conditions[0].last_transition_time.0 = second(5);
    hub.server.put(&beat);
    hub.deliver();
    assert!(hub.state.due(second(100).into(), usize::MAX).is_empty());
}

#[test]
fn an_old_event_after_the_answer_to_a_write_does_not_write_again() {
    let mut hub = Hub::new();
    hub.settle(second(0));
    hub.server.put(&cluster("a", "False"));
    hub.deliver_one();
    let stale = hub.cluster("a");
    assert_eq!(hub.write(second(1)).len(), 3, "the cluster and two sets");
    hub.state.handle(Input::Cluster(Delta::Applied(stale.into())));
    assert!(hub.state.due(second(1).into(), usize::MAX).is_empty());
    assert!(hub.settle(second(100)).is_empty());
}

#[test]
fn a_conflict_is_tried_again_with_what_is_there_then() {
    let mut hub = Hub::new();
    hub.settle(second(0));
    hub.server.put(&cluster("a", "False"));
    hub.deliver();
    let due = hub.state.due(second(1).into(), usize::MAX);
    let write = due
        .iter()
        .find(|write| matches!(write, crate::registration::message::Write::Cluster { .. }))
        .unwrap();
    hub.state.handle(Input::Ended {
        target: write.target(),
        at: instant(second(1)),
        result: Err(Failure::Conflict),
    });
    assert!(
        hub.state.due(second(1).into(), usize::MAX).is_empty(),
        "not at once"
    );
    hub.server.put(&cluster("a", "True"));
    hub.deliver();
    assert!(
        hub.state.due(second(2).into(), usize::MAX).is_empty(),
        "there is nothing to do any more"
    );
}
