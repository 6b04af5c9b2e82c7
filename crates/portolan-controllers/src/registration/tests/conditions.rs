use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::Delta;
use serde_json::json;

use super::fixture::{Hub, binding, cluster, labelled, set};
use crate::moment::tests::instant;
use crate::reconcile::Reconciler;
use crate::reconcile::fake::{object, second};
use crate::registration::message::Write;
use crate::registration::state::Input;

fn empty() -> (String, String, String) {
    (
        "True".into(),
        "NoClusterMatched".into(),
        "No ManagedCluster selected".into(),
    )
}

fn has(count: usize) -> (String, String, String) {
    (
        "False".into(),
        "ClustersSelected".into(),
        format!("{count} ManagedClusters selected"),
    )
}

#[test]
fn a_set_says_how_many_clusters_it_has_in_the_words_of_ocm() {
    let mut hub = Hub::new();
    hub.server.put(&set(
        "prod",
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}}),
    ));
    hub.settle(second(0));
    assert_eq!(
        [
            hub.emptiness("default"),
            hub.emptiness("global"),
            hub.emptiness("prod")
        ],
        [empty(), empty(), empty()]
    );

    hub.server.put(&cluster("a", "True"));
    hub.server.put(&labelled("b", "True", json!({"env": "prod"})));
    hub.settle(second(10));
    hub.settle(second(12));
    assert_eq!(
        [
            hub.emptiness("default"),
            hub.emptiness("global"),
            hub.emptiness("prod")
        ],
        [has(2), has(2), has(1)]
    );

    hub.server.delete::<ManagedCluster>("", "b");
    hub.settle(second(20));
    assert_eq!(
        [
            hub.emptiness("default"),
            hub.emptiness("global"),
            hub.emptiness("prod")
        ],
        [has(1), has(1), empty()]
    );
}

#[test]
fn a_set_whose_selector_changes_is_counted_again() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "True"));
    hub.server
        .put(&set("odd", json!({"selectorType": "LabelSelector"})));
    hub.settle(second(0));
    assert_eq!(hub.emptiness("odd"), empty());
    let mut changed = hub.set("odd");
    changed.spec.cluster_selector.label_selector = Some(Default::default());
    hub.server.put(&changed);
    hub.settle(second(10));
    assert_eq!(hub.emptiness("odd"), has(1));
}

#[test]
fn what_was_said_about_a_set_that_cannot_be_evaluated_stays() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "True"));
    hub.server.put(&set(
        "odd",
        json!({"selectorType": "LabelSelector", "labelSelector": {}}),
    ));
    hub.settle(second(0));
    let mut broken = hub.set("odd");
    broken.spec.cluster_selector.selector_type = Some("Astrology".into());
    hub.server.put(&broken);
    assert!(hub.settle(second(10)).is_empty());
    assert_eq!(hub.emptiness("odd"), has(1));
}

#[test]
fn the_transition_time_moves_with_the_status_and_conditions_of_others_stay() {
    let mut hub = Hub::new();
    let mut mine = set("mine", json!({}));
    mine.status = object(json!({"conditions": [{
        "type": "Audited", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}));
    hub.server.put(&mine);
    hub.settle(second(0));
    let times = |hub: &Hub| {
        let conditions = hub.set("mine").status.unwrap().conditions;
        assert_eq!(conditions[0].type_, "Audited");
        conditions[1].last_transition_time.0
    };
    assert_eq!(times(&hub), second(0));
    let in_mine = json!({"cluster.open-cluster-management.io/clusterset": "mine"});
    for (at, name, expected) in [(10, "a", 10), (20, "b", 10)] {
        hub.server.put(&labelled(name, "True", in_mine.clone()));
        hub.settle(second(at));
        assert_eq!(times(&hub), second(expected));
    }
}

#[test]
fn the_number_alone_is_written_once_a_second_at_most() {
    let mut hub = Hub::new();
    hub.settle(second(0));
    let mut writes = 0;
    for index in 0..50 {
        hub.server.put(&cluster(&format!("c{index}"), "True"));
        writes += hub.settle(second(10)).len();
    }
    assert_eq!(
        writes, 2,
        "that the two sets are not empty any more is said at once"
    );
    assert_eq!(hub.state.next_due(), Some(instant(second(11))));
    assert_eq!(hub.settle(second(11)).len(), 2);
    assert_eq!(hub.emptiness("global"), has(50));
}

#[test]
fn a_binding_is_bound_while_the_set_of_its_name_exists() {
    let mut hub = Hub::new();
    hub.server.put(&binding("team", "prod"));
    hub.settle(second(0));
    let bound = |hub: &Hub| {
        let binding = hub
            .server
            .get::<ManagedClusterSetBinding>("team", "prod")
            .unwrap();
        let condition = binding.status.as_ref().unwrap().conditions[0].clone();
        assert_eq!(condition.type_, "Bound");
        let missing = "the ManagedClusterSetBinding has no effect: there is no ManagedClusterSet \"prod\"";
        let expected = if condition.status == "True" { "" } else { missing };
        assert_eq!(condition.message, expected);
        (
            condition.status,
            condition.reason,
            condition.last_transition_time.0,
        )
    };
    assert_eq!(
        bound(&hub),
        ("False".into(), "ClusterSetNotFound".into(), second(0))
    );
    hub.server.put(&set("prod", json!({})));
    hub.settle(second(10));
    assert_eq!(bound(&hub), ("True".into(), "ClusterSetBound".into(), second(10)));
    hub.server.delete::<ManagedClusterSet>("", "prod");
    hub.settle(second(20));
    assert_eq!(
        bound(&hub),
        ("False".into(), "ClusterSetNotFound".into(), second(20))
    );
}

#[test]
fn a_binding_that_names_another_set_says_which_one_counts() {
    let mut hub = Hub::new();
    let mut odd = binding("team", "global");
    odd.spec.cluster_set = "prod".into();
    hub.server.put(&odd);
    hub.settle(second(0));
    let binding = hub
        .server
        .get::<ManagedClusterSetBinding>("team", "global")
        .unwrap();
    let condition = &binding.status.as_ref().unwrap().conditions[0];
    assert_eq!(condition.status, "True");
    assert_eq!(
        condition.message,
        "spec.clusterSet is \"prod\", but a binding binds the set of its own name, \"global\""
    );
}

#[test]
fn without_bindings_served_the_rest_is_still_looked_after() {
    let mut hub = Hub::unsynced();
    hub.state.handle(Input::Cluster(Delta::Synced));
    hub.state.handle(Input::Set(Delta::Synced));
    hub.state.handle(Input::Binding(Delta::NotServed));
    hub.settle(second(0));
    assert_eq!(hub.emptiness("global"), empty());
}

#[test]
fn sets_are_not_counted_before_all_clusters_are_known() {
    let mut hub = Hub::unsynced();
    hub.state.handle(Input::Set(Delta::Synced));
    let writes = hub.settle(second(0));
    assert!(
        writes
            .iter()
            .all(|write| matches!(write, Write::CreateSet { .. })),
        "{writes:?}"
    );
    hub.state.handle(Input::Cluster(Delta::Synced));
    assert_eq!(hub.settle(second(1)).len(), 2);
}
