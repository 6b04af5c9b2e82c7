//! What is looked at on every write before anything is kept: is it what it says it is, and is it valid?

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::Value;

use super::call::{Call, FieldValidation};
use super::status::{Answer, Failure};
use super::{metadata, scale};
use crate::depth::{self, MAX_DEPTH, MAX_PATH};
use crate::kinds::{Resource, encoding, prepare};
use crate::schema::{self, Cause, FieldError};
use crate::store::LARGEST_OBJECT;

const STRICT: &str = "strict decoding error: ";
const CANNOT_UNMARSHAL: &str = "json: cannot unmarshal";

/// Checks what the body says it is, drops what is unknown, and says so as the client asked.
/// `live` is the object that is changed.
pub(super) fn decode(call: &Call, object: &mut Value, live: Option<&Value>) -> Answer<Vec<String>> {
    let resource = &call.resource;
    check_shape(resource, object)?;
    let (version, kind) = (resource.api_version(), resource.kind.as_str());
    let said = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    if resource.traits.custom && said("kind").is_empty() {
        return Err(Failure::bad_request(format!(
            "Object 'Kind' is missing in '{object}'"
        )));
    }
    if !said("apiVersion").is_empty() && said("apiVersion") != version {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({version})",
            said("apiVersion")
        )));
    }
    if resource.traits.custom && said("kind") != kind {
        let error = FieldError::invalid("kind", &said("kind").into(), &format!("must be {kind}"));
        return Err(Failure::invalid(
            resource,
            metadata::text(object, "name"),
            &[error],
        ));
    }
    if !said("kind").is_empty() && said("kind") != kind {
        return Err(Failure::bad_request(format!(
            "{} in version {:?} cannot be handled as a {kind}: the kind in the data does not match the expected kind",
            said("kind"),
            resource.version,
        )));
    }
    write_integers(object);
    metadata::check_types(object)
        .and_then(|()| encoding::check(resource, object))
        .map_err(|why| handled_as(resource, &why))?;
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    let mut unknown = schema::prune(&resource.schema, object);
    unknown.extend(metadata::tidy(object));
    if let Some(live) = live.filter(|_| !resource.traits.custom && !unknown.is_empty()) {
        // Stored before the kind had this schema: these fields are dropped, and the rest of the object can be changed.
        let before: BTreeSet<_> = schema::prune(&resource.schema, &mut live.clone())
            .into_iter()
            .collect();
        unknown.retain(|field| !before.contains(field));
    }
    let unknown = unknown
        .into_iter()
        .map(|field| format!("unknown field {field:?}"));
    let twice = call.duplicates().into_iter();
    // Kubernetes reads built-in kinds in one go, and custom resources in two: first as JSON, then by their schema.
    let unknown: Vec<_> = match resource.traits.custom {
        true => twice.chain(unknown).collect(),
        false => unknown.chain(twice).collect(),
    };
    match call.field_validation()? {
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(handled_as(resource, &format!("{STRICT}{}", unknown.join(", "))))
        }
        FieldValidation::Warn => Ok(unknown),
        _ => Ok(Vec::new()),
    }
}

/// A patch can make anything of an object: a text, or a thousand levels.
fn check_shape(resource: &Resource, object: &Value) -> Answer<()> {
    let found = match object {
        Value::Object(_) => None,
        // Kubernetes reads null as an object without fields.
        Value::Null => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
    };
    if let Some(found) = found {
        return Err(handled_as(
            resource,
            &format!(
                "json: cannot unmarshal {found} into Go value of type {}",
                resource.kind
            ),
        ));
    }
    let levels = depth::of(object);
    if levels > MAX_DEPTH {
        return Err(Failure::bad_request(format!(
            "the {} is nested {levels} levels deep; at most {MAX_DEPTH} levels are accepted",
            resource.kind
        )));
    }
    check_names(resource, object)
}

/// Errors and managed fields name values by the way to them: it may not be longer than the values are many.
pub(super) fn check_names(resource: &Resource, object: &Value) -> Answer<()> {
    let longest = depth::longest_path(object);
    if longest > MAX_PATH {
        return Err(Failure::bad_request(format!(
            "the names of the fields on the way to a value of the {} have {longest} bytes; at most {MAX_PATH} are accepted",
            resource.kind
        )));
    }
    Ok(())
}

