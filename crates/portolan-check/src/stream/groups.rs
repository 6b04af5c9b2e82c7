//! What readers that go by OCM groups see at every moment.

use std::collections::BTreeMap;

use super::Prefix;
use crate::{
    CheckId, Cluster, Decision, DecisionId, Object, Report, State,
    decision::{decimal, ocm_id},
    state::status_tells,
};

/// The earliest group in which each cluster was shown since the last settled state, and by which event.
#[derive(Debug, Default)]
pub(super) struct Shown {
    earliest: BTreeMap<(DecisionId, Cluster), (u64, usize)>,
}

impl Shown {
    pub(super) fn follow(&mut self, prefix: &Prefix<'_>) {
        let Some(object @ Object::Decision(decision)) = prefix.event.and_then(|event| event.present()) else {
            return;
        };
        let group = crate::Slice::of_ocm(decision).group().and_then(decimal);
        let (Some(id), Some(group)) = (ocm_id(&decision.metadata), group) else {
            return;
        };
        for cluster in object.clusters() {
            let shown = self
                .earliest
                .entry((id.clone(), cluster))
                .or_insert((group, prefix.length));
            if group < shown.0 {
                *shown = (group, prefix.length);
            }
        }
    }

    /// Compares with the groups of the settled states on both sides and forgets.
    pub(super) fn settle(&mut self, before: &State, after: &State, report: &mut Report) {
        let mut decided = groups_of(before);
        for (place, group) in groups_of(after) {
            decided
                .entry(place)
                .and_modify(|least| *least = group.min(*least))
                .or_insert(group);
        }
        for ((decision, cluster), (group, event)) in std::mem::take(&mut self.earliest) {
            let place = (decision, cluster);
            if let Some(own) = decided.get(&place).filter(|own| group < **own) {
                let (decision, cluster) = place;
                let message =
                    format!("event {event} shows {cluster} in group {group}, it is decided for group {own}");
                report.add(CheckId::OcmGroupOrder, decision, message);
            }
        }
    }
}

/// When the event writes the groups of a placement's status, the objects must be there already.
pub(super) fn status_last(prefix: &Prefix<'_>, report: &mut Report) {
    let Some(Object::Placement(placement)) = prefix.event.and_then(|event| event.present()) else {
        return;
    };
    let told = placement.status.as_ref().map(|status| &status.decision_groups);
    let told_before = match prefix.replaced {
        Some(Object::Placement(replaced)) => replaced.status.as_ref().map(|status| &status.decision_groups),
        _ => None,
    };
    if told.is_none() || told == told_before {
        return;
    }
    let metadata = &placement.metadata;
    let id = DecisionId::ocm(
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    );
    let decision = prefix
        .state
        .decision(&id)
        .unwrap_or_else(|| Decision::new(id.clone(), Vec::new()));
    let mut found = Report::new();
    status_tells(prefix.state, &decision, &mut found);
    for finding in found.findings {
        let message = format!("at event {} {}", prefix.length, finding.message);
        report.add(CheckId::OcmStatusLast, &id, message);
    }
}

fn groups_of(state: &State) -> BTreeMap<(DecisionId, Cluster), u64> {
    let mut groups = BTreeMap::new();
    for decision in state.ocm() {
        for object in &decision.slices {
            let Some(group) = object.group().and_then(decimal) else {
                continue;
            };
            groups.extend(
                object
                    .clusters
                    .iter()
                    .map(|cluster| ((decision.id.clone(), cluster.clone()), group)),
            );
        }
    }
    groups
}
