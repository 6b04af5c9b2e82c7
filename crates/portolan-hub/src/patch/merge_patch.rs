//! RFC 7386 merge patch.

use serde_json::Value;

use super::PatchError;

/// Applies a merge patch: objects merge, `null` deletes, everything else replaces.
///
/// The patch of an API object is an object; anything else is a 400, since it would replace the whole resource.
pub(crate) fn merge_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        return Err(PatchError::BadRequest("Invalid JSON Patch".into()));
    }
    let mut result = live.clone();
    json_patch::merge(&mut result, patch);
    Ok(result)
}
