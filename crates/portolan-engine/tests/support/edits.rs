//! Edits: what happens to a hub.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use portolan_api::cluster::{
    AddOnPlacementScore, ClusterDecision, ManagedCluster, ManagedClusterClaim, ManagedClusterSet,
    ManagedClusterSetBinding, Placement, PlacementDecision, PlacementDecisionStatus, Taint,
};
use portolan_api::labels::ocm;
use portolan_engine::placement::PlacementKey;
use proptest::prelude::*;

use super::{LABEL_KEYS, NAMESPACES, RESOURCES, SET_NAMES, VALUES, clusters, metadata, placements, word};

/// One change of one object, or of the time.
#[derive(Clone)]
pub(crate) enum Edit {
    Cluster(ManagedCluster),
    RemoveCluster(String),
    Label(String, String, Option<String>),
    ClusterSetLabel(String, Option<String>),
    Claims(String, Vec<ManagedClusterClaim>),
    Taints(String, Vec<Taint>),
    Resources(String, BTreeMap<String, Quantity>, BTreeMap<String, Quantity>),
    Deleting(String, bool),
    Set(ManagedClusterSet),
    RemoveSet(String),
    Binding(ManagedClusterSetBinding),
    RemoveBinding(String, String),
    Score(AddOnPlacementScore),
    RemoveScore(String, String),
    Placement(Placement),
    RemovePlacement(PlacementKey),
    Observe(PlacementKey, Vec<PlacementDecision>),
    Advance(i64),
}

/// As JSON where there is an object: a failing case is read by people.
impl std::fmt::Debug for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn json(object: &impl serde::Serialize) -> String {
            serde_json::to_string(object).unwrap_or_default()
        }
        match self {
            Edit::Cluster(object) => write!(f, "Cluster {}", json(object)),
            Edit::RemoveCluster(name) => write!(f, "RemoveCluster {name}"),
            Edit::Label(cluster, key, value) => write!(f, "Label {cluster} {key}={value:?}"),
            Edit::ClusterSetLabel(cluster, set) => write!(f, "ClusterSetLabel {cluster} {set:?}"),
            Edit::Claims(cluster, claims) => write!(f, "Claims {cluster} {}", json(claims)),
            Edit::Taints(cluster, taints) => write!(f, "Taints {cluster} {}", json(taints)),
            Edit::Resources(cluster, allocatable, capacity) => {
                write!(
                    f,
                    "Resources {cluster} {} of {}",
                    json(allocatable),
                    json(capacity)
                )
            }
            Edit::Deleting(cluster, deleting) => write!(f, "Deleting {cluster} {deleting}"),
            Edit::Set(object) => write!(f, "Set {}", json(object)),
            Edit::RemoveSet(name) => write!(f, "RemoveSet {name}"),
            Edit::Binding(object) => write!(f, "Binding {}", json(object)),
            Edit::RemoveBinding(namespace, name) => write!(f, "RemoveBinding {namespace}/{name}"),
            Edit::Score(object) => write!(f, "Score {}", json(object)),
            Edit::RemoveScore(namespace, name) => write!(f, "RemoveScore {namespace}/{name}"),
            Edit::Placement(object) => write!(f, "Placement {}", json(object)),
            Edit::RemovePlacement(key) => write!(f, "RemovePlacement {key}"),
            Edit::Observe(key, decisions) => write!(f, "Observe {key} {}", json(decisions)),
            Edit::Advance(seconds) => write!(f, "Advance {seconds}"),
        }
    }
}

/// Some edits, then an evaluation whose writes are done, or not yet.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) edits: Vec<Edit>,
    pub(crate) complete: bool,
}

/// Objects that are there from the start.
pub(crate) fn initial() -> impl Strategy<Value = Vec<Edit>> {
    let all = (
        prop::collection::vec(clusters::set(), 2..5),
        prop::collection::vec(clusters::binding(), 2..8),
        prop::collection::vec(clusters::cluster(), 0..40),
        prop::collection::vec(clusters::score(), 0..12),
        prop::collection::vec(placements::placement(), 1..7),
        prop::collection::vec(observe(), 0..2),
    );
    all.prop_map(|(sets, bindings, clusters, scores, placements, observed)| {
        let mut edits = observed;
        edits.extend(sets.into_iter().map(Edit::Set));
        edits.extend(bindings.into_iter().map(Edit::Binding));
        edits.extend(clusters.into_iter().map(Edit::Cluster));
        edits.extend(scores.into_iter().map(Edit::Score));
        edits.extend(placements.into_iter().map(Edit::Placement));
        edits
    })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let edits =
        prop_oneof![3 => prop::collection::vec(edit(), 1..2), 1 => prop::collection::vec(edit(), 2..4)];
    (edits, prop::bool::weighted(0.8)).prop_map(|(edits, complete)| Step { edits, complete })
}

