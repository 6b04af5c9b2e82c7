//! A placement compiled for evaluation: selectors parsed, programs compiled, weights resolved, mistakes found.

mod dependencies;
mod ownership;

use std::sync::Arc;

use portolan_api::cluster::{Placement, SortBy};
use portolan_cel::Program;

pub(crate) use dependencies::Dependencies;
pub use ownership::{
    decision_name_prefix, has_key, is_handed_over, is_ours, owns_decision, owns_slice, why_not_ours,
    with_stand_ins,
};

use crate::filter::taint_toleration;
use crate::fleet::cel::Expressions;
use crate::group::Grouping;
use crate::mistakes::{self, Mistake};
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

/// What is left of a placement that is misconfigured: its first mistake in the order of the pipeline, and the stages
/// before it, so that an explanation can still show what the filters would do.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) mistake: Mistake,
    pub(crate) predicates: Option<Vec<Predicate>>,
    pub(crate) tolerations: Option<Vec<taint_toleration::Toleration>>,
}

pub(crate) fn compile(placement: &Placement) -> Result<Compiled, Broken> {
    let spec = &placement.spec;
    let predicates = match compile_predicates(placement) {
        Ok(predicates) => predicates,
        Err(mistake) => {
            return Err(Broken {
                mistake,
                predicates: None,
                tolerations: None,
            });
        }
    };
    let tolerations = match taint_toleration::compile(&spec.tolerations) {
        Ok(tolerations) => tolerations,
        Err(mistake) => {
            return Err(Broken {
                mistake,
                predicates: Some(predicates),
                tolerations: None,
            });
        }
    };
    match compile_rest(placement) {
        Ok((prioritizers, grouping, number_of_clusters)) => Ok(Compiled {
            warnings: [
                grouping.warnings(),
                taint_toleration::warnings(&tolerations).collect(),
                prioritize::warnings(spec.prioritizer_policy.as_ref()),
            ]
            .concat(),
            predicates,
            tolerations,
            prioritizers,
            constraints: Constraint::compile(spec.spread_policy.as_ref()),
            number_of_clusters,
            grouping,
            sort_by_score: matches!(spec.sort_by, Some(SortBy::Score)),
        }),
        Err(mistake) => Err(Broken {
            mistake,
            predicates: Some(predicates),
            tolerations: Some(tolerations),
        }),
    }
}

/// What comes after the filters.
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

fn compile_rest(placement: &Placement) -> Result<(Vec<Weighted>, Grouping, Option<usize>), Mistake> {
    let spec = &placement.spec;
    let policy = spec.prioritizer_policy.as_ref();
    let prioritizers = policy.map_or(0, |policy| policy.configurations.len());
    check_number(
        "spec.prioritizerPolicy.configurations",
        prioritizers,
        MOST_PRIORITIZERS,
    )?;
    let strategy = spec.decision_strategy.as_ref();
    let groups = strategy.and_then(|strategy| strategy.group_strategy.as_ref());
    let groups = groups.map_or(0, |groups| groups.decision_groups.len());
    check_number(
        "spec.decisionStrategy.groupStrategy.decisionGroups",
        groups,
        MOST_GROUPS,
    )?;
    let prioritizers = prioritize::resolve(spec.prioritizer_policy.as_ref())?;
    let grouping = Grouping::compile(spec)?;
    let number_of_clusters = match spec.number_of_clusters {
        None => None,
        Some(number) => Some(usize::try_from(number).map_err(|_| mistakes::number_of_clusters(number))?),
    };
    Ok((prioritizers, grouping, number_of_clusters))
}

fn compile_predicates(placement: &Placement) -> Result<Vec<Predicate>, Mistake> {
    check_number(
        "spec.predicates",
        placement.spec.predicates.len(),
        MOST_PREDICATES,
    )?;
    let mut predicates = Vec::new();
    // Of all predicates together: whoever writes a placement says how many expressions it has.
    let mut patterns = 0;
    for (index, predicate) in placement.spec.predicates.iter().enumerate() {
        let selector = &predicate.required_cluster_selector;
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        let labels =
            Selector::from_labels(selector.label_selector.as_ref(), &format!("{path}.labelSelector"));
        let claims =
            Selector::from_claims(selector.claim_selector.as_ref(), &format!("{path}.claimSelector"));
        let expressions: Expressions = match &selector.cel_selector {
            Some(selector) => selector.cel_expressions.clone().into(),
            None => Arc::from([]),
        };
        let mut programs = Vec::new();
        for (position, source) in expressions.iter().enumerate() {
            let path = format!("{path}.celSelector.celExpressions[{position}]");
            let program = Program::compile_selector(source, &mut patterns)
                .map_err(|error| mistakes::expression(&path, source, &error))?;
            programs.push(program);
        }
        predicates.push(Predicate {
            labels: labels.map_err(mistakes::predicate)?,
            claims: claims.map_err(mistakes::predicate)?,
            expressions,
            programs: programs.into(),
        });
    }
    Ok(predicates)
}
