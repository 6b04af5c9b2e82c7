//! The generated definitions are structural, lose nothing in the typed form, and say what the API says.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use portolan_api::{crd_files, crd_values, crds};
use serde_json::{Value, json};

fn crd(name: &str) -> Value {
    crd_values()
        .into_iter()
        .find(|crd| crd["metadata"]["name"] == name)
        .unwrap()
}

fn property<'a>(crd: &'a Value, version: usize, path: &str) -> &'a Value {
    path.split('.').fold(
        &crd["spec"]["versions"][version]["schema"]["openAPIV3Schema"],
        |schema, name| {
            let found = match name.strip_suffix("[]") {
                Some(name) => &schema["properties"][name]["items"],
                None => &schema["properties"][name],
            };
            assert!(found.is_object(), "no {name} in {path}");
            found
        },
    )
}

const PLACEMENTS: &str = "placements.cluster.open-cluster-management.io";

#[test]
fn every_kind_has_the_names_scope_versions_and_status_of_its_api() {
    let cluster = "cluster.open-cluster-management.io";
    let sig = "multicluster.x-k8s.io";
    let work = "work.open-cluster-management.io";
    let expected: &[(&str, &str, &str, &[&str], bool)] = &[
        ("addonplacementscores", cluster, "Namespaced", &["v1alpha1"], true),
        ("managedclusters", cluster, "Cluster", &["v1"], true),
        (
            "managedclustersetbindings",
            cluster,
            "Namespaced",
            &["v1beta2"],
            true,
        ),
        ("managedclustersets", cluster, "Cluster", &["v1beta2"], true),
        ("placementdecisions", cluster, "Namespaced", &["v1beta1"], true),
        ("placements", cluster, "Namespaced", &["v1beta1"], true),
        ("appliedworks", sig, "Cluster", &["v1alpha1"], true),
        (
            "clusterprofiles",
            sig,
            "Namespaced",
            &["v1alpha1", "v1alpha2"],
            true,
        ),
        (
            "placementdecisions",
            sig,
            "Namespaced",
            &["v1alpha1", "v1alpha2"],
            false,
        ),
        ("works", sig, "Namespaced", &["v1alpha1"], true),
        ("appliedmanifestworks", work, "Cluster", &["v1"], true),
        ("manifestworkreplicasets", work, "Namespaced", &["v1alpha1"], true),
        ("manifestworks", work, "Namespaced", &["v1"], true),
    ];
    let found = crd_values();
    assert_eq!(found.len(), expected.len());
    for (crd, (plural, group, scope, versions, status)) in found.iter().zip(expected) {
        assert_eq!(crd["metadata"]["name"], format!("{plural}.{group}"));
        assert_eq!(crd["spec"]["scope"], *scope, "{plural}");
        for (position, version) in crd["spec"]["versions"].as_array().unwrap().iter().enumerate() {
            assert_eq!(version["name"], versions[position], "{plural}");
            assert_eq!(version["storage"], position == 0, "{plural}");
            assert_eq!(version["subresources"].is_object(), *status, "{plural}");
        }
    }
}

#[test]
fn the_typed_definitions_lose_nothing() {
    for (typed, value) in crds().into_iter().zip(crd_values()) {
        // The typed form keeps bounds as floating point numbers.
        let text = serde_json::to_string(&typed)
            .unwrap()
            .replace(".0,", ",")
            .replace(".0}", "}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}

#[test]
fn the_files_are_yaml_and_say_the_same() {
    for ((name, text), value) in crd_files().into_iter().zip(crd_values()) {
        let read: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read, value, "{name}");
    }
}

/// Walks every schema with its path. `inside` is false for the parts of `oneOf` and the like.
fn walk(schema: &Value, path: &str, inside: bool, visit: &mut dyn FnMut(&Value, &str, bool)) {
    visit(schema, path, inside);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), inside, visit);
    }
    for nested in ["items", "additionalProperties"] {
        if schema[nested].is_object() {
            walk(&schema[nested], &format!("{path}.{nested}"), inside, visit);
        }
    }
    for junction in ["allOf", "anyOf", "oneOf"] {
        for part in schema[junction].as_array().into_iter().flatten() {
            walk(part, &format!("{path}.{junction}"), false, visit);
        }
    }
}

fn for_each_schema(mut visit: impl FnMut(&Value, &str, bool)) {
    for crd in crd_values() {
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let path = format!("{}/{}", crd["metadata"]["name"], version["name"]);
            walk(&version["schema"]["openAPIV3Schema"], &path, true, &mut visit);
        }
    }
}

#[test]
fn every_schema_is_structural_and_uses_known_keywords_only() {
    const KEYWORDS: &[&str] = &[
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "nullable",
        "oneOf",
        "pattern",
        "properties",
        "required",
        "type",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    ];
    for_each_schema(|schema, path, inside| {
        for keyword in schema.as_object().unwrap().keys() {
            assert!(KEYWORDS.contains(&keyword.as_str()), "{keyword} at {path}");
        }
        let int_or_string = schema["x-kubernetes-int-or-string"] == true;
        if inside {
            assert_ne!(
                schema["type"].is_string(),
                int_or_string,
                "exactly one of type and int-or-string at {path}"
            );
        } else {
            assert!(
                schema["properties"].is_null() && schema["default"].is_null(),
                "{path}"
            );
        }
        if let Some(format) = schema["format"].as_str() {
            assert!(
                ["int32", "int64", "date-time", "byte"].contains(&format),
                "{format} at {path}"
            );
        }
        let nullable_is_meant = path.ends_with("timeAdded") || path.ends_with("validUntil");
        assert_eq!(
            schema["nullable"] == true,
            nullable_is_meant,
            "nullable at {path}"
        );
    });
}

