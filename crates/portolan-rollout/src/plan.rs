//! The answer for one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::FieldError;
use serde::{Serialize, Serializer};

use crate::amount::Amount;
use crate::classify::{Times, Verdict, classify};
use crate::cluster::{Cluster, Existing, Status};
use crate::draft::Draft;
use crate::groups::{GroupKey, Groups};
use crate::per_cluster::{Bounds, per_cluster};
use crate::per_group::{Step, per_group};
use crate::strategy::{Kind, Strategy};

/// What is known at one moment.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The groups of the decision.
    pub groups: &'a Groups,
    /// The clusters that have the workload. Of several entries for a cluster the first counts.
    pub existing: &'a [Existing],
    /// Clusters that cannot be reached.
    pub unreachable: &'a BTreeSet<String>,
    /// The time.
    pub now: Timestamp,
}

/// What is to be done now, and when to ask again. Lists are in the order of group index and cluster name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Plan {
    /// Clusters that are rolling out: those to start, with status `ToApply`, and those that are waited for.
    pub clusters_to_rollout: Vec<Cluster>,
    /// Clusters whose time is up.
    pub clusters_time_out: Vec<Cluster>,
    /// Clusters that have the workload and are in no group any more.
    pub clusters_removed: Vec<Cluster>,
    /// Clusters that cannot be reached and are caught up later. They take no slot and are no failure.
    pub clusters_skipped: Vec<String>,
    /// More clusters failed than may; nothing new is started.
    pub max_failure_breach: bool,
    /// How long until the next deadline or soak time ends.
    #[serde(serialize_with = "seconds")]
    pub recheck_after: Option<Duration>,
}

/// Seconds, whole where they are whole.
fn seconds<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        None => serializer.serialize_none(),
        Some(duration) if duration.subsec_nanos() == 0 => serializer.serialize_u64(duration.as_secs()),
        Some(duration) => serializer.serialize_f64(duration.as_secs_f64()),
    }
}

/// Decides what happens now. An error names a group that the strategy asks for and the decision does not have.
pub fn plan(strategy: &Strategy, input: &Input<'_>) -> Result<Plan, Vec<FieldError>> {
    strategy.check_names(input.groups)?;
    let situation = Situation::new(strategy, input);
    let draft = situation.draft();
    Ok(situation.finish(draft))
}

/// Whether a cluster has succeeded for as long as it should. One that succeeded and is offline, or ran out of time, is not done
/// before its soak time has ended.
pub fn is_done(strategy: &Strategy, existing: &Existing, now: Timestamp) -> bool {
    let cluster = entry(existing, &GroupKey::default());
    let verdict = classify(cluster, &Times::of(strategy, now));
    matches!(verdict, Verdict::Settled(cluster) if cluster.status == Status::Succeeded)
}

/// The input, sorted out.
struct Situation<'a> {
    strategy: &'a Strategy,
    groups: &'a Groups,
    times: Times,
    /// Clusters of mandatory groups that have the workload, by name.
    mandatory: Vec<Cluster>,
    /// Others that have it and are not skipped, by name.
    others: Vec<Cluster>,
    /// Others that are not done and cannot be reached, with the workload or without.
    skipped: BTreeSet<&'a str>,
    /// When the first of the skipped clusters has succeeded for long enough, and is not skipped any more.
    first_soaked: Option<Timestamp>,
    removed: Vec<Cluster>,
    /// Clusters that got the workload in the group that they are in now, and whether they have succeeded for long enough.
    in_place: BTreeMap<&'a str, bool>,
}

