//! Why: a verdict with a reason for every cluster of the fleet, from the same outcome that decided.
//!
//! It never decides anything itself: stages are read from the outcome, and reasons are found by asking the same
//! selectors, tolerations and programs again about one cluster. The command line, events and the dashboard show it.

mod flip;
mod rejection;

use hashbrown::HashMap;
use jiff::Timestamp;
use serde::Serialize;

pub use flip::{Edit, Flip};

use crate::conditions::{self, Condition};
use crate::engine::Engine;
use crate::fleet::{ClusterId, Clusters, Inventory};
use crate::outcome::Outcome;
use crate::placement::PlacementKey;
use crate::select::Ranked;
use crate::status::{Code, Status};
use rejection::Check;

/// Why each cluster is in a placement's decision or not.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use = "an explanation that nobody reads explains nothing"]
pub struct Explanation {
    /// Namespace of the placement.
    pub namespace: String,
    /// Name of the placement.
    pub name: String,
    /// How its evaluation ended.
    pub status: Code,
    /// Plugin that reported a problem; empty on success.
    pub plugin: String,
    /// The problem; empty on success.
    pub message: String,
    /// The conditions that the outcome gives: whether the placement is satisfied, and what hardly does what it is meant
    /// to.
    pub conditions: Vec<Condition>,
    /// `spec.numberOfClusters`, when set.
    pub number_of_clusters: Option<usize>,
    /// The last selected cluster, when a limit cut others off.
    pub cut_off: Option<CutOff>,
    /// Every cluster of the fleet: selected ones by rank, then ranked ones by rank, then the others by name.
    pub clusters: Vec<Verdict>,
}

/// Where the limit fell.
#[derive(Clone, Debug, Serialize)]
pub struct CutOff {
    /// The last selected cluster.
    pub cluster: String,
    /// Its weighted total.
    pub total: i64,
}

/// How far a cluster got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Stage {
    /// In the decision.
    Selected,
    /// Passed everything but ranked behind `numberOfClusters`.
    NumberOfClusters,
    /// Kept out by a spread constraint.
    SpreadPolicy,
    /// Has a taint that is not tolerated.
    TaintToleration,
    /// Matches no predicate.
    Predicate,
    /// Not in a set that the placement may use, or being deleted.
    Candidate,
    /// The placement could not be evaluated.
    NotEvaluated,
}

/// The verdict on one cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Name of the cluster.
    pub cluster: String,
    /// Whether it is selected.
    pub selected: bool,
    /// Where it stopped.
    pub stage: Stage,
    /// Why, in one sentence that names the failing expression and the observed value.
    pub reason: String,
    /// For a rejected cluster: each expression that failed and what was observed.
    pub checks: Vec<FailedCheck>,
    /// Place among all scored clusters, from 1.
    pub rank: Option<usize>,
    /// Weighted total.
    pub total: Option<i64>,
    /// How much more the cluster scores than the last selected one (or, if selected, than the first that is not).
    pub distance_to_cut_off: Option<i64>,
    /// Untolerated PreferNoSelect taints: they rank before the total.
    pub prefer_no_select: u32,
    /// What each prioritizer contributed.
    pub prioritizers: Vec<Contribution>,
    /// Decision group of a selected cluster.
    pub group: Option<GroupRef>,
}

/// One prioritizer's part of a total.
#[derive(Clone, Debug, Serialize)]
pub struct Contribution {
    /// Name of the prioritizer.
    pub name: String,
    /// Raw score.
    pub score: i64,
    /// Weight.
    pub weight: i64,
    /// Score × weight.
    pub contribution: i64,
}

/// An expression that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedCheck {
    /// Field of the placement that asks for it.
    pub field: String,
    /// The expression as a person writes it.
    pub expression: String,
    /// What the cluster has instead.
    pub observed: String,
}

/// A decision group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupRef {
    /// Index of the group.
    pub index: usize,
    /// Name of the group; empty when it has none.
    pub name: String,
}

/// Explains one placement. None when the engine does not hold it.
pub fn explain(engine: &mut Engine, key: &PlacementKey, now: Timestamp) -> Option<Explanation> {
    let outcome = engine.evaluate(key, now)?;
    explain_outcome(engine, key, &outcome, now)
}

