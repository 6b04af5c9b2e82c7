//! `metadata`: what the server sets, what it keeps, what it checks.

use std::collections::HashSet;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::kinds::Resource;
use crate::kinds::names::{is_label_value, is_qualified};
use crate::schema::FieldError;

/// The fields of ObjectMeta; others are dropped.
const FIELDS: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
/// The fields of the items of lists in ObjectMeta; others are dropped.
const OWNER_REFERENCE: &[&str] = &[
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
];
const MANAGED_FIELDS: &[&str] = &[
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
];
/// What only the server writes.
const KEPT: &[&str] = &[
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];
const ANNOTATION_BYTES: usize = 256 << 10;
/// How many owners or finalizers an object may have. Larger, and each change of one object would make garbage collection look
/// for tens of thousands of others; smaller, and an object that a whole fleet shares could not name everything that needs it.
const MAX_HOLDERS: usize = 1_000;
/// The letters of generated names: no vowels, no look-alikes.
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The metadata of an object, made if it has none.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Map::new());
    }
    object["metadata"]
        .as_object_mut()
        .expect("an object was put there just now")
}

pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    let metadata = of(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), finalizers.into());
    }
}

/// Drops what is no field of ObjectMeta and what is null or empty, and names the unknown ones.
pub(crate) fn tidy(object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    of(object).retain(|field, value| {
        let known = FIELDS.contains(&field.as_str());
        if !known {
            unknown.push(format!("metadata.{field}"));
        }
        let empty = match &*value {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        known && !empty
    });
    tidy_items(object, "ownerReferences", OWNER_REFERENCE, &mut unknown);
    tidy_items(object, "managedFields", MANAGED_FIELDS, &mut unknown);
    unknown
}

fn tidy_items(object: &mut Value, list: &str, fields: &[&str], unknown: &mut Vec<String>) {
    let items = of(object).get_mut(list).and_then(Value::as_array_mut);
    for (at, item) in items.into_iter().flatten().enumerate() {
        let Some(item) = item.as_object_mut() else {
            continue;
        };
        item.retain(|field, value| {
            let known = fields.contains(&field.as_str());
            if !known {
                unknown.push(format!("metadata.{list}[{at}].{field}"));
            }
            known && !value.is_null()
        });
    }
}

/// Whether every field has the type it must have; the offender is named.
pub(crate) fn check_types(object: &Value) -> Result<(), String> {
    let Some(metadata) = object.get("metadata").filter(|metadata| !metadata.is_null()) else {
        return Ok(());
    };
    let Some(metadata) = metadata.as_object() else {
        return Err("json: cannot unmarshal into Go struct field .metadata of type v1.ObjectMeta".into());
    };
    let strings = |value: &Value| {
        value
            .as_object()
            .is_some_and(|map| map.values().all(Value::is_string))
    };
    let texts = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(Value::is_string))
    };
    let objects = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(Value::is_object))
    };
    check_items(metadata, "ownerReferences", "OwnerReference", OWNER_REFERENCE)?;
    check_items(metadata, "managedFields", "ManagedFieldsEntry", MANAGED_FIELDS)?;
    for (field, value) in metadata.iter().filter(|(_, value)| !value.is_null()) {
        let (fits, accepted) = match field.as_str() {
            "labels" | "annotations" => (strings(value), "map[string]string"),
            "finalizers" => (texts(value), "[]string"),
            "ownerReferences" | "managedFields" => (objects(value), "[]object"),
            "generation" | "deletionGracePeriodSeconds" => (value.is_i64() || value.is_u64(), "int64"),
            known if FIELDS.contains(&known) => (value.is_string(), "string"),
            _ => (true, ""),
        };
        if !fits {
            return Err(format!(
                "json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} of type {accepted}"
            ));
        }
    }
    Ok(())
}

fn check_items(metadata: &Map<String, Value>, list: &str, kind: &str, fields: &[&str]) -> Result<(), String> {
    let items = metadata.get(list).and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_object).flatten();
    for (field, value) in items.filter(|(_, value)| !value.is_null()) {
        let (fits, accepted) = match field.as_str() {
            "controller" | "blockOwnerDeletion" => (value.is_boolean(), "bool"),
            "fieldsV1" => (value.is_object(), "object"),
            known if fields.contains(&known) => (value.is_string(), "string"),
            _ => continue,
        };
        if !fits {
            return Err(format!(
                "json: cannot unmarshal into Go struct field {kind}.metadata.{list}.{field} of type {accepted}"
            ));
        }
    }
    Ok(())
}

/// What the server sets on a new object.
pub(crate) fn stamp_new(resource: &Resource, object: &mut Value, namespace: &str, now: &str) {
    let metadata = of(object);
    for field in [
        "resourceVersion",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
    ] {
        metadata.remove(field);
    }
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace".into(), namespace.into());
    }
    metadata.insert("uid".into(), Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".into(), now.into());
    if resource.traits.generation {
        metadata.insert("generation".into(), 1.into());
    }
}

/// Gives a changed object the fields that only the server writes.
pub(crate) fn keep(live: &Value, object: &mut Value) {
    let metadata = of(object);
    for field in KEPT {
        match live["metadata"].get(*field) {
            Some(value) => metadata.insert((*field).into(), value.clone()),
            None => metadata.remove(*field),
        };
    }
}

/// `base` with five random letters.
pub(crate) fn generate_name(base: &str) -> String {
    let letters = Uuid::new_v4();
    let letters = letters
        .as_bytes()
        .iter()
        .take(5)
        .map(|byte| char::from(SUFFIX[usize::from(*byte) % SUFFIX.len()]));
    // Bytes 6 and 8 of a random UUID carry its version; the first five are all random.
    base.chars().take(58).chain(letters).collect()
}

