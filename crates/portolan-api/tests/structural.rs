//! What the definitions accept and refuse, and how a refusal reads.

use portolan_api::structural::{self, MAX_ERRORS};
use serde_json::{Value, json};

fn placement(spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": { "name": "p", "namespace": "n" },
        "spec": spec,
    })
}

fn slice(version: &str, decisions: Value) -> Value {
    json!({
        "apiVersion": format!("multicluster.x-k8s.io/{version}"),
        "kind": "PlacementDecision",
        "metadata": { "name": "d", "namespace": "n" },
        "decisions": decisions,
    })
}

fn reference(name: &str) -> Value {
    json!({ "clusterProfileRef": { "name": name } })
}

/// Paths of all errors.
fn refused(object: &Value) -> Vec<String> {
    structural::validate(object)
        .into_iter()
        .map(|error| error.path)
        .collect()
}

fn accepted(object: &Value) {
    assert_eq!(structural::validate(object), [], "{object}");
}

#[test]
fn what_the_upstream_placement_definition_accepts_is_accepted() {
    let specs = [
        json!({}),
        json!({ "numberOfClusters": 0 }),
        json!({ "clusterSets": [], "predicates": [{}], "tolerations": [{}] }),
        json!({ "predicates": [{ "requiredClusterSelector": { "labelSelector": { "matchExpressions": [
            { "key": "not a key", "operator": "Sideways", "values": ["x".repeat(200)] }] } } }] }),
        json!({ "prioritizerPolicy": { "mode": "Sideways" } }),
        json!({ "prioritizerPolicy": { "configurations": [{ "scoreCoordinate": { "builtIn": "Spread" }, "weight": -10 }] } }),
        json!({ "prioritizerPolicy": { "configurations": [{ "scoreCoordinate": {} }] } }),
        json!({ "tolerations": [{ "operator": "Sideways", "tolerationSeconds": -5 }] }),
        json!({ "decisionStrategy": {} }),
        json!({ "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": 0 } } }),
        json!({ "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": "150" } } }),
        json!({ "decisionStrategy": { "groupStrategy": { "decisionGroups": [
            { "groupName": "ab", "groupClusterSelector": {} }, { "groupName": "ab", "groupClusterSelector": {} }] } } }),
        json!({ "sortBy": "Name", "scoreRateLimit": "0s" }),
        json!({ "clusterSets": null, "numberOfClusters": null }),
    ];
    specs.into_iter().for_each(|spec| accepted(&placement(spec)));
}

#[test]
fn what_the_placement_definition_refuses_is_refused_at_its_field() {
    let group = |name: &str| json!({ "decisionStrategy": { "groupStrategy": { "decisionGroups": [{ "groupName": name, "groupClusterSelector": {} }] } } });
    let size = |size: Value| json!({ "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": size } } });
    let group_name = "spec.decisionStrategy.groupStrategy.decisionGroups[0].groupName";
    let group_size = "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup";
    let constraint = json!({ "topologyKey": "a", "topologyKeyType": "Label" });
    let cases = [
        (json!({ "numberOfClusters": -1 }), "spec.numberOfClusters"),
        (json!({ "numberOfClusters": "3" }), "spec.numberOfClusters"),
        (json!({ "numberOfClusters": 1.5 }), "spec.numberOfClusters"),
        (
            json!({ "numberOfClusters": 4_294_967_296_i64 }),
            "spec.numberOfClusters",
        ),
        (json!({ "clusterSets": "global" }), "spec.clusterSets"),
        (json!({ "clusterSets": [1] }), "spec.clusterSets[0]"),
        (json!({ "clusterSets": [null] }), "spec.clusterSets[0]"),
        (
            json!({ "tolerations": [{}, { "effect": "NoSchedule" }] }),
            "spec.tolerations[1].effect",
        ),
        (
            json!({ "tolerations": [{ "key": "" }] }),
            "spec.tolerations[0].key",
        ),
        (
            json!({ "tolerations": [{ "value": "v".repeat(1025) }] }),
            "spec.tolerations[0].value",
        ),
        (
            json!({ "prioritizerPolicy": { "configurations": [{}] } }),
            "spec.prioritizerPolicy.configurations[0].scoreCoordinate",
        ),
        (
            json!({ "prioritizerPolicy": { "configurations": [{ "scoreCoordinate": {}, "weight": 11 }] } }),
            "spec.prioritizerPolicy.configurations[0].weight",
        ),
        (
            json!({ "prioritizerPolicy": { "configurations": [{ "scoreCoordinate": { "addOn": { "resourceName": "r" } } }] } }),
            "spec.prioritizerPolicy.configurations[0].scoreCoordinate.addOn.scoreName",
        ),
        (
            json!({ "spreadPolicy": { "spreadConstraints": vec![constraint; 9] } }),
            "spec.spreadPolicy.spreadConstraints",
        ),
        (group("a"), group_name),
        (group(&"a".repeat(64)), group_name),
        (size(json!("0%")), group_size),
        (size(json!("101%")), group_size),
        (size(json!(true)), group_size),
        (json!({ "sortBy": "Size" }), "spec.sortBy"),
        (json!({ "scoreRateLimit": "1d" }), "spec.scoreRateLimit"),
        (
            json!({ "decisionStrategy": { "updateStrategy": { "type": "Rolling" } } }),
            "spec.decisionStrategy.updateStrategy.type",
        ),
    ];
    for (spec, path) in cases {
        assert_eq!(refused(&placement(spec.clone())), [path], "{spec}");
    }
}

