//! Revisions and the number of slices a change touches.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    CheckId, Cluster, Decision, DecisionId, Report, Slice, State, finding::listed, labels, revision,
};

/// Slices that one changed cluster may touch: where it was and where it goes.
const PER_CLUSTER: usize = 2;

/// Slices that one slice fewer may touch: its entries fill holes, of which a packed decision has fewer than 100 in all,
/// and the last object takes the freed index.
const PER_SLICE_FEWER: usize = 102;

/// C37: when more than one slice of the decision changed, its revision changed. Applies when revisions are used.
pub fn one_revision(before: &State, after: &State, id: &DecisionId) -> Report {
    let mut report = Report::new();
    let (Some(had), Some(has)) = (before.decision(id), after.decision(id)) else {
        return report;
    };
    let (Some(old), Some(new)) = (revision::highest_seen(&had), revision::highest_seen(&has)) else {
        return report;
    };
    let touched = touched(&had, &has, |slice| {
        (slice.clusters.clone(), slice.index(), slice.slice_count())
    });
    if touched.len() > 1 && old == new {
        let message = format!(
            "{} slices changed under revision {old}: {}",
            touched.len(),
            listed(touched)
        );
        report.add(CheckId::C37, id, message);
    }
    report
}

/// D4: in no decision does the revision fall, and one that is new starts at 0.
pub fn revisions_rise(before: &State, after: &State) -> Report {
    let mut report = Report::new();
    for decision in after.kep() {
        let had = before.decision(&decision.id);
        let highest = had.as_ref().and_then(revision::highest_seen);
        if had.is_none() || highest.is_some() {
            rises(&decision, highest, 0, &mut report);
        }
    }
    report
}

/// D3: entries, schedulerName and the labels of the KEP are the same on every slice that is there on both sides. Only
/// schedulers that publish a revision as new objects meet it.
pub fn immutable(before: &State, after: &State) -> Report {
    let mut report = Report::new();
    for (place, had) in &before.slices {
        let Some(has) = after
            .slices
            .get(place)
            .filter(|has| has.metadata.uid == had.metadata.uid)
        else {
            continue;
        };
        let (old, new) = (Slice::of_kep(had), Slice::of_kep(has));
        let defined = [
            labels::DECISION_KEY,
            labels::DECISION_REVISION,
            labels::DECISION_SLICE_COUNT,
            labels::DECISION_INDEX,
            labels::PLACEMENT_KEY,
        ];
        let label = defined.into_iter().find(|key| old.label(key) != new.label(key));
        let problem = if had.decisions != has.decisions {
            "decisions changed".to_owned()
        } else if old.scheduler != new.scheduler {
            "schedulerName changed".to_owned()
        } else if let Some(label) = label {
            format!("label {label} changed")
        } else {
            continue;
        };
        report.add(CheckId::D3, &new.key, problem);
    }
    report
}

/// C34: for a decision whose order does not matter, the number of slices whose entries changed follows the number of
/// clusters that changed. Decisions in several groups are left out: their groups are cut anew.
pub fn few_slices(before: &State, after: &State, id: &DecisionId) -> Report {
    let mut report = Report::new();
    let (Some(had), Some(has)) = (before.decision(id), after.decision(id)) else {
        return report;
    };
    let ordered = |state: &State| {
        let sort = state
            .placement_of(id)
            .and_then(|placement| placement.spec.sort_by);
        sort == Some(portolan_api::cluster::SortBy::Score)
    };
    let grouped = |decision: &Decision<'_>| {
        decision
            .slices
            .iter()
            .map(Slice::group)
            .collect::<BTreeSet<_>>()
            .len()
            > 1
    };
    if ordered(before) || ordered(after) || grouped(&had) || grouped(&has) {
        return report;
    }
    let changed = had.clusters().symmetric_difference(&has.clusters()).count();
    let fewer = had.slices.len().saturating_sub(has.slices.len());
    let set = |slice: &Slice<'_>| slice.clusters.iter().cloned().collect::<BTreeSet<Cluster>>();
    let touched = touched(&had, &has, set);
    let allowed = PER_CLUSTER * changed + PER_SLICE_FEWER * fewer;
    if touched.len() > allowed {
        let message = format!(
            "{changed} clusters changed, {} slices have other entries: {}",
            touched.len(),
            listed(touched)
        );
        report.add(CheckId::C34, id, message);
    }
    report
}

/// D4 for one decision whose highest revision was `before`, if it existed.
pub(crate) fn rises(decision: &Decision<'_>, before: Option<u64>, event: usize, report: &mut Report) {
    let Some(now) = revision::highest_seen(decision) else {
        return;
    };
    let when = if event == 0 {
        String::new()
    } else {
        format!("at event {event} ")
    };
    match before {
        Some(before) if now < before => {
            report.add(
                CheckId::D4,
                &decision.id,
                format!("{when}the revision falls from {before} to {now}"),
            );
        }
        None if now != 0 => {
            report.add(
                CheckId::D4,
                &decision.id,
                format!("{when}the first revision is {now}, not 0"),
            );
        }
        _ => {}
    }
}

/// The names of slices that came, went or differ in `aspect`.
fn touched<'a, T: PartialEq>(
    had: &Decision<'a>,
    has: &Decision<'a>,
    aspect: impl Fn(&Slice<'a>) -> T,
) -> BTreeSet<String> {
    let index = |decision: &Decision<'a>| -> BTreeMap<String, T> {
        decision
            .slices
            .iter()
            .map(|slice| (slice.name().to_owned(), aspect(slice)))
            .collect()
    };
    let (had, has) = (index(had), index(has));
    had.keys()
        .chain(has.keys())
        .filter(|name| had.get(*name) != has.get(*name))
        .cloned()
        .collect()
}
