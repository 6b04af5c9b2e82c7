//! RFC 6902 JSON patch.

use serde_json::Value;

use super::PatchError;
use crate::depth::{self, MAX_DEPTH};

/// Kubernetes' limit: a patch is applied under the object's lock, so its length bounds how long others wait.
pub(crate) const MAX_OPERATIONS: usize = 10_000;

/// How much all `copy` operations of one patch may add. Each may double the document, so a count alone bounds nothing.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// How many steps the operations of one patch may take together: the values in what is copied or moved, which are walked to
/// measure their depth, and the items of lists that have to make room or close up. Both can be as many as the object has, for
/// each of 10,000 operations. Larger, and one patch could keep a core busy for more than a second; smaller, and some thousand
/// operations on a list of some thousand items would be refused.
const MAX_STEPS: usize = 20_000_000;

/// Applies a JSON patch; `live` is untouched and all operations take effect or none.
///
/// A document that is no patch is a 400, more than [`MAX_OPERATIONS`] or [`MAX_STEPS`] a 413, an operation that does not fit the
/// object (failed `test`, missing path) a 422.
pub(crate) fn json_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(malformed(other, "Patch")),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut result = live.clone();
    let (mut copied, mut steps) = (0, 0);
    for (number, operation) in operations.iter().enumerate() {
        steps += shifted_items(&result, operation) + check_depth(&result, operation)?;
        if steps > MAX_STEPS {
            return Err(PatchError::TooLarge(format!(
                "the first {} operations of the JSON patch take {steps} steps on this object (values copied or moved, and list \
                 items shifted); at most {MAX_STEPS} are allowed; send fewer operations at a time",
                number + 1
            )));
        }
        copied += copied_bytes(&result, operation);
        if copied > MAX_COPIED_BYTES {
            return Err(PatchError::Unprocessable(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, \
                 exceeding the limit {MAX_COPIED_BYTES}"
            )));
        }
        apply_one(&mut result, operation)?;
    }
    // An operation on the path "" replaces everything. Kubernetes can apply a patch that makes a list of the object, and then
    // cannot read what came out.
    if live.is_object() && result.is_array() {
        return Err(PatchError::BadRequest(
            "the patch replaces the whole object with a list: json: cannot unmarshal array into an object"
                .to_owned(),
        ));
    }
    if live.is_object() && !result.is_object() {
        return Err(PatchError::Unprocessable(
            "the patch replaces the whole object with a value that is no object".to_owned(),
        ));
    }
    Ok(result)
}

/// Each operation can put a whole value at the bottom of the document, so a few `copy` operations nest it without limit.
/// Cloning, writing and dropping a value take one stack frame for each level. Returns how many values were walked.
fn check_depth(document: &Value, operation: &Value) -> Result<usize, PatchError> {
    let text = |field: &str| operation.get(field).and_then(Value::as_str);
    let value = match text("op") {
        Some("add" | "replace") => operation.get("value"),
        Some("copy" | "move") => text("from").and_then(|from| document.pointer(from)),
        _ => None,
    };
    let path = text("path").unwrap_or_default();
    let (depth, walked) = value.map_or((0, 0), depth::measure);
    let levels = path.matches('/').count() + depth;
    if levels > MAX_DEPTH {
        return Err(PatchError::Unprocessable(format!(
            "the operation at path {} would nest the object {levels} levels deep; at most {MAX_DEPTH} levels are accepted",
            depth::preview(path)
        )));
    }
    Ok(walked)
}

/// The items of lists that an operation moves one place on or back.
fn shifted_items(document: &Value, operation: &Value) -> usize {
    let text = |field: &str| operation.get(field).and_then(Value::as_str);
    let behind = |pointer: Option<&str>| {
        let (list, index) = pointer?.rsplit_once('/')?;
        let index: usize = index.parse().ok()?;
        Some(document.pointer(list)?.as_array()?.len().saturating_sub(index))
    };
    let (from, path) = match text("op") {
        Some("add" | "copy" | "remove") => (None, text("path")),
        Some("move") => (text("from"), text("path")),
        _ => (None, None),
    };
    behind(from).unwrap_or(0) + behind(path).unwrap_or(0)
}

fn copied_bytes(document: &Value, operation: &Value) -> usize {
    if operation.get("op").and_then(Value::as_str) != Some("copy") {
        return 0;
    }
    let source = operation
        .get("from")
        .and_then(Value::as_str)
        .and_then(|from| document.pointer(from));
    source.map_or(0, |value| value.to_string().len())
}

/// Decoding one by one keeps the difference between "not a patch" and "an operation Kubernetes accepts as JSON but
/// cannot run", which are different status codes.
fn apply_one(document: &mut Value, operation: &Value) -> Result<(), PatchError> {
    let Some(fields) = operation.as_object() else {
        return Err(malformed(operation, "Operation"));
    };
    let name = fields.get("op").and_then(Value::as_str).unwrap_or_default();
    if !matches!(name, "add" | "remove" | "replace" | "move" | "copy" | "test") {
        return Err(PatchError::Unprocessable(format!("Unexpected kind: {name}")));
    }
    let path = fields.get("path").and_then(Value::as_str);
    let mut complete = fields.clone();
    // `value` left out means null to Kubernetes, which clients use for `test` of an absent field.
    if matches!(name, "add" | "replace" | "test") && !complete.contains_key("value") {
        complete.insert("value".into(), Value::Null);
    }
    let parsed: json_patch::PatchOperation = serde_json::from_value(Value::Object(complete))
        .map_err(|error| PatchError::Unprocessable(format!("{name} operation does not apply: {error}")))?;
    let path = path.unwrap_or_default();
    if name == "test" && fields.get("value").is_none_or(Value::is_null) && document.pointer(path).is_none() {
        return Ok(());
    }
    json_patch::patch(document, std::slice::from_ref(&parsed))
        .map_err(|error| describe(name, path, &error.kind))
}

fn describe(name: &str, path: &str, kind: &json_patch::PatchErrorKind) -> PatchError {
    use json_patch::PatchErrorKind::TestFailed;
    PatchError::Unprocessable(match kind {
        TestFailed => format!("testing value {path} failed"),
        _ if name == "test" => format!("testing path {path} failed: missing value"),
        _ => format!("{name} operation does not apply: doc is missing path: {path}: missing value"),
    })
}

/// Go's decoder's words for a document of the wrong type.
fn malformed(value: &Value, expected: &str) -> PatchError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    PatchError::BadRequest(format!(
        "json: cannot unmarshal {found} into Go value of type jsonpatch.{expected}"
    ))
}
