//! A field of an object on the member cluster, and who beside us holds it by `managedFields`.

use serde_json::{Map, Value};

use crate::report::Key;

/// A value, and what managers hold of it.
#[derive(Clone, Debug)]
pub(super) struct Live<'o> {
    value: &'o Value,
    others: Vec<&'o Value>,
    /// Those of others and our own.
    all: Vec<&'o Value>,
}

impl<'o> Live<'o> {
    /// The whole object. `manager` is who we are.
    pub(super) fn of(object: &'o Value, manager: &str) -> Live<'o> {
        let entries = object
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array);
        let entries = || entries.into_iter().flatten();
        let fields = |entry: &'o Value| entry.get("fieldsV1");
        Live {
            value: object,
            others: entries()
                .filter(|entry| entry["manager"] != manager)
                .filter_map(fields)
                .collect(),
            all: entries().filter_map(fields).collect(),
        }
    }

    /// What stands where the manifest has this place; `None` if nothing does. An element of a list is found by its key, where
    /// the list has keys.
    pub(super) fn at(self, manifest: &Value, place: &[Key]) -> Option<Live<'o>> {
        let mut live = self;
        let mut manifest = manifest;
        for key in place {
            manifest = key.of(manifest)?;
            live = match key {
                Key::Field(name) => live.field(name)?,
                Key::Index(index) => live.element(manifest, *index)?,
            };
        }
        Some(live)
    }

    fn field(&self, name: &str) -> Option<Live<'o>> {
        let held = format!("f:{name}");
        let of = |fields: &[&'o Value]| fields.iter().filter_map(|fields| fields.get(&held)).collect();
        Some(Live {
            value: self.value.get(name)?,
            others: of(&self.others),
            all: of(&self.all),
        })
    }

    fn element(&self, wanted: &Value, index: usize) -> Option<Live<'o>> {
        let items = self.value.as_array()?;
        let keys: Vec<Map<String, Value>> = self.all.iter().flat_map(|fields| keys(fields)).collect();
        let Some(names) = keys.first() else {
            // A list without keys has one owner as a whole.
            return Some(Live {
                value: items.get(index)?,
                others: self.others.clone(),
                all: self.all.clone(),
            });
        };
        let is_wanted = |item: &&Value| {
            let mut names = names.keys();
            // A manifest may leave out what the server fills in.
            names.all(|name| {
                wanted
                    .get(name)
                    .is_none_or(|wanted| item.get(name) == Some(wanted))
            })
        };
        let value = items.iter().find(is_wanted)?;
        let of = |fields: &[&'o Value]| -> Vec<&'o Value> {
            let entries = fields.iter().filter_map(|fields| fields.as_object()).flatten();
            let ours = entries.filter(|(name, _)| {
                let key = key(name);
                key.is_some_and(|key| key.iter().all(|(name, held)| value.get(name) == Some(held)))
            });
            ours.map(|(_, fields)| fields).collect()
        };
        Some(Live {
            value,
            others: of(&self.others),
            all: of(&self.all),
        })
    }

    /// The value without what others hold; `None` if nothing of it is left.
    pub(super) fn unless_held_by_others(self) -> Option<Value> {
        if self.others.is_empty() {
            return Some(self.value.clone());
        }
        let is_whole = |fields: &&Value| fields.as_object().is_none_or(Map::is_empty);
        let Value::Object(fields) = self.value else {
            return None;
        };
        if self.others.iter().any(is_whole) {
            return None;
        }
        let left: Map<String, Value> = fields
            .keys()
            .filter_map(|name| Some((name.clone(), self.field(name)?.unless_held_by_others()?)))
            .collect();
        (!left.is_empty()).then_some(Value::Object(left))
    }
}

fn keys(fields: &Value) -> Vec<Map<String, Value>> {
    let fields = fields.as_object().into_iter().flatten();
    fields.filter_map(|(name, _)| key(name)).collect()
}

/// `k:{"name":"web"}` names an element of a list by its key.
fn key(name: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(name.strip_prefix("k:")?).ok()
}
