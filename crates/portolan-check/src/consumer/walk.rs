//! What holds at every moment.

use std::collections::{BTreeMap, BTreeSet};

use super::{Act, Deed};
use crate::{
    CheckId, Cluster, Decision, DecisionId, Event, ObjectKind, Report, Slice, State, revision, stream::Prefix,
};

/// How a cluster left the slices of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// A slice that listed it was written without it.
    Written,
    /// A slice that listed it was deleted.
    Deleted,
}

/// What was there to see of one decision, and what the consumer did with it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Where the consumer has its workload.
    pub(super) held: BTreeSet<Cluster>,
    /// Every cluster that any slice ever listed.
    pub(super) listed: BTreeSet<Cluster>,
    pub(super) left: BTreeMap<Cluster, Left>,
    /// The sets that a reader of revisions may act on: the last complete one, and the last that was valid too.
    whole: Vec<BTreeSet<Cluster>>,
    pub(super) acted: bool,
    pub(super) said_empty: bool,
    pub(super) order: Option<Vec<Cluster>>,
    pub(super) unresolved: BTreeSet<Cluster>,
    pub(super) unreadable: BTreeSet<String>,
    /// Removals since the last settled state.
    pub(super) removed: Vec<(Cluster, usize)>,
    /// What was decided at the last settled state.
    pub(super) decided: Option<BTreeSet<Cluster>>,
}

pub(super) struct Walk<'a> {
    acts: &'a [Act],
    pub(super) seen: BTreeMap<DecisionId, Seen>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(acts: &'a [Act]) -> Self {
        Self {
            acts,
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn follow(&mut self, prefix: &Prefix<'_>, report: &mut Report) {
        let decisions = prefix.state.kep();
        self.look(prefix, &decisions);
        while let [act, rest @ ..] = self.acts
            && act.after <= prefix.length
        {
            self.acts = rest;
            self.judge(act, prefix.state, report);
        }
        if matches!(prefix.event, None | Some(Event::Settled)) {
            self.settle(prefix.state, &decisions, report);
        }
    }

    fn look(&mut self, prefix: &Prefix<'_>, decisions: &[Decision<'_>]) {
        let deleted = matches!(prefix.event, Some(Event::Deleted(_)));
        for (id, seen) in &mut self.seen {
            let now = decisions
                .iter()
                .find(|decision| decision.id == *id)
                .map(Decision::clusters)
                .unwrap_or_default();
            for cluster in seen.listed.difference(&now) {
                let how = if deleted { Left::Deleted } else { Left::Written };
                seen.left.entry(cluster.clone()).or_insert(how);
            }
            seen.left.retain(|cluster, _| !now.contains(cluster));
        }
        for decision in decisions {
            let seen = self.seen.entry(decision.id.clone()).or_default();
            seen.listed.extend(decision.clusters());
            let complete = revision::complete_revisions(decision);
            let valid = complete.iter().rfind(|revision| revision.is_valid());
            let whole: Vec<BTreeSet<Cluster>> = complete
                .last()
                .into_iter()
                .chain(valid)
                .map(|revision| revision.clusters())
                .collect();
            if !whole.is_empty() {
                seen.whole = whole;
            }
        }
    }

    fn judge(&mut self, act: &Act, state: &State, report: &mut Report) {
        let decision = state.decision(&act.decision);
        let seen = self.seen.entry(act.decision.clone()).or_default();
        seen.acted = true;
        let moment = || format!("having seen {} events the consumer", act.after);
        match &act.deed {
            Deed::Wrote(object) => {
                if matches!(object.kind, ObjectKind::Slice | ObjectKind::Decision) {
                    report.add(CheckId::C49, object, format!("{} wrote it", moment()));
                }
            }
            Deed::Deployed(cluster) => {
                seen.held.insert(cluster.clone());
                seen.said_empty = false;
                if !seen.listed.contains(cluster) {
                    let message = format!("{} deployed to {cluster}, which no slice ever listed", moment());
                    report.add(CheckId::C51, &act.decision, message);
                } else if decision.as_ref().is_some_and(is_revised)
                    && !seen.whole.iter().any(|whole| whole.contains(cluster))
                {
                    let message = format!(
                        "{} deployed to {cluster}, which no whole revision lists",
                        moment()
                    );
                    report.add(CheckId::C52, &act.decision, message);
                }
            }
            Deed::Removed(cluster) => {
                seen.held.remove(cluster);
                seen.removed.push((cluster.clone(), act.after));
                let asked = seen.whole.iter().any(|whole| !whole.contains(cluster));
                if decision.as_ref().is_some_and(is_revised) && !asked {
                    let message = format!(
                        "{} removed the workload from {cluster}, which the last whole revision lists",
                        moment()
                    );
                    report.add(CheckId::C52, &act.decision, message);
                }
            }
            Deed::Ordered(order) => seen.order = Some(order.clone()),
            Deed::Emptied => {
                seen.said_empty = true;
                if decision.is_none() {
                    let message = format!("{} took no decision for an empty one", moment());
                    report.add(CheckId::C61, &act.decision, message);
                }
            }
            Deed::Gone => {
                seen.said_empty = false;
                if decision.is_some() {
                    let message = format!("{} took the decision for gone, and it is there", moment());
                    report.add(CheckId::C61, &act.decision, message);
                }
            }
            Deed::Unresolved(cluster) => {
                seen.unresolved.insert(cluster.clone());
            }
            Deed::Unreadable(object) => {
                seen.unreadable.insert(object.name.clone());
            }
        }
    }
}

fn is_revised(decision: &Decision<'_>) -> bool {
    decision
        .slices
        .iter()
        .any(|slice| Slice::revision(slice).is_some())
}
