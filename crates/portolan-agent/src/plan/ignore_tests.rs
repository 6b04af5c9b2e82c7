use super::*;

fn ignored(value: Value) -> Vec<IgnoreField> {
    vec![serde_json::from_value(value).unwrap()]
}

fn manifest(spec: Value) -> Manifest {
    let object = json!({ "apiVersion": "v1", "kind": "Thing", "metadata": { "name": "a" }, "spec": spec });
    Manifest::read(&object).unwrap()
}

/// The `spec` that is applied to an object with this one, which these hold.
fn applied(manifest: &Manifest, live: Value, holders: &[(&str, Value)], fields: &[IgnoreField]) -> Value {
    let managed: Vec<Value> = holders
        .iter()
        .map(|(manager, held)| json!({ "manager": manager, "fieldsV1": { "f:spec": held } }))
        .collect();
    let object = json!({ "metadata": { "managedFields": managed }, "spec": live });
    let there = There {
        object: &object,
        is_settled: false,
    };
    with_ignored(manifest, Some(&there), "work-agent", fields, &mut Cost::of_work()).unwrap()["spec"].clone()
}

#[test]
fn an_ignored_field_keeps_the_value_it_has_there() {
    let manifest = manifest(json!({ "replicas": 2, "paused": true, "x": 1 }));
    let fields = ignored(json!({ "jsonPointers": ["/spec/replicas"], "jsonPaths": [".spec.paused"] }));
    let spec = applied(&manifest, json!({ "replicas": 9 }), &[], &fields);
    assert_eq!(spec, json!({ "replicas": 9, "x": 1 }));
}

#[test]
fn an_ignored_field_that_another_manager_holds_is_left_to_it() {
    let manifest = manifest(json!({ "replicas": 2, "template": { "a": 1, "b": 1 } }));
    let fields = ignored(json!({ "jsonPointers": ["/spec/replicas", "/spec/template"] }));
    let live = json!({ "replicas": 9, "template": { "a": 5, "b": 5 } });
    let ours = (
        "work-agent",
        json!({ "f:replicas": {}, "f:template": { "f:a": {}, "f:b": {} } }),
    );
    let theirs = (
        "autoscaler",
        json!({ "f:replicas": {}, "f:template": { ".": {}, "f:a": {} } }),
    );
    assert_eq!(
        applied(&manifest, live.clone(), std::slice::from_ref(&ours), &fields),
        live
    );
    assert_eq!(
        applied(&manifest, live, &[ours, theirs], &fields),
        json!({ "template": { "b": 5 } }),
        "what nobody else holds would be taken away"
    );
}

#[test]
fn elements_of_a_list_are_found_by_their_key_and_several_matches_are_all_ignored() {
    let element = |name: &str, image: &str| json!({ "name": name, "image": image });
    let manifest = manifest(json!({ "list": [element("a", "1"), element("b", "1")] }));
    let live = json!({ "list": [element("injected", "x"), element("a", "2"), element("b", "3")] });
    let keyed = json!({ "f:list": {
        "k:{\"name\":\"a\"}": { ".": {}, "f:name": {}, "f:image": {} },
        "k:{\"name\":\"b\"}": { ".": {}, "f:name": {}, "f:image": {} },
    } });
    let ours = ("work-agent", keyed);
    for (path, images) in [
        (".spec.list[*].image", ["2", "3"]),
        (".spec.list[?(@.name==\"b\")].image", ["1", "3"]),
    ] {
        let fields = ignored(json!({ "jsonPaths": [path] }));
        let spec = applied(&manifest, live.clone(), std::slice::from_ref(&ours), &fields);
        let expected = json!({ "list": [element("a", images[0]), element("b", images[1])] });
        assert_eq!(spec, expected, "{path}");
    }
    let theirs = (
        "updater",
        json!({ "f:list": { "k:{\"name\":\"a\"}": { "f:image": {} } } }),
    );
    let fields = ignored(json!({ "jsonPaths": [".spec.list[*].image"] }));
    let spec = applied(&manifest, live, &[ours, theirs], &fields);
    assert_eq!(spec, json!({ "list": [{ "name": "a" }, element("b", "3")] }));
}

#[test]
fn a_field_that_is_ignored_on_change_is_the_member_s_until_the_manifest_changes() {
    let of = |replicas: u32| manifest(json!({ "replicas": replicas, "x": 1 }));
    let fields = ignored(json!({ "condition": "OnSpokeChange", "jsonPointers": ["/spec/replicas"] }));
    let replicas = |body: &Value| body["spec"]["replicas"].clone();
    let with = |manifest: &Manifest, object: &Value, is_settled| {
        let there = There { object, is_settled };
        with_ignored(
            manifest,
            Some(&there),
            "work-agent",
            &fields,
            &mut Cost::of_work(),
        )
        .unwrap()
    };
    let mut there = with_ignored(&of(2), None, "work-agent", &fields, &mut Cost::of_work()).unwrap();
    assert_eq!(replicas(&there), 2);
    there["spec"]["replicas"] = 9.into();
    assert_eq!(with(&of(2), &there, false), there, "somebody changed it there");
    assert_eq!(replicas(&with(&of(3), &there, false)), 3);
    there["metadata"]["annotations"] = json!(null);
    assert_eq!(
        replicas(&with(&of(2), &there, false)),
        2,
        "nobody knows what it was applied from"
    );
    assert_eq!(
        replicas(&with(&of(2), &there, true)),
        9,
        "the work says that this was applied"
    );
    there["metadata"]["annotations"] = json!({ ocm::SPEC_HASH: "of another agent" });
    assert_eq!(with(&of(2), &there, true), there, "nothing was edited");
}

