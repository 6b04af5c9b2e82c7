//! One request to a resource, with everything handlers need to know of it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method};
use jiff::Timestamp;
use serde_json::Value;

use super::media_type::APPLY_PATCH;
use super::request::{Place, Query};
use super::status::{Answer, Failure};
use crate::access::Identity;
use crate::access::rbac::Rbac;
use crate::kinds::Resource;
use crate::patch::{Manager, reset_fields};
use crate::protobuf;
use crate::schema::FieldError;
use crate::store::Key;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Whose limits count.
    pub(crate) sender: Identity,
    /// Whose rights count.
    pub(crate) identity: Identity,
    pub(crate) resource: Arc<Resource>,
    pub(crate) place: Place,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) permission: Permission,
}

/// What the user was asked to be allowed to do, and by which roles it was.
#[derive(Debug)]
pub(crate) struct Permission {
    pub(crate) verb: &'static str,
    pub(crate) name: String,
    pub(crate) roles: Arc<Rbac>,
}

/// What to do about fields that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl Call {
    pub(crate) fn namespace(&self) -> &str {
        self.place.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.place.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn subresource(&self) -> &str {
        self.place.subresource.as_deref().unwrap_or_default()
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(
            &self.resource.storage_group,
            &self.resource.plural,
            self.namespace(),
            name,
        )
    }

    /// The prefix of the collection the path names.
    pub(crate) fn prefix(&self) -> String {
        Key::prefix(
            &self.resource.storage_group,
            &self.resource.plural,
            self.place.namespace.as_deref(),
        )
    }

    /// The media type of the body, without parameters.
    pub(crate) fn content_type(&self) -> &str {
        let header = self
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        header.split(';').next().unwrap_or_default().trim()
    }

    /// The body as an object, from whichever of the accepted formats it is in.
    pub(crate) fn object(&self) -> Answer<Value> {
        let object = match self.content_type() {
            "" | JSON => self.json_body()?,
            YAML => self.yaml_body()?,
            protobuf::CONTENT_TYPE => protobuf::decode(&self.body).map_err(|error| match error.status() {
                415 => Failure::new(
                    http::StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "UnsupportedMediaType",
                    error.to_string(),
                ),
                413 => Failure::new(
                    http::StatusCode::PAYLOAD_TOO_LARGE,
                    "RequestEntityTooLarge",
                    error.to_string(),
                ),
                _ => Failure::bad_request(error.to_string()),
            })?,
            _ => {
                let mut accepted = vec![JSON, YAML];
                if !self.resource.traits.custom {
                    accepted.push(protobuf::CONTENT_TYPE);
                }
                return Err(Failure::unsupported_media_type(&accepted));
            }
        };
        if object.is_object() {
            return Ok(object);
        }
        // To a typed decoder this is an object without fields.
        if object.is_null() && !self.resource.traits.custom {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        Err(self.unreadable(
            "json: cannot unmarshal into Go value of type map[string]interface {}: not an object",
        ))
    }

    pub(crate) fn json_body(&self) -> Answer<Value> {
        serde_json::from_slice(&self.body).map_err(|error| self.unreadable(&error.to_string()))
    }

    /// What the body gives twice, as far as its format can, in the words of Kubernetes.
    pub(crate) fn duplicates(&self) -> Vec<String> {
        match self.content_type() {
            "" | JSON | "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                let fields = super::duplicates::duplicates(&self.body);
                let said = fields.iter().map(|field| format!("duplicate field {field:?}"));
                said.collect()
            }
            APPLY_PATCH => super::yaml::duplicate(&self.body).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn yaml_body(&self) -> Answer<Value> {
        super::yaml::read(&self.body).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, why: &str) -> Failure {
        let kind = &self.resource.kind;
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {why}"
        ))
    }

    pub(crate) fn dry_run(&self) -> Answer<bool> {
        match self.query.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => Err(self.unsupported_option("dryRun", other, &["All"])),
        }
    }

    pub(crate) fn field_validation(&self) -> Answer<FieldValidation> {
        match self.query.get("fieldValidation") {
            Some("Ignore") => Ok(FieldValidation::Ignore),
            None | Some("Warn") => Ok(FieldValidation::Warn),
            Some("Strict") => Ok(FieldValidation::Strict),
            Some(other) => {
                Err(self.unsupported_option("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]))
            }
        }
    }

    fn unsupported_option(&self, field: &str, value: &str, accepted: &[&str]) -> Failure {
        let kind = match () {
            () if self.is_patch() => "PatchOptions",
            () if self.place.name.is_some() => "UpdateOptions",
            () => "CreateOptions",
        };
        let accepted: Vec<Value> = accepted.iter().map(|value| (*value).into()).collect();
        let error = FieldError::not_supported(field, &value.into(), &accepted);
        Failure::invalid_options(kind, &error)
    }

    /// Whether the body says what to change rather than what to be.
    pub(crate) fn is_patch(&self) -> bool {
        self.content_type().contains("patch+")
    }

    /// The writer, for the managed fields.
    pub(crate) fn manager(&self, time: Timestamp) -> Manager {
        let agent = self
            .headers
            .get(USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let name = match self.query.get("fieldManager") {
            Some(name) => name,
            None => agent.split('/').next().unwrap_or_default(),
        };
        Manager {
            name: name.chars().take(128).collect(),
            api_version: self.resource.api_version(),
            subresource: self.subresource().to_owned(),
            time,
            ignored: reset_fields(self.subresource(), self.resource.status),
        }
    }
}
