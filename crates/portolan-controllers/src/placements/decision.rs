//! From a placement that is due to the step that publishes its decision.

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::{Placement, PlacementStatus, UpdateStrategyType};
use portolan_api::labels::multicluster as multicluster_labels;
use portolan_api::labels::ocm::MAX_DECISIONS;
use portolan_engine::conditions::{self, Condition};
use portolan_engine::decide::{self, Decision, Publication, Stored, update_strategy};
use portolan_engine::fleet::Inventory;
use portolan_engine::layout::{Layout, SlicesRefused};
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::{PlacementKey, owns_slice};
use portolan_engine::plan::{self, Observed, Plan, Reference, Write};

use super::cache_sync::Watched;
use super::effect::StoredObjects;
use super::event_drafts;
use super::job::{Change, Job, Step, Summary};
use super::rotation::TURN;
use super::scheduler::{Flight, Scheduler};
use super::status::{self, Conditions, DECISION_CONTESTED, DUPLICATE_MEMBER};
use crate::fields::Field;
use crate::moment::Moment;
use crate::sabotage::{Rule, sabotaged};
use crate::settings::Output;

/// Member clusters with several profiles that are named in a condition; the rest is a number.
const DUPLICATES_NAMED: usize = 5;

impl Scheduler {
    /// Evaluates the next placement that is due and not busy.
    pub(super) fn next_decision(&mut self, now: Moment) -> Option<Step> {
        let (in_flight, fresh) = (&self.in_flight, &self.fresh);
        let ready = |key: &PlacementKey| !in_flight.contains_key(key);
        let (key, outcome) = loop {
            let key = self.rotation.next(self.engine.due(), ready)?;
            // It is due again when its rest ends. If it stayed due, the search would pass over it again and again.
            if self.backoff.rests(&key, now.instant) {
                self.engine.put_off(&key);
                self.put_off.insert(key);
                continue;
            }
            let is_refresh = self.refreshing.remove(&key);
            let outcome = self
                .engine
                .look_at(&key, now.wall, is_refresh || fresh.contains(&key));
            self.rotation.took(&key, outcome.as_ref().map_or(1, cost));
            if let Some(outcome) = outcome {
                break (key, outcome);
            }
        };
        let kept = self.keep(&key, &outcome, now);
        let kept = kept.or_else(|| self.keep_unreadable(&key, &outcome, now));
        if let Some(step) = kept {
            self.engine.set_aside(&key, &outcome, now.wall);
            return Some(step);
        }
        self.engine.accept(&key, &outcome, now.wall);
        let placement = self.engine.placement(&key)?.clone();
        Some(self.step(key, &placement, outcome, now))
    }

    fn step(&mut self, key: PlacementKey, placement: &Placement, outcome: Outcome, now: Moment) -> Step {
        let stored = self.stored(&key);
        let publication = Publication {
            scores: self.settings.publish_scores,
            scores_in_decisions: !self.missing_fields.has(Field::SCORE),
            profile_namespace: self.settings.profile_namespace.as_deref(),
        };
        let mut decision = decide::assemble(&self.engine, placement, outcome, &stored, publication, now.wall);
        if let Some(at) = decision.layout.scores_due {
            self.dates.insert((at.max(after(now.wall)), key.clone()));
        }
        let (writes_decisions, writes_slices) =
            (self.writes(Watched::Decisions), self.writes(Watched::Slices));
        if !writes_decisions {
            // There is nothing that the names could refer to.
            let groups = decision.layout.decision_groups.iter_mut();
            groups.for_each(|group| group.decisions.clear());
        }
        let mut summary = summary(
            &key,
            placement,
            &decision,
            &stored,
            writes_decisions,
            writes_slices,
        );
        let mut plans = plans(
            placement,
            &mut decision.layout,
            stored,
            writes_decisions,
            writes_slices,
        );
        let foreign = self.foreign.remove(&key);
        let more = self.remarks(&key);
        let fresh = self.fresh.remove(&key);
        // Scores may wait; the status may not. A process that died after the decisions and before the status left one that
        // tells of other objects than there are, and readers wait for it.
        if plans.is_score_refresh && !foreign && !self.are_scores_due(&key, &plans, &decision, fresh, now) {
            plans = Plans::default();
        }
        if foreign && !plans.is_empty() {
            self.write_conflicts.overwrite(&key, now);
        }
        let suspended_until = self.write_conflicts.suspended_until(&key, now);
        let status = match suspended_until {
            // What was decided is not what is there, and the status speaks of what is there.
            Some(until) => {
                self.timers.insert((until.instant, key.clone()));
                plans = Plans::default();
                status::with(placement, contested(until.wall), now.wall)
            }
            None => {
                let status = status::of(placement, &decision, &more, plans.writes_scores, now.wall);
                status::served(status, &self.missing_fields)
            }
        };
        summary.conditions = Conditions::of(Some(&status));
        let differs = placement.status.as_ref() != Some(&status) || sabotaged(Rule::UnchangedUntouched);
        let status = differs.then_some(status);
        if plans.is_empty() && status.is_none() {
            self.engine.complete(&key);
            return Step::Settled(summary);
        }
        self.in_flight.insert(key.clone(), Flight::default());
        let notes = event_drafts::of(
            &key,
            placement,
            &decision,
            status.as_ref(),
            &plans.decisions,
            &plans.slices,
        );
        Step::Publish(Box::new(Job {
            notes,
            ..self.job(&key, placement, plans, status, summary)
        }))
    }

