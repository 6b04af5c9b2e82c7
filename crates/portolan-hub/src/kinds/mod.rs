//! Kinds are data: names, scope, schema, columns, subresources. One set of handlers serves them all.
//!
//! Built-in kinds come from a table ([`builtin`]), custom ones from CustomResourceDefinitions ([`definition`]). A
//! [`Registry`] is an immutable snapshot; the server replaces it when a definition changes.

mod builtin;
pub(crate) mod definition;
pub(crate) mod encoding;
mod ingress;
pub(crate) mod label_selector;
pub(crate) mod names;
pub(crate) mod naming;
mod pods;
pub(crate) mod prepare;
mod registry;
mod workloads;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use builtin::definition_of_built_in_kinds;
pub(crate) use registry::Registry;

use crate::patch::{self, Typed};
use crate::schema::{self, Schema};
use crate::store::{LARGEST_OBJECT, Stored};
use crate::table::Columns;

/// One served combination of group, version and resource.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Where objects are kept. Two groups may serve the same objects, as with events.
    pub(crate) storage_group: String,
    /// The `apiVersion` objects are kept in.
    pub(crate) storage_version: String,
    /// Fields with other names in storage: (served, stored).
    pub(crate) renames: &'static [(&'static str, &'static str)],
    pub(crate) schema: Arc<Schema>,
    /// The store's revision of the definition. Older objects may lack defaults that it has brought.
    pub(crate) defined: u64,
    /// The schema as it was written, for OpenAPI.
    pub(crate) source: Arc<Value>,
    pub(crate) columns: Columns,
    pub(crate) status: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) selectable: Vec<String>,
    pub(crate) traits: Traits,
}

/// The defaults of the objects of a list have more bytes than an answer has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// How a kind differs from others in ways that are not its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Defined by a CustomResourceDefinition.
    pub(crate) custom: bool,
    /// `metadata.generation` is kept.
    pub(crate) generation: bool,
    /// A replace without resourceVersion is taken.
    pub(crate) unconditional_update: bool,
    /// Only `create` is served, nothing is stored.
    pub(crate) review: bool,
    /// A replace of an object that is not there creates it.
    pub(crate) create_on_update: bool,
    /// The definition is being deleted, and nothing is created any more.
    pub(crate) terminating: bool,
    pub(crate) names: names::Rule,
}

/// Where the scale subresource reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) label_selector: Option<String>,
}

impl Resource {
    /// `group/version`, or the version alone in the core group.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// `plural.group`, as errors name a resource.
    pub(crate) fn qualified(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `Kind.group`, as errors name a kind.
    pub(crate) fn qualified_kind(&self) -> String {
        qualified(&self.kind, &self.group)
    }

    /// How its objects merge.
    pub(crate) fn typed(&self) -> &dyn Typed {
        if self.traits.custom {
            return self;
        }
        patch::builtin_kind(&self.group, &self.kind).unwrap_or_else(patch::builtin_object)
    }

    /// An object as it is served, from the form it is kept in.
    pub(crate) fn served(&self, mut object: Value) -> Value {
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".into(), self.api_version().into());
            for (served, stored) in self.renames {
                if let Some(value) = map.remove(*stored) {
                    map.insert((*served).into(), value);
                }
            }
        }
        object
    }

    /// A kept object as it is served, with the defaults that its definition has brought since it was written.
    pub(crate) fn shown(&self, object: &Stored) -> Value {
        let value = self.served(object.value());
        match self.lacks_defaults(object) {
            true => self.completed(value).0,
            false => value,
        }
    }

    /// The same as one of a list, whose objects may together get so many bytes of defaults.
    pub(crate) fn shown_in_list(&self, object: &Stored, room: &mut usize) -> Result<Value, NoRoom> {
        let value = self.served(object.value());
        if !self.lacks_defaults(object) {
            return Ok(value);
        }
        let (value, added) = self.completed(value);
        *room = room.checked_sub(added).ok_or(NoRoom)?;
        Ok(value)
    }

    /// The object with its defaults, and how many bytes of them were made. An object that its defaults would make larger than any
    /// object may be stays as it is kept.
    fn completed(&self, value: Value) -> (Value, usize) {
        let limit = usize::try_from(LARGEST_OBJECT).unwrap_or(usize::MAX);
        let mut completed = value.clone();
        match schema::default(&self.schema, &mut completed, limit) {
            Ok(added) => (completed, added),
            Err(schema::TooLarge(added)) => (value, added),
        }
    }

    /// Whether defaults may be missing in an object as it is kept.
    pub(crate) fn lacks_defaults(&self, object: &Stored) -> bool {
        object.revision() < self.defined && self.schema.defaulted
    }

    /// The form an object is kept in.
    pub(crate) fn stored(&self, mut object: Value) -> Value {
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".into(), self.storage_version.as_str().into());
            map.insert("kind".into(), self.kind.as_str().into());
            for (served, stored) in self.renames {
                if let Some(value) = map.remove(*served) {
                    map.insert((*stored).into(), value);
                }
            }
        }
        object
    }

    /// The verbs that discovery lists.
    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.traits.review {
            return &["create"];
        }
        if self.traits.terminating {
            // What a server says to clients that must not take the end of a kind for the end of its objects. Updates are
            // still served, or nobody could let go of an object.
            return &["delete", "deletecollection", "get", "list", "watch"];
        }
        &[
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ]
    }
}

/// The root of an object as patches see it: the kind's own fields, and the metadata every object has.
impl Typed for Resource {
    fn kind(&self) -> patch::Kind<'_> {
        patch::Kind::Granular
    }

    fn field(&self, name: &str) -> Option<&dyn Typed> {
        match name {
            "metadata" => Some(patch::object_meta()),
            "apiVersion" | "kind" => Some(&IDENTITY),
            name => self.schema.field(name),
        }
    }

    fn element(&self) -> Option<&dyn Typed> {
        self.schema.element()
    }
}

static IDENTITY: patch::Deduced = patch::Deduced;

pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}
