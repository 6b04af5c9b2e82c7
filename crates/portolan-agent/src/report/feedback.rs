//! Values that are read back from objects.

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
    values.sort_by(|a, b| a.name.cmp(&b.name));
    // The API keeps them by name.
    values.dedup_by(|a, b| a.name == b.name);
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