    /// What is written, without events.
    fn job(
        &self,
        key: &PlacementKey,
        placement: &Placement,
        plans: Plans,
        status: Option<PlacementStatus>,
        summary: Summary,
    ) -> Job {
        let version = self.placements.get(key);
        Job {
            placement: Reference {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                uid: placement.metadata.uid.clone(),
                resource_version: version.map(|known| known.version.clone()),
            },
            profiles: self.profiles(key, &plans.slices),
            confirm: plans.adopts,
            decisions: plans.decisions,
            slices: plans.slices,
            status,
            notes: Vec::new(),
            change: plans.change,
            summary,
        }
    }

    /// Whether a plan that writes nothing but scores is carried out now.
    fn are_scores_due(
        &mut self,
        key: &PlacementKey,
        plans: &Plans,
        decision: &Decision,
        fresh: bool,
        now: Moment,
    ) -> bool {
        // Scores count how others decided and what was decided before. After a start both are known from the first
        // moment, as they were not when the scores were written; that is no news. Order, where it is asked for, is.
        if fresh && !decision.layout.ordered {
            return false;
        }
        // The membership is written already; what is left can wait for its turn.
        match self.budget.spend(plans.writes(), now.instant) {
            Ok(()) => true,
            Err(at) => {
                self.timers.insert((at, key.clone()));
                false
            }
        }
    }

    /// Conditions that are not the engine's to know.
    fn remarks(&self, key: &PlacementKey) -> Vec<Condition> {
        let known = self.placements.get(key);
        let refused = known.and_then(|known| conditions::annotation_refused(&known.problems));
        let more = self.duplicates(key).into_iter().chain(self.out_of_date(key));
        refused.into_iter().chain(more).collect()
    }

    /// Profiles that stand for the same member cluster: only the oldest counts, and people should know which.
    fn duplicates(&self, key: &PlacementKey) -> Option<Condition> {
        let duplicate_members = self.engine.duplicate_members(key);
        let said: Vec<String> = duplicate_members
            .iter()
            .take(DUPLICATES_NAMED)
            .map(|duplicate_members| match &duplicate_members.counts {
                Some(oldest) => format!(
                    "{} ({}; {oldest}, the oldest, counts)",
                    duplicate_members.profiles.join(", "),
                    duplicate_members.member
                ),
                None => format!(
                    "{} ({}; none counts, since the oldest are of the same age)",
                    duplicate_members.profiles.join(", "),
                    duplicate_members.member
                ),
            })
            .collect();
        let more = match duplicate_members.len().saturating_sub(DUPLICATES_NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!(
            "ClusterProfiles have the same {}: {}{more}",
            multicluster_labels::INVENTORY_MEMBER_ID,
            said.join("; ")
        );
        (!duplicate_members.is_empty())
            .then(|| Condition::new(DUPLICATE_MEMBER, true, "SameMemberId", message))
    }

    /// The profiles that slices refer to, where we are the one who publishes them.
    fn profiles(&self, key: &PlacementKey, slices: &Plan) -> Option<(String, Vec<String>)> {
        let published = self.settings.inventory == Inventory::ManagedClusters
            && self.settings.cluster_profiles == Output::Auto;
        if !published || slices.is_empty() {
            return None;
        }
        let own = || key.namespace.to_string();
        let namespace = self.settings.profile_namespace.clone().unwrap_or_else(own);
        let mut names: Vec<String> = slices
            .writes()
            .filter_map(|write| match write {
                Write::CreateSlice(slice) | Write::ReplaceSlice(slice) => Some(slice),
                _ => None,
            })
            .flat_map(|slice| slice.decisions.iter())
            .filter_map(|entry| Some(entry.profile(&namespace)?.1.to_owned()))
            .collect();
        names.sort_unstable();
        names.dedup();
        Some((namespace, names))
    }
}

/// Scores that cost about as much as the rest of an evaluation does.
const SCORES: usize = 20_000;

/// What an evaluation counts in the turn of its namespace. One whose expressions cost all that they may is a whole turn.
fn cost(outcome: &Outcome) -> u64 {
    let scores = u64::try_from(outcome.number_of_scores() / SCORES).unwrap_or(u64::MAX);
    outcome.spent_of(TURN).max(1).saturating_add(scores)
}

fn contested(until: Timestamp) -> Condition {
    Condition::new(
        DECISION_CONTESTED,
        true,
        "AnotherWriter",
        format!(
            "Another writer keeps changing the PlacementDecisions of this placement; Portolan leaves them alone until \
             {until}. If OCM's placement controller runs on this hub, hand the placement over with the annotations \
             cluster.open-cluster-management.io/experimental-scheduling-disable: \"true\" and \
             portolan.dev/scheduler: portolan"
        ),
    )
}

/// The writes of the two kinds.
#[derive(Default)]
struct Plans {
    decisions: Plan,
    slices: Plan,
    /// Whether nothing but scores is written.
    is_score_refresh: bool,
    /// Whether an object gets an owner that it did not have.
    adopts: bool,
    /// Whether the status of OCM decisions, which is where scores are, is written.
    writes_scores: bool,
    change: Change,
}

impl Plans {
    fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.slices.is_empty()
    }