/// Explains an outcome that the engine just gave.
pub fn explain_outcome(
    engine: &Engine,
    key: &PlacementKey,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<Explanation> {
    explain_some(engine, key, outcome, now, |explainer| explainer.verdicts())
}

fn explain_some(
    engine: &Engine,
    key: &PlacementKey,
    outcome: &Outcome,
    now: Timestamp,
    verdicts: impl FnOnce(&Explainer<'_>) -> Vec<Verdict>,
) -> Option<Explanation> {
    let explainer = Explainer::new(engine, key, outcome, now)?;
    let Status {
        code,
        plugin,
        message,
    } = outcome.status.clone();
    Some(Explanation {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        status: code,
        plugin,
        message,
        conditions: conditions::of(engine, &explainer.state.placement, outcome, None),
        number_of_clusters: explainer.number_of_clusters(),
        cut_off: explainer.cut_off(),
        clusters: verdicts(&explainer),
    })
}

/// Explains one cluster, and finds the smallest change that would turn its verdict round. None when the engine holds
/// no such placement or cluster.
pub fn explain_cluster(
    engine: &mut Engine,
    key: &PlacementKey,
    cluster: &str,
    now: Timestamp,
) -> Option<(Explanation, Option<Flip>)> {
    let outcome = engine.evaluate(key, now)?;
    let id = engine.fleet().find(&key.namespace, cluster)?;
    engine.fleet().cluster(id)?;
    let explanation = explain_some(engine, key, &outcome, now, |explainer| {
        vec![explainer.verdict(id)]
    })?;
    let verdict = explanation.clusters.first()?;
    let flip = flip::smallest(engine, key, cluster, verdict.selected, now);
    Some((explanation, flip))
}

/// The verdict on one cluster alone.
fn verdict(engine: &mut Engine, key: &PlacementKey, cluster: &str, now: Timestamp) -> Option<Verdict> {
    let outcome = engine.evaluate(key, now)?;
    let id = engine.fleet().find(&key.namespace, cluster)?;
    Some(Explainer::new(engine, key, &outcome, now)?.verdict(id))
}

struct Explainer<'a> {
    engine: &'a Engine,
    state: &'a crate::engine::PlacementState,
    outcome: &'a Outcome,
    ranking: Vec<Ranked>,
    /// Places that would take a search for every cluster.
    rank_of: HashMap<ClusterId, usize>,
    group_of: HashMap<ClusterId, usize>,
    skipped: Clusters,
    /// Of each spread constraint, whether no cluster has its key.
    is_nowhere: Vec<bool>,
    now: Timestamp,
}

impl<'a> Explainer<'a> {
    fn new(
        engine: &'a Engine,
        key: &PlacementKey,
        outcome: &'a Outcome,
        now: Timestamp,
    ) -> Option<Explainer<'a>> {
        let ranking = outcome.ranking();
        let groups = outcome.groups.iter().enumerate();
        let state = engine.state(key)?;
        let fleet = engine.fleet();
        let constraints = state.compiled.iter().flat_map(|compiled| &compiled.constraints);
        let is_nowhere = constraints.map(|constraint| {
            let mut clusters = fleet.iter();
            !clusters.any(|cluster| constraint.domain(fleet, cluster).is_some())
        });
        Some(Explainer {
            engine,
            state,
            is_nowhere: is_nowhere.collect(),
            outcome,
            rank_of: ranking
                .iter()
                .enumerate()
                .map(|(rank, ranked)| (ranked.cluster, rank))
                .collect(),
            group_of: groups
                .flat_map(|(index, group)| group.clusters.iter().map(move |id| (*id, index)))
                .collect(),
            skipped: outcome.skipped.iter().map(|skipped| skipped.cluster).collect(),
            ranking,
            now,
        })
    }

    fn number_of_clusters(&self) -> Option<usize> {
        self.state.compiled.as_ref().ok()?.number_of_clusters
    }

    fn last_selected(&self) -> Option<&Ranked> {
        self.ranking
            .iter()
            .rev()
            .find(|ranked| self.outcome.selected.contains(ranked.cluster))
    }

    fn first_left_out(&self) -> Option<&Ranked> {
        self.ranking
            .iter()
            .find(|ranked| !self.outcome.selected.contains(ranked.cluster))
    }

    fn cut_off(&self) -> Option<CutOff> {
        self.first_left_out()?;
        let last = self.last_selected()?;
        Some(CutOff {
            cluster: self.engine.fleet().name(last.cluster).to_string(),
            total: last.total(),
        })
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let namespace = self
            .state
            .placement
            .metadata
            .namespace
            .as_deref()
            .unwrap_or_default();
        let fleet = self.engine.fleet();
        let mut verdicts: Vec<Verdict> = fleet
            .clusters_seen_from(namespace)
            .map(|id| self.verdict(id))
            .collect();
        verdicts.sort_by(|a, b| {
            let key = |v: &Verdict| (!v.selected, v.rank.unwrap_or(usize::MAX));
            key(a).cmp(&key(b)).then_with(|| a.cluster.cmp(&b.cluster))
        });
        verdicts
    }

    fn verdict(&self, id: ClusterId) -> Verdict {
        let position = self.outcome.position(id);
        let rank = self.rank_of.get(&id).copied();
        let stage = self.stage(id);
        let checks: Vec<Check> = self.checks(id, stage);
        Verdict {
            cluster: self.engine.fleet().name(id).to_string(),
            selected: stage == Stage::Selected,
            stage,
            reason: self.reason(id, stage, rank, &checks),
            checks: checks.into_iter().map(FailedCheck::from).collect(),
            rank: rank.map(|rank| rank + 1),
            total: rank.map(|rank| self.ranking[rank].total()),
            distance_to_cut_off: rank.and_then(|rank| self.distance(&self.ranking[rank])),
            prefer_no_select: rank.map_or(0, |rank| self.ranking[rank].avoided()),
            prioritizers: position
                .map(|position| self.contributions(position))
                .unwrap_or_default(),
            group: self.group(id),
        }
    }

    fn stage(&self, id: ClusterId) -> Stage {
        let outcome = self.outcome;
        match () {
            _ if outcome.status.keeps_last_decision() => Stage::NotEvaluated,
            _ if outcome.selected.contains(id) => Stage::Selected,
            _ if self.skipped.contains(id) => Stage::SpreadPolicy,
            _ if outcome.survivors.contains(id) => Stage::NumberOfClusters,
            _ if outcome.matched.contains(id) => Stage::TaintToleration,
            _ if outcome.candidates.contains(id) => Stage::Predicate,
            _ => Stage::Candidate,
        }
    }

    fn distance(&self, ranked: &Ranked) -> Option<i64> {
        let other = match self.outcome.selected.contains(ranked.cluster) {
            true => self.first_left_out()?,
            false => self.last_selected()?,
        };
        Some(ranked.total() - other.total())
    }

    fn contributions(&self, position: usize) -> Vec<Contribution> {
        let contribution = |part: &crate::outcome::PrioritizerScores| {
            let score = part.scores.get(position).copied().unwrap_or(0);
            Contribution {
                name: part.name(),
                score,
                weight: part.weight,
                contribution: score * part.weight,
            }
        };
        self.outcome.prioritizers.iter().map(contribution).collect()
    }

    fn group(&self, id: ClusterId) -> Option<GroupRef> {
        let index = *self.group_of.get(&id)?;
        Some(GroupRef {
            index,
            name: self.outcome.groups[index].name.to_string(),
        })
    }

    fn checks(&self, id: ClusterId, stage: Stage) -> Vec<Check> {
        let fleet = self.engine.fleet();
        match stage {
            Stage::Candidate => {
                let wanted = &self.state.placement.spec.cluster_sets;
                rejection::not_a_candidate(fleet, wanted, &self.outcome.eligibility, id)
            }
            Stage::Predicate => rejection::no_predicate(fleet, self.state.predicates(), id),
            Stage::TaintToleration => match &self.state.compiled {
                Ok(compiled) => {
                    let in_decision = self.state.prior.clusters().contains(id);
                    rejection::not_tolerated(fleet, &compiled.tolerations, id, in_decision, self.now)
                }
                Err(_) => Vec::new(),
            },
            Stage::SpreadPolicy => match &self.state.compiled {
                Ok(compiled) => {
                    let skipped = &self.outcome.skipped;
                    rejection::spread(&compiled.constraints, skipped, &self.is_nowhere, id)
                }
                Err(_) => Vec::new(),
            },
            Stage::Selected | Stage::NumberOfClusters | Stage::NotEvaluated => Vec::new(),
        }
    }

    fn reason(&self, id: ClusterId, stage: Stage, rank: Option<usize>, checks: &[Check]) -> String {
        use crate::sabotage::{Rule, sabotaged};
        if sabotaged(Rule::EveryRejectionHasAReason) && stage != Stage::Selected {
            return String::new();
        }
        let ranked = self.ranking.len();
        let place = rank.map_or(0, |rank| rank + 1);
        match stage {
            Stage::Selected => match self.group(id) {
                Some(group) if !group.name.is_empty() => {
                    format!(
                        "selected: rank {place} of {ranked}, group {} ({})",
                        group.index, group.name
                    )
                }
                Some(group) => format!("selected: rank {place} of {ranked}, group {}", group.index),
                None => format!("selected: rank {place} of {ranked}"),
            },
            Stage::NumberOfClusters => {
                let number = self.number_of_clusters().unwrap_or(0);
                let behind = match self.last_selected() {
                    Some(last) => format!(
                        "; {} is the last one selected with a total of {}, this cluster has {}",
                        self.engine.fleet().name(last.cluster),
                        last.total(),
                        rank.map_or(0, |rank| self.ranking[rank].total())
                    ),
                    None => String::new(),
                };
                let spread = match rank.is_some_and(|rank| rank < number) {
                    true => ", and spec.spreadPolicy gives the places to other domains first",
                    false => "",
                };
                format!(
                    "spec.numberOfClusters is {number} and the rank is {place} of {ranked}{spread}{behind}"
                )
            }
            // The explanation says once what is wrong; every cluster has the same reason.
            Stage::NotEvaluated => match self.outcome.status.code {
                Code::Misconfigured => "the placement is misconfigured".to_owned(),
                _ => "the placement cannot be evaluated".to_owned(),
            },
            _ => {
                let sentences: Vec<&str> = checks.iter().map(|check| check.sentence.as_str()).collect();
                sentences.join("; ")
            }
        }
    }
}

impl crate::fleet::Fleet {
    /// Clusters that a person would look for in a placement of this namespace.
    fn clusters_seen_from<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = ClusterId> + 'a {
        let profiles = self.inventory() == Inventory::ClusterProfiles;
        self.iter()
            .filter(move |id| !profiles || self.cluster(*id).is_some_and(|c| &*c.namespace == namespace))
    }
}
