//! Works: whether agents report about them, and have applied them.

use std::collections::BTreeSet;

use portolan_api::labels::{conditions, ocm};
use portolan_api::work::ManifestWork;

use super::complaint::{Complaint, concluded};
use super::concern::key_in;
use super::read::Observed;
use super::{Check, names};
use crate::input::Manifests;
use crate::join::objects::refuse_name;

/// What keeps works from being applied. `chosen` are the clusters that replica sets write works for, and `invalid` are the
/// replica sets whose works are not written. Each kind of problem is a check of its own, so that none hides another.
pub(super) fn judge(
    observed: &Observed,
    manifests: &Manifests,
    works: &[&ManifestWork],
    chosen: &BTreeSet<String>,
    invalid: &[String],
) -> Vec<Check> {
    // The works of a cluster that is being removed are part of that check.
    let leaving: BTreeSet<&str> = manifests
        .clusters()
        .filter(|cluster| cluster.metadata.deletion_timestamp.is_some())
        .filter_map(|cluster| cluster.metadata.name.as_deref())
        .collect();
    let staying: Vec<&ManifestWork> = works
        .iter()
        .filter(|work| {
            work.metadata
                .namespace
                .as_deref()
                .is_none_or(|cluster| !leaving.contains(cluster))
        })
        .copied()
        .collect();
    let clusters = manifests.clusters().map(|cluster| &cluster.metadata);
    let profiles = manifests.profiles().map(|profile| &profile.metadata);
    let clusters: BTreeSet<&str> = clusters
        .chain(profiles)
        .filter_map(|metadata| metadata.name.as_deref())
        .collect();
    let (of_clusters, astray): (Vec<&ManifestWork>, Vec<&ManifestWork>) =
        staying.into_iter().partition(|work| {
            let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
            clusters.contains(namespace)
        });
    let mut problems: Vec<Check> = Vec::new();
    problems.extend(without_namespace(observed, chosen));
    problems.extend(astray_of(manifests, &astray));
    problems.extend(failed(&of_clusters));
    problems.extend(silent(&of_clusters));
    if !problems.is_empty() {
        return problems;
    }
    let fine = match works.is_empty() {
        true => "there is no ManifestWork",
        false => "an agent has reported about every ManifestWork, and applied it",
    };
    match invalid.is_empty() {
        true => vec![Check::ok("works", fine)],
        false => vec![Check::note(
            "works",
            format!(
                "{fine}; no work is written for an invalid ManifestWorkReplicaSet, whose mistake the check rollouts names: {}",
                names(invalid.iter().map(String::as_str))
            ),
        )],
    }
}

/// Chosen clusters that have no namespace for a work.
fn without_namespace(observed: &Observed, chosen: &BTreeSet<String>) -> Option<Check> {
    let namespaces = observed.namespaces.as_ref()?;
    let missing: Vec<&str> = chosen.difference(namespaces).map(String::as_str).collect();
    let first = missing.first()?;
    Some(Check::problem(
        "works",
        format!(
            "a chosen cluster has no namespace on the hub: {}",
            names(missing.iter().copied())
        ),
        format!("`portolan join {first}` makes it, or `kubectl create namespace {first}`"),
    ))
}

/// Works in a namespace that no agent reads.
fn astray_of(manifests: &Manifests, works: &[&ManifestWork]) -> Option<Check> {
    let namespace = works.first()?.metadata.namespace.as_deref().unwrap_or_default();
    let keys: Vec<String> = works
        .iter()
        .map(|work| key_in(&work.metadata).to_string())
        .collect();
    Some(Check::problem(
        "works",
        format!(
            "no agent applies a ManifestWork in a namespace that is the name of no cluster: {}",
            names(keys.iter().map(String::as_str))
        ),
        match refuse_name(namespace).is_none() && !is_of_team(manifests, namespace) {
            true => format!(
                "make the work in the namespace of a cluster (`portolan get clusters` lists them), or `portolan join \
                 {namespace}` if {namespace} is to be one"
            ),
            // Joining under this name would be refused.
            false => {
                "make the work in the namespace of a cluster (`portolan get clusters` lists them)".to_owned()
            }
        },
    ))
}

/// Whether a team uses the namespace, so that no cluster can have its name.
fn is_of_team(manifests: &Manifests, namespace: &str) -> bool {
    let placements = manifests.placements().map(|placement| &placement.metadata);
    let bindings = manifests.bindings().map(|binding| &binding.metadata);
    let mut all = placements.chain(bindings);
    all.any(|metadata| metadata.namespace.as_deref() == Some(namespace))
}

/// Works that no agent has reported about.
fn silent(works: &[&ManifestWork]) -> Option<Check> {
    let silent: BTreeSet<&str> = works
        .iter()
        .filter(|work| {
            let status = work.status.as_ref();
            status.is_none_or(|status| status.conditions.is_empty())
        })
        .filter_map(|work| work.metadata.namespace.as_deref())
        .collect();
    (!silent.is_empty()).then(|| {
        Check::problem(
            "works",
            format!(
                "no agent has reported about the ManifestWork of: {}",
                names(silent)
            ),
            "start `portolan agent` for these clusters, or read its log",
        )
    })
}

/// Works that an agent could not apply.
fn failed(works: &[&ManifestWork]) -> Vec<Check> {
    let complaints: Vec<Complaint> = works.iter().filter_map(|work| not_applied(work)).collect();
    match complaints.is_empty() {
        true => Vec::new(),
        false => concluded("works", String::new(), complaints),
    }
}

/// A work that the agent could not apply, and why.
fn not_applied(work: &ManifestWork) -> Option<Complaint> {
    let mut all = work.status.iter().flat_map(|status| &status.conditions);
    let applied = all.find(|condition| condition.type_ == conditions::APPLIED)?;
    let key = key_in(&work.metadata);
    let set = work.metadata.labels.as_ref();
    let set = set.and_then(|labels| labels.get(ocm::REPLICA_SET)?.split_once('.'));
    let look = match set {
        Some((namespace, name)) => {
            format!("`portolan rollout status {namespace}/{name}` shows every cluster")
        }
        None => format!(
            "`kubectl get manifestwork {} --namespace {} -o yaml` shows every object",
            key.name, key.namespace
        ),
    };
    (applied.status == "False").then(|| Complaint {
        object: key.to_string(),
        words: applied.message.clone(),
        advice: format!("correct the manifests, or what is missing on the member cluster; {look}"),
    })
}
