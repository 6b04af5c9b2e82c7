use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::Delta;
use serde_json::json;

use super::fixture::{Hub, binding, cluster, foreign, placement, set};
use crate::moment::tests::instant;
use crate::profiles::message::{Input, Write};
use crate::reconcile::Reconciler;
use crate::reconcile::fake::{object, second};

#[test]
fn a_namespace_has_the_clusters_of_its_bound_sets_when_it_has_a_placement() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&cluster("b", "dev"));
    hub.server.put(&binding("idle", "prod"));
    hub.server.put(&placement("unbound", "web"));
    hub.server.put(&binding("lost", "nowhere"));
    hub.server.put(&placement("lost", "web"));
    hub.settle(second(0));
    assert_eq!(hub.profiles(), ["team/a"]);
    hub.server.put(&placement("idle", "web"));
    hub.server.put(&binding("team", "dev"));
    hub.settle(second(1));
    assert_eq!(hub.profiles(), ["idle/a", "team/a", "team/b"]);
}

#[test]
fn with_a_profile_namespace_all_profiles_are_there_and_nowhere_else() {
    let mut hub = Hub::with(Some("inventory"));
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&cluster("b", "dev"));
    hub.server.put(&cluster("c", "other"));
    hub.server.put(&binding("dev-team", "dev"));
    hub.server.put(&placement("dev-team", "web"));
    hub.settle(second(0));
    assert_eq!(hub.profiles(), ["inventory/a", "inventory/b"]);
}

#[test]
fn nothing_is_written_before_all_is_known_nor_while_something_is_listed_again() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.deliver();
    hub.state.handle(Input::Placement(Delta::ListStarted));
    assert!(hub.state.due(second(0).into(), usize::MAX).is_empty());
    hub.state.handle(Input::Placement(Delta::Synced));
    hub.state.handle(Input::Profile(Delta::NotServed));
    assert!(hub.state.due(second(1).into(), usize::MAX).is_empty());
    hub.state.handle(Input::Profile(Delta::ListStarted));
    hub.state.handle(Input::Profile(Delta::Synced));
    assert_eq!(hub.state.due(second(2).into(), usize::MAX).len(), 1);
    assert!(
        hub.state.due(second(2).into(), usize::MAX).is_empty(),
        "it is under way"
    );
}

#[test]
fn a_profile_goes_some_time_after_its_cluster_left_by_any_way() {
    let ways: [fn(&mut Hub); 7] = [
        |hub| _ = hub.server.delete::<ManagedCluster>("", "a"),
        |hub| hub.server.put(&cluster("a", "dev")),
        |hub| _ = hub.server.delete::<ManagedClusterSet>("", "prod"),
        |hub| _ = hub.server.delete::<ManagedClusterSetBinding>("team", "prod"),
        |hub| _ = hub.server.delete::<Placement>("team", "web"),
        |hub| {
            hub.server
                .put(&set("prod", json!({"selectorType": "LabelSelector"})))
        },
        |hub| {
            let mut leaving = cluster("a", "prod");
            leaving.metadata.deletion_timestamp = object(json!("2026-01-01T00:00:00Z"));
            hub.server.put(&leaving);
        },
    ];
    for leave in ways {
        let mut hub = Hub::new();
        hub.server.put(&cluster("a", "prod"));
        hub.settle(second(0));
        leave(&mut hub);
        hub.settle(second(10));
        assert_eq!(hub.profiles(), ["team/a"], "there is a grace");
        assert_eq!(hub.state.next_due(), Some(instant(second(15))));
        hub.settle(second(15));
        assert!(hub.profiles().is_empty());
    }
}

#[test]
fn a_cluster_that_returns_within_the_grace_keeps_its_profile() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    hub.server.put(&cluster("a", "dev"));
    hub.settle(second(10));
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(14));
    assert_eq!(hub.settle(second(100)), 0);
    hub.server.put(&cluster("a", "dev"));
    hub.settle(second(200));
    hub.settle(second(204));
    assert_eq!(hub.profiles(), ["team/a"], "the grace begins anew");
}

