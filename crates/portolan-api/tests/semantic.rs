//! What a definition cannot say.

#![allow(clippy::unwrap_used)]

use portolan_api::semantic::{self, Rule, Severity};
use portolan_api::spelling;
use serde_json::{Value, json};

fn object(api_version: &str, kind: &str, rest: Value) -> Value {
    let mut object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x", "namespace": "n" } });
    object
        .as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    object
}

/// `(rule, severity, path)` of every finding.
fn found(object: &Value) -> Vec<(Rule, Severity, String)> {
    semantic::findings(object)
        .into_iter()
        .map(|it| (it.rule, it.severity, it.error.path))
        .collect()
}

fn cluster(kind: &str, rest: Value) -> Value {
    let version = match kind {
        "ManagedCluster" => "v1",
        "ManagedClusterSet" | "ManagedClusterSetBinding" => "v1beta2",
        _ => "v1beta1",
    };
    object(
        &format!("cluster.open-cluster-management.io/{version}"),
        kind,
        rest,
    )
}

fn slice(labels: Value, decisions: Value) -> Value {
    let metadata = json!({ "name": "d", "namespace": "n", "labels": labels });
    let rest = json!({ "metadata": metadata, "decisions": decisions });
    object("multicluster.x-k8s.io/v1alpha1", "PlacementDecision", rest)
}

#[test]
fn a_binding_is_named_like_its_set() {
    assert_eq!(
        found(&cluster(
            "ManagedClusterSetBinding",
            json!({ "spec": { "clusterSet": "x" } })
        )),
        []
    );
    for spec in [json!({ "clusterSet": "y" }), json!({})] {
        let findings = found(&cluster("ManagedClusterSetBinding", json!({ "spec": spec })));
        assert_eq!(
            findings,
            [(Rule::BindingName, Severity::Error, "spec.clusterSet".into())]
        );
    }
}

#[test]
fn what_the_engine_judges_is_not_judged_here() {
    let placement = cluster(
        "Placement",
        json!({ "spec": {
            "predicates": [{ "requiredClusterSelector": {
                "claimSelector": { "matchExpressions": [{ "key": "k", "operator": "Sideways" }] },
                "celSelector": { "celExpressions": ["((("] },
            } }],
            "prioritizerPolicy": { "mode": "Sideways", "configurations": [{ "scoreCoordinate": { "builtIn": "Nope" } }] },
            "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": "0%", "decisionGroups": [
                { "groupName": "twice", "groupClusterSelector": {} }, { "groupName": "twice", "groupClusterSelector": {} }] } },
        } }),
    );
    assert_eq!(found(&placement), []);
}

#[test]
fn a_rate_limit_has_to_fit_into_a_duration() {
    let findings = found(&cluster(
        "Placement",
        json!({ "spec": { "scoreRateLimit": "99999999999999999999h" } }),
    ));
    assert_eq!(
        findings,
        [(Rule::Duration, Severity::Error, "spec.scoreRateLimit".into())]
    );
}

#[test]
fn clusters_have_usable_names_and_addresses() {
    let findings = found(&cluster(
        "ManagedCluster",
        json!({ "metadata": { "name": "dotted.name" },
            "spec": { "managedClusterClientConfigs": [{ "url": "https://ok" }, { "url": "http://plain" }, { "url": "https://" }] } }),
    ));
    let url = |n: usize| {
        (
            Rule::ClientUrl,
            Severity::Error,
            format!("spec.managedClusterClientConfigs[{n}].url"),
        )
    };
    assert_eq!(
        findings,
        [
            (Rule::ClusterName, Severity::Warning, "metadata.name".into()),
            url(1),
            url(2)
        ]
    );
}

#[test]
fn a_set_that_selects_nothing_or_ignores_its_selector_is_pointed_out() {
    let path = "spec.clusterSelector.labelSelector".to_owned();
    for selector in [
        json!({ "selectorType": "LabelSelector" }),
        json!({ "labelSelector": {} }),
    ] {
        let findings = found(&cluster(
            "ManagedClusterSet",
            json!({ "spec": { "clusterSelector": selector } }),
        ));
        assert_eq!(findings, [(Rule::SetSelector, Severity::Warning, path.clone())]);
    }
}

#[test]
fn slice_labels_are_plain_decimal_numbers_in_range() {
    let label = |name: &str| format!("metadata.labels[\"multicluster.x-k8s.io/{name}\"]");
    let good = json!({
        "multicluster.x-k8s.io/decision-index": "2", "multicluster.x-k8s.io/decision-slice-count": "3",
        "multicluster.x-k8s.io/decision-revision": "18446744073709551615",
    });
    assert_eq!(found(&slice(good, json!([]))), []);
    for bad in ["-1", "01", "+1", "1.0", "", "one", "99999999999999999999"] {
        let findings = found(&slice(
            json!({ "multicluster.x-k8s.io/decision-index": bad }),
            json!([]),
        ));
        assert_eq!(
            findings,
            [(Rule::DecimalLabel, Severity::Error, label("decision-index"))],
            "{bad}"
        );
    }
    for count in ["0", "1001"] {
        let findings = found(&slice(
            json!({ "multicluster.x-k8s.io/decision-slice-count": count }),
            json!([]),
        ));
        assert_eq!(
            findings,
            [(Rule::DecimalLabel, Severity::Error, label("decision-slice-count"))],
            "{count}"
        );
    }
    let beyond = json!({
        "multicluster.x-k8s.io/decision-index": "3", "multicluster.x-k8s.io/decision-slice-count": "3",
    });
    assert_eq!(
        found(&slice(beyond, json!([]))),
        [(Rule::DecimalLabel, Severity::Error, label("decision-index"))]
    );
}

