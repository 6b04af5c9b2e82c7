//! What holds for every input.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::apply::{FieldSet, PathElement, Scalar, field_set};
use super::super::{apply, builtin_kind, json_patch, merge_patch, object_meta, strategic, track_update};
use super::apply::{complete, manager};
use super::schema::WIDGET;

/// Names that mean something to one of the merges, so that random documents hit their branches.
const NAMES: &[&str] = &[
    "metadata",
    "labels",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "spec",
    "template",
    "containers",
    "name",
    "env",
    "ports",
    "port",
    "tags",
    "nodes",
    "free",
    "sealed",
    "nested",
    "status",
    "conditions",
    "type",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList/finalizers",
    "$deleteFromPrimitiveList",
    "op",
    "path",
    "value",
    "fieldsV1",
    "fieldsType",
    "f:spec",
    "uid",
];

fn any_json() -> impl Strategy<Value = Value> {
    let words = &[
        "a",
        "b",
        "delete",
        "replace",
        "merge",
        "add",
        "test",
        "/spec/nodes/0",
        "FieldsV1",
        "name",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(words.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 5, |inner| {
        let fields = btree_map(prop::sample::select(NAMES.to_vec()), inner.clone(), 0..5);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| {
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

/// Whether configurations may have empty parts and nulls, which have owners but no contents.
#[derive(Clone, Copy)]
enum Parts {
    Full,
    AnyParts,
}

/// A configuration that fits the widget.
fn config(parts: Parts) -> impl Strategy<Value = Value> {
    let least = match parts {
        Parts::Full => 1,
        Parts::AnyParts => 0,
    };
    let word = prop::sample::select(vec!["a", "b", "c"]);
    let text = word.clone().prop_map(Value::from).boxed();
    let texts = btree_map(word.clone(), text.clone(), least..3)
        .prop_map(to_object)
        .boxed();
    let tags = prop::sample::subsequence(vec!["a", "b", "c"], least..3)
        .prop_map(Value::from)
        .boxed();
    let node = (text.clone(), prop::option::of(text.clone()));
    let nodes = btree_map(word, node, least..3)
        .prop_map(|nodes| {
            let element = |(name, (value, weight)): (&str, (Value, Option<Value>))| match weight {
                None => json!({"name": name, "value": value}),
                Some(weight) => json!({"name": name, "weights": {"w": weight}}),
            };
            Value::from_iter(nodes.into_iter().map(element))
        })
        .boxed();
    let free = (texts.clone(), tags.clone())
        .prop_map(|(map, list)| json!({"m": map, "l": list}))
        .boxed();
    let fields = vec![
        ("image", text.clone()),
        ("args", tags.clone()),
        ("tags", tags),
        ("settings", texts.clone()),
        ("sealed", texts.clone()),
        ("nested", texts.prop_map(only_nested).boxed()),
        ("nodes", nodes),
        ("free", free),
    ];
    let spec: Vec<BoxedStrategy<Option<(String, Value)>>> = fields
        .into_iter()
        .map(|(name, value)| {
            let value = match parts {
                Parts::Full => value,
                Parts::AnyParts => prop_oneof![5 => value, 1 => Just(Value::Null)].boxed(),
            };
            prop::option::of(value.prop_map(move |value| (name.to_owned(), value))).boxed()
        })
        .collect();
    spec.prop_map(|fields| {
        let spec: Map<String, Value> = fields.into_iter().flatten().collect();
        let object = if spec.is_empty() {
            json!({})
        } else {
            json!({"spec": spec})
        };
        complete(&object, "example.com/v1")
    })
}

fn to_object(fields: std::collections::BTreeMap<&'static str, Value>) -> Value {
    Value::Object(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// `nested` has no field `c` but one in `inner`.
fn only_nested(mut fields: Value) -> Value {
    if let Some(c) = fields.as_object_mut().and_then(|fields| fields.remove("c")) {
        fields["inner"] = json!({"c": c});
    }
    fields
}

fn any_set() -> impl Strategy<Value = FieldSet> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    let element = prop_oneof![
        ".{0,4}".prop_map(PathElement::Field),
        scalar.clone().prop_map(|value| PathElement::Value(Scalar(value))),
        any::<i64>().prop_map(PathElement::Index),
        btree_map("[a-z]{1,3}", scalar.prop_map(Scalar), 1..3)
            .prop_map(|keys| PathElement::Key(keys.into_iter().collect())),
    ];
    vec(vec(element, 1..4), 0..6).prop_map(|paths| {
        let mut set = FieldSet::default();
        for path in paths {
            set.insert(&path);
        }
        set
    })
}

fn owned_by(object: &Value, name: &str) -> FieldSet {
    owned(object, |manager| manager == name)
}

fn owned(object: &Value, which: impl Fn(&str) -> bool) -> FieldSet {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .filter(|entry| which(entry["manager"].as_str().unwrap()))
        .fold(FieldSet::default(), |all, entry| {
            all.union(&FieldSet::from_fields_v1(&entry["fieldsV1"]).unwrap())
        })
}

/// The members of a set that have none below them.
fn leaves(set: &FieldSet) -> Vec<Vec<PathElement>> {
    let paths = set.paths();
    let has_below = |path: &Vec<PathElement>| {
        paths
            .iter()
            .any(|other| other.len() > path.len() && other.starts_with(path))
    };
    paths.iter().filter(|path| !has_below(path)).cloned().collect()
}

fn is_system(path: &[PathElement]) -> bool {
    let system = ["apiVersion", "kind", "metadata"];
    matches!(path.first(), Some(PathElement::Field(name)) if system.contains(&name.as_str()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_patch_panics(live in any_json(), patch in any_json()) {
        let _ = merge_patch(&live, &patch);
        let _ = json_patch(&live, &patch);
        for (group, kind) in [("apps", "Deployment"), ("", "Namespace"), ("batch", "Job")] {
            let _ = strategic(&live, &patch, builtin_kind(group, kind).unwrap());
        }
        let mut after = patch.clone();
        track_update(Some(&live), &mut after, &manager("x", 1), &*WIDGET);
        track_update(None, &mut after, &manager("y", 2), builtin_kind("apps", "Deployment").unwrap());
        let config = complete(&patch, "example.com/v1");
        let _ = apply(Some(&live), &config, &manager("x", 3), true, builtin_kind("apps", "Deployment").unwrap());
        let _ = apply(Some(&live), &config, &manager("x", 3), true, object_meta());
    }

    #[test]
    fn a_merge_patch_says_what_it_sets(live in any_json(), patch in any_json()) {
        prop_assume!(patch.is_object());
        let once = merge_patch(&live, &patch).unwrap();
        prop_assert_eq!(merge_patch(&once, &patch).unwrap(), once);
    }

    #[test]
    fn applying_twice_changes_nothing_not_even_the_time(
        base in config(Parts::AnyParts), first in config(Parts::AnyParts)
    ) {
        let live = apply(None, &base, &manager("base", 1), true, &*WIDGET).unwrap();
        let once = apply(Some(&live), &first, &manager("x", 2), true, &*WIDGET).unwrap();
        // Where nobody owns anything, as after `nodes: []`, the next apply takes what is there for written before the
        // first one and says so; Kubernetes does the same.
        prop_assume!(once["metadata"].get("managedFields").is_some());
        let twice = apply(Some(&once), &first, &manager("x", 3), false, &*WIDGET).unwrap();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn applying_nothing_removes_exactly_ones_own(base in config(Parts::Full), mine in config(Parts::Full)) {
        let nothing = complete(&json!({}), "example.com/v1");
        let live = apply(None, &base, &manager("base", 1), true, &*WIDGET).unwrap();
        let with = apply(Some(&live), &mine, &manager("x", 2), true, &*WIDGET).unwrap();
        let without = apply(Some(&with), &nothing, &manager("x", 3), false, &*WIDGET).unwrap();
        let (own, others) = (owned_by(&with, "x"), owned(&with, |name| name != "x"));
        let left = field_set(&without, &*WIDGET);
        for path in leaves(&field_set(&with, &*WIDGET)).iter().filter(|path| !is_system(path)) {
            let stays = others.contains(path) || !own.contains(path);
            prop_assert_eq!(left.contains(path), stays, "{:?}", path);
        }
        prop_assert!(owned_by(&without, "x").is_empty());
    }

    #[test]
    fn every_applied_leaf_is_there_and_owned_by_the_applier(
        base in config(Parts::AnyParts), mine in config(Parts::AnyParts)
    ) {
        let mut live = base;
        track_update(None, &mut live, &manager("base", 1), &*WIDGET);
        let with = apply(Some(&live), &mine, &manager("x", 2), true, &*WIDGET).unwrap();
        let (own, there) = (owned_by(&with, "x"), field_set(&with, &*WIDGET));
        for path in leaves(&field_set(&mine, &*WIDGET)).iter().filter(|path| !is_system(path)) {
            prop_assert!(own.contains(path), "{:?} is not owned", path);
        }
        for path in leaves(&owned(&with, |_| true)) {
            let present = there.contains(&path) || there.paths().iter().any(|other| other.starts_with(&path));
            // An empty list has an updater as owner, though no applier would own it.
            let empty_list = field_set(&live, &*WIDGET).paths().iter().all(|other| !other.starts_with(&path));
            prop_assert!(present || empty_list, "{:?} is owned but not there", path);
        }
    }

    #[test]
    fn an_unforced_apply_takes_nothing_from_others(base in config(Parts::Full), mine in config(Parts::Full)) {
        let live = apply(None, &base, &manager("base", 1), false, &*WIDGET).unwrap();
        if let Ok(with) = apply(Some(&live), &mine, &manager("x", 2), false, &*WIDGET) {
            prop_assert_eq!(owned_by(&with, "base"), owned_by(&live, "base"));
        }
    }

    #[test]
    fn an_update_gives_what_it_changes_to_the_updater_alone(
        base in config(Parts::Full), after in config(Parts::Full)
    ) {
        let live = apply(None, &base, &manager("base", 1), false, &*WIDGET).unwrap();
        // An object nobody owns anything of is not tracked.
        prop_assume!(!owned_by(&live, "base").is_empty());
        let mut after = after;
        track_update(Some(&live), &mut after, &manager("x", 2), &*WIDGET);
        let (before, there) = (field_set(&live, &*WIDGET), field_set(&after, &*WIDGET));
        let (own, others) = (owned_by(&after, "x"), owned_by(&after, "base"));
        for path in leaves(&there).iter().filter(|path| !is_system(path)) {
            prop_assert!(own.contains(path) != others.contains(path), "{:?} has not one owner", path);
            prop_assert!(before.contains(path) || own.contains(path), "{:?} is new and not the updater's", path);
        }
    }

    #[test]
    fn field_sets_survive_the_wire(set in any_set()) {
        let fields = set.to_fields_v1();
        let text = serde_json::to_string(&fields).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(FieldSet::from_fields_v1(&read).unwrap(), set);
    }

    #[test]
    fn set_operations_agree(a in any_set(), b in any_set()) {
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert!(a.difference(&a).is_empty() && a.without_subtrees(&a).is_empty());
        for path in a.clone().union(&b).paths() {
            prop_assert!(a.contains(&path) || b.contains(&path));
        }
    }
}
