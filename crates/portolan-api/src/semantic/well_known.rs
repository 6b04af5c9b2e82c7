//! Objects of works whose kinds everybody knows: the version they are served in, and whether they are in namespaces. Other
//! kinds are not judged: only a member cluster knows them.

use serde_json::Value;

use super::{Findings, Rule, text};
use crate::field::FieldError;

/// Kinds of Kubernetes without a namespace that works bring.
pub(super) const CLUSTER_SCOPED: [&str; 20] = [
    "APIService",
    "CSIDriver",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "DeviceClass",
    "FlowSchema",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
];

/// Kinds of Kubernetes that works often bring.
struct Family {
    group: &'static str,
    /// The newest first.
    versions: &'static [&'static str],
    kinds: &'static [&'static str],
}

const FAMILIES: [Family; 11] = [
    Family {
        group: "",
        versions: &["v1"],
        kinds: &[
            "ConfigMap",
            "Endpoints",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    },
    Family {
        group: "apps",
        versions: &["v1"],
        kinds: &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    },
    Family {
        group: "batch",
        versions: &["v1"],
        kinds: &["CronJob", "Job"],
    },
    Family {
        group: "autoscaling",
        versions: &["v2", "v1"],
        kinds: &["HorizontalPodAutoscaler"],
    },
    Family {
        group: "policy",
        versions: &["v1"],
        kinds: &["PodDisruptionBudget"],
    },
    Family {
        group: "networking.k8s.io",
        versions: &["v1"],
        kinds: &["Ingress", "IngressClass", "NetworkPolicy"],
    },
    Family {
        group: "rbac.authorization.k8s.io",
        versions: &["v1"],
        kinds: &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    },
    Family {
        group: "storage.k8s.io",
        versions: &["v1"],
        kinds: &["StorageClass"],
    },
    Family {
        group: "scheduling.k8s.io",
        versions: &["v1"],
        kinds: &["PriorityClass"],
    },
    Family {
        group: "apiextensions.k8s.io",
        versions: &["v1"],
        kinds: &["CustomResourceDefinition"],
    },
    Family {
        group: "admissionregistration.k8s.io",
        versions: &["v1"],
        kinds: &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    },
];

/// Where some of the kinds were before.
const FORMER_GROUP: &str = "extensions";

impl Family {
    fn of(kind: &str) -> Option<&'static Family> {
        let mut families = FAMILIES.iter();
        families.find(|family| family.kinds.contains(&kind))
    }

    fn api_versions(&self) -> String {
        let versions = self.versions.iter().map(|version| match self.group {
            "" => (*version).to_owned(),
            group => format!("{group}/{version}"),
        });
        versions.collect::<Vec<_>>().join(" or ")
    }
}

/// What is wrong with an object of a well-known kind. `path` is its own.
pub(super) fn check(manifest: &Value, path: &str, findings: &mut Findings) {
    let (Some(api_version), Some(kind)) = (text(manifest, "/apiVersion"), text(manifest, "/kind")) else {
        return;
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let Some(family) = Family::of(kind) else { return };
    let is_of_kubernetes =
        |group: &str| group == FORMER_GROUP || FAMILIES.iter().any(|family| family.group == group);
    // Others may give their kinds any name.
    if !is_of_kubernetes(group) {
        return;
    }
    if group != family.group || !family.versions.contains(&version) {
        let is_former = group == FORMER_GROUP || (group == family.group && version.contains("beta"));
        let problem = match is_former {
            true => format!("Kubernetes no longer serves {kind} in this version"),
            false => format!("Kubernetes does not serve {kind} in this version"),
        };
        let path = format!("{path}.apiVersion");
        let error = FieldError::of_text(path, api_version, problem, family.api_versions());
        return findings.warning(Rule::ManifestKind, error);
    }
    let path = format!("{path}.metadata.namespace");
    let namespace = text(manifest, "/metadata/namespace").unwrap_or_default();
    let is_in_namespaces = !CLUSTER_SCOPED.contains(&kind);
    if is_in_namespaces && namespace.is_empty() {
        let error = FieldError {
            problem: format!("a {kind} is in a namespace, and no agent applies one without"),
            ..FieldError::missing(path, "a namespace of the member cluster, such as default")
        };
        findings.warning(Rule::ManifestKind, error);
    } else if !is_in_namespaces && !namespace.is_empty() {
        let problem = format!("a {kind} is in no namespace, so that this has no effect");
        let error = FieldError::of_text(path, namespace, problem, "no metadata.namespace");
        findings.warning(Rule::ManifestKind, error);
    }
}
