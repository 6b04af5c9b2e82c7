//! Wrong spellings that were seen in design documents, where likeness alone would not find the right one.

use serde_json::Value;

use super::words;
use crate::field::{FieldError, Path};
use crate::{cluster, multicluster};

/// The field that is meant by an unknown `name` inside the field `parent` of an object.
pub(super) fn field(group: &str, kind: &str, parent: &str, name: &str) -> Option<&'static str> {
    let right = match (parent, name) {
        ("decisionGroups", "clusterSelector") => "groupClusterSelector.labelSelector",
        ("decisionGroups", "labelSelector") => "groupClusterSelector.labelSelector",
        ("decisionGroups", "claimSelector") => "groupClusterSelector.claimSelector",
        ("decisionGroups", "placementDecisions") => "decisions",
        ("decisionGroups", "name") => "groupName",
        ("groupStrategy", "clustersPercentagePerDecisionGroup" | "ClustersPercentagePerDecisionGroup") => {
            "clustersPerDecisionGroup"
        }
        ("rolloutStrategy", "rolloutType") => "type",
        ("predicates", "labelSelector") => "requiredClusterSelector.labelSelector",
        ("predicates", "claimSelector") => "requiredClusterSelector.claimSelector",
        ("predicates", "celSelector") => "requiredClusterSelector.celSelector",
        ("", "spec") if kind == "PlacementDecision" && group == cluster::GROUP => "status",
        _ => return top_level(group, kind, parent, name),
    };
    Some(right)
}

/// The KEP's decision has its fields at the top, where OCM's has them under `status`.
fn top_level(group: &str, kind: &str, parent: &str, name: &str) -> Option<&'static str> {
    let kep_decision = kind == "PlacementDecision" && group == multicluster::GROUP;
    (kep_decision && parent.is_empty() && matches!(name, "spec" | "status")).then_some("decisions")
}

/// Mandatory groups are objects, not names.
pub(super) fn bare_item(parent: &str, item: &Value, path: &Path<'_>) -> Option<FieldError> {
    let accepted = match item {
        Value::String(name) if parent == "mandatoryDecisionGroups" => {
            let name: String = name.chars().take(63).collect();
            format!("{{groupName: {name}}}, the right spelling")
        }
        Value::Number(index) if parent == "mandatoryDecisionGroups" => {
            format!("{{groupIndex: {index}}}, the right spelling")
        }
        _ => return None,
    };
    Some(FieldError::new(path, item, "an entry is an object", accepted))
}

/// Whether the field at the path is one of a toleration.
pub(super) fn is_of_toleration(path: &str) -> bool {
    path.contains("tolerations[")
}

/// The operator that is meant. Tolerations and selectors have different ones.
pub(super) fn operator(text: &str, path: &str) -> Option<&'static str> {
    let candidates: &[&str] = if is_of_toleration(path) {
        &["Equal", "Exists"]
    } else {
        &["In", "NotIn", "Exists", "DoesNotExist"]
    };
    if candidates.contains(&text) {
        return None;
    }
    match text {
        "NotExists" | "NotExist" | "DoesNotExists" | "!Exists" if candidates.contains(&"DoesNotExist") => {
            Some("DoesNotExist")
        }
        "==" | "=" | "Equals" if candidates.contains(&"Equal") => Some("Equal"),
        "==" | "=" | "Equal" | "Equals" => Some("In"),
        // Every two-letter word is two letters away from In, so short words have to agree but for case.
        short if short.len() < 4 => candidates
            .iter()
            .copied()
            .find(|right| right.eq_ignore_ascii_case(short)),
        text => words::closest(text, candidates.iter().copied()),
    }
}

/// Label keys that a design document writes without dashes.
pub(super) fn label_keys(object: &Value, found: &mut Vec<FieldError>) {
    const KEYS: &[(&str, &str)] = &[
        ("decisiongroupindex", "decision-group-index"),
        ("decisiongroupname", "decision-group-name"),
        ("decisionindex", "decision-index"),
        ("decisionkey", "decision-key"),
        ("decisionrevision", "decision-revision"),
        ("placementkey", "placement-key"),
    ];
    let Some(labels) = object.pointer("/metadata/labels").and_then(Value::as_object) else {
        return;
    };
    for (key, value) in labels {
        let Some((prefix, name)) = key.split_once('/') else {
            continue;
        };
        let Some((_, right)) = KEYS.iter().find(|(wrong, _)| name.eq_ignore_ascii_case(wrong)) else {
            continue;
        };
        if prefix == cluster::GROUP || prefix == multicluster::GROUP {
            let path = Path::ROOT.field("metadata");
            let path = path.field("labels");
            let problem = "no one reads a label with this key";
            found.push(FieldError::new(
                path.field(key),
                value,
                problem,
                format!("{prefix}/{right}, the right spelling"),
            ));
        }
    }
}
