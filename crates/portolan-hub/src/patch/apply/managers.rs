//! `metadata.managedFields`: who owns what, since when, and how it is written down.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::set::FieldSet;

/// More entries of plain updates than this are merged, oldest first: every client with its own name would otherwise
/// leave one forever.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The name under which merged entries go on.
const ANCIENT: &str = "ancient-changes";

/// How a manager wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// By server-side apply.
    Apply,
    /// By create, replace or any other patch.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What makes an entry. An applier has one entry whatever the version, so that it finds its last set again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for appliers.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Id {
    pub(super) fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply {
            ""
        } else {
            api_version
        };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// How conflict messages name a manager.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// What a manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) api_version: String,
    pub(super) set: FieldSet,
}

/// All managers of an object. Times are kept apart, since they are no part of what is compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Managers {
    pub(super) fields: BTreeMap<Id, Owned>,
    pub(super) times: BTreeMap<Id, Value>,
}

impl Managers {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Reads the managed fields of an object; none is no error.
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        match object.pointer("/metadata/managedFields") {
            Some(Value::Array(entries)) => Self::decode(entries),
            _ => Ok(Self::default()),
        }
    }

    fn decode(entries: &[Value]) -> Result<Self, String> {
        let mut managers = Self::default();
        for (position, entry) in entries.iter().enumerate() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {position}")),
                other => {
                    return Err(format!(
                        "invalid fieldsType {other:?} in managed fields entry {position}"
                    ));
                }
            }
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                _ => Operation::Update,
            };
            let id = Id::new(
                text("manager"),
                operation,
                text("apiVersion"),
                text("subresource"),
            );
            let set = FieldSet::from_fields_v1(entry.get("fieldsV1").unwrap_or(&Value::Null))
                .map_err(|reason| format!("error decoding managed fields entry {position}: {reason}"))?;
            if let Some(time) = entry.get("time").filter(|time| time.is_string()) {
                managers.times.insert(id.clone(), time.clone());
            }
            managers.fields.insert(
                id,
                Owned {
                    api_version: text("apiVersion").to_owned(),
                    set,
                },
            );
        }
        Ok(managers)
    }

    /// Writes the managed fields into an object, or removes them if nobody owns anything.
    pub(super) fn write(&self, object: &mut Value) {
        let mut entries: Vec<(&Id, &Owned)> = self.fields.iter().collect();
        let time = |id: &Id| self.times.get(id).and_then(Value::as_str).unwrap_or_default();
        entries.sort_by_key(|(id, owned)| {
            (
                id.operation,
                time(id),
                &id.manager,
                &owned.api_version,
                &id.subresource,
            )
        });
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return;
        };
        if entries.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let entries = entries
            .into_iter()
            .map(|(id, owned)| self.encode(id, owned))
            .collect();
        metadata.insert("managedFields".into(), Value::Array(entries));
    }

    fn encode(&self, id: &Id, owned: &Owned) -> Value {
        let mut entry = Map::new();
        entry.insert("apiVersion".into(), owned.api_version.as_str().into());
        entry.insert("fieldsType".into(), "FieldsV1".into());
        entry.insert("fieldsV1".into(), owned.set.to_fields_v1());
        entry.insert("manager".into(), id.manager.as_str().into());
        entry.insert("operation".into(), id.operation.as_str().into());
        if !id.subresource.is_empty() {
            entry.insert("subresource".into(), id.subresource.as_str().into());
        }
        if let Some(time) = self.times.get(id) {
            entry.insert("time".into(), time.clone());
        }
        Value::Object(entry)
    }

    /// Merges the oldest entries of updates, each into one of the same version, until few enough are left.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<Id> = self
            .fields
            .keys()
            .filter(|id| id.operation == Operation::Update)
            .cloned()
            .collect();
        let mut count = updaters.len();
        updaters.sort_by_cached_key(|id| (self.time_text(id), id.clone()));
        let mut first_of_version: BTreeMap<String, Id> = BTreeMap::new();
        for id in updaters {
            if count <= MAX_UPDATE_MANAGERS {
                return;
            }
            let Some(version) = self.fields.get(&id).map(|owned| owned.api_version.clone()) else {
                continue;
            };
            let Some(first) = first_of_version.get(&version) else {
                first_of_version.insert(version, id);
                continue;
            };
            let bucket = Id::new(ANCIENT, Operation::Update, &version, "");
            for merged in [first, &id] {
                self.fold_into(&bucket, merged);
            }
            count -= 1;
        }
    }

    fn fold_into(&mut self, bucket: &Id, id: &Id) {
        if bucket == id {
            return;
        }
        let Some(owned) = self.fields.remove(id) else {
            return;
        };
        let time = self.times.remove(id);
        let set = match self.fields.remove(bucket) {
            Some(before) => before.set.union(&owned.set),
            None => owned.set,
        };
        self.fields.insert(
            bucket.clone(),
            Owned {
                api_version: owned.api_version,
                set,
            },
        );
        // The entry being merged is the younger one, and the bucket is as young as its youngest part.
        if let Some(time) = time {
            self.times.insert(bucket.clone(), time);
        }
    }

    fn time_text(&self, id: &Id) -> String {
        self.times
            .get(id)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }
}