impl<'a> Situation<'a> {
    fn new(strategy: &'a Strategy, input: &Input<'a>) -> Situation<'a> {
        let mut situation = Situation {
            strategy,
            groups: input.groups,
            times: Times::of(strategy, input.now),
            mandatory: Vec::new(),
            others: Vec::new(),
            skipped: BTreeSet::new(),
            first_soaked: None,
            removed: Vec::new(),
            in_place: BTreeMap::new(),
        };
        let mut existing: BTreeMap<&str, &Existing> = BTreeMap::new();
        for cluster in input.existing {
            existing.entry(&cluster.cluster_name).or_insert(cluster);
        }
        for (key, members) in input.groups.iter().filter(|(key, _)| !strategy.is_mandatory(key)) {
            for name in members.iter().filter(|name| input.unreachable.contains(*name)) {
                let existing = existing.get(name.as_str()).copied();
                match existing.map(|existing| classify(entry(existing, key), &situation.times)) {
                    // Nothing is left to do for it, and it may be offline as long as it likes.
                    Some(Verdict::Settled(cluster)) if cluster.status != Status::TimeOut => continue,
                    Some(Verdict::RollingOut(cluster)) if cluster.status == Status::Succeeded => {
                        let times = [situation.first_soaked, cluster.recheck_time];
                        situation.first_soaked = times.into_iter().flatten().min();
                    }
                    _ => {}
                }
                situation.skipped.insert(name);
            }
        }
        for existing in existing.into_values() {
            situation.sort_in(existing);
        }
        situation
    }

    fn sort_in(&mut self, existing: &'a Existing) {
        let name = existing.cluster_name.as_str();
        let Some(key) = self.groups.group_of(name) else {
            let key = existing.group_key.clone().unwrap_or_default();
            return self.removed.push(entry(existing, &key));
        };
        let cluster = entry(existing, key);
        if existing.group_key.as_ref() == Some(key) && cluster.is_started() {
            let is_done = is_done(self.strategy, existing, self.times.now);
            self.in_place.insert(name, is_done);
        }
        if self.strategy.is_mandatory(key) {
            self.mandatory.push(cluster);
        } else if !self.skipped.contains(name) {
            self.others.push(cluster);
        }
    }

    fn draft(&self) -> Draft {
        if let Some(held) = self.held_by_mandatory() {
            return held;
        }
        match &self.strategy.kind {
            Kind::All => {
                let total = self.groups.cluster_count();
                self.progressive(Bounds {
                    slots: total,
                    budget: total,
                })
            }
            Kind::Progressive { max_concurrency, .. } => {
                let others = self.other_groups().map(|(_, members)| members.len()).sum();
                self.progressive(Bounds {
                    slots: max_concurrency.map_or(others, |amount| amount.slots(others)),
                    budget: self.strategy.max_failures.budget(self.groups.cluster_count()),
                })
            }
            Kind::ProgressivePerGroup { .. } => self.progressive_per_group(),
        }
    }

    fn other_groups(&self) -> impl Iterator<Item = (&'a GroupKey, &'a BTreeSet<String>)> {
        self.groups
            .iter()
            .filter(|(key, _)| !self.strategy.is_mandatory(key))
    }

    /// What there is while mandatory groups are not through: they tolerate no failure, offline or not, and until then
    /// nothing new is started elsewhere. What was started there before is still waited for.
    fn held_by_mandatory(&self) -> Option<Draft> {
        let steps: Vec<Step<'_>> = self
            .groups
            .iter()
            .filter(|(key, _)| self.strategy.is_mandatory(key))
            .map(|(key, members)| Step {
                key,
                members,
                is_behind: false,
            })
            .collect();
        let mut draft = per_group(
            &steps,
            &self.mandatory,
            &BTreeSet::new(),
            Amount::NONE,
            &self.times,
        );
        if draft.to_rollout.is_empty() && draft.timed_out.is_empty() && !draft.breach {
            return None;
        }
        for cluster in self.others.iter().filter(|cluster| cluster.is_started()) {
            match classify(cluster.clone(), &self.times) {
                Verdict::RollingOut(cluster) => draft.to_rollout.push(cluster),
                Verdict::TimedOut(cluster) => draft.timed_out.push(cluster),
                Verdict::Settled(_) => {}
            }
        }
        Some(draft)
    }

    fn progressive(&self, bounds: Bounds) -> Draft {
        let candidates = self
            .other_groups()
            .flat_map(|(key, members)| members.iter().map(move |name| (key, name.as_str())))
            .filter(|(_, name)| !self.skipped.contains(name));
        per_cluster(candidates, &self.others, bounds, &self.times)
    }

    fn progressive_per_group(&self) -> Draft {
        let mut steps: Vec<Step<'_>> = Vec::new();
        let mut is_later_started = false;
        for (key, members) in self.other_groups().collect::<Vec<_>>().into_iter().rev() {
            let in_place = || members.iter().filter_map(|name| self.in_place.get(name.as_str()));
            steps.push(Step {
                key,
                members,
                // A success that soaks is not enough: a member of a later group can say that it has the workload already, and would
                // take the soak time out of every group before its own.
                is_behind: is_later_started && in_place().any(|is_done| *is_done),
            });
            is_later_started |= in_place().next().is_some();
        }
        steps.reverse();
        per_group(
            &steps,
            &self.others,
            &self.skipped,
            self.strategy.max_failures,
            &self.times,
        )
    }

    fn finish(self, mut draft: Draft) -> Plan {
        let mut removed = self.removed;
        for list in [&mut draft.to_rollout, &mut draft.timed_out, &mut removed] {
            list.sort_by(|a, b| {
                (a.group_key.group_index, &a.cluster_name).cmp(&(b.group_key.group_index, &b.cluster_name))
            });
        }
        let mut skipped: Vec<&str> = self.skipped.into_iter().collect();
        // Stable: names are in order already.
        skipped.sort_by_key(|name| self.groups.group_of(name).map(|key| key.group_index));
        let now = self.times.now;
        let rechecks = draft.to_rollout.iter().filter_map(|cluster| cluster.recheck_time);
        let until = |at: Timestamp| {
            let left = at.duration_since(now);
            Duration::try_from(left).ok().filter(|left| !left.is_zero())
        };
        Plan {
            recheck_after: rechecks.chain(self.first_soaked).filter_map(until).min(),
            clusters_to_rollout: draft.to_rollout,
            clusters_time_out: draft.timed_out,
            clusters_removed: removed,
            clusters_skipped: skipped.into_iter().map(str::to_owned).collect(),
            max_failure_breach: draft.breach,
        }
    }
}

fn entry(existing: &Existing, key: &GroupKey) -> Cluster {
    Cluster {
        cluster_name: existing.cluster_name.clone(),
        group_key: key.clone(),
        status: existing.status,
        last_transition_time: existing.last_transition_time,
        first_report_time: existing.first_report_time,
        recheck_time: None,
    }
}
