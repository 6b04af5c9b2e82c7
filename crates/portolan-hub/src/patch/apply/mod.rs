//! Server-side apply and the managed fields of every other write.
//!
//! [`apply`] merges a configuration into the live object; [`track_update`] records who wrote what in a create, replace
//! or other patch. Both keep `metadata.managedFields`. Neither defaults nor validates: the caller does that with the
//! result, and resets what the endpoint may not change ([`reset_fields`] keeps its ownership out as well).

mod compare;
mod error;
mod last_applied;
mod managers;
mod merge;
mod path;
mod set;
mod update;
mod validate;
mod walk;
mod wire;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::typed::Typed;
use managers::{Id, Managers, Operation};
use update::Write;

pub(crate) use error::ApplyError;
pub(crate) use set::FieldSet;

#[cfg(test)]
pub(in crate::patch) use path::{PathElement, Scalar};
#[cfg(test)]
pub(in crate::patch) use walk::field_set;

/// The writer, the endpoint and the time of a write.
#[derive(Clone, Debug)]
pub(crate) struct Manager {
    /// The field manager: the `fieldManager` parameter, or the user agent up to its first `/`.
    pub(crate) name: String,
    /// The version of the request, such as `apps/v1`. Objects passed along are in this version.
    pub(crate) api_version: String,
    /// The subresource written through; empty for the object itself.
    pub(crate) subresource: String,
    /// The time of the request.
    pub(crate) time: Timestamp,
    /// What this endpoint resets and therefore nobody comes to own through it.
    pub(crate) ignored: FieldSet,
}

impl Manager {
    fn id(&self, operation: Operation) -> Id {
        let name = if self.name.is_empty() {
            "unknown"
        } else {
            &self.name
        };
        Id::new(name, operation, &self.api_version, &self.subresource)
    }

    fn write<'a>(&'a self, id: Id, typed: &'a dyn Typed) -> Write<'a> {
        Write {
            id,
            api_version: &self.api_version,
            ignored: &self.ignored,
            typed,
        }
    }

    fn time(&self) -> Value {
        self.time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    }
}

/// What writes through an endpoint cannot change, by the usual rule: the object's own endpoint leaves `status` alone
/// where there is a status subresource, and that one leaves everything else alone.
pub(crate) fn reset_fields(subresource: &str, has_status: bool) -> FieldSet {
    match subresource {
        "status" => FieldSet::of_fields(&[
            &["spec"],
            &["metadata", "labels"],
            &["metadata", "annotations"],
            &["metadata", "finalizers"],
            &["metadata", "ownerReferences"],
        ]),
        "" if has_status => FieldSet::of_fields(&[&["status"]]),
        _ => FieldSet::default(),
    }
}

/// Applies a configuration; `live` is `None` if the object does not exist yet. Returns the object to write, equal to
/// `live` if the apply changes nothing.
pub(crate) fn apply(
    live: Option<&Value>,
    config: &Value,
    manager: &Manager,
    force: bool,
    typed: &dyn Typed,
) -> Result<Value, ApplyError> {
    check_types(config, manager, typed, typed)?;
    let empty = Value::Object(Map::new());
    let live = live.unwrap_or(&empty);
    let mut managers = Managers::of(live)
        .map_err(|reason| ApplyError::Internal(format!("failed to decode managed fields: {reason}")))?;
    let bare = without_managed_fields(live);
    if managers.is_empty() {
        adopt(&bare, manager, &mut managers, typed);
    }

    let id = manager.id(Operation::Apply);
    let write = manager.write(id.clone(), typed);
    let former = managers.fields.clone();
    let attempt = {
        let mut candidate = managers.clone();
        write
            .apply(&bare, config, &mut candidate, force)
            .map(|changed| (changed, candidate))
    };
    let (changed, mut managers) = match attempt {
        Ok(done) => done,
        Err(conflicts) => {
            let conflicts = last_applied::remaining(conflicts, &manager.name, &bare, typed);
            if !conflicts.is_empty() {
                return Err(ApplyError::Conflicts(conflicts));
            }
            let changed = write
                .apply(&bare, config, &mut managers, true)
                .map_err(ApplyError::Conflicts)?;
            (changed, managers)
        }
    };
    if changed.is_some() || managers.fields != former {
        managers.times.insert(id, manager.time());
    }
    let mut result = changed
        .map(without_empty_metadata)
        .unwrap_or_else(|| bare.clone());
    last_applied::refresh(&mut result, &bare, config, &manager.name);
    managers.write(&mut result);
    Ok(result)
}

