//! Server-side apply and the tracking of updates against their table.
//!
//! A case is a story: steps on one object, then who owns what. Objects are widgets unless the case names a built-in
//! kind; `apiVersion`, `kind` and `metadata.name` are filled in.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::apply::FieldSet;
use super::super::{
    ApplyError, Manager, Typed, apply, builtin_kind, keep_times_if_unchanged, reset_fields, track_update,
};
use super::schema::{Node, WIDGET};
use super::{apply_code, cases};

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    kind: Option<String>,
    steps: Vec<Step>,
    #[serde(default)]
    object: Option<Value>,
    /// `manager Operation[ subresource]` to `fieldsV1`.
    #[serde(default)]
    owners: Option<Map<String, Value>>,
    /// The managers' times, as seconds: the number of the step that last changed something of theirs.
    #[serde(default)]
    times: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    apply: Option<Value>,
    /// A create if there is no object yet, else a replace.
    #[serde(default)]
    update: Option<Value>,
    /// A merge patch, tracked like any update.
    #[serde(default)]
    patch: Option<Value>,
    #[serde(default)]
    by: String,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    code: u16,
}

pub(super) fn manager(name: &str, second: i64) -> Manager {
    Manager {
        name: name.to_owned(),
        api_version: "example.com/v1".to_owned(),
        subresource: String::new(),
        time: jiff::Timestamp::from_second(second).unwrap(),
        ignored: FieldSet::default(),
    }
}

/// Fills in what every object has.
pub(super) fn complete(object: &Value, api_version: &str) -> Value {
    let mut base = json!({"apiVersion": api_version, "kind": "Widget", "metadata": {"name": "w"}});
    overlay(&mut base, object);
    base
}

/// A merge that keeps nulls.
fn overlay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

pub(super) fn owners(object: &Value) -> Map<String, Value> {
    by_manager(object, |entry| entry["fieldsV1"].clone())
}

fn by_manager(object: &Value, value: impl Fn(&Value) -> Value) -> Map<String, Value> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let text = |entry: &Value, key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let name = |entry: &Value| {
        let name = format!(
            "{} {} {}",
            text(entry, "manager"),
            text(entry, "operation"),
            text(entry, "subresource")
        );
        name.trim_end().to_owned()
    };
    entries
        .into_iter()
        .flatten()
        .map(|entry| (name(entry), value(entry)))
        .collect()
}

fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    object
}

/// Runs the steps; the object and the error of the last step, if any.
fn tell(case: &Case, typed: &dyn Typed) -> Result<Option<Value>, String> {
    let mut live: Option<Value> = None;
    for (number, step) in case.steps.iter().enumerate() {
        let version = step
            .version
            .clone()
            .unwrap_or_else(|| "example.com/v1".to_owned());
        let writer = Manager {
            api_version: version.clone(),
            subresource: step.subresource.clone(),
            ignored: if step.subresource.is_empty() {
                FieldSet::default()
            } else {
                reset_fields("status", true)
            },
            ..manager(&step.by, i64::try_from(number).unwrap())
        };
        if let Some(config) = &step.apply {
            let outcome = apply(
                live.as_ref(),
                &complete(config, &version),
                &writer,
                step.force,
                typed,
            );
            match (outcome, &step.error) {
                (Ok(object), None) => live = Some(object),
                (Err(error), Some(expected))
                    if error.to_string() == *expected && apply_code(&error) == step.code => {}
                (outcome, _) => return Err(format!("step {number}: {outcome:?}")),
            }
            continue;
        }
        let mut after = match (&step.update, &step.patch, &live) {
            (Some(object), _, _) => complete(object, &version),
            (_, Some(patch), Some(live)) => super::super::merge_patch(live, patch).unwrap(),
            _ => return Err(format!("step {number}: nothing to do")),
        };
        track_update(live.as_ref(), &mut after, &writer, typed);
        live = Some(after);
    }
    Ok(live)
}

#[test]
fn a_configuration_with_many_defects_is_refused_in_a_short_answer() {
    let nodes: Vec<Value> = vec![json!({}); 5_000];
    let config = complete(&json!({"spec": {"nodes": nodes}}), "example.com/v1");
    let refused = apply(None, &config, &manager("m", 1), false, &*WIDGET).unwrap_err();
    assert!(refused.to_string().lines().count() < 110, "{refused}");
    let long = complete(
        &json!({"spec": {"nodes": [{"name": "n".repeat(2_000)}]}}),
        "example.com/v1",
    );
    let refused = apply(None, &long, &manager("m", 1), false, &*WIDGET).unwrap_err();
    assert!(
        refused.to_string().contains("at most 1024 are accepted"),
        "{refused}"
    );
}

