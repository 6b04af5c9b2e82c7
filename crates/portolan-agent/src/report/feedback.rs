//! Values that are read back from objects.

use std::collections::BTreeSet;

use portolan_api::work::{FeedbackRule, FeedbackType, FeedbackValue, FieldValue, FieldValueType};
use serde_json::Value;

use super::json_path::JsonPath;
use super::well_known;
use crate::work::Target;

/// The longest text of a list or object that is read back; the API has no more room.
const LONGEST_RAW: usize = 1024;

/// The values that the rules ask for, and what went wrong. A value that is not there yet is no error.
pub(super) fn feedback(target: &Target, object: &Value) -> (Vec<FeedbackValue>, Vec<String>) {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for rule in &target.config.feedback {
        match rule.r#type {
            FeedbackType::WellKnownStatus => {
                let paths = well_known::feedback(&target.id.group, &target.kind);
                if paths.is_empty() {
                    problems.push(format!(
                        "there are no well-known values of the kind {}; accepted: JSONPaths",
                        target.kind
                    ));
                }
                for (name, path) in paths {
                    read(name, path, object, &mut values, &mut problems);
                }
            }
            FeedbackType::JsonPaths => by_paths(rule, target, object, &mut values, &mut problems),
        }
    }
    // The API keeps them by name.
    let mut names = BTreeSet::new();
    values.retain(|value| names.insert(value.name.clone()));
    (values, problems)
}

fn by_paths(
    rule: &FeedbackRule,
    target: &Target,
    object: &Value,
    values: &mut Vec<FeedbackValue>,
    problems: &mut Vec<String>,
) {
    for wanted in &rule.json_paths {
        let version = wanted.version.as_deref().unwrap_or_default();
        if !version.is_empty() && version != target.version {
            problems.push(format!(
                "{}: the path is for version {version:?}, the manifest has {:?}",
                wanted.name, target.version
            ));
            continue;
        }
        read(&wanted.name, &wanted.path, object, values, problems);
    }
}

fn read(name: &str, path: &str, object: &Value, values: &mut Vec<FeedbackValue>, problems: &mut Vec<String>) {
    let path = match JsonPath::parse(path) {
        Ok(path) => path,
        Err(why) => return problems.push(format!("{name}: the path {path:?}: {why}")),
    };
    let found = match path.find(object) {
        Ok(found) => found,
        Err(why) => return problems.push(format!("{name}: {why}")),
    };
    let value = match found.as_slice() {
        [] | [Value::Null] => return,
        [value] => field_value(value),
        many => field_value(&Value::Array(many.iter().map(|value| (*value).clone()).collect())),
    };
    match value {
        Ok(field_value) => values.push(FeedbackValue {
            name: name.to_owned(),
            field_value,
        }),
        Err(why) => problems.push(format!("{name}: {why}")),
    }
}

fn field_value(value: &Value) -> Result<FieldValue, String> {
    let mut field = FieldValue::default();
    match value {
        Value::String(text) => {
            field.r#type = FieldValueType::String;
            field.string = Some(text.clone());
        }
        Value::Bool(truth) => {
            field.r#type = FieldValueType::Boolean;
            field.boolean = Some(*truth);
        }
        Value::Number(number) => match number.as_i64() {
            Some(integer) => {
                field.r#type = FieldValueType::Integer;
                field.integer = Some(integer);
            }
            // The API has no field for fractions.
            None => {
                field.r#type = FieldValueType::JsonRaw;
                field.json_raw = Some(number.to_string());
            }
        },
        value => {
            let text = value.to_string();
            if text.len() > LONGEST_RAW {
                return Err(format!(
                    "the value has {} bytes; accepted: {LONGEST_RAW} or fewer",
                    text.len()
                ));
            }
            field.r#type = FieldValueType::JsonRaw;
            field.json_raw = Some(text);
        }
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Manifest, ObjectId};

    #[test]
    fn values_are_in_the_order_of_rules_and_paths_and_the_first_of_a_name_counts() {
        let rules = json!([
            { "type": "JSONPaths", "jsonPaths": [
                { "name": "z", "path": ".status.z" }, { "name": "Replicas", "path": ".status.z" },
            ] },
            { "type": "WellKnownStatus" },
        ]);
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
                feedback: serde_json::from_value(rules).unwrap(),
                ..Config::default()
            },
        };
        let object =
            json!({ "status": { "z": 1, "replicas": 2, "readyReplicas": 3, "availableReplicas": 4 } });
        let (values, problems) = feedback(&target, &object);
        let values: Vec<_> = values
            .iter()
            .map(|value| (value.name.as_str(), value.field_value.integer.unwrap()))
            .collect();
        assert_eq!(
            values,
            [
                ("z", 1),
                ("Replicas", 1),
                ("ReadyReplicas", 3),
                ("AvailableReplicas", 4)
            ]
        );
        assert!(problems.is_empty());
    }
}
