//! Works and scores: whether an agent or a controller can do anything with them, and comes to them at all.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_agent::option_mistakes;
use portolan_api::labels::{multicluster as labels, ocm, portolan};
use portolan_api::multicluster::Work;
use portolan_api::work::ManifestWork;
use portolan_api::{FieldError, cluster, multicluster, semantic, spelling, work};
use serde_json::json;

use super::judge::Judge;
use crate::input::{Finding, Severity, severity};

/// Everything that is wrong with ManifestWorks, Works and AddOnPlacementScores.
pub(super) fn findings(judge: &Judge<'_>) -> Vec<Finding> {
    let manifests = judge.manifests;
    let mut findings = Vec::new();
    let mut add = |group: &str, kind: &str, metadata: &ObjectMeta, found: Vec<(Severity, FieldError)>| {
        if found.is_empty() {
            return;
        }
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        let place = manifests.place_of(group, kind, namespace, name);
        let object = format!("{kind} {namespace}/{name}");
        let found = found.iter();
        findings.extend(found.map(|(severity, error)| Finding::about(*severity, place, &object, error)));
    };
    let clusters = Clusters::of(judge);
    let keys = Keys::of(judge);
    for work in manifests.manifest_works() {
        let mut found = manifest_work(work);
        let problem = "there is no ManagedCluster of this name, so that no agent applies the work";
        found.extend(clusters.missing(&work.metadata, problem));
        add(work::GROUP, "ManifestWork", &work.metadata, found);
    }
    for work in manifests.works() {
        add(
            multicluster::GROUP,
            "Work",
            &work.metadata,
            plain_work(work, &clusters, &keys),
        );
    }
    for score in manifests.scores() {
        let problem = "there is no cluster of this name, so that no placement reads the scores";
        let found = clusters.missing(&score.metadata, problem);
        let found = found.into_iter().collect();
        add(cluster::GROUP, "AddOnPlacementScore", &score.metadata, found);
    }
    findings
}

/// What is wrong inside. Files were told so when they were read; objects of a hub were not. The works of a replica set repeat
/// its template.
fn manifest_work(work: &ManifestWork) -> Vec<(Severity, FieldError)> {
    if label(&work.metadata, ocm::REPLICA_SET).is_some() {
        return Vec::new();
    }
    let whole = serde_json::to_value(work).unwrap_or_default();
    let found = semantic::findings(&whole).into_iter();
    let mistakes = option_mistakes(&work.spec.manifest_configs, "spec.manifestConfigs");
    found
        .map(|finding| (severity(&finding), finding.error))
        .chain(mistakes.into_iter().map(|error| (Severity::Error, error)))
        .collect()
}

/// A Work is a template if it has a placement-key, and is for an agent if its namespace is that of a cluster.
fn plain_work(work: &Work, clusters: &Clusters<'_>, keys: &Keys<'_>) -> Vec<(Severity, FieldError)> {
    // The works that were made from a template repeat it.
    if label(&work.metadata, portolan::SYNCED_BY).is_some() {
        return Vec::new();
    }
    let key = label(&work.metadata, labels::PLACEMENT_KEY);
    let mut whole = serde_json::to_value(work).unwrap_or_default();
    // An empty list is left out otherwise, and said to be missing.
    whole["spec"]["workload"]["manifests"] = json!(work.spec.workload.manifests);
    let weight = match key {
        // No work is made from such a template.
        Some(_) => Severity::Error,
        None => Severity::Warning,
    };
    let errors = semantic::errors_in_work(&whole).into_iter();
    let mut found: Vec<_> = errors.map(|error| (weight, error)).collect();
    let path = format!("metadata.labels[{}]", labels::PLACEMENT_KEY);
    let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
    match key {
        Some(key) => found.extend(keys.missing(namespace, key, path)),
        None if clusters.lacks(namespace) => {
            let error = FieldError {
                problem: "nothing is done with this Work: without the label it is no template, and its namespace is that of \
                          no cluster"
                    .to_owned(),
                ..FieldError::missing(path, "the placement-key of a Placement in the same namespace")
            };
            found.push((Severity::Warning, error));
        }
        None => {}
    }
    found
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    let label = metadata.labels.as_ref()?.get(key)?;
    (!label.is_empty()).then_some(label)
}