    fn writes(&self) -> usize {
        self.decisions.writes().count() + self.slices.writes().count()
    }
}

fn plans(
    placement: &Placement,
    layout: &mut Layout,
    stored: Stored,
    writes_decisions: bool,
    writes_slices: bool,
) -> Plans {
    let update = update_strategy(placement);
    let observed = Observed {
        status: None,
        decisions: stored.decisions,
        slices: stored.slices,
    };
    let plan = |wanted: bool, layout: &Layout| match wanted {
        true => plan::plan(&observed, layout, update, None),
        false => Plan::default(),
    };
    // The two kinds are planned apart: neither waits for the other. A kind steps aside while the other is planned; a
    // copy would be thousands of names.
    let aside = std::mem::replace(&mut layout.slices, Err(SlicesRefused::NoDecision));
    let decisions = plan(writes_decisions, layout);
    layout.slices = aside;
    let aside = std::mem::take(&mut layout.decisions);
    let slices = plan(writes_slices, layout);
    layout.decisions = aside;
    if update == UpdateStrategyType::RollingUpdate {
        log_surge(placement, &decisions);
    }
    let stored = StoredObjects::of(&observed);
    let main = match writes_decisions {
        true => &decisions,
        false => &slices,
    };
    Plans {
        change: match tracing::enabled!(tracing::Level::INFO) {
            true => super::change::of(&observed, main),
            // For the log alone.
            false => Change::default(),
        },
        is_score_refresh: stored.is_score_refresh(&decisions, &slices),
        adopts: stored.adopts(&decisions, &slices),
        writes_scores: layout.writes_decision_status && !decisions.is_empty(),
        decisions,
        slices,
    }
}

fn log_surge(placement: &Placement, decisions: &Plan) {
    for write in decisions.writes() {
        if let Write::DecisionStatus { object, status } = write
            && status.decisions.len() > MAX_DECISIONS
        {
            tracing::info!(
                placement = %PlacementKey::of(placement), decision = %object.name, clusters = status.decisions.len(),
                "the PlacementDecision lists more than {MAX_DECISIONS} clusters until the rolling update is complete"
            );
        }
    }
}

/// The next moment. A limit still holds at the very moment of its end: the same moment again would be for ever.
fn after(now: Timestamp) -> Timestamp {
    now.checked_add(SignedDuration::from_nanos(1)).unwrap_or(now)
}

fn summary(
    key: &PlacementKey,
    placement: &Placement,
    decision: &Decision,
    stored: &Stored,
    writes_decisions: bool,
    writes_slices: bool,
) -> Summary {
    let slices = match &decision.layout.slices {
        Ok(slices) => slices.len(),
        Err(_) => stored
            .slices
            .iter()
            .filter(|slice| owns_slice(key, slice))
            .count(),
    };
    Summary {
        key: key.clone(),
        clusters: decision.placement_status().number_of_selected_clusters.max(0) as usize,
        decisions: if writes_decisions {
            decision.layout.decisions.len()
        } else {
            0
        },
        slices: if writes_slices { slices } else { 0 },
        conditions: Conditions::of(placement.status.as_ref()),
    }
}