#[test]
fn an_apply_with_many_conflicts_names_some_and_counts_the_rest() {
    let settings = |value: &str| -> Value {
        let fields = (0..500).map(|number| (format!("key-{number}"), json!(value)));
        complete(
            &json!({"spec": {"settings": Value::Object(fields.collect())}}),
            "example.com/v1",
        )
    };
    let live = apply(None, &settings("a"), &manager("a", 1), false, &*WIDGET).unwrap();
    let refused = apply(Some(&live), &settings("b"), &manager("b", 2), false, &*WIDGET).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("Apply failed with 500 conflicts") && said.ends_with("and 400 more"),
        "{said}"
    );
}

/// A search through the configuration for each element of the live list takes minutes here.
#[test]
fn a_long_list_is_applied_without_a_search_for_each_element() {
    let node = |prefix: &str, number: usize| json!({"name": format!("{prefix}{number:06}")});
    let nodes = |nodes: Vec<Value>| complete(&json!({"spec": {"nodes": nodes}}), "example.com/v1");
    let old: Vec<Value> = (0..4_000).map(|number| node("a", number)).collect();
    let live = apply(None, &nodes(old.clone()), &manager("m", 1), true, &*WIDGET).unwrap();
    let new: Vec<Value> = (0..20_000).map(|number| node("b", number)).collect();
    let config = nodes(new.iter().chain(old.iter().rev()).cloned().collect());
    let applied = apply(Some(&live), &config, &manager("m", 2), true, &*WIDGET).unwrap();
    assert_eq!(applied["spec"]["nodes"], config["spec"]["nodes"]);
}

