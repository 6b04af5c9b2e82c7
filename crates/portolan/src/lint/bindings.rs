//! Sets that files do not bind to the namespace of a placement. Files alone need not have every binding of the hub, so that the
//! evaluation of a placement without clusters says nothing of them.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::FieldError;
use portolan_api::cluster::{self, Placement};
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::is_ours;

use super::judge::Judge;
use crate::input::{Finding, Severity};
use crate::object_name::listed;

/// How a binding that files do not have is looked for on a hub.
const CHECK: &str = "--kubeconfig FILE looks for the binding on a hub, too";

/// The bindings of the input: names by namespace.
type Bindings<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Placements whose sets the files do not bind, although the files have bindings. `said` is what was found before.
pub(super) fn findings(judge: &Judge<'_>, said: &[Finding]) -> Vec<Finding> {
    let manifests = judge.manifests;
    let mut bindings = Bindings::new();
    for binding in manifests.bindings() {
        let namespace = binding.metadata.namespace.as_deref().unwrap_or_default();
        let names = bindings.entry(namespace).or_default();
        names.extend(binding.metadata.name.as_deref());
    }
    // A hub is evaluated with all its bindings, and ClusterProfiles need none.
    if judge.knows_hub || bindings.is_empty() || judge.inventory == Inventory::ClusterProfiles {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for placement in manifests.placements().filter(|placement| is_ours(placement)) {
        let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
        let name = placement.metadata.name.as_deref().unwrap_or_default();
        let object = format!("Placement {namespace}/{name}");
        let is_said = said.iter().any(|found| {
            let about_sets = ["spec.clusterSets", "metadata.namespace"];
            found.object == object && about_sets.iter().any(|field| found.field.starts_with(field))
        });
        if is_said {
            continue;
        }
        let place = manifests.place_of(cluster::GROUP, "Placement", namespace, name);
        let unbound = unbound(placement, namespace, &bindings);
        let unbound = unbound.into_iter();
        findings.extend(unbound.map(|(severity, error)| Finding::about(severity, place, &object, &error)));
    }
    findings
}

/// What is not bound. A namespace without any binding in the files is most likely bound by others.
fn unbound(placement: &Placement, namespace: &str, bindings: &Bindings<'_>) -> Vec<(Severity, FieldError)> {
    let Some(bound) = bindings.get(namespace) else {
        let others: Vec<String> = bindings.keys().map(ToString::to_string).collect();
        let error = FieldError::of_text(
            "metadata.namespace",
            namespace,
            format!(
                "the files have no ManagedClusterSetBinding in this namespace, only in [{}]; without a binding the Placement \
                 selects no cluster",
                listed(&others)
            ),
            format!("a namespace with a ManagedClusterSetBinding; {CHECK}"),
        );
        return vec![(Severity::Info, error)];
    };
    let names: Vec<String> = bound.iter().map(ToString::to_string).collect();
    let wanted = placement.spec.cluster_sets.iter().enumerate();
    let wanted = wanted.filter(|(_, set)| !bound.contains(set.as_str()));
    wanted
        .map(|(position, set)| {
            let error = FieldError::of_text(
                format!("spec.clusterSets[{position}]"),
                set,
                format!("the files do not bind this set to the namespace {namespace}"),
                format!(
                    "a bound set [{}], or create a ManagedClusterSetBinding of this name; {CHECK}",
                    listed(&names)
                ),
            );
            (Severity::Warning, error)
        })
        .collect()
}
