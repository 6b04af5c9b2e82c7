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
    for (spec, field) in [
        // The set is what is meant: the binding is to be renamed.
        (json!({ "clusterSet": "y" }), "metadata.name"),
        (json!({}), "spec.clusterSet"),
    ] {
        let findings = found(&cluster("ManagedClusterSetBinding", json!({ "spec": spec })));
        assert_eq!(findings, [(Rule::BindingName, Severity::Error, field.into())]);
    }
    let renamed = cluster(
        "ManagedClusterSetBinding",
        json!({ "spec": { "clusterSet": "y" } }),
    );
    let error = semantic::errors(&renamed).remove(0);
    assert_eq!(error.value, "\"x\"");
    assert!(error.accepted.starts_with("\"y\": rename the binding"), "{error}");
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
    let named = |name: &str, data: String| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "n" }, "data": data });
    assert_eq!(work(json!([named("x", String::new())])), []);
    assert_eq!(
        work(json!([])),
        [(Rule::Workload, Severity::Error, "spec.workload.manifests".into())]
    );
    let large = work(json!([
        named("x", "x".repeat(300 << 10)),
        named("y", "x".repeat(300 << 10))
    ]));
    assert_eq!(
        large,
        [(Rule::Workload, Severity::Error, "spec.workload.manifests".into())]
    );
    let generated = work(json!([{ "apiVersion": "v1", "kind": "X", "metadata": { "generateName": "x-" } }]));
    let rules: Vec<Rule> = generated.into_iter().map(|(rule, _, _)| rule).collect();
    assert_eq!(rules, [Rule::ManifestName, Rule::ManifestName]);
}

/// What is said about one manifest of a work, and of a replica set: they are judged alike.
fn about_manifest(manifest: Value) -> Vec<String> {
    let work = work(json!([manifest.clone()]), json!([]));
    let template = json!({ "workload": { "manifests": [manifest] } });
    let set = object(
        "work.open-cluster-management.io/v1alpha1",
        "ManifestWorkReplicaSet",
        json!({ "spec": { "manifestWorkTemplate": template, "placementRefs": [{ "name": "p" }] } }),
    );
    let said = |object: &Value| -> Vec<String> {
        let findings = semantic::findings(object).into_iter();
        let findings = findings.map(|finding| finding.to_string());
        findings
            .map(|text| text.replace("spec.manifestWorkTemplate.", "spec."))
            .collect()
    };
    assert_eq!(said(&work), said(&set));
    said(&work)
}

#[test]
fn a_name_that_yaml_reads_as_a_boolean_is_there_and_no_text() {
    let said =
        about_manifest(json!({ "apiVersion": "a.example/v1", "kind": "X", "metadata": { "name": true } }));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("manifests[0].metadata.name = true: not a string (YAML reads true, false, yes, no"),
        "{said:?}"
    );
}