/// Records a create (`before` is `None`), replace or patch in the managed fields of `after`.
///
/// Call it with the object as it will be validated, after defaulting: on these writes the writer owns the defaults.
pub(crate) fn track_update(before: Option<&Value>, after: &mut Value, manager: &Manager, typed: &dyn Typed) {
    let mut managers = managers_of_request(before, after, manager);
    if let Some(Value::Object(metadata)) = after.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    // An object that lost its managed fields is not tracked again until somebody applies.
    if before.is_some() && managers.is_empty() {
        return;
    }
    let empty = Value::Object(Map::new());
    record(
        before.unwrap_or(&empty),
        after,
        manager.id(Operation::Update),
        manager,
        &mut managers,
        typed,
    );
    managers.cap();
    managers.write(after);
}

/// If a write changed nothing but the times in the managed fields, gives it the old times back, so that the server
/// sees that there is nothing to write.
pub(crate) fn keep_times_if_unchanged(before: &Value, after: &mut Value) {
    // Nearly every write changes something else, and that is found without copying anything.
    if equal_but_managed_fields(before, after)
        && before != after
        && timeless_managed_fields(before) == timeless_managed_fields(after)
    {
        *after = before.clone();
    }
}

fn equal_but_managed_fields(before: &Value, after: &Value) -> bool {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return false;
    };
    let bare = |value: &Value, other: &Value| match (value, other) {
        (Value::Object(value), Value::Object(other)) => {
            let counted = |(field, _): &(&String, &Value)| *field != "managedFields";
            value.iter().filter(counted).eq(other.iter().filter(counted))
        }
        (value, other) => value == other,
    };
    before.len() == after.len()
        && before
            .iter()
            .all(|(field, value)| match (field.as_str(), after.get(field)) {
                ("metadata", Some(other)) => bare(value, other),
                (_, other) => Some(value) == other,
            })
}

fn timeless_managed_fields(object: &Value) -> Vec<Value> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let mut entries = entries.cloned().unwrap_or_default();
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        entry.remove("time");
    }
    entries.sort_by_cached_key(ToString::to_string);
    entries
}

/// Whether a configuration can be merged by the rules in `typed`, and has the fields and types in `types`. Those are the same for
/// custom resources.
pub(crate) fn check_types(
    config: &Value,
    manager: &Manager,
    typed: &dyn Typed,
    types: &dyn Typed,
) -> Result<(), ApplyError> {
    let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion");
    if version != manager.api_version {
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            manager.api_version
        )));
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".into(),
        ));
    }
    validate::validate(config, typed, types).map_err(|defects| {
        // Kubernetes writes the group in every case; that of the core kinds is empty.
        let group = if version.contains('/') { "" } else { "/" };
        ApplyError::Internal(format!(
            "failed to create typed patch object ({}/{}; {group}{version}, Kind={}): {defects}",
            text("/metadata/namespace"),
            text("/metadata/name"),
            text("/kind"),
        ))
    })
}

/// Gives an object without managed fields an owner for what is there, before the first applier comes.
fn adopt(live: &Value, manager: &Manager, managers: &mut Managers, typed: &dyn Typed) {
    let empty = Value::Object(Map::new());
    let id = Id::before_first_apply(&manager.api_version, &manager.subresource);
    record(&empty, live, id, manager, managers, typed);
}

fn record(old: &Value, new: &Value, id: Id, manager: &Manager, managers: &mut Managers, typed: &dyn Typed) {
    let write = manager.write(id.clone(), typed);
    let changed = match typed.skeleton() {
        Some(skeleton) => {
            let filled = |object| update::with_skeleton(object, &skeleton);
            write.update(&filled(old), &filled(new), managers)
        }
        None => write.update(old, new, managers),
    };
    if changed {
        managers.times.insert(id, manager.time());
    }
}

/// The managers a write starts from: those in the request, so that a client may edit them, unless it left them out,
/// broke them or came through a subresource. An empty list, or one empty entry, asks for a reset.
fn managers_of_request(before: Option<&Value>, after: &Value, manager: &Manager) -> Managers {
    let live = || {
        before
            .and_then(|before| Managers::of(before).ok())
            .unwrap_or_default()
    };
    if !manager.subresource.is_empty() {
        return live();
    }
    if let Some(Value::Array(entries)) = after.pointer("/metadata/managedFields")
        && entries.len() <= 1
        && entries
            .iter()
            .all(|entry| entry.as_object().is_some_and(Map::is_empty))
    {
        return Managers::default();
    }
    match Managers::of(after) {
        Ok(managers) if !managers.is_empty() => managers,
        _ => live(),
    }
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

/// Object metadata never shows its empty collections.
fn without_empty_metadata(mut object: Value) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for name in ["labels", "annotations", "finalizers", "ownerReferences"] {
            let empty = match metadata.get(name) {
                Some(Value::Object(fields)) => fields.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Null) => true,
                _ => false,
            };
            if empty {
                metadata.remove(name);
            }
        }
    }
    object
}
