//! What the placement decided last: the input of Steady, NoSelectIfNew and sticky groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_api::cluster::PlacementDecision;
use portolan_api::decision;

use crate::fleet::bits::Packed;
use crate::fleet::{ClusterId, Clusters, Fleet};
use crate::group::cluster_group::ClusterGroup;

/// The last decision of one placement, as slots of the fleet. It holds those slots.
///
/// There is one for each placement and it may name the whole fleet, so it is kept small: what is the usual case, one
/// entry a cluster and one group, takes no room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastDecision {
    clusters: Packed,
    /// The group of each cluster, in id order. Empty when all stand in the first.
    groups: Box<[u32]>,
    /// Clusters with several entries, in id order, and how many they have.
    repeated: Box<[(ClusterId, u32)]>,
    /// Names of the groups that have one.
    group_names: BTreeMap<u32, Arc<str>>,
}

/// Stands for the group of an object whose index cannot be read: the cluster was selected, and its group is not known. The
/// indexes of the API are smaller.
const NO_GROUP: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    cluster: ClusterId,
    /// How many entries name the cluster: two while a surge is in flight.
    count: u32,
    /// The group it stood in; the lowest when it stands in two.
    group_index: u32,
}

impl LastDecision {
    /// Reads the decisions of one placement.
    pub(crate) fn observe(
        fleet: &mut Fleet,
        namespace: &str,
        decisions: &[PlacementDecision],
    ) -> LastDecision {
        let mut entries = Vec::new();
        let mut group_names = BTreeMap::new();
        for decision in decisions {
            let group = decision::group(&decision.metadata).map(Option::unwrap_or_default);
            let group_index = group.as_ref().map_or(NO_GROUP, |group| group.index);
            if let Ok(group) = group.as_ref()
                && !group.name.is_empty()
            {
                group_names.insert(group_index, group.name.as_str().into());
            }
            for entry in decision::clusters(decision) {
                let cluster = fleet.hold_named(namespace, &entry.cluster_name);
                entries.push(Entry {
                    cluster,
                    count: 1,
                    group_index,
                });
            }
        }
        LastDecision::merge(fleet, entries, group_names)
    }

    /// What an outcome will be once it is written: one entry a cluster.
    pub(crate) fn from_groups(fleet: &mut Fleet, groups: &[ClusterGroup]) -> LastDecision {
        let mut entries = Vec::new();
        let mut group_names = BTreeMap::new();
        for (index, group) in groups.iter().enumerate() {
            let group_index = index as u32;
            if !group.name.is_empty() {
                group_names.insert(group_index, group.name.clone());
            }
            for &cluster in &group.clusters {
                fleet.hold(cluster);
                entries.push(Entry {
                    cluster,
                    count: 1,
                    group_index,
                });
            }
        }
        LastDecision::merge(fleet, entries, group_names)
    }

    fn merge(
        fleet: &mut Fleet,
        mut entries: Vec<Entry>,
        group_names: BTreeMap<u32, Arc<str>>,
    ) -> LastDecision {
        entries.sort_unstable_by_key(|entry| (entry.cluster, entry.group_index));
        entries.dedup_by(|later, first| {
            let same = later.cluster == first.cluster;
            if same {
                first.count += later.count;
                // One hold a cluster is enough.
                fleet.release(later.cluster);
            }
            same
        });
        let repeated = entries.iter().filter(|entry| entry.count > 1);
        let grouped = entries.iter().any(|entry| entry.group_index > 0);
        LastDecision {
            clusters: Packed::of(entries.iter().map(|entry| entry.cluster)),
            groups: match grouped {
                true => entries.iter().map(|entry| entry.group_index).collect(),
                false => Box::default(),
            },
            repeated: repeated.map(|entry| (entry.cluster, entry.count)).collect(),
            group_names,
        }
    }

    /// Gives the slots back.
    pub(crate) fn drop_from(self, fleet: &mut Fleet) {
        self.clusters.iter().for_each(|cluster| fleet.release(cluster));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Each cluster whose group is known with the index of the group, in id order.
    pub(crate) fn grouped(&self) -> impl Iterator<Item = (ClusterId, u32)> + '_ {
        let groups = self.groups.iter().copied().chain(std::iter::repeat(0));
        self.clusters
            .iter()
            .zip(groups)
            .filter(|(_, group)| *group != NO_GROUP)
    }

    /// Name of a group; empty for the groups that have none.
    pub(crate) fn group_name(&self, index: u32) -> &str {
        self.group_names.get(&index).map_or("", |name| name)
    }

    /// Cluster and number of entries, in id order.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (ClusterId, u32)> + '_ {
        let mut repeated = self.repeated.iter().peekable();
        self.clusters.iter().map(move |cluster| {
            let several = repeated.next_if(|(other, _)| *other == cluster);
            (cluster, several.map_or(1, |(_, count)| *count))
        })
    }

    pub(crate) fn clusters(&self) -> Clusters {
        match &self.clusters {
            Packed::Few(list) => list.iter().copied().collect(),
            Packed::Many(set) => set.clone(),
        }
    }
}
