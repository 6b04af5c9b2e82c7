//! The clusters in name order, kept so that sorting by name never compares strings.

use super::bits::{ClusterId, Clusters};

/// Name order over cluster slots. Additions are collected and merged in one go by `settle`.
#[derive(Debug, Default)]
pub(crate) struct NameOrder {
    by_name: Vec<ClusterId>,
    rank: Vec<u32>,
    added: Vec<ClusterId>,
    removed: Clusters,
    settled: bool,
}

impl NameOrder {
    pub(crate) fn add(&mut self, cluster: ClusterId) {
        self.added.push(cluster);
        self.settled = false;
    }

    pub(crate) fn remove(&mut self, cluster: ClusterId) {
        if let Some(position) = self.added.iter().position(|added| *added == cluster) {
            self.added.swap_remove(position);
        } else {
            self.removed.insert(cluster);
        }
        self.settled = false;
    }

    /// Merges what was added and drops what was removed. A slot may be removed and reused before settling, so
    /// removals apply to the old order and additions to the new one.
    pub(crate) fn settle<'a>(&mut self, name: impl Fn(ClusterId) -> &'a str) {
        if self.settled {
            return;
        }
        if !self.removed.is_empty() {
            self.by_name.retain(|cluster| !self.removed.contains(*cluster));
            self.removed.clear();
        }
        let mut added = std::mem::take(&mut self.added);
        added.sort_unstable_by(|a, b| name(*a).cmp(name(*b)));
        let mut merged = Vec::with_capacity(self.by_name.len() + added.len());
        let mut rest = self.by_name.as_slice();
        for cluster in added {
            let before = rest.partition_point(|other| name(*other) < name(cluster));
            merged.extend_from_slice(&rest[..before]);
            merged.push(cluster);
            rest = &rest[before..];
        }
        merged.extend_from_slice(rest);
        self.by_name = merged;
        let slots = self
            .by_name
            .iter()
            .map(|cluster| cluster.index() + 1)
            .max()
            .unwrap_or(0);
        self.rank.clear();
        self.rank.resize(slots, u32::MAX);
        for (rank, cluster) in self.by_name.iter().enumerate() {
            self.rank[cluster.index()] = rank as u32;
        }
        self.settled = true;
    }

    /// Position in name order. Only meaningful after `settle`.
    pub(crate) fn rank(&self, cluster: ClusterId) -> u32 {
        debug_assert!(self.settled, "the name order must be settled before it is read");
        self.rank.get(cluster.index()).copied().unwrap_or(u32::MAX)
    }

    /// The clusters of `set` in name order.
    pub(crate) fn sorted(&self, set: &Clusters) -> Vec<ClusterId> {
        debug_assert!(self.settled, "the name order must be settled before it is read");
        let wanted = set.len();
        // A walk over the whole order costs one bit test per cluster; a sort costs about 16 per element.
        if wanted * 16 > self.by_name.len() {
            let mut sorted = Vec::with_capacity(wanted);
            sorted.extend(
                self.by_name
                    .iter()
                    .copied()
                    .filter(|cluster| set.contains(*cluster)),
            );
            return sorted;
        }
        let mut sorted: Vec<ClusterId> = set.iter().collect();
        sorted.sort_unstable_by_key(|cluster| self.rank(*cluster));
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_follows_names_through_additions_removals_and_reused_slots() {
        let names = std::cell::RefCell::new(vec!["d", "b", "a"]);
        let mut order = NameOrder::default();
        let settle = |order: &mut NameOrder| {
            let names = names.borrow().clone();
            order.settle(|c| names[c.index()]);
        };
        (0..3).for_each(|i| order.add(ClusterId(i)));
        settle(&mut order);
        let all: Clusters = (0..3).map(ClusterId).collect();
        assert_eq!(order.sorted(&all), vec![ClusterId(2), ClusterId(1), ClusterId(0)]);
        order.remove(ClusterId(2));
        names.borrow_mut()[2] = "z";
        order.add(ClusterId(2));
        settle(&mut order);
        assert_eq!(order.sorted(&all), vec![ClusterId(1), ClusterId(0), ClusterId(2)]);
    }
}
