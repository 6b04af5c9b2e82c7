//! Bad input is refused with the field and what would be accepted, and works that are there stay as they are.

use std::sync::Arc;
use std::time::Duration;

use portolan_api::multicluster::{ClusterProfile, PlacementDecision, Work};
use portolan_runtime::Clock;
use portolan_runtime::watch::{Delta, Key};
use serde_json::{Value, json};

use super::fixture::*;
use crate::reconcile::Reconciler;
use crate::reconcile::fake::object;
use crate::sabotage::{Rule, sabotaged, with_sabotaged};
use crate::settings::Settings;
use crate::syncer::message::Input;
use crate::syncer::reach::Reach;
use crate::syncer::state::State;

/// A template goes bad while its works are there.
fn spoiled(manifests: Value) -> (Hub, String) {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a"]));
    hub.settle();
    hub.server.put(&template("web", manifests));
    hub.decide(&slice(&["b"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"], "works that are there are not touched");
    let work = hub.server.get::<Work>("a", "shop.web").unwrap();
    assert_eq!(work.spec.workload.manifests[0]["metadata"]["name"], "web");
    let (status, reason, message) = hub.condition("web");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "InvalidTemplate"));
    let told = hub
        .notes
        .iter()
        .any(|(kind, note)| kind == "Work" && note.reason == "WorkRefused" && note.warning);
    assert!(told, "{:?}", hub.notes);
    (hub, message)
}

#[test]
fn a_manifest_without_a_name_is_refused() {
    let (mut hub, message) = spoiled(json!([manifest("web"), { "apiVersion": "v1", "kind": "ConfigMap" }]));
    assert_eq!(
        message,
        "cannot accept spec.workload.manifests[1].metadata.name = (missing): the field is required; accepted: a name"
    );
    hub.server.put(&template("web", json!([manifest("web")])));
    hub.settle();
    assert_eq!(hub.made(), ["b"], "mended, it goes on");
    assert_eq!(hub.condition("web").0, "True");
}

#[test]
fn a_manifest_that_is_no_object_is_refused() {
    for (bad, shown) in [
        (json!("text"), "\"text\""),
        (json!(7), "7"),
        (json!([1]), "a list with 1 entry"),
    ] {
        let (_, message) = spoiled(json!([bad]));
        assert_eq!(
            message,
            format!(
                "cannot accept spec.workload.manifests[0] = {shown}: no object; accepted: an object with apiVersion, kind and metadata.name"
            )
        );
    }
    let (_, message) = spoiled(json!([{ "metadata": { "name": "x", "labels": "none" } }]));
    assert!(
        message.contains("manifests[0].apiVersion") && message.contains("manifests[0].kind"),
        "{message}"
    );
    assert!(
        message.contains("metadata.labels = \"none\": no object; accepted: an object"),
        "{message}"
    );
}

#[test]
fn a_template_that_is_too_large_or_empty_is_refused() {
    let mut large = manifest("web");
    large["data"] = json!({ "text": "x".repeat(600_000) });
    let (_, message) = spoiled(json!([large]));
    assert!(message.contains("accepted: at most 512000 bytes"), "{message}");
    let (_, message) = spoiled(json!([]));
    assert!(message.ends_with("accepted: at least one object"), "{message}");
}

#[test]
fn a_name_that_means_two_clusters_is_refused_unless_they_are_known_to_be_one() {
    let mut hub = Hub::with_template();
    hub.server.put(&profile("other", "a", json!({})));
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    assert_eq!(hub.made(), ["b"]);
    let (_, reason, message) = hub.condition("web");
    assert_eq!(reason, "ClustersRefused");
    assert_eq!(
        message,
        "a is ambiguous: the ClusterProfiles other/a and shop/a are not known to be one cluster; accepted: one of them \
         alone, or both with the same label multicluster.x-k8s.io/inventory-member-id"
    );
    let member = json!({ "multicluster.x-k8s.io/inventory-member-id": "one" });
    hub.server.put(&profile("other", "a", member.clone()));
    hub.server.put(&profile(HOME, "a", member));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    // Another inventory joins later: what is there stays.
    hub.server.put(&profile(
        "third",
        "a",
        json!({ "multicluster.x-k8s.io/inventory-member-id": "two" }),
    ));
    hub.server.put(&template("web", json!([manifest("new")])));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    let name = |cluster: &str| {
        let work = hub.server.get::<Work>(cluster, "shop.web").unwrap();
        work.spec.workload.manifests[0]["metadata"]["name"].clone()
    };
    assert_eq!((name("a"), name("b")), (json!("web"), json!("new")));
}

#[test]
fn profiles_that_one_manager_publishes_in_several_namespaces_are_one_cluster() {
    let mut hub = Hub::with_template();
    let published = json!({ "open-cluster-management.io/cluster-name": "a" });
    hub.server.put(&profile(HOME, "a", published.clone()));
    hub.server.put(&profile("other", "a", published));
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

#[test]
fn a_profile_of_another_manager_cannot_take_the_name_of_a_managed_cluster() {
    let mut hub = Hub::with_template();
    let managed = |namespace: &str| -> ClusterProfile {
        let labels = json!({ "open-cluster-management.io/cluster-name": "a" });
        object(json!({
            "metadata": { "namespace": namespace, "name": "a", "labels": labels },
            "spec": { "clusterManager": { "name": "open-cluster-management" } },
        }))
    };
    hub.server.put(&managed(HOME));
    // Of somebody who may create profiles in a namespace of their own.
    hub.server.put(&profile("tenant", "a", json!({})));
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"], "the other one keeps nobody from the cluster");
    hub.server.put(&profile(HOME, "a", json!({})));
    hub.server.put(&managed("fleet"));
    hub.server.put(&template("web", json!([manifest("new")])));
    hub.settle();
    let (_, reason, message) = hub.condition("web");
    assert_eq!(reason, "ClustersRefused");
    assert!(
        message.starts_with("the ClusterProfile shop/a is of another manager"),
        "{message}"
    );
}

#[test]
fn a_cluster_whose_name_cannot_be_a_namespace_is_refused() {
    let mut hub = Hub::with_template();
    hub.server.put(&profile(HOME, "eu.west", json!({})));
    hub.decide(&slice(&["eu.west", "b"]));
    hub.settle();
    assert_eq!(hub.made(), ["b"]);
    assert!(
        hub.condition("web")
            .2
            .contains("accepted: at most 63 lower-case letters, digits and dashes")
    );
}

#[test]
fn a_missing_namespace_is_reported_and_the_work_comes_when_it_is_there() {
    let mut hub = Hub::with_template();
    hub.namespaces.remove("b");
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
    assert_eq!(
        hub.condition("web").2,
        "there is no namespace \"b\" for the works of the cluster; create it, or let the cluster join"
    );
    hub.namespaces.insert("b".into());
    hub.wait(60);
    assert_eq!(hub.made(), ["a", "b"]);
    assert_eq!(hub.condition("web").0, "True");
}

#[test]
fn the_placement_behind_a_decision_is_told_too() {
    let mut hub = Hub::with_template();
    let mut slice = slice(&["a", "unknown"]);
    slice.metadata.owner_references = Some(
        serde_json::from_value(json!([{
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "web", "uid": "1",
            "controller": true,
        }]))
        .unwrap(),
    );
    hub.decide(&slice);
    hub.settle();
    let told: Vec<&str> = hub
        .notes
        .iter()
        .filter(|(kind, _)| kind == "Placement")
        .map(|(_, note)| note.reason)
        .collect();
    assert_eq!(told, ["WorkRefused"]);
    assert_eq!(
        hub.notes.last().unwrap().1.message,
        "Work shop/web: there is no ClusterProfile shop/unknown"
    );
}

#[test]
fn a_condition_is_written_once_and_names_few_of_many() {
    let mut hub = Hub::with_template();
    let many: Vec<String> = (0..40).map(|number| format!("unknown-{number:02}")).collect();
    hub.decide(&slice(&many.iter().map(String::as_str).collect::<Vec<_>>()));
    hub.settle();
    assert!(hub.condition("web").2.ends_with("shop/unknown-04; and 35 more"));
    assert_eq!(hub.wait(600), 0);
}

/// One slice of the decision `web` that names a profile of another namespace.
fn naming(namespace: &str, name: &str) -> PlacementDecision {
    let mut slice = slice(&[name]);
    slice.decisions[0] = object(json!({ "clusterProfileRef": { "name": name, "namespace": namespace } }));
    slice
}

#[test]
fn a_decision_reaches_profiles_of_its_own_namespace_and_of_shared_ones_only() {
    let mut hub = Hub::with_template();
    hub.namespaces.insert("secret".into());
    hub.server.put(&profile("vault", "secret", json!({})));
    hub.decide(&naming("vault", "secret"));
    hub.settle();
    assert!(hub.made().is_empty(), "{:?}", hub.made());
    let (status, reason, message) = hub.condition("web");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ClustersRefused"));
    assert!(
        message.contains("ClusterProfile vault/secret is out of reach for decisions in shop")
            && message.contains("--shared-profiles=vault"),
        "{message}"
    );
    for shared in ["vault", "*"] {
        let mut settings = Settings::new(Clock::new(|| jiff::Timestamp::UNIX_EPOCH));
        settings.shared_profiles = vec![shared.to_owned()];
        let mut hub = Hub::with_template();
        hub.state.reach = Reach::of(&settings);
        hub.namespaces.insert("secret".into());
        hub.server.put(&profile("vault", "secret", json!({})));
        hub.decide(&naming("vault", "secret"));
        hub.settle();
        assert_eq!(hub.made(), ["secret"], "{shared}");
    }
}

#[test]
fn works_stay_on_clusters_that_are_out_of_reach() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a"]));
    hub.settle();
    hub.server.put(&profile("vault", "a", json!({})));
    hub.decide(&naming("vault", "a"));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

/// ManagedClusters `a` in the set `ours`, which is bound to the home namespace, and `b` in `others`, which is not.
fn hub_with_bindings() -> Hub {
    let mut hub = Hub::with_template();
    hub.state = State::new(Duration::from_secs(30), Reach::default()).requiring_bindings();
    hub.state.handle(Input::Work(Delta::Synced));
    for (cluster, set) in [("a", "ours"), ("b", "others")] {
        let labels = json!({ "cluster.open-cluster-management.io/clusterset": set });
        let cluster = json!({ "metadata": { "name": cluster, "labels": labels }, "spec": {} });
        let set = json!({ "metadata": { "name": set }, "spec": {} });
        hub.state
            .handle(Input::Cluster(Delta::Applied(Arc::new(object(cluster)))));
        hub.state
            .handle(Input::ClusterSet(Delta::Applied(Arc::new(object(set)))));
    }
    bind(&mut hub, "ours");
    hub.state.handle(Input::Cluster(Delta::Synced));
    hub.state.handle(Input::ClusterSet(Delta::Synced));
    hub.decide(&slice(&["a", "b", "c"]));
    hub
}

fn bind(hub: &mut Hub, set: &str) {
    let binding = json!({ "metadata": { "namespace": HOME, "name": set }, "spec": { "clusterSet": set } });
    hub.state
        .handle(Input::Binding(Delta::Applied(Arc::new(object(binding)))));
}

#[test]
fn a_profile_that_somebody_made_is_no_binding_to_a_managed_cluster() {
    let made = || {
        let mut hub = hub_with_bindings();
        hub.settle();
        assert!(
            hub.made().is_empty() || sabotaged(Rule::BoundClustersOnly),
            "not all is known"
        );
        hub.state.handle(Input::Binding(Delta::Synced));
        hub.settle();
        hub.made()
    };
    assert_eq!(
        made(),
        ["a"],
        "c is no ManagedCluster, and one may join under the name later"
    );
    assert_eq!(with_sabotaged(Rule::BoundClustersOnly, made), ["a", "b", "c"]);
}

#[test]
fn a_profile_in_another_namespace_keeps_nobody_from_a_managed_cluster() {
    let mut hub = hub_with_bindings();
    hub.state.handle(Input::Binding(Delta::Synced));
    // It says that it is of a ManagedCluster, and not which.
    let forged: ClusterProfile = object(json!({
        "metadata": { "namespace": "tenant", "name": "a" },
        "spec": { "clusterManager": { "name": "open-cluster-management" } },
    }));
    hub.server.put(&forged);
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

#[test]
fn a_managed_cluster_that_is_not_bound_is_named_and_one_that_has_a_work_keeps_it() {
    let mut hub = hub_with_bindings();
    hub.state.handle(Input::Binding(Delta::Synced));
    hub.settle();
    let (status, reason, message) = hub.condition("web");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ClustersRefused"));
    assert!(
        message.starts_with("no ManagedClusterSet with b in it is bound to the namespace shop"),
        "{message}"
    );
    bind(&mut hub, "others");
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    let (.., message) = hub.condition("web");
    assert!(message.starts_with("c is no ManagedCluster"), "{message}");
    let labels = json!({ "cluster.open-cluster-management.io/clusterset": "ours" });
    let joined = json!({ "metadata": { "name": "c", "labels": labels }, "spec": {} });
    hub.state
        .handle(Input::Cluster(Delta::Applied(Arc::new(object(joined)))));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b", "c"], "it has joined");
    for set in ["ours", "others"] {
        hub.state.handle(Input::Binding(Delta::Deleted(Key {
            namespace: HOME.to_owned(),
            name: set.to_owned(),
            uid: String::new(),
        })));
    }
    hub.settle();
    assert_eq!(hub.made(), ["a", "b", "c"]);
    assert_eq!(hub.condition("web").0, "True");
}