#[test]
fn a_placement_needs_a_spec() {
    let mut object = placement(json!({}));
    object.as_object_mut().unwrap().remove("spec");
    assert_eq!(refused(&object), ["spec"]);
}

#[test]
fn an_error_names_the_value_and_what_would_be_accepted() {
    let errors = structural::validate(&placement(json!({ "tolerations": [{ "effect": "NoSchedule" }] })));
    assert_eq!(
        errors[0].to_string(),
        r#"cannot accept spec.tolerations[0].effect = "NoSchedule": not an allowed value; accepted: one of "NoSelect", "PreferNoSelect", "NoSelectIfNew""#
    );
    let errors = structural::validate(&placement(json!({ "numberOfClusters": -1 })));
    assert_eq!(errors[0].accepted, "an integer from 0 to 2147483647");
}

#[test]
fn a_slice_of_101_entries_is_refused_and_one_of_100_is_not() {
    for version in ["v1alpha1", "v1alpha2"] {
        let of = |count: usize| slice(version, (0..count).map(|n| reference(&format!("c{n}"))).collect());
        accepted(&of(0));
        accepted(&of(100));
        assert_eq!(refused(&of(101)), ["decisions"]);
    }
}

#[test]
fn a_slice_without_its_list_is_refused() {
    let mut object = slice("v1alpha1", json!(null));
    assert_eq!(refused(&object), ["decisions"]);
    object.as_object_mut().unwrap().remove("decisions");
    assert_eq!(refused(&object), ["decisions"]);
}

#[test]
fn an_entry_has_exactly_one_of_the_two_forms() {
    accepted(&slice(
        "v1alpha1",
        json!([{ "clusterName": "a" }, reference("b")]),
    ));
    let both = json!([{ "clusterName": "a", "clusterProfileRef": { "name": "a" } }]);
    for entries in [json!([{}]), json!([{ "reason": "r" }]), both] {
        let errors = structural::validate(&slice("v1alpha1", entries));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(
            errors[0].accepted,
            "exactly one of: clusterProfileRef, clusterName"
        );
    }
}

#[test]
fn v1alpha2_checks_names_that_v1alpha1_lets_pass() {
    let named = |name: &str| json!([reference(name)]);
    let in_namespace =
        |namespace: &str| json!([{ "clusterProfileRef": { "name": "c", "namespace": namespace } }]);
    let long = "a".repeat(254);
    for name in ["", "Legacy_Name", "trailing-", long.as_str()] {
        accepted(&slice("v1alpha1", named(name)));
        assert_eq!(
            refused(&slice("v1alpha2", named(name))),
            ["decisions[0].clusterProfileRef.name"],
            "{name}"
        );
    }
    let long = "a".repeat(64);
    for namespace in ["", "Invalid_NS", "dotted.ns", long.as_str()] {
        accepted(&slice("v1alpha1", in_namespace(namespace)));
        let path = "decisions[0].clusterProfileRef.namespace";
        assert_eq!(
            refused(&slice("v1alpha2", in_namespace(namespace))),
            [path],
            "{namespace}"
        );
    }
    accepted(&slice("v1alpha2", named("cluster.example.com")));
    accepted(&slice("v1alpha2", in_namespace("fleet-system")));
}