#[test]
fn applies_and_updates_follow_the_table() {
    let mut failures = Vec::new();
    for case in cases::<Case>(include_str!("apply.yaml")) {
        let builtin = case.kind.as_deref().and_then(|kind| kind.split_once('/'));
        let builtin = builtin.map(|(group, kind)| builtin_kind(group, kind).expect("a built-in kind"));
        let typed: &dyn Typed = builtin.map_or(&*WIDGET as &dyn Typed, |field| field);
        let object = match tell(&case, typed) {
            Ok(object) => object.unwrap_or(json!({"metadata": {}})),
            Err(failure) => {
                failures.push(format!("{}: {failure}", case.name));
                continue;
            }
        };
        let expected = case
            .object
            .as_ref()
            .map(|expected| complete(expected, "example.com/v1"));
        let mut check = |what: &str, actual: Value, expected: Option<Value>| {
            if let Some(expected) = expected
                && actual != expected
            {
                failures.push(format!(
                    "{}: {what}\n  is       {actual}\n  expected {expected}",
                    case.name
                ));
            }
        };
        check("object", bare(&object), expected);
        check(
            "owners",
            owners(&object).into(),
            case.owners.clone().map(Into::into),
        );
        let seconds = by_manager(&object, |entry| {
            let time: jiff::Timestamp = entry["time"].as_str().unwrap().parse().unwrap();
            time.as_second().into()
        });
        check("times", seconds.into(), case.times.clone().map(Into::into));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn conflicts_carry_one_cause_a_field() {
    let first = apply(
        None,
        &complete(&json!({"spec": {"image": "a", "replicas": 1}}), "example.com/v1"),
        &manager("x", 1),
        false,
        &*WIDGET,
    )
    .unwrap();
    let second = complete(&json!({"spec": {"image": "b", "replicas": 2}}), "example.com/v1");
    let Err(ApplyError::Conflicts(conflicts)) =
        apply(Some(&first), &second, &manager("y", 2), false, &*WIDGET)
    else {
        panic!("no conflict");
    };
    let causes: Vec<_> = conflicts
        .iter()
        .map(|conflict| (conflict.message(), conflict.field.clone()))
        .collect();
    let cause = |field: &str| ("conflict with \"x\"".to_owned(), field.to_owned());
    assert_eq!(causes, [cause(".spec.image"), cause(".spec.replicas")]);
}

#[test]
fn entries_are_sorted_by_operation_then_time_then_name() {
    let mut object = complete(&json!({"spec": {"image": "a"}}), "example.com/v1");
    track_update(None, &mut object, &manager("z", 1), &*WIDGET);
    for (name, second, field) in [("b", 5, "nested"), ("a", 5, "settings"), ("c", 3, "sealed")] {
        let config = complete(&json!({"spec": {field: {"a": "1"}}}), "example.com/v1");
        object = apply(Some(&object), &config, &manager(name, second), false, &*WIDGET).unwrap();
    }
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let names: Vec<_> = entries
        .iter()
        .map(|entry| entry["manager"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c", "a", "b", "z"]);
    assert_eq!(entries[0]["time"], "1970-01-01T00:00:03Z");
    assert_eq!(entries[0]["fieldsType"], "FieldsV1");
    assert_eq!(entries[0]["apiVersion"], "example.com/v1");
}

#[test]
fn more_than_ten_updaters_are_merged_oldest_first() {
    let mut object = complete(&json!({"spec": {"settings": {}}}), "example.com/v1");
    track_update(None, &mut object, &manager("m00", 0), &*WIDGET);
    for number in 1..14 {
        let before = object.clone();
        object["spec"]["settings"][format!("k{number}")] = "v".into();
        track_update(
            Some(&before),
            &mut object,
            &manager(&format!("m{number:02}"), number),
            &*WIDGET,
        );
    }
    let owners = owners(&object);
    assert_eq!(owners.len(), 10);
    let ancient = owners["ancient-changes Update"]["f:spec"]["f:settings"]
        .as_object()
        .unwrap();
    assert!(ancient.contains_key("f:k1") && ancient.contains_key("f:k4") && !ancient.contains_key("f:k5"));
}

#[test]
fn a_list_that_became_atomic_is_owned_whole_and_a_granular_one_not_in_parts() {
    let schema = |list_type: &str| {
        let items = json!({"type": "string"});
        let tags = json!({"type": "array", "x-kubernetes-list-type": list_type, "items": items});
        Node::new(&json!({"type": "object", "properties": {"tags": tags}})).into_root()
    };
    let both = complete(&json!({"tags": ["a", "b"]}), "example.com/v1");
    let one = complete(&json!({"tags": ["a"]}), "example.com/v1");
    let atomic = apply(None, &both, &manager("x", 1), false, &schema("atomic")).unwrap();
    let granular = apply(Some(&atomic), &one, &manager("x", 2), false, &schema("set")).unwrap();
    assert_eq!(granular["tags"], json!(["a", "b"]));
    assert_eq!(owners(&granular)["x Apply"], json!({"f:tags": {"v:\"a\"": {}}}));
    let other = complete(&json!({"tags": ["c"]}), "example.com/v1");
    let conflict = apply(
        Some(&granular),
        &other,
        &manager("y", 3),
        false,
        &schema("atomic"),
    )
    .unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "Apply failed with 1 conflict: conflict with \"x\": .tags"
    );
}

#[test]
fn a_write_that_changes_only_times_is_no_write() {
    let before = apply(
        None,
        &complete(&json!({"spec": {"image": "a"}}), "example.com/v1"),
        &manager("x", 1),
        false,
        &*WIDGET,
    )
    .unwrap();
    let mut after = before.clone();
    after["metadata"]["managedFields"][0]["time"] = "2026-01-01T00:00:00Z".into();
    keep_times_if_unchanged(&before, &mut after);
    assert_eq!(after, before);
    after["metadata"]["managedFields"][0]["time"] = "2026-01-01T00:00:00Z".into();
    after["spec"]["image"] = "b".into();
    let changed = after.clone();
    keep_times_if_unchanged(&before, &mut after);
    assert_eq!(after, changed);
}

#[test]
fn field_sets_are_written_like_kubernetes_writes_them() {
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}}},
        "f:spec": {
            "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}},
            "f:tags": {"v:\"a\\u003cb\"": {}, "v:1": {}, "v:true": {}},
            "f:old": {"i:3": {}},
        },
    });
    let set = FieldSet::from_fields_v1(&fields).unwrap();
    assert_eq!(set.to_fields_v1(), fields);
    let paths: Vec<String> = set
        .paths()
        .iter()
        .map(|path| path.iter().map(ToString::to_string).collect())
        .collect();
    assert!(
        paths.contains(&".spec.ports[port=80,protocol=\"TCP\"].name".to_owned()),
        "{paths:?}"
    );
    assert!(paths.contains(&".spec.tags[=\"a<b\"]".to_owned()), "{paths:?}");
}

#[test]
fn unknown_path_elements_are_dropped_and_broken_ones_refused() {
    assert!(
        FieldSet::from_fields_v1(&json!({"z:what": {}}))
            .unwrap()
            .is_empty()
    );
    for broken in [
        json!({"f": {}}),
        json!({"i:x": {}}),
        json!({"k:[1]": {}}),
        json!({"fx": {}}),
        json!({"f:a": 1}),
        json!(1),
    ] {
        assert!(FieldSet::from_fields_v1(&broken).is_err(), "{broken}");
    }
}
