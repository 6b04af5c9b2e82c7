//! Authorization: decisions, aggregation, escalation, and how fast.

mod decide;
mod escalate;
mod update;

use serde_json::{Value, json};

use super::*;
use crate::access::identity::Identity;

/// A rule from `(verbs, group, resources)`, each a list with spaces.
fn rule(verbs: &str, group: &str, resources: &str) -> Value {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    json!({"verbs": words(verbs), "apiGroups": [group], "resources": words(resources)})
}

fn role(namespace: &str, name: &str, rules: Value) -> Value {
    match namespace {
        "" => json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
        _ => json!({"kind": "Role", "metadata": {"name": name, "namespace": namespace}, "rules": rules}),
    }
}

/// A binding of `Kind/role` to `Kind:subject`.
fn binding(namespace: &str, name: &str, role: &str, subjects: &[&str]) -> Value {
    let (role_kind, role_name) = role.split_once('/').unwrap();
    let subject = |subject: &&str| {
        let (kind, name) = subject.split_once(':').unwrap();
        match (kind, name.split_once('/')) {
            ("ServiceAccount", Some((namespace, name))) => {
                json!({"kind": kind, "namespace": namespace, "name": name})
            }
            _ => json!({"kind": kind, "name": name}),
        }
    };
    let kind = if namespace.is_empty() {
        "ClusterRoleBinding"
    } else {
        "RoleBinding"
    };
    json!({
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role_name},
        "subjects": subjects.iter().map(subject).collect::<Vec<_>>(),
    })
}

/// What a role gathers of others, if it gathers.
fn aggregated_rules(rbac: &Rbac, name: &str) -> Option<Vec<Value>> {
    rbac.aggregated()
        .find(|(other, _)| *other == name)
        .map(|(_, rules)| rules)
}

fn user(name: &str) -> Identity {
    Identity::authenticated(name, [""; 0])
}

/// `verb resource[.group][/subresource] [namespace[/name]]`, or `verb /path`.
fn ask<'a>(identity: &'a Identity, question: &'a str) -> Request<'a> {
    let mut words = question.split(' ');
    let (verb, what) = (words.next().unwrap(), words.next().unwrap());
    if what.starts_with('/') {
        return Request {
            identity,
            verb,
            target: Target::Path(what),
        };
    }
    let (what, subresource) = what.split_once('/').unwrap_or((what, ""));
    let (resource, group) = what.split_once('.').unwrap_or((what, ""));
    let place = words.next().unwrap_or_default();
    let (namespace, name) = place.split_once('/').unwrap_or((place, ""));
    Request {
        identity,
        verb,
        target: Target::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
        },
    }
}
