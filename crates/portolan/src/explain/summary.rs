//! How many clusters a placement lost, and to what.

use std::collections::BTreeMap;

use portolan_engine::explain::{Explanation, Stage, Verdict};
use portolan_engine::fleet::Inventory;
use serde::Serialize;

/// All clusters by the reason of their verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    /// Clusters in the decision.
    pub(super) selected: usize,
    /// The others by reason, the most frequent one first.
    pub(super) not_selected: Vec<Group>,
}

/// The clusters that have one reason in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    pub(super) stage: Stage,
    pub(super) reason: &'static str,
    pub(super) clusters: usize,
}

impl Summary {
    pub(super) fn new(explanation: &Explanation, inventory: Inventory) -> Summary {
        let mut groups: BTreeMap<(Stage, &'static str), usize> = BTreeMap::new();
        let others = explanation.clusters.iter().filter(|verdict| !verdict.selected);
        for verdict in others {
            *groups
                .entry((verdict.stage, reason(explanation, verdict, inventory)))
                .or_default() += 1;
        }
        let mut not_selected: Vec<Group> = groups
            .into_iter()
            .map(|((stage, reason), clusters)| Group {
                stage,
                reason,
                clusters,
            })
            .collect();
        not_selected.sort_by_key(|group| std::cmp::Reverse(group.clusters));
        Summary {
            selected: explanation.clusters.len()
                - not_selected.iter().map(|group| group.clusters).sum::<usize>(),
            not_selected,
        }
    }

    /// The others in a sentence; empty when every cluster is selected.
    pub(super) fn sentence(&self) -> String {
        let groups: Vec<String> = self
            .not_selected
            .iter()
            .map(|group| format!("{} {}", group.clusters, group.reason))
            .collect();
        match groups.is_empty() {
            true => String::new(),
            false => format!("not selected: {}\n", groups.join(", ")),
        }
    }
}

/// Whether spec.spreadPolicy gives the place of a cluster to another domain: its rank alone would select it.
pub(super) fn is_left_to_spread(explanation: &Explanation, verdict: &Verdict) -> bool {
    let number = explanation.number_of_clusters.unwrap_or(0);
    verdict.stage == Stage::NumberOfClusters && verdict.rank.is_some_and(|rank| rank <= number)
}

/// The reason of a verdict in a few words that follow a number. Fields of a check are names of the API, not prose.
fn reason(explanation: &Explanation, verdict: &Verdict, inventory: Inventory) -> &'static str {
    let field = verdict.checks.first().map_or("", |check| check.field.as_str());
    match (verdict.stage, inventory) {
        (Stage::Selected, _) => "selected",
        _ if is_left_to_spread(explanation, verdict) => "passed over for another domain (spread)",
        (Stage::NumberOfClusters, _) => "ranked behind numberOfClusters",
        (Stage::SpreadPolicy, _) => "lost to spread",
        (Stage::TaintToleration, _) => "tainted",
        (Stage::Predicate, _) => "matching no predicate",
        (Stage::Candidate, _) if field == "metadata.deletionTimestamp" => "being deleted",
        (Stage::Candidate, _) if field.starts_with("metadata.labels[") => "duplicate profiles",
        (Stage::Candidate, Inventory::ManagedClusters) => "not in a bound set of the placement",
        (Stage::Candidate, Inventory::ClusterProfiles) => "not in a set of the placement",
        (Stage::NotEvaluated, _) => "not evaluated",
    }
}
