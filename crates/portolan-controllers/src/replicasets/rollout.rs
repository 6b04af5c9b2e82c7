//! The rollout of a replica set to one placement: what is there, what the plan says, and what is to be written for it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use portolan_api::FieldError;
use portolan_rollout::{Cluster, Existing, Groups, Input, Plan, Status, is_done, plan};
use serde_json::json;

use super::attempts::Attempt;
use super::failures::most_frequent;
use super::key::WorkKey;
use super::message::WorkWrite;
use super::refusals::{REFUSALS, Refusal};
use super::set::Reference;
use super::verdict::{PlacementTally, Primaries, Refused, Verdict, View, earliest};
use super::works::Work;
use crate::absence::Absence;
use crate::bound::Right;
use crate::moment::Moment;
use crate::sabotage::{Rule, sabotaged};

/// The rollout to one placement.
pub(super) struct Rollout<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) reference: &'a Reference,
    pub(super) groups: &'a Groups,
    pub(super) primary: &'a Primaries<'a>,
}

impl<'a> Rollout<'a> {
    pub(super) fn now(&self) -> Moment {
        self.view.now
    }

    fn work(&self, cluster: &str) -> Option<(&'a WorkKey, &'a Work)> {
        self.primary.get(cluster).copied()
    }

    pub(super) fn current(&self, cluster: &str) -> Option<&'a Work> {
        let (_, work) = self.work(cluster)?;
        (!work.is_leaving && self.view.set.is_current(work.content)).then_some(work)
    }

    fn refusal(&self, cluster: &str) -> Option<&Refusal> {
        self.view
            .refusals
            .get(cluster)
            .filter(|_| self.current(cluster).is_none())
    }

    /// Why a cluster without its work counts as failed. One that counted before a restart counts at its first refusal.
    pub(super) fn failed_refusal(&self, cluster: &str) -> Option<&Refusal> {
        self.refusal(cluster)
            .filter(|refusal| refusal.times >= REFUSALS || self.view.set.refused.contains(cluster))
    }

    pub(super) fn plan(&self) -> Result<Plan, Vec<FieldError>> {
        let existing: Vec<Existing> = self
            .groups
            .clusters()
            .filter_map(|cluster| self.existing(cluster))
            .collect();
        let input = Input {
            groups: self.groups,
            existing: &existing,
            unreachable: self.view.offline,
            now: self.view.now.wall,
        };
        plan(&self.reference.strategy, &input)
    }

    /// The attempt of a cluster at the template, unless it has ended with a success. It ends by the same time as where attempts
    /// are noted: between two times, a cluster would have neither this attempt nor the next.
    fn attempt(&self, cluster: &str) -> Option<&Attempt> {
        let attempt = self.view.attempts.get(cluster);
        attempt.filter(|attempt| !attempt.has_soaked(self.view.set.longest_soak))
    }

    /// A work with another template is none: the cluster waits for its turn. One that was given the template has had its turn,
    /// whatever somebody made of the work meanwhile.
    fn existing(&self, cluster: &str) -> Option<Existing> {
        let (now, attempt) = (self.view.now, self.attempt(cluster));
        let awaited = attempt.map(|attempt| attempt.awaited(now));
        let first_report_time = attempt.and_then(|attempt| attempt.first_report(now));
        let (work, status, since) = match (self.current(cluster), self.failed_refusal(cluster)) {
            (Some(work), _) => {
                let since = work.since(now);
                let status = work.report.status;
                let since = awaited.filter(|_| status == Status::ToApply).or(since);
                (Some(work), status, since)
            }
            (None, Some(refusal)) => (None, Status::Failed, Some(refusal.first.wall(now))),
            (None, None) => (None, Status::ToApply, Some(awaited?)),
        };
        Some(Existing {
            cluster_name: cluster.to_owned(),
            group_key: work.and_then(|work| work.group.clone()),
            status,
            last_transition_time: since,
            first_report_time,
        })
    }

    pub(super) fn carry_out(&self, plan: &Plan, verdict: &mut Verdict) {
        if !self.view.set.is_paused() && !self.view.set.is_aborted() {
            let refused = plan.clusters_time_out.iter();
            for cluster in plan.clusters_to_rollout.iter().chain(refused) {
                self.start(cluster, verdict);
            }
        }
        let started: HashSet<WorkKey> = verdict.works.iter().map(WorkWrite::key).collect();
        for cluster in self.groups.clusters() {
            self.label(cluster, &started, verdict);
        }
        if let Some(after) = plan.recheck_after {
            let at = self.view.now.instant.checked_add(after);
            verdict.recheck = earliest(verdict.recheck, at);
        }
        verdict.tally.placements.push(self.tally(plan));
        let warnings = self.reference.strategy.warnings.iter().cloned();
        verdict.tally.strategy_warnings.extend(warnings);
        if self.groups.cluster_count() > 0 {
            let absent = self.reference.strategy.absent_positions(self.groups);
            verdict.tally.strategy_warnings.extend(absent);
        }
        let refused = self.groups.clusters().filter_map(|cluster| {
            let refused = Refused {
                cause: self.refusal(cluster)?.cause,
                is_failed: self.failed_refusal(cluster).is_some(),
            };
            Some((cluster.to_owned(), refused))
        });
        verdict.tally.refused.extend(refused);
        let failing = self.groups.clusters().filter_map(|cluster| {
            let failure = self.current(cluster)?.report.failure()?;
            Some((cluster, failure))
        });
        verdict.tally.failures.extend(most_frequent(failing));
    }

    /// Gives a cluster the template, unless it has it, is being removed, is still losing an older work, or has just refused
    /// it.
    fn start(&self, cluster: &Cluster, verdict: &mut Verdict) {
        let name = cluster.cluster_name.as_str();
        if self.current(name).is_some() || self.view.absences.of(name) == Some(Absence::Leaving) {
            return;
        }
        if let Some(refusal) = self.refusal(name)
            && refusal.until > self.view.now.instant
        {
            verdict.recheck = earliest(verdict.recheck, Some(refusal.until));
            return;
        }
        let now = self.view.now;
        let since = self.attempt(name).map_or(now.wall, |attempt| attempt.begun(now));
        let since = since.to_string();
        let (set, placement) = (self.view.set, &self.reference.placement);
        let right = match sabotaged(Rule::BoundClustersOnly) {
            true => Right::Granted,
            false => (self.view.right)(name),
        };
        // A work that is there stays as it is without the right: whoever lost a cluster must not change what runs there.
        match (self.work(name), right) {
            (Some((_, work)), _) if work.is_leaving => verdict.losing.push(name.to_owned()),
            (_, Right::Missing) => verdict.unbound.push(name.to_owned()),
            (_, Right::Unknown) => {
                let why = "it is not known yet which clusters are bound to this namespace";
                let unsettled = (placement.clone(), why.to_owned());
                if !verdict.tally.unsettled.contains(&unsettled) {
                    verdict.tally.unsettled.push(unsettled);
                }
            }
            (Some((key, work)), Right::Granted) => verdict.works.push(WorkWrite::Replace {
                version: work.version.clone(),
                work: Arc::new(set.work(name, Some(&key.name), placement, &cluster.group_key, since)),
            }),
            (None, Right::Granted) => {
                let work = set.work(name, None, placement, &cluster.group_key, since);
                verdict.works.push(WorkWrite::Create(Arc::new(work)));
            }
        }
    }

    /// Puts labels right. They are no part of the template and wait for nobody.
    fn label(&self, cluster: &str, started: &HashSet<WorkKey>, verdict: &mut Verdict) {
        let Some((key, work)) = self.work(cluster).filter(|(_, work)| !work.is_leaving) else {
            return;
        };
        let wanted = self.view.set.labels(&self.reference.placement);
        if wanted
            .iter()
            .any(|(key, value)| work.labels.get(key) != Some(value))
            && !started.contains(key)
        {
            verdict.works.push(WorkWrite::Labels {
                key: key.clone(),
                version: work.version.clone(),
                labels: json!(wanted),
            });
        }
    }

    /// Whether the cluster has succeeded for as long as it should, wherever the rollout is now.
    pub(super) fn is_done(&self, cluster: &str) -> bool {
        let existing = self.existing(cluster);
        existing.is_some_and(|existing| is_done(&self.reference.strategy, &existing, self.view.now.wall))
    }

    fn tally(&self, plan: &Plan) -> PlacementTally {
        let mut tally = PlacementTally {
            name: self.reference.placement.clone(),
            groups: self
                .groups
                .iter()
                .filter(|(_, members)| !members.is_empty())
                .count(),
            offline: plan.clusters_skipped.len(),
            is_over_budget: plan.max_failure_breach,
            ..PlacementTally::default()
        };
        let timed_out: BTreeSet<&str> = plan
            .clusters_time_out
            .iter()
            .map(|cluster| cluster.cluster_name.as_str())
            .collect();
        let summary = &mut tally.summary;
        for cluster in self.groups.clusters() {
            summary.desired_total += 1;
            summary.total += i32::from(self.work(cluster).is_some_and(|(_, work)| !work.is_leaving));
            let Some(work) = self.current(cluster) else {
                tally.failed += usize::from(self.failed_refusal(cluster).is_some());
                continue;
            };
            let report = &work.report;
            summary.updated += 1;
            summary.applied += i32::from(report.is_applied);
            summary.available += i32::from(report.is_available);
            summary.degraded += i32::from(report.is_degraded);
            summary.progressing += i32::from(report.is_progressing);
            tally.in_progress += usize::from(matches!(report.status, Status::ToApply | Status::Progressing));
            let is_failed = report.status == Status::Failed || timed_out.contains(cluster);
            tally.failed += usize::from(is_failed);
            tally.done += usize::from(self.is_done(cluster));
        }
        tally
    }
}
