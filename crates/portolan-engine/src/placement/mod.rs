//! A placement compiled for evaluation: selectors parsed, programs compiled, weights resolved, mistakes found.

mod dependencies;
mod ownership;

use std::sync::Arc;

use portolan_api::cluster::{Placement, PlacementSpec, SortBy};
use portolan_cel::Program;

pub(crate) use dependencies::Dependencies;
pub use ownership::{
    decision_name_prefix, has_key, is_handed_over, is_ours, owns_decision, owns_slice, why_not_ours,
    with_stand_ins,
};

use crate::filter::taint_toleration;
use crate::fleet::cel::Expressions;
use crate::group::Grouping;
use crate::mistakes::{self, Collector, Mistake, Mistakes};
use crate::prioritize::{self, Weighted};
use crate::select::spread::Constraint;
use crate::selector::Selector;
use crate::warning::Warning;

/// Namespace and name of a placement, in the order in which placements are evaluated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementKey {
    /// Namespace of the placement.
    pub namespace: Arc<str>,
    /// Name of the placement.
    pub name: Arc<str>,
}

impl PlacementKey {
    /// Key of a placement object.
    pub fn of(placement: &Placement) -> PlacementKey {
        PlacementKey::new(
            placement.metadata.namespace.as_deref().unwrap_or_default(),
            placement.metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// Key from its parts.
    pub fn new(namespace: &str, name: &str) -> PlacementKey {
        PlacementKey {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl std::fmt::Display for PlacementKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// One entry of `spec.predicates`: labels, claims and CEL must all match.
#[derive(Debug)]
pub(crate) struct Predicate {
    pub(crate) labels: Selector,
    pub(crate) claims: Selector,
    pub(crate) expressions: Expressions,
    pub(crate) programs: Arc<[Program]>,
}

/// A placement that passed every check.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) predicates: Vec<Predicate>,
    pub(crate) tolerations: Vec<taint_toleration::Toleration>,
    pub(crate) prioritizers: Vec<Weighted>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) number_of_clusters: Option<usize>,
    pub(crate) grouping: Grouping,
    pub(crate) sort_by_score: bool,
    /// What hardly does what it is meant to, whatever the fleet.
    pub(crate) warnings: Vec<Warning>,
}

/// What is left of a placement that is misconfigured: its mistakes in the order of the pipeline, and the stages before the
/// first of them, so that an explanation can still show what the filters would do.
#[derive(Debug)]
pub(crate) struct Misconfigured {
    pub(crate) mistakes: Mistakes,
    pub(crate) predicates: Option<Vec<Predicate>>,
    pub(crate) tolerations: Option<Vec<taint_toleration::Toleration>>,
}

pub(crate) fn compile(placement: &Placement) -> Result<Compiled, Misconfigured> {
    let spec = &placement.spec;
    let predicates = compile_predicates(spec);
    let tolerations = taint_toleration::compile(&spec.tolerations);
    match (predicates, tolerations, Rest::compile(spec)) {
        (Ok(predicates), Ok(tolerations), Ok(rest)) => Ok(Compiled {
            warnings: [
                rest.grouping.warnings(),
                taint_toleration::warnings(&tolerations).collect(),
                prioritize::warnings(spec.prioritizer_policy.as_ref()),
            ]
            .concat(),
            predicates,
            tolerations,
            prioritizers: rest.prioritizers,
            constraints: Constraint::compile(spec.spread_policy.as_ref()),
            number_of_clusters: rest.number_of_clusters,
            grouping: rest.grouping,
            sort_by_score: matches!(spec.sort_by, Some(SortBy::Score)),
        }),
        (Err(mistakes), tolerations, rest) => Err(Misconfigured {
            mistakes: mistakes.and(tolerations.err()).and(rest.err()),
            predicates: None,
            tolerations: None,
        }),
        (Ok(predicates), Err(mistakes), rest) => Err(Misconfigured {
            mistakes: mistakes.and(rest.err()),
            predicates: Some(predicates),
            tolerations: None,
        }),
        (Ok(predicates), Ok(tolerations), Err(mistakes)) => Err(Misconfigured {
            mistakes,
            predicates: Some(predicates),
            tolerations: Some(tolerations),
        }),
    }
}

/// Most predicates and most prioritizers of a placement. Each is evaluated for every cluster, and the scores of every
/// prioritizer are kept: with more of them one placement would delay those of all namespaces.
const MOST_PREDICATES: usize = 4096;
const MOST_PRIORITIZERS: usize = 128;
/// Most named groups of a placement. Each cluster is matched with them in order.
const MOST_GROUPS: usize = 1024;

fn check_number(path: &str, number: usize, most: usize) -> Result<(), Mistake> {
    match number > most {
        true => Err(mistakes::too_many(path, number, most)),
        false => Ok(()),
    }
}

/// What comes after the filters.
struct Rest {
    prioritizers: Vec<Weighted>,
    grouping: Grouping,
    number_of_clusters: Option<usize>,
}

impl Rest {
    fn compile(spec: &PlacementSpec) -> Result<Rest, Mistakes> {
        const CONFIGURATIONS: &str = "spec.prioritizerPolicy.configurations";
        const GROUPS: &str = "spec.decisionStrategy.groupStrategy.decisionGroups";
        let mut mistakes = Collector::default();
        let policy = spec.prioritizer_policy.as_ref();
        let number = policy.map_or(0, |policy| policy.configurations.len());
        let few_prioritizers = mistakes.take(check_number(CONFIGURATIONS, number, MOST_PRIORITIZERS));
        let strategy = spec.decision_strategy.as_ref();
        let groups = strategy.and_then(|strategy| strategy.group_strategy.as_ref());
        let number = groups.map_or(0, |groups| groups.decision_groups.len());
        let few_groups = mistakes.take(check_number(GROUPS, number, MOST_GROUPS));
        let prioritizers = few_prioritizers.and_then(|()| mistakes.take_all(prioritize::resolve(policy)));
        let grouping = few_groups.and_then(|()| mistakes.take_all(Grouping::compile(spec)));
        let wanted = spec.number_of_clusters;
        let checked = wanted.and_then(|wanted| {
            let number = usize::try_from(wanted).map_err(|_| mistakes::number_of_clusters(wanted));
            mistakes.take(number)
        });
        // Where one is missing there is a mistake.
        mistakes.none_or(Rest {
            prioritizers: prioritizers.unwrap_or_default(),
            grouping: grouping.unwrap_or_default(),
            number_of_clusters: checked,
        })
    }
}

fn compile_predicates(spec: &PlacementSpec) -> Result<Vec<Predicate>, Mistakes> {
    let mut mistakes = Collector::default();
    let number = spec.predicates.len();
    if let Err(too_many) = check_number("spec.predicates", number, MOST_PREDICATES) {
        mistakes.add([too_many]);
        return mistakes.none_or(Vec::new());
    }
    let mut predicates = Vec::new();
    // Of all predicates together: whoever writes a placement says how many expressions it has.
    let mut patterns = 0;
    for (index, predicate) in spec.predicates.iter().enumerate() {
        let selector = &predicate.required_cluster_selector;
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        let expressions: Expressions = match &selector.cel_selector {
            Some(selector) => selector.cel_expressions.clone().into(),
            None => Arc::from([]),
        };
        let programs: Vec<Program> = expressions
            .iter()
            .enumerate()
            .filter_map(|(position, source)| {
                let path = format!("{path}.celSelector.celExpressions[{position}]");
                let program = Program::compile_selector(source, &mut patterns);
                mistakes.take(program.map_err(|error| mistakes::expression(&path, source, &error)))
            })
            .collect();
        let labels = format!("{path}.labelSelector");
        let (labels, of_labels) = Selector::check_labels(selector.label_selector.as_ref(), &labels);
        let claims = format!("{path}.claimSelector");
        let (claims, of_claims) = Selector::check_claims(selector.claim_selector.as_ref(), &claims);
        mistakes.add(of_labels.into_iter().chain(of_claims).map(mistakes::predicate));
        predicates.push(Predicate {
            labels,
            claims,
            expressions,
            programs: programs.into(),
        });
    }
    mistakes.none_or(predicates)
}
