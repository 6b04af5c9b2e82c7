//! Works of the standard: whether templates reach their clusters, and agents apply what is in the namespaces of clusters.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::{conditions, multicluster as labels};
use portolan_api::multicluster::Work;

use super::Check;
use super::complaint::{Complaint, concluded};
use super::concern::{key_in, placement_key};
use crate::input::Manifests;

/// Works that nothing is done with, or not what they say.
pub(super) fn judge(manifests: &Manifests, works: &[&Work]) -> Vec<Check> {
    let clusters = manifests.clusters().map(|cluster| &cluster.metadata);
    let profiles = manifests.profiles().map(|profile| &profile.metadata);
    let clusters: BTreeSet<&str> = clusters
        .chain(profiles)
        .filter_map(|metadata| metadata.name.as_deref())
        .collect();
    let complaints: Vec<Complaint> = works
        .iter()
        .filter_map(|work| {
            let key = key_in(&work.metadata);
            Some(Complaint {
                object: key.to_string(),
                words: complaint(work, &clusters)?,
                advice: format!(
                    "`kubectl get work.multicluster.x-k8s.io {} --namespace {} -o yaml` shows all conditions; `portolan \
                     lint` finds mistakes in the Work",
                    key.name, key.namespace
                ),
            })
        })
        .collect();
    let fine = "every Work is synced, or applied by an agent".to_owned();
    concluded("works", fine, complaints)
}

/// What keeps a Work from having an effect.
fn complaint(work: &Work, clusters: &BTreeSet<&str>) -> Option<String> {
    let all = || work.status.iter().flat_map(|status| &status.conditions);
    let is_wrong = |condition: &&Condition| {
        let judged = [conditions::SYNCED, conditions::APPLIED];
        judged.contains(&condition.type_.as_str()) && condition.status == "False"
    };
    if let Some(wrong) = all().find(is_wrong) {
        return Some(format!(
            "{} False, {}: {}",
            wrong.type_, wrong.reason, wrong.message
        ));
    }
    let is_judged = all().next().is_some();
    let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
    match (placement_key(&work.metadata), clusters.contains(namespace)) {
        (_, true) if !is_judged => {
            Some("no agent has reported about this Work; does `portolan agent` run?".to_owned())
        }
        (Some(_), false) if !is_judged => {
            Some("no controller has synced this Work; does `portolan controller` run?".to_owned())
        }
        (None, false) => Some(format!(
            "nothing is done with this Work: {namespace} is the name of no cluster, and the Work has no label {}",
            labels::PLACEMENT_KEY
        )),
        _ => None,
    }
}