/// Writes `1.0` as `1`, as Go's encoder does. A typed client reads `1.0` as no integer and then cannot read the list.
fn write_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < 9e18);
            if let Some(whole) = whole {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_integers),
        Value::Object(fields) => fields.values_mut().for_each(write_integers),
        _ => {}
    }
}

/// Why an object could not be read: a field has another type, broken bytes, or one that it must not have. `None` if that is not
/// why it was refused.
pub(super) fn undecodable(failure: &Failure) -> Option<&str> {
    let words = [CANNOT_UNMARSHAL, "illegal base64 data", STRICT.trim_end()];
    let message = failure.message();
    let begin = |words: &&str| message.find(&format!(": {words}"));
    let begin = words.iter().filter_map(begin).min();
    begin
        .filter(|_| failure.code() == StatusCode::BAD_REQUEST)
        .map(|begin| message[begin..].trim_start_matches(": "))
}

/// In the words of Go's decoder, which refuses an object whose fields have other types before anything else is looked at.
fn cannot_unmarshal(kind: &str, error: &FieldError) -> Option<String> {
    let field = format!("{kind}.{}", error.field);
    match error.cause {
        Cause::TypeInvalid { found, accepted } => {
            let found = match found {
                "integer" => "number",
                "boolean" => "bool",
                found => found,
            };
            Some(format!(
                "{CANNOT_UNMARSHAL} {found} into Go struct field {field} of type {accepted}"
            ))
        }
        Cause::QuantityInvalid => Some(format!("{CANNOT_UNMARSHAL} {field}: {}", error.message)),
        _ => None,
    }
}

fn handled_as(resource: &Resource, why: &str) -> Failure {
    let kind = &resource.kind;
    Failure::bad_request(format!(
        "{kind} in version {:?} cannot be handled as a {kind}: {why}",
        resource.version
    ))
}

/// Whether an object may be kept; gives warnings about what may only because it was so before.
pub(super) fn validate(resource: &Resource, object: &Value, live: Option<&Value>) -> Answer<Vec<String>> {
    // The other checks would name each element of a list that is too long anyway.
    let too_long = metadata::check_lengths(live, object);
    if !too_long.is_empty() {
        return Err(Failure::invalid(
            resource,
            metadata::text(object, "name"),
            &too_long,
        ));
    }
    let Content { schema, rules } = content(resource, object, live);
    // A built-in kind is not decoded at all where a type is wrong.
    let mut built_in = schema.iter().filter(|_| !resource.traits.custom);
    if let Some(why) = built_in.find_map(|error| cannot_unmarshal(&resource.kind, error)) {
        return Err(handled_as(resource, &why));
    }
    let mut all = metadata::check(resource, object);
    all.extend(live.and_then(|live| metadata::check_finalizers(live, object)));
    all.extend(schema);
    all.extend(rules);
    all.extend(scale::check(resource, object));
    let old = live.filter(|_| resource.traits.custom);
    let mut warnings = Vec::new();
    if resource.schema.ruled {
        if all.iter().any(|error| error.cause.is_fundamental()) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            all.push(FieldError::invalid("", &Value::Null, detail));
        } else {
            let verdict = schema::evaluate(&resource.schema, object, old);
            all.extend(verdict.errors);
            warnings = verdict.warnings;
        }
    }
    if all.is_empty() {
        return Ok(warnings);
    }
    Err(Failure::invalid(resource, metadata::text(object, "name"), &all))
}

