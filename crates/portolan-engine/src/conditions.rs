//! Conditions of a Placement: what is true of its decision, in words that OCM's users know.

use portolan_api::FieldError;
use portolan_api::cluster::{Placement, UpdateStrategyType};
use portolan_api::count::{are, counted};
use portolan_api::labels::ocm::{CLUSTER_SET, MAX_DECISIONS};
use portolan_api::labels::{conditions, messages, multicluster, reasons};
use serde::Serialize;

use crate::engine::Engine;
use crate::fleet::{Fleet, Inventory};
use crate::layout::SlicesRefused;
use crate::outcome::Outcome;
use crate::placement::PlacementKey;
use crate::status::Code;
use crate::warnings;

/// The last decision stands because there is no new one.
pub const DECISION_KEPT: &str = "DecisionKept";
/// A spread constraint left clusters out.
pub const SPREAD_SATISFIED: &str = "SpreadConstraintsSatisfied";
/// Reason of a [`SPREAD_SATISFIED`] condition that is False.
pub const SPREAD_UNSATISFIABLE: &str = "SpreadConstraintUnsatisfiable";
/// Reason of a refusal to write slices because there would be too many.
pub const TOO_MANY_SLICES: &str = "TooManySlices";

/// The decision has several objects, which `updateStrategy: All` rewrites one by one.
pub const ROLLING_UPDATE_RECOMMENDED: &str = "RollingUpdateRecommended";

/// An annotation that stands in for a missing field has a value that is not known. The engine is given placements after
/// their annotations were read; whoever read them says so.
pub const ANNOTATION_REFUSED: &str = "AnnotationRefused";

/// Every condition type that is written here: a type that is not among the conditions of an outcome has nothing to say
/// and is removed from the placement.
pub const TYPES: [&str; 8] = [
    conditions::PLACEMENT_SATISFIED,
    conditions::PLACEMENT_MISCONFIGURED,
    conditions::DECISION_KEY_CONFLICT,
    DECISION_KEPT,
    SPREAD_SATISFIED,
    TOO_MANY_SLICES,
    ROLLING_UPDATE_RECOMMENDED,
    conditions::PLACEMENT_WARNING,
];

/// The condition about annotations that were refused, if there are any.
pub fn annotation_refused(problems: &[FieldError]) -> Option<Condition> {
    let said: Vec<String> = problems.iter().map(FieldError::statement).collect();
    (!said.is_empty()).then(|| Condition::new(ANNOTATION_REFUSED, true, "UnknownValue", said.join("; ")))
}

