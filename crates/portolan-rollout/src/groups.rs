//! The decision groups, read so that none is ever lost.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What tells a group from the others. Ordered by index, then name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupKey {
    /// Name of the group, empty for the unnamed ones.
    #[serde(default)]
    pub group_name: String,
    /// Position of the group.
    #[serde(default)]
    pub group_index: i32,
}

impl GroupKey {
    /// The group of this name at this position.
    pub fn new(name: &str, index: i32) -> GroupKey {
        GroupKey {
            group_name: name.to_owned(),
            group_index: index,
        }
    }
}

impl Ord for GroupKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.group_index, &self.group_name).cmp(&(other.group_index, &other.group_name))
    }
}

impl PartialOrd for GroupKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The groups of a decision and their clusters.
///
/// Indexes may have gaps and may be shared: while a decision is rewritten a reader sees both, and a group that is
/// overlooked then would lose its workloads. Parts with the same key are one group. A cluster that is in several groups
/// is in the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    groups: BTreeMap<GroupKey, BTreeSet<String>>,
    of: BTreeMap<String, GroupKey>,
    declared: BTreeSet<String>,
}

impl Groups {
    /// No group.
    pub fn new() -> Groups {
        Groups::default()
    }

    /// Adds clusters to a group, which is there from now on even without any.
    pub fn add(&mut self, key: GroupKey, clusters: impl IntoIterator<Item = String>) {
        self.groups.entry(key.clone()).or_default();
        for cluster in clusters {
            let group = match self.of.get(&cluster) {
                Some(there) if *there <= key => continue,
                Some(there) => {
                    if let Some(members) = self.groups.get_mut(there) {
                        members.remove(&cluster);
                    }
                    key.clone()
                }
                None => key.clone(),
            };
            self.groups
                .entry(group.clone())
                .or_default()
                .insert(cluster.clone());
            self.of.insert(cluster, group);
        }
    }

    /// Says that a group of this name exists, though no cluster is in it and it has no index.
    pub fn declare(&mut self, name: &str) {
        self.declared.insert(name.to_owned());
    }

    /// The same groups without the clusters that somebody else has. A group stays, even if nothing is left in it.
    pub fn without(&self, taken: impl Fn(&str) -> bool) -> Groups {
        let mut groups = Groups {
            declared: self.declared.clone(),
            ..Groups::default()
        };
        for (key, members) in &self.groups {
            groups.add(key.clone(), members.iter().filter(|name| !taken(name)).cloned());
        }
        groups
    }

    /// Every cluster, by name.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        self.of.keys().map(String::as_str)
    }

    /// Every group in order, with its clusters in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&GroupKey, &BTreeSet<String>)> {
        self.groups.iter()
    }

    /// The group of a cluster.
    pub fn group_of(&self, cluster: &str) -> Option<&GroupKey> {
        self.of.get(cluster)
    }

    /// Number of clusters in all groups.
    pub fn cluster_count(&self) -> usize {
        self.of.len()
    }

    /// Whether there is a group of this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.declared.contains(name) || self.groups.keys().any(|key| key.group_name == name)
    }

    /// Whether there is a group at this position.
    pub fn has_index(&self, index: i32) -> bool {
        self.groups.keys().any(|key| key.group_index == index)
    }

    /// The positions that groups have.
    pub fn indexes(&self) -> BTreeSet<i32> {
        self.groups.keys().map(|key| key.group_index).collect()
    }

    /// The names that groups have.
    pub fn names(&self) -> BTreeSet<&str> {
        let there = self.groups.keys().map(|key| key.group_name.as_str());
        there
            .chain(self.declared.iter().map(String::as_str))
            .filter(|name| !name.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn gaps_and_shared_indexes_lose_no_group() {
        let mut groups = Groups::new();
        groups.add(GroupKey::new("", 4), names(&["d"]));
        groups.add(GroupKey::new("west", 0), names(&["b"]));
        groups.add(GroupKey::new("east", 0), names(&["a"]));
        let order: Vec<&str> = groups
            .iter()
            .flat_map(|(_, members)| members)
            .map(String::as_str)
            .collect();
        assert_eq!(order, ["a", "b", "d"]);
        assert_eq!(groups.cluster_count(), 3);
    }

    #[test]
    fn a_cluster_that_is_in_two_groups_is_in_the_first() {
        for order in [[0, 1], [1, 0]] {
            let mut groups = Groups::new();
            for index in order {
                groups.add(GroupKey::new("", index), names(&["a"]));
            }
            assert_eq!(groups.group_of("a"), Some(&GroupKey::new("", 0)));
            assert_eq!(
                groups
                    .iter()
                    .map(|(_, members)| members.len())
                    .collect::<Vec<_>>(),
                [1, 0]
            );
        }
    }

    #[test]
    fn parts_with_the_same_key_are_one_group() {
        let mut groups = Groups::new();
        groups.add(GroupKey::new("a", 0), names(&["x"]));
        groups.add(GroupKey::new("a", 0), names(&["y", "x"]));
        assert_eq!(groups.iter().count(), 1);
        assert_eq!(groups.cluster_count(), 2);
    }
}
