//! One stored version of an object: its JSON text, and the few metadata fields that are asked for again and again.
//!
//! The text is what is kept; it is sent to clients without being parsed. A parsed tree costs several times the text, so
//! it is built for the request that needs it and dropped.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::key::Key;

/// A version of an object that was committed. Never changes.
#[derive(Debug)]
pub(crate) struct Stored {
    key: Key,
    revision: u64,
    bytes: Bytes,
    meta: OnceLock<Box<Meta>>,
}

/// What selectors, garbage collection and deletion look at.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) owner_references: Vec<OwnerReference>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) deletion_timestamp: Option<String>,
}

/// The part of an owner reference that garbage collection needs.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) block_owner_deletion: bool,
}

#[derive(Deserialize)]
struct Partial {
    #[serde(default)]
    metadata: Meta,
}

impl Stored {
    pub(super) fn new(key: Key, revision: u64, bytes: Bytes) -> Self {
        Self {
            key,
            revision,
            bytes,
            meta: OnceLock::new(),
        }
    }

    /// Writes the revision into `value` and takes its text.
    pub(super) fn seal(key: Key, revision: u64, mut value: Value) -> Self {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), revision.to_string().into());
        }
        Self::new(key, revision, Bytes::from(value.to_string()))
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The object as JSON text, `metadata.resourceVersion` included.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Parses the object. The text was written by this crate or checked when the file was opened, so a failure would be
    /// a defect; it reads as null then.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// The metadata fields, parsed once.
    pub(crate) fn meta(&self) -> &Meta {
        self.meta
            .get_or_init(|| Box::new(self.parse_meta().unwrap_or_default()))
    }

    pub(super) fn parse_meta(&self) -> Result<Meta, serde_json::Error> {
        serde_json::from_slice::<Partial>(&self.bytes).map(|partial| partial.metadata)
    }
}
