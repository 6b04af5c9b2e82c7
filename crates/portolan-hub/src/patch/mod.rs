//! Patches: JSON patch, merge patch, strategic merge patch and server-side apply.
//!
//! Everything here is a pure function over `serde_json::Value`. It never reads a clock (times are arguments), never
//! touches the store and never validates beyond what merging needs: the server calls it between reading the live
//! object and defaulting, validating and writing the result. Behaviour and wording follow Kubernetes 1.33.

mod apply;
mod builtin;
mod error;
mod json_patch;
mod merge_patch;
mod strategic;
mod typed;

#[cfg(test)]
mod tests;

pub(crate) use apply::{
    ApplyError, Manager, apply, check_types, keep_times_if_unchanged, reset_fields, track_update,
};
#[cfg(test)]
pub(crate) use builtin::Field as MergeRules;
pub(crate) use builtin::{kind as builtin_kind, object as builtin_object, object_meta};
pub(crate) use error::PatchError;
pub(crate) use json_patch::json_patch;
pub(crate) use merge_patch::merge_patch;
pub(crate) use strategic::strategic;
pub(crate) use typed::{Deduced, Kind, ScalarType, Typed};

use serde_json::Value;

/// Refuses a patched object that is no longer the object the URL names.
///
/// Kubernetes compares after patching, so a patch may leave name and namespace out and inherits the live ones.
pub(crate) fn check_identity(object: &Value, name: &str, namespace: Option<&str>) -> Result<(), PatchError> {
    let text = |field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let (own_name, own_namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    if own_name.is_empty() {
        return Err(PatchError::BadRequest(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if own_name != name {
        return Err(PatchError::BadRequest(format!(
            "the name of the object ({own_name}) does not match the name on the URL ({name})"
        )));
    }
    match namespace {
        Some(expected) if !own_namespace.is_empty() && own_namespace != expected => {
            Err(PatchError::BadRequest(format!(
                "the namespace of the object ({own_namespace}) does not match the namespace on the URL ({expected})"
            )))
        }
        _ => Ok(()),
    }
}
