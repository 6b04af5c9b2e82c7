//! What must hold of a rollout at every moment, and when it has come to rest.
//!
//! A rollout is recorded as [`Moment`]s: how far each cluster is, and which ones are given the workload then. The rules
//! are about what is *started*; what is under way is there already, whoever allowed it.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::listed;
use crate::{CheckId, Report};

/// How far a cluster is with the workload that is rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It does not have it.
    Without,
    /// It has it and is waited for, soak time included.
    UnderWay,
    /// Done.
    Succeeded,
    /// In bad health, and still waited for.
    Failing,
    /// Given up on.
    GivenUp,
    /// Left alone on purpose.
    LeftAlone,
}

impl Progress {
    fn is_failure(self) -> bool {
        matches!(self, Progress::Failing | Progress::GivenUp)
    }
}

/// One cluster of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Position of its group.
    pub group: i32,
    /// Whether the group has to succeed before any other cluster is started.
    pub is_mandatory: bool,
    /// How far it is.
    pub progress: Progress,
    /// Whether it can be reached.
    pub is_reachable: bool,
}

/// How many clusters may fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Any number.
    Unlimited,
    /// So many of all.
    Fleet(usize),
    /// So many of each group.
    PerGroup(BTreeMap<i32, usize>),
}

/// A rollout at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Every cluster of the decision.
    pub members: BTreeMap<String, Member>,
    /// Those that are given the workload at this moment.
    pub started: BTreeSet<String>,
    /// How many clusters outside mandatory groups may be under way at once; `None` is any number.
    pub slots: Option<usize>,
    /// How many may fail.
    pub budget: Budget,
}

/// Checks a recorded rollout: every moment, and the last one as the one it came to rest in.
pub fn check(moments: &[Moment]) -> Report {
    let mut report = Report::new();
    for (number, moment) in moments.iter().enumerate() {
        let subject = format!("rollout at moment {number}");
        mandatory_first(moment, &subject, &mut report);
        within_budget(moment, &subject, &mut report);
        within_slots(moment, &subject, &mut report);
    }
    if let Some(last) = moments.last() {
        nobody_skipped(last, &mut report);
    }
    report
}

impl Moment {
    fn started_outside(&self) -> impl Iterator<Item = (&String, &Member)> {
        self.members
            .iter()
            .filter(|(name, member)| !member.is_mandatory && self.started.contains(*name))
    }

    /// Failures that count: offline clusters are none.
    fn failures(&self, group: Option<i32>) -> usize {
        let counts = |member: &&Member| {
            member.progress.is_failure()
                && !member.is_mandatory
                && member.is_reachable
                && group.is_none_or(|group| group == member.group)
        };
        self.members.values().filter(counts).count()
    }
}

fn mandatory_first(moment: &Moment, subject: &str, report: &mut Report) {
    let open = |member: &Member| !matches!(member.progress, Progress::Succeeded | Progress::LeftAlone);
    let waiting: Vec<&String> = moment
        .members
        .iter()
        .filter(|(_, member)| member.is_mandatory && open(member))
        .map(|(name, _)| name)
        .collect();
    let early: Vec<&String> = moment.started_outside().map(|(name, _)| name).collect();
    if !waiting.is_empty() && !early.is_empty() {
        let message = format!(
            "{} are started before the mandatory {}",
            listed(early),
            listed(waiting)
        );
        report.add(CheckId::RolloutMandatoryFirst, subject, message);
    }
}

fn within_budget(moment: &Moment, subject: &str, report: &mut Report) {
    match &moment.budget {
        Budget::Unlimited => {}
        Budget::Fleet(budget) => {
            let failures = moment.failures(None);
            let started: Vec<&String> = moment.started_outside().map(|(name, _)| name).collect();
            if failures > *budget && !started.is_empty() {
                let message = format!(
                    "{} are started, {failures} failed and {budget} may",
                    listed(started)
                );
                report.add(CheckId::RolloutBudget, subject, message);
            }
        }
        Budget::PerGroup(budgets) => {
            for (group, budget) in budgets {
                let failures = moment.failures(Some(*group));
                let after: Vec<&String> = moment
                    .started_outside()
                    .filter(|(_, member)| member.group > *group)
                    .map(|(name, _)| name)
                    .collect();
                if failures > *budget && !after.is_empty() {
                    let message = format!(
                        "{} are started, in group {group} {failures} failed and {budget} may",
                        listed(after)
                    );
                    report.add(CheckId::RolloutBudget, subject, message);
                }
            }
        }
    }
}

fn within_slots(moment: &Moment, subject: &str, report: &mut Report) {
    let Some(slots) = moment.slots else { return };
    let started = moment.started_outside().count();
    let takes_a_slot = |member: &&Member| {
        !member.is_mandatory
            && member.is_reachable
            && matches!(member.progress, Progress::UnderWay | Progress::Failing)
    };
    let taken = moment.members.values().filter(takes_a_slot).count();
    if started > 0 && taken + started > slots {
        let message = format!("{started} are started beside {taken} under way, {slots} may be at once");
        report.add(CheckId::RolloutSlots, subject, message);
    }
}

/// When everybody can be reached, nothing failed and nothing is under way, nobody may be without.
fn nobody_skipped(last: &Moment, report: &mut Report) {
    let excused = |member: &Member| {
        !member.is_reachable || member.progress.is_failure() || member.progress == Progress::UnderWay
    };
    if !last.started.is_empty() || last.members.values().any(excused) {
        return;
    }
    let without: Vec<&String> = last
        .members
        .iter()
        .filter(|(_, member)| member.progress == Progress::Without)
        .map(|(name, _)| name)
        .collect();
    if !without.is_empty() {
        let message = format!("at rest, and {} never got the workload", listed(without));
        report.add(CheckId::RolloutReachesAll, "rollout", message);
    }
}