fn edit() -> impl Strategy<Value = Edit> {
    let name = clusters::cluster_name;
    let value = || prop::option::weighted(0.8, word(&VALUES));
    prop_oneof![
        3 => clusters::cluster().prop_map(Edit::Cluster),
        2 => name().prop_map(Edit::RemoveCluster),
        5 => (name(), word(&LABEL_KEYS), value()).prop_map(|(cluster, key, value)| Edit::Label(cluster, key, value)),
        2 => (name(), prop::option::weighted(0.8, word(&SET_NAMES)))
            .prop_map(|(cluster, set)| Edit::ClusterSetLabel(cluster, set)),
        3 => (name(), clusters::claims()).prop_map(|(cluster, claims)| Edit::Claims(cluster, claims)),
        3 => (name(), clusters::taints()).prop_map(|(cluster, taints)| Edit::Taints(cluster, taints)),
        2 => (name(), clusters::resources())
            .prop_map(|(cluster, (allocatable, capacity))| Edit::Resources(cluster, allocatable, capacity)),
        2 => (name(), any::<bool>()).prop_map(|(cluster, deleting)| Edit::Deleting(cluster, deleting)),
        2 => clusters::set().prop_map(Edit::Set),
        1 => word(&SET_NAMES).prop_map(Edit::RemoveSet),
        2 => clusters::binding().prop_map(Edit::Binding),
        1 => (word(&NAMESPACES), word(&SET_NAMES)).prop_map(|(namespace, set)| Edit::RemoveBinding(namespace, set)),
        4 => clusters::score().prop_map(Edit::Score),
        1 => (name(), word(&RESOURCES)).prop_map(|(cluster, resource)| Edit::RemoveScore(cluster, resource)),
        4 => placements::placement().prop_map(Edit::Placement),
        1 => placements::key().prop_map(|(namespace, name)| Edit::RemovePlacement(PlacementKey::new(&namespace, &name))),
        2 => observe(),
        3 => (1i64..90).prop_map(Edit::Advance),
    ]
}

/// Decisions as somebody left them: any clusters, torn groups, entries twice, entries without a name.
fn observe() -> impl Strategy<Value = Edit> {
    let cluster = prop_oneof![12 => clusters::cluster_name(), 1 => Just(String::new())];
    let slice = (
        prop::collection::vec(cluster, 0..4),
        0usize..3,
        word(&["", "canary", "early"]),
    );
    (placements::key(), prop::collection::vec(slice, 0..3)).prop_map(|((namespace, name), decisions)| {
        let decisions = decisions.into_iter().enumerate();
        let decisions = decisions.map(|(index, (clusters, group, group_name))| {
            decision(&namespace, &name, index, group, &group_name, &clusters)
        });
        Edit::Observe(PlacementKey::new(&namespace, &name), decisions.collect())
    })
}

/// One OCM decision.
pub(crate) fn decision(
    namespace: &str,
    placement: &str,
    index: usize,
    group: usize,
    group_name: &str,
    clusters: &[String],
) -> PlacementDecision {
    let labels = [
        (ocm::PLACEMENT, placement.to_owned()),
        (ocm::DECISION_GROUP_INDEX, group.to_string()),
        (ocm::DECISION_GROUP_NAME, group_name.to_owned()),
    ];
    let entry = |name: &String| ClusterDecision {
        cluster_name: name.clone(),
        ..Default::default()
    };
    let mut decision = PlacementDecision {
        metadata: metadata(namespace, &format!("{placement}-decision-{}", index + 1)),
        status: Some(PlacementDecisionStatus {
            decisions: clusters.iter().map(entry).collect(),
        }),
    };
    decision.metadata.labels = Some(
        labels
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    );
    decision
}