/// Which lists of what holds the object are too long. An object that is stored with more may change as long as it does not
/// get even more.
pub(crate) fn check_lengths(live: Option<&Value>, object: &Value) -> Vec<FieldError> {
    let length = |object: &Value, field: &str| object["metadata"][field].as_array().map_or(0, Vec::len);
    let errors = ["ownerReferences", "finalizers"].map(|field| {
        let found = length(object, field);
        let limit = live.map_or(0, |live| length(live, field)).max(MAX_HOLDERS);
        (found > limit).then(|| FieldError::too_many(&format!("metadata.{field}"), found, MAX_HOLDERS))
    });
    errors.into_iter().flatten().collect()
}

/// Everything that is wrong with the metadata.
pub(crate) fn check(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(object, "name");
    for wrong in resource.traits.names.check(name) {
        errors.push(FieldError::invalid("metadata.name", &name.into(), &wrong));
    }
    let empty = Map::new();
    let map = |field: &str| object["metadata"][field].as_object().unwrap_or(&empty);
    for (key, value) in map("labels") {
        if !is_qualified(key) {
            errors.push(FieldError::invalid(
                "metadata.labels",
                &key.as_str().into(),
                &bad_key(key),
            ));
        }
        if !value.as_str().is_some_and(is_label_value) {
            let detail = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                          and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                          '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
            errors.push(FieldError::invalid("metadata.labels", value, detail));
        }
    }
    let annotations = map("annotations");
    for key in annotations
        .keys()
        .filter(|key| !is_qualified(&key.to_lowercase()))
    {
        errors.push(FieldError::invalid(
            "metadata.annotations",
            &key.as_str().into(),
            &bad_key(key),
        ));
    }
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > ANNOTATION_BYTES {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATION_BYTES));
    }
    let owners = object["metadata"]["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (i, owner) in owners.iter().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let at = format!("metadata.ownerReferences[{i}].{field}");
                errors.push(FieldError::invalid(
                    at,
                    &"".into(),
                    &format!("{field} must not be empty"),
                ));
            }
        }
    }
    if owners.iter().filter(|owner| owner["controller"] == true).count() > 1 {
        let detail = "Only one reference can have Controller set to true";
        errors.push(FieldError::invalid(
            "metadata.ownerReferences",
            &owners.into(),
            detail,
        ));
    }
    for finalizer in finalizers(object)
        .iter()
        .filter(|finalizer| !is_qualified(finalizer))
    {
        errors.push(FieldError::invalid(
            "metadata.finalizers",
            &finalizer.as_str().into(),
            &bad_key(finalizer),
        ));
    }
    errors
}

/// While an object is being deleted finalizers can only go.
pub(crate) fn check_finalizers(live: &Value, object: &Value) -> Option<FieldError> {
    if text(live, "deletionTimestamp").is_empty() {
        return None;
    }
    let old: HashSet<String> = finalizers(live).into_iter().collect();
    let new: Vec<_> = finalizers(object)
        .into_iter()
        .filter(|finalizer| !old.contains(finalizer))
        .collect();
    (!new.is_empty()).then(|| {
        let list: Vec<_> = new.iter().map(|finalizer| format!("{finalizer:?}")).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            list.join(", ")
        );
        FieldError::forbidden("metadata.finalizers", &detail)
    })
}

fn bad_key(key: &str) -> String {
    let name = key.rsplit('/').next().unwrap_or_default();
    if name.len() > 63 {
        return "name part must be no more than 63 bytes".into();
    }
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
     character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        .into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_with_more_owners_than_allowed_may_change_but_not_get_more() {
        let object = |owners: usize| json!({"metadata": {"ownerReferences": vec![json!({}); owners]}});
        let is_accepted = |live: Option<usize>, new: usize| {
            check_lengths(live.map(object).as_ref(), &object(new)).is_empty()
        };
        assert!(is_accepted(None, MAX_HOLDERS));
        assert!(!is_accepted(None, MAX_HOLDERS + 1));
        assert!(!is_accepted(Some(1), MAX_HOLDERS + 1));
        for (live, new, accepted) in [(9, 9, true), (9, 8, true), (9, 10, false)] {
            assert_eq!(
                is_accepted(Some(MAX_HOLDERS + live), MAX_HOLDERS + new),
                accepted,
                "{live} {new}"
            );
        }
    }

    #[test]
    fn owner_references_have_the_types_that_clients_read() {
        let object = |field: &str, value: Value| {
            let mut owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"});
            owner[field] = value;
            json!({"metadata": {"ownerReferences": [owner]}})
        };
        for (field, value) in [
            ("controller", json!(true)),
            ("blockOwnerDeletion", Value::Null),
            ("other", json!(5)),
        ] {
            assert_eq!(check_types(&object(field, value)), Ok(()), "{field}");
        }
        for (field, value, accepted) in [
            ("controller", json!("yes"), "bool"),
            ("blockOwnerDeletion", json!(5), "bool"),
            ("uid", json!(5), "string"),
        ] {
            let expected = format!(
                "json: cannot unmarshal into Go struct field OwnerReference.metadata.ownerReferences.{field} of type {accepted}"
            );
            assert_eq!(check_types(&object(field, value)), Err(expected));
        }
        let mut unknown = object("other", json!(5));
        assert_eq!(tidy(&mut unknown), ["metadata.ownerReferences[0].other"]);
        assert!(unknown["metadata"]["ownerReferences"][0].get("other").is_none());
    }
}
