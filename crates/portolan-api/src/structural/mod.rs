//! What a CustomResourceDefinition says about one object: types, limits, enums, patterns, required fields, list
//! keys, defaults and unknown fields, plus the rules of object metadata.
//!
//! It works on plain JSON values, so that everything wrong with a manifest is reported, not just the first thing
//! that keeps it from being read into a type. CEL rules are not evaluated. Memory stays bounded: errors repeat only
//! the beginning of a value, and at most [`MAX_ERRORS`] are reported.

pub(crate) mod compile;
mod defaults;
mod metadata;
pub(crate) mod syntax;
mod unknown;
mod validate;

use std::sync::OnceLock;

use serde_json::Value;

pub use compile::{Schema, SchemaError};
pub use syntax::{
    CONDITION_TYPE, is_condition_type, is_dns_label, is_dns_subdomain, is_label_value, is_qualified_name,
};
pub use unknown::UnknownField;

use crate::field::{FieldError, Path};

/// How many errors one call reports at most.
pub const MAX_ERRORS: usize = 100;

/// A served version of one of our kinds.
#[derive(Debug)]
pub struct Kind {
    /// API group.
    pub group: String,
    /// API version inside the group.
    pub version: String,
    /// Kind, as in manifests.
    pub kind: String,
    /// Plural, as in URLs.
    pub plural: String,
    /// Short names, as `kubectl` takes them.
    pub short_names: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether the status is written through a subresource.
    pub status_subresource: bool,
    /// The schema of the whole object.
    pub schema: Schema,
}

impl Kind {
    /// Group and version, as in manifests.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// Everything wrong with an object of this kind.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = self.schema.validate(object);
        if object.is_object() {
            metadata::validate(object, Some(self.namespaced), &mut errors);
        }
        errors.truncate(MAX_ERRORS);
        errors
    }
}

/// All kinds in all served versions.
pub fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| crate::crd_values().iter().flat_map(kinds_of_crd).collect())
}

/// The kind of an object by its `apiVersion` and `kind`.
pub fn kind_of(object: &Value) -> Result<&'static Kind, FieldError> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        let field = if text("apiVersion").is_none() {
            "apiVersion"
        } else {
            "kind"
        };
        return Err(match object.get(field) {
            Some(value) => FieldError::new(field, value, "not a string", "a string"),
            None => FieldError::missing(field, "a string"),
        });
    };
    if let Some(found) = find(api_version, kind) {
        return Ok(found);
    }
    let versions: Vec<String> = kinds()
        .iter()
        .filter(|known| known.kind == kind)
        .map(Kind::api_version)
        .collect();
    if versions.is_empty() {
        let mut names: Vec<&str> = kinds().iter().map(|known| known.kind.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(FieldError::new(
            "kind",
            &kind.into(),
            "not one of our kinds",
            names.join(", "),
        ));
    }
    Err(FieldError::new(
        "apiVersion",
        &api_version.into(),
        format!("{kind} is not served under it"),
        versions.join(", "),
    ))
}

/// The kind with that `apiVersion` and `kind`.
pub fn find(api_version: &str, kind: &str) -> Option<&'static Kind> {
    let (group, version) = api_version.split_once('/')?;
    kinds()
        .iter()
        .find(|known| known.kind == kind && known.group == group && known.version == version)
}

/// Everything the definition of its kind finds wrong with an object. An object of a kind that is not ours has one
/// error, at `apiVersion` or `kind`.
pub fn validate(object: &Value) -> Vec<FieldError> {
    match kind_of(object) {
        Ok(kind) => kind.validate(object),
        Err(error) => vec![error],
    }
}

/// Everything wrong with the metadata of an object of any kind. `namespaced` says where its kind lives, if that is known.
pub fn validate_metadata(object: &Value, namespaced: Option<bool>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata::validate(object, namespaced, &mut errors);
    errors
}

/// Fills in the defaults of the object's kind and drops nulls that stand for nothing, as the API server does. Do this
/// before reading a hand-written manifest into a type. Objects of other kinds are left alone.
pub fn apply_defaults(object: &mut Value) {
    if let Ok(kind) = kind_of(object) {
        kind.schema.apply_defaults(object);
    }
}

/// Paths of the fields that the object's kind does not have. Objects of other kinds have none.
pub fn unknown_fields(object: &Value) -> Vec<String> {
    let unknown = kind_of(object)
        .map(|kind| kind.schema.unknown_fields(object))
        .unwrap_or_default();
    unknown.into_iter().map(|field| field.path).collect()
}

fn kinds_of_crd(crd: &Value) -> Vec<Kind> {
    let text = |pointer: &str| {
        crd.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let short_names = crd.pointer("/spec/names/shortNames").and_then(Value::as_array);
    let short_names = short_names.into_iter().flatten().filter_map(Value::as_str);
    let short_names: Vec<String> = short_names.map(str::to_owned).collect();
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    versions
        .into_iter()
        .flatten()
        .map(|version| Kind {
            group: text("/spec/group"),
            version: version["name"].as_str().unwrap_or_default().to_owned(),
            kind: text("/spec/names/kind"),
            plural: text("/spec/names/plural"),
            short_names: short_names.clone(),
            namespaced: text("/spec/scope") == "Namespaced",
            status_subresource: version.pointer("/subresources/status").is_some(),
            schema: Schema::compile(&version["schema"]["openAPIV3Schema"])
                .expect("a generated schema compiles; a test compiles them all"),
        })
        .collect()
}

/// The errors found so far, and whether there is room for more.
struct Errors {
    found: Vec<FieldError>,
    limit: usize,
}

impl Errors {
    fn new(limit: usize) -> Self {
        Self {
            found: Vec::new(),
            limit,
        }
    }

    fn full(&self) -> bool {
        self.found.len() >= self.limit
    }

    fn push(
        &mut self,
        path: &Path<'_>,
        value: &Value,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) {
        if !self.full() {
            let error = FieldError::new(path, value, problem, accepted);
            self.found.push(error);
        }
    }

    fn missing(&mut self, path: &Path<'_>, accepted: impl Into<String>) {
        if !self.full() {
            let error = FieldError::missing(path, accepted);
            self.found.push(error);
        }
    }
}
