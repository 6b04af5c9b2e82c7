//! Decision groups of the OCM kind: what seed 002 calls the helper library.
//!
//! The objects of a placement are put together by the pair of group index and group name that their labels give. No
//! index has to be contiguous and none has to be unique: groups 0 and 2, or two names under one index, are two groups and
//! nothing of them is lost.
//!
//! Labels and clusters of such an object cannot change in one write. Portolan stamps the group and clusters that belong
//! together on it (`portolan.dev/content`); while stamp and clusters differ, [`read`] answers with what it waits for.
//! Objects of other schedulers have no stamp and are taken as they are.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::PlacementDecision;
use portolan_api::decision::{self, UnreadableIndex};
use portolan_api::labels::{ocm, portolan};

use crate::slice::decimal;
use crate::{GroupKey, Problem};

/// A cluster of a group: the name of a ManagedCluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the ManagedCluster.
    pub name: String,
    /// Its score; 0 where none is published.
    pub score: i64,
}

/// The groups of one placement, in order, every cluster in one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    groups: BTreeMap<GroupKey, Vec<Member>>,
}

/// Why the groups of a placement cannot be read at the moment. A consumer stays with the groups that it read last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsettled {
    /// The labels and the clusters of these objects, by name, do not belong together yet.
    #[error("{} is being written: its labels and its clusters do not belong together yet", .0.join(", "))]
    Torn(Vec<String>),
    /// The index of a group cannot be read. The clusters of the object may belong to any group; group 0, which is rolled
    /// out first, would be a guess.
    #[error("{0}")]
    UnreadableIndex(Problem),
}

/// The groups of the placement with this name. Objects of other placements are left out.
///
/// A cluster that several groups list, as it happens in a rolling update, is in the first of them. In the last of them, a
/// mandatory group would lose clusters to a later group, and an empty group counts as passed: later groups would start before
/// the mandatory group succeeded.
pub fn read<'a>(
    placement: &str,
    objects: impl IntoIterator<Item = &'a PlacementDecision>,
) -> Result<Groups, Unsettled> {
    let mut objects: Vec<&PlacementDecision> = objects
        .into_iter()
        .filter(|object| is_of(&object.metadata, placement))
        .collect();
    objects.sort_by(|a, b| place(&a.metadata).cmp(&place(&b.metadata)));
    let torn: Vec<String> = objects
        .iter()
        .filter(|object| decision::is_torn(object))
        .map(|object| name_of(&object.metadata).to_owned())
        .collect();
    if !torn.is_empty() {
        return Err(Unsettled::Torn(torn));
    }
    let mut groups = Groups::default();
    let mut first: BTreeMap<&str, GroupKey> = BTreeMap::new();
    let keys = objects.iter().map(|object| key_of(&object.metadata));
    let keys: Vec<GroupKey> = keys.collect::<Result<_, _>>()?;
    for (object, key) in objects.iter().zip(&keys) {
        groups.groups.entry(key.clone()).or_default();
        for cluster in decision::clusters(object) {
            let group = first
                .entry(cluster.cluster_name.as_str())
                .or_insert_with(|| key.clone());
            *group = (*group).clone().min(key.clone());
        }
    }
    let mut seen = BTreeSet::new();
    for (object, key) in objects.iter().zip(&keys) {
        for cluster in decision::clusters(object) {
            let name = cluster.cluster_name.as_str();
            if first.get(name) == Some(key) && seen.insert(name) {
                let members = groups.groups.entry(key.clone()).or_default();
                members.push(Member {
                    name: name.to_owned(),
                    score: cluster.score,
                });
            }
        }
    }
    Ok(groups)
}

impl Groups {
    /// The groups in order, with their clusters in the order that was decided. A group may be empty.
    pub fn iter(&self) -> impl Iterator<Item = (&GroupKey, &[Member])> {
        self.groups.iter().map(|(key, members)| (key, &members[..]))
    }

