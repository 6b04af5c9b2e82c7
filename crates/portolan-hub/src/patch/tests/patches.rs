//! JSON patch, merge patch and strategic merge patch against their tables.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::json_patch::MAX_OPERATIONS;
use super::super::{
    PatchError, builtin_kind, builtin_object, check_identity, json_patch, merge_patch, strategic,
};
use super::{cases, code};

#[derive(Deserialize)]
struct Case {
    name: String,
    /// `group/Kind` of the rules, for strategic merge patch.
    #[serde(default)]
    kind: String,
    live: Value,
    patch: Value,
    #[serde(default)]
    expected: Option<Value>,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    error: String,
}

fn run(table: &str, patch: impl Fn(&Case) -> Result<Value, PatchError>) {
    let mut failures = Vec::new();
    for case in cases::<Case>(table) {
        match (patch(&case), &case.expected) {
            (Ok(actual), Some(expected)) if actual == *expected => {}
            (Err(error), None) if code(&error) == case.code && error.to_string().contains(&case.error) => {}
            (outcome, _) => failures.push(format!("{}: {outcome:?}", case.name)),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn json_patches_follow_the_table() {
    run(include_str!("json_patch.yaml"), |case| {
        json_patch(&case.live, &case.patch)
    });
}

#[test]
fn merge_patches_follow_the_table() {
    run(include_str!("merge_patch.yaml"), |case| {
        merge_patch(&case.live, &case.patch)
    });
}

#[test]
fn strategic_merge_patches_follow_the_table() {
    run(include_str!("strategic.yaml"), |case| {
        let (group, kind) = case.kind.split_once('/').unwrap_or(("", &case.kind));
        strategic(
            &case.live,
            &case.patch,
            builtin_kind(group, kind).unwrap_or(builtin_object()),
        )
    });
}

#[test]
fn a_json_patch_may_not_have_more_operations_than_kubernetes_allows() {
    let patch = |count| Value::from(vec![json!({"op": "add", "path": "/a", "value": 1}); count]);
    assert!(json_patch(&json!({}), &patch(MAX_OPERATIONS)).is_ok());
    let refused = json_patch(&json!({}), &patch(MAX_OPERATIONS + 1)).unwrap_err();
    assert_eq!(code(&refused), 413);
    assert_eq!(
        refused.to_string(),
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn a_json_patch_cannot_nest_a_document_without_bound() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({"a": inner}));
    let bottom = "/a".repeat(60);
    for operation in ["copy", "move"] {
        let patch = json!([{"op": operation, "from": "/from", "path": format!("/a{bottom}")}]);
        let live = json!({"from": nested(60), "a": nested(60)});
        let refused = json_patch(&live, &patch).unwrap_err();
        assert_eq!(code(&refused), 422);
        assert!(refused.to_string().contains("at most 100 levels"), "{refused}");
    }
    for operation in ["add", "replace"] {
        let patch = json!([{"op": operation, "path": format!("/a{bottom}"), "value": nested(60)}]);
        assert_eq!(
            code(&json_patch(&json!({"a": nested(60)}), &patch).unwrap_err()),
            422
        );
    }
    let patch = json!([{"op": "add", "path": "/a/a", "value": nested(90)}]);
    assert!(json_patch(&json!({"a": {}}), &patch).is_ok());
}

#[test]
fn a_json_patch_cannot_grow_a_document_without_bound() {
    let live = json!({"a": {"x": "y".repeat(1000)}});
    let double = |number: usize| json!({"op": "copy", "from": "/a", "path": format!("/a/{number}")});
    let patch: Value = (0..40).map(double).collect();
    let refused = json_patch(&live, &patch).map(|_| ()).unwrap_err();
    assert_eq!(code(&refused), 422);
}

#[test]
fn a_json_patch_cannot_walk_or_shift_a_large_object_for_each_operation() {
    let values: Vec<u32> = (0..10_000).collect();
    let live = json!({"a": values, "list": values});
    let swap = [
        json!({"op": "move", "from": "/a", "path": "/b"}),
        json!({"op": "move", "from": "/b", "path": "/a"}),
    ];
    let first = json!({"op": "remove", "path": "/list/0"});
    let last = json!({"op": "add", "path": "/list/-", "value": 1});
    let patch = |operations: &[Value], count: usize| operations.iter().cloned().cycle().take(count).collect();
    for operations in [&swap[..], &[first]] {
        let few: Value = patch(operations, 1000);
        assert!(json_patch(&live, &few).is_ok());
        let many: Value = patch(operations, MAX_OPERATIONS);
        let refused = json_patch(&live, &many).unwrap_err();
        assert_eq!(code(&refused), 413);
        assert!(refused.to_string().contains("send fewer operations"), "{refused}");
    }
    let many: Value = patch(&[last], MAX_OPERATIONS);
    assert!(
        json_patch(&live, &many).is_ok(),
        "an item at the end shifts nothing"
    );
}

/// A search through one list for each element of the other takes minutes here; an index takes a moment.
#[test]
fn long_lists_are_merged_without_a_search_for_each_element() {
    const LENGTH: usize = 20_000;
    let owner = |number: usize, name: &str| json!({"uid": format!("{number:06}"), "name": name});
    let owners = |name: &'static str| (0..LENGTH).map(move |number| owner(number, name));
    let object = |owners: Vec<Value>| json!({"metadata": {"ownerReferences": owners}});
    let rules = builtin_object();
    let live = object(owners("old").collect());

    let backwards: Vec<Value> = owners("new").rev().collect();
    let merged = strategic(&live, &object(backwards.clone()), rules).unwrap();
    assert_eq!(merged, object(backwards));

    let others: Vec<Value> = (LENGTH..2 * LENGTH).map(|number| owner(number, "new")).collect();
    let merged = strategic(&live, &object(others.clone()), rules).unwrap();
    assert_eq!(
        merged["metadata"]["ownerReferences"].as_array().unwrap().len(),
        2 * LENGTH
    );

    let delete = |number: usize| json!({"$patch": "delete", "uid": format!("{number:06}")});
    let merged = strategic(&live, &object((0..LENGTH).map(delete).collect()), rules).unwrap();
    assert_eq!(merged, object(Vec::new()));

    let finalizers: Vec<String> = (0..LENGTH).map(|number| number.to_string()).collect();
    let reversed: Vec<&String> = finalizers.iter().rev().collect();
    let live = json!({"metadata": {"finalizers": finalizers}});
    let merged = strategic(&live, &json!({"metadata": {"finalizers": reversed}}), rules).unwrap();
    assert_eq!(merged, json!({"metadata": {"finalizers": reversed}}));
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": finalizers}});
    let merged = strategic(&live, &patch, rules).unwrap();
    assert_eq!(merged, json!({"metadata": {"finalizers": []}}));
}

#[test]
fn a_patch_may_not_name_one_element_again_and_again() {
    let owner = |name: &str| json!({"uid": "1", "name": name});
    let object = |owners: Vec<Value>| json!({"metadata": {"ownerReferences": owners}});
    let live = object(vec![owner("old")]);
    let merged = strategic(&live, &object(vec![owner("new"); 10]), builtin_object()).unwrap();
    assert_eq!(merged, object(vec![owner("new")]));
    let refused = strategic(&live, &object(vec![owner("new"); 11]), builtin_object()).unwrap_err();
    assert_eq!(code(&refused), 422);
    assert!(refused.to_string().contains("more than 10 times"), "{refused}");
}

#[test]
fn the_patched_object_must_be_the_one_the_url_names() {
    let object = json!({"metadata": {"name": "a", "namespace": "n"}});
    assert_eq!(check_identity(&object, "a", Some("n")), Ok(()));
    let message = |name, namespace| check_identity(&object, name, namespace).unwrap_err().to_string();
    assert_eq!(
        message("b", Some("n")),
        "the name of the object (a) does not match the name on the URL (b)"
    );
    assert!(message("a", Some("m")).starts_with("the namespace of the object (n) does not match"));
    assert!(
        check_identity(&json!({"metadata": {}}), "a", None)
            .unwrap_err()
            .to_string()
            .ends_with("name must be provided")
    );
}
