//! Which replica sets become due because of a change: those that the change concerns, and no others.

use std::sync::Arc;
use std::time::Duration;

use portolan_runtime::watch::{Delta, Key};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::reconcile::Reconciler;
use crate::reconcile::fake::object;
use crate::replicasets::message::Input;
use crate::replicasets::state::State;

/// Replica sets, of which each refers to a placement of its own that chooses a cluster of its own.
const SETS: usize = 50;

fn applied<K: DeserializeOwned>(value: Value) -> Delta<K> {
    Delta::Applied(Arc::new(object(value)))
}

fn key(namespace: &str, name: &str) -> Key {
    Key {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    }
}

fn set(name: &str, placements: &[&str]) -> Input {
    let placements: Vec<Value> = placements.iter().map(|name| json!({"name": name})).collect();
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    Input::Set(applied(json!({
        "metadata": {"name": name, "namespace": "ns", "generation": 1},
        "spec": {"manifestWorkTemplate": {"workload": {"manifests": [manifest]}}, "placementRefs": placements},
    })))
}

fn decision(placement: &str, object: usize, clusters: &[&str]) -> Input {
    let clusters: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    Input::Decision(applied(json!({
        "metadata": {"name": format!("{placement}-decision-{object}"), "namespace": "ns", "labels": {
            "cluster.open-cluster-management.io/placement": placement,
            "cluster.open-cluster-management.io/decision-group-index": "0",
        }},
        "status": {"decisions": clusters},
    })))
}

fn cluster(name: &str, available: &str, set: &str) -> Input {
    Input::Cluster(applied(json!({
        "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": set}},
        "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{
            "type": "ManagedClusterConditionAvailable", "status": available, "reason": "R", "message": "",
            "lastTransitionTime": "2020-01-01T00:00:00Z",
        }]},
    })))
}

fn work(cluster: &str, set: &str) -> Value {
    let labels = json!({"work.open-cluster-management.io/manifestworkreplicaset": format!("ns.{set}")});
    let metadata =
        json!({"name": format!("ns.{set}"), "namespace": cluster, "uid": cluster, "labels": labels});
    json!({"metadata": metadata, "spec": {"workload": {"manifests": []}}})
}

/// A state in which everything is known and nothing is ready.
fn settled(state: State) -> State {
    let mut state = state;
    for number in 0..SETS {
        state.handle(set(&format!("s{number}"), &[&format!("p{number}")]));
        state.handle(decision(&format!("p{number}"), 1, &[&format!("c{number}")]));
        state.handle(cluster(&format!("c{number}"), "True", "a"));
    }
    state.handle(Input::Set(Delta::Synced));
    state.handle(Input::Placement(Delta::Synced));
    state.handle(Input::Decision(Delta::Synced));
    state.handle(Input::Work(Delta::Synced));
    state.handle(Input::Cluster(Delta::Synced));
    quiet(&mut state);
    state
}

fn fresh() -> State {
    State::new(Duration::from_secs(30), true)
}

fn quiet(state: &mut State) {
    state.forget_ready();
    assert_eq!(due(state), [""; 0]);
}

fn due(state: &State) -> Vec<String> {
    state.ready().map(|key| key.name.clone()).collect()
}

/// Which replica sets are due after this.
fn after(state: &mut State, input: Input) -> Vec<String> {
    state.handle(input);
    let due = due(state);
    quiet(state);
    due
}

#[test]
fn a_cluster_that_flips_its_availability_is_news_for_sets_that_choose_it_alone() {
    let mut state = settled(fresh());
    for available in ["False", "True", "Unknown", "True"] {
        assert_eq!(after(&mut state, cluster("c7", available, "a")), ["s7"]);
    }
    assert_eq!(after(&mut state, cluster("other", "False", "a")), [""; 0]);
    // One that has a work there has to know whether the work may go, though no decision names the cluster any more.
    state.handle(Input::Work(applied(work("c7", "s9"))));
    quiet(&mut state);
    assert_eq!(after(&mut state, cluster("c7", "False", "a")), ["s7", "s9"]);
    assert_eq!(
        after(&mut state, Input::Cluster(Delta::Deleted(key("", "c7")))),
        ["s7", "s9"]
    );
}

#[test]
fn a_cluster_whose_labels_change_is_news_for_sets_that_choose_it_alone() {
    let mut state = fresh().requiring_bindings();
    state.handle(Input::ClusterSet(Delta::Synced));
    state.handle(Input::Binding(Delta::Synced));
    let mut state = settled(state);
    assert_eq!(after(&mut state, cluster("c7", "True", "b")), ["s7"]);
    assert_eq!(
        after(&mut state, Input::Cluster(Delta::Deleted(key("", "c7")))),
        ["s7"]
    );
}

#[test]
fn a_set_follows_the_placements_that_it_names_now_and_their_decisions_of_now() {
    let mut state = settled(fresh());
    assert_eq!(after(&mut state, set("s1", &["p1", "p2"])), ["s1"]);
    assert_eq!(after(&mut state, cluster("c2", "False", "a")), ["s1", "s2"]);
    // While a cluster moves between two objects both name it.
    assert_eq!(after(&mut state, decision("p2", 2, &["c2", "new"])), ["s1", "s2"]);
    assert_eq!(after(&mut state, decision("p2", 1, &[])), ["s1", "s2"]);
    assert_eq!(after(&mut state, cluster("c2", "True", "a")), ["s1", "s2"]);
    assert_eq!(after(&mut state, cluster("new", "False", "a")), ["s1", "s2"]);
    assert_eq!(after(&mut state, set("s1", &["p1"])), ["s1"]);
    assert_eq!(after(&mut state, cluster("new", "True", "a")), ["s2"]);
    let gone = Input::Decision(Delta::Deleted(key("ns", "p2-decision-2")));
    assert_eq!(after(&mut state, gone), ["s2"]);
    assert_eq!(after(&mut state, cluster("new", "False", "a")), [""; 0]);
}

#[test]
fn nothing_stays_in_the_index_when_the_sets_are_gone() {
    let mut state = settled(fresh());
    for number in 0..SETS {
        state.handle(Input::Set(Delta::Deleted(key("ns", &format!("s{number}")))));
    }
    assert!(state.index.is_empty());
}