#[test]
fn every_required_name_is_a_property_and_every_list_key_is_there() {
    for_each_schema(|schema, path, inside| {
        if !inside {
            return;
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(
                schema["properties"][name.as_str().unwrap()].is_object(),
                "{name} at {path}"
            );
        }
        for key in schema["x-kubernetes-list-map-keys"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let item = &schema["items"];
            let key = key.as_str().unwrap();
            let required = item["required"]
                .as_array()
                .is_some_and(|names| names.contains(&key.into()));
            let defaulted = !item["properties"][key]["default"].is_null();
            assert!(
                required || defaulted,
                "a list key has to be required or have a default: {key} at {path}"
            );
        }
    });
}

#[test]
fn every_default_passes_its_own_schema() {
    for_each_schema(|schema, path, _| {
        if !schema["default"].is_null() {
            let wrapped = json!({ "type": "object", "properties": { "value": schema } });
            let compiled = portolan_api::structural::Schema::compile(&wrapped).unwrap();
            assert_eq!(
                compiled.validate(&json!({ "value": schema["default"] })),
                [],
                "{path}"
            );
        }
    });
}

#[test]
fn every_field_has_a_description_of_one_line() {
    for_each_schema(|schema, path, inside| {
        let bare = path.ends_with(".metadata")
            || path.ends_with(".items")
            || path.ends_with(".additionalProperties");
        if inside && !bare {
            let description = schema["description"]
                .as_str()
                .unwrap_or_else(|| panic!("no description at {path}"));
            assert!(
                !description.contains('\n') && description.len() < 300,
                "{path}: {description}"
            );
        }
    });
}

#[test]
fn defaults_are_those_of_the_api_and_no_others() {
    let mut found = BTreeMap::new();
    for_each_schema(|schema, path, _| {
        if path.contains("placements.") && !schema["default"].is_null() {
            let (_, field) = path
                .split_once(".spec")
                .or_else(|| path.split_once(".status"))
                .unwrap();
            found.insert(
                field.rsplit('.').next().unwrap().to_owned(),
                schema["default"].clone(),
            );
        }
    });
    let expected: BTreeMap<String, Value> = serde_json::from_value(json!({
        "mode": "Additive", "type": "All", "weight": 1, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway",
        "operator": "Equal", "clustersPerDecisionGroup": "100%", "assignment": "ByName", "sortBy": "ClusterName",
        "scoreRateLimit": "1m", "clusterCount": 0,
    }))
    .unwrap();
    let mut found_all = found.clone();
    // Two fields are called type: that of a score coordinate and that of the update strategy.
    found_all.insert("type".into(), "All".into());
    assert_eq!(found_all, expected);
    let placements = crd(PLACEMENTS);
    let coordinate = property(
        &placements,
        0,
        "spec.prioritizerPolicy.configurations[].scoreCoordinate.type",
    );
    assert_eq!(coordinate["default"], "BuiltIn");
}

#[test]
fn limits_of_a_placement_are_those_of_the_api() {
    let placements = crd(PLACEMENTS);
    let at = |path: &str| property(&placements, 0, path);
    assert_eq!(at("spec.numberOfClusters")["minimum"], 0);
    assert_eq!(
        (&at("spec.prioritizerPolicy.configurations[].weight")["minimum"]),
        -10
    );
    assert_eq!(at("spec.spreadPolicy.spreadConstraints")["maxItems"], 8);
    assert_eq!(at("spec.tolerations[].key")["maxLength"], 316);
    assert_eq!(at("spec.tolerations[].value")["maxLength"], 1024);
    assert!(
        at("spec.tolerations[].operator")["enum"].is_null(),
        "a bad operator is for the engine to judge"
    );
    assert!(at("spec.prioritizerPolicy.mode")["enum"].is_null());
    assert_eq!(at("spec.sortBy")["enum"], json!(["ClusterName", "Name", "Score"]));
    assert_eq!(
        at("spec.decisionStrategy.updateStrategy.type")["enum"],
        json!(["All", "RollingUpdate"])
    );
    assert_eq!(
        at("status.conditions")["x-kubernetes-list-map-keys"],
        json!(["type"])
    );
}

#[test]
fn a_work_cannot_ask_for_deletion_before_completion_but_one_that_does_is_read() {
    let works = crd("manifestworks.work.open-cluster-management.io");
    let seconds = property(&works, 0, "spec.deleteOption.ttlSecondsAfterFinished");
    assert_eq!(seconds["minimum"], 0);
    // OCM's definition lets it in.
    let stored = json!({ "metadata": {}, "spec": { "deleteOption": { "ttlSecondsAfterFinished": -1 } } });
    let read: portolan_api::work::ManifestWork = serde_json::from_value(stored).unwrap();
    let option = read.spec.delete_option.unwrap();
    assert_eq!(option.ttl_seconds_after_finished, Some(-1));
}

#[test]
fn both_versions_of_a_kind_have_the_same_shape() {
    for crd in crd_values() {
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let shapes: Vec<Vec<String>> = versions
            .iter()
            .map(|version| {
                let mut paths = Vec::new();
                walk(
                    &version["schema"]["openAPIV3Schema"],
                    "",
                    true,
                    &mut |schema, path, inside| {
                        if inside {
                            paths.push(format!("{path}: {}", schema["type"]));
                        }
                    },
                );
                paths
            })
            .collect();
        assert!(
            shapes.windows(2).all(|pair| pair[0] == pair[1]),
            "{}",
            crd["metadata"]["name"]
        );
    }
}
