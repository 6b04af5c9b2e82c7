//! Warnings in words, for conditions and commands.
//!
//! A text names no count and no cluster: it stays the same while the fleet changes, so that a condition is written when a
//! mistake is made and when it is mended, and not in between.

use portolan_api::FieldError;
use portolan_api::cluster::{Placement, ScoreCoordinate, TopologyKeyType, UnsatisfiableAction};
use portolan_api::labels::reasons;
use portolan_api::spelling::did_you_mean;
use portolan_cel::{Budget, EvalError};

use crate::engine::{Engine, PlacementState};
use crate::fleet::{ClusterId, Fleet, cel};
use crate::mistakes;
use crate::outcome::Outcome;
use crate::placement::{PlacementKey, Predicate};
use crate::prioritize;
use crate::selector::{list, preview};
pub use crate::warning::Warning;

/// A warning in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// One word for programs.
    pub reason: &'static str,
    /// The sentence of the condition.
    pub message: String,
    /// Kind, namespace and name of the object that has the field.
    pub object: String,
    /// The field, its value, the problem, and what to use.
    pub error: FieldError,
}

/// Why a set that a placement asks for gives it no cluster: it does not exist, or it is not bound. Only bound sets are proposed:
/// a placement is looked at again when these change.
pub(crate) fn unusable_set(fleet: &Fleet, namespace: &str, set: &str, bound: &[String]) -> UnusableSet {
    if fleet.has_set(set) {
        return UnusableSet {
            reason: reasons::CLUSTER_SET_NOT_BOUND,
            problem: format!("this set is not bound to the namespace {namespace}"),
            remedy: "create a ManagedClusterSetBinding of this name".to_owned(),
        };
    }
    UnusableSet {
        reason: reasons::CLUSTER_SET_NOT_FOUND,
        problem: "there is no ManagedClusterSet of this name".to_owned(),
        remedy: match did_you_mean(set, bound.iter().map(String::as_str)) {
            _ if fleet.is_bound(namespace, set) => "create the set, which is bound already".to_owned(),
            Some(meant) => format!("did you mean {meant:?}?"),
            // A set of a similar name may exist that is not bound, so that creating one is not the only way.
            None => {
                "correct the name, or create the set and a ManagedClusterSetBinding of this name".to_owned()
            }
        },
    }
}

/// Why a set gives a placement no cluster, and what to do.
pub(crate) struct UnusableSet {
    pub(crate) reason: &'static str,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

/// Why a binding does nothing. Every condition that says so has these words as a part between semicolons. `cluster_set` is what
/// `spec.clusterSet` names, where that is another name than that of the binding.
pub fn dangling(namespace: &str, binding: &str, cluster_set: Option<&str>) -> String {
    let mut text = format!(
        "ManagedClusterSetBinding {namespace}/{binding} has no effect: there is no ManagedClusterSet {:?}",
        preview(binding)
    );
    if let Some(cluster_set) = cluster_set {
        text.push_str(&format!(
            ", and a binding binds the set of its own name, not that of spec.clusterSet ({:?})",
            preview(cluster_set)
        ));
    }
    text
}

impl Engine {
    /// The warnings of an outcome in words, in the order of the outcome. The outcome must be of this state.
    pub fn describe_warnings(&self, key: &PlacementKey, outcome: &Outcome) -> Vec<Described> {
        let Some(state) = self.state(key) else {
            return Vec::new();
        };
        let describer = Describer {
            fleet: self.fleet(),
            state,
            outcome,
        };
        outcome
            .warnings
            .iter()
            .filter_map(|warning| describer.describe(warning))
            .collect()
    }

    /// The mistakes that make a placement misconfigured, the one that is its status first.
    pub fn mistakes(&self, key: &PlacementKey) -> Vec<FieldError> {
        let broken = self.state(key).and_then(|state| state.compiled.as_ref().err());
        let mistakes = broken.into_iter().flat_map(|broken| broken.mistakes.iter());
        mistakes.map(|mistake| (*mistake.error).clone()).collect()
    }
}

struct Describer<'a> {
    fleet: &'a Fleet,
    state: &'a PlacementState,
    outcome: &'a Outcome,
}

