//! Fields of a manifest that are left as they are on the member cluster.

use portolan_api::labels::portolan;
use portolan_api::work::{IgnoreField, IgnoreFieldsCondition};
use serde_json::{Value, json};

use crate::report::JsonPath;
use crate::work::{Fault, hash};

/// The manifest with the ignored fields as the object has them: a field that is left out would be taken away by
/// server-side apply if nobody else manages it. `OnSpokePresent` is always ignored, `OnSpokeChange` only while the
/// manifest is the one that the object was last applied from, which the object itself remembers.
pub(super) fn with_ignored(
    manifest: &Value,
    there: Option<&Value>,
    ignored: &[IgnoreField],
) -> Result<Value, Fault> {
    let mut body = manifest.clone();
    let on_change = |field: &IgnoreField| field.condition == Some(IgnoreFieldsCondition::OnSpokeChange);
    let noted = |there: &Value| there["metadata"]["annotations"][portolan::MANIFEST].clone();
    let same = there.is_some_and(|there| noted(there) == hash(manifest));
    for field in ignored {
        if let Some(expression) = field.jq_path_expressions.first() {
            return Err(Fault(format!(
                "ignoreFields.jqPathExpressions {expression:?}: this agent does not know jq; accepted: jsonPaths, jsonPointers"
            )));
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
            let Some(there) = there.filter(|_| same || !on_change(field)) else {
                continue;
            };
            let live = place.iter().try_fold(there, |value, step| child(value, step));
            put(&mut body, &place, live.cloned());
        }
    }
    if ignored.iter().any(on_change) {
        let annotations = &mut body["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[portolan::MANIFEST] = hash(manifest).into();
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
            with_ignored(&body, Some(&there), &fields).unwrap(),
            json!({ "spec": { "replicas": 9, "x": 1 } })
        );
    }

    #[test]
    fn a_field_that_is_ignored_on_change_is_the_member_clusters_until_the_manifest_changes() {
        let manifest =
            |replicas: u32| json!({ "metadata": { "name": "a" }, "spec": { "replicas": replicas, "x": 1 } });
        let fields = ignored(json!({ "condition": "OnSpokeChange", "jsonPointers": ["/spec/replicas"] }));
        let replicas = |body: &Value| body["spec"]["replicas"].clone();
        let mut there = with_ignored(&manifest(2), None, &fields).unwrap();
        assert_eq!(replicas(&there), 2);
        there["spec"]["replicas"] = 9.into();
        let again = with_ignored(&manifest(2), Some(&there), &fields).unwrap();
        assert_eq!(again, there, "somebody changed it there");
        let edited = with_ignored(&manifest(3), Some(&there), &fields).unwrap();
        assert_eq!(replicas(&edited), 3);
        there["metadata"]["annotations"] = json!(null);
        let unknown = with_ignored(&manifest(2), Some(&there), &fields).unwrap();
        assert_eq!(replicas(&unknown), 2, "nobody knows what it was applied from");
    }

    #[test]
    fn what_is_not_known_is_refused_and_not_overlooked() {
        for (field, value) in [
            ("jqPathExpressions", ".spec"),
            ("jsonPointers", "spec"),
            ("jsonPaths", ".spec[*].x"),
        ] {
            let fields = ignored(json!({ field: [value, "other"] }));
            let Fault(why) = with_ignored(&json!({}), Some(&json!({})), &fields).unwrap_err();
            assert!(why.contains(&format!("ignoreFields.{field} {value:?}")), "{why}");
            assert!(why.contains("accepted"), "{why}");
        }
    }
}