#[test]
fn v1alpha2_checks_managers_and_access_providers() {
    let profile = |version: &str, manager: &str, providers: Value| {
        json!({
            "apiVersion": format!("multicluster.x-k8s.io/{version}"), "kind": "ClusterProfile",
            "metadata": { "name": "c", "namespace": "n" },
            "spec": { "clusterManager": { "name": manager } },
            "status": { "accessProviders": providers },
        })
    };
    let provider = |n: usize| json!({ "name": format!("p{n}"), "cluster": { "server": "https://c" } });
    let many = |count: usize| (0..count).map(provider).collect::<Value>();
    let extension = json!({ "name": "e", "extension": {} });
    let twice = json!([{ "name": "a", "cluster": { "server": "s", "extensions": [extension, extension] } }]);
    let cases = [
        ("no label!", json!([]), "spec.clusterManager.name"),
        ("m", json!([{ "name": "a" }]), "status.accessProviders[0].cluster"),
        ("m", many(65), "status.accessProviders"),
        ("m", twice, "status.accessProviders[0].cluster.extensions[1]"),
    ];
    for (manager, providers, path) in cases {
        accepted(&profile("v1alpha1", manager, providers.clone()));
        assert_eq!(refused(&profile("v1alpha2", manager, providers)), [path]);
    }
    accepted(&profile("v1alpha2", "m", many(64)));
}

#[test]
fn lists_with_keys_have_each_key_once() {
    let profile = |properties: Value| {
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": { "name": "c", "namespace": "n" },
            "spec": { "clusterManager": { "name": "m" } },
            "status": { "properties": properties },
        })
    };
    accepted(&profile(
        json!([{ "name": "a", "value": "1" }, { "name": "b", "value": "1" }]),
    ));
    let twice = profile(json!([{ "name": "a", "value": "1" }, { "name": "a", "value": "2" }]));
    assert_eq!(refused(&twice), ["status.properties[1]"]);
}

#[test]
fn objects_inside_works_say_what_they_are_and_keep_their_fields() {
    let work = |manifest: Value| {
        json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": { "name": "w", "namespace": "c1" },
            "spec": { "workload": { "manifests": [manifest] } },
        })
    };
    let fine = work(
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" }, "data": { "any": 1 } }),
    );
    accepted(&fine);
    assert_eq!(structural::unknown_fields(&fine), [""; 0]);
    let path = |field: &str| format!("spec.workload.manifests[0].{field}");
    assert_eq!(refused(&work(json!({ "apiVersion": "v1" }))), [path("kind")]);
    assert_eq!(refused(&work(json!("text"))), ["spec.workload.manifests[0]"]);
    let bad_label = work(json!({ "apiVersion": "v1", "kind": "X", "metadata": { "labels": { "a": 1 } } }));
    assert_eq!(refused(&bad_label), [path("metadata.labels.a")]);
}

#[test]
fn maps_check_their_values() {
    let cluster = |cpu: Value| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "c" }, "status": { "capacity": { "cpu": cpu } },
        })
    };
    for fine in [json!("4"), json!(4), json!("3500m"), json!("1.5Gi"), json!("1e3")] {
        accepted(&cluster(fine));
    }
    for bad in [json!("four"), json!(true), json!("4 Gi")] {
        assert_eq!(refused(&cluster(bad)), ["status.capacity.cpu"]);
    }
}