#[test]
fn an_object_of_a_well_known_kind_has_its_version_and_its_namespace() {
    let manifest = |api_version: &str, kind: &str, namespace: Option<&str>| {
        let metadata = match namespace {
            Some(namespace) => json!({ "name": "x", "namespace": namespace }),
            None => json!({ "name": "x" }),
        };
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
    };
    for (api_version, kind, namespace) in [
        ("apps/v1", "Deployment", Some("n")),
        ("v1", "Namespace", None),
        ("autoscaling/v1", "HorizontalPodAutoscaler", Some("n")),
        // Of others, which may be anywhere.
        ("serving.knative.dev/v1", "Service", None),
        ("example.com/v1", "Deployment", None),
        ("v1", "Unknown", None),
    ] {
        let said = about_manifest(manifest(api_version, kind, namespace));
        assert_eq!(said, Vec::<String>::new());
    }
    for (api_version, kind, namespace, words) in [
        (
            "apps/v1",
            "Deployment",
            None,
            "manifests[0].metadata.namespace = (missing): a Deployment is in a namespace",
        ),
        (
            "v1",
            "Namespace",
            Some("n"),
            "manifests[0].metadata.namespace = \"n\": a Namespace is in no namespace",
        ),
        (
            "v1",
            "Deployment",
            Some("n"),
            "manifests[0].apiVersion = \"v1\": Kubernetes does not serve Deployment in this version; accepted: apps/v1",
        ),
        (
            "apps/v1beta1",
            "Deployment",
            Some("n"),
            "manifests[0].apiVersion = \"apps/v1beta1\": Kubernetes no longer serves Deployment in this version",
        ),
        (
            "extensions/v1beta1",
            "Ingress",
            Some("n"),
            "Kubernetes no longer serves Ingress in this version; accepted: networking.k8s.io/v1",
        ),
        (
            "batch/v1beta1",
            "CronJob",
            Some("n"),
            "Kubernetes no longer serves CronJob in this version; accepted: batch/v1",
        ),
    ] {
        let said = about_manifest(manifest(api_version, kind, namespace));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("warning: ") && said[0].contains(words),
            "{said:?}"
        );
    }
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
fn a_condition_rule_names_a_condition_that_a_status_can_have() {
    let manifest =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" } });
    let rule = |condition: &str| json!({ "type": "CEL", "condition": condition, "celExpressions": ["true"] });
    let (long, good) = ("a".repeat(317), rule("example.com/Ready"));
    let rules = [
        good,
        rule("not a type!"),
        rule(&long),
        json!({ "type": "WellKnownConditions", "condition": "a b" }),
    ];
    let work =
        json!({ "workload": { "manifests": [manifest] }, "manifestConfigs": [{ "conditionRules": rules }] });
    for (kind, path, spec) in [
        ("ManifestWork", "spec", work.clone()),
        (
            "ManifestWorkReplicaSet",
            "spec.manifestWorkTemplate",
            json!({ "manifestWorkTemplate": work }),
        ),
    ] {
        let api_version = "work.open-cluster-management.io/v1";
        let version = if kind == "ManifestWork" {
            api_version.to_owned()
        } else {
            format!("{api_version}alpha1")
        };
        let object =
            json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "w" }, "spec": spec });
        let errors = semantic::errors(&object);
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        let at = |rule: usize| format!("{path}.manifestConfigs[0].conditionRules[{rule}].condition");
        assert_eq!(paths, [at(1), at(2), at(3)]);
        assert!(
            errors
                .iter()
                .all(|error| error.accepted.contains("at most 316 characters"))
        );
    }
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

fn replica_set(strategy: Value, manifests: Value, configs: Value) -> Value {
    let template = json!({ "workload": { "manifests": manifests }, "manifestConfigs": configs });
    let reference = json!({ "name": "p", "rolloutStrategy": { "type": strategy } });
    object(
        "work.open-cluster-management.io/v1alpha1",
        "ManifestWorkReplicaSet",
        json!({ "spec": { "manifestWorkTemplate": template, "placementRefs": [reference] } }),
    )
}

fn work(manifests: Value, configs: Value) -> Value {
    let spec = json!({ "workload": { "manifests": manifests }, "manifestConfigs": configs });
    object(
        "work.open-cluster-management.io/v1",
        "ManifestWork",
        json!({ "spec": spec }),
    )
}

fn manifest(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "shop" } })
}

