//! Fields that this agent's name holds because of an update and not of an apply, as other agents write. Server-side apply
//! takes a field away when it leaves the manifest only from those who applied it: such fields would stay for ever.

use serde_json::{Map, Value, json};

use crate::work::FIELD_MANAGER;

/// The JSON patch, for this very version of the object, after which the fields that `work-agent` has by an update are among
/// those that it has applied; `None` if there are none. Owner references, finalizers and the status stay as they are: these are
/// written by themselves.
pub(crate) fn fold(there: &Value, api_version: &str) -> Option<Value> {
    let version = there.pointer("/metadata/resourceVersion")?;
    let entries = there.pointer("/metadata/managedFields")?.as_array()?;
    let is_own = |entry: &Value, operation: &str| {
        entry["manager"] == FIELD_MANAGER
            && entry["operation"] == operation
            && entry["apiVersion"] == api_version
            && entry.get("subresource").is_none_or(|part| part == "")
    };
    let updated = entries.iter().find(|entry| is_own(entry, "Update"))?;
    let (folded, left) = split(updated["fieldsV1"].as_object()?);
    if folded.is_empty() {
        return None;
    }
    let mut applied = match entries.iter().find(|entry| is_own(entry, "Apply")) {
        Some(applied) => applied.clone(),
        None => {
            let mut entry = updated.clone();
            entry["operation"] = "Apply".into();
            entry["fieldsV1"] = json!({});
            entry
        }
    };
    unite(&mut applied["fieldsV1"], &Value::Object(folded));
    let others = |entry: &&Value| !is_own(entry, "Update") && !is_own(entry, "Apply");
    let mut next: Vec<Value> = entries.iter().filter(others).cloned().collect();
    next.push(applied);
    if !left.is_empty() {
        let mut rest = updated.clone();
        rest["fieldsV1"] = Value::Object(left);
        next.push(rest);
    }
    Some(json!([
        { "op": "replace", "path": "/metadata/managedFields", "value": next },
        { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
    ]))
}

/// What is folded, and what is not.
fn split(fields: &Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    let (mut folded, mut left) = (fields.clone(), Map::new());
    if let Some(status) = folded.remove("f:status") {
        left.insert("f:status".to_owned(), status);
    }
    let mut apart = Map::new();
    if let Some(metadata) = folded.get_mut("f:metadata").and_then(Value::as_object_mut) {
        for name in ["f:ownerReferences", "f:finalizers"] {
            if let Some(field) = metadata.remove(name) {
                apart.insert(name.to_owned(), field);
            }
        }
        // No manager needs to own the metadata field itself.
        if metadata.keys().all(|name| name == ".") {
            folded.remove("f:metadata");
        }
    }
    if !apart.is_empty() {
        left.insert("f:metadata".to_owned(), Value::Object(apart));
    }
    (folded, left)
}

fn unite(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in from {
        unite(&mut into[name], value);
        if into[name].is_null() {
            into[name] = value.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    }

    fn object(entries: &[Value]) -> Value {
        json!({ "metadata": { "resourceVersion": "7", "managedFields": entries } })
    }

    #[test]
    fn what_was_updated_counts_as_applied_but_for_what_is_written_by_itself() {
        let updated = json!({
            "f:data": { ".": {}, "f:a": {} }, "f:status": { "f:x": {} },
            "f:metadata": { "f:labels": { "f:l": {} }, "f:ownerReferences": { ".": {} }, "f:finalizers": { ".": {} } },
        });
        let there = object(&[
            entry("somebody", "Update", json!({ "f:data": { "f:b": {} } })),
            entry("work-agent", "Apply", json!({ "f:data": { "f:c": {} } })),
            entry("work-agent", "Update", updated),
        ]);
        let patch = fold(&there, "v1").unwrap();
        assert_eq!(
            patch[0]["value"],
            json!([
                entry("somebody", "Update", json!({ "f:data": { "f:b": {} } })),
                entry(
                    "work-agent",
                    "Apply",
                    json!({ "f:data": { ".": {}, "f:a": {}, "f:c": {} }, "f:metadata": { "f:labels": { "f:l": {} } } })
                ),
                entry(
                    "work-agent",
                    "Update",
                    json!({
                        "f:status": { "f:x": {} },
                        "f:metadata": { "f:ownerReferences": { ".": {} }, "f:finalizers": { ".": {} } },
                    })
                ),
            ])
        );
        assert_eq!(patch[1]["value"], "7");
    }

    #[test]
    fn an_object_of_which_only_the_owners_were_updated_is_left_alone() {
        let owners = json!({ "f:metadata": { "f:ownerReferences": { ".": {} } } });
        let there = object(&[
            entry("work-agent", "Apply", json!({ "f:data": {} })),
            entry("work-agent", "Update", owners),
        ]);
        assert_eq!(fold(&there, "v1"), None);
        let theirs = object(&[entry("somebody", "Update", json!({ "f:data": {} }))]);
        assert_eq!(fold(&theirs, "v1"), None);
        assert_eq!(fold(&json!({}), "v1"), None);
    }
}