/// What is wrong beside the metadata: by the schema, and by the rules of the kind.
struct Content {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

/// What is stored already may stay as it is, whatever is checked since then.
fn content(resource: &Resource, object: &Value, live: Option<&Value>) -> Content {
    let errors = |object: &Value, old: Option<&Value>| {
        let schema = schema::validate(&resource.schema, object, old);
        let mut rules = prepare::check(resource, object, old);
        // Both can name the same field that is missing.
        rules.retain(|error| !schema.contains(error));
        Content { schema, rules }
    };
    let Some(live) = live else {
        return errors(object, None);
    };
    let found = errors(object, Some(live));
    if (found.schema.is_empty() && found.rules.is_empty()) || resource.traits.custom {
        return found;
    }
    // An object that was stored before its kind had this schema was not pruned and completed. Neither was the object of a write
    // of its status, which has the rest as it is stored.
    let limit = usize::try_from(LARGEST_OBJECT).unwrap_or(usize::MAX);
    let complete = |value: &Value| {
        let mut value = value.clone();
        schema::prune(&resource.schema, &mut value);
        schema::default(&resource.schema, &mut value, limit).map(|_| value)
    };
    match (complete(object), complete(live)) {
        (Ok(object), Ok(old)) => errors(&object, Some(&old)),
        _ => found,
    }
}

/// Optimistic concurrency: the uid and resourceVersion that the object carries must be the live ones.
pub(super) fn check_versions(call: &Call, live: &Value, object: &mut Value) -> Answer<()> {
    let (resource, name) = (&*call.resource, call.name());
    let current = metadata::text(live, "resourceVersion");
    let given = metadata::text(object, "resourceVersion");
    if given.is_empty() || given == "0" {
        if !resource.traits.unconditional_update {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &0.into(),
                "must be specified for an update",
            );
            return Err(Failure::invalid(resource, name, &[error]));
        }
        metadata::of(object).insert("resourceVersion".into(), current.into());
    } else if given.parse::<u64>().is_err() {
        let why = format!("strconv.ParseUint: parsing {given:?}: invalid syntax");
        return Err(Failure::late(why));
    } else if given != current {
        return Err(Failure::modified(resource, name));
    }
    let (uid, live_uid) = (metadata::text(object, "uid"), metadata::text(live, "uid"));
    if !uid.is_empty() && uid != live_uid && call.is_patch() {
        let error = FieldError::invalid("metadata.uid", &uid.into(), "field is immutable");
        return Err(Failure::invalid(resource, name, &[error]));
    }
    if !uid.is_empty() && uid != live_uid {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {live_uid}");
        return Err(Failure::conflict(resource, name, &why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Registry;

    /// What is said of a Deployment that was stored with mistakes, and is written with this change.
    fn said(change: impl Fn(&mut Value)) -> Vec<String> {
        said_after(change, |resource, object| {
            schema::prune(&resource.schema, object);
            schema::default(&resource.schema, object, 100_000).unwrap();
        })
    }

    fn said_after(change: impl Fn(&mut Value), complete: impl Fn(&Resource, &mut Value)) -> Vec<String> {
        let registry = Registry::builtin();
        let resource = registry.find("apps", "v1", "deployments").unwrap();
        let container = json!({
            "name": "C_x", "image": "i", "resource": {}, "ports": [{"containerPort": "http"}],
            "resources": {"limits": {"cpu": "many"}},
        });
        let live = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "a"}},
                "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container], "nodeName": null}},
            },
        });
        let mut object = live.clone();
        change(&mut object);
        complete(resource, &mut object);
        let found = content(resource, &object, Some(&live));
        found
            .schema
            .iter()
            .chain(&found.rules)
            .map(|error| error.field.clone())
            .collect()
    }

    #[test]
    fn the_status_of_what_is_stored_with_mistakes_can_be_written() {
        // The rest of the object is as it is stored.
        let said = said_after(|object| object["status"] = json!({"replicas": 1}), |_, _| {});
        assert_eq!(said, [""; 0]);
    }

    #[test]
    fn what_is_stored_with_mistakes_can_be_changed_elsewhere() {
        assert_eq!(
            said(|object| object["metadata"]["labels"] = json!({"a": "b"})),
            [""; 0]
        );
        assert_eq!(said(|object| object["spec"]["replicas"] = json!(2)), [""; 0]);
        assert_eq!(said(|object| object["status"] = json!({"replicas": 1})), [""; 0]);
        let at = "spec.template.spec.containers[0]";
        assert_eq!(
            said(|object| object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("j")),
            [
                format!("{at}.ports[0].containerPort"),
                format!("{at}.resources.limits.cpu"),
                format!("{at}.name"),
            ]
        );
    }
}