#[test]
fn the_hash_is_of_the_manifest_without_what_is_ignored_for_good() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "test", "namespace": "default", "uid": "7", "creationTimestamp": null },
        "data": { "foo1": "bar1", "foo2": "bar2" },
    });
    let manifest = Manifest::read(&object).unwrap();
    let hash = |value: Value| {
        let body = with_ignored(
            &manifest,
            None,
            "work-agent",
            &ignored(value),
            &mut Cost::of_work(),
        )
        .unwrap();
        assert_eq!(body["data"]["foo2"], "bar2", "it is made as the manifest says");
        body["metadata"]["annotations"]["open-cluster-management.io/config-spec-hash"].clone()
    };
    let expected = "4c07ba481d04e9c38e5ed3bf24139537";
    assert_eq!(
        hash(json!({ "condition": "OnSpokePresent", "jsonPaths": [".data.foo2"] })),
        expected
    );
    assert_ne!(
        hash(json!({ "condition": "OnSpokeChange", "jsonPaths": [".data.foo2"] })),
        expected
    );
}

#[test]
fn fields_that_jq_names_are_ignored_as_all_others() {
    let manifest =
        manifest(json!({ "replicas": 2, "list": [{ "name": "a", "size": 1 }, { "name": "b", "size": 1 }] }));
    let fields = ignored(json!({ "jqPathExpressions": [
        ".spec.replicas", ".spec.list[] | select(.name == \"b\") | .size",
    ] }));
    let live = json!({ "replicas": 9, "list": [{ "name": "a", "size": 5 }, { "name": "b", "size": 7 }] });
    assert_eq!(
        applied(&manifest, live, &[], &fields),
        json!({ "replicas": 9, "list": [{ "name": "a", "size": 1 }, { "name": "b", "size": 7 }] })
    );
    let many: Vec<&str> = std::iter::repeat_n(".spec.replicas", 17).collect();
    let InvalidManifest(why) = with_ignored(
        &manifest,
        None,
        "work-agent",
        &ignored(json!({ "jqPathExpressions": many })),
        &mut Cost::of_work(),
    )
    .unwrap_err();
    assert!(why.contains("16"), "{why}");
    let whole = ignored(json!({ "jqPathExpressions": [".."] }));
    assert!(with_ignored(&manifest, None, "work-agent", &whole, &mut Cost::of_work()).is_err());
}

#[test]
fn what_is_not_known_is_refused_and_not_overlooked() {
    for (field, value) in [
        ("jqPathExpressions", ".spec["),
        ("jqPathExpressions", "def f: f; f"),
        ("jsonPointers", "spec"),
        ("jsonPaths", ".spec[0]"),
        ("jsonPaths", ".spec[a]"),
    ] {
        let fields = ignored(json!({ field: [value, "other"] }));
        let InvalidManifest(why) = with_ignored(
            &manifest(json!({})),
            None,
            "work-agent",
            &fields,
            &mut Cost::of_work(),
        )
        .unwrap_err();
        assert!(why.contains(&format!("ignoreFields.{field} {value:?}")), "{why}");
        assert!(why.contains("accepted"), "{why}");
    }
    for pointer in ["/kind", "/metadata", "/metadata/name"] {
        let fields = ignored(json!({ "jsonPointers": [pointer] }));
        let InvalidManifest(why) = with_ignored(
            &manifest(json!({})),
            None,
            "work-agent",
            &fields,
            &mut Cost::of_work(),
        )
        .unwrap_err();
        assert!(why.contains(pointer), "{why}");
    }
}

#[test]
fn each_pattern_of_an_expression_is_paid_for_before_it_is_read_and_when_refused() {
    let spent = |tests: usize, pattern: &str| {
        let tests = vec![format!("test(\"{pattern}\")"); tests].join(" or ");
        let fields = ignored(json!({ "jqPathExpressions": [format!(".spec[] | select({tests})")] }));
        let mut cost = Cost::of_work();
        let applied = with_ignored(&manifest(json!({})), None, "work-agent", &fields, &mut cost);
        (applied.is_ok(), cost.spent_in_all())
    };
    let (one, many, refused) = (spent(1, "a"), spent(20, "a"), spent(20, "("));
    assert!(one.0 && many.0 && !refused.0);
    assert!(many.1 > 8 * one.1, "{many:?} {one:?}");
    assert!(refused.1 > 8 * one.1, "{refused:?} {one:?}");
}
