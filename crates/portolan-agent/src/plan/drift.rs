//! Compares an object on the member cluster with its manifest.

use serde_json::Value;

/// Whether the object has everything that is wanted, and perhaps more. "No" may be a false alarm, since servers spell
/// some values in their own way; the answer is then to apply once more, which changes nothing.
pub(super) fn contains(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted.iter().all(|(field, wanted)| {
            match there.get(field) {
                Some(there) => contains(there, wanted),
                // An empty part is often not stored.
                None => is_empty(wanted),
            }
        }),
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len()
                && there
                    .iter()
                    .zip(wanted)
                    .all(|(there, wanted)| contains(there, wanted))
        }
        _ => there == wanted,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_and_fields_of_others_are_no_drift_but_changes_are() {
        let wanted = json!({ "spec": { "replicas": 2, "list": [{ "name": "a" }] }, "data": {} });
        let same = json!({ "spec": { "replicas": 2, "paused": false, "list": [{ "name": "a", "more": 1 }] }, "status": {} });
        assert!(contains(&same, &wanted));
        for changed in [
            json!({ "spec": { "replicas": 3, "list": [{ "name": "a" }] } }),
            json!({ "spec": { "replicas": 2, "list": [] } }),
            json!({ "spec": { "replicas": 2 } }),
            json!({}),
        ] {
            assert!(!contains(&changed, &wanted), "{changed}");
        }
    }
}
