//! One cluster as the engine sees it, from either inventory.

use std::sync::Arc;

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, TaintEffect};
use portolan_api::labels;
use portolan_api::multicluster::ClusterProfile;

use super::document::Document;
use super::pool::Pool;
use crate::quantity;

/// Sorted by key, one value a key.
pub(crate) type Pairs = Box<[(Arc<str>, Arc<str>)]>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cluster {
    pub(crate) name: Arc<str>,
    /// Namespace of the ClusterProfile; empty for a ManagedCluster, which has none.
    pub(crate) namespace: Arc<str>,
    pub(crate) labels: Pairs,
    pub(crate) claims: Pairs,
    pub(crate) taints: Box<[Taint]>,
    pub(crate) cpu: Option<f64>,
    pub(crate) memory: Option<f64>,
    pub(crate) deleting: bool,
    /// When a ClusterProfile was created: of two profiles of one member the older one counts.
    pub(crate) created: Option<Timestamp>,
    /// The object as a whole, for CEL and explanations.
    pub(crate) document: Document,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taint {
    pub(crate) key: Arc<str>,
    pub(crate) value: Arc<str>,
    pub(crate) effect: TaintEffect,
    pub(crate) time_added: Option<Timestamp>,
}

impl Cluster {
    pub(crate) fn from_managed(cluster: &ManagedCluster, pool: &mut Pool) -> Cluster {
        let status = cluster.status.as_ref();
        let resource = |name: &str| {
            // Capacity must be there too, as OCM wants it, though its value plays no part in the score.
            let status = status?;
            status.capacity.get(name)?;
            quantity::as_float(&status.allocatable.get(name)?.0)
        };
        let claims = status
            .map(|status| status.cluster_claims.as_slice())
            .unwrap_or_default();
        Cluster {
            name: pool.share(cluster.metadata.name.as_deref().unwrap_or_default()),
            namespace: pool.share(""),
            labels: pairs(
                cluster
                    .metadata
                    .labels
                    .iter()
                    .flatten()
                    .map(|(k, v)| (k.as_str(), v.as_str())),
                pool,
            ),
            claims: pairs(
                claims
                    .iter()
                    .map(|claim| (claim.name.as_str(), claim.value.as_str())),
                pool,
            ),
            taints: cluster
                .spec
                .taints
                .iter()
                .map(|taint| Taint {
                    key: pool.share(&taint.key),
                    value: pool.share(taint.value.as_deref().unwrap_or_default()),
                    effect: taint.effect,
                    time_added: taint.time_added.as_ref().map(|time| time.0),
                })
                .collect(),
            cpu: resource("cpu"),
            memory: resource("memory"),
            deleting: cluster.metadata.deletion_timestamp.is_some(),
            created: None,
            document: Document::of(cluster),
        }
    }

    pub(crate) fn from_profile(profile: &ClusterProfile, pool: &mut Pool) -> Cluster {
        let status = profile.status.as_ref();
        let properties = status
            .map(|status| status.properties.as_slice())
            .unwrap_or_default();
        Cluster {
            name: pool.share(profile.metadata.name.as_deref().unwrap_or_default()),
            namespace: pool.share(profile.metadata.namespace.as_deref().unwrap_or_default()),
            labels: pairs(
                profile
                    .metadata
                    .labels
                    .iter()
                    .flatten()
                    .map(|(k, v)| (k.as_str(), v.as_str())),
                pool,
            ),
            claims: pairs(
                properties.iter().map(|p| (p.name.as_str(), p.value.as_str())),
                pool,
            ),
            taints: health_taint(profile, pool).into_iter().collect(),
            cpu: None,
            memory: None,
            deleting: profile.metadata.deletion_timestamp.is_some(),
            created: profile.metadata.creation_timestamp.as_ref().map(|time| time.0),
            document: Document::of(profile),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        lookup(&self.labels, key)
    }

    /// The member cluster that a profile stands for, where its inventory says.
    pub(crate) fn member_id(&self) -> Option<&str> {
        self.label(labels::multicluster::INVENTORY_MEMBER_ID)
            .filter(|id| !id.is_empty())
    }

    pub(crate) fn claim(&self, key: &str) -> Option<&str> {
        lookup(&self.claims, key)
    }
}

/// A profile has no taints: its health stands in for them, as the taint controller does for a ManagedCluster.
fn health_taint(profile: &ClusterProfile, pool: &mut Pool) -> Option<Taint> {
    let conditions = profile
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let healthy = conditions
        .iter()
        .find(|condition| condition.type_ == labels::conditions::CONTROL_PLANE_HEALTHY);
    let key = match healthy.map(|condition| condition.status.as_str()) {
        Some("True") => return None,
        Some("False") => labels::ocm::TAINT_UNAVAILABLE,
        _ => labels::ocm::TAINT_UNREACHABLE,
    };
    Some(Taint {
        key: pool.share(key),
        value: pool.share(""),
        effect: TaintEffect::NoSelect,
        time_added: healthy.map(|condition| condition.last_transition_time.0),
    })
}

/// On duplicate keys the last one wins, as in OCM's claim map.
fn pairs<'a>(items: impl Iterator<Item = (&'a str, &'a str)>, pool: &mut Pool) -> Pairs {
    let mut pairs: Vec<(Arc<str>, Arc<str>)> = items.map(|(k, v)| (pool.share(k), pool.share(v))).collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs.reverse();
    pairs.dedup_by(|a, b| a.0 == b.0);
    pairs.reverse();
    pairs.into_boxed_slice()
}

fn lookup<'a>(pairs: &'a Pairs, key: &str) -> Option<&'a str> {
    let position = pairs.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
    Some(&pairs[position].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_two_equal_claims_wins() {
        let pairs = pairs(
            [("a", "1"), ("b", "2"), ("a", "3")].into_iter(),
            &mut Pool::default(),
        );
        assert_eq!(lookup(&pairs, "a"), Some("3"));
        assert_eq!(pairs.len(), 2);
    }
}
