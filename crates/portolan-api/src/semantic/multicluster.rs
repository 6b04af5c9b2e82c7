//! Checks of `multicluster.x-k8s.io` kinds that a schema cannot express.

use std::collections::HashSet;

use serde_json::Value;

use super::{Findings, Rule, decimal_label, label, label_path, list, text};
use crate::field::FieldError;
use crate::labels::multicluster as labels;

pub(super) fn decision(object: &Value, findings: &mut Findings) {
    slice_labels(object, findings);
    let own = text(object, "/metadata/namespace").unwrap_or_default();
    let mut seen = HashSet::new();
    for (position, entry) in list(object, "/decisions") {
        reference_kind(entry, position, findings);
        let Some(cluster) = cluster_of(entry, own) else {
            continue;
        };
        if !seen.insert(cluster) {
            let error = FieldError::new(
                format!("decisions[{position}]"),
                &format!("{}/{}", cluster.0, cluster.1).into(),
                "the cluster is listed twice",
                "each cluster once",
            );
            findings.warning(Rule::DuplicateCluster, error);
        }
    }
}

fn slice_labels(object: &Value, findings: &mut Findings) {
    let index = decimal_label(object, labels::DECISION_INDEX, findings);
    decimal_label(object, labels::DECISION_REVISION, findings);
    let count = decimal_label(object, labels::DECISION_SLICE_COUNT, findings);
    let out_of_range = |key: &str, accepted: String| {
        let value = label(object, key).unwrap_or(&Value::Null);
        FieldError::new(label_path(key), value, "out of range", accepted)
    };
    if count.is_some_and(|count| count == 0 || count > labels::MAX_SLICES as u64) {
        let error = out_of_range(
            labels::DECISION_SLICE_COUNT,
            format!("1 to {}", labels::MAX_SLICES),
        );
        findings.error(Rule::DecimalLabel, error);
    } else if let (Some(index), Some(count)) = (index, count)
        && index >= count
    {
        let error = out_of_range(
            labels::DECISION_INDEX,
            format!("0 to {}, one below the slice count", count - 1),
        );
        findings.error(Rule::DecimalLabel, error);
    }
    if let Some(key) = label(object, labels::DECISION_KEY).filter(|key| **key == "") {
        let error = FieldError::new(
            label_path(labels::DECISION_KEY),
            key,
            "the key is empty",
            "a label value",
        );
        findings.error(Rule::LabelAgreement, error);
    }
}

fn reference_kind(entry: &Value, position: usize, findings: &mut Findings) {
    let Some(reference) = entry.get("clusterProfileRef") else {
        return;
    };
    let path = |field: &str| format!("decisions[{position}].clusterProfileRef.{field}");
    if let Some(kind) = reference.get("kind").filter(|kind| **kind != "ClusterProfile") {
        let error = FieldError::new(
            path("kind"),
            kind,
            "not a ClusterProfile",
            "ClusterProfile, or no kind",
        );
        findings.error(Rule::ReferenceKind, error);
    }
    if let Some(version) = reference.get("apiVersion") {
        let group = version
            .as_str()
            .and_then(|version| version.split_once('/'))
            .map(|(group, _)| group);
        if group != Some(crate::multicluster::GROUP) {
            let accepted = "multicluster.x-k8s.io/v1alpha1, or no apiVersion";
            let error = FieldError::new(
                path("apiVersion"),
                version,
                "not the group of ClusterProfile",
                accepted,
            );
            findings.error(Rule::ReferenceKind, error);
        }
    }
}

/// Namespace and name of the profile an entry names, in either form.
fn cluster_of<'a>(entry: &'a Value, own: &'a str) -> Option<(&'a str, &'a str)> {
    if let Some(name) = entry.get("clusterName").and_then(Value::as_str) {
        return Some((own, name));
    }
    let reference = entry.get("clusterProfileRef")?;
    let namespace = reference
        .get("namespace")
        .and_then(Value::as_str)
        .filter(|namespace| !namespace.is_empty());
    Some((namespace.unwrap_or(own), reference.get("name")?.as_str()?))
}

pub(super) fn profile(object: &Value, findings: &mut Findings) {
    if let Some(manager) = text(object, "/spec/clusterManager/name") {
        let accepted = format!("{manager:?}, the name of the cluster manager");
        let path = label_path(labels::CLUSTER_MANAGER);
        match label(object, labels::CLUSTER_MANAGER) {
            None => findings.warning(Rule::LabelAgreement, FieldError::missing(path, accepted)),
            Some(value) if value != manager => {
                let problem = "the label and spec.clusterManager.name differ";
                findings.warning(
                    Rule::LabelAgreement,
                    FieldError::new(path, value, problem, accepted),
                );
            }
            Some(_) => {}
        }
    }
    if text(object, "/apiVersion") == Some("multicluster.x-k8s.io/v1alpha2") {
        access_urls(object, findings);
    }
    if let Some(id) = label(object, labels::INVENTORY_MEMBER_ID).filter(|id| **id == "") {
        let error = FieldError::new(
            label_path(labels::INVENTORY_MEMBER_ID),
            id,
            "the id is empty",
            "an id, or no label",
        );
        findings.error(Rule::LabelAgreement, error);
    }
}

/// What the CEL rules of v1alpha2 say about addresses, for servers that do not evaluate CEL.
fn access_urls(object: &Value, findings: &mut Findings) {
    for (position, provider) in list(object, "/status/accessProviders") {
        for (field, schemes, accepted) in [
            ("server", &[][..], "an absolute URL with a host"),
            (
                "proxy-url",
                &["http", "https", "socks5"][..],
                "a URL with scheme http, https or socks5",
            ),
        ] {
            let Some(url) = provider.get("cluster").and_then(|cluster| cluster.get(field)) else {
                continue;
            };
            let Some((scheme, rest)) = url.as_str().map(|url| url.split_once("://").unwrap_or_default())
            else {
                continue;
            };
            let has_host = !rest.split(['/', '?', '#']).next().unwrap_or_default().is_empty();
            let fits = schemes.is_empty() || schemes.contains(&scheme);
            if scheme.is_empty() || !has_host || !fits {
                let path = format!("status.accessProviders[{position}].cluster.{field}");
                findings.error(
                    Rule::AccessUrl,
                    FieldError::new(path, url, "not a usable address", accepted),
                );
            }
        }
    }
}
