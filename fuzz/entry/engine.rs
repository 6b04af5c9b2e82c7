//! What is read without a server: manifests, selectors of placements, CEL, sizes of groups.

use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::PlacementKey;
use serde_json::{Value, json};

/// The reader of manifests: YAML and JSON, several documents, lists.
pub fn manifests(data: &[u8]) {
    if let Err(problems) = portolan::input::read_bytes("fuzz.yaml", data.to_vec()) {
        assert!(!problems.to_string().is_empty(), "a refusal says why");
    }
}

/// Label and claim selectors in predicates, groups and sets.
pub(super) fn expressions(data: &[u8]) {
    let Ok(expression) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let expressions = json!([expression]);
    evaluate(json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": expressions}}}],
        "decisionStrategy": {"groupStrategy": {"decisionGroups": [
            {"groupName": "g0", "groupClusterSelector": {"claimSelector": {"matchExpressions": expressions}}},
        ]}},
    }));
}

/// CEL: compile, and evaluate what compiles.
pub fn cel(data: &[u8]) {
    struct NoScores;
    impl portolan_cel::Scores for NoScores {
        fn scores(&self, _: &str) -> Option<Vec<(String, i64)>> {
            Some(vec![("a".into(), 1)])
        }
    }
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    rule(source);
    let Ok(program) = portolan_cel::Program::compile(source) else {
        return;
    };
    let cluster =
        json!({"metadata": {"name": "c", "labels": {"env": "prod"}}, "status": {"n": [1, 2.5, "x"]}});
    let mut budget = portolan_cel::Budget::per_cluster();
    let _ = program.evaluate(&portolan_cel::Value::from_json(&cluster), &NoScores, &mut budget);
    assert!(
        budget.spent() <= 2 * portolan_cel::Budget::PER_EXPRESSION,
        "the budget holds"
    );
}

/// The same text as a validation rule over typed variables.
fn rule(source: &str) {
    use portolan_cel::{Budget, Environment, Program, Value as CelValue, ValueType};
    let known = ValueType::object([
        ("a".into(), ValueType::INT),
        ("b".into(), ValueType::list(ValueType::STRING)),
        ("c".into(), ValueType::map(ValueType::DYN)),
    ]);
    let environment = Environment::rules()
        .variable("self", known.clone())
        .variable("oldSelf", known.optional());
    let Ok(program) = Program::compile_in(&environment, source) else {
        return;
    };
    let new = CelValue::from_json(&json!({"a": 1, "b": ["x", "y"], "c": {"k": 2.5}}));
    let old = CelValue::optional(Some(new.clone()));
    let mut budget = Budget::per_object();
    let _ = program.run(&[Some(&new), Some(&old)], &mut budget);
    assert!(budget.spent() <= Budget::PER_EXPRESSION, "the budget holds");
}

/// `clustersPerDecisionGroup`, as text and as a number.
pub fn group_sizes(data: &[u8]) {
    let Ok(size) = std::str::from_utf8(data) else {
        return;
    };
    let sized =
        |size: Value| json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": size}}});
    evaluate(sized(json!(size)));
    if let Ok(number) = size.trim().parse::<i32>() {
        evaluate(sized(json!(number)));
    }
}

fn evaluate(spec: Value) {
    let object = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": spec});
    let Ok(placement) = serde_json::from_value(object) else {
        return;
    };
    let mut engine = Engine::new(Inventory::ManagedClusters);
    let set = json!({"metadata": {"name": "s"},
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}});
    let binding = json!({"metadata": {"name": "s", "namespace": "n"}, "spec": {"clusterSet": "s"}});
    engine.apply_set(&serde_json::from_value(set).expect("a fixed set"));
    engine.apply_binding(&serde_json::from_value(binding).expect("a fixed binding"));
    for number in 0..5 {
        let cluster = json!({"metadata": {"name": format!("c{number}"), "labels": {"env": format!("e{number}")}}, "spec": {}});
        engine.apply_cluster(&serde_json::from_value(cluster).expect("a fixed cluster"));
    }
    engine.apply_placement(&placement);
    let outcome = engine
        .evaluate(&PlacementKey::new("n", "p"), jiff::Timestamp::UNIX_EPOCH)
        .expect("it was applied");
    let grouped: usize = outcome.groups.iter().map(|group| group.clusters.len()).sum();
    assert_eq!(
        grouped,
        outcome.selected.len(),
        "every selected cluster is in one group"
    );
}
