//! The plain evaluator: one placement against every cluster, straight from the API objects.
//!
//! It is what the engine is compared with: an oracle in tests and an honest baseline in benches. Nothing is indexed,
//! interned or remembered between two calls; labels are read from the object's own map, quantities are parsed each
//! time, selectors and CEL are compiled each time. It shares the parsers of selectors, quantities and group sizes
//! with the engine, so that messages agree, and nothing else: order of filters, arithmetic, ranking, spread and groups are
//! written down a second time, after the specification.
//!
//! Nothing that serves users calls it.

mod compare;
mod filter;
mod group;
mod score;
mod select;
mod warnings;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use portolan_api::labels::ocm;

use portolan_engine::mistakes;
use portolan_engine::selector::Selector;
use portolan_engine::status::Status;
use portolan_engine::warnings::Warning;

/// The objects of a hub as a lister hands them out: by name, and not arranged in any other way.
#[derive(Debug)]
pub struct Hub<'a> {
    clusters: Vec<&'a ManagedCluster>,
    sets: BTreeMap<&'a str, &'a ManagedClusterSet>,
    bindings: Vec<&'a ManagedClusterSetBinding>,
    /// By namespace, which is the name of a cluster, and name.
    scores: HashMap<(&'a str, &'a str), &'a AddOnPlacementScore>,
    /// Units that the expressions of one placement may cost over all clusters.
    expression_budget: u64,
}

impl<'a> Hub<'a> {
    /// The hub that holds these objects.
    pub fn new(
        clusters: impl IntoIterator<Item = &'a ManagedCluster>,
        sets: impl IntoIterator<Item = &'a ManagedClusterSet>,
        bindings: impl IntoIterator<Item = &'a ManagedClusterSetBinding>,
        scores: impl IntoIterator<Item = &'a AddOnPlacementScore>,
    ) -> Hub<'a> {
        let key = |score: &'a AddOnPlacementScore| {
            let namespace = score.metadata.namespace.as_deref().unwrap_or_default();
            (namespace, score.metadata.name.as_deref().unwrap_or_default())
        };
        Hub {
            clusters: clusters.into_iter().collect(),
            sets: sets
                .into_iter()
                .map(|set| (set.metadata.name.as_deref().unwrap_or_default(), set))
                .collect(),
            bindings: bindings.into_iter().collect(),
            scores: scores.into_iter().map(|score| (key(score), score)).collect(),
            expression_budget: portolan_cel::Budget::PER_PLACEMENT,
        }
    }

    /// The same hub with another limit for what the expressions of one placement cost.
    pub fn with_expression_budget(mut self, units: u64) -> Hub<'a> {
        self.expression_budget = units;
        self
    }
}

/// How often each cluster is named in the decisions of other placements.
pub type Usage = HashMap<String, u64>;

/// Counts the entries of all decisions but those of one placement.
pub fn usage_without<'a>(
    decisions: impl IntoIterator<Item = &'a PlacementDecision>,
    namespace: &str,
    placement: &str,
) -> Usage {
    let mut usage = Usage::new();
    for decision in decisions {
        if owner(decision) == (namespace, placement) {
            continue;
        }
        for cluster in entries(decision) {
            *usage.entry(cluster.to_owned()).or_default() += 1;
        }
    }
    usage
}

/// What a placement decided, by name. Lists are sorted by name unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainOutcome {
    /// How the evaluation ended.
    pub status: Status,
    /// Sets bound to the namespace.
    pub bound: Vec<String>,
    /// Those of them that the placement may choose from.
    pub eligible: Vec<String>,
    /// Clusters of those sets that are not being deleted.
    pub candidates: Vec<String>,
    /// Candidates that match a predicate.
    pub matched: Vec<String>,
    /// Of those, the ones whose taints are tolerated.
    pub survivors: Vec<String>,
    /// Name, weight and scores of each prioritizer in the order in which they run.
    pub prioritizers: Vec<(String, i64, BTreeMap<String, i64>)>,
    /// Weighted total of each survivor.
    pub totals: BTreeMap<String, i64>,
    /// The selected clusters from best to worst.
    pub selected: Vec<String>,
    /// How many clusters are missing to `numberOfClusters`.
    pub unscheduled: usize,
    /// Name and clusters of each group, in the order of the decision.
    pub groups: Vec<(String, Vec<String>)>,
    /// When the outcome changes by itself.
    pub requeue_at: Option<Timestamp>,
    /// What hardly does what it is meant to.
    pub warnings: Vec<Warning>,
}