fn said(object: &Value) -> Vec<String> {
    semantic::findings(object)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_workload_that_is_rolled_out_in_steps_without_a_rule_is_pointed_out_with_one() {
    let web = || json!([manifest("apps/v1", "Deployment", "web")]);
    let set = replica_set(json!("Progressive"), web(), json!([]));
    assert_eq!(
        said(&set),
        [
            "warning: cannot accept spec.manifestWorkTemplate.workload.manifests[0] = Deployment shop/web: the rollout goes \
          on as soon as this object exists, whether it works or not: no condition rule says when it does; accepted: with a \
          rule, in spec.manifestWorkTemplate.manifestConfigs: [{resourceIdentifier: {group: apps, resource: deployments, \
          namespace: shop, name: web}, conditionRules: [{type: WellKnownConditions, condition: \"\"}]}]"
        ]
    );
    let rules = |rules: Value| {
        let identifier =
            json!({ "group": "apps", "resource": "deployments", "namespace": "shop", "name": "*" });
        json!([{ "resourceIdentifier": identifier, "conditionRules": rules }])
    };
    let cel = |condition: &str| json!({ "type": "CEL", "condition": condition, "celExpressions": ["true"] });
    for (strategy, configs, expected) in [
        ("All", json!([]), 0),
        ("ProgressivePerGroup", json!([]), 1),
        (
            "Progressive",
            rules(json!([{ "type": "WellKnownConditions", "condition": "" }])),
            0,
        ),
        (
            "Progressive",
            rules(json!([{ "type": "WellKnownConditions", "condition": "Progressing" }])),
            0,
        ),
        (
            "Progressive",
            rules(json!([{ "type": "WellKnownConditions", "condition": "Degraded" }])),
            1,
        ),
        ("Progressive", rules(json!([cel("Available")])), 0),
        ("Progressive", rules(json!([cel("Ready")])), 1),
    ] {
        let found = found(&replica_set(json!(strategy), web(), configs.clone()));
        assert_eq!(found.len(), expected, "{strategy} {configs}: {found:?}");
        assert!(
            found
                .iter()
                .all(|(rule, severity, _)| (*rule, *severity) == (Rule::SuccessRule, Severity::Warning))
        );
    }
    let job = replica_set(
        json!("Progressive"),
        json!([manifest("batch/v1", "Job", "once")]),
        json!([]),
    );
    let rule = "conditionRules: [{type: WellKnownConditions, condition: Progressing}, {type: WellKnownConditions, \
                condition: Degraded}]}]";
    assert!(said(&job)[0].ends_with(rule), "{:?}", said(&job));
    let map = replica_set(
        json!("Progressive"),
        json!([manifest("v1", "ConfigMap", "a")]),
        json!([]),
    );
    assert_eq!(said(&map), Vec::<String>::new());
}

#[test]
fn the_rule_that_is_proposed_is_accepted_where_it_is_pasted() {
    for (api_version, kind) in [("apps/v1", "StatefulSet"), ("batch/v1", "Job"), ("v1", "Pod")] {
        let manifests = json!([manifest(api_version, kind, "x")]);
        let set = replica_set(json!("Progressive"), manifests.clone(), json!([]));
        let text = semantic::findings(&set)[0].error.accepted.clone();
        let option = text.split_once("manifestConfigs: ").unwrap().1;
        let option: Value = serde_saphyr::from_str(option).unwrap();
        let set = replica_set(json!("Progressive"), manifests, json!([option]));
        assert_eq!(said(&set), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn an_option_that_names_no_manifest_is_pointed_out_with_the_closest_one() {
    let manifests = || {
        json!([
            manifest("v1", "ConfigMap", "a"),
            manifest("apps/v1", "Deployment", "web"),
            manifest("example.com/v1", "Gateway", "g"),
            manifest("v1", "Namespace", "shop"),
        ])
    };
    // The namespace of a Namespace has a warning of its own.
    let said = |work: &Value| {
        let mut said = said(work);
        said.retain(|text| !text.contains("a Namespace is in no namespace"));
        said
    };
    let option = |group: &str, resource: &str, namespace: &str, name: &str| {
        let identifier =
            json!({ "group": group, "resource": resource, "namespace": namespace, "name": name });
        json!([{ "resourceIdentifier": identifier, "updateStrategy": { "type": "CreateOnly" } }])
    };
    for (group, resource, namespace, name) in [
        ("apps", "deployments", "shop", "web"),
        ("apps", "deployments", "*", "w*"),
        ("", "namespaces", "", "shop"),
        // Only a server can tell the resource of a kind that is not of Kubernetes, and whether it has a namespace.
        ("example.com", "gws", "shop", "g"),
        ("example.com", "gateways", "", "g"),
    ] {
        let work = work(manifests(), option(group, resource, namespace, name));
        assert_eq!(said(&work), Vec::<String>::new(), "{resource} {name}");
    }
    for (group, resource, namespace, name, closest) in [
        (
            "apps",
            "deployments",
            "shop",
            "wbe",
            "{group: apps, resource: deployments, namespace: shop, name: web}",
        ),
        (
            "apps",
            "Deployment",
            "shop",
            "web",
            "{group: apps, resource: deployments, namespace: shop, name: web}",
        ),
        (
            "",
            "deployments",
            "shop",
            "web",
            "{group: apps, resource: deployments, namespace: shop, name: web}",
        ),
        (
            "apps",
            "deployments",
            "",
            "web",
            "{group: apps, resource: deployments, namespace: shop, name: web}",
        ),
        (
            "example.com",
            "gateway",
            "shop",
            "g",
            "{group: example.com, resource: gateways, namespace: shop, name: g}",
        ),
        (
            "",
            "namespaces",
            "shop",
            "shop",
            "{resource: namespaces, name: shop}",
        ),
    ] {
        let said = said(&work(manifests(), option(group, resource, namespace, name)));
        assert_eq!(said.len(), 1, "{resource} {name}: {said:?}");
        assert!(
            said[0].starts_with("warning: cannot accept spec.manifestConfigs[0].resourceIdentifier = {")
                && said[0].contains("this names no manifest of the work")
                && said[0].ends_with(closest),
            "{said:?}"
        );
    }
}

#[test]
fn a_rule_that_gives_nothing_is_pointed_out() {
    let with = |rules: Value| {
        let option = |resource: &str, group: &str, name: &str| {
            json!({ "resourceIdentifier": { "group": group, "resource": resource, "namespace": "shop", "name": name },
                "conditionRules": rules })
        };
        let manifests = json!([
            manifest("apps/v1", "Deployment", "web"),
            manifest("v1", "ConfigMap", "a")
        ]);
        (
            said(&work(
                manifests.clone(),
                json!([option("deployments", "apps", "web")]),
            )),
            said(&work(manifests, json!([option("configmaps", "", "a")]))),
        )
    };
    let (deployment, map) = with(json!([{ "type": "WellKnownConditions", "condition": "Complete" }]));
    assert!(
        deployment[0].contains("conditionRules[0].condition = \"Complete\"")
            && deployment[0].ends_with("accepted: Progressing, Degraded, or \"\" for all of these"),
        "{deployment:?}"
    );
    assert!(
        map[0].contains("nothing is well known about the kind ConfigMap"),
        "{map:?}"
    );
    let cel =
        |condition: &str| json!([{ "type": "CEL", "condition": condition, "celExpressions": ["true"] }]);
    assert_eq!(with(cel("Ready")).0, Vec::<String>::new());
    assert!(with(cel("Progresing")).0[0].ends_with("accepted: Progressing"));
    assert!(with(cel("Applied")).0[0].contains("the agent gives this condition itself"));
}

#[test]
fn an_object_that_is_in_a_work_twice_is_refused() {
    let manifests = json!([
        manifest("autoscaling/v1", "HorizontalPodAutoscaler", "web"),
        manifest("v1", "ConfigMap", "web"),
        manifest("autoscaling/v2", "HorizontalPodAutoscaler", "web"),
    ]);
    let problem =
        "\"HorizontalPodAutoscaler shop/web\": manifests[0] is the same object; accepted: each object once";
    for (object, path) in [
        (work(manifests.clone(), json!([])), "spec"),
        (
            replica_set(json!("All"), manifests, json!([])),
            "spec.manifestWorkTemplate",
        ),
    ] {
        assert_eq!(
            said(&object),
            [format!(
                "error: cannot accept {path}.workload.manifests[2] = {problem}"
            )]
        );
        assert_eq!(semantic::errors(&object).len(), 1);
    }
}

#[test]
fn an_empty_list_of_objects_is_not_said_to_be_missing() {
    assert_eq!(
        said(&work(json!([]), json!([]))),
        [
            "error: cannot accept spec.workload.manifests = an empty list: there is no object in it; accepted: at least one \
          object"
        ]
    );
    let missing = said(&work(json!(null), json!([])));
    assert!(
        missing[0].contains("spec.workload.manifests = (missing)"),
        "{missing:?}"
    );
}

fn identifier(name: &str) -> Value {
    json!({ "group": "", "resource": "configmaps", "namespace": "shop", "name": name })
}

fn option(name: &str) -> Value {
    json!({ "resourceIdentifier": identifier(name), "updateStrategy": { "type": "ReadOnly" } })
}

/// Paths of the errors, with their words.
fn errors(object: &Value) -> Vec<(String, String)> {
    semantic::errors(object)
        .into_iter()
        .map(|error| (error.path, error.problem))
        .collect()
}

#[test]
fn identifiers_of_options_are_no_longer_than_names_of_kubernetes() {
    let maps = || json!([manifest("v1", "ConfigMap", "a")]);
    assert_eq!(errors(&work(maps(), json!([option(&"*".repeat(253))]))), []);
    let mut long = work(maps(), json!([option("a"), option(&"n".repeat(254))]));
    let (path, problem) = errors(&long).remove(0);
    assert_eq!(path, "spec.manifestConfigs[1].resourceIdentifier.name");
    assert!(problem.contains("254 bytes"), "{problem}");
    long["spec"]["manifestConfigs"] = json!([]);
    long["spec"]["deleteOption"] = json!({ "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {
        "orphaningRules": [identifier(&"n".repeat(300))],
    } });
    assert_eq!(
        errors(&long)[0].0,
        "spec.deleteOption.selectivelyOrphans.orphaningRules[0].name"
    );
    let set = replica_set(json!("All"), maps(), json!([option(&"n".repeat(300))]));
    assert_eq!(
        errors(&set)[0].0,
        "spec.manifestWorkTemplate.manifestConfigs[0].resourceIdentifier.name"
    );
}

#[test]
fn options_and_manifests_that_take_too_long_to_compare_are_refused() {
    let maps = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|number| manifest("v1", "ConfigMap", &format!("map-{number}")))
            .collect()
    };
    let options = |count: usize, name: &str| -> Vec<Value> {
        (0..count)
            .map(|number| option(&format!("{name}{number}")))
            .collect()
    };
    let verdict = |manifests, options| errors(&work(json!(manifests), json!(options)));
    // As many small objects as fit into a work, with an option for each.
    assert_eq!(verdict(maps(2_500), options(2_500, "map-")), []);
    assert_eq!(verdict(maps(2_500), options(100, "map-*")), []);
    for (manifests, options) in [
        (maps(4_000), options(2_700, "map-")),
        (maps(2_500), options(2_500, "map-*")),
        (maps(2_500), options(100, &"*a".repeat(120))),
    ] {
        let found = verdict(manifests, options);
        let (path, problem) = &found[0];
        assert!(path == "spec" && problem.contains("steps"), "{path} {problem}");
    }
}

#[test]
fn what_a_spec_has_beside_its_manifests_counts_too() {
    let large = json!([{ "resourceIdentifier": identifier("a"), "conditionRules": [
        { "type": "CEL", "condition": "C", "celExpressions": ["true"], "messageExpression": "x".repeat(501 * 1024) },
    ] }]);
    let found = errors(&work(json!([manifest("v1", "ConfigMap", "a")]), large));
    let (path, problem) = &found[0];
    assert_eq!(path, "spec");
    assert!(problem.contains("bytes beside the manifests"), "{problem}");
}
