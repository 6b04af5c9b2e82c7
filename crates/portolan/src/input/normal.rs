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

/// Fields of our kinds that hold a time.
const TIMES: [&str; 8] = [
    "creationTimestamp",
    "deletionTimestamp",
    "lastObservedTime",
    "lastScoreUpdateTime",
    "lastTransitionTime",
    "time",
    "timeAdded",
    "validUntil",
];

/// "Never" is often written as the last second of 9999, a day after the last one that our calendar knows, and more
/// than nine digits of a second are more than anybody counts: both are valid, and cut.
fn clamp_time(value: &mut Value) {
    let Some(text) = value.as_str().filter(|text| text.is_ascii()) else {
        return;
    };
    if text.starts_with("9999-12-30") || text.starts_with("9999-12-31") {
        *value = "9999-12-30T22:00:00Z".into();
        return;
    }
    if let Some((whole, fraction)) = text.split_once('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 9 {
            *value = format!("{whole}.{}{}", &fraction[..9], &fraction[digits..]).into();
        }
    }
}

fn even_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            for (name, field) in fields.iter_mut() {
                even_out(field);
                if TIMES.contains(&name.as_str()) {
                    clamp_time(field);
                }
            }
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
