//! Environments with typed variables, as validation rules have them. The cases are data, as in `expressions.rs`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::sync::Arc;

use portolan_cel::{Budget, CompileError, Environment, EvalError, Program, Value, ValueType};
use proptest::prelude::*;

fn object(fields: Vec<(&str, ValueType)>) -> ValueType {
    ValueType::object(fields.into_iter().map(|(name, known)| (Arc::from(name), known)))
}

fn map(fields: Vec<(&str, Value)>) -> Value {
    Value::map(fields.into_iter().map(|(name, value)| (Arc::from(name), value)))
}

fn self_type() -> ValueType {
    let part = object(vec![("name", ValueType::STRING), ("count", ValueType::INT)]);
    object(vec![
        ("replicas", ValueType::INT),
        ("ratio", ValueType::DOUBLE),
        ("name", ValueType::STRING),
        ("note", ValueType::STRING),
        ("tags", ValueType::list(ValueType::STRING)),
        ("order", ValueType::list(ValueType::STRING)),
        ("parts", ValueType::list(part)),
        ("labels", ValueType::map(ValueType::STRING)),
        ("when", ValueType::TIMESTAMP),
        ("span", ValueType::DURATION),
        ("data", ValueType::BYTES),
        ("port", ValueType::DYN),
        ("inner", object(vec![("a", ValueType::INT)])),
        ("__namespace__", ValueType::STRING),
        ("my__dash__name", ValueType::STRING),
    ])
}

fn environment() -> Environment {
    Environment::rules()
        .variable("self", self_type())
        .variable("oldSelf", self_type())
}

fn parts(names: [&str; 2]) -> Value {
    let part = |name: &str| map(vec![("name", Value::string(name)), ("count", Value::int(1))]);
    Value::keyed_list(names.map(part), vec![Arc::from("name")])
}

fn value(replicas: i64, names: [&str; 2]) -> Value {
    let texts = |texts: [&str; 2]| texts.map(Value::string);
    map(vec![
        ("replicas", Value::int(replicas)),
        ("ratio", Value::double(1.5)),
        ("name", Value::string("web")),
        ("tags", Value::set(texts(["a", "b"]))),
        ("order", Value::list(texts(["a", "b"]))),
        ("parts", parts(names)),
        ("labels", map(vec![("env", Value::string("prod"))])),
        ("when", Value::timestamp("2024-01-31T12:00:00Z").unwrap()),
        ("span", Value::duration("60m").unwrap()),
        ("data", Value::bytes(b"hi".to_vec())),
        ("port", Value::int(80)),
        ("inner", map(vec![("a", Value::int(1))])),
        ("__namespace__", Value::string("ns")),
        ("my__dash__name", Value::string("d")),
    ])
}

