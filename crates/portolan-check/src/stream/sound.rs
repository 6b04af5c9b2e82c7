//! What readers that know revisions act on, at every moment.

use std::collections::BTreeSet;

use super::Recording;
use crate::{CheckId, Cluster, DecisionId, Report, finding::listed, revision};

/// How close a complete revision must be to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// It lists every cluster that all answers have, and none that no answer has.
    Between,
    /// It is one of the answers.
    Exact,
}

/// At every prefix the highest complete revision of the decision is sound with respect to `answers`: what was decided
/// at the start and everything that was decided since, in any order.
pub fn revisions_sound(
    recording: &Recording,
    decision: &DecisionId,
    answers: &[BTreeSet<Cluster>],
    soundness: Soundness,
) -> Report {
    let mut report = Report::new();
    recording.replay(|prefix| {
        let Some(found) = prefix.state.decision(decision) else {
            return;
        };
        if let Some(revision) = revision::highest_complete(&found) {
            judge(
                decision,
                &Seen::new(prefix.length, revision),
                answers,
                soundness,
                &mut report,
            );
        }
    });
    report
}

/// The set that a complete revision showed after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) after: usize,
    pub(super) revision: u64,
    pub(super) clusters: BTreeSet<Cluster>,
}

impl Seen {
    pub(super) fn new(after: usize, revision: revision::Revision) -> Self {
        Self {
            after,
            revision: revision.number,
            clusters: revision.clusters(),
        }
    }
}

pub(super) fn judge(
    decision: &DecisionId,
    seen: &Seen,
    answers: &[BTreeSet<Cluster>],
    soundness: Soundness,
    report: &mut Report,
) {
    if answers.contains(&seen.clusters) {
        return;
    }
    let everywhere = |cluster: &&Cluster| answers.iter().all(|answer| answer.contains(*cluster));
    let nowhere = |cluster: &&Cluster| !answers.iter().any(|answer| answer.contains(*cluster));
    let lost: Vec<&Cluster> = answers
        .first()
        .into_iter()
        .flatten()
        .filter(everywhere)
        .filter(|cluster| !seen.clusters.contains(*cluster))
        .collect();
    let invented: Vec<&Cluster> = seen.clusters.iter().filter(nowhere).collect();
    let evidence = if !lost.is_empty() {
        format!("lacks {}, which stay", listed(lost))
    } else if !invented.is_empty() {
        format!("lists {}, which nothing decided", listed(invented))
    } else if soundness == Soundness::Exact {
        format!(
            "mixes answers: {} clusters, none of the {} answers",
            seen.clusters.len(),
            answers.len()
        )
    } else {
        return;
    };
    let message = format!(
        "after event {} complete revision {} {evidence}",
        seen.after, seen.revision
    );
    report.add(CheckId::KepSound, decision, message);
}
