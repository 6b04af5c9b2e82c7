//! Mistakes that no definition can refuse and no evaluation of a placement shows: what the controllers complain about when
//! they come to such an object.

use std::collections::BTreeMap;

use portolan_agent::option_mistakes;
use portolan_api::cluster::{ManagedCluster, Placement};
use portolan_api::work::ManifestWorkReplicaSet;
use portolan_api::{FieldError, cluster, semantic, spelling, work};
use portolan_controllers::replica_set_mistakes;
use portolan_engine::fleet::set_mistake;
use portolan_engine::status::Code;
use portolan_rollout::{GroupKey, Groups, Strategy};
use serde_json::json;

use super::judge::Judge;
use super::works;
use crate::input::{Finding, Severity, severity};
use crate::set_names::missing_set;
use crate::simulate::report::PlacementReport;

/// Everything that is wrong with clusters, sets and replica sets.
pub(super) fn findings(judge: &Judge<'_>) -> Vec<Finding> {
    let manifests = judge.manifests;
    let mut findings = Vec::new();
    let sets: Vec<&str> = manifests
        .cluster_sets()
        .filter_map(|set| set.metadata.name.as_deref())
        .collect();
    // Files alone need not have every set that is on the hub.
    let knows_sets = judge.knows_hub || !sets.is_empty();
    for cluster in manifests.clusters() {
        let errors = lease(cluster).map(|error| (Severity::Error, error));
        let warnings = missing_set(cluster, &sets).filter(|_| knows_sets);
        let warnings = warnings.map(|error| (Severity::Warning, error));
        for (severity, error) in errors.into_iter().chain(warnings) {
            let name = cluster.metadata.name.as_deref().unwrap_or_default();
            let place = manifests.place_of(cluster::GROUP, "ManagedCluster", "", name);
            let object = format!("ManagedCluster {name}");
            findings.push(Finding::about(severity, place, &object, &error));
        }
    }
    for set in manifests.cluster_sets() {
        if let Some(error) = set_mistake(set) {
            let name = set.metadata.name.as_deref().unwrap_or_default();
            let place = manifests.place_of(cluster::GROUP, "ManagedClusterSet", "", name);
            let object = format!("ManagedClusterSet {name}");
            findings.push(Finding::about(Severity::Error, place, &object, &error));
        }
    }
    findings.extend(works::findings(judge));
    let placements = Placements::of(judge);
    for set in manifests.replica_sets() {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let place = manifests.place_of(work::GROUP, "ManifestWorkReplicaSet", namespace, name);
        let object = format!("ManifestWorkReplicaSet {namespace}/{name}");
        for (severity, error) in replica_set(set, namespace, &placements) {
            findings.push(Finding::about(severity, place, &object, &error));
        }
    }
    findings
}

/// A Lease needs a duration. The controllers and the agent take a duration below one second for none.
fn lease(cluster: &ManagedCluster) -> Option<FieldError> {
    let seconds = cluster.spec.lease_duration_seconds?;
    (seconds < 1).then(|| {
        FieldError::new(
            "spec.leaseDurationSeconds",
            &json!(seconds),
            "no agent can renew its Lease in that time",
            "a whole number from 1",
        )
    })
}

/// The placements that replica sets can refer to.
struct Placements<'a> {
    by_key: BTreeMap<(&'a str, &'a str), &'a Placement>,
    reports: BTreeMap<(&'a str, &'a str), &'a PlacementReport>,
    has_clusters: bool,
    knows_hub: bool,
}

impl<'a> Placements<'a> {
    fn of(judge: &Judge<'a>) -> Placements<'a> {
        let key = |placement: &'a Placement| {
            let metadata = &placement.metadata;
            (
                metadata.namespace.as_deref().unwrap_or_default(),
                metadata.name.as_deref().unwrap_or_default(),
            )
        };
        let placements = judge.manifests.placements();
        let reports = judge.reports.iter();
        Placements {
            by_key: placements.map(|placement| (key(placement), placement)).collect(),
            reports: reports
                .map(|report| ((report.namespace.as_str(), report.name.as_str()), report))
                .collect(),
            has_clusters: super::has_clusters(judge.manifests),
            knows_hub: judge.knows_hub,
        }
    }

    /// What is wrong with a name. Files alone need not have every placement that is on the hub.
    fn missing(&self, namespace: &str, name: &str) -> Option<Severity> {
        if self.by_key.contains_key(&(namespace, name)) || (self.by_key.is_empty() && !self.knows_hub) {
            return None;
        }
        Some(if self.knows_hub {
            Severity::Error
        } else {
            Severity::Warning
        })
    }