/// Evaluates one placement. `own` are its decisions as they are, `usage` comes from those of all others.
pub fn evaluate(
    hub: &Hub<'_>,
    placement: &Placement,
    own: &[PlacementDecision],
    usage: &Usage,
    now: Timestamp,
) -> PlainOutcome {
    let spec = &placement.spec;
    let mut outcome = PlainOutcome::default();
    let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
    (outcome.bound, outcome.eligible) = eligible_sets(hub, namespace, &spec.cluster_sets);
    let (candidates, invalid_set) = candidates(hub, &outcome.eligible);
    outcome.candidates = names(&candidates);

    let in_decision: BTreeSet<&str> = own.iter().flat_map(entries).collect();
    outcome.warnings = warnings::of_sets(hub, namespace, &spec.cluster_sets, &outcome);
    let mut fails = Vec::new();
    let mut too_costly = false;
    let checked = filter::predicates(spec).and_then(|predicates| {
        let answers = filter::answers(hub, &predicates, &candidates);
        too_costly = filter::cost(&answers) > u128::from(hub.expression_budget);
        fails = filter::failing(&predicates, &answers);
        let mut matched = filter::matching(&predicates, &answers, &candidates);
        if too_costly {
            matched.clear();
        }
        outcome.matched = names(&matched);
        filter::check_tolerations(&spec.tolerations)?;
        let (survivors, expiry) = filter::tolerated(&matched, &spec.tolerations, &in_decision, now);
        outcome.survivors = names(&survivors);
        let policy = score::policy(spec.prioritizer_policy.as_ref())?;
        let grouping = group::grouping(spec)?;
        match spec.number_of_clusters {
            Some(number) if number < 0 => Err(mistakes::number_of_clusters(number).status()),
            _ => Ok((survivors, expiry, policy, grouping)),
        }
    });
    let (survivors, expiry, policy, grouping) = match checked {
        Ok(checked) => checked,
        Err(status) => return PlainOutcome { status, ..outcome },
    };
    if let Some(problem) = invalid_set {
        return PlainOutcome {
            status: Status::error("", problem),
            matched: Vec::new(),
            survivors: Vec::new(),
            ..outcome
        };
    }
    if too_costly {
        let status = mistakes::expressions_beyond_budget(hub.expression_budget);
        return PlainOutcome { status, ..outcome };
    }

    outcome.warnings.extend(warnings::of_groups(spec));
    outcome.warnings.extend(warnings::of_entries(spec));
    outcome.warnings.extend(warnings::of_spread(spec, &survivors));
    outcome.warnings.extend(
        fails
            .into_iter()
            .map(|predicate| Warning::ExpressionFails { predicate }),
    );
    outcome.requeue_at = expiry;
    score::score(hub, &survivors, &policy, usage, &in_decision, now, &mut outcome);
    let ranked = select::rank(&survivors, &spec.tolerations, now, &mut outcome);
    let wanted = spec
        .number_of_clusters
        .map_or(ranked.len(), |number| number as usize);
    let chosen = select::choose(&ranked, spec.spread_policy.as_ref(), wanted);
    if spec.number_of_clusters.is_some() {
        outcome.unscheduled = wanted - chosen.len();
    }
    outcome.selected = chosen.iter().map(|cluster| name(cluster).to_owned()).collect();
    outcome.groups = group::divide(&chosen, &grouping, spec, own, &outcome.totals);
    outcome.warnings.sort();
    outcome
}

