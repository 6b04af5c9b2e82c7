//! Reasons for rejection: each names the expression that failed and the value that was observed.

use jiff::Timestamp;
use portolan_api::cluster::TopologyKeyType;
use portolan_api::count::are;
use portolan_api::labels;
use portolan_cel::{Budget, Value};

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
    /// Both in one sentence.
    pub(crate) sentence: String,
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

pub(crate) fn not_a_candidate(
    fleet: &Fleet,
    wanted: &[String],
    sets: &Eligibility,
    id: ClusterId,
) -> Vec<Check> {
    let Some(cluster) = fleet.cluster(id) else {
        return Vec::new();
    };
    if cluster.deleting {
        return vec![Check {
            field: "metadata.deletionTimestamp".into(),
            expression: "not being deleted".into(),
            observed: "a deletionTimestamp".into(),
            sentence: "the cluster is being deleted: it has a deletionTimestamp".into(),
        }];
    }
    let in_set = |set: &String| cluster.label(labels::multicluster::CLUSTER_SET) == Some(set);
    if let Some(member) = cluster.member_id()
        && fleet.inventory() == Inventory::ClusterProfiles
        && (sets.eligible.iter().any(in_set) || sets.eligible == [cluster.namespace.to_string()])
    {
        let key = labels::multicluster::INVENTORY_MEMBER_ID;
        let (field, expression) = (
            format!("metadata.labels[{key}]"),
            "the oldest profile of a member cluster",
        );
        let observed = format!(
            "label {key}={} on an older or equally old profile too",
            preview(member)
        );
        return vec![Check {
            sentence: format!("only {expression} can be selected, and there is {observed}"),
            field,
            expression: expression.into(),
            observed,
        }];
    }
    vec![in_no_set(fleet, wanted, sets, cluster)]
}

/// Why no set of a placement has the cluster.
fn in_no_set(fleet: &Fleet, wanted: &[String], sets: &Eligibility, cluster: &Cluster) -> Check {
    let (key, place) = match fleet.inventory() {
        Inventory::ManagedClusters => (labels::ocm::CLUSTER_SET, "bound ManagedClusterSets"),
        Inventory::ClusterProfiles => (labels::multicluster::CLUSTER_SET, "cluster sets"),
    };
    let field = "spec.clusterSets".to_owned();
    let names = |sets: &[String]| list(sets.iter().map(String::as_str), ", ");
    match (sets.bound.as_slice(), sets.eligible.as_slice()) {
        ([], _) => {
            let expression = "a ManagedClusterSetBinding named after a ManagedClusterSet".to_owned();
            let observed = "none".to_owned();
            Check {
                sentence: format!("the namespace needs {expression} and has {observed}"),
                field,
                expression,
                observed,
            }
        }
        (bound, []) => {
            let expression = format!("[{}]", names(wanted));
            let bound_names = format!("[{}]", names(bound));
            let observed = format!("bindings to {bound_names}");
            Check {
                sentence: format!(
                    "{field} asks for {expression}, but only {bound_names} {} bound to this namespace{}",
                    are(bound.len()),
                    missing_sets(fleet, wanted)
                ),
                field,
                expression,
                observed,
            }
        }
        (_, eligible) => {
            // A set that is bound and not asked for does not count.
            let expression = match (wanted, fleet.inventory()) {
                ([_, ..], Inventory::ManagedClusters) => {
                    format!("ManagedClusterSets [{}] of {field}", names(eligible))
                }
                _ => format!("{place} [{}]", names(eligible)),
            };
            let observed = observed_pair(key, cluster.label(key), "label");
            Check {
                sentence: format!("the cluster is in none of the {expression}: it has {observed}"),
                field,
                expression,
                observed,
            }
        }
    }
}

/// Which of the sets that are asked for do not exist.
fn missing_sets(fleet: &Fleet, wanted: &[String]) -> String {
    let missing = wanted
        .iter()
        .map(String::as_str)
        .filter(|set| !fleet.has_set(set));
    let missing: Vec<String> = missing.map(|set| format!("{set:?}")).collect();
    if missing.is_empty() || fleet.inventory() == Inventory::ClusterProfiles {
        return String::new();
    }
    let names = list(missing.iter().map(String::as_str), " or ");
    format!("; there is no ManagedClusterSet {names}")
}

