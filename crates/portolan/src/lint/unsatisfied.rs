//! The field that keeps a placement from the clusters that it asks for.

use portolan_api::FieldError;
use portolan_api::cluster::Placement;
use portolan_api::labels::{multicluster, reasons};
use portolan_engine::conditions::Condition;
use portolan_engine::fleet::Inventory;
use portolan_engine::status::Code;
use serde::Serialize;
use serde_json::json;

use crate::simulate::report::PlacementReport;

/// The error about a placement that is not satisfied. Nothing where the report says more exactly what is wrong.
pub(super) fn unexplained(
    placement: &Placement,
    report: &PlacementReport,
    inventory: Inventory,
) -> Option<FieldError> {
    if !matches!(report.status, Code::Success | Code::Warning) {
        return None;
    }
    let condition = report
        .satisfied()
        .filter(|condition| condition.status != "True")?;
    let error = error(placement, report, condition, inventory);
    let mut exact = report.findings.iter();
    (!exact.any(|exact| is_said(&error.path, &exact.field, placement))).then_some(error)
}

/// What the condition `PlacementSatisfied` says, with the field that it is about.
fn error(
    placement: &Placement,
    report: &PlacementReport,
    condition: &Condition,
    inventory: Inventory,
) -> FieldError {
    let spec = &placement.spec;
    let problem = condition.message.as_str();
    let matched = &report.filters[0].clusters;
    let survivors = &report.filters[1].clusters;
    match condition.reason.as_str() {
        reasons::NOT_ALL_DECISIONS_SCHEDULED => FieldError::new(
            "spec.numberOfClusters",
            &json!(spec.number_of_clusters),
            problem,
            format!(
                "{} or less, as long as the clusters are these",
                report.selected.len()
            ),
        ),
        reasons::NO_MANAGED_CLUSTER_MATCHED if matched.is_empty() => list(
            "spec.predicates",
            &spec.predicates,
            problem,
            &format!(
                "labels, claims and expressions that a cluster of the sets has; `portolan explain {}/{}`, with the \
                 same --file and --kubeconfig, says for each cluster what is missing",
                report.namespace, report.name
            ),
        ),
        reasons::NO_MANAGED_CLUSTER_MATCHED if survivors.is_empty() => list(
            "spec.tolerations",
            &spec.tolerations,
            problem,
            "a toleration for the taints of the clusters",
        ),
        reasons::NO_MANAGED_CLUSTER_MATCHED if spec.number_of_clusters == Some(0) => FieldError::new(
            "spec.numberOfClusters",
            &json!(0),
            problem,
            "a whole number from 1, or leave it out for every cluster that passes the filters",
        ),
        reasons::NO_MANAGED_CLUSTER_MATCHED => list(
            "spec.spreadPolicy",
            &spec.spread_policy,
            problem,
            "constraints that leave a cluster",
        ),
        _ if spec.cluster_sets.is_empty() => FieldError::new(
            "metadata.namespace",
            &json!(report.namespace),
            problem,
            match inventory {
                Inventory::ManagedClusters => "a namespace with a bound set that has clusters",
                Inventory::ClusterProfiles => "a namespace with ClusterProfiles",
            },
        ),
        _ => list(
            "spec.clusterSets",
            &spec.cluster_sets,
            problem,
            match inventory {
                Inventory::ManagedClusters => {
                    "sets that are bound to the namespace and have clusters".to_owned()
                }
                Inventory::ClusterProfiles => format!(
                    "values that ClusterProfiles of the namespace have in the label {}",
                    multicluster::CLUSTER_SET
                ),
            }
            .as_str(),
        ),
    }
}

/// Whether a finding about a field says more exactly what the error about `path` says.
fn is_said(path: &str, field: &str, placement: &Placement) -> bool {
    match path {
        // A cluster has to pass one of several: that one of them fails everywhere says nothing of the others.
        "spec.predicates" if placement.spec.predicates.len() > 1 => false,
        path => field.starts_with(path),
    }
}

/// Longer values are cut: a value in JSON has no place where a line of a terminal could be broken.
const SHOWN: usize = 48;

/// An error about a field that is a list: its value is shown, where errors about fields usually count the entries.
fn list(path: &str, value: &impl Serialize, problem: &str, accepted: &str) -> FieldError {
    let value = serde_json::to_string(value).unwrap_or_default();
    FieldError {
        path: path.to_owned(),
        value: match value.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &value[..end]),
            None => value,
        },
        problem: problem.to_owned(),
        accepted: accepted.to_owned(),
    }
}