/// The names of all clusters. Files alone need not have every cluster that is on the hub, but may have none at all.
struct Clusters<'a> {
    names: BTreeSet<&'a str>,
    are_known: bool,
}

impl<'a> Clusters<'a> {
    fn of(judge: &Judge<'a>) -> Clusters<'a> {
        let clusters = judge.manifests.clusters().map(|cluster| &cluster.metadata);
        let profiles = judge.manifests.profiles().map(|profile| &profile.metadata);
        let names: BTreeSet<&str> = clusters
            .chain(profiles)
            .filter_map(|metadata| metadata.name.as_deref())
            .collect();
        Clusters {
            are_known: judge.knows_hub || !names.is_empty(),
            names,
        }
    }

    fn lacks(&self, namespace: &str) -> bool {
        self.are_known && !self.names.contains(namespace)
    }

    /// What is wrong with a namespace that has to be that of a cluster.
    fn missing(&self, metadata: &ObjectMeta, problem: &str) -> Option<(Severity, FieldError)> {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        if !self.lacks(namespace) {
            return None;
        }
        let accepted = match spelling::did_you_mean(namespace, self.names.iter().copied()) {
            Some(meant) => format!("the name of a ManagedCluster; did you mean {meant}?"),
            None => "the name of a ManagedCluster".to_owned(),
        };
        let error = FieldError::of_text("metadata.namespace", namespace, problem, accepted);
        Some((Severity::Warning, error))
    }
}

/// The placement-keys that Placements and decisions have, with their namespaces.
struct Keys<'a> {
    keys: BTreeSet<(&'a str, &'a str)>,
    /// Namespaces with a Placement: files that have none there need not have its key.
    namespaces: BTreeSet<&'a str>,
    knows_hub: bool,
}

impl<'a> Keys<'a> {
    fn of(judge: &Judge<'a>) -> Keys<'a> {
        let placements = || judge.manifests.placements().map(|placement| &placement.metadata);
        let slices = judge.manifests.slices().map(|slice| &slice.metadata);
        let namespace = |metadata: &'a ObjectMeta| metadata.namespace.as_deref().unwrap_or_default();
        let keyed = placements().chain(slices);
        Keys {
            keys: keyed
                .filter_map(|metadata| Some((namespace(metadata), label(metadata, labels::PLACEMENT_KEY)?)))
                .collect(),
            namespaces: placements().map(namespace).collect(),
            knows_hub: judge.knows_hub,
        }
    }

    fn missing(&self, namespace: &str, key: &str, path: String) -> Option<(Severity, FieldError)> {
        let is_known = self.knows_hub || self.namespaces.contains(namespace);
        if !is_known || self.keys.contains(&(namespace, key)) {
            return None;
        }
        let here = self.keys.iter().filter(|(of, _)| *of == namespace);
        let keys: Vec<&str> = here.map(|(_, key)| *key).collect();
        let accepted = match (spelling::did_you_mean(key, keys.iter().copied()), keys.as_slice()) {
            (Some(meant), _) => format!("the placement-key of a Placement; did you mean {meant}?"),
            (None, []) => format!(
                "the placement-key of a Placement: give the Placement the label {}",
                labels::PLACEMENT_KEY
            ),
            (None, keys) => format!("the placement-key of a Placement: {}", keys.join(", ")),
        };
        let problem = format!(
            "no Placement in the namespace {namespace} has this placement-key, so that no cluster gets the work"
        );
        Some((
            Severity::Warning,
            FieldError::of_text(path, key, problem, accepted),
        ))
    }
}
