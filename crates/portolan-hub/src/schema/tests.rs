use serde_json::json;

use super::*;

fn widget() -> Schema {
    let source = json!({
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 0, "maximum": 9},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "port": {"x-kubernetes-int-or-string": true},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": {"type": "string", "pattern": "^[a-z]+$"}},
                "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "object", "properties": {}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "maybe": {"type": "string", "nullable": true},
                "nested": {"type": "object", "default": {}, "properties": {"deep": {"type": "boolean", "default": true}}},
                "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}
            }
        }}
    });
    compile(&source, "").unwrap()
}

fn errors(spec: Value) -> Vec<String> {
    validate(&widget(), &json!({"spec": spec}), None)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn violations_are_worded_as_kubernetes_words_them() {
    let cases = [
        (json!({}), "spec.size: Required value"),
        (
            json!({"size": "x"}),
            r#"spec.size: Invalid value: "string": spec.size in body must be of type integer: "string""#,
        ),
        (
            json!({"size": -1}),
            "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0",
        ),
        (
            json!({"size": 1, "colour": "c"}),
            r#"spec.colour: Unsupported value: "c": supported values: "red", "blue""#,
        ),
        (
            json!({"size": 1, "tags": ["A"]}),
            r#"spec.tags[0]: Invalid value: "A": spec.tags[0] in body should match '^[a-z]+$'"#,
        ),
        (
            json!({"size": 1, "tags": ["a", "a"]}),
            r#"spec.tags[1]: Duplicate value: "a""#,
        ),
        (
            json!({"size": 1, "tags": ["a", "b", "c", "d"]}),
            "spec.tags: Too many: 4: must have at most 3 items",
        ),
        (
            json!({"size": 1, "parts": [{"name": "a"}, {"name": "a"}]}),
            r#"spec.parts[1]: Duplicate value: {"name":"a"}"#,
        ),
        (
            json!({"size": 1, "port": true}),
            r#"spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean""#,
        ),
        (
            json!({"size": 1, "labels": {"a": 1}}),
            r#"spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer""#,
        ),
        (
            json!({"size": 1, "template": {"kind": "A"}}),
            "spec.template.apiVersion: Required value: must not be empty",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(errors(spec), [expected]);
    }
    assert!(errors(json!({"size": 1.0, "port": "http", "maybe": null})).is_empty());
    // A whole number beyond 64 bits is read as a float, and is no integer.
    assert_eq!(errors(json!({"size": 1, "port": 1e20})).len(), 1);
}

/// A search through the old list for each new item takes minutes here; an index takes a moment.
#[test]
fn a_long_list_is_compared_with_the_old_one_without_a_search_for_each_item() {
    let parts = |from: usize| -> Vec<Value> {
        let part = |number: usize| json!({"name": number.to_string(), "count": 1});
        (from..from + 20_000).map(part).collect()
    };
    let object = |parts: Vec<Value>| json!({"spec": {"size": 1, "parts": parts}});
    let old = object(parts(0));
    let mut new = parts(20_000);
    new.push(json!({"name": "z", "count": "bad"}));
    let found = validate(&widget(), &object(new), Some(&old));
    assert_eq!(found.len(), 1, "{found:?}");
    // What was wrong before is not held against a write that leaves it as it is.
    let wrong = object(vec![json!({"name": "z", "count": "bad"})]);
    assert_eq!(validate(&widget(), &wrong, Some(&wrong)), []);
}

#[test]
fn branches_are_not_compared_with_any_number_of_values() {
    let branches: Vec<Value> = (0..2_000)
        .map(|number| json!({"minimum": 1_000_000 + number}))
        .collect();
    let source = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer", "anyOf": branches}}}});
    let schema = compile(&source, "").unwrap();
    let few = validate(&schema, &json!({"list": vec![2_000_000; 100]}), None);
    assert_eq!(few, []);
    let many = validate(&schema, &json!({"list": vec![1; 5_000]}), None);
    let said: Vec<String> = many.iter().map(ToString::to_string).collect();
    assert!(said.len() <= 100 && !said.is_empty(), "{}", said.len());
}

#[test]
fn the_patterns_of_a_definition_have_a_budget() {
    let of = |pattern: &str, number: usize| {
        let fields = (0..number).map(|n| {
            (
                format!("f{n}"),
                json!({"type": "string", "pattern": format!("{pattern}{n}")}),
            )
        });
        json!({"type": "object", "properties": Value::Object(fields.collect())})
    };
    let errors = |source: &Value| {
        let found = compile_within(source, "", &PatternBudget::of_definition());
        found
            .err()
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(errors(&of("^[a-z]+$", 1_000)), Vec::<String>::new());
    let large = errors(&of("(a{1,200}){1,20}b", 200));
    assert!(large[0].contains("fewer or smaller patterns"), "{}", large[0]);
    let folded = errors(&of(r"(?i)^\p{L}$", 30));
    assert!((10..15).contains(&folded.len()), "{folded:?}");
    assert!(folded[0].contains("fewer or smaller patterns"), "{}", folded[0]);
    let verbose = errors(&of("(?xi)[[:[#\n^a]:]x]", 1));
    assert!(
        verbose[0].contains("the flag x is unknown in Go"),
        "{}",
        verbose[0]
    );
}

#[test]
fn defaults_complete_each_other_and_nulls_are_dropped() {
    let mut value = json!({"spec": {"size": null, "colour": null, "maybe": null, "parts": [{"name": "a"}]}});
    default(&widget(), &mut value, 1000).unwrap();
    assert_eq!(
        value,
        json!({"spec": {"colour": "red", "maybe": null, "nested": {"deep": true}, "parts": [{"name": "a", "count": 1}]}})
    );
}

#[test]
fn defaults_that_multiply_stop_at_the_size_of_an_object() {
    let list = |items: Value| json!({"type": "array", "items": items, "default": vec![json!({}); 90]});
    let object = |list: Value| json!({"type": "object", "properties": {"list": list}});
    let nested = object(list(object(list(object(list(json!({"type": "object"})))))));
    let schema = compile(&nested, "").unwrap();
    let mut value = json!({});
    let TooLarge(added) = default(&schema, &mut value, 100_000).unwrap_err();
    // One default is counted beyond the limit, and no more are built.
    assert!((100_001..101_000).contains(&added), "{added}");
    assert!(value.to_string().len() <= 100_000);

    let long =
        object(json!({"type": "array", "items": {"type": "object"}, "default": vec![json!({}); 1000]}));
    let schema = compile(&long, "").unwrap();
    let mut value = json!({});
    assert!(default(&schema, &mut value, 1000).is_err());
    assert_eq!(value, json!({}), "nothing was copied");
    let whole = json!({"list": vec![json!({}); 1000]});
    default(&schema, &mut value, whole.to_string().len()).unwrap();
    assert_eq!(value, whole, "an object of the largest size is completed");
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let mut value = json!({
        "apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a"}, "other": 1,
        "spec": {"free": {"any": 1, "known": {"gone": 1}}, "parts": [{"name": "a", "x": 1}], "template": {"kind": "A"}}
    });
    assert_eq!(
        prune(&widget(), &mut value),
        ["other", "spec.free.known.gone", "spec.parts[0].x"]
    );
    assert_eq!(value["spec"]["free"], json!({"any": 1, "known": {}}));
    assert_eq!(value["metadata"]["name"], "a");
}

#[test]
fn a_broken_schema_names_the_field() {
    let errors = compile(
        &json!({"type": "objekt", "properties": {"a": {"pattern": "("}}}),
        "schema",
    )
    .unwrap_err();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["schema.properties[a].pattern", "schema.type"]);
}

#[test]
fn a_default_that_the_schema_would_not_keep_is_wrong() {
    let schema = compile(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
            "unknown": {"type": "object", "default": {"e": 0}, "properties": {"b": {"type": "integer"}}},
            "value": {"type": "string", "enum": ["a"], "default": "c"},
            "kind": {"type": "integer", "default": "x"},
            "ruled": {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 1"}]},
            "list": {"type": "array", "items": {"type": "integer", "minimum": 1, "default": 0}},
            "good": {"type": "object", "default": {"b": 1}, "properties": {"b": {"type": "integer"}}},
            "null": {"type": "string", "default": null},
        }}}}),
        "schema",
    )
    .unwrap();
    let wrong = check_defaults(&schema, "schema");
    let spec = "schema.properties[spec].properties";
    let fields: Vec<_> = wrong.iter().map(|error| error.field.clone()).collect();
    let expected = ["kind", "list", "ruled", "unknown", "value"].map(|field| match field {
        "list" => format!("{spec}[list].items.default"),
        field => format!("{spec}[{field}].default"),
    });
    assert_eq!(fields, expected, "{wrong:?}");
}
