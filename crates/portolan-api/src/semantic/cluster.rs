//! Checks of `cluster.open-cluster-management.io` kinds that a schema cannot express.

use std::collections::HashSet;

use serde_json::Value;

use super::{Findings, Rule, decimal_label, label, label_path, list, text};
use crate::field::FieldError;
use crate::labels::ocm;
use crate::structural::{is_dns_label, syntax};
use crate::{duration, spelling};

pub(super) fn placement(object: &Value, findings: &mut Findings) {
    if let Some(value) = object
        .pointer("/spec/scoreRateLimit")
        .filter(|value| value.is_string())
        && let text = value.as_str().unwrap_or_default()
        && let Err(error) = duration::parse_simple(text)
    {
        let error = FieldError::new(
            "spec.scoreRateLimit",
            value,
            error.to_string(),
            spelling::accepted_duration(text, duration::SIMPLE_DURATION),
        );
        findings.error(Rule::Duration, error);
    }
}

pub(super) fn decision(object: &Value, findings: &mut Findings) {
    decimal_label(object, ocm::DECISION_GROUP_INDEX, findings);
    if label(object, ocm::PLACEMENT).is_none() {
        let error = FieldError::missing(label_path(ocm::PLACEMENT), "the name of the placement");
        findings.warning(Rule::LabelAgreement, error);
    }
    let mut seen = HashSet::new();
    for (position, entry) in list(object, "/status/decisions") {
        if let Some(name) = entry.get("clusterName").and_then(Value::as_str)
            && !seen.insert(name)
        {
            let path = format!("status.decisions[{position}].clusterName");
            let error = FieldError::new(
                path,
                &name.into(),
                "the cluster is listed twice",
                "each cluster once",
            );
            findings.warning(Rule::DuplicateCluster, error);
        }
    }
}

pub(super) fn managed_cluster(object: &Value, findings: &mut Findings) {
    if let Some(name) = text(object, "/metadata/name").filter(|name| !is_dns_label(name)) {
        let problem = "no namespace can have the name of the cluster";
        let error = FieldError::new("metadata.name", &name.into(), problem, syntax::DNS_LABEL);
        findings.warning(Rule::ClusterName, error);
    }
    for (position, config) in list(object, "/spec/managedClusterClientConfigs") {
        if let Some(url) = config.get("url").and_then(Value::as_str) {
            let host = url.strip_prefix("https://").unwrap_or_default();
            if host.is_empty() || host.starts_with('/') {
                let path = format!("spec.managedClusterClientConfigs[{position}].url");
                let error = FieldError::new(path, &url.into(), "not an https address", "https:// and a host");
                findings.error(Rule::ClientUrl, error);
            }
        }
    }
}

pub(super) fn cluster_set(object: &Value, findings: &mut Findings) {
    let by_selector = text(object, "/spec/clusterSelector/selectorType") == Some("LabelSelector");
    let selector = object
        .pointer("/spec/clusterSelector/labelSelector")
        .filter(|selector| !selector.is_null());
    let path = "spec.clusterSelector.labelSelector";
    match selector {
        None if by_selector => {
            let error = FieldError {
                problem: "without it the set has no cluster".into(),
                ..FieldError::missing(path, "a label selector; an empty one selects every cluster")
            };
            findings.warning(Rule::SetSelector, error);
        }
        Some(selector) if !by_selector => {
            let problem = "it has no effect with this selectorType";
            let error = FieldError::new(
                path,
                selector,
                problem,
                "no selector, or selectorType: LabelSelector",
            );
            findings.warning(Rule::SetSelector, error);
        }
        _ => {}
    }
}

pub(super) fn binding(object: &Value, findings: &mut Findings) {
    let name = text(object, "/metadata/name");
    let set = object.pointer("/spec/clusterSet");
    let Some(name) = name else { return };
    match set {
        Some(Value::String(set)) if set == name => {}
        Some(set) => {
            let error = FieldError::of_text(
                "metadata.name",
                name,
                format!("a binding has the name of its cluster set, and spec.clusterSet is {set}"),
                format!("{set}: rename the binding, or correct spec.clusterSet if that is the mistake"),
            );
            findings.error(Rule::BindingName, error);
        }
        None => {
            let error = FieldError::missing(
                "spec.clusterSet",
                "the name of the cluster set, which is the name of the binding as well",
            );
            findings.error(Rule::BindingName, error);
        }
    }
}
