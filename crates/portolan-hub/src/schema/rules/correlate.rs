//! Which old value a new one corresponds to, and whether they are the same: what did not change is not held against a
//! write.

use serde_json::Value;

use super::super::{ListType, Schema};

/// The element of `old` that an item of a list corresponds to: by key in keyed lists, and none in any other list. Whoever
/// changes such a list answers for all of it.
pub(in super::super) fn item_before<'v>(schema: &Schema, old: &'v Value, item: &Value) -> Option<&'v Value> {
    keyed(schema, old.as_array()?, item)
}

/// The element of a keyed list with the keys of `item`.
pub(super) fn keyed<'v>(schema: &Schema, old: &'v [Value], item: &Value) -> Option<&'v Value> {
    let ListType::Map(keys) = &schema.list else {
        return None;
    };
    item.as_object()?;
    let same_keys = |other: &&Value| {
        other.is_object()
            && keys
                .iter()
                .all(|key| other.get(key.as_ref()) == item.get(key.as_ref()))
    };
    old.iter().find(same_keys)
}

/// Whether nothing changed. What the schema does not declare counts as changed, as Kubernetes has it.
pub(in super::super) fn same(schema: &Schema, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(items)) => {
            if new.len() != items.len() {
                return false;
            }
            match (&schema.list, &schema.items) {
                (ListType::Map(_), Some(of_items)) => new
                    .iter()
                    .all(|item| keyed(schema, items, item).is_some_and(|old| same(of_items, item, old))),
                _ => new == items,
            }
        }
        (Value::Object(new), Value::Object(old)) => {
            let unchanged = |(key, value): (&String, &Value)| {
                let field = schema.properties.get(key).or(schema.values());
                match (field, old.get(key)) {
                    (Some(field), Some(old)) => same(field, value, old),
                    _ => false,
                }
            };
            new.len() == old.len() && new.iter().all(unchanged)
        }
        _ => new == old,
    }
}
