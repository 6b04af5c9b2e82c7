//! What a ClusterProfile says about a ManagedCluster, and how two of them are compared.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::{SCHEDULER_NAME, conditions, multicluster, ocm, portolan};
use portolan_api::multicluster::{
    ClusterManager, ClusterProfile, ClusterProfileSpec, ClusterProfileStatus, ClusterVersion, Property,
};
use portolan_api::shorten;
use serde_json::{Value, json};

use crate::reconcile::Version;

/// The condition of a ManagedCluster behind each condition of its profile.
const CONDITIONS: [(&str, &str); 2] = [
    (conditions::AVAILABLE, conditions::CONTROL_PLANE_HEALTHY),
    (conditions::JOINED, conditions::PROFILE_JOINED),
];

/// A condition has to have a reason, also where the agent gave none.
const NO_REASON: &str = "Unspecified";

/// What the profiles of a cluster should say, packed: it is compared often and written rarely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(super) metadata: u64,
    pub(super) status: u64,
    cluster: Box<str>,
    set: Box<str>,
    /// The status as JSON.
    packed: Box<[u8]>,
}

/// What is there, as far as it is compared.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) version: Version,
    pub(super) owner: Owner,
    pub(super) created: Option<Timestamp>,
    pub(super) deleting: bool,
    pub(super) metadata: u64,
    pub(super) status: u64,
}

/// The publisher of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Portolan,
    SomebodyElse,
}

impl Content {
    pub(super) fn of(cluster: &ManagedCluster) -> Content {
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let labels = cluster.metadata.labels.as_ref();
        let set = labels
            .and_then(|labels| labels.get(ocm::CLUSTER_SET))
            .map_or("", String::as_str);
        let status = status_of(cluster);
        Content {
            metadata: metadata_digest(ocm::CLUSTER_MANAGER_NAME, &shorten::label_value(name), set, name),
            status: status_digest(&status),
            cluster: name.into(),
            set: set.into(),
            packed: serde_json::to_vec(&status).unwrap_or_default().into(),
        }
    }

    /// The profile as it is created. The status follows in a write of its own.
    pub(super) fn profile(&self, namespace: &str) -> ClusterProfile {
        let labels = self
            .labels()
            .filter_map(|(key, value)| Some((key.to_owned(), value?.into_owned())));
        ClusterProfile {
            metadata: ObjectMeta {
                name: Some(self.cluster.to_string()),
                namespace: Some(namespace.to_owned()),
                labels: Some(labels.collect()),
                annotations: Some(BTreeMap::from([(
                    portolan::PUBLISHED_BY.to_owned(),
                    SCHEDULER_NAME.to_owned(),
                )])),
                ..ObjectMeta::default()
            },
            spec: ClusterProfileSpec {
                display_name: Some(self.cluster.to_string()),
                cluster_manager: ClusterManager {
                    name: ocm::CLUSTER_MANAGER_NAME.to_owned(),
                },
            },
            status: None,
        }
    }

    /// The merge patch that puts labels and display name right.
    pub(super) fn metadata_patch(&self, version: &Version) -> Value {
        let labels: BTreeMap<&str, Value> = self
            .labels()
            .map(|(key, value)| (key, value.map_or(Value::Null, Into::into)))
            .collect();
        json!({
            "metadata": {"resourceVersion": version.as_str(), "labels": labels},
            "spec": {"displayName": self.cluster},
        })
    }

    /// The merge patch that puts the status of this profile right, or nothing when it is. Nothing as well when the
    /// profile is somebody else's: one may have taken the place of ours since it was last heard of.
    pub(super) fn status_patch(&self, profile: &ClusterProfile) -> Option<Value> {
        if Observed::of(profile).owner == Owner::SomebodyElse {
            return None;
        }
        let nothing = ClusterProfileStatus::default();
        let observed = profile.status.as_ref().unwrap_or(&nothing);
        if status_digest(observed) == self.status {
            return None;
        }
        let ClusterProfileStatus {
            version,
            properties,
            conditions,
            ..
        } = self.status();
        // What is to go is named, because a merge leaves what it does not name.
        Some(json!({
            "metadata": {"resourceVersion": Version::of(&profile.metadata).as_str()},
            "status": {
                "version": version,
                "properties": (!properties.is_empty()).then_some(properties),
                "conditions": merged(&observed.conditions, conditions),
            },
        }))
    }

    fn status(&self) -> ClusterProfileStatus {
        // It was packed here, so it can be unpacked.
        serde_json::from_slice(&self.packed).unwrap_or_default()
    }

    /// Our labels; one without a value is not to be there.
    fn labels(&self) -> impl Iterator<Item = (&'static str, Option<std::borrow::Cow<'_, str>>)> {
        let set = (!self.set.is_empty()).then(|| (*self.set).into());
        [
            (
                multicluster::CLUSTER_MANAGER,
                Some(ocm::CLUSTER_MANAGER_NAME.into()),
            ),
            (ocm::CLUSTER_NAME, Some(shorten::label_value(&self.cluster))),
            (multicluster::CLUSTER_SET, set),
        ]
        .into_iter()
    }
}