impl Describer<'_> {
    /// None only if the outcome is not of this placement.
    fn describe(&self, warning: &Warning) -> Option<Described> {
        let placement = &self.state.placement;
        let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
        let (reason, error) = match warning {
            Warning::ClusterSetNotFound { binding } => {
                return Some(self.dangling(namespace, binding));
            }
            Warning::ClusterSetNotBound { position } => {
                let set = placement.spec.cluster_sets.get(*position)?;
                let bound = &self.outcome.eligibility.bound;
                let unusable = unusable_set(self.fleet, namespace, set, bound);
                let bound = list(bound.iter().map(String::as_str), ", ");
                let error = FieldError::of_text(
                    format!("spec.clusterSets[{position}]"),
                    set,
                    unusable.problem,
                    match unusable.remedy.as_str() {
                        asks if asks.starts_with("did you") => format!("a bound set [{bound}]; {asks}"),
                        // A bound set is another name already.
                        other => {
                            let other = other.strip_prefix("correct the name, or ").unwrap_or(other);
                            format!("a bound set [{bound}], or {other}")
                        }
                    },
                );
                (unusable.reason, error)
            }
            Warning::ExpressionFails { predicate } => {
                (reasons::EXPRESSION_FAILS, self.failing_expression(*predicate)?)
            }
            Warning::ScoreNotPublished { configuration } => (
                reasons::SCORE_NOT_PUBLISHED,
                unpublished_score(placement, *configuration)?,
            ),
            Warning::TopologyKeyNotFound { constraint } => (
                reasons::TOPOLOGY_KEY_NOT_FOUND,
                missing_topology_key(placement, *constraint)?,
            ),
            Warning::GroupNameRepeated { group } => {
                (reasons::GROUP_NAME_REPEATED, repeated_group(placement, *group)?)
            }
            Warning::GroupSizeOutOfRange => {
                let size = self.state.compiled.as_ref().ok()?.grouping.size;
                let crate::group::GroupSize::Clusters(size) = size else {
                    return None;
                };
                (
                    reasons::GROUP_SIZE_OUT_OF_RANGE,
                    mistakes::group_size_out_of_range(size),
                )
            }
            Warning::TolerationSecondsNegative { toleration } => {
                let seconds = placement.spec.tolerations.get(*toleration)?.toleration_seconds?;
                let error = FieldError::new(
                    format!("spec.tolerations[{toleration}].tolerationSeconds"),
                    &seconds.into(),
                    "the toleration ends before the taint is added, so that it tolerates nothing",
                    "a whole number from 0, or leave it out to tolerate the taint for good",
                );
                (reasons::TOLERATION_SECONDS_NEGATIVE, error)
            }
            Warning::PrioritizerRepeated { configuration } => (
                reasons::PRIORITIZER_REPEATED,
                repeated_prioritizer(placement, *configuration)?,
            ),
        };
        Some(Described {
            reason,
            message: error.statement(),
            object: format!("Placement {}", PlacementKey::of(placement)),
            error,
        })
    }

    /// A binding of the namespace that does nothing.
    fn dangling(&self, namespace: &str, binding: &str) -> Described {
        let cluster_set = self.fleet.misnamed(namespace, binding);
        let mut problem = "there is no ManagedClusterSet of this name".to_owned();
        let mut accepted = "the name of a ManagedClusterSet".to_owned();
        if let Some(cluster_set) = cluster_set {
            problem.push_str(&format!(
                "; spec.clusterSet is {:?}, but a binding binds the set of its own name",
                preview(cluster_set)
            ));
            accepted.push_str(": rename the binding, or correct spec.clusterSet if that is the mistake");
        }
        Described {
            reason: reasons::CLUSTER_SET_NOT_FOUND,
            message: dangling(namespace, binding, cluster_set),
            object: format!("ManagedClusterSetBinding {namespace}/{binding}"),
            error: FieldError::of_text("metadata.name", binding, problem, accepted),
        }
    }

    /// Why the expressions of a predicate fail for a cluster, and which of them.
    fn failure(&self, predicate: &Predicate, cluster: ClusterId) -> Option<(EvalError, usize)> {
        let document = cel::parse(&self.fleet.cluster(cluster)?.document);
        let rejection = cel::run(
            &predicate.programs,
            &document,
            &self.fleet.scores_of(cluster),
            &mut Budget::per_cluster(),
        )
        .err()?;
        Some((rejection.error?, rejection.expression))
    }

    /// The first expression that fails, with the error that it gives for the first cluster by name.
    fn failing_expression(&self, index: usize) -> Option<FieldError> {
        let predicate: &Predicate = self.state.predicates().get(index)?;
        let mut asked = self.outcome.candidates.clone();
        self.fleet.narrow_labels(&predicate.labels, &mut asked);
        self.fleet.narrow_claims(&predicate.claims, &mut asked);
        let first = asked.iter().min_by_key(|cluster| self.fleet.name(*cluster))?;
        let (mut error, mut position) = self.failure(predicate, first)?;
        if matches!(error, EvalError::NoSuchKey { .. }) {
            // That a key is missing is easily mended, but not the only mistake where clusters with the key fail, too.
            let others = asked.iter().take(MOST_TRIED);
            let mut others = others.filter_map(|cluster| self.failure(predicate, cluster));
            if let Some(other) = others.find(|(error, _)| !matches!(error, EvalError::NoSuchKey { .. })) {
                (error, position) = other;
            }
        }
        Some(FieldError::of_text(
            format!(
                "spec.predicates[{index}].requiredClusterSelector.celSelector.celExpressions[{position}]"
            ),
            predicate.expressions.get(position)?,
            format!(
                "it fails for every cluster that it is evaluated for: {}",
                preview(&error.to_string())
            ),
            match &error {
                EvalError::NoSuchKey { key } => format!(
                    "an expression that asks first whether the key is there, such as {} && …",
                    presence(predicate.expressions.get(position)?, key)
                ),
                _ => "an expression that gives true or false".to_owned(),
            },
        ))
    }
}

