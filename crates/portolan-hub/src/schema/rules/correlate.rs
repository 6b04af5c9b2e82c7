//! Which old value a new one corresponds to, and whether they are the same: what did not change is not held against a
//! write.

use std::collections::HashMap;

use serde_json::Value;

use super::super::{ListType, Schema};

/// The items of an old list, by key in keyed lists; no item of any other list can be found: a write that changes such a list
/// answers for all of it. A search through the list for each new item would take the product of two lengths, both of which a
/// client chooses.
pub(in super::super) struct Items<'s, 'v> {
    schema: &'s Schema,
    first: HashMap<Vec<Option<&'v Value>>, &'v Value>,
}

impl<'s, 'v> Items<'s, 'v> {
    /// Of the value that a list had before, if it was a list.
    pub(in super::super) fn of(schema: &'s Schema, old: Option<&'v Value>) -> Self {
        let mut first = HashMap::new();
        if matches!(schema.list, ListType::Map(_)) {
            for item in old.and_then(Value::as_array).into_iter().flatten() {
                if let Some(key) = key(schema, item) {
                    first.entry(key).or_insert(item);
                }
            }
        }
        Self { schema, first }
    }

    /// The old item with the keys of a new one.
    pub(in super::super) fn before<'n>(&self, item: &'n Value) -> Option<&'v Value>
    where
        'v: 'n,
    {
        self.first.get(&key(self.schema, item)?).copied()
    }
}

/// The values of an item's keys.
fn key<'v>(schema: &Schema, item: &'v Value) -> Option<Vec<Option<&'v Value>>> {
    let ListType::Map(keys) = &schema.list else {
        return None;
    };
    item.as_object()?;
    Some(keys.iter().map(|key| item.get(key.as_ref())).collect())
}

/// Whether nothing changed. What the schema does not declare counts as changed, as Kubernetes has it.
pub(in super::super) fn same(schema: &Schema, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(items)) => {
            if new.len() != items.len() {
                return false;
            }
            match (&schema.list, &schema.items) {
                (ListType::Map(_), Some(of_items)) => {
                    let items = Items::of(schema, Some(old));
                    let mut new = new.iter();
                    new.all(|item| items.before(item).is_some_and(|old| same(of_items, item, old)))
                }
                _ => new == items,
            }
        }
        (Value::Object(new), Value::Object(old)) => {
            let unchanged = |(key, value): (&String, &Value)| {
                let field = schema
                    .properties
                    .get(key)
                    .map(|field| &**field)
                    .or(schema.values());
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
