//! What is wrong with the expressions and paths of a work, before any object is looked at.

use portolan_api::FieldError;
use portolan_api::work::{
    ConditionRule, ConditionRuleType, FeedbackRule, FeedbackType, ManifestConfigOption,
};
use portolan_cel::{Environment, Program, ValueType};

use super::json_path::JsonPath;
use crate::plan::ignored_mistakes;

/// What a rule takes.
const CONDITION: &str = "an expression about `object` that gives true or false";
const MESSAGE: &str = "an expression about `object` and `result` that gives a text";

/// Everything in the options of a work that no agent can evaluate, whatever the objects are. `path` is where the options stand.
pub fn option_mistakes(options: &[ManifestConfigOption], path: &str) -> Vec<FieldError> {
    let mut found = Vec::new();
    for (position, option) in options.iter().enumerate() {
        let path = format!("{path}[{position}]");
        for (position, rule) in option.condition_rules.iter().enumerate() {
            condition_rule(rule, &format!("{path}.conditionRules[{position}]"), &mut found);
        }
        for (position, rule) in option.feedback_rules.iter().enumerate() {
            feedback_rule(rule, &format!("{path}.feedbackRules[{position}]"), &mut found);
        }
        let strategy = option.update_strategy.as_ref();
        let settings = strategy.and_then(|strategy| strategy.server_side_apply.as_ref());
        for (position, field) in settings
            .iter()
            .flat_map(|settings| &settings.ignore_fields)
            .enumerate()
        {
            let path = format!("{path}.updateStrategy.serverSideApply.ignoreFields[{position}]");
            found.extend(ignored_mistakes(field, &path));
        }
    }
    found
}

fn condition_rule(rule: &ConditionRule, path: &str, found: &mut Vec<FieldError>) {
    let environment = Environment::condition_rules().variable("object", ValueType::DYN);
    if rule.r#type == ConditionRuleType::Cel && rule.cel_expressions.is_empty() {
        found.push(FieldError::missing(format!("{path}.celExpressions"), CONDITION));
    }
    for (position, source) in rule.cel_expressions.iter().enumerate() {
        let path = format!("{path}.celExpressions[{position}]");
        found.extend(expression(
            &environment,
            &ValueType::BOOL,
            source,
            &path,
            CONDITION,
        ));
    }
    let message = rule.message_expression.as_deref().unwrap_or_default();
    if !message.is_empty() {
        let environment = environment.variable("result", ValueType::BOOL);
        let path = format!("{path}.messageExpression");
        found.extend(expression(
            &environment,
            &ValueType::STRING,
            message,
            &path,
            MESSAGE,
        ));
    }
}

fn expression(
    environment: &Environment,
    wanted: &ValueType,
    source: &str,
    path: &str,
    accepted: &str,
) -> Option<FieldError> {
    let problem = match Program::compile_in(environment, source) {
        Err(error) => error.to_string(),
        Ok(program) if program.result() == *wanted || program.result() == ValueType::DYN => return None,
        Ok(program) => format!("the expression gives {}", program.result()),
    };
    Some(FieldError::of_text(path, source, problem, accepted))
}

fn feedback_rule(rule: &FeedbackRule, path: &str, found: &mut Vec<FieldError>) {
    if rule.r#type == FeedbackType::JsonPaths && rule.json_paths.is_empty() {
        let accepted = "at least one value with its name and path";
        found.push(FieldError::missing(format!("{path}.jsonPaths"), accepted));
    }
    for (position, value) in rule.json_paths.iter().enumerate() {
        if let Err(problem) = JsonPath::parse(&value.path) {
            let path = format!("{path}.jsonPaths[{position}].path");
            let accepted = "a JSONPath such as .status.readyReplicas";
            found.push(FieldError::of_text(path, &value.path, problem, accepted));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(option: Value) -> Vec<String> {
        let mut option = option;
        option["resourceIdentifier"] = json!({ "resource": "configmaps", "name": "a" });
        let option = serde_json::from_value(option).unwrap();
        let found = option_mistakes(&[option], "spec.manifestConfigs");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn expressions_that_cannot_be_evaluated_are_named_with_field_text_and_problem() {
        let rules = json!([
            { "type": "CEL", "condition": "Ready", "celExpressions": ["object.status.a > 0", "object.status.a >"],
              "messageExpression": "objct.metadata.name" },
            { "type": "CEL", "condition": "Fine", "celExpressions": ["'text'"], "messageExpression": "1 + 1" },
            { "type": "CEL", "condition": "Bare" },
        ]);
        let found = found(json!({ "conditionRules": rules }));
        for (place, path, word) in [
            (
                0,
                "conditionRules[0].celExpressions[1] = \"object.status.a >\"",
                "Syntax error",
            ),
            (
                1,
                "conditionRules[0].messageExpression = \"objct.metadata.name\"",
                "objct",
            ),
            (
                2,
                "conditionRules[1].celExpressions[0] = \"'text'\"",
                "gives string",
            ),
            (3, "conditionRules[1].messageExpression = \"1 + 1\"", "gives int"),
            (4, "conditionRules[2].celExpressions = (missing)", "true or false"),
        ] {
            assert!(
                found[place].contains(path) && found[place].contains(word),
                "{}",
                found[place]
            );
        }
        assert_eq!(found.len(), 5, "{found:#?}");
    }

    #[test]
    fn paths_that_cannot_be_read_are_named() {
        let found = found(json!({
            "feedbackRules": [
                { "type": "JSONPaths", "jsonPaths": [{ "name": "a", "path": ".status[" }, { "name": "b", "path": ".status.b" }] },
                { "type": "WellKnownStatus" },
            ],
            "updateStrategy": { "type": "ServerSideApply", "serverSideApply": { "ignoreFields": [
                { "jsonPaths": [".spec.replicas", ".spec[0]"], "jqPathExpressions": ["now"], "jsonPointers": ["/spec"] },
            ] } },
        }));
        let paths = [
            "feedbackRules[0].jsonPaths[0].path = \".status[\"",
            "ignoreFields[0].jsonPaths[1] = \".spec[0]\"",
            "ignoreFields[0].jqPathExpressions[0] = \"now\"",
        ];
        assert_eq!(found.len(), paths.len(), "{found:#?}");
        for (found, path) in found.iter().zip(paths) {
            assert!(found.contains(path), "{found}");
        }
    }

    #[test]
    fn rules_that_can_be_evaluated_are_no_mistake() {
        let rules = json!([
            { "type": "CEL", "condition": "Ready", "celExpressions": ["hasConditions(object.status)", "object.spec.on"],
              "messageExpression": "result ? 'on' : object.metadata.name" },
            { "type": "WellKnownConditions", "condition": "" },
        ]);
        assert_eq!(found(json!({ "conditionRules": rules })), Vec::<String>::new());
    }
}
