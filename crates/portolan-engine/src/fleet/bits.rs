//! Sets of clusters: dense ones as bit sets, rare ones as short sorted lists.

use fixedbitset::FixedBitSet;

/// Position of a cluster in the fleet's columns. Reused after the cluster is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub(crate) u32);

impl ClusterId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> ClusterId {
        // A fleet of four billion clusters does not fit in memory long before the index overflows.
        ClusterId(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// A dense set of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clusters(FixedBitSet);

impl Clusters {
    pub(crate) fn with_capacity(slots: usize) -> Clusters {
        Clusters(FixedBitSet::with_capacity(slots))
    }

    pub(crate) fn insert(&mut self, cluster: ClusterId) {
        self.0.grow_and_insert(cluster.index());
    }

    pub(crate) fn remove(&mut self, cluster: ClusterId) {
        if cluster.index() < self.0.len() {
            self.0.remove(cluster.index());
        }
    }

    pub(crate) fn set(&mut self, cluster: ClusterId, present: bool) {
        if present {
            self.insert(cluster)
        } else {
            self.remove(cluster)
        }
    }

    /// Whether the cluster is in the set.
    pub fn contains(&self, cluster: ClusterId) -> bool {
        self.0.contains(cluster.index())
    }

    /// Number of clusters in the set.
    pub fn len(&self) -> usize {
        self.0.count_ones(..)
    }

    /// Whether the set has no cluster.
    pub fn is_empty(&self) -> bool {
        self.0.is_clear()
    }

    /// The clusters in id order.
    pub fn iter(&self) -> impl Iterator<Item = ClusterId> + '_ {
        self.0.ones().map(ClusterId::from_index)
    }

    /// Whether any cluster is in both sets.
    pub(crate) fn overlaps(&self, other: &Clusters) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    pub(crate) fn union_with(&mut self, other: &Clusters) {
        self.0.union_with(&other.0);
    }

    pub(crate) fn intersect_with(&mut self, other: &Clusters) {
        self.0.intersect_with(&other.0);
    }

    pub(crate) fn subtract(&mut self, other: &Clusters) {
        self.0.difference_with(&other.0);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl FromIterator<ClusterId> for Clusters {
    fn from_iter<I: IntoIterator<Item = ClusterId>>(clusters: I) -> Clusters {
        let mut set = Clusters::default();
        for cluster in clusters {
            set.insert(cluster);
        }
        set
    }
}

/// A set that is kept and not changed: a list while that is smaller than a bit set. Equal sets compare equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    Few(Box<[ClusterId]>),
    Many(Clusters),
}

impl Default for Packed {
    fn default() -> Packed {
        Packed::Few(Box::default())
    }
}

impl Packed {
    /// The set of `ids`, which are in ascending order.
    pub(crate) fn of(ids: impl ExactSizeIterator<Item = ClusterId> + DoubleEndedIterator + Clone) -> Packed {
        let span = ids.clone().next_back().map_or(0, |last| last.index() + 1);
        if ids.len() * 32 < span {
            return Packed::Few(ids.collect());
        }
        let mut set = Clusters::with_capacity(span);
        ids.for_each(|id| set.insert(id));
        Packed::Many(set)
    }

    pub(crate) fn contains(&self, cluster: ClusterId) -> bool {
        match self {
            Packed::Few(list) => list.binary_search(&cluster).is_ok(),
            Packed::Many(set) => set.contains(cluster),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Packed::Few(list) => list.is_empty(),
            Packed::Many(set) => set.is_empty(),
        }
    }

    /// The clusters in id order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ClusterId> + '_ {
        let (few, many) = match self {
            Packed::Few(list) => (Some(list.iter().copied()), None),
            Packed::Many(set) => (None, Some(set.iter())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }
}

impl From<&Clusters> for Packed {
    fn from(set: &Clusters) -> Packed {
        let ids: Vec<ClusterId> = set.iter().collect();
        Packed::of(ids.into_iter())
    }
}

/// The clusters that carry one value of one key. Most values are rare (a unique id per cluster), so the set starts
/// as a list and becomes dense only when a bit set would be smaller.
#[derive(Clone, Debug)]
pub(crate) enum Posting {
    Rare(Vec<ClusterId>),
    Common(Clusters),
}

impl Posting {
    pub(crate) fn of(cluster: ClusterId) -> Posting {
        // A unique value is the usual case: one exact allocation.
        Posting::Rare(vec![cluster])
    }

    pub(crate) fn insert(&mut self, cluster: ClusterId, slots: usize) {
        match self {
            Posting::Common(set) => set.insert(cluster),
            Posting::Rare(list) => {
                if let Err(position) = list.binary_search(&cluster) {
                    list.insert(position, cluster);
                }
                if list.len() * 32 > slots.max(1024) {
                    *self = Posting::Common(list.iter().copied().collect());
                }
            }
        }
    }

    /// Removes the cluster and tells whether the posting is now empty.
    pub(crate) fn remove(&mut self, cluster: ClusterId) -> bool {
        match self {
            Posting::Common(set) => {
                set.remove(cluster);
                set.is_empty()
            }
            Posting::Rare(list) => {
                if let Ok(position) = list.binary_search(&cluster) {
                    list.remove(position);
                }
                list.is_empty()
            }
        }
    }

    pub(crate) fn add_to(&self, set: &mut Clusters) {
        match self {
            Posting::Common(posting) => set.union_with(posting),
            Posting::Rare(list) => list.iter().for_each(|cluster| set.insert(*cluster)),
        }
    }

    pub(crate) fn remove_from(&self, set: &mut Clusters) {
        match self {
            Posting::Common(posting) => set.subtract(posting),
            Posting::Rare(list) => list.iter().for_each(|cluster| set.remove(*cluster)),
        }
    }

    /// Narrows `set` to the clusters of this posting.
    pub(crate) fn narrow(&self, set: &mut Clusters) {
        match self {
            Posting::Common(posting) => set.intersect_with(posting),
            Posting::Rare(list) => {
                let kept: Vec<ClusterId> = list.iter().copied().filter(|c| set.contains(*c)).collect();
                set.clear();
                kept.into_iter().for_each(|cluster| set.insert(cluster));
            }
        }
    }
}