    /// The placement of the namespace that is most likely meant.
    fn alike(&self, namespace: &str, name: &str) -> Option<&'a str> {
        let there = self.by_key.keys().filter(|(of, _)| *of == namespace);
        spelling::did_you_mean(name, there.map(|(_, name)| *name))
    }

    /// The groups of a placement as they would be decided, also those without a cluster. Without clusters in the input,
    /// nothing is known of their positions.
    fn groups(&self, namespace: &str, name: &str) -> Option<Groups> {
        let placement = self.by_key.get(&(namespace, name))?;
        let report = self.reports.get(&(namespace, name))?;
        if !matches!(report.status, Code::Success | Code::Warning) {
            return None;
        }
        let mut groups = Groups::new();
        let strategy = placement.spec.decision_strategy.as_ref();
        let strategy = strategy.and_then(|strategy| strategy.group_strategy.as_ref());
        for group in strategy.iter().flat_map(|strategy| &strategy.decision_groups) {
            groups.declare(&group.group_name);
        }
        for group in &report.decision_groups {
            let key = GroupKey::new(&group.decision_group_name, group.decision_group_index);
            groups.add(key, []);
        }
        Some(groups)
    }
}

/// What the set does not do, and what no agent can evaluate in its template. Files were told so when they were read; objects
/// of a hub were not.
fn template(set: &ManifestWorkReplicaSet) -> Vec<(Severity, FieldError)> {
    let whole = serde_json::to_value(set).unwrap_or_default();
    let found = semantic::findings(&whole).into_iter();
    // Errors are the controller's to say, and it does.
    let warnings = found.filter(|finding| finding.severity == semantic::Severity::Warning);
    let options = &set.spec.manifest_work_template.manifest_configs;
    let mistakes = option_mistakes(options, "spec.manifestWorkTemplate.manifestConfigs");
    warnings
        .map(|finding| (severity(&finding), finding.error))
        .chain(mistakes.into_iter().map(|error| (Severity::Error, error)))
        .collect()
}

fn replica_set(
    set: &ManifestWorkReplicaSet,
    namespace: &str,
    placements: &Placements<'_>,
) -> Vec<(Severity, FieldError)> {
    let mistakes = replica_set_mistakes(set).into_iter();
    let mut found: Vec<_> = mistakes.map(|error| (Severity::Error, error)).collect();
    found.extend(template(set));
    for (position, reference) in set.spec.placement_refs.iter().enumerate() {
        let path = format!("spec.placementRefs[{position}]");
        if let Some(severity) = placements.missing(namespace, &reference.name) {
            let problem = format!("there is no Placement of this name in the namespace {namespace}");
            let accepted = "the name of a Placement in the namespace of the replica set";
            let accepted = match placements.alike(namespace, &reference.name) {
                Some(meant) => format!("{accepted}; did you mean {meant}?"),
                None => accepted.to_owned(),
            };
            let error = FieldError::of_text(format!("{path}.name"), &reference.name, problem, accepted);
            found.push((severity, error));
        }
        let before = &set.spec.placement_refs[..position];
        if let Some(first) = before.iter().position(|other| other.name == reference.name) {
            let error = FieldError::of_text(
                format!("{path}.name"),
                &reference.name,
                format!(
                    "spec.placementRefs[{first}] names the same Placement, so that this reference has no effect"
                ),
                "each Placement once",
            );
            found.push((Severity::Warning, error));
        }
        let strategy = reference.rollout_strategy.clone().unwrap_or_default();
        let strategy = Strategy::new(&strategy, &format!("{path}.rolloutStrategy"));
        if let Ok(strategy) = &strategy {
            let warnings = strategy.warnings.iter().cloned();
            found.extend(warnings.map(|error| (Severity::Warning, error)));
        }
        let groups = placements.groups(namespace, &reference.name);
        if let (Ok(strategy), Some(groups)) = (strategy, groups) {
            let unknown = strategy.check_names(&groups).err().unwrap_or_default();
            found.extend(unknown.into_iter().map(|error| (Severity::Error, error)));
            if placements.has_clusters {
                let absent = strategy.absent_positions(&groups);
                found.extend(absent.into_iter().map(|error| (Severity::Warning, error)));
            }
        }
    }
    found
}
