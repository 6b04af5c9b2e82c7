//! Fields of a manifest that are left as they are on the member cluster.

use portolan_api::work::{IgnoreField, IgnoreFieldsCondition};
use serde_json::Value;

use crate::report::JsonPath;
use crate::work::Fault;

/// The manifest with the ignored fields as the object has them: a field that is left out would be taken away by
/// server-side apply if nobody else manages it.
pub(super) fn with_ignored(body: &Value, there: &Value, ignored: &[IgnoreField]) -> Result<Value, Fault> {
    let mut body = body.clone();
    for field in ignored {
        if field.condition == Some(IgnoreFieldsCondition::OnSpokeChange) {
            return Err(Fault(
                "ignoreFields has the condition OnSpokeChange, which this agent does not know; accepted: OnSpokePresent"
                    .to_owned(),
            ));
        }
        if !field.jq_path_expressions.is_empty() {
            return Err(Fault(
                "ignoreFields has jqPathExpressions, which this agent does not know; accepted: jsonPaths, jsonPointers"
                    .to_owned(),
            ));
        }
        let mut places = Vec::new();
        for pointer in &field.json_pointers {
            places.push(steps(pointer)?);
        }
        for path in &field.json_paths {
            let parsed = JsonPath::parse(path)
                .map_err(|error| Fault(format!("ignoreFields.jsonPaths {path:?}: {error}")))?;
            places.push(parsed.steps().ok_or_else(|| {
                Fault(format!(
                    "ignoreFields.jsonPaths {path:?} may mean several fields; accepted: a path without * and filters"
                ))
            })?);
        }
        for place in places {
            let live = place.iter().try_fold(there, |value, step| child(value, step));
            put(&mut body, &place, live.cloned());
        }
    }
    Ok(body)
}

fn steps(pointer: &str) -> Result<Vec<String>, Fault> {
    match pointer.strip_prefix('/') {
        Some(rest) => Ok(rest
            .split('/')
            .map(|step| step.replace("~1", "/").replace("~0", "~"))
            .collect()),
        None => Err(Fault(format!(
            "ignoreFields.jsonPointers {pointer:?} is no JSON pointer; accepted: /spec/replicas"
        ))),
    }
}

fn child<'v>(value: &'v Value, step: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Sets the field where its parent is, or takes it away.
fn put(body: &mut Value, place: &[String], value: Option<Value>) {
    let Some((last, parents)) = place.split_last() else {
        return;
    };
    let mut parent = body;
    for step in parents {
        let next = match parent {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        match next {
            Some(next) => parent = next,
            None => return,
        }
    }
    match (parent, value) {
        (Value::Object(fields), Some(value)) => {
            fields.insert(last.clone(), value);
        }
        (Value::Object(fields), None) => {
            fields.remove(last);
        }
        (Value::Array(items), Some(value)) => {
            if let Some(item) = last.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                *item = value;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ignored(value: Value) -> Vec<IgnoreField> {
        vec![serde_json::from_value(value).unwrap()]
    }

    #[test]
    fn an_ignored_field_keeps_the_value_it_has_there() {
        let body = json!({ "spec": { "replicas": 2, "paused": true, "x": 1 } });
        let there = json!({ "spec": { "replicas": 9 } });
        let fields = ignored(json!({ "jsonPointers": ["/spec/replicas"], "jsonPaths": [".spec.paused"] }));
        assert_eq!(
            with_ignored(&body, &there, &fields).unwrap(),
            json!({ "spec": { "replicas": 9, "x": 1 } })
        );
    }

    #[test]
    fn what_is_not_known_is_refused_and_not_overlooked() {
        for fields in [
            json!({ "condition": "OnSpokeChange", "jsonPointers": ["/spec"] }),
            json!({ "jqPathExpressions": [".spec"] }),
            json!({ "jsonPointers": ["spec"] }),
            json!({ "jsonPaths": [".spec[*].x"] }),
        ] {
            let Fault(why) = with_ignored(&json!({}), &json!({}), &ignored(fields)).unwrap_err();
            assert!(why.contains("accepted"), "{why}");
        }
    }
}
