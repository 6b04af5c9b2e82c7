//! Bindings: which role goes to whom.

use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

use crate::access::identity::{Identity, service_account_user};

/// A RoleBinding, or a ClusterRoleBinding where the namespace is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// `Role` or `ClusterRole`.
    pub(crate) role_kind: String,
    /// The role it gives.
    pub(crate) role_name: String,
    pub(super) subjects: Vec<Subject>,
}

/// Whom a binding names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A user by name.
    User(String),
    /// A group by name.
    Group(String),
    /// A service account by namespace and name.
    ServiceAccount(String, String),
}

impl Binding {
    pub(super) fn from_json(object: &Value, namespace: &str) -> Self {
        let subjects = object
            .get("subjects")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        Self {
            namespace: namespace.to_owned(),
            name: text(object, "/metadata/name").to_owned(),
            role_kind: text(object, "/roleRef/kind").to_owned(),
            role_name: text(object, "/roleRef/name").to_owned(),
            subjects: subjects
                .iter()
                .filter_map(|subject| Subject::from_json(subject, namespace))
                .collect(),
        }
    }

    /// The names of its users, service accounts among them, and of its groups.
    pub(super) fn users_and_groups(&self) -> (Vec<String>, Vec<String>) {
        let (mut users, mut groups) = (Vec::new(), Vec::new());
        for subject in &self.subjects {
            match subject {
                Subject::User(name) => users.push(name.clone()),
                Subject::Group(name) => groups.push(name.clone()),
                Subject::ServiceAccount(namespace, name) => users.push(service_account_user(namespace, name)),
            }
        }
        (users, groups)
    }

    pub(super) fn subject_for(&self, identity: &Identity) -> Option<&Subject> {
        let groups: HashSet<&str> = identity.groups.iter().map(String::as_str).collect();
        let account = identity.account();
        self.subjects.iter().find(|subject| match subject {
            Subject::User(user) => *user == identity.user,
            Subject::Group(group) => groups.contains(group.as_str()),
            Subject::ServiceAccount(namespace, name) => account == Some((namespace, name)),
        })
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, role) = (&self.role_kind, &self.role_name);
        match self.namespace.as_str() {
            "" => write!(formatter, "ClusterRoleBinding {:?} of {kind} {role:?}", self.name),
            namespace => {
                write!(
                    formatter,
                    "RoleBinding {:?} of {kind} {role:?}",
                    format!("{}/{namespace}", self.name)
                )
            }
        }
    }
}

impl Subject {
    fn from_json(subject: &Value, binding_namespace: &str) -> Option<Self> {
        let name = text(subject, "/name").to_owned();
        Some(match text(subject, "/kind") {
            "User" => Subject::User(name),
            "Group" => Subject::Group(name),
            "ServiceAccount" => {
                // A RoleBinding may leave the namespace out and means its own.
                let namespace = Some(text(subject, "/namespace")).filter(|namespace| !namespace.is_empty());
                Subject::ServiceAccount(namespace.unwrap_or(binding_namespace).to_owned(), name)
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::User(name) => write!(formatter, "User {name:?}"),
            Subject::Group(name) => write!(formatter, "Group {name:?}"),
            Subject::ServiceAccount(namespace, name) => {
                write!(formatter, "ServiceAccount {:?}", format!("{name}/{namespace}"))
            }
        }
    }
}

/// The text at a pointer, empty where there is none.
pub(super) fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