/// The expression that asks whether a key is there: as a field where the expression selects it so, as `labels` of a cluster
/// without labels, and otherwise as the key of a label, which is what most expressions look at.
fn presence(expression: &str, key: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let selected = expression
        .match_indices(&format!(".{key}"))
        .find_map(|(at, found)| {
            let (before, after) = (&expression[..at], &expression[at + found.len()..]);
            let start = before
                .rfind(|letter| !is_word(letter) && letter != '.')
                .map_or(0, |last| last + 1);
            (!after.starts_with(is_word) && !before[start..].is_empty())
                .then(|| format!("has({}{found})", &before[start..]))
        });
    selected.unwrap_or_else(|| format!("{key:?} in managedCluster.metadata.labels"))
}

/// Clusters that are tried to find out why an expression fails. More of them would cost time for each warning, fewer would miss
/// the mistake where few clusters have the key.
const MOST_TRIED: usize = 1_000;

fn unpublished_score(placement: &Placement, configuration: usize) -> Option<FieldError> {
    let policy = placement.spec.prioritizer_policy.as_ref()?;
    let coordinate = policy
        .configurations
        .get(configuration)?
        .score_coordinate
        .as_ref()?;
    let path = format!("spec.prioritizerPolicy.configurations[{configuration}].scoreCoordinate");
    Some(match coordinate {
        ScoreCoordinate {
            property: Some(property),
            r#type: Some(r#type),
            ..
        } if r#type == "Property" => FieldError::of_text(
            format!("{path}.property"),
            property,
            "no cluster that passes the filters reports a number under this name, so that every cluster gets 0",
            "the name of a claim or property that has numbers",
        ),
        _ => {
            let add_on = coordinate.add_on.as_ref()?;
            let name = format!("{}/{}", add_on.resource_name, add_on.score_name);
            FieldError::of_text(
                format!("{path}.addOn"),
                &name,
                "no cluster that passes the filters has an AddOnPlacementScore of this resourceName with this scoreName, \
                 so that every cluster gets 0",
                "the names of a score that is published (kubectl get addonplacementscores -A)",
            )
        }
    })
}

fn missing_topology_key(placement: &Placement, constraint: usize) -> Option<FieldError> {
    let policy = placement.spec.spread_policy.as_ref()?;
    let term = policy.spread_constraints.get(constraint)?;
    let (kind, accepted) = match term.topology_key_type {
        TopologyKeyType::Label => (
            "label",
            "the key of a label that clusters have, or topologyKeyType: Claim",
        ),
        TopologyKeyType::Claim => (
            "claim",
            "the name of a claim that clusters have, or topologyKeyType: Label",
        ),
    };
    let meaning = match term.when_unsatisfiable {
        Some(UnsatisfiableAction::DoNotSchedule) => "no cluster can be selected",
        _ => "the constraint spreads nothing",
    };
    Some(FieldError::of_text(
        format!("spec.spreadPolicy.spreadConstraints[{constraint}].topologyKey"),
        &term.topology_key,
        format!("no cluster that passes the filters has this {kind}, so that {meaning}"),
        accepted,
    ))
}

fn repeated_prioritizer(placement: &Placement, configuration: usize) -> Option<FieldError> {
    let configured = prioritize::configured(placement.spec.prioritizer_policy.as_ref()).ok()?;
    let prioritizer = configured.get(configuration)?;
    let first = configured
        .iter()
        .position(|other| prioritize::is_same(&**other, &**prioritizer))?;
    let meaning = match prioritizer.adds_up() {
        true => "the score counts with both weights",
        false => "only the last weight counts",
    };
    Some(FieldError::of_text(
        format!("spec.prioritizerPolicy.configurations[{configuration}].scoreCoordinate"),
        &prioritizer.name(),
        format!("configurations[{first}] names this prioritizer, too, and {meaning}"),
        "each prioritizer once",
    ))
}

fn repeated_group(placement: &Placement, group: usize) -> Option<FieldError> {
    let strategy = placement.spec.decision_strategy.as_ref()?;
    let groups = &strategy.group_strategy.as_ref()?.decision_groups;
    let name = &groups.get(group)?.group_name;
    let first = groups.iter().position(|other| other.group_name == *name)?;
    Some(FieldError::of_text(
        format!("spec.decisionStrategy.groupStrategy.decisionGroups[{group}].groupName"),
        name,
        format!(
            "decisionGroups[{first}] has this name, too, and a rollout cannot tell the groups apart by name"
        ),
        "another name",
    ))
}
