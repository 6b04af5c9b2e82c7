//! Rule 1: who is in the union of a decision's slices at every moment.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::cluster::UpdateStrategyType;
use serde::Serialize;

use super::{Prefix, Recording};
use crate::{
    CheckId, Cluster, DecisionId, DecisionKind, Object, ObjectKey, Report, State, decision::Keys,
    finding::listed,
};

/// A cluster that left the union of a decision and came back within one transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The decision.
    pub decision: DecisionId,
    /// The cluster.
    pub cluster: Cluster,
    /// The event that took it away, from 1.
    pub left: usize,
    /// The object that event wrote or deleted.
    pub left_with: ObjectKey,
    /// The event that brought it back.
    pub returned: usize,
}

/// Rule 1 (C35): the clusters in `stays`, which are selected in the settled states before and after, are in the union
/// of the decision at every prefix. Works for recordings that were cut anywhere.
pub fn stays_present(recording: &Recording, decision: &DecisionId, stays: &BTreeSet<Cluster>) -> Report {
    let mut report = Report::new();
    let mut union = Union::of(recording);
    recording.replay(|prefix| {
        let moment = match prefix.event {
            None => {
                union.start(prefix.state);
                "at the start".to_owned()
            }
            Some(event) => {
                let changed = union.follow(&prefix);
                if !changed
                    .iter()
                    .any(|change| change.decision == *decision && !change.present)
                {
                    return;
                }
                format!("after event {} ({event})", prefix.length)
            }
        };
        let mut absent = stays
            .iter()
            .filter(|cluster| !union.contains(decision, cluster))
            .peekable();
        if absent.peek().is_some() {
            let message = format!("{moment} clusters that stay are in no slice: {}", listed(absent));
            report.add(CheckId::Rule1, decision, message);
        }
    });
    report
}

/// Every cluster that was removed and added again between two settled states.
pub fn gaps(recording: &Recording) -> Vec<Gap> {
    gaps_where(recording, |_, _| true)
}

/// Rule 1 in its general form: no [`Gap`] in any decision that promises none, which are all of the KEP kind and those
/// of the OCM kind whose Placement says `RollingUpdate` at that moment.
pub fn no_gaps(recording: &Recording) -> Report {
    let mut report = Report::new();
    let promised =
        |state: &State, decision: &DecisionId| decision.kind == DecisionKind::Kep || rolls(state, decision);
    let mut by_event: BTreeMap<(DecisionId, usize), Vec<Gap>> = BTreeMap::new();
    for gap in gaps_where(recording, promised) {
        by_event
            .entry((gap.decision.clone(), gap.left))
            .or_default()
            .push(gap);
    }
    for ((decision, left), gaps) in by_event {
        let clusters = listed(
            gaps.iter()
                .map(|gap| format!("{} (back at event {})", gap.cluster, gap.returned)),
        );
        let object = gaps
            .first()
            .map(|gap| gap.left_with.to_string())
            .unwrap_or_default();
        report.add(
            CheckId::Rule1,
            &decision,
            format!("event {left} on {object} took away what returns: {clusters}"),
        );
    }
    report
}

/// The gaps of decisions that `promised` holds for when the cluster leaves.
fn gaps_where(recording: &Recording, promised: impl Fn(&State, &DecisionId) -> bool) -> Vec<Gap> {
    let mut union = Union::of(recording);
    let mut gone: BTreeMap<(DecisionId, Cluster), (usize, ObjectKey)> = BTreeMap::new();
    let mut gaps = Vec::new();
    recording.replay(|prefix| {
        let Some(event) = prefix.event else {
            return union.start(prefix.state);
        };
        let Some(object) = event.object() else {
            return gone.clear();
        };
        for Change {
            decision,
            cluster,
            present,
        } in union.follow(&prefix)
        {
            let place = (decision, cluster);
            if present {
                if let Some((left, left_with)) = gone.remove(&place) {
                    let (decision, cluster) = place;
                    gaps.push(Gap {
                        decision,
                        cluster,
                        left,
                        left_with,
                        returned: prefix.length,
                    });
                }
            } else if promised(prefix.state, &place.0) {
                gone.insert(place, (prefix.length, object.key()));
            }
        }
    });
    gaps
}

fn rolls(state: &State, decision: &DecisionId) -> bool {
    let strategy = state
        .placement_of(decision)
        .and_then(|placement| placement.spec.decision_strategy.as_ref());
    let update = strategy
        .and_then(|strategy| strategy.update_strategy.as_ref())
        .and_then(|update| update.r#type);
    update == Some(UpdateStrategyType::RollingUpdate)
}

struct Change {
    decision: DecisionId,
    cluster: Cluster,
    present: bool,
}

/// How often each decision lists each cluster, kept up to date event by event: the cost of a step follows the object
/// that was written, not the size of the state.
struct Union {
    keys: Keys,
    counts: BTreeMap<DecisionId, BTreeMap<Cluster, usize>>,
}

impl Union {
    fn of(recording: &Recording) -> Self {
        let written = recording.events.iter().filter_map(|event| match event.object() {
            Some(Object::Slice(slice)) => Some(&slice.metadata),
            _ => None,
        });
        let listed = recording.initial.slices.values().map(|slice| &slice.metadata);
        Self {
            keys: Keys::of(listed.chain(written)),
            counts: BTreeMap::new(),
        }
    }

    fn start(&mut self, initial: &State) {
        for object in initial.objects() {
            self.count(&object, 1);
        }
    }

    fn contains(&self, decision: &DecisionId, cluster: &Cluster) -> bool {
        self.counts
            .get(decision)
            .is_some_and(|counts| counts.contains_key(cluster))
    }

    fn follow(&mut self, prefix: &Prefix<'_>) -> Vec<Change> {
        let present = prefix.event.and_then(|event| event.present());
        let mut touched: BTreeSet<(DecisionId, Cluster)> = BTreeSet::new();
        for object in [prefix.replaced, present].into_iter().flatten() {
            if let Some(decision) = self.keys.id(object) {
                touched.extend(
                    object
                        .clusters()
                        .into_iter()
                        .map(|cluster| (decision.clone(), cluster)),
                );
            }
        }
        let before: Vec<bool> = touched
            .iter()
            .map(|(decision, cluster)| self.contains(decision, cluster))
            .collect();
        if let Some(object) = present {
            self.count(object, 1);
        }
        if let Some(object) = prefix.replaced {
            self.count(object, -1);
        }
        let changes = touched
            .into_iter()
            .zip(before)
            .filter_map(|((decision, cluster), before)| {
                let present = self.contains(&decision, &cluster);
                (present != before).then_some(Change {
                    decision,
                    cluster,
                    present,
                })
            });
        changes.collect()
    }

    fn count(&mut self, object: &Object, by: isize) {
        let Some(decision) = self.keys.id(object) else {
            return;
        };
        let counts = self.counts.entry(decision).or_default();
        for cluster in object.clusters() {
            let count = counts.entry(cluster.clone()).or_default();
            *count = count.saturating_add_signed(by);
            if *count == 0 {
                counts.remove(&cluster);
            }
        }
    }
}
