//! Fleets and placements out of a seed: for `portolan up --demo`, for benches and for tests.
//!
//! Pure: it never talks to a server, and it imports nothing of the engine.
//!
//! Every object is made on its own from the seed and its number, so that a large fleet can be fed to an engine
//! without ever being in memory as a whole. Proportions follow real fleets: a cluster has about a dozen labels, two of
//! them unique; a team or a site has on the order of a hundred clusters however large the fleet is.

mod cluster;
mod placement;
mod random;

use jiff::Timestamp;
use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
};

pub use placement::Kind;

/// How many clusters a team or a site has on average.
const CLUSTERS_PER_VALUE: usize = 100;

/// A fleet and its placements, made as they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// Same seed, same objects.
    pub seed: u64,
    /// Number of clusters.
    pub clusters: usize,
    /// Number of placements.
    pub placements: usize,
}

impl Generator {
    /// The moment at which the fleet is evaluated.
    pub fn now(&self) -> Timestamp {
        // 2026-01-01T00:00:00Z
        Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The cluster with a number below `clusters`.
    pub fn cluster(&self, index: usize) -> ManagedCluster {
        cluster::cluster(self, index)
    }

    /// The score that an add-on published for a cluster.
    pub fn score(&self, index: usize) -> AddOnPlacementScore {
        cluster::score(self, index)
    }

    /// All cluster sets.
    pub fn sets(&self) -> Vec<ManagedClusterSet> {
        cluster::sets()
    }

    /// Bindings of the sets to the namespaces of the placements.
    pub fn bindings(&self) -> Vec<ManagedClusterSetBinding> {
        placement::bindings()
    }

    /// The placement with a number below `placements`.
    pub fn placement(&self, index: usize) -> Placement {
        placement::placement(self, index)
    }

    /// What kind of placement that is.
    pub fn kind(&self, index: usize) -> Kind {
        placement::kind(index)
    }

    /// A cluster that went over from one team to another: a change that only placements of the two teams look at.
    pub fn moved(&self, change: usize) -> ManagedCluster {
        cluster::moved(self, change)
    }

    /// How many different teams, or sites, there are.
    fn values(&self) -> usize {
        (self.clusters / CLUSTERS_PER_VALUE).max(4)
    }

    /// How many of the teams have placements: about three each, however large the fleet is. Changes then concern
    /// equally many placements in a small fleet and in a large one, and can be compared.
    fn active_teams(&self) -> usize {
        (self.placements / 10).clamp(2, self.values())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use portolan_api::labels::ocm;

    use super::*;

    const SMALL: Generator = Generator {
        seed: 7,
        clusters: 2_000,
        placements: 200,
    };

    #[test]
    fn the_same_seed_gives_the_same_objects() {
        assert_eq!(SMALL.cluster(17), SMALL.cluster(17));
        assert_eq!(SMALL.placement(17), SMALL.placement(17));
        assert_ne!(SMALL.cluster(17), Generator { seed: 8, ..SMALL }.cluster(17));
    }

    #[test]
    fn two_labels_are_unique_and_teams_have_about_a_hundred_clusters() {
        let label = |key: &str| -> Vec<String> {
            let clusters = (0..SMALL.clusters).map(|index| SMALL.cluster(index));
            clusters
                .filter_map(|cluster| cluster.metadata.labels?.get(key).cloned())
                .collect()
        };
        for key in ["cluster-id", "serial"] {
            assert_eq!(
                label(key).into_iter().collect::<BTreeSet<_>>().len(),
                SMALL.clusters,
                "{key}"
            );
        }
        let teams = label("team");
        let first = teams.iter().filter(|team| **team == teams[0]).count();
        assert!((50..200).contains(&first), "{first}");
        assert_eq!(label(ocm::CLUSTER_SET).len(), SMALL.clusters);
    }

    #[test]
    fn a_move_changes_nothing_but_the_team() {
        let moved = SMALL.moved(3);
        let name = moved.metadata.name.clone();
        let mut before = (0..SMALL.clusters)
            .map(|index| SMALL.cluster(index))
            .find(|c| c.metadata.name == name)
            .unwrap();
        assert_ne!(moved, before);
        let team = moved.metadata.labels.as_ref().unwrap()["team"].clone();
        before
            .metadata
            .labels
            .as_mut()
            .unwrap()
            .insert("team".to_owned(), team);
        assert_eq!(moved, before);
    }

    #[test]
    fn every_kind_of_placement_is_in_the_mix() {
        let kinds: BTreeSet<Kind> = (0..SMALL.placements).map(|index| SMALL.kind(index)).collect();
        assert_eq!(kinds, Kind::ALL.into_iter().collect());
    }
}
