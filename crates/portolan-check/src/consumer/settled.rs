//! What holds when nothing is under way.

use std::collections::BTreeSet;

use super::walk::{Left, Seen, Walk};
use crate::{
    CheckId, Cluster, Decision, DecisionId, Report, Slice, State, decision::number_at_end, finding::listed,
    labels, revision,
};

impl Walk<'_> {
    pub(super) fn settle(&mut self, state: &State, decisions: &[Decision<'_>], report: &mut Report) {
        let followed: Vec<Option<String>> = decisions
            .iter()
            .filter(|decision| self.seen.get(&decision.id).is_some_and(|seen| seen.acted))
            .map(scheduler)
            .collect();
        for decision in decisions {
            let Some(seen) = self.seen.get_mut(&decision.id) else {
                continue;
            };
            let decided = decided(decision);
            reported(state, decision, seen, &decided, report);
            stayed(&decision.id, seen, Some(&decided), report);
            let asked: BTreeSet<Cluster> = decided
                .iter()
                .filter(|cluster| resolves(state, cluster))
                .cloned()
                .collect();
            // One that names nothing in the inventory leaves nothing to do but to report it.
            let something_to_do = decided.is_empty() || !asked.is_empty();
            if !seen.acted && something_to_do {
                ignored(decision, &followed, report);
            } else {
                deployed(decision, seen, &asked, report);
                left(&decision.id, seen, &decided, report);
                ordered(decision, seen, &decided, report);
                if decided.is_empty() && !seen.said_empty {
                    let message = "it is for no cluster, and the consumer did not tell that from no decision";
                    report.add(CheckId::C61, &decision.id, message);
                }
            }
            seen.decided = Some(decided);
        }
        for (id, seen) in &mut self.seen {
            if decisions.iter().all(|decision| decision.id != *id) {
                stayed(id, seen, None, report);
                left(id, seen, &BTreeSet::new(), report);
                seen.decided = None;
            }
        }
    }
}

/// What a consumer acts on at rest.
fn decided(decision: &Decision<'_>) -> BTreeSet<Cluster> {
    match revision::highest_complete(decision) {
        Some(revision) => revision.clusters(),
        None => decision.clusters(),
    }
}

fn resolves(state: &State, cluster: &Cluster) -> bool {
    let place = (cluster.namespace.clone(), cluster.name.clone());
    state.profiles.is_empty() || state.profiles.contains_key(&place)
}

/// C59: what cannot be used is reported.
fn reported(
    state: &State,
    decision: &Decision<'_>,
    seen: &Seen,
    decided: &BTreeSet<Cluster>,
    report: &mut Report,
) {
    let unreported = |cluster: &&Cluster| !resolves(state, cluster) && !seen.unresolved.contains(*cluster);
    let mut clusters = decided.iter().filter(unreported).peekable();
    if clusters.peek().is_some() {
        let message = format!(
            "no ClusterProfile stands for {}, which was not reported",
            listed(clusters)
        );
        report.add(CheckId::C59, &decision.id, message);
    }
    for slice in &decision.slices {
        if slice.entries > slice.clusters.len() && !seen.unreadable.contains(slice.name()) {
            let message = format!(
                "{} has entries that name no cluster, which was not reported",
                slice.name()
            );
            report.add(CheckId::C59, &decision.id, message);
        }
    }
}

/// C57: a cluster that is decided before and after keeps its workload in between.
fn stayed(id: &DecisionId, seen: &mut Seen, decided: Option<&BTreeSet<Cluster>>, report: &mut Report) {
    let removed = std::mem::take(&mut seen.removed);
    let (Some(before), Some(after)) = (&seen.decided, decided) else {
        return;
    };
    for (cluster, event) in removed {
        if before.contains(&cluster) && after.contains(&cluster) {
            let message = format!("{cluster} stays decided, and lost its workload after event {event}");
            report.add(CheckId::C57, id, message);
        }
    }
}

/// C50, C60: a decision that can be found is not passed over.
fn ignored(decision: &Decision<'_>, followed: &[Option<String>], report: &mut Report) {
    let own = scheduler(decision);
    let other = followed.iter().find(|other| **other != own);
    match other {
        Some(other) => {
            let name = |scheduler: &Option<String>| scheduler.clone().unwrap_or_else(|| "nobody".to_owned());
            let message = format!(
                "the decision by {} was passed over, and one by {} was not",
                name(&own),
                name(other)
            );
            report.add(CheckId::C60, &decision.id, message);
        }
        None => report.add(CheckId::C50, &decision.id, "the decision was not found"),
    }
}

/// C54: every decided cluster has the workload. D10 when those that lack it are the ones a wrong selector misses.
fn deployed(decision: &Decision<'_>, seen: &Seen, asked: &BTreeSet<Cluster>, report: &mut Report) {
    let missing: BTreeSet<&Cluster> = asked.difference(&seen.held).collect();
    if missing.is_empty() {
        return;
    }
    let hidden = |slice: &&Slice<'_>| {
        slice.label(labels::PLACEMENT_KEY).is_none() || number_at_end(slice.name()).is_none()
    };
    let plain: BTreeSet<&Cluster> = decision
        .slices
        .iter()
        .filter(|slice| !hidden(slice))
        .flat_map(|slice| &slice.clusters)
        .collect();
    let keyed = decision
        .slices
        .iter()
        .all(|slice| slice.label(labels::DECISION_KEY).is_some());
    if keyed && !plain.is_empty() && missing.is_disjoint(&plain) {
        let message = format!(
            "slices without a placement-key or with another name were missed: {} have no workload",
            listed(missing)
        );
        report.add(CheckId::D10, &decision.id, message);
    } else {
        let message = format!("decided and without a workload: {}", listed(missing));
        report.add(CheckId::C54, &decision.id, message);
    }
}

/// C55, C56: no cluster that was decided and no longer is has the workload.
fn left(id: &DecisionId, seen: &Seen, decided: &BTreeSet<Cluster>, report: &mut Report) {
    let stale = seen
        .held
        .iter()
        .filter(|cluster| seen.listed.contains(*cluster) && !decided.contains(*cluster));
    let (deleted, written): (Vec<&Cluster>, Vec<&Cluster>) =
        stale.partition(|cluster| seen.left.get(*cluster) == Some(&Left::Deleted));
    if !written.is_empty() {
        let message = format!("no longer decided and still with a workload: {}", listed(written));
        report.add(CheckId::C55, id, message);
    }
    if !deleted.is_empty() {
        let message = format!(
            "the slice that listed them is gone, the workload is not: {}",
            listed(deleted)
        );
        report.add(CheckId::C56, id, message);
    }
}

/// C53: whoever goes by order goes by the indexes as numbers.
fn ordered(decision: &Decision<'_>, seen: &Seen, decided: &BTreeSet<Cluster>, report: &mut Report) {
    let Some(order) = &seen.order else { return };
    if decision.slices.iter().all(|slice| slice.index().is_none()) {
        return;
    }
    let mut met = BTreeSet::new();
    let expected: Vec<&Cluster> = decision
        .in_order()
        .into_iter()
        .filter(|cluster| decided.contains(*cluster) && met.insert(*cluster))
        .collect();
    if order.iter().ne(expected.iter().copied()) {
        let message = format!(
            "the order is {}; the consumer took {}",
            listed(&expected),
            listed(order)
        );
        report.add(CheckId::C53, &decision.id, message);
    }
}

fn scheduler(decision: &Decision<'_>) -> Option<String> {
    let mut named = decision.slices.iter().filter_map(|slice| slice.scheduler);
    named.next().map(str::to_owned)
}
