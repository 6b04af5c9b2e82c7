//! What is asked, and the answer in Kubernetes' words.

use std::fmt;

use serde_json::{Value, json};

use super::binding::Binding;
use crate::access::identity::Identity;

/// One question: may this user do this?
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The identity of the client.
    pub(crate) identity: &'a Identity,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection` or any other word; for paths the
    /// HTTP method in lower case.
    pub(crate) verb: &'a str,
    /// On what.
    pub(crate) target: Target<'a>,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// Objects of an API. Empty strings stand for the core group, no subresource, all namespaces and all names.
    Resource {
        /// The API group.
        group: &'a str,
        /// The plural name.
        resource: &'a str,
        /// `status`, `scale` and the like.
        subresource: &'a str,
        /// The namespace.
        namespace: &'a str,
        /// The name of the object.
        name: &'a str,
    },
    /// A path that is no resource, such as `/healthz`.
    Path(&'a str),
}

/// The answer.
#[derive(Debug)]
#[must_use]
pub(crate) enum Decision<'r> {
    /// Yes.
    Allowed(Reason<'r>),
    /// No rule says so.
    Denied(Denial),
}

impl Decision<'_> {
    /// Whether the answer is yes.
    pub(crate) fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed(_))
    }
}

/// Why a request is allowed.
#[derive(Debug)]
pub(crate) enum Reason<'r> {
    /// The user belongs to `system:masters`.
    Masters,
    /// A binding gives the role to the user.
    Binding {
        /// The binding.
        binding: &'r Binding,
        /// The user. Which of the subjects it is, is looked for only where the reason is shown: there may be 10,000.
        identity: &'r Identity,
    },
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Masters => Ok(()),
            Reason::Binding { binding, identity } => {
                write!(formatter, "RBAC: allowed by {binding}")?;
                match binding.subject_for(identity) {
                    Some(subject) => write!(formatter, " to {subject}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// A refusal, with what went wrong while looking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Denial {
    /// Roles that bindings of the user name but that do not exist.
    pub(crate) missing_roles: Vec<String>,
}

impl Denial {
    /// The reason part of a review or message; empty where there is nothing to add.
    pub(crate) fn reason(&self) -> String {
        match &self.missing_roles[..] {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            several => format!("RBAC: [{}]", several.join(", ")),
        }
    }

    /// What the user cannot do: `User "x" cannot list resource "configmaps" in API group "" in the namespace "default"`.
    pub(crate) fn message(&self, request: &Request<'_>) -> String {
        let (user, verb) = (&request.identity.user, request.verb);
        let message = match request.target {
            Target::Path(path) => format!("User {user:?} cannot {verb} path {path:?}"),
            Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                let scope = match namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let resource = format!("{resource}{slash}{subresource}");
                format!("User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {scope}")
            }
        };
        // The message can be shown by a browser, and everything in it was chosen by the client.
        let message = message
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        match self.reason() {
            reason if reason.is_empty() => message,
            reason => format!("{message}: {reason}"),
        }
    }

    /// The Status to answer with, code 403.
    pub(crate) fn status(&self, request: &Request<'_>) -> Value {
        match request.target {
            Target::Path(_) => forbidden("", "", "", &self.message(request)),
            Target::Resource {
                group,
                resource,
                name,
                ..
            } => forbidden(group, resource, name, &self.message(request)),
        }
    }
}

/// A Status of reason Forbidden about an object or a kind.
pub(super) fn forbidden(group: &str, resource: &str, name: &str, message: &str) -> Value {
    let qualified = if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    };
    let message = match (qualified.as_str(), name) {
        ("", _) => format!("forbidden: {message}"),
        (qualified, "") => format!("{qualified} is forbidden: {message}"),
        (qualified, name) => format!("{qualified} {name:?} is forbidden: {message}"),
    };
    let mut details = serde_json::Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", resource)] {
        if !value.is_empty() {
            details.insert(key.to_owned(), json!(value));
        }
    }
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "Forbidden",
        "details": details,
        "code": 403,
    })
}