#[test]
fn a_cluster_listed_twice_is_pointed_out_in_either_form() {
    let entries = json!([
        { "clusterProfileRef": { "name": "a" } },
        { "clusterProfileRef": { "name": "a", "namespace": "other" } },
        { "clusterName": "a" },
        { "clusterProfileRef": { "name": "a", "namespace": "" } },
    ]);
    let at = |n: usize| {
        (
            Rule::DuplicateCluster,
            Severity::Warning,
            format!("decisions[{n}]"),
        )
    };
    assert_eq!(found(&slice(json!({}), entries)), [at(2), at(3)]);
}

#[test]
fn a_reference_to_something_else_is_refused() {
    let entries = json!([{ "clusterProfileRef": { "name": "a", "kind": "Pod", "apiVersion": "v1" } }]);
    let at = |field: &str| {
        (
            Rule::ReferenceKind,
            Severity::Error,
            format!("decisions[0].clusterProfileRef.{field}"),
        )
    };
    assert_eq!(found(&slice(json!({}), entries)), [at("kind"), at("apiVersion")]);
}

#[test]
fn a_profile_carries_the_label_of_its_manager() {
    let profile = |labels: Value| {
        let metadata = json!({ "name": "c", "namespace": "n", "labels": labels });
        let rest = json!({ "metadata": metadata, "spec": { "clusterManager": { "name": "m" } } });
        found(&object("multicluster.x-k8s.io/v1alpha1", "ClusterProfile", rest))
    };
    assert_eq!(profile(json!({ "x-k8s.io/cluster-manager": "m" })), []);
    for labels in [json!({}), json!({ "x-k8s.io/cluster-manager": "other" })] {
        assert_eq!(profile(labels)[0].1, Severity::Warning);
    }
}

#[test]
fn a_work_has_named_objects_that_fit() {
    let work = |manifests: Value| {
        let rest = json!({ "spec": { "workload": { "manifests": manifests } } });
        found(&object(
            "work.open-cluster-management.io/v1",
            "ManifestWork",
            rest,
        ))
    };
    let named = |data: String| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" }, "data": data });
    assert_eq!(work(json!([named(String::new())])), []);
    assert_eq!(
        work(json!([])),
        [(Rule::Workload, Severity::Error, "spec.workload.manifests".into())]
    );
    let large = work(json!([
        named("x".repeat(300 << 10)),
        named("x".repeat(300 << 10))
    ]));
    assert_eq!(
        large,
        [(Rule::Workload, Severity::Error, "spec.workload.manifests".into())]
    );
    let generated = work(json!([{ "apiVersion": "v1", "kind": "X", "metadata": { "generateName": "x-" } }]));
    let rules: Vec<Rule> = generated.into_iter().map(|(rule, _, _)| rule).collect();
    assert_eq!(rules, [Rule::ManifestName, Rule::ManifestName]);
}

#[test]
fn rollout_durations_are_checked_beyond_the_loose_pattern() {
    let rollout = |progressive: Value| {
        let manifests = json!([{ "apiVersion": "v1", "kind": "X", "metadata": { "name": "x" } }]);
        let strategy = json!({ "type": "Progressive", "progressive": progressive });
        let rest = json!({ "spec": {
            "manifestWorkTemplate": { "workload": { "manifests": manifests } },
            "placementRefs": [{ "name": "p", "rolloutStrategy": strategy }],
        } });
        found(&object(
            "work.open-cluster-management.io/v1alpha1",
            "ManifestWorkReplicaSet",
            rest,
        ))
    };
    assert_eq!(
        rollout(json!({ "minSuccessTime": "1h30m", "progressDeadline": "90m", "timeout": "None" })),
        []
    );
    for (field, value) in [
        ("progressDeadline", "50min"),
        ("timeout", "5|"),
        ("minSuccessTime", "2d"),
        ("minSuccessTime", "-1s"),
    ] {
        let path = format!("spec.placementRefs[0].rolloutStrategy.progressive.{field}");
        assert_eq!(
            rollout(json!({ field: value })),
            [(Rule::Duration, Severity::Error, path)],
            "{value}"
        );
    }
}

