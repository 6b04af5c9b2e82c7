//! Conditions that follow from an object by rules of the work.

use portolan_api::labels::conditions as types;
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
/// An expression of the rule is none, or has no answer for the object.
const EXPRESSION_ERROR: &str = "ConditionRuleExpressionError";
/// The object cannot be read.
const FAILED: &str = "ConditionRuleEvaluationFailed";
/// The rule is none.
const INVALID: &str = "ConditionRuleInvalid";
/// Type of the condition that names rules for conditions which the agent itself gives.
const RULES_VALID: &str = "ConditionRulesValid";

/// The conditions that the rules of the object's settings give.
pub(super) fn conditions(target: &Target, object: &Value) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    // All rules of one object share one budget, as all rules of a definition do.
    let mut budget = Budget::per_object();
    for rule in &target.config.rules {
        let found = match rule.r#type {
            _ if rule.named().is_some_and(is_ours) => vec![ours(rule)],
            ConditionRuleType::WellKnownConditions => well_known(rule, target, object, &mut budget),
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

/// Whether the agent itself gives every manifest a condition of this type, whatever a rule says.
fn is_ours(r#type: &str) -> bool {
    [types::APPLIED, super::FEEDBACK_SYNCED].contains(&r#type)
}

fn ours(rule: &ConditionRule) -> Said {
    let named = rule.named().unwrap_or_default();
    let why =
        format!("a rule gives {named}, which is the agent's to say; accepted: any other type of condition");
    Said::new(RULES_VALID, Truth::False, INVALID, why)
}

/// What is usual for the kind; nothing where nothing is. The rule may have words of its own for it.
fn well_known(rule: &ConditionRule, target: &Target, object: &Value, budget: &mut Budget) -> Vec<Said> {
    let mut found = well_known::conditions(&target.id.group, &target.kind, object);
    if let Some(wanted) = rule.named() {
        found.retain(|said| said.r#type == wanted);
    }
    let has_words = |words: &Option<String>| words.as_deref().is_some_and(|words| !words.is_empty());
    if has_words(&rule.message) || has_words(&rule.message_expression) {
        let cel = Cel::from_json(object);
        for said in &mut found {
            said.message = message(rule, &cel, said.truth == Truth::True, budget);
        }
    }
    found
}

/// An expression that gives no answer means that the condition does not hold. But where "does not hold" is good news, an error
/// must not pass for it.
fn no_answer(r#type: &str, why: String) -> Said {
    let truth = match r#type {
        types::PROGRESSING | types::DEGRADED => Truth::Unknown,
        _ => Truth::False,
    };
    Said::new(r#type, truth, EXPRESSION_ERROR, why)
}

fn by_cel(rule: &ConditionRule, object: &Value, budget: &mut Budget) -> Option<Said> {
    // The API refuses a rule of this type without a condition.
    let r#type = rule.named()?;
    let cel = Cel::from_json(object);
    let environment = Environment::condition_rules().variable("object", ValueType::DYN);
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
                return Some(no_answer(r#type, why));
            }
        };
        match program.run(&[Some(&cel)], budget) {
            Ok(answer) => match answer.as_bool() {
                Some(answer) => holds &= answer,
                None => {
                    let why = format!("the expression {source:?} does not give a bool");
                    return Some(no_answer(r#type, why));
                }
            },
            Err(error) => {
                let why = format!("the expression {source:?}: {error}");
                return Some(no_answer(r#type, why));
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
    let environment = Environment::condition_rules()
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
    fn a_rule_without_an_answer_does_not_hold_and_an_error_is_no_good_news() {
        for expression in ["object.status.absent > 0", "object.", "'text'"] {
            for (r#type, truth) in [
                ("Ready", "False"),
                ("Complete", "False"),
                ("Progressing", "Unknown"),
                ("Degraded", "Unknown"),
            ] {
                let rules = json!([{ "condition": r#type, "type": "CEL", "celExpressions": [expression] }]);
                let said = said(rules, json!({ "status": {} }));
                assert_eq!(said[0].1, truth, "{type}: {expression}");
                assert!(said[0].2.contains(expression), "{}", said[0].2);
            }
        }
    }

    #[test]
    fn an_expression_may_ask_whether_there_are_conditions() {
        let rules = json!([{
            "condition": "Ready", "type": "CEL",
            "celExpressions": ["hasConditions(object.status) && object.status.conditions.exists(c, c.type == 'Ready')"],
        }]);
        let truth = |status: Value| said(rules.clone(), json!({ "status": status }))[0].1;
        assert_eq!(truth(json!({ "conditions": [{ "type": "Ready" }] })), "True");
        assert_eq!(truth(json!({ "conditions": [] })), "False");
        assert_eq!(truth(json!({})), "False");
    }

    #[test]
    fn a_rule_has_its_own_words_for_what_is_well_known() {
        let rules = |extra: Value| {
            let mut rule = json!({ "type": "WellKnownConditions", "condition": "Progressing" });
            rule.as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            json!([rule])
        };
        let words = |extra: Value| {
            said(rules(extra), json!({ "metadata": { "name": "a" } }))[0]
                .2
                .clone()
        };
        assert_eq!(words(json!({ "message": "not yet" })), "not yet");
        assert_eq!(
            words(json!({ "messageExpression": "object.metadata.name + (result ? ' moves' : '')" })),
            "a moves"
        );
    }

    #[test]
    fn a_rule_for_what_the_agent_says_itself_is_none() {
        for r#type in ["Applied", "StatusFeedbackSynced"] {
            let rules = json!([{ "condition": r#type, "type": "CEL", "celExpressions": ["true"] }]);
            let said = said(rules, json!({}));
            assert_eq!((said[0].0.as_str(), said[0].1), ("ConditionRulesValid", "False"));
            assert!(said[0].2.contains(r#type));
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
        assert_eq!(unknown, [], "nothing is usual about that");
    }
}
