//! The rules of the design that the engine owns, and that their checks notice when a rule is broken. Rules 1, 3 and 4
//! are the write plan's: their tests stand beside it.

use portolan_check::{CheckId, DecisionId, State, explain as check_explain, numbers, pair};
use serde_json::json;

use super::fixture::*;
use crate::explain::{Stage, explain};
use crate::sabotage::{Rule, with_sabotaged};

/// Rule 2: a placement that becomes misconfigured keeps its last decision.
fn misconfigured_keeps_the_last_decision() -> portolan_check::Report {
    let prior = vec![decision(1, (0, ""), &["a", "b"])];
    let mut world = World::new(&[cluster("a", &[]), cluster("b", &[])], json!({})).with_prior(prior.clone());
    world
        .engine
        .apply_placement(&placement(json!({"tolerations": [{"operator": "Equal"}]})));
    let after = world.decide().layout.decisions;
    pair::kept(
        &State::of(prior),
        &State::of(after),
        &DecisionId::ocm("apps", "web"),
    )
}

#[test]
fn rule_2_holds_and_its_check_notices_when_it_does_not() {
    let report = misconfigured_keeps_the_last_decision();
    assert!(report.is_clean(), "{report}");
    let broken = with_sabotaged(Rule::NeverDestroyOnDoubt, misconfigured_keeps_the_last_decision);
    assert_eq!(broken.failed(), [CheckId::Rule2], "{broken}");
}

/// Rule 5: every rejected cluster has a reason that names expression and observed value.
fn rejections_have_reasons() -> portolan_check::Report {
    let clusters = [
        cluster("a", &["env=dev"]),
        with_taints(
            cluster("b", &["env=prod"]),
            json!([{"key": "t", "value": "v", "effect": "NoSelect"}]),
        ),
        cluster("c", &["env=prod"]),
        cluster("d", &["env=prod", "zone=x"]),
        cluster("e", &["env=prod", "zone=x"]),
        cluster("f", &["env=prod", "zone=y"]),
        cluster("g", &["env=prod", "zone=x"]),
    ];
    let mut world = World::new(
        &clusters,
        json!({
            "predicates": [{"requiredClusterSelector": {
                "labelSelector": {"matchLabels": {"env": "prod"}},
                "celSelector": {"celExpressions": ["managedCluster.metadata.name != 'f'"]},
            }}],
            "spreadPolicy": {"spreadConstraints": [{"topologyKey": "zone", "topologyKeyType": "Label", "whenUnsatisfiable": "DoNotSchedule"}]},
        }),
    );
    let explanation = explain(&mut world.engine, &key(), now()).unwrap();
    let rejected = |stage| !matches!(stage, Stage::Selected | Stage::NumberOfClusters);
    let verdicts: Vec<check_explain::Verdict> = explanation
        .clusters
        .iter()
        .map(|verdict| {
            let check = verdict.checks.first();
            check_explain::Verdict {
                cluster: verdict.cluster.clone(),
                rejected_by: rejected(verdict.stage)
                    .then(|| check.map(|check| check.expression.clone()).unwrap_or_default()),
                observed: check.map(|check| check.observed.clone()),
                reason: verdict.reason.clone(),
            }
        })
        .collect();
    assert!(
        verdicts
            .iter()
            .filter(|verdict| verdict.rejected_by.is_some())
            .count()
            >= 3
    );
    let mut report = check_explain::rejections(&verdicts);
    report.extend(check_explain::everyone_has_a_verdict(
        ["a", "b", "c", "d", "e", "f", "g"],
        &verdicts,
    ));
    report
}

#[test]
fn rule_5_holds_and_its_check_notices_when_it_does_not() {
    let report = rejections_have_reasons();
    assert!(report.is_clean(), "{report}");
    let broken = with_sabotaged(Rule::EveryRejectionHasAReason, rejections_have_reasons);
    assert_eq!(broken.failed(), [CheckId::Rule5], "{broken}");
}

/// Rule 6: bad values are reported with field, value and what would be accepted.
fn bad_values_are_reported() -> portolan_check::Report {
    let mut errors = Vec::new();
    for (spec, field, value, accepted) in [
        (
            json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "many"}}}),
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup",
            "many",
            "a whole number from 1, or 1% to 100%",
        ),
        (
            json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}}]}),
            "spec.predicates[0].requiredClusterSelector.labelSelector.matchExpressions[0].operator",
            "Near",
            "In, NotIn, Exists or DoesNotExist",
        ),
        (
            json!({"numberOfClusters": -1}),
            "spec.numberOfClusters",
            "-1",
            "0 or more",
        ),
    ] {
        errors.push(check_explain::InputError {
            field: field.into(),
            value: value.into(),
            accepted: accepted.into(),
            message: World::new(&[cluster("a", &[])], spec).outcome().status.message,
        });
    }
    check_explain::input_errors(&errors)
}

#[test]
fn rule_6_holds_and_its_check_notices_when_it_does_not() {
    let report = bad_values_are_reported();
    assert!(report.is_clean(), "{report}");
    let broken = with_sabotaged(Rule::BadInputIsReported, bad_values_are_reported);
    assert_eq!(broken.failed(), [CheckId::Rule6], "{broken}");
}

/// Rule 8: scores are bit for bit those of OCM.
fn numbers_agree() -> portolan_check::Report {
    let values = [1.0, 2.0, 3.0, 8.0, 5.5, 7.3];
    let cpu = |index: usize, value: f64| {
        let cpu = format!("{}m", (value * 1000.0) as i64);
        with_status(
            cluster(&format!("c{index}"), &[]),
            json!({"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}),
        )
    };
    let clusters: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(index, value)| cpu(index, *value))
        .collect();
    let mut world = World::new(
        &clusters,
        json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}},
        ]}}),
    );
    let name = |index: usize| format!("c{index}");
    let given = (0..values.len())
        .map(|index| (name(index), world.total(&name(index))))
        .collect();
    let reference = values
        .iter()
        .enumerate()
        .map(|(i, v)| (name(i), numbers::scaled(*v, 1.0, 8.0)))
        .collect();
    numbers::agree("ResourceAllocatableCPU", &given, &reference)
}

#[test]
fn rule_8_holds_and_its_check_notices_when_it_does_not() {
    let report = numbers_agree();
    assert!(report.is_clean(), "{report}");
    let broken = with_sabotaged(Rule::ExactNumbers, numbers_agree);
    assert_eq!(broken.failed(), [CheckId::Rule8], "{broken}");
}
