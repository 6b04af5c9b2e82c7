//! What upstream's definitions accept, ours accept: every field of every kind, compared with the facts in
//! `fixtures/upstream-fields.json`. Narrower is a mistake unless it is in [`EXCEPTIONS`] and in
//! `docs/differences-from-ocm.md`; wider is not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Kind, field and keyword where ours is narrower on purpose, with a part of the sentence in the documentation.
const EXCEPTIONS: [(&str, &str, &str, &str); 4] = [
    (
        "Placement",
        ".spec.numberOfClusters",
        "minimum",
        "numberOfClusters",
    ),
    ("PlacementDecision", ".decisions[]", "rules", "exactly one"),
    (
        "ManifestWork",
        ".spec.deleteOption.ttlSecondsAfterFinished",
        "minimum",
        "ttlSecondsAfterFinished",
    ),
    (
        "ManifestWorkReplicaSet",
        ".spec.manifestWorkTemplate.deleteOption.ttlSecondsAfterFinished",
        "minimum",
        "ttlSecondsAfterFinished",
    ),
];

/// A change to our fields, and what is to be said about it.
type Change = (&'static str, fn(&mut Fields));
type Fields = BTreeMap<String, Map<String, Value>>;

fn facts() -> BTreeMap<String, Value> {
    serde_json::from_str(include_str!("fixtures/upstream-fields.json")).unwrap()
}

/// Every field of a schema by its path: `.spec.taints[].key`, `.status.capacity{}`.
fn flatten(schema: &Value, path: &str, required: bool, fields: &mut Fields) {
    let mut keywords = schema.as_object().unwrap().clone();
    let rules = keywords.remove("x-kubernetes-validations");
    if let Some(rules) = rules.as_ref().and_then(Value::as_array) {
        let rules: Vec<Value> = rules.iter().map(|rule| rule["rule"].clone()).collect();
        keywords.insert("rules".into(), rules.into());
    }
    let needed: Vec<Value> = match keywords.remove("required") {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    if required {
        keywords.insert("required".into(), true.into());
    }
    for (name, property) in keywords
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let is_own = !path.is_empty() || !["apiVersion", "kind", "metadata"].contains(&name.as_str());
        if is_own {
            flatten(
                property,
                &format!("{path}.{name}"),
                needed.contains(&name.as_str().into()),
                fields,
            );
        }
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(nested) = keywords.get(keyword).filter(|nested| nested.is_object()) {
            flatten(nested, &format!("{path}{mark}"), false, fields);
        }
    }
    let path = if path.is_empty() { "." } else { path };
    fields.insert(path.to_owned(), keywords);
}

/// The definitions that are served, by group, version and kind.
fn served() -> BTreeMap<String, (Value, Fields)> {
    let mut served = BTreeMap::new();
    for definition in portolan_api::crd_values() {
        let spec = &definition["spec"];
        for version in spec["versions"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let (group, name) = (text(&spec["group"]), text(&version["name"]));
            let kind = text(&spec["names"]["kind"]);
            let mut fields = Fields::new();
            flatten(&version["schema"]["openAPIV3Schema"], "", false, &mut fields);
            served.insert(format!("{group}/{name} {kind}"), (spec["names"].clone(), fields));
        }
    }
    served
}

/// The keywords in which our field is narrower than upstream's.
fn narrower(theirs: &Map<String, Value>, ours: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let differs = |keyword: &str| theirs.get(keyword) != ours.get(keyword);
    let is_amount = |field: &Map<String, Value>| field.contains_key("x-kubernetes-int-or-string");
    if differs("type") && !(is_amount(theirs) && is_amount(ours)) {
        found.push("type".to_owned());
    }
    if let Some(Value::Array(accepted)) = ours.get("enum") {
        let wanted = theirs.get("enum").and_then(Value::as_array);
        if !wanted.is_some_and(|wanted| wanted.iter().all(|value| accepted.contains(value))) {
            found.push("enum".to_owned());
        }
    }
    if ours.contains_key("required") && !theirs.contains_key("required") {
        found.push("required".to_owned());
    }
    for keyword in ["pattern", "rules"] {
        if ours.contains_key(keyword) && differs(keyword) {
            found.push(keyword.to_owned());
        }
    }
    let limits = ["maximum", "maxLength", "maxItems", "maxProperties"].map(|keyword| (keyword, 1.0));
    let floors = ["minimum", "minLength", "minItems"].map(|keyword| (keyword, -1.0));
    for (keyword, direction) in limits.into_iter().chain(floors) {
        let number = |field: &Map<String, Value>| Some(field.get(keyword)?.as_f64()? * direction);
        if let Some(ours) = number(ours)
            && number(theirs).is_none_or(|theirs| ours < theirs)
        {
            found.push(keyword.to_owned());
        }
    }
    if differs("default") {
        found.push("default".to_owned());
    }
    // A list that one side merges by key and the other replaces lets two appliers overwrite each other.
    let list = |field: &Map<String, Value>| {
        let kind = field.get("x-kubernetes-list-type").and_then(Value::as_str);
        let keys = field.get("x-kubernetes-list-map-keys").cloned();
        (kind.unwrap_or("atomic").to_owned(), keys)
    };
    if list(theirs) != list(ours) {
        found.push("list type".to_owned());
    }
    let keeps = "x-kubernetes-preserve-unknown-fields";
    if theirs.contains_key(keeps) && !ours.contains_key(keeps) {
        found.push(keeps.to_owned());
    }
    found
}

/// One line for each field of ours that is missing or narrower.
fn differences(served: &BTreeMap<String, (Value, Fields)>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, facts) in facts() {
        let Some((names, ours)) = served.get(&name) else {
            lines.push(format!("{name} is not served"));
            continue;
        };
        for keyword in ["plural", "singular", "shortNames"] {
            if facts["names"][keyword] != names[keyword] {
                lines.push(format!("{name}: {keyword} is {}", names[keyword]));
            }
        }
        let kind = name.split_once(' ').unwrap().1;
        for (path, theirs) in facts["fields"].as_object().unwrap() {
            let Some(field) = ours.get(path) else {
                lines.push(format!("{name} {path} is missing"));
                continue;
            };
            let found = narrower(theirs.as_object().unwrap(), field).into_iter();
            let found = found.filter(|keyword| {
                let is_known =
                    |(a, b, c, _): &(&str, &str, &str, &str)| *a == kind && *b == path && *c == keyword;
                !EXCEPTIONS.iter().any(is_known)
            });
            lines.extend(found.map(|keyword| format!("{name} {path}: {keyword}")));
        }
    }
    lines
}

