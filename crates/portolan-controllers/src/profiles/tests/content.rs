use serde_json::{Value, json};

use super::fixture::{Hub, cluster, condition};
use crate::reconcile::fake::{object, second};

fn json_of(hub: &Hub, name: &str) -> Value {
    let mut profile = serde_json::to_value(hub.profile("team", name)).unwrap();
    profile["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    profile
}

#[test]
fn a_new_profile_says_what_ocm_would_say_in_exactly_two_writes() {
    let mut hub = Hub::new();
    hub.settle(second(0));
    hub.server.put(&cluster("a", "prod"));
    assert_eq!(hub.settle(second(1)), 2);
    assert_eq!(
        json_of(&hub, "a"),
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {
                "namespace": "team",
                "name": "a",
                "labels": {
                    "x-k8s.io/cluster-manager": "open-cluster-management",
                    "open-cluster-management.io/cluster-name": "a",
                    "multicluster.x-k8s.io/clusterset": "prod",
                },
                "annotations": {"portolan.dev/published-by": "portolan"},
            },
            "spec": {"displayName": "a", "clusterManager": {"name": "open-cluster-management"}},
            "status": {
                "version": {"kubernetes": "v1.33.1"},
                "properties": [{"name": "gpu", "value": "8"}, {"name": "region", "value": "eu"}],
                "conditions": [condition("ControlPlaneHealthy", "True"), condition("Joined", "True")],
            },
        })
    );
}

#[test]
fn each_kind_of_change_is_one_write() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    let mut changed = cluster("a", "prod");
    changed
        .status
        .as_mut()
        .unwrap()
        .version
        .as_mut()
        .unwrap()
        .kubernetes = Some("v1.34.0".into());
    changed.status.as_mut().unwrap().cluster_claims.pop();
    changed.status.as_mut().unwrap().conditions.pop();
    hub.server.put(&changed);
    assert_eq!(hub.settle(second(1)), 1);
    let status = json_of(&hub, "a")["status"].clone();
    let expected = json!({
        "version": {"kubernetes": "v1.34.0"},
        "properties": [{"name": "region", "value": "eu"}],
        "conditions": [condition("ControlPlaneHealthy", "True")],
    });
    assert_eq!(status, expected);

    hub.server.put(&super::fixture::binding("team", "dev"));
    hub.settle(second(2));
    changed
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .values_mut()
        .for_each(|set| *set = "dev".into());
    hub.server.put(&changed);
    assert_eq!(hub.settle(second(3)), 1);
    assert_eq!(
        json_of(&hub, "a")["metadata"]["labels"]["multicluster.x-k8s.io/clusterset"],
        "dev"
    );
}

#[test]
fn a_heartbeat_that_changes_nothing_relevant_writes_nothing() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    let mut beat = cluster("a", "prod");
    let status = beat.status.as_mut().unwrap();
    status.cluster_claims.reverse();
    status.conditions[0].last_transition_time.0 = second(7);
    status
        .conditions
        .push(object(condition("ManagedClusterConditionClockSynced", "False")));
    status.allocatable = object(json!({"cpu": "7"}));
    beat.metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("env".into(), "prod".into());
    beat.metadata.annotations = object(json!({"beat": "7"}));
    hub.server.put(&beat);
    assert_eq!(hub.settle(second(10)), 0);
}

#[test]
fn the_transition_time_is_that_of_the_cluster_and_moves_with_the_status() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    let time = |hub: &Hub| {
        hub.profile("team", "a").status.unwrap().conditions[0]
            .last_transition_time
            .0
            .to_string()
    };
    let mut changed = cluster("a", "prod");
    for (status, reason, at, expected) in [
        ("True", "Other", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("False", "Other", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
    ] {
        let condition = &mut changed.status.as_mut().unwrap().conditions[0];
        (condition.status, condition.reason) = (status.into(), reason.into());
        condition.last_transition_time.0 = at.parse().unwrap();
        hub.server.put(&changed);
        assert_eq!(hub.settle(second(1)), 1);
        assert_eq!(time(&hub), expected);
    }
}

#[test]
fn what_others_add_to_our_profile_stays_and_what_they_spoil_is_put_right() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    let before = json_of(&hub, "a");
    let mut edited = hub.profile("team", "a");
    edited
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("mine".into(), "1".into());
    edited
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("multicluster.x-k8s.io/clusterset".into(), "x".into());
    edited.spec.display_name = None;
    let status = edited.status.as_mut().unwrap();
    status.conditions.insert(0, object(condition("Audited", "True")));
    status.conditions[1].status = "False".into();
    status.access_providers = object(json!([{"name": "p", "cluster": {"server": "https://a"}}]));
    status.properties.clear();
    hub.server.put(&edited);
    assert_eq!(
        hub.settle(second(1)),
        2,
        "one for what metadata and spec say, one for status"
    );
    let mut expected = before;
    expected["metadata"]["labels"]["mine"] = json!("1");
    expected["status"]["accessProviders"] = json!([{"name": "p", "cluster": {"server": "https://a"}}]);
    expected["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .insert(0, condition("Audited", "True"));
    assert_eq!(json_of(&hub, "a"), expected);
}

#[test]
fn a_cluster_that_says_nothing_has_a_profile_in_one_write() {
    let mut hub = Hub::new();
    hub.settle(second(0));
    let mut silent = cluster("a", "prod");
    silent.status = None;
    hub.server.put(&silent);
    assert_eq!(hub.settle(second(1)), 1);
    assert_eq!(json_of(&hub, "a").get("status"), None);
}

#[test]
fn claims_that_no_property_can_hold_are_left_out_and_of_equal_names_the_last_counts() {
    let mut hub = Hub::new();
    let mut odd = cluster("a", "prod");
    odd.status.as_mut().unwrap().cluster_claims = object(json!([
        {"name": "twice", "value": "1"}, {"name": "empty", "value": ""}, {"name": "", "value": "x"},
        {"name": "long", "value": "x".repeat(1025)}, {"name": "twice", "value": "2"},
    ]));
    odd.status.as_mut().unwrap().conditions[0].reason.clear();
    hub.server.put(&odd);
    hub.settle(second(0));
    let status = hub.profile("team", "a").status.unwrap();
    assert_eq!(
        status
            .properties
            .iter()
            .map(|p| (&*p.name, &*p.value))
            .collect::<Vec<_>>(),
        [("twice", "2")]
    );
    assert_eq!(status.conditions[0].reason, "Unspecified");
}

#[test]
fn a_profile_has_no_more_properties_than_an_agent_reports_claims() {
    let mut hub = Hub::new();
    let mut crowded = cluster("a", "prod");
    let claim = |number: usize| object(json!({"name": format!("claim-{number:04}"), "value": "x"}));
    crowded.status.as_mut().unwrap().cluster_claims = (0..2_400).map(claim).collect();
    hub.server.put(&crowded);
    hub.settle(second(0));
    let properties = json_of(&hub, "a")["status"]["properties"].clone();
    let properties = properties.as_array().unwrap();
    assert_eq!(properties.len(), 256);
    assert_eq!(properties[255]["name"], "claim-0255");
}
