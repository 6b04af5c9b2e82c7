//! Which kinds are accepted as protobuf, and by which table they are read.

use super::messages::{core, definition, meta, network, pod, rbac, review, sets, workload};
use super::schema::Message;

/// `(apiVersion, kind, table)`.
type Accepted = (&'static str, &'static str, &'static Message);

static ACCEPTED: [Accepted; 28] = [
    ("v1", "ConfigMap", &core::CONFIG_MAP),
    ("v1", "Event", &core::EVENT),
    ("v1", "Namespace", &core::NAMESPACE),
    ("v1", "Pod", &pod::POD),
    ("v1", "Secret", &core::SECRET),
    ("v1", "Service", &core::SERVICE),
    ("v1", "ServiceAccount", &core::SERVICE_ACCOUNT),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition::CUSTOM_RESOURCE_DEFINITION,
    ),
    ("apps/v1", "DaemonSet", &sets::DAEMON_SET),
    ("apps/v1", "Deployment", &workload::DEPLOYMENT),
    ("apps/v1", "StatefulSet", &sets::STATEFUL_SET),
    (
        "authentication.k8s.io/v1",
        "SelfSubjectReview",
        &review::SELF_SUBJECT_REVIEW,
    ),
    ("authentication.k8s.io/v1", "TokenRequest", &review::TOKEN_REQUEST),
    ("authentication.k8s.io/v1", "TokenReview", &review::TOKEN_REVIEW),
    (
        "authorization.k8s.io/v1",
        "LocalSubjectAccessReview",
        &review::LOCAL_SUBJECT_ACCESS_REVIEW,
    ),
    (
        "authorization.k8s.io/v1",
        "SelfSubjectAccessReview",
        &review::SELF_SUBJECT_ACCESS_REVIEW,
    ),
    (
        "authorization.k8s.io/v1",
        "SelfSubjectRulesReview",
        &review::SELF_SUBJECT_RULES_REVIEW,
    ),
    (
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        &review::SUBJECT_ACCESS_REVIEW,
    ),
    ("batch/v1", "CronJob", &workload::CRON_JOB),
    ("batch/v1", "Job", &workload::JOB),
    ("coordination.k8s.io/v1", "Lease", &core::LEASE),
    ("events.k8s.io/v1", "Event", &core::EVENTS_EVENT),
    ("meta.k8s.io/v1", "DeleteOptions", &meta::DELETE_OPTIONS),
    ("networking.k8s.io/v1", "Ingress", &network::INGRESS),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", &rbac::CLUSTER_ROLE),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        &rbac::CLUSTER_ROLE_BINDING,
    ),
    ("rbac.authorization.k8s.io/v1", "Role", &rbac::ROLE),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", &rbac::ROLE_BINDING),
];

/// The table of a kind.
pub(super) fn message_for(api_version: &str, kind: &str) -> Option<&'static Message> {
    // Clients send DeleteOptions in the version of whatever they delete.
    let matches =
        |accepted: &&Accepted| accepted.1 == kind && (accepted.0 == api_version || kind == "DeleteOptions");
    ACCEPTED.iter().find(matches).map(|accepted| accepted.2)
}

/// The accepted kinds for an error message: `v1 ConfigMap, v1 Event, …`.
pub(super) fn accepted() -> String {
    let names: Vec<_> = ACCEPTED
        .iter()
        .map(|(version, kind, _)| format!("{version} {kind}"))
        .collect();
    names.join(", ")
}

#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Accepted> {
    ACCEPTED.iter()
}
