//! Moving from client-side to server-side apply with kubectl.
//!
//! `kubectl apply` leaves the configuration in an annotation and its fields with the manager
//! `kubectl-client-side-apply`. When the same user goes on with `kubectl apply --server-side`, these must not conflict.

use serde_json::Value;

use super::super::typed::Typed;
use super::compare::compare;
use super::error::Conflict;
use super::set::FieldSet;
use super::walk::field_set;

/// The only manager this is for; others opt out by their name.
const KUBECTL: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Kubernetes' limit on all annotations of an object.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The conflicts that remain after those with the user's own client-side apply are set aside.
pub(super) fn remaining(
    conflicts: Vec<Conflict>,
    manager: &str,
    live: &Value,
    typed: &dyn Typed,
) -> Vec<Conflict> {
    if manager != KUBECTL {
        return conflicts;
    }
    let allowed = client_side_fields(live, typed);
    conflicts
        .into_iter()
        .filter(|conflict| !allowed.contains(&conflict.path))
        .collect()
}

/// The fields the annotation sets to what they still are.
fn client_side_fields(live: &Value, typed: &dyn Typed) -> FieldSet {
    let Some(applied) = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return FieldSet::default();
    };
    let difference = compare(&applied, live, typed);
    field_set(&applied, typed)
        .difference(&difference.modified)
        .difference(&difference.added)
        .difference(&difference.removed)
}

/// Keeps the annotation true after a server-side apply, so that going back to client-side apply works.
pub(super) fn refresh(result: &mut Value, live: &Value, config: &Value, manager: &str) {
    if manager != KUBECTL || annotation(live).is_none() {
        return;
    }
    let mut applied = config.clone();
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{applied}\n");
    let Some(Value::Object(annotations)) = result.pointer_mut("/metadata/annotations") else {
        return;
    };
    let others = annotations.iter().filter(|(name, _)| *name != ANNOTATION);
    let size: usize = others
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size + ANNOTATION.len() + text.len() > MAX_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    } else {
        annotations.insert(ANNOTATION.into(), text.into());
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations
        .get(ANNOTATION)?
        .as_str()
        .filter(|text| !text.is_empty())
}