/// A condition without its times, which only a writer knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// What the condition is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True` or `False`.
    pub status: String,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Condition {
    /// A condition that is true or false.
    pub fn new(type_: &str, status: bool, reason: &str, message: impl Into<String>) -> Condition {
        let status = if status { "True" } else { "False" };
        Condition {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// The conditions of an outcome. `kept` is the number of clusters in a last decision that is kept.
pub(crate) fn of(
    engine: &Engine,
    placement: &Placement,
    outcome: &Outcome,
    kept: Option<usize>,
) -> Vec<Condition> {
    let mut conditions = vec![
        satisfied(engine.fleet(), placement, outcome),
        misconfigured(outcome),
    ];
    conditions.extend(warning(engine, placement, outcome));
    if let Some(clusters) = kept.filter(|clusters| *clusters > 0) {
        conditions.push(Condition::new(
            DECISION_KEPT,
            true,
            if outcome.status.code == Code::Misconfigured {
                reasons::MISCONFIGURED
            } else {
                "EvaluationFailed"
            },
            format!(
                "The last decision of {} is kept until the placement can be evaluated again",
                counted(clusters, "cluster")
            ),
        ));
    }
    if !outcome.skipped.is_empty() {
        conditions.push(Condition::new(
            SPREAD_SATISFIED,
            false,
            SPREAD_UNSATISFIABLE,
            spread_message(outcome),
        ));
    }
    conditions
}

/// Longest message, in bytes: a condition has room for 32 KiB.
const LONGEST_MESSAGE: usize = 16 * 1024;

/// What hardly does what it is meant to, in one condition. The reason is that of the first warning.
fn warning(engine: &Engine, placement: &Placement, outcome: &Outcome) -> Option<Condition> {
    if outcome.warnings.is_empty() {
        return None;
    }
    let described = engine.describe_warnings(&PlacementKey::of(placement), outcome);
    let reason = described.first()?.reason;
    let mut message = String::new();
    for (index, warning) in described.iter().enumerate() {
        if message.len() + warning.message.len() > LONGEST_MESSAGE {
            message.push_str(&format!("; and {} more", described.len() - index));
            break;
        }
        if index > 0 {
            message.push_str("; ");
        }
        message.push_str(&warning.message);
    }
    Some(Condition::new(
        conditions::PLACEMENT_WARNING,
        true,
        reason,
        message,
    ))
}

/// The condition for slices that were not written, where there is one.
pub(crate) fn of_refusal(refused: &SlicesRefused) -> Option<Condition> {
    match refused {
        SlicesRefused::NoDecision => None,
        SlicesRefused::DecisionKeyConflict { .. } => Some(Condition::new(
            conditions::DECISION_KEY_CONFLICT,
            true,
            conditions::DECISION_KEY_CONFLICT,
            refused.to_string(),
        )),
        SlicesRefused::TooManySlices { .. } => Some(Condition::new(
            TOO_MANY_SLICES,
            true,
            TOO_MANY_SLICES,
            refused.to_string(),
        )),
    }
}

/// The condition for a decision that is spread over several objects and updated without a surge.
pub(crate) fn of_size(clusters: usize, update: UpdateStrategyType) -> Option<Condition> {
    let at_risk = clusters > MAX_DECISIONS && update == UpdateStrategyType::All;
    at_risk.then(|| {
        Condition::new(
            ROLLING_UPDATE_RECOMMENDED,
            true,
            "SeveralDecisionObjects",
            format!(
                "More than {MAX_DECISIONS} clusters are selected: while clusters move between PlacementDecisions, readers \
                 may miss some for a moment; set spec.decisionStrategy.updateStrategy.type to RollingUpdate"
            ),
        )
    })
}

/// Reasons are OCM's. Its messages stay as they are where they say what is the case, and say more than OCM's do.
fn satisfied(fleet: &Fleet, placement: &Placement, outcome: &Outcome) -> Condition {
    let is = |status, reason, message: String| {
        Condition::new(conditions::PLACEMENT_SATISFIED, status, reason, message)
    };
    let sets = &outcome.eligibility;
    if sets.bound.is_empty() {
        return is(
            false,
            reasons::NO_MANAGED_CLUSTER_SET_BINDINGS,
            no_bindings(fleet, placement),
        );
    }
    if sets.eligible.is_empty() {
        let message = format!(
            "None of ManagedClusterSets [{}] is bound to placement namespace; spec.clusterSets can name [{}], which {} \
             bound{}",
            names(&placement.spec.cluster_sets),
            names(&sets.bound),
            are(sets.bound.len()),
            about_sets(fleet, placement, &sets.bound)
        );
        return is(false, reasons::NO_INTERSECTION, message);
    }
    if outcome.candidates.is_empty() && outcome.status.code != Code::Error {
        let message = match fleet.inventory() {
            Inventory::ManagedClusters => {
                format!(
                    "All ManagedClusterSets [{}] have no member ManagedCluster{}",
                    names(&sets.eligible),
                    how_to_join(fleet, &sets.eligible)
                )
            }
            Inventory::ClusterProfiles => {
                format!(
                    "No ClusterProfile in the namespace is in any of [{}]{}",
                    names(&sets.eligible),
                    how_profiles_join(placement)
                )
            }
        };
        return is(false, reasons::ALL_MANAGED_CLUSTER_SETS_EMPTY, message);
    }
    if outcome.status.code == Code::Error {
        return is(
            false,
            reasons::NOT_ALL_DECISIONS_SCHEDULED,
            outcome.status.message.clone(),
        );
    }
    if outcome.selected.is_empty() {
        return is(
            false,
            reasons::NO_MANAGED_CLUSTER_MATCHED,
            nothing_selected(placement, outcome),
        );
    }
    if outcome.unscheduled == 0 {
        return is(
            true,
            reasons::ALL_DECISIONS_SCHEDULED,
            messages::ALL_SCHEDULED.to_owned(),
        );
    }
    let message = format!("{} cluster decisions unscheduled", outcome.unscheduled);
    is(false, reasons::NOT_ALL_DECISIONS_SCHEDULED, message)
}

/// Sets that one message says something about.
const SETS: usize = 5;

/// Why each of the sets that a placement asks for cannot be used. Only of sets that do not exist or are not bound.
fn about_sets(fleet: &Fleet, placement: &Placement, bound: &[String]) -> String {
    if fleet.inventory() == Inventory::ClusterProfiles {
        return String::new();
    }
    let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
    let mut text = String::new();
    for (position, set) in placement.spec.cluster_sets.iter().enumerate().take(SETS) {
        let unusable = warnings::unusable_set(fleet, namespace, set, bound);
        let set = crate::selector::preview(set);
        text.push_str(&format!(
            "; spec.clusterSets[{position}] is {set:?}: {}; {}",
            unusable.problem, unusable.remedy
        ));
    }
    text
}

fn no_bindings(fleet: &Fleet, placement: &Placement) -> String {
    let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
    let mut message = format!(
        "{}; create a ManagedClusterSetBinding in the namespace {namespace}, named after a ManagedClusterSet",
        messages::NO_BINDINGS
    );
    if namespace == "default" {
        message.push_str(", or add metadata.namespace to the Placement if its manifest has none");
    }
    let missing = placement.spec.cluster_sets.iter().enumerate();
    let missing = missing.filter(|(_, set)| !fleet.has_set(set) && !fleet.is_bound(namespace, set));
    if fleet.inventory() == Inventory::ManagedClusters {
        for (position, set) in missing.take(SETS) {
            let set = crate::selector::preview(set);
            message.push_str(&format!(
                "; spec.clusterSets[{position}] is {set:?}: there is no ManagedClusterSet of this name"
            ));
        }
    }
    let mut dangling = fleet.dangling_bindings(namespace);
    for binding in dangling.by_ref().take(DANGLING) {
        let cluster_set = fleet.misnamed(namespace, binding);
        message.push_str(&format!(
            "; {}",
            warnings::dangling(namespace, binding, cluster_set)
        ));
    }
    match dangling.count() {
        0 => {}
        1 => message.push_str("; and 1 more binding without a set"),
        more => message.push_str(&format!("; and {more} more bindings without a set")),
    }
    message
}

/// Bindings without a set that one message names.
const DANGLING: usize = 5;

/// How ClusterProfiles get into the sets that a placement asks for. One that asks for none takes every profile.
fn how_profiles_join(placement: &Placement) -> String {
    let sets = placement.spec.cluster_sets.iter().take(SETS);
    sets.map(|set| {
        let (key, set) = (multicluster::CLUSTER_SET, crate::selector::preview(set));
        format!("; the label {key}={set} puts a ClusterProfile into the set {set}")
    })
    .collect()
}

/// How clusters get into sets that have none, where a label does it.
fn how_to_join(fleet: &Fleet, sets: &[String]) -> String {
    let by_label = sets.iter().find(|set| {
        let selector = fleet.set_selector(set);
        selector.is_some_and(|selector| selector.requirements.iter().any(|r| &*r.key == CLUSTER_SET))
    });
    match by_label {
        Some(set) => {
            let set = crate::selector::preview(set);
            format!("; the label {CLUSTER_SET}={set} puts a ManagedCluster into the set {set}")
        }
        None => String::new(),
    }
}

/// Why no cluster is selected, though there are candidates.
fn nothing_selected(placement: &Placement, outcome: &Outcome) -> String {
    if outcome.status.code == Code::Misconfigured {
        return format!(
            "No ManagedCluster is selected, because the placement is misconfigured: {}",
            outcome.status.message
        );
    }
    if outcome.matched.is_empty() {
        return messages::NO_CLUSTER_MATCHED.to_owned();
    }
    if outcome.survivors.is_empty() {
        return "No ManagedCluster is selected: every cluster that matches the predicates has a taint that \
                spec.tolerations does not tolerate"
            .to_owned();
    }
    if placement.spec.number_of_clusters == Some(0) {
        return "No ManagedCluster is selected, because spec.numberOfClusters is 0".to_owned();
    }
    "No ManagedCluster is selected: spec.spreadPolicy.spreadConstraints keep out every cluster that passes the filters"
        .to_owned()
}

fn names(sets: &[String]) -> String {
    crate::selector::list(sets.iter().map(String::as_str), ",")
}

fn misconfigured(outcome: &Outcome) -> Condition {
    let type_ = conditions::PLACEMENT_MISCONFIGURED;
    let status = &outcome.status;
    if status.code == Code::Misconfigured {
        return Condition::new(
            type_,
            true,
            reasons::MISCONFIGURED,
            match status.plugin.as_str() {
                "" => status.message.clone(),
                plugin => format!("{plugin}: {}", status.message),
            },
        );
    }
    Condition::new(type_, false, reasons::SUCCEED_CONFIGURED, messages::CONFIGURED)
}

fn spread_message(outcome: &Outcome) -> String {
    let mut constraints: Vec<usize> = outcome.skipped.iter().map(|skipped| skipped.constraint).collect();
    constraints.sort_unstable();
    constraints.dedup();
    let list: Vec<String> = constraints
        .iter()
        .map(|index| format!("spec.spreadPolicy.spreadConstraints[{index}]"))
        .collect();
    format!(
        "{} kept {} out that passed every filter",
        list.join(" and "),
        counted(outcome.skipped.len(), "cluster")
    )
}