/// The first thing wrong in each predicate: they are alternatives, so every one of them failed.
pub(crate) fn no_predicate(fleet: &Fleet, predicates: &[Predicate], id: ClusterId) -> Vec<Check> {
    let Some(cluster) = fleet.cluster(id) else {
        return Vec::new();
    };
    let mut document = None;
    predicates
        .iter()
        .enumerate()
        .filter_map(|(index, p)| first_failure(fleet, cluster, id, index, p, &mut document))
        .collect()
}

fn first_failure(
    fleet: &Fleet,
    cluster: &Cluster,
    id: ClusterId,
    index: usize,
    predicate: &Predicate,
    document: &mut Option<Value>,
) -> Option<Check> {
    let path = format!("spec.predicates[{index}].requiredClusterSelector");
    let check = |selector: &str, kind: &str, requirement: &Requirement, observed: Option<&str>| {
        let (field, expression) = (format!("{path}.{selector}"), format!("{kind} {requirement}"));
        let observed = observed_pair(&requirement.key, observed, kind);
        Check {
            sentence: format!("{field} asks for {expression}, and the cluster has {observed}"),
            field,
            expression,
            observed,
        }
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
    if predicate.programs.is_empty() {
        return None;
    }
    let rejection = cel::run(
        &predicate.programs,
        document.get_or_insert_with(|| cel::parse(&cluster.document)),
        &fleet.scores_of(id),
        &mut Budget::per_cluster(),
    )
    .err()?;
    let field = format!("{path}.celSelector.celExpressions[{}]", rejection.expression);
    let source = predicate.expressions.get(rejection.expression);
    let expression = preview(source.map_or("", String::as_str));
    let (observed, gives) = match rejection.error {
        None => ("false".to_owned(), "is"),
        Some(error) => (preview(&format!("error: {error}")), "gives an"),
    };
    Some(Check {
        sentence: format!("{field} {gives} {observed}: {expression}"),
        field,
        expression,
        observed,
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
        let (field, expression) = ("spec.tolerations", "tolerated");
        let observed = format!("taint {}", describe(taint));
        let why = match &*taint.key == labels::ocm::TAINT_UNREACHABLE && !is_accepted(fleet, cluster) {
            true => ". The hub has not accepted the cluster: its spec.hubAcceptsClient is not true",
            false => "",
        };
        let sentence = match expired {
            Some(at) if at == Timestamp::MIN => format!(
                "{observed} is no longer {expression}: the toleration has expired, because the taint has no timeAdded \
                     ({field})"
            ),
            Some(at) => {
                format!("{observed} is no longer {expression}: the toleration expired at {at} ({field})")
            }
            None => format!("{observed} is not {expression} ({field})"),
        };
        checks.push(Check {
            sentence: format!("{sentence}{why}"),
            field: field.into(),
            expression: expression.into(),
            observed,
        });
    }
    checks
}

/// Whether an administrator let the cluster in; without that no agent can report, and the taint stays.
fn is_accepted(fleet: &Fleet, cluster: &Cluster) -> bool {
    let document = serde_json::from_slice::<serde_json::Value>(&cluster.document.json());
    let accepts = document.map(|document| document["spec"]["hubAcceptsClient"] == true);
    fleet.inventory() == Inventory::ClusterProfiles || accepts.unwrap_or(true)
}

/// `is_nowhere` says of each constraint whether no cluster of the fleet has its key.
pub(crate) fn spread(
    constraints: &[Constraint],
    skipped: &[Skipped],
    is_nowhere: &[bool],
    id: ClusterId,
) -> Vec<Check> {
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
    let field = format!("spec.spreadPolicy.spreadConstraints[{}]", skipped.constraint);
    let expression = format!(
        "maxSkew {} over {kind} {} (DoNotSchedule)",
        constraint.max_skew, constraint.key
    );
    let (observed, has) = match &skipped.domain {
        None if is_nowhere.get(skipped.constraint) == Some(&true) => (
            format!(
                "no {kind} {}; no cluster has one, so that the topologyKey may be misspelt",
                constraint.key
            ),
            "the cluster has",
        ),
        None => (observed_pair(&constraint.key, None, kind), "the cluster has"),
        Some(domain) => (
            format!(
                "{} selected in {}={domain}, {} in the domain with the fewest",
                skipped.in_domain, constraint.key, skipped.fewest
            ),
            "there are",
        ),
    };
    vec![Check {
        sentence: format!("{field} asks for {expression}, and {has} {observed}"),
        field,
        expression,
        observed,
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