#[test]
fn settings_of_another_rollout_type_are_pointed_out() {
    let strategy = json!({ "type": "Progressive", "all": {}, "progressive": {} });
    let manifests = json!([{ "apiVersion": "v1", "kind": "X", "metadata": { "name": "x" } }]);
    let rest = json!({ "spec": { "manifestWorkTemplate": { "workload": { "manifests": manifests } },
        "placementRefs": [{ "name": "p", "rolloutStrategy": strategy }] } });
    let findings = found(&object(
        "work.open-cluster-management.io/v1alpha1",
        "ManifestWorkReplicaSet",
        rest,
    ));
    let path = "spec.placementRefs[0].rolloutStrategy.all".to_owned();
    assert_eq!(findings, [(Rule::RolloutSettings, Severity::Warning, path)]);
}

#[test]
fn fields_and_values_that_resemble_a_right_one_are_put_right() {
    let spec = json!({
        "clusterset": ["a"],
        "prioritiserPolicy": { "configuration": [{ "scoreCoordinate": { "builtin": "Steady" } }] },
        "tolerations": [{ "operator": "Exist", "effect": "noselect" }],
        "predicates": [{ "labelSelector": { "matchExpressions": [{ "key": "k", "operator": "NotExists" }] } }],
        "decisionStrategy": { "groupStrategy": { "clustersPercentagePerDecisionGroup": "20%" },
            "updateStrategy": { "type": "rollingUpdate" } },
        "somethingElse": 1,
    });
    let mut found: Vec<(String, String)> =
        spelling::misspellings("Placement", &cluster("Placement", json!({ "spec": spec })))
            .into_iter()
            .map(|error| (error.path, error.accepted.replace(", the right spelling", "")))
            .collect();
    found.sort();
    let expected = [
        ("spec.clusterset", "clusterSets"),
        (
            "spec.decisionStrategy.groupStrategy.clustersPercentagePerDecisionGroup",
            "clustersPerDecisionGroup",
        ),
        ("spec.decisionStrategy.updateStrategy.type", "RollingUpdate"),
        (
            "spec.predicates[0].labelSelector",
            "requiredClusterSelector.labelSelector",
        ),
        (
            "spec.predicates[0].labelSelector.matchExpressions[0].operator",
            "DoesNotExist",
        ),
        ("spec.prioritiserPolicy", "prioritizerPolicy"),
        ("spec.prioritiserPolicy.configuration", "configurations"),
        (
            "spec.prioritiserPolicy.configuration[0].scoreCoordinate.builtin",
            "builtIn",
        ),
        ("spec.tolerations[0].effect", "NoSelect"),
        ("spec.tolerations[0].operator", "Exists"),
    ];
    assert_eq!(
        found,
        expected.map(|(path, right)| (path.to_owned(), right.to_owned()))
    );
}

#[test]
fn a_decision_with_its_list_in_the_wrong_place_is_told_the_right_one() {
    let ocm = cluster("PlacementDecision", json!({ "spec": { "decisions": [] } }));
    let kep = object(
        "multicluster.x-k8s.io/v1alpha1",
        "PlacementDecision",
        json!({ "status": { "decisions": [] } }),
    );
    for (object, path, right) in [(ocm, "spec", "status"), (kep, "status", "decisions")] {
        let found = spelling::misspellings("PlacementDecision", &object);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].path.as_str(), found[0].accepted.as_str()),
            (path, format!("{right}, the right spelling").as_str())
        );
    }
}

#[test]
fn a_misspelled_kind_is_put_right() {
    let found = spelling::misspellings("", &json!({ "apiVersion": "v1", "kind": "placment" }));
    assert_eq!(found[0].accepted, "Placement, the right spelling");
    assert_eq!(
        spelling::misspellings("", &json!({ "apiVersion": "v1", "kind": "Pod" })),
        []
    );
}

#[test]
fn a_condition_rule_in_cel_names_its_condition() {
    let rest = json!({ "spec": {
        "workload": { "manifests": [{ "apiVersion": "v1", "kind": "X", "metadata": { "name": "x" } }] },
        "manifestConfigs": [{ "conditionRules": [{ "type": "CEL" }, { "type": "WellKnownConditions" }] }],
    } });
    let findings = found(&object(
        "work.open-cluster-management.io/v1",
        "ManifestWork",
        rest,
    ));
    let path = "spec.manifestConfigs[0].conditionRules[0].condition".to_owned();
    assert_eq!(findings, [(Rule::ConditionRule, Severity::Error, path)]);
}

#[test]
fn addresses_are_checked_in_v1alpha2_only() {
    let profile = |version: &str, server: &str, proxy: &str| {
        let metadata = json!({ "name": "c", "labels": { "x-k8s.io/cluster-manager": "m" } });
        let access = json!([{ "name": "a", "cluster": { "server": server, "proxy-url": proxy } }]);
        let rest = json!({ "metadata": metadata, "spec": { "clusterManager": { "name": "m" } },
            "status": { "accessProviders": access } });
        found(&object(
            &format!("multicluster.x-k8s.io/{version}"),
            "ClusterProfile",
            rest,
        ))
        .len()
    };
    assert_eq!(profile("v1alpha2", "https://c1:6443", "socks5://p"), 0);
    assert_eq!(profile("v1alpha2", "c1:6443", "ftp://p"), 2);
    assert_eq!(profile("v1alpha2", "https:///path", ""), 2);
    assert_eq!(profile("v1alpha1", "c1:6443", "ftp://p"), 0);
}