impl Observed {
    pub(super) fn of(profile: &ClusterProfile) -> Observed {
        let metadata = &profile.metadata;
        let label = |key| {
            metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(key))
                .map_or("", String::as_str)
        };
        let annotations = metadata.annotations.as_ref();
        let published_by = annotations.and_then(|annotations| annotations.get(portolan::PUBLISHED_BY));
        let manager = profile.spec.cluster_manager.name.as_str();
        let ours =
            published_by.is_some_and(|by| by == SCHEDULER_NAME) && manager == ocm::CLUSTER_MANAGER_NAME;
        let nothing = ClusterProfileStatus::default();
        Observed {
            version: Version::of(metadata),
            owner: if ours {
                Owner::Portolan
            } else {
                Owner::SomebodyElse
            },
            created: metadata.creation_timestamp.as_ref().map(|created| created.0),
            deleting: metadata.deletion_timestamp.is_some(),
            metadata: metadata_digest(
                label(multicluster::CLUSTER_MANAGER),
                label(ocm::CLUSTER_NAME),
                label(multicluster::CLUSTER_SET),
                profile.spec.display_name.as_deref().unwrap_or_default(),
            ),
            status: status_digest(profile.status.as_ref().unwrap_or(&nothing)),
        }
    }
}

/// The most claims of a cluster that become properties, the first by name. An agent reports no more.
const MOST_PROPERTIES: usize = 256;

fn status_of(cluster: &ManagedCluster) -> ClusterProfileStatus {
    let Some(status) = &cluster.status else {
        return ClusterProfileStatus::default();
    };
    // A claim that a property cannot hold would make the server refuse the whole status. Of two claims with one name
    // the last counts, as in scheduling.
    let properties: BTreeMap<&str, &str> = status
        .cluster_claims
        .iter()
        .filter(|claim| (1..=253).contains(&claim.name.chars().count()))
        .filter(|claim| (1..=1024).contains(&claim.value.chars().count()))
        .map(|claim| (claim.name.as_str(), claim.value.as_str()))
        .collect();
    // Every bound namespace has a copy.
    let properties = properties.into_iter().take(MOST_PROPERTIES);
    let conditions = CONDITIONS.iter().filter_map(|(from, to)| {
        let condition = status
            .conditions
            .iter()
            .find(|condition| condition.type_ == *from)?;
        Some(Condition {
            type_: (*to).to_owned(),
            status: condition.status.clone(),
            reason: match condition.reason.as_str() {
                "" => NO_REASON.to_owned(),
                reason => reason.to_owned(),
            },
            message: condition.message.clone(),
            // When the cluster changed, not when it was heard of: a profile that is published anew says the same.
            last_transition_time: condition.last_transition_time.clone(),
            observed_generation: None,
        })
    });
    let kubernetes = status
        .version
        .as_ref()
        .and_then(|version| version.kubernetes.clone());
    ClusterProfileStatus {
        conditions: conditions.collect(),
        version: kubernetes
            .filter(|version| !version.is_empty())
            .map(|version| ClusterVersion {
                kubernetes: Some(version),
            }),
        properties: properties
            .map(|(name, value)| Property {
                name: name.to_owned(),
                value: value.to_owned(),
                last_observed_time: None,
            })
            .collect(),
        ..ClusterProfileStatus::default()
    }
}

/// Ours among the observed ones, which stay in their places; the transition time moves only with the status.
fn merged(observed: &[Condition], wanted: Vec<Condition>) -> Vec<Condition> {
    let is_ours = |condition: &Condition| CONDITIONS.iter().any(|(_, ours)| *ours == condition.type_);
    let mut conditions: Vec<Condition> = observed
        .iter()
        .filter(|condition| {
            !is_ours(condition) || wanted.iter().any(|wanted| wanted.type_ == condition.type_)
        })
        .cloned()
        .collect();
    for mut condition in wanted {
        match conditions.iter_mut().find(|old| old.type_ == condition.type_) {
            Some(old) => {
                if old.status == condition.status {
                    condition.last_transition_time = old.last_transition_time.clone();
                }
                *old = condition;
            }
            None => conditions.push(condition),
        }
    }
    conditions
}

fn metadata_digest(manager: &str, cluster: &str, set: &str, display_name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (manager, cluster, set, display_name).hash(&mut hasher);
    hasher.finish()
}

/// A hash of what we write, in no order: not of transition times, not of conditions and fields of others.
fn status_digest(status: &ClusterProfileStatus) -> u64 {
    let mut hasher = DefaultHasher::new();
    let kubernetes = status
        .version
        .as_ref()
        .and_then(|version| version.kubernetes.as_deref());
    kubernetes.unwrap_or_default().hash(&mut hasher);
    let mut properties: Vec<(&str, &str)> = status
        .properties
        .iter()
        .map(|property| (property.name.as_str(), property.value.as_str()))
        .collect();
    properties.sort_unstable();
    properties.hash(&mut hasher);
    for (_, ours) in CONDITIONS {
        let condition = status.conditions.iter().find(|condition| condition.type_ == ours);
        let said = condition.map(|said| (said.status.as_str(), said.reason.as_str(), said.message.as_str()));
        said.hash(&mut hasher);
    }
    hasher.finish()
}
