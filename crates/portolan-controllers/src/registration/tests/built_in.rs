use portolan_api::cluster::ManagedClusterSet;
use portolan_runtime::watch::Delta;
use serde_json::json;

use super::fixture::{Hub, set};
use crate::reconcile::Reconciler;
use crate::reconcile::fake::second;
use crate::registration::message::Write;
use crate::registration::state::Input;

fn selector(hub: &Hub, name: &str) -> serde_json::Value {
    serde_json::to_value(hub.set(name).spec.cluster_selector).unwrap()
}

#[test]
fn missing_built_in_sets_are_created_and_created_again_when_deleted() {
    let mut hub = Hub::new();
    for _ in 0..2 {
        hub.settle(second(0));
        assert_eq!(
            selector(&hub, "default"),
            json!({"selectorType": "ExclusiveClusterSetLabel"})
        );
        assert_eq!(
            selector(&hub, "global"),
            json!({"selectorType": "LabelSelector", "labelSelector": {}})
        );
        assert!(hub.server.delete::<ManagedClusterSet>("", "default"));
        assert!(hub.server.delete::<ManagedClusterSet>("", "global"));
    }
}

#[test]
fn nothing_is_created_before_all_sets_are_known() {
    let mut hub = Hub::unsynced();
    assert!(hub.state.due(second(0).into(), usize::MAX).is_empty());
    hub.state.handle(Input::Set(Delta::NotServed));
    assert!(hub.state.due(second(1).into(), usize::MAX).is_empty());
    hub.state.handle(Input::Set(Delta::ListStarted));
    assert!(hub.state.due(second(2).into(), usize::MAX).is_empty());
    hub.state.handle(Input::Set(Delta::Synced));
    let created = |name: &str| Write::CreateSet {
        name: name.to_owned(),
    };
    assert_eq!(
        hub.state.due(second(3).into(), usize::MAX),
        [created("default"), created("global")]
    );
    assert!(
        hub.state.due(second(3).into(), usize::MAX).is_empty(),
        "they are under way"
    );
}

#[test]
fn an_edited_built_in_set_is_put_right_unless_it_says_otherwise() {
    let edited = json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}});
    let mut hub = Hub::new();
    hub.server.put(&set("default", edited.clone()));
    hub.server.put(&set("global", edited.clone()));
    hub.settle(second(0));
    assert_eq!(
        selector(&hub, "default"),
        json!({"selectorType": "ExclusiveClusterSetLabel"})
    );
    assert_eq!(
        selector(&hub, "global"),
        json!({"selectorType": "LabelSelector", "labelSelector": {}})
    );

    let mut kept = set("global", edited.clone());
    let annotations = json!({"cluster.open-cluster-management.io/autoupdate": "false"});
    kept.metadata.annotations = serde_json::from_value(annotations).unwrap();
    hub.server.put(&kept);
    hub.settle(second(10));
    assert_eq!(selector(&hub, "global"), edited);
}

#[test]
fn a_built_in_set_that_is_written_differently_but_means_the_same_is_left_alone() {
    let mut hub = Hub::new();
    hub.server.put(&set("default", json!({})));
    hub.server.put(&set(
        "global",
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {}}}),
    ));
    let writes = hub.settle(second(0));
    assert!(
        writes
            .iter()
            .all(|write| matches!(write, Write::SetStatus { .. })),
        "{writes:?}"
    );
}

#[test]
fn a_built_in_set_that_is_being_deleted_is_not_fought_over() {
    let mut hub = Hub::new();
    let mut leaving = set("global", json!({"selectorType": "LabelSelector"}));
    leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    hub.server.put(&leaving);
    hub.settle(second(0));
    assert_eq!(selector(&hub, "global"), json!({"selectorType": "LabelSelector"}));
}