fn outcome(source: &str) -> String {
    let program = match Program::compile_in(&environment(), source) {
        Ok(program) => program,
        Err(error) => return format!("compile: {error}"),
    };
    let (new, old) = (value(3, ["x", "y"]), value(2, ["y", "x"]));
    let mut budget = Budget::per_object();
    let outcome = program.run(&[Some(&new), Some(&old)], &mut budget);
    assert!(budget.spent() <= Budget::PER_EXPRESSION);
    match outcome {
        Ok(value) => value
            .as_bool()
            .map_or_else(|| "not a bool".to_owned(), |answer| answer.to_string()),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn rules_over_declared_types_give_the_answers_kubernetes_gives() {
    let lines = include_str!("cases/rules.txt").lines();
    let cases: Vec<_> = lines
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.rsplit_once(" => ").expect(line))
        .collect();
    assert!(cases.len() > 55, "only {} cases were read", cases.len());
    for (source, expected) in cases {
        let found = outcome(source);
        let agrees = match expected.split_once(": ") {
            Some((class, text)) => found.starts_with(class) && found.contains(text),
            None => found == expected,
        };
        assert!(agrees, "{source}\n  expected {expected}\n  found    {found}");
    }
}

#[test]
fn a_program_tells_what_it_gives_and_which_variables_it_names() {
    let program = Program::compile_in(&environment(), "self.name + 'x'").unwrap();
    assert_eq!(program.result(), ValueType::STRING);
    assert!(program.uses(0) && !program.uses(1) && !program.uses(2));
    let program = Program::compile_in(&environment(), "[1].all(self, self == oldSelf.replicas)").unwrap();
    assert_eq!(program.result(), ValueType::BOOL);
    assert!(!program.uses(0), "the macro's variable hides it");
    assert!(program.uses(1));
}

#[test]
fn a_variable_without_a_value_is_an_error_only_when_it_is_read() {
    let program = Program::compile_in(&environment(), "self.replicas == 3 || oldSelf.replicas == 3").unwrap();
    let new = value(3, ["x", "y"]);
    let run = |value: &Value| program.run(&[Some(value), None], &mut Budget::per_object());
    assert_eq!(run(&new).unwrap().as_bool(), Some(true));
    assert_eq!(
        run(&value(1, ["x", "y"])).unwrap_err(),
        EvalError::Unset { place: 1 }
    );
}

#[test]
fn an_optional_variable_is_read_as_one() {
    let environment = Environment::rules()
        .variable("self", ValueType::INT)
        .variable("oldSelf", ValueType::INT.optional());
    let program =
        Program::compile_in(&environment, "!oldSelf.hasValue() || oldSelf.value() <= self").unwrap();
    let answer = |old: Option<i64>| {
        let old = Value::optional(old.map(Value::int));
        program
            .run(&[Some(&Value::int(2)), Some(&old)], &mut Budget::per_object())
            .unwrap()
            .as_bool()
    };
    assert_eq!(
        [answer(None), answer(Some(1)), answer(Some(3))],
        [Some(true), Some(true), Some(false)]
    );
}

#[test]
fn an_error_tells_its_position_and_its_reason_apart() {
    let error = Program::compile_in(&environment(), "self.a == 1").unwrap_err();
    assert_eq!(error.reason(), "undefined field 'a'");
    assert_eq!(error.position().unwrap().to_string(), "1:6");
    let long = Program::compile_in(&environment(), &" ".repeat(70_000)).unwrap_err();
    assert!(matches!(long, CompileError::TooLong { .. }));
    assert_eq!(long.position(), None);
    assert!(long.reason().starts_with("expression has 70000 bytes"));
}

#[test]
fn large_sets_are_compared_in_time_that_grows_with_their_size() {
    let environment = Environment::rules()
        .variable("self", ValueType::list(ValueType::STRING))
        .variable("oldSelf", ValueType::list(ValueType::STRING));
    let program = Program::compile_in(&environment, "self == oldSelf").unwrap();
    let names = |order: &mut dyn Iterator<Item = u32>| {
        Value::set(
            order
                .map(|number| Value::string(format!("n{number}")))
                .collect::<Vec<_>>(),
        )
    };
    let (up, down) = (names(&mut (0..20_000)), names(&mut (0..20_000).rev()));
    let mut budget = Budget::per_object();
    let same = program.run(&[Some(&up), Some(&down)], &mut budget).unwrap();
    assert_eq!(same.as_bool(), Some(true));
    assert!(budget.spent() < 200_000, "{}", budget.spent());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_rules_never_panic_and_stay_within_their_budget(source in "\\PC{0,60}") {
        outcome(&source);
    }

    #[test]
    fn pieces_of_rules_in_any_order_never_panic_and_stay_within_their_budget(
        parts in prop::collection::vec(prop::sample::select(vec![
            "self", "oldSelf", ".name", ".tags", ".parts", ".labels", ".port", ".inner", ".?note", "[0]", "['env']",
            "==", "!=", "<", "in", "+", "-", "&&", "||", "!", "(", ")", "[", "]", "{", "}", ",", ":", "?", "1", "'a'", "null",
            "has(", ".all(k, v,", ".exists(k, v,", ".existsOne(k, v,", ".transformList(k, v,", ".transformMap(k, v,",
            ".transformMapEntry(k, v,", ".map(k,", "k", "v", "sets.contains(", "sets.equivalent(", "size(", "dyn(",
        ]), 0..20),
    ) {
        outcome(&parts.join(" "));
    }
}
