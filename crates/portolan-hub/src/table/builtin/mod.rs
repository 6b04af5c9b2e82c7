//! The columns of built-in kinds: names, types and order are those of Kubernetes 1.33; every row has the cells of the
//! wide output too, the client hides columns with a priority.

mod configuration;
mod event;
mod service;
mod workload;

use serde_json::{Value, json};

use super::column::{CREATED, Column, Compute};
use super::fields::age_of;

/// The columns of a kind, by group and kind.
pub(super) fn columns(group: &str, kind: &str) -> Vec<Column> {
    match (group, kind) {
        ("", "Namespace") => configuration::namespace(),
        ("", "ConfigMap") => configuration::config_map(),
        ("", "Secret") => configuration::secret(),
        ("", "ServiceAccount") => configuration::service_account(),
        ("coordination.k8s.io", "Lease") => configuration::lease(),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => configuration::binding(),
        ("", "Event") => event::core(),
        ("events.k8s.io", "Event") => event::events(),
        ("", "Service") => service::service(),
        ("networking.k8s.io", "Ingress") => service::ingress(),
        ("", "Pod") => workload::pod(),
        ("apps", "Deployment") => workload::deployment(),
        ("apps", "StatefulSet") => workload::stateful_set(),
        ("apps", "DaemonSet") => workload::daemon_set(),
        ("apps", "ReplicaSet") => workload::replica_set(),
        ("batch", "Job") => workload::job(),
        ("batch", "CronJob") => workload::cron_job(),
        _ => vec![Column::name(), created_at()],
    }
}

fn column(name: &str, kind: &str, description: &str, compute: Compute) -> Column {
    Column::computed(name, kind, 0, description, compute)
}

/// A column of the wide output.
fn wide(name: &str, kind: &str, description: &str, compute: Compute) -> Column {
    Column::computed(name, kind, 1, description, compute)
}

fn age() -> Column {
    column("Age", "string", CREATED, |object, now| {
        json!(age_of(object, &["metadata", "creationTimestamp"], now))
    })
}

/// Kinds without own columns show the time itself; the client turns it into nothing shorter.
fn created_at() -> Column {
    column(
        "Created At",
        "date",
        CREATED,
        |object, _| match object["metadata"].get("creationTimestamp") {
            Some(Value::String(time)) => json!(time),
            _ => Value::Null,
        },
    )
}
