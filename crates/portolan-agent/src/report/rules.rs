//! Conditions that follow from an object by rules of the work.

use portolan_api::work::{ConditionRule, ConditionRuleType};
use portolan_cel::{Budget, Environment, Program, Value as Cel, ValueType};
use serde_json::Value;

use super::conditions::{Said, Truth};
use super::well_known;
use crate::work::Target;

/// Every reason of a condition that comes from a rule starts like this, which tells it from conditions of others.
pub(super) const PREFIX: &str = "ConditionRule";
/// The rule was evaluated.
pub(super) const EVALUATED: &str = "ConditionRuleEvaluated";
/// The rule has no answer for the object.
const FAILED: &str = "ConditionRuleEvaluationFailed";
/// The rule is none.
const INVALID: &str = "ConditionRuleInvalid";

/// The conditions that the rules of the object's settings give.
pub(super) fn conditions(target: &Target, object: &Value) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    // All rules of one object share one budget, as all rules of a definition do.
    let mut budget = Budget::per_object();
    for rule in &target.config.rules {
        let found = match rule.r#type {
            ConditionRuleType::WellKnownConditions => well_known(rule, target, object),
            ConditionRuleType::Cel => by_cel(rule, object, &mut budget).into_iter().collect(),
        };
        for condition in found {
            // The first rule of a type counts.
            if said.iter().all(|other| other.r#type != condition.r#type) {
                said.push(condition);
            }
        }
    }
    said
}

/// The same for an object that may not be read.
pub(super) fn unknown(target: &Target, why: &str) -> Vec<Said> {
    let said = conditions(target, &Value::Null).into_iter();
    said.map(|said| Said::new(&said.r#type, Truth::Unknown, FAILED, why))
        .collect()
}

/// Whether a rule of the object's settings gives a condition of this type.
pub(super) fn ask_for(target: &Target, r#type: &str) -> bool {
    let usual = || {
        let known = well_known::conditions(&target.id.group, &target.kind, &Value::Null);
        known.iter().any(|said| said.r#type == r#type)
    };
    let mut rules = target.config.rules.iter();
    rules.any(|rule| rule.can_give(r#type, usual))
}

fn well_known(rule: &ConditionRule, target: &Target, object: &Value) -> Vec<Said> {
    let mut found = well_known::conditions(&target.id.group, &target.kind, object);
    if let Some(wanted) = rule.named() {
        found.retain(|said| said.r#type == wanted);
        if found.is_empty() {
            let why = format!(
                "there is no well-known rule for {wanted} of the kind {}",
                target.kind
            );
            return vec![Said::new(wanted, Truth::Unknown, INVALID, why)];
        }
    }
    found
}

fn by_cel(rule: &ConditionRule, object: &Value, budget: &mut Budget) -> Option<Said> {
    // The API refuses a rule of this type without a condition.
    let r#type = rule.named()?;
    let cel = Cel::from_json(object);
    let environment = Environment::rules().variable("object", ValueType::DYN);
    if rule.cel_expressions.is_empty() {
        let why = "celExpressions is empty; accepted: one expression or more";
        return Some(Said::new(r#type, Truth::Unknown, INVALID, why));
    }
    let mut holds = true;
    for source in &rule.cel_expressions {
        let program = match Program::compile_in(&environment, source) {
            Ok(program) => program,
            Err(error) => {
                let why = format!("the expression {source:?}: {error}");
                return Some(Said::new(r#type, Truth::Unknown, INVALID, why));
            }
        };
        match program.run(&[Some(&cel)], budget) {
            Ok(answer) => match answer.as_bool() {
                Some(answer) => holds &= answer,
                None => {
                    let why = format!("the expression {source:?} does not give a bool");
                    return Some(Said::new(r#type, Truth::Unknown, INVALID, why));
                }
            },
            Err(error) => {
                let why = format!("the expression {source:?}: {error}");
                return Some(Said::new(r#type, Truth::Unknown, FAILED, why));
            }
        }
    }
    let message = message(rule, &cel, holds, budget);
    Some(Said::new(r#type, Truth::of(holds), EVALUATED, message))
}

/// The message of the rule: what its expression gives, or else its text.
fn message(rule: &ConditionRule, object: &Cel, holds: bool, budget: &mut Budget) -> String {
    let plain = rule.message.clone().unwrap_or_default();
    let Some(source) = rule
        .message_expression
        .as_deref()
        .filter(|source| !source.is_empty())
    else {
        return plain;
    };
    let environment = Environment::rules()
        .variable("object", ValueType::DYN)
        .variable("result", ValueType::BOOL);
    let answer = Program::compile_in(&environment, source)
        .map_err(|error| error.to_string())
        .and_then(|program| {
            program
                .run(&[Some(object), Some(&Cel::bool(holds))], budget)
                .map_err(|error| error.to_string())
        });
    match answer {
        Ok(answer) => answer.as_str().map(str::to_owned).unwrap_or(plain),
        Err(error) if plain.is_empty() => format!("messageExpression: {error}"),
        Err(_) => plain,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Manifest, ObjectId};

    fn said(rules: Value, object: Value) -> Vec<(String, &'static str, String)> {
        let target = Target {
            id: ObjectId {
                group: "apps".to_owned(),
                ..ObjectId::default()
            },
            version: "v1".to_owned(),
            kind: "Deployment".to_owned(),
            manifest: Manifest::read(&json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" },
            }))
            .unwrap(),
            config: Config {
                rules: serde_json::from_value(rules).unwrap(),
                ..Config::default()
            },
        };
        conditions(&target, &object)
            .into_iter()
            .map(|said| (said.r#type, said.truth.word(), said.message))
            .collect()
    }

    #[test]
    fn expressions_must_all_hold_and_the_message_may_be_computed() {
        let rules = json!([{
            "condition": "Progressing", "type": "CEL",
            "celExpressions": ["object.status.a > 0", "object.status.b == 'x'"],
            "messageExpression": "'a is ' + string(object.status.a) + (result ? '' : ', not enough')",
        }]);
        let object = |a: i64| json!({ "status": { "a": a, "b": "x" } });
        assert_eq!(
            said(rules.clone(), object(2)),
            [("Progressing".to_owned(), "True", "a is 2".to_owned())]
        );
        assert_eq!(
            said(rules, object(0)),
            [("Progressing".to_owned(), "False", "a is 0, not enough".to_owned())]
        );
    }

    #[test]
    fn a_rule_without_an_answer_says_unknown_and_why() {
        for expression in ["object.status.absent > 0", "object.", "'text'"] {
            let rules = json!([{ "condition": "Degraded", "type": "CEL", "celExpressions": [expression] }]);
            let said = said(rules, json!({ "status": {} }));
            assert_eq!(said[0].1, "Unknown", "{expression}");
            assert!(said[0].2.contains(expression), "{}", said[0].2);
        }
    }

    #[test]
    fn well_known_rules_give_all_conditions_of_the_kind_or_the_one_that_is_asked_for() {
        let types = |rules: Value| -> Vec<String> {
            said(rules, json!({}))
                .into_iter()
                .map(|(r#type, ..)| r#type)
                .collect()
        };
        assert_eq!(
            types(json!([{ "type": "WellKnownConditions" }])),
            ["Progressing", "Degraded"]
        );
        assert_eq!(
            types(json!([{ "type": "WellKnownConditions", "condition": "Degraded" }])),
            ["Degraded"]
        );
        let unknown = said(
            json!([{ "type": "WellKnownConditions", "condition": "Complete" }]),
            json!({}),
        );
        assert_eq!(unknown[0].1, "Unknown");
    }
}