#[test]
fn a_profile_stays_while_a_slice_refers_to_it_but_not_for_ever() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    hub.referenced.insert(("team".into(), "a".into()));
    hub.server.delete::<ManagedCluster>("", "a");
    hub.settle(second(10));
    for at in (15..70).step_by(5) {
        hub.settle(second(at));
        assert_eq!(hub.profiles(), ["team/a"], "{at}");
    }
    hub.settle(second(105));
    assert!(hub.profiles().is_empty());

    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(200));
    hub.server.delete::<ManagedCluster>("", "a");
    hub.settle(second(210));
    hub.settle(second(215));
    hub.referenced.clear();
    hub.settle(second(216));
    assert!(hub.profiles().is_empty(), "it goes soon after the slices let go");
}

#[test]
fn removals_of_one_namespace_go_together() {
    let mut hub = Hub::new();
    for name in ["a", "b", "c"] {
        hub.server.put(&cluster(name, "prod"));
    }
    hub.settle(second(0));
    hub.server.delete::<ManagedClusterSetBinding>("team", "prod");
    hub.settle(second(10));
    let due = hub.state.due(second(20).into(), usize::MAX);
    assert!(
        matches!(due.as_slice(), [Write::Remove { profiles, .. }] if profiles.len() == 3),
        "{due:?}"
    );
}

#[test]
fn profiles_of_others_are_neither_written_nor_deleted() {
    let mut hub = Hub::new();
    hub.server.put(&foreign("team", "a"));
    hub.server.put(&foreign("team", "gone"));
    hub.server.put(&foreign("elsewhere", "a"));
    let mut other_manager = foreign("team", "b");
    other_manager.spec.cluster_manager.name = "fleet".into();
    other_manager.metadata.annotations = object(json!({"portolan.dev/published-by": "portolan"}));
    hub.server.put(&other_manager);
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&cluster("b", "prod"));
    assert_eq!(hub.settle(second(0)), 0);
    assert_eq!(hub.settle(second(1_000)), 0);
    hub.server.delete::<ClusterProfile>("team", "a");
    hub.settle(second(2_000));
    let annotations = hub.profile("team", "a").metadata.annotations.unwrap();
    assert_eq!(
        annotations["portolan.dev/published-by"], "portolan",
        "the name was free"
    );
}

#[test]
fn a_set_that_cannot_be_evaluated_costs_no_profile() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    hub.server.put(&set("prod", json!({"selectorType": "Astrology"})));
    hub.server.put(&cluster("a", "dev"));
    hub.settle(second(10));
    assert_eq!(hub.settle(second(1_000)), 0);
    hub.server.put(&set("prod", json!({})));
    hub.settle(second(2_000));
    hub.settle(second(2_010));
    assert!(hub.profiles().is_empty());
}

/// What becomes of the profiles of `a` and `b` when a process starts after the definition of clusters was made anew, and
/// only `a` was restored so far.
fn restored() -> (Hub, Vec<String>) {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&cluster("b", "prod"));
    hub.settle(second(0));
    hub.server.delete::<ManagedCluster>("", "b");
    hub.server.events.clear();
    let mut state = hub.fresh();
    state.handle(Input::Cluster(Delta::NotServed));
    hub.state = hub.continued(state);
    for at in [10, 20, 100] {
        hub.settle(second(at));
    }
    let profiles = hub.profiles();
    (hub, profiles)
}

#[test]
fn profiles_of_clusters_that_may_be_on_their_way_stay_until_these_had_their_time() {
    let (mut hub, profiles) = restored();
    assert_eq!(profiles, ["team/a", "team/b"]);
    hub.settle(second(311));
    hub.settle(second(320));
    assert_eq!(hub.profiles(), ["team/a"]);
}

#[test]
fn a_cluster_that_came_back_and_is_then_deleted_takes_its_profile_with_it() {
    let (mut hub, _) = restored();
    hub.server.put(&cluster("b", "prod"));
    hub.settle(second(101));
    hub.server.delete::<ManagedCluster>("", "b");
    hub.settle(second(102));
    hub.settle(second(110));
    assert_eq!(hub.profiles(), ["team/a"]);
}
