//! How often each cluster is named in decisions, for Balance.

use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};

use super::bits::ClusterId;

/// Entries per cluster over all decisions of the hub, as a column. Clusters that are only named by decisions and no
/// longer in the fleet have a slot too: they still count towards the maximum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    entries: Vec<u32>,
    /// `histogram[n]` = number of clusters that are named exactly n times, n ≥ 1 and the number ≥ 1. Gives the maximum without
    /// a scan. A map, since n is as large as whoever writes decisions wants it to be.
    histogram: BTreeMap<u32, u32>,
}

impl Counts {
    pub(crate) fn add(&mut self, cluster: ClusterId, entries: u32) {
        if self.entries.len() <= cluster.index() {
            self.entries.resize(cluster.index() + 1, 0);
        }
        let before = self.entries[cluster.index()];
        self.move_level(before, before + entries);
        self.entries[cluster.index()] = before + entries;
    }

    pub(crate) fn subtract(&mut self, cluster: ClusterId, entries: u32) {
        let before = self.of(cluster);
        let after = before.saturating_sub(entries);
        self.move_level(before, after);
        if let Some(count) = self.entries.get_mut(cluster.index()) {
            *count = after;
        }
    }

    fn move_level(&mut self, from: u32, to: u32) {
        if let Entry::Occupied(mut level) = self.histogram.entry(from) {
            *level.get_mut() -= 1;
            if *level.get() == 0 {
                level.remove();
            }
        }
        if to > 0 {
            *self.histogram.entry(to).or_default() += 1;
        }
    }

    pub(crate) fn of(&self, cluster: ClusterId) -> u32 {
        self.entries.get(cluster.index()).copied().unwrap_or(0)
    }

    /// The largest count of any cluster when the entries of `own` are left out. `own` lists each cluster once with
    /// the number of its entries.
    pub(crate) fn max_without(&self, own: impl Iterator<Item = (ClusterId, u32)>) -> u32 {
        let mut own_at: HashMap<u32, u32> = HashMap::new();
        let mut own_max = 0;
        for (cluster, entries) in own {
            let count = self.of(cluster);
            *own_at.entry(count).or_default() += 1;
            own_max = own_max.max(count.saturating_sub(entries));
        }
        // Each level that is passed over has a cluster of `own`.
        let mut levels = self.histogram.iter().rev();
        let others = levels.find(|&(count, clusters)| *clusters > own_at.get(count).copied().unwrap_or(0));
        own_max.max(others.map_or(0, |(count, _)| *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_leaves_out_the_placements_own_entries() {
        let (a, b, c) = (ClusterId(0), ClusterId(1), ClusterId(2));
        let mut counts = Counts::default();
        counts.add(a, 3);
        counts.add(b, 2);
        counts.add(c, 1);
        assert_eq!(counts.max_without(std::iter::empty()), 3);
        assert_eq!(counts.max_without([(a, 1)].into_iter()), 2);
        assert_eq!(counts.max_without([(a, 3), (b, 1)].into_iter()), 1);
        counts.subtract(a, 1);
        assert_eq!(counts.of(a), 2);
        assert_eq!(counts.max_without(std::iter::empty()), 2);
    }

    #[test]
    fn a_count_that_is_huge_takes_no_more_memory_than_a_small_one() {
        let (a, b) = (ClusterId(0), ClusterId(1));
        let mut counts = Counts::default();
        counts.add(a, u32::MAX);
        counts.add(b, 7);
        assert_eq!(counts.histogram.len(), 2);
        assert_eq!(counts.max_without(std::iter::empty()), u32::MAX);
        assert_eq!(counts.max_without([(a, u32::MAX)].into_iter()), 7);
        counts.subtract(a, u32::MAX);
        counts.subtract(b, 7);
        assert!(counts.histogram.is_empty());
        assert_eq!(counts.max_without(std::iter::empty()), 0);
    }
}