#[test]
fn every_field_accepts_what_upstream_accepts() {
    let lines = differences(&served());
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn a_field_that_is_narrower_or_missing_is_noticed() {
    let changes: [Change; 4] = [
        (".spec.taints[].value: maxLength", |fields| {
            fields
                .get_mut(".spec.taints[].value")
                .unwrap()
                .insert("maxLength".into(), 5.into());
        }),
        (".status.conditions: list type", |fields| {
            fields
                .get_mut(".status.conditions")
                .unwrap()
                .remove("x-kubernetes-list-type");
        }),
        (".spec.taints[].effect: enum", |fields| {
            fields
                .get_mut(".spec.taints[].effect")
                .unwrap()
                .insert("enum".into(), ["NoSelect"].as_slice().into());
        }),
        (".spec.hubAcceptsClient is missing", |fields| {
            drop(fields.remove(".spec.hubAcceptsClient"))
        }),
    ];
    let name = "cluster.open-cluster-management.io/v1 ManagedCluster";
    for (expected, change) in changes {
        let mut served = served();
        change(&mut served.get_mut(name).unwrap().1);
        assert_eq!(differences(&served), [format!("{name} {expected}")]);
    }
}

#[test]
fn every_exception_is_documented_and_still_one() {
    let page = include_str!("../../../docs/differences-from-ocm.md");
    let (facts, served) = (facts(), served());
    for (kind, path, keyword, words) in EXCEPTIONS {
        assert!(
            page.contains(words),
            "docs/differences-from-ocm.md says nothing about {words}"
        );
        let is_one = facts.iter().any(|(name, facts)| {
            name.ends_with(&format!(" {kind}"))
                && facts["fields"]
                    .get(path)
                    .and_then(Value::as_object)
                    .is_some_and(|theirs| {
                        let ours = served.get(name).and_then(|(_, fields)| fields.get(path));
                        ours.is_some_and(|ours| narrower(theirs, ours).contains(&keyword.to_owned()))
                    })
        });
        assert!(is_one, "{kind} {path} {keyword} is no difference any more");
    }
}
