//! In which order the objects of a work are applied, whatever the order of its manifests: first what others need.

/// A lower number comes first. Those with the same number keep the order of the list.
pub(crate) fn apply_order(group: &str, kind: &str) -> u8 {
    match (group, kind) {
        (_, "CustomResourceDefinition" | "Namespace" | "StorageClass" | "PersistentVolume" | "CSIDriver")
        | ("", "PersistentVolumeClaim") => 0,
        ("rbac.authorization.k8s.io", _) => 1,
        (
            _,
            "NetworkPolicy" | "ResourceQuota" | "LimitRange" | "PodSecurityPolicy" | "PodDisruptionBudget",
        )
        | (_, "PriorityClass" | "RuntimeClass" | "ServiceAccount") => 2,
        ("", "ConfigMap" | "Secret") => 3,
        ("", "Service" | "Endpoints") | ("discovery.k8s.io", "EndpointSlice") => 4,
        ("apps" | "batch", _) | ("", "Pod" | "ReplicationController") => 5,
        ("networking.k8s.io", "Ingress") | ("autoscaling", _) => 5,
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_need_comes_first() {
        let kinds = [
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            ("rbac.authorization.k8s.io", "ClusterRole"),
            ("", "ServiceAccount"),
            ("", "ConfigMap"),
            ("", "Service"),
            ("apps", "Deployment"),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
            ("example.com", "Widget"),
        ];
        let order: Vec<u8> = kinds
            .iter()
            .map(|(group, kind)| apply_order(group, kind))
            .collect();
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert_eq!(apply_order("", "Namespace"), 0);
    }
}
