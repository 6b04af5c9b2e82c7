//! OCM decisions, read group by group, and whether they can be believed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use portolan_api::cluster::{Placement, PlacementDecision, content_hash};
use portolan_api::decision::{self, UnreadableIndex};
use portolan_api::labels::{SCHEDULER_NAME, ocm, portolan};

use portolan_rollout::{GroupKey, Groups};

/// One decision object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The group, or why it cannot be read.
    pub(super) group: Result<GroupKey, UnreadableIndex>,
    pub(super) clusters: Vec<String>,
    /// What the labels and the clusters that belong together hash to, where its writer says so.
    said: Option<String>,
    index: String,
    /// Why it cannot be read, if it cannot.
    unreadable: Option<String>,
    whole: Whole,
}

/// Whether labels and status belong together, once it was computed. It follows from the rest of the object.
#[derive(Clone, Debug, Default)]
struct Whole(OnceLock<bool>);

impl PartialEq for Whole {
    fn eq(&self, _: &Whole) -> bool {
        true
    }
}

impl Eq for Whole {}

impl Part {
    pub(super) fn of(object: &PlacementDecision) -> Part {
        let metadata = &object.metadata;
        let label = |key: &str| metadata.labels.as_ref()?.get(key).map(String::as_str);
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let clusters = decision::clusters(object).map(|entry| entry.cluster_name.clone());
        Part {
            // Objects from before OCM had groups have no index; all of them are one group.
            group: decision::group(metadata).map(|group| {
                let group = group.unwrap_or_default();
                // Every index that can be read fits.
                GroupKey::new(&group.name, i32::try_from(group.index).unwrap_or(i32::MAX))
            }),
            said: annotation(portolan::CONTENT).map(str::to_owned),
            index: label(ocm::DECISION_GROUP_INDEX).unwrap_or_default().to_owned(),
            clusters: clusters.collect(),
            unreadable: None,
            whole: Whole::default(),
        }
    }

    /// A decision object that cannot be read.
    pub(super) fn unreadable(problem: String) -> Part {
        Part {
            group: Ok(GroupKey::default()),
            clusters: Vec::new(),
            said: None,
            index: String::new(),
            unreadable: Some(problem),
            whole: Whole::default(),
        }
    }

    /// Whether labels and status belong together. They cannot change in one write. Another writer's object does not say,
    /// and is taken as it is. Computed when it is first needed, and once: most decisions are no rollout's, and some are those
    /// of many.
    pub(super) fn is_whole(&self) -> bool {
        let hash = || content_hash(&self.index, self.clusters.iter().map(String::as_str));
        let compute = || self.said.as_ref().is_none_or(|said| *said == hash());
        *self.whole.0.get_or_init(compute)
    }
}

/// A placement, as far as a rollout looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Names of its groups, also of those that have no cluster.
    pub(super) names: Vec<String>,
    /// How many clusters its status says, and in which objects. Nothing before anything was decided.
    pub(super) told: Option<(usize, BTreeSet<String>)>,
    /// How many clusters it asks for; all that match without a number.
    pub(super) wanted: Option<usize>,
    /// No scheduler handles the Placement: its decisions are written by hand, and its status does not list them.
    pub(super) is_by_hand: bool,
}

impl Chosen {
    pub(super) fn of(placement: &Placement) -> Chosen {
        let strategy = placement.spec.decision_strategy.as_ref();
        let groups = strategy.and_then(|strategy| strategy.group_strategy.as_ref());
        let told = placement.status.as_ref().map(|status| {
            let count = usize::try_from(status.number_of_selected_clusters).unwrap_or_default();
            let names = status
                .decision_groups
                .iter()
                .flat_map(|group| group.decisions.iter().cloned());
            (count, names.collect::<BTreeSet<String>>())
        });
        let annotation = |key: &str| {
            placement
                .metadata
                .annotations
                .as_ref()?
                .get(key)
                .map(String::as_str)
        };
        let wanted = placement.spec.number_of_clusters;
        Chosen {
            wanted: wanted.map(|number| usize::try_from(number).unwrap_or_default()),
            is_by_hand: annotation(ocm::SCHEDULING_DISABLE) == Some("true")
                && annotation(portolan::SCHEDULER) != Some(SCHEDULER_NAME),
            names: groups
                .iter()
                .flat_map(|groups| &groups.decision_groups)
                .map(|group| group.group_name.clone())
                .collect(),
            told: told.filter(|(_, names)| !names.is_empty()),
        }
    }
}

/// What a placement's decision says now.
#[derive(Clone, Debug)]
pub(super) enum Reading {
    /// There is no such placement.
    Missing,
    /// It cannot be believed yet; in words, why.
    Unsettled(String),
    /// The groups.
    Groups(Groups),
}

/// Most clusters that the decision of one placement may name. An evaluation visits each of them: with a larger number a decision that
/// was written by hand could keep every rollout of the hub waiting.
const MOST_CLUSTERS: usize = 1_000_000;

/// Reads the decision of a placement. Its objects are written one by one and the placement's status last, so that a
/// decision is whole when the status tells of what there is. A group that is not there yet might be the one to wait for.
pub(super) fn read(placement: Option<&Chosen>, parts: Option<&BTreeMap<String, Part>>) -> Reading {
    let Some(chosen) = placement else {
        return Reading::Missing;
    };
    let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
        return Reading::Unsettled("nothing is decided yet".to_owned());
    };
    let named: usize = parts.values().map(|part| part.clusters.len()).sum();
    if named > MOST_CLUSTERS {
        return Reading::Unsettled(format!(
            "its PlacementDecisions name {named} clusters; accepted: at most {MOST_CLUSTERS}"
        ));
    }
    let mut groups = Groups::new();
    for (name, part) in parts {
        if let Some(problem) = &part.unreadable {
            return Reading::Unsettled(format!("PlacementDecision {name} cannot be read ({problem})"));
        }
        if !part.is_whole() {
            return Reading::Unsettled(format!("{name} is being rewritten"));
        }
        let group = match &part.group {
            Ok(group) => group,
            Err(unreadable) => return Reading::Unsettled(format!("PlacementDecision {name}: {unreadable}")),
        };
        groups.add(group.clone(), part.clusters.iter().cloned());
    }
    chosen.names.iter().for_each(|name| groups.declare(name));
    let is_told = match &chosen.told {
        Some((count, names)) => *count == groups.cluster_count() && names.iter().eq(parts.keys()),
        None => chosen.is_by_hand,
    };
    match is_told {
        true => Reading::Groups(groups),
        false => Reading::Unsettled(
            "the Placement's status does not match its PlacementDecisions yet; waiting for the scheduler to finish"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_that_names_too_many_clusters_is_not_followed() {
        let part = |clusters: usize| Part {
            clusters: vec![String::new(); clusters],
            unreadable: None,
            ..Part::unreadable(String::new())
        };
        let chosen = Chosen {
            is_by_hand: true,
            ..Chosen::default()
        };
        let parts = |last: usize| {
            let parts = [("p-decision-1", part(999_999)), ("p-decision-2", part(last))];
            BTreeMap::from(parts.map(|(name, part)| (name.to_owned(), part)))
        };
        assert!(matches!(read(Some(&chosen), Some(&parts(1))), Reading::Groups(_)));
        let Reading::Unsettled(why) = read(Some(&chosen), Some(&parts(2))) else {
            panic!("it is followed");
        };
        assert_eq!(
            why,
            "its PlacementDecisions name 1000001 clusters; accepted: at most 1000000"
        );
    }
}
