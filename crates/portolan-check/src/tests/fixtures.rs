use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use portolan_api::{cluster, multicluster};

use crate::{Cluster, DecisionId, Event, Object, Recording, State, labels};

pub(super) type Slice = multicluster::PlacementDecision;

pub(super) const NAMESPACE: &str = "shop";

pub(super) fn web() -> DecisionId {
    DecisionId::kep(NAMESPACE, "web")
}

pub(super) fn ocm_web() -> DecisionId {
    DecisionId::ocm(NAMESPACE, "web")
}

/// `n` cluster names from `first` on, in name order.
pub(super) fn names(first: usize, n: usize) -> Vec<String> {
    (first..first + n).map(|i| format!("c{i:05}")).collect()
}

pub(super) fn profiles<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<Cluster> {
    names
        .into_iter()
        .map(|name| Cluster::profile(NAMESPACE, name.as_ref()))
        .collect()
}

/// A slice of `shop/web` with key and index.
pub(super) fn slice<S: AsRef<str>>(index: usize, clusters: impl IntoIterator<Item = S>) -> Slice {
    let decisions = clusters.into_iter().map(|name| entry(name.as_ref())).collect();
    let slice = Slice {
        metadata: metadata(&format!("web-decision-{index}")),
        decisions,
        scheduler_name: None,
    };
    let slice = with(slice, labels::DECISION_KEY, "web");
    with(slice, labels::DECISION_INDEX, &index.to_string())
}

pub(super) fn entry(name: &str) -> multicluster::ClusterDecision {
    let reference = multicluster::ClusterProfileReference {
        name: name.to_owned(),
        ..Default::default()
    };
    multicluster::ClusterDecision {
        cluster_profile_ref: Some(reference),
        ..Default::default()
    }
}

/// A slice under a revision of `count` slices.
pub(super) fn revised<S: AsRef<str>>(
    revision: u64,
    count: usize,
    index: usize,
    clusters: impl IntoIterator<Item = S>,
) -> Slice {
    let slice = with(
        slice(index, clusters),
        labels::DECISION_REVISION,
        &revision.to_string(),
    );
    with(slice, labels::DECISION_SLICE_COUNT, &count.to_string())
}

pub(super) fn with(mut slice: Slice, label: &str, value: &str) -> Slice {
    slice
        .metadata
        .labels
        .get_or_insert_default()
        .insert(label.to_owned(), value.to_owned());
    slice
}

pub(super) fn without(mut slice: Slice, label: &str) -> Slice {
    slice.metadata.labels.get_or_insert_default().remove(label);
    slice
}

pub(super) fn named(mut slice: Slice, name: &str) -> Slice {
    slice.metadata.name = Some(name.to_owned());
    slice
}

pub(super) fn by(mut slice: Slice, scheduler: &str) -> Slice {
    slice.scheduler_name = Some(scheduler.to_owned());
    slice
}

pub(super) fn owned(mut slice: Slice, uid: &str) -> Slice {
    let owner = OwnerReference {
        kind: "Placement".to_owned(),
        name: "web".to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        ..Default::default()
    };
    slice.metadata.owner_references = Some(vec![owner]);
    slice
}

pub(super) fn at_version(mut slice: Slice, version: &str) -> Slice {
    slice.metadata.resource_version = Some(version.to_owned());
    slice
}

pub(super) fn profile(name: &str, member: Option<&str>) -> multicluster::ClusterProfile {
    let mut profile = multicluster::ClusterProfile {
        metadata: metadata(name),
        ..Default::default()
    };
    let member = member.map(|member| (labels::INVENTORY_MEMBER_ID.to_owned(), member.to_owned()));
    profile.metadata.labels = Some(member.into_iter().collect());
    profile
}

/// Object `k` of the OCM decision of `shop/web`.
pub(super) fn object<S: AsRef<str>>(
    k: usize,
    group: usize,
    clusters: impl IntoIterator<Item = S>,
) -> cluster::PlacementDecision {
    let mut metadata = metadata(&format!("web-decision-{k}"));
    metadata.labels = Some(BTreeMap::from([
        (labels::OCM_PLACEMENT.to_owned(), "web".to_owned()),
        (labels::OCM_GROUP_INDEX.to_owned(), group.to_string()),
        (labels::OCM_GROUP_NAME.to_owned(), String::new()),
    ]));
    let entry = |name: S| cluster::ClusterDecision {
        cluster_name: name.as_ref().to_owned(),
        ..Default::default()
    };
    let status = cluster::PlacementDecisionStatus {
        decisions: clusters.into_iter().map(entry).collect(),
    };
    cluster::PlacementDecision {
        metadata,
        status: Some(status),
    }
}

pub(super) fn hashed(mut object: cluster::PlacementDecision, hash: &str) -> cluster::PlacementDecision {
    let hash = (labels::CONTENT.to_owned(), hash.to_owned());
    object.metadata.annotations = Some(BTreeMap::from([hash]));
    object
}

/// The Placement `shop/web` with a status of these groups: objects and number of clusters of each.
pub(super) fn placement(groups: &[(&[&str], i32)]) -> cluster::Placement {
    let mut placement = cluster::Placement {
        metadata: metadata("web"),
        ..Default::default()
    };
    let group = |(index, (objects, count)): (usize, &(&[&str], i32))| cluster::DecisionGroupStatus {
        decision_group_index: i32::try_from(index).unwrap(),
        decision_group_name: String::new(),
        decisions: objects.iter().map(|name| (*name).to_owned()).collect(),
        cluster_count: *count,
    };
    placement.status = Some(cluster::PlacementStatus {
        number_of_selected_clusters: groups.iter().map(|(_, count)| count).sum(),
        decision_groups: groups.iter().enumerate().map(group).collect(),
        ..Default::default()
    });
    placement
}

/// The Placement `shop/web` without status.
pub(super) fn bare_placement() -> cluster::Placement {
    cluster::Placement {
        metadata: metadata("web"),
        ..Default::default()
    }
}

pub(super) fn added(object: impl Into<Object>) -> Event {
    Event::Added(object.into())
}

pub(super) fn modified(object: impl Into<Object>) -> Event {
    Event::Modified(object.into())
}

pub(super) fn deleted(object: impl Into<Object>) -> Event {
    Event::Deleted(object.into())
}

pub(super) fn recording<O: Into<Object>>(
    initial: impl IntoIterator<Item = O>,
    events: Vec<Event>,
) -> Recording {
    Recording {
        initial: State::of(initial),
        events,
    }
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(NAMESPACE.to_owned()),
        ..Default::default()
    }
}
