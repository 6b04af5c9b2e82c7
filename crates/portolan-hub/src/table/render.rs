//! The Table itself.

use std::borrow::Borrow;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Columns;
use super::jsonpath::Budget;

/// What each row carries of its object, the `includeObject` query parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// Only the metadata, as PartialObjectMetadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

/// The query parameter has a value that is none of `None`, `Metadata` and `Object`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unrecognized includeObject value: {0:?}")]
pub(crate) struct UnknownIncludeObject(String);

impl FromStr for IncludeObject {
    type Err = UnknownIncludeObject;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "None" => Ok(Self::None),
            "Metadata" | "" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(UnknownIncludeObject(other.to_owned())),
        }
    }
}

/// The version of `meta.k8s.io` the client asked for (`as=Table;v=…;g=meta.k8s.io`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Version {
    /// `v1`
    #[default]
    V1,
    /// `v1beta1`, the same under an older name.
    V1Beta1,
}

impl Version {
    fn api_version(self) -> &'static str {
        match self {
            Version::V1 => "meta.k8s.io/v1",
            Version::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// Whether a table defines its columns. A watch sends them with its first event only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headers {
    /// With `columnDefinitions`.
    Show,
    /// With none.
    Omit,
}

/// Renders objects as a Table. `metadata` is that of the list (`resourceVersion`, `continue`, `remainingItemCount`); for a
/// single object the `resourceVersion` of the object. Each object is taken when its row is made.
pub(crate) fn render(
    columns: &Columns,
    version: Version,
    metadata: Value,
    objects: impl IntoIterator<Item = impl Borrow<Value>>,
    include: IncludeObject,
    headers: Headers,
    now: Timestamp,
) -> Value {
    let mut budget = Budget::of_table();
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let object = object.borrow();
            let cells = columns.cells(object, now, &mut budget);
            json!({"cells": cells, "object": included(object, include, version)})
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": version.api_version(),
        "metadata": metadata,
        "columnDefinitions": match headers {
            Headers::Show => columns.definitions(),
            // Kubernetes writes null here, and Go clients tell it from an empty list.
            Headers::Omit => Value::Null,
        },
        "rows": rows,
    })
}

fn included(object: &Value, include: IncludeObject, version: Version) -> Value {
    match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Object => object.clone(),
        IncludeObject::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": version.api_version(),
            "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
        }),
    }
}