#[test]
fn a_taint_time_may_be_null_but_not_nonsense() {
    let cluster = |time: Value| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "c" },
            "spec": { "taints": [{ "key": "k", "effect": "NoSelect", "timeAdded": time }] },
        })
    };
    accepted(&cluster(json!(null)));
    accepted(&cluster(json!("2026-01-31T08:00:00Z")));
    assert_eq!(
        refused(&cluster(json!("yesterday"))),
        ["spec.taints[0].timeAdded"]
    );
}

#[test]
fn an_unknown_kind_or_version_is_told_what_there_is() {
    let of = |version: &str, kind: &str| {
        structural::validate(&json!({ "apiVersion": version, "kind": kind })).remove(0)
    };
    let version = of("cluster.open-cluster-management.io/v1", "Placement");
    assert_eq!(
        (version.path.as_str(), version.accepted.as_str()),
        ("apiVersion", "cluster.open-cluster-management.io/v1beta1")
    );
    let kind = of("v1", "Pod");
    assert_eq!(kind.path, "kind");
    assert!(
        kind.accepted
            .contains("ManifestWorkReplicaSet, Placement, PlacementDecision"),
        "{kind}"
    );
    assert_eq!(refused(&json!({})), ["apiVersion"]);
    assert_eq!(refused(&json!([])), ["apiVersion"]);
}

#[test]
fn defaults_are_filled_in_where_the_parent_is_there() {
    let mut object = placement(json!({
        "clusterSets": null,
        "prioritizerPolicy": { "configurations": [{ "scoreCoordinate": {}, "weight": null }] },
        "decisionStrategy": { "groupStrategy": {} },
        "tolerations": [{ "key": "k" }],
    }));
    structural::apply_defaults(&mut object);
    assert_eq!(
        object["spec"],
        json!({
            "prioritizerPolicy": { "mode": "Additive",
                "configurations": [{ "scoreCoordinate": { "type": "BuiltIn" }, "weight": 1 }] },
            "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": "100%", "assignment": "ByName" } },
            "tolerations": [{ "key": "k", "operator": "Equal" }],
            "sortBy": "ClusterName",
            "scoreRateLimit": "1m",
        })
    );
    let once = object.clone();
    structural::apply_defaults(&mut object);
    assert_eq!(object, once, "filling in twice changes nothing");
}

#[test]
fn a_set_and_a_placement_reference_get_their_whole_default() {
    let mut set = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": { "name": "s" },
    });
    structural::apply_defaults(&mut set);
    assert_eq!(
        set["spec"],
        json!({ "clusterSelector": { "selectorType": "ExclusiveClusterSetLabel" } })
    );
    let mut rollout = json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "r" }, "spec": { "placementRefs": [{ "name": "p" }] },
    });
    structural::apply_defaults(&mut rollout);
    assert_eq!(
        rollout["spec"]["placementRefs"][0]["rolloutStrategy"],
        json!({ "type": "All", "all": { "progressDeadline": "None", "minSuccessTime": "0", "maxFailures": 0 } })
    );
}

#[test]
fn unknown_fields_are_listed_with_their_path() {
    let mut object = placement(json!({ "clusterSet": [], "tolerations": [{ "effects": "x" }] }));
    object["metadata"]["lables"] = json!({});
    object["extra"] = json!(1);
    let mut unknown = structural::unknown_fields(&object);
    unknown.sort();
    assert_eq!(
        unknown,
        [
            "extra",
            "metadata.lables",
            "spec.clusterSet",
            "spec.tolerations[0].effects"
        ]
    );
}

#[test]
fn a_value_of_10_mb_gives_a_short_error() {
    let huge = "x".repeat(10 << 20);
    let object = placement(
        json!({ "tolerations": [{ "key": huge, "value": huge, "effect": huge }], huge.as_str(): 1 }),
    );
    let errors = structural::validate(&object);
    assert_eq!(errors.len(), 3);
    assert!(
        errors.iter().all(|error| error.to_string().len() < 1000),
        "{errors:?}"
    );
    assert!(
        structural::unknown_fields(&object)
            .iter()
            .all(|path| path.len() < 200)
    );
}

#[test]
fn thousands_of_errors_are_cut_off() {
    let object = placement(json!({ "clusterSets": vec![1; 100_000] }));
    assert_eq!(structural::validate(&object).len(), MAX_ERRORS);
}
