//! The cases are data: what rules say to documents, and which rules a definition must not have.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{FieldError, compile, compile_within, validate};
use super::{PatternBudget, evaluate};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    schema: Value,
    #[serde(default)]
    new: Value,
    old: Option<Value>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

fn cases(text: &str) -> Vec<Case> {
    serde_saphyr::from_str(text).unwrap()
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_say_to_documents_what_kubernetes_says() {
    let cases = cases(include_str!("cases.yaml"));
    assert!(cases.len() >= 28, "only {} cases were read", cases.len());
    for case in cases {
        let schema = compile(&case.schema, "").unwrap_or_else(|errors| panic!("{}: {errors:?}", case.name));
        assert_eq!(
            texts(&validate(&schema, &case.new, None)),
            Vec::<String>::new(),
            "{}",
            case.name
        );
        let verdict = evaluate(&schema, &case.new, case.old.as_ref());
        assert_eq!(texts(&verdict.errors), case.errors, "{}", case.name);
        assert_eq!(verdict.warnings, case.warnings, "{}", case.name);
    }
}

#[test]
fn rules_that_cannot_work_are_refused_with_their_place() {
    for case in cases(include_str!("refused.yaml")) {
        let errors = compile(&case.schema, "").err().unwrap_or_default();
        assert_eq!(texts(&errors), case.errors, "{}", case.name);
    }
}

#[test]
fn the_patterns_of_all_rules_share_one_budget() {
    let rule = |i: u32| json!({"rule": format!("self.matches('^[a-z]{{1,{}}}$')", 40 + i)});
    let field =
        |i: u32| json!({"type": "string", "maxLength": 100, "x-kubernetes-validations": [rule(i), rule(i)]});
    let properties: serde_json::Map<_, _> = (0..20).map(|i| (format!("p{i:02}"), field(i))).collect();
    let schema = json!({"type": "object", "properties": properties});
    let errors =
        |budget: PatternBudget| texts(&compile_within(&schema, "", &budget).err().unwrap_or_default());
    assert_eq!(errors(PatternBudget::of_definition()), Vec::<String>::new());
    let errors = errors(PatternBudget::of(10));
    let [error] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    assert!(
        error.contains("properties[p00].x-kubernetes-validations[0].rule")
            && error.contains("the patterns of the definition and of its rules take more than"),
        "{error}"
    );
}

/// A comparison of the whole list for each violation takes minutes here.
#[test]
fn violations_of_a_list_without_keys_compare_the_list_once() {
    let item = json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n > 0"}]});
    let source = json!({"type": "object", "properties": {"list": {"type": "array", "maxItems": 10_000, "items": item}}});
    let schema = compile(&source, "").unwrap();
    let list =
        |from: i64| json!({"list": (from..from + 8_000).map(|n| json!({"n": -n})).collect::<Vec<_>>()});
    let verdict = evaluate(&schema, &list(2), Some(&list(1)));
    assert_eq!(verdict.errors.len(), 100, "the rest is left out");
    let verdict = evaluate(&schema, &list(1), Some(&list(1)));
    assert_eq!((verdict.errors.len(), verdict.warnings.len()), (0, 100));
}

#[test]
fn all_rules_of_an_object_share_one_budget() {
    let rule = json!({"rule": "self.all(x, self.all(y, x + y >= 0))"});
    let list = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [rule]});
    let properties: serde_json::Map<_, _> = (0..20).map(|i| (format!("p{i:02}"), list.clone())).collect();
    let schema = compile(&json!({"type": "object", "properties": properties}), "").unwrap();
    let numbers: Vec<u32> = (0..380).collect();
    let document: serde_json::Map<_, _> = (0..20).map(|i| (format!("p{i:02}"), json!(numbers))).collect();
    let errors = texts(&evaluate(&schema, &document.into(), None).errors);
    let [error] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    assert!(
        error.ends_with(
            "validation failed due to running out of cost budget, no further validation rules will be run"
        ),
        "{error}"
    );
}

#[test]
fn a_value_that_did_not_change_is_not_validated_again() {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["b"], "properties": {
            "a": {"type": "integer", "minimum": 5}, "b": {"type": "string"}, "c": {"type": "array", "items": {"type": "integer", "minimum": 5}},
            "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        }},
    }});
    let schema = compile(&schema, "").unwrap();
    let check = |new: Value, old: Value| {
        texts(&validate(
            &schema,
            &json!({"spec": new}),
            Some(&json!({"spec": old})),
        ))
    };
    let none = Vec::<String>::new();
    assert_eq!(
        check(json!({"a": 1, "b": "new"}), json!({"a": 1, "b": "old"})),
        none
    );
    assert_eq!(
        check(json!({"a": 2, "b": "x"}), json!({"a": 1, "b": "x"})),
        ["spec.a: Invalid value: 2: spec.a in body should be greater than or equal to 5"]
    );
    assert_eq!(
        check(json!({"a": 1}), json!({"a": 1})),
        none,
        "the whole is unchanged"
    );
    assert_eq!(
        check(json!({"a": 6}), json!({"a": 1})),
        ["spec.b: Required value"],
        "what lacks the field changed"
    );
    assert_eq!(
        check(json!({"b": "", "c": [1, 6]}), json!({"b": "", "c": [1]})),
        ["spec.c[0]: Invalid value: 1: spec.c[0] in body should be greater than or equal to 5"],
        "whoever changes a list answers for all of it"
    );
    assert_eq!(
        check(json!({"b": "", "s": ["a", "a"]}), json!({"b": "", "s": ["a"]})),
        ["spec.s[1]: Duplicate value: \"a\""]
    );
    assert_eq!(
        check(
            json!({"b": "", "s": ["a", "a", "c"]}),
            json!({"b": "", "s": ["a", "a"]})
        ),
        none,
        "duplicates were there before"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_rule_says_nothing_panics(rule in "\\PC{0,40}", text in "\\PC{0,20}", number in any::<i64>()) {
        let spec = json!({"type": "object", "properties": {
            "text": {"type": "string"}, "number": {"type": "integer"}, "any": {"x-kubernetes-int-or-string": true},
        }, "x-kubernetes-validations": [{"rule": rule, "messageExpression": rule, "fieldPath": rule}]});
        let new = json!({"text": text, "number": number, "any": text});
        let old = json!({"text": text, "number": 1, "any": number});
        if let Ok(schema) = compile(&spec, "") {
            evaluate(&schema, &new, Some(&old));
        }
    }
}
