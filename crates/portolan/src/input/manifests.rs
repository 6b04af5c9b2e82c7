//! The objects that were read, one for each kind, namespace and name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt;

use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use portolan_api::multicluster::{self, ClusterProfile, Work};
use portolan_api::structural::Kind;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use serde_json::Value;

use super::kind::LONGEST_NAME;
use super::place::Place;
use super::problem::Problem;

/// What tells an object from all others. The version does not: both served versions show the same object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    /// Empty outside of namespaces.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(super) fn of(kind: &'static Kind, value: &Value) -> Key {
        let text = |pointer: &str| {
            value
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Key {
            group: &kind.group,
            kind: &kind.kind,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names that are refused may be of any length.
        let short = |text: &str| match text {
            "" => "(no name)".to_owned(),
            text => text.chars().take(LONGEST_NAME).collect::<String>(),
        };
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.kind, short(&self.name)),
            namespace => write!(f, "{} {}/{}", self.kind, short(namespace), short(&self.name)),
        }
    }
}

/// An object of one of our kinds.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Placement(Box<Placement>),
    Decision(Box<PlacementDecision>),
    Cluster(Box<ManagedCluster>),
    ClusterSet(Box<ManagedClusterSet>),
    Binding(Box<ManagedClusterSetBinding>),
    Score(Box<AddOnPlacementScore>),
    Slice(Box<multicluster::PlacementDecision>),
    Profile(Box<ClusterProfile>),
    ReplicaSet(Box<ManifestWorkReplicaSet>),
    ManifestWork(Box<ManifestWork>),
    Work(Box<Work>),
    /// A kind that plays no part here, such as an `AppliedWork`.
    Other,
}

/// Every object that was read.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    objects: BTreeMap<Key, Entry>,
    /// Objects of the hub that cannot be read, by kind, namespace and name, and why.
    pub(super) unreadable: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
struct Entry {
    object: Object,
    place: Place,
}

macro_rules! objects_of {
    ($($name:ident: $variant:ident($kind:ty)),* $(,)?) => {
        $(pub(crate) fn $name(&self) -> impl Iterator<Item = &$kind> {
            self.objects.values().filter_map(|entry| match &entry.object {
                Object::$variant(object) => Some(&**object),
                _ => None,
            })
        })*
    };
}

impl Manifests {
    objects_of! {
        placements: Placement(Placement),
        decisions: Decision(PlacementDecision),
        clusters: Cluster(ManagedCluster),
        cluster_sets: ClusterSet(ManagedClusterSet),
        bindings: Binding(ManagedClusterSetBinding),
        scores: Score(AddOnPlacementScore),
        slices: Slice(multicluster::PlacementDecision),
        profiles: Profile(ClusterProfile),
        replica_sets: ReplicaSet(ManifestWorkReplicaSet),
        manifest_works: ManifestWork(ManifestWork),
        works: Work(Work),
    }

    /// What was read.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.keys()
    }

    /// Objects of a kind on the hub that cannot be read: namespace and name, or the name, and why.
    pub(crate) fn unreadable(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        let objects = self.unreadable.iter();
        objects.filter_map(move |(object, why)| {
            let name = object.strip_prefix(kind)?.strip_prefix(' ')?;
            Some((name, why.as_str()))
        })
    }

    /// Adds an object that must not be there yet.
    pub(super) fn add(&mut self, key: Key, object: Object, place: Place) -> Result<(), Problem> {
        match self.objects.entry(key) {
            Slot::Vacant(slot) => {
                slot.insert(Entry { object, place });
                Ok(())
            }
            Slot::Occupied(slot) => {
                let what = format!(
                    "{} is there twice: first in {}; accepted: each object once",
                    slot.key(),
                    slot.get().place
                );
                Err(Problem::of_document(&place, what))
            }
        }
    }

    /// Adds or replaces every object of `change`.
    pub(crate) fn overlay(&mut self, change: Manifests) {
        self.objects.extend(change.objects);
    }

    /// An object as JSON. `None` when it is not there or nobody asks for its fields.
    pub(super) fn value(&self, key: &Key) -> Option<Value> {
        let value = match &self.objects.get(key)?.object {
            Object::Placement(object) => serde_json::to_value(object),
            Object::Decision(object) => serde_json::to_value(object),
            Object::Cluster(object) => serde_json::to_value(object),
            Object::ClusterSet(object) => serde_json::to_value(object),
            Object::Binding(object) => serde_json::to_value(object),
            Object::Score(object) => serde_json::to_value(object),
            Object::Slice(object) => serde_json::to_value(object),
            Object::Profile(object) => serde_json::to_value(object),
            Object::ReplicaSet(object) => serde_json::to_value(object),
            Object::ManifestWork(object) => serde_json::to_value(object),
            Object::Work(object) => serde_json::to_value(object),
            Object::Other => return None,
        };
        value.ok()
    }

    /// Where an object of a kind was read.
    pub(crate) fn place_of(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<&Place> {
        let found = self.objects.iter().find(|(key, _)| {
            key.group == group && key.kind == kind && key.namespace == namespace && key.name == name
        });
        found.map(|(_, entry)| &entry.place)
    }

    /// Where the object was read that findings call so: kind, namespace and name.
    pub(crate) fn place_of_object(&self, object: &str) -> Option<&Place> {
        let found = self.objects.iter().find(|(key, _)| key.to_string() == object);
        found.map(|(_, entry)| &entry.place)
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.objects.contains_key(key)
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.objects.remove(key);
    }

    /// The keys of all objects of a kind.
    pub(crate) fn keys_of(&self, group: &str, kind: &str) -> impl Iterator<Item = &Key> {
        self.objects
            .keys()
            .filter(move |key| key.group == group && key.kind == kind)
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
