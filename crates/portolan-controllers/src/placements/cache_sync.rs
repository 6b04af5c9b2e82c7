//! Whether enough is known to decide. A cache that is being filled, or a kind that cannot be read, keeps every decision
//! as it is.

use std::fmt;

use portolan_runtime::watch::SyncState;

use crate::health::Missing;

/// The kinds that decisions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watched {
    Placements,
    Clusters,
    Profiles,
    Sets,
    Bindings,
    Scores,
    Decisions,
    Slices,
    /// Not a kind of objects: the fields that the definitions of the others have.
    Fields,
}

impl fmt::Display for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Watched::Placements => "Placement (cluster.open-cluster-management.io/v1beta1)",
            Watched::Clusters => "ManagedCluster (cluster.open-cluster-management.io/v1)",
            Watched::Profiles => "ClusterProfile (multicluster.x-k8s.io/v1alpha1)",
            Watched::Sets => "ManagedClusterSet (cluster.open-cluster-management.io/v1beta2)",
            Watched::Bindings => "ManagedClusterSetBinding (cluster.open-cluster-management.io/v1beta2)",
            Watched::Scores => "AddOnPlacementScore (cluster.open-cluster-management.io/v1alpha1)",
            Watched::Decisions => "PlacementDecision (cluster.open-cluster-management.io/v1beta1)",
            Watched::Slices => "PlacementDecision (multicluster.x-k8s.io/v1alpha1)",
            Watched::Fields => "CustomResourceDefinition (apiextensions.k8s.io/v1)",
        })
    }
}

impl Watched {
    /// The resource, in the words of a role.
    fn resource(self) -> &'static str {
        match self {
            Watched::Placements => "placements.cluster.open-cluster-management.io",
            Watched::Clusters => "managedclusters.cluster.open-cluster-management.io",
            Watched::Profiles => "clusterprofiles.multicluster.x-k8s.io",
            Watched::Sets => "managedclustersets.cluster.open-cluster-management.io",
            Watched::Bindings => "managedclustersetbindings.cluster.open-cluster-management.io",
            Watched::Scores => "addonplacementscores.cluster.open-cluster-management.io",
            Watched::Decisions => "placementdecisions.cluster.open-cluster-management.io",
            Watched::Slices => "placementdecisions.multicluster.x-k8s.io",
            Watched::Fields => "customresourcedefinitions.apiextensions.k8s.io",
        }
    }
}

/// The kinds that are looked at, and what is known of each.
#[derive(Debug)]
pub(crate) struct CacheSync {
    kinds: Vec<(Watched, SyncState)>,
}

impl CacheSync {
    pub(crate) fn new(kinds: impl IntoIterator<Item = Watched>) -> CacheSync {
        CacheSync {
            kinds: kinds.into_iter().map(|kind| (kind, SyncState::Listing)).collect(),
        }
    }

    /// Learns about one kind and returns what was known before.
    pub(crate) fn learn(&mut self, kind: Watched, knowledge: SyncState) -> SyncState {
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => std::mem::replace(known, knowledge),
            None => knowledge,
        }
    }

    /// What is known of a kind that is looked at.
    pub(crate) fn knowledge(&self, kind: Watched) -> Option<SyncState> {
        let mut kinds = self.kinds.iter();
        let (_, knowledge) = kinds.find(|(known, _)| *known == kind)?;
        Some(*knowledge)
    }

    pub(crate) fn is_served(&self, kind: Watched) -> bool {
        self.knowledge(kind)
            .is_some_and(|knowledge| knowledge != SyncState::NotServed)
    }

    /// Whether decisions may be made.
    pub(crate) fn is_open(&self) -> bool {
        self.kinds.iter().all(passes)
    }

    /// What decisions wait for.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        let missing = self.kinds.iter().filter(|kind| !passes(kind));
        missing
            .map(|(kind, knowledge)| Missing {
                resource: kind.resource().into(),
                text: match knowledge {
                    SyncState::NotServed => {
                        format!(
                            "{kind} is not served by the API server; install its CustomResourceDefinition"
                        )
                    }
                    _ => format!("{kind} is still being listed"),
                },
            })
            .collect()
    }
}

/// Scores are optional, and an output that is not served is off.
fn passes((kind, knowledge): &(Watched, SyncState)) -> bool {
    let optional = matches!(kind, Watched::Scores | Watched::Decisions | Watched::Slices);
    match knowledge {
        SyncState::Synced => true,
        SyncState::Listing => false,
        SyncState::NotServed => optional,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_decided_until_every_kind_is_complete_or_known_to_be_dispensable() {
        let mut cache_sync = CacheSync::new([Watched::Placements, Watched::Scores]);
        assert_eq!(cache_sync.missing().len(), 2);
        cache_sync.learn(Watched::Scores, SyncState::NotServed);
        assert!(!cache_sync.is_open());
        cache_sync.learn(Watched::Placements, SyncState::Synced);
        assert!(cache_sync.is_open());
        cache_sync.learn(Watched::Placements, SyncState::NotServed);
        assert_eq!(
            cache_sync.missing()[0].text,
            "Placement (cluster.open-cluster-management.io/v1beta1) is not served by the API server; install its \
             CustomResourceDefinition"
        );
    }
}