    /// The clusters of one group.
    pub fn get(&self, key: &GroupKey) -> Option<&[Member]> {
        self.groups.get(key).map(Vec::as_slice)
    }

    /// The groups with this name, or with this index if `name_or_index` is a number and no group is called so.
    pub fn named(&self, name_or_index: &str) -> Vec<&GroupKey> {
        let named = |key: &&GroupKey| key.name == name_or_index;
        let found: Vec<&GroupKey> = self.groups.keys().filter(named).collect();
        if !found.is_empty() {
            return found;
        }
        let index = decimal(name_or_index);
        let numbered = |key: &&GroupKey| index == Some(u64::from(key.index));
        self.groups.keys().filter(numbered).collect()
    }

    /// Every group but those.
    pub fn besides(&self, keys: &[GroupKey]) -> impl Iterator<Item = (&GroupKey, &[Member])> {
        self.iter().filter(|(key, _)| !keys.contains(key))
    }

    /// Each cluster with its group.
    pub fn clusters(&self) -> BTreeMap<&str, &GroupKey> {
        self.groups
            .iter()
            .flat_map(|(key, members)| members.iter().map(move |member| (member.name.as_str(), key)))
            .collect()
    }
}

fn key_of(metadata: &ObjectMeta) -> Result<GroupKey, Unsettled> {
    match decision::group(metadata) {
        // Before OCM had groups its objects had no index; all of them are one group.
        Ok(group) => Ok(group.unwrap_or_default()),
        Err(UnreadableIndex { label, value }) => {
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            Err(Unsettled::UnreadableIndex(Problem {
                object: format!("{namespace}/{}", name_of(metadata)),
                field: format!("metadata.labels[{label}]"),
                value: format!("{value:?}"),
                wrong: "is no number",
                accepted: UnreadableIndex::ACCEPTED,
                hides_a_cluster: false,
            }))
        }
    }
}

/// What a consumer of one placement was told, and what is new.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    told: Option<Groups>,
}

/// What is different since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Clusters that joined.
    pub added: Vec<String>,
    /// Clusters that left.
    pub removed: Vec<String>,
    /// Clusters that stayed and changed groups.
    pub regrouped: Vec<String>,
}

impl Tracker {
    /// Takes note of the placement's objects, all of which must be among `objects`, and says what is different. While an
    /// object is being written or its group cannot be read, nothing is, and the groups stay as they were.
    pub fn refresh<'a>(
        &mut self,
        placement: &str,
        objects: impl IntoIterator<Item = &'a PlacementDecision>,
    ) -> Result<Difference, Unsettled> {
        let groups = read(placement, objects)?;
        let old = self.told.as_ref().map(Groups::clusters).unwrap_or_default();
        let new = groups.clusters();
        let names = |names: &mut dyn Iterator<Item = (&&str, &&GroupKey)>| -> Vec<String> {
            names.map(|(name, _)| (*name).to_owned()).collect()
        };
        let difference = Difference {
            added: names(&mut new.iter().filter(|(name, _)| !old.contains_key(*name))),
            removed: names(&mut old.iter().filter(|(name, _)| !new.contains_key(*name))),
            regrouped: names(
                &mut new
                    .iter()
                    .filter(|(name, key)| old.get(*name).is_some_and(|old| old != *key)),
            ),
        };
        self.told = Some(groups);
        Ok(difference)
    }

    /// The groups as last read whole; nothing before that.
    pub fn groups(&self) -> Option<&Groups> {
        self.told.as_ref()
    }
}

fn is_of(metadata: &ObjectMeta, placement: &str) -> bool {
    let named = annotation(metadata, portolan::PLACEMENT_NAME).or(label(metadata, ocm::PLACEMENT));
    named == Some(placement)
}

/// Objects of a group in the order of their numbers.
fn place(metadata: &ObjectMeta) -> (Option<u64>, &str) {
    let name = name_of(metadata);
    (
        name.rsplit_once('-').and_then(|(_, number)| decimal(number)),
        name,
    )
}

fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}
