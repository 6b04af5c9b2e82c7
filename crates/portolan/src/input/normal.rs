//! Small differences in writing that an API server or `kubectl` evens out, evened out.

use portolan_api::structural::Kind;
use serde_json::{Map, Value};

/// Nulls are fields that are not there, whole numbers are integers, and a namespaced object without a namespace is in
/// `default`.
pub(super) fn normalise(kind: &Kind, object: &mut Value) {
    even_out(object);
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata.filter(|_| kind.namespaced) {
        let namespace = metadata.entry("namespace").or_insert_with(|| "".into());
        if *namespace == "" {
            *namespace = "default".into();
        }
    }
    drop_empty_toleration_keys(object);
}

fn even_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(even_out);
        }
        Value::Array(items) => items.iter_mut().for_each(even_out),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64());
            // Beyond 2^53 a float does not say which integer is meant.
            if let Some(whole) =
                whole.filter(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0)
            {
                *value = (whole as i64).into();
            }
        }
        _ => {}
    }
}

/// The definition refuses `key: ""` though it means the same as no key, which is what Go clients write.
fn drop_empty_toleration_keys(object: &mut Value) {
    let tolerations = object
        .pointer_mut("/spec/tolerations")
        .and_then(Value::as_array_mut);
    let fields = |toleration: &mut Value| -> Option<()> {
        let fields: &mut Map<String, Value> = toleration.as_object_mut()?;
        if fields.get("key")?.as_str() == Some("") {
            fields.remove("key");
        }
        Some(())
    };
    for toleration in tolerations.into_iter().flatten() {
        fields(toleration);
    }
}
