//! Errors as clients see them: a `Status` with code, reason, message and causes, worded as Kubernetes words them.

use std::borrow::Cow;

use http::StatusCode;
use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::schema::FieldError;
use crate::store::{Compacted, WriteError};

/// Most errors of an object that an answer names. Larger, and a small request could have an answer of many megabytes.
pub(super) const MOST_ERRORS: usize = 100;

/// A refusal. Boxed inside, since results carry it through every handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure(Box<Body>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Body {
    code: StatusCode,
    reason: Cow<'static, str>,
    message: String,
    details: Option<Value>,
    /// A token to go on with, for a list that can no longer be continued as it was.
    go_on: Option<String>,
}

pub(crate) type Answer<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self::worded(code, reason, message)
    }

    /// A refusal whose reason comes from elsewhere.
    pub(crate) fn worded(
        code: StatusCode,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self(Box::new(Body {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            go_on: None,
        }))
    }

    pub(crate) fn about(mut self, resource: &Resource, name: &str) -> Self {
        self.0.details = Some(json!({"name": name, "group": resource.group, "kind": resource.plural}));
        self
    }

    pub(super) fn with(mut self, field: &str, value: Value) -> Self {
        let details = self.0.details.get_or_insert_with(|| json!({}));
        details[field] = value;
        self
    }

    pub(crate) fn code(&self) -> StatusCode {
        self.0.code
    }

    pub(crate) fn reason(&self) -> &str {
        &self.0.reason
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.0.message, "code": self.0.code.as_u16(),
        });
        if !self.0.reason.is_empty() {
            status["reason"] = self.reason().into();
        }
        if let Some(token) = &self.0.go_on {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if let Some(details) = &self.0.details {
            let mut details = details.clone();
            if let Some(details) = details.as_object_mut() {
                details.retain(|_, value| value != "");
            }
            status["details"] = details;
        }
        status
    }

    /// A refusal that another part has worded in full.
    pub(crate) fn from_status(status: &Value) -> Self {
        let reason = status["reason"].as_str().unwrap_or("Forbidden").to_owned();
        let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let code = code
            .and_then(|code| StatusCode::from_u16(code).ok())
            .unwrap_or(StatusCode::FORBIDDEN);
        let message = status["message"].as_str().unwrap_or_default();
        let mut failure = Self::worded(code, reason, message);
        failure.0.details = status.get("details").cloned();
        failure
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource, name)
    }

    /// The path names nothing that is served.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        let mut failure = Self::new(StatusCode::NOT_FOUND, "NotFound", message);
        failure.0.details = Some(json!({}));
        failure
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource, name)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            resource.qualified()
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(resource, name)
    }

    /// The version the write was derived from is no longer the current one.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.qualified());
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(resource, name)
    }

    pub(crate) fn with_causes(self, causes: Value) -> Self {
        self.with("causes", causes)
    }

    pub(crate) fn with_cause(self, reason: &str, message: &str, field: &str) -> Self {
        self.with(
            "causes",
            json!([{"reason": reason, "message": message, "field": field}]),
        )
    }

    pub(crate) fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        let errors = &errors[..errors.len().min(MOST_ERRORS)];
        let mut lines: Vec<String> = Vec::new();
        for line in errors.iter().map(ToString::to_string) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let list = match lines.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {list}", resource.qualified_kind());
        let cause = |error: &FieldError| json!({"reason": error.cause.reason(), "message": error.message, "field": error.field_name()});
        let failure = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(resource, name);
        failure
            .with("kind", resource.kind.as_str().into())
            .with("causes", errors.iter().map(cause).collect())
    }

    /// The options of a request are refused; `kind` is `ListOptions` and the like.
    pub(crate) fn invalid_options(kind: &str, error: &FieldError) -> Self {
        let message = format!("{kind}.meta.k8s.io \"\" is invalid: {error}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_cause(
            error.cause.reason(),
            &error.message,
            &error.field,
        )
    }

    /// Kubernetes finds some of a client's mistakes so late that it answers them like its own, without a reason.
    pub(crate) fn late(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    pub(crate) fn not_acceptable() -> Self {
        let message =
            "only the following media types are accepted: application/json, application/json;stream=watch";
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    pub(crate) fn too_many_requests(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
    }

    pub(crate) fn body_timeout(limit: std::time::Duration) -> Self {
        let message = format!(
            "the body of the request did not arrive within {} s",
            limit.as_secs()
        );
        Self::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub(crate) fn expired_continue(token: String) -> Self {
        let mut failure = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of \
             the results. Continuing with the provided token results in an inconsistent list - objects that were \
             created, modified, or deleted between the time the first chunk was returned and now may show up in the \
             list.",
        );
        failure.0.go_on = Some(token);
        failure
    }

    pub(crate) fn compacted(compacted: Compacted) -> Self {
        Self::expired(format!(
            "too old resource version: {} ({})",
            compacted.asked, compacted.oldest
        ))
    }

    /// The hub takes no more watches.
    pub(crate) fn stopping() -> Self {
        let message = "the hub is stopping";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// The client has seen a state that this hub has not reached.
    pub(crate) fn ahead(asked: u64, reached: u64) -> Self {
        Self::expired(format!(
            "resource version {asked} is ahead of this hub, which is at {reached}: its data was put back; list again"
        ))
    }

    /// The client asked for a state that is not there yet.
    pub(crate) fn too_new(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
            .with("retryAfterSeconds", 1.into())
            .with(
                "causes",
                json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]),
            )
    }

    pub(crate) fn write(resource: &Resource, name: &str, error: &WriteError) -> Self {
        match error {
            WriteError::Exists(_) => Self::already_exists(resource, name),
            WriteError::Missing(_) => Self::not_found(resource, name),
            WriteError::Conflict { .. } => Self::modified(resource, name),
            WriteError::Full { .. } | WriteError::FullOfRoles { .. } => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "InsufficientStorage",
                error.to_string(),
            )
            .about(resource, name),
            WriteError::TooLarge { .. } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestEntityTooLarge",
                error.to_string(),
            )
            .about(resource, name),
            WriteError::Failed(why) => Self::internal(why.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Registry;

    #[test]
    fn the_answer_to_an_invalid_object_names_a_limited_number_of_errors() {
        let registry = Registry::builtin();
        let leases = registry.find("coordination.k8s.io", "v1", "leases").unwrap();
        let errors: Vec<FieldError> = (0..50_000)
            .map(|number| FieldError::required(format!("metadata.labels.{number}"), "no"))
            .collect();
        let Failure(body) = Failure::invalid(leases, "l", &errors);
        assert!(format!("{body:?}").len() < 100_000);
    }
}