/// Sets bound to the namespace, and those of them that the placement asks for.
fn eligible_sets(hub: &Hub<'_>, namespace: &str, wanted: &[String]) -> (Vec<String>, Vec<String>) {
    let bound: BTreeSet<String> = hub
        .bindings
        .iter()
        .filter(|binding| binding.metadata.namespace.as_deref().unwrap_or_default() == namespace)
        .filter_map(|binding| binding.metadata.name.clone())
        .filter(|name| hub.sets.contains_key(name.as_str()))
        .collect();
    let eligible = bound
        .iter()
        .filter(|name| wanted.is_empty() || wanted.contains(name))
        .cloned()
        .collect();
    (bound.into_iter().collect(), eligible)
}

/// The members of a set.
enum Members {
    Labelled(String),
    Matching(Selector),
    Nobody,
}

/// The clusters of the sets, and what is wrong with the first set that cannot be read.
fn candidates<'a>(hub: &Hub<'a>, eligible: &[String]) -> (Vec<&'a ManagedCluster>, Option<String>) {
    let mut problem = None;
    let mut members = Vec::new();
    for set in eligible.iter().filter_map(|name| hub.sets.get(name.as_str())) {
        match members_of(set) {
            Ok(who) => members.push(who),
            Err(wrong) => problem = problem.or(Some(wrong)),
        }
    }
    let belongs = |cluster: &ManagedCluster| {
        members.iter().any(|who| match who {
            Members::Labelled(set) => label(cluster, ocm::CLUSTER_SET) == Some(set),
            Members::Matching(selector) => selector.matches(|key| label(cluster, key)),
            Members::Nobody => false,
        })
    };
    let deleting = |cluster: &ManagedCluster| cluster.metadata.deletion_timestamp.is_some();
    let clusters = hub
        .clusters
        .iter()
        .filter(|cluster| !deleting(cluster) && belongs(cluster))
        .copied()
        .collect();
    (clusters, problem)
}

fn members_of(set: &ManagedClusterSet) -> Result<Members, String> {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let selector = &set.spec.cluster_selector;
    match selector.selector_type.as_deref() {
        None | Some("" | "ExclusiveClusterSetLabel") => Ok(Members::Labelled(name.to_owned())),
        Some("LabelSelector") => match &selector.label_selector {
            None => Ok(Members::Nobody),
            Some(labels) => Selector::from_labels(Some(labels), "spec.clusterSelector.labelSelector")
                .map(Members::Matching)
                .map_err(|error| format!("ManagedClusterSet {name}: {}", error.statement())),
        },
        Some(other) => Err(format!(
            "ManagedClusterSet {name}: spec.clusterSelector.selectorType {other:?} is unknown; accepted: ExclusiveClusterSetLabel, LabelSelector"
        )),
    }
}

fn name(cluster: &ManagedCluster) -> &str {
    cluster.metadata.name.as_deref().unwrap_or_default()
}

fn names(clusters: &[&ManagedCluster]) -> Vec<String> {
    let mut names: Vec<String> = clusters.iter().map(|cluster| name(cluster).to_owned()).collect();
    names.sort_unstable();
    names
}

fn label<'a>(cluster: &'a ManagedCluster, key: &str) -> Option<&'a str> {
    cluster.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// On duplicates the last claim of a name counts.
fn claim<'a>(cluster: &'a ManagedCluster, key: &str) -> Option<&'a str> {
    let claims = &cluster.status.as_ref()?.cluster_claims;
    claims
        .iter()
        .rev()
        .find(|claim| claim.name == key)
        .map(|claim| claim.value.as_str())
}

/// Namespace of a decision and the placement its label names.
fn owner(decision: &PlacementDecision) -> (&str, &str) {
    let labels = decision.metadata.labels.as_ref();
    let placement = labels
        .and_then(|labels| labels.get(ocm::PLACEMENT))
        .map(String::as_str);
    (
        decision.metadata.namespace.as_deref().unwrap_or_default(),
        placement.unwrap_or_default(),
    )
}

/// The clusters that a decision names. An entry without a name stands for no cluster.
fn entries(decision: &PlacementDecision) -> impl Iterator<Item = &str> {
    let entries = decision.status.iter().flat_map(|status| &status.decisions);
    entries
        .map(|entry| entry.cluster_name.as_str())
        .filter(|name| !name.is_empty())
}
