//! Reasons for rejection: each names the expression that failed and the value that was observed.

use jiff::Timestamp;
use portolan_api::cluster::TopologyKeyType;
use portolan_api::labels;

use super::FailedCheck;
use crate::filter::taint_toleration::{self, Toleration};
use crate::fleet::cluster::{Cluster, Taint};
use crate::fleet::{ClusterId, Eligibility, Fleet, Inventory, cel};
use crate::placement::Predicate;
use crate::select::spread::{Constraint, Skipped};
use crate::selector::{Requirement, list, preview};

/// An expression that did not hold, with the field it stands in.
#[derive(Debug)]
pub(crate) struct Check {
    field: String,
    expression: String,
    observed: String,
}

impl Check {
    pub(crate) fn sentence(&self) -> String {
        format!(
            "{} wants {}; observed {}",
            self.field, self.expression, self.observed
        )
    }
}

impl From<Check> for FailedCheck {
    fn from(check: Check) -> FailedCheck {
        FailedCheck {
            field: check.field,
            expression: check.expression,
            observed: check.observed,
        }
    }
}

pub(crate) fn not_a_candidate(fleet: &Fleet, sets: &Eligibility, id: ClusterId) -> Vec<Check> {
    let Some(cluster) = fleet.cluster(id) else {
        return Vec::new();
    };
    if cluster.deleting {
        return vec![Check {
            field: "metadata.deletionTimestamp".into(),
            expression: "a cluster that is not being deleted".into(),
            observed: "a deletionTimestamp".into(),
        }];
    }
    let in_set = |set: &String| cluster.label(labels::multicluster::CLUSTER_SET) == Some(set);
    if let Some(member) = cluster.member_id()
        && fleet.inventory() == Inventory::ClusterProfiles
        && (sets.eligible.iter().any(in_set) || sets.eligible == [cluster.namespace.to_string()])
    {
        let key = labels::multicluster::INVENTORY_MEMBER_ID;
        return vec![Check {
            field: format!("metadata.labels[{key}]"),
            expression: "the oldest profile of a member cluster".into(),
            observed: format!(
                "label {key}={} on an older or equally old profile too",
                preview(member)
            ),
        }];
    }
    let (key, place) = match fleet.inventory() {
        Inventory::ManagedClusters => (labels::ocm::CLUSTER_SET, "bound ManagedClusterSets"),
        Inventory::ClusterProfiles => (labels::multicluster::CLUSTER_SET, "cluster sets"),
    };
    let expression = match (sets.bound.as_slice(), sets.eligible.as_slice()) {
        ([], _) => "a ManagedClusterSetBinding to an existing set in the namespace".to_owned(),
        (bound, []) => format!(
            "a set of the placement is among the bound ones [{}]",
            list(bound.iter().map(String::as_str), ", ")
        ),
        (_, eligible) => format!(
            "a cluster of the {place} [{}]",
            list(eligible.iter().map(String::as_str), ", ")
        ),
    };
    let observed = match sets.bound.is_empty() {
        true => "no such binding".to_owned(),
        false => observed_pair(key, cluster.label(key), "label"),
    };
    vec![Check {
        field: "spec.clusterSets".into(),
        expression,
        observed,
    }]
}

/// The first thing wrong in each predicate: they are alternatives, so every one of them failed.
pub(crate) fn no_predicate(fleet: &Fleet, predicates: &[Predicate], id: ClusterId) -> Vec<Check> {
    let Some(cluster) = fleet.cluster(id) else {
        return Vec::new();
    };
    predicates
        .iter()
        .enumerate()
        .filter_map(|(index, p)| first_failure(fleet, cluster, id, index, p))
        .collect()
}

fn first_failure(
    fleet: &Fleet,
    cluster: &Cluster,
    id: ClusterId,
    index: usize,
    predicate: &Predicate,
) -> Option<Check> {
    let path = format!("spec.predicates[{index}].requiredClusterSelector");
    let check = |selector: &str, kind: &str, requirement: &Requirement, observed: Option<&str>| Check {
        field: format!("{path}.{selector}"),
        expression: format!("{kind} {requirement}"),
        observed: observed_pair(&requirement.key, observed, kind),
    };
    for requirement in &predicate.labels.requirements {
        let observed = cluster.label(&requirement.key);
        if !requirement.matches(observed) {
            return Some(check("labelSelector", "label", requirement, observed));
        }
    }
    for requirement in &predicate.claims.requirements {
        let observed = cluster.claim(&requirement.key);
        if !requirement.matches(observed) {
            return Some(check("claimSelector", "claim", requirement, observed));
        }
    }
    let rejection = cel::run(
        &predicate.programs,
        &cel::parse(&cluster.document),
        &fleet.scores_of(id),
    )
    .err()?;
    Some(Check {
        field: format!("{path}.celSelector.celExpressions[{}]", rejection.expression),
        expression: preview(
            predicate
                .expressions
                .get(rejection.expression)
                .map_or("", String::as_str),
        ),
        observed: match rejection.error {
            None => "false".to_owned(),
            Some(error) => preview(&format!("error: {error}")),
        },
    })
}

pub(crate) fn not_tolerated(
    fleet: &Fleet,
    tolerations: &[Toleration],
    id: ClusterId,
    in_decision: bool,
    now: Timestamp,
) -> Vec<Check> {
    let Some(cluster) = fleet.cluster(id) else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    for taint in &cluster.taints {
        let taint_toleration::Verdict::NotTolerated { expired } =
            taint_toleration::judge(taint, tolerations, in_decision, now)
        else {
            continue;
        };
        let why = match expired {
            Some(at) if at == Timestamp::MIN => {
                "whose toleration has expired, as it has no timeAdded".to_owned()
            }
            Some(at) => format!("whose toleration expired at {at}"),
            None => "that no toleration matches".to_owned(),
        };
        checks.push(Check {
            field: "spec.tolerations".into(),
            expression: "every taint to be tolerated".into(),
            observed: format!("taint {} {why}", describe(taint)),
        });
    }
    checks
}

pub(crate) fn spread(constraints: &[Constraint], skipped: &[Skipped], id: ClusterId) -> Vec<Check> {
    let Some(skipped) = skipped.iter().find(|skipped| skipped.cluster == id) else {
        return Vec::new();
    };
    let Some(constraint) = constraints.get(skipped.constraint) else {
        return Vec::new();
    };
    let kind = match constraint.key_type {
        TopologyKeyType::Label => "label",
        TopologyKeyType::Claim => "claim",
    };
    vec![Check {
        field: format!("spec.spreadPolicy.spreadConstraints[{}]", skipped.constraint),
        expression: format!(
            "maxSkew {} over {kind} {} (DoNotSchedule)",
            constraint.max_skew, constraint.key
        ),
        observed: match &skipped.domain {
            None => observed_pair(&constraint.key, None, kind),
            Some(domain) => format!(
                "{} selected in {}={domain}, {} in the domain with the fewest",
                skipped.in_domain, constraint.key, skipped.fewest
            ),
        },
    }]
}

pub(crate) fn describe(taint: &Taint) -> String {
    match &*taint.value {
        "" => format!("{}:{:?}", taint.key, taint.effect),
        value => format!("{}={}:{:?}", taint.key, preview(value), taint.effect),
    }
}

fn observed_pair(key: &str, observed: Option<&str>, kind: &str) -> String {
    match observed {
        Some(value) => format!("{kind} {key}={}", preview(value)),
        None => format!("no {kind} {key}"),
    }
}
