//! Expressions and paths in the options of works, which only an agent evaluates.

use portolan_api::FieldError;
use portolan_api::work::{self, ManifestConfigOption};
use serde::Deserialize;
use serde_json::Value;

/// What no agent can evaluate in a ManifestWork or in the template of a ManifestWorkReplicaSet.
pub(super) fn mistakes(object: &Value) -> Vec<FieldError> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let spec = match (group, text("kind")) {
        (work::GROUP, "ManifestWork") => "spec",
        (work::GROUP, "ManifestWorkReplicaSet") => "spec.manifestWorkTemplate",
        _ => return Vec::new(),
    };
    let pointer = format!("/{}/manifestConfigs", spec.replace('.', "/"));
    let options = object
        .pointer(&pointer)
        .map(Vec::<ManifestConfigOption>::deserialize);
    // What has the wrong type is refused by the definition.
    let options = options.and_then(Result::ok).unwrap_or_default();
    portolan_agent::option_mistakes(&options, &format!("{spec}.manifestConfigs"))
}
