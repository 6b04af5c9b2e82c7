//! The scale subresource: one number of an object, behind an interface that is the same for every kind.

use http::StatusCode;
use serde_json::{Value, json};

use super::call::Call;
use super::status::{Answer, Failure};
use super::write::{Done, Object, Tracking, patch_failure};
use super::{Core, metadata};
use crate::kinds::{Resource, Scale};
use crate::patch;
use crate::schema::FieldError;

impl Core {
    pub(crate) fn get_scale(&self, call: &Call) -> Answer<Value> {
        let scale = paths(call)?;
        let stored = self.store.get(&call.key(call.name()));
        let stored = stored.ok_or_else(|| Failure::not_found(&call.resource, call.name()))?;
        Ok(show(scale, &stored.value()))
    }

    /// Replaces or patches the number.
    pub(crate) async fn set_scale(&self, call: &Call, patched: bool) -> Answer<Done> {
        let scale = paths(call)?;
        let body = call.json_body()?;
        let change = |live: &Value| {
            let current = show(scale, live);
            let wanted = match (patched, call.content_type()) {
                (false, _) => body.clone(),
                (true, "application/json-patch+json") => {
                    patch::json_patch(&current, &body).map_err(patch_failure)?
                }
                (true, _) => patch::merge_patch(&current, &body).map_err(patch_failure)?,
            };
            let given = metadata::text(&wanted, "resourceVersion");
            if !given.is_empty() && given != metadata::text(live, "resourceVersion") {
                return Err(Failure::modified(&call.resource, call.name()));
            }
            let replicas = wanted
                .pointer("/spec/replicas")
                .cloned()
                .unwrap_or_else(|| 0.into());
            if replicas.as_i64().is_none_or(|replicas| replicas < 0) {
                let message = format!(
                    "Scale.autoscaling {:?} is invalid: spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0",
                    call.name()
                );
                return Err(Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message));
            }
            let mut object = live.clone();
            set(&mut object, &scale.spec_replicas, replicas);
            Ok(object)
        };
        let done = self.modify(call, Tracking::Update, change).await?;
        let object = match &done.object {
            Object::Stored(stored) => stored.value(),
            Object::Value(value) => value.clone(),
        };
        Ok(Done {
            object: Object::Value(show(scale, &object)),
            ..done
        })
    }
}

/// The numbers of a custom resource that its definition lets scale.
pub(super) fn check(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let Some(scale) = resource.scale.as_ref().filter(|_| resource.traits.custom) else {
        return Vec::new();
    };
    let wrong = |path: &String| {
        let value = at(object, path)?;
        let detail = match value.as_i64() {
            None => "accessor error: it is not of the type int64",
            Some(..0) => "should be a non-negative integer",
            Some(number) if i32::try_from(number).is_err() => "should be less than or equal to 2147483647",
            Some(_) => return None,
        };
        Some(FieldError::invalid(path.as_str(), value, detail))
    };
    [&scale.spec_replicas, &scale.status_replicas]
        .into_iter()
        .filter_map(wrong)
        .collect()
}

fn paths(call: &Call) -> Answer<&Scale> {
    call.resource.scale.as_ref().ok_or_else(Failure::no_such_path)
}

fn show(scale: &Scale, object: &Value) -> Value {
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let keep = |field: &str| {
        object["metadata"]
            .get(field)
            .map(|value| (field.to_owned(), value.clone()))
    };
    let metadata: serde_json::Map<_, _> =
        ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
            .into_iter()
            .filter_map(keep)
            .collect();
    let mut shown = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": number(&scale.spec_replicas)},
        "status": {"replicas": number(&scale.status_replicas)},
    });
    if let Some(selector) = scale.label_selector.as_deref().and_then(|path| at(object, path)) {
        shown["status"]["selector"] = selector.clone();
    }
    shown
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.')
        .split('.')
        .try_fold(object, |value, part| value.get(part))
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = value;
}
