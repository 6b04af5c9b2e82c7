//! Decision objects as the server has them, packed: a hub of a thousand placements over ten thousand clusters has
//! millions of entries, and only those of the placement at hand are looked at.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use portolan_runtime::version::is_newer;
use portolan_runtime::watch::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of decision object.
pub(crate) trait Published: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone {
    /// The label that says which placement an object belongs to.
    const OWNER_LABEL: &'static str;

    /// Whether an entry has a score of its own field.
    fn has_scores(&self) -> bool {
        false
    }
}

impl Published for portolan_api::cluster::PlacementDecision {
    const OWNER_LABEL: &'static str = portolan_api::labels::ocm::PLACEMENT;

    fn has_scores(&self) -> bool {
        let mut entries = self.status.iter().flat_map(|status| &status.decisions);
        entries.any(|entry| entry.score != 0)
    }
}

impl Published for portolan_api::multicluster::PlacementDecision {
    const OWNER_LABEL: &'static str = portolan_api::labels::multicluster::DECISION_KEY;
}

/// Namespace and the value of the owner label.
pub(crate) type Owner = (String, String);

/// Bytes of objects that are read for one placement: some two million clusters. More than these are the work of another writer
/// who uses the label or the names of the placement; reading them all would keep every other placement waiting.
const MOST_READ: usize = 128 << 20;

/// All objects of one kind.
#[derive(Debug)]
pub(crate) struct DecisionCache<K> {
    objects: BTreeMap<(String, String), CachedObject>,
    by_owner: BTreeMap<Owner, BTreeSet<String>>,
    /// UIDs of objects that we deleted and whose last events are still on their way.
    deleted: HashSet<String>,
    /// UIDs of objects that went while writes were under way, whose answers may come later than the news.
    gone: HashSet<String>,
    /// Whether the server dropped scores that it was sent.
    lost_scores: bool,
    kind: std::marker::PhantomData<fn() -> K>,
}

#[derive(Debug)]
struct CachedObject {
    uid: Box<str>,
    version: Box<str>,
    owner: Option<Box<str>>,
    created: Option<Timestamp>,
    packed: Box<[u8]>,
    /// Whether it is what we sent, and not yet what the server says it has.
    assumed: bool,
    has_scores: bool,
}

/// What a change of the cache concerns: the owners before and after, and the name, which may be one that a placement
/// needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) owners: Vec<String>,
    pub(crate) version: String,
}

impl<K> Default for DecisionCache<K> {
    fn default() -> Self {
        DecisionCache {
            objects: BTreeMap::new(),
            by_owner: BTreeMap::new(),
            deleted: HashSet::new(),
            gone: HashSet::new(),
            lost_scores: false,
            kind: std::marker::PhantomData,
        }
    }
}

impl<K: Published> DecisionCache<K> {
    /// Takes an object in that the server told of, unless a later version of it is there already.
    pub(crate) fn observe(&mut self, object: &K) -> Option<Touched> {
        self.take_in(object, false)
    }

    /// Takes an object in as we wrote it. What the server made of it, if that is something else, comes with its event.
    pub(crate) fn assume(&mut self, object: &K) {
        self.take_in(object, true);
    }

    fn take_in(&mut self, object: &K, assumed: bool) -> Option<Touched> {
        let metadata = object.meta();
        let key = Key::of(metadata);
        let version = metadata.resource_version.clone().unwrap_or_default();
        if self.deleted.contains(&key.uid) || assumed && self.gone.contains(&key.uid) {
            return None;
        }
        let place = (key.namespace, key.name);
        if let Some(cached) = self.objects.get_mut(&place)
            && *cached.uid == *key.uid
            && !is_newer(&version, &cached.version)
        {
            // A server may leave out fields that its definition lacks, or change what an admission webhook tells it to.
            let has_scores = object.has_scores();
            if *cached.version == *version && cached.assumed != assumed {
                let (sent, stored) = match assumed {
                    true => (has_scores, cached.has_scores),
                    false => (cached.has_scores, has_scores),
                };
                self.lost_scores |= sent && !stored;
            }
            if cached.assumed && !assumed && *cached.version == *version {
                cached.packed = pack(object);
                cached.has_scores = has_scores;
                cached.assumed = false;
            }
            return None;
        }
        let owner = owner_of::<K>(metadata).map(Box::from);
        let cached = CachedObject {
            uid: key.uid.into(),
            version: version.as_str().into(),
            owner: owner.clone(),
            created: metadata.creation_timestamp.as_ref().map(|created| created.0),
            packed: pack(object),
            assumed,
            has_scores: object.has_scores(),
        };
        let before = self
            .objects
            .insert(place.clone(), cached)
            .and_then(|cached| cached.owner);
        let (namespace, name) = place;
        if before != owner {
            self.leave(&namespace, before.as_deref(), &name);
        }
        if let Some(owner) = &owner {
            let owned = self.by_owner.entry((namespace.clone(), owner.to_string()));
            owned.or_default().insert(name.clone());
        }
        let mut owners: Vec<String> = before.into_iter().chain(owner).map(String::from).collect();
        owners.dedup();
        Some(Touched {
            namespace,
            name,
            owners,
            version,
        })
    }

    /// The server says that the object is gone.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<Touched> {
        self.deleted.remove(&key.uid);
        self.gone.insert(key.uid.clone());
        let place = (key.namespace.clone(), key.name.clone());
        let cached = self.objects.get(&place)?;
        // An object that was created anew under the name stays.
        if !key.uid.is_empty() && *cached.uid != *key.uid {
            return None;
        }
        let cached = self.objects.remove(&place)?;
        self.leave(&key.namespace, cached.owner.as_deref(), &key.name);
        Some(Touched {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            owners: cached.owner.into_iter().map(String::from).collect(),
            version: String::new(),
        })
    }

    /// Whether the server took an object without its scores since the last call.
    pub(crate) fn lost_scores(&mut self) -> bool {
        std::mem::take(&mut self.lost_scores)
    }

    /// No write is under way whose answer could come late.
    pub(crate) fn forget_deleted(&mut self) {
        self.gone.clear();
    }

    /// We deleted the object. Events of its life that arrive late do not bring it back.
    pub(crate) fn remove_ours(&mut self, key: &Key) {
        if self.remove(key).is_some() && !key.uid.is_empty() {
            self.deleted.insert(key.uid.clone());
        }
    }

    /// Forgets everything: the kind is not served any more, so there is nothing.
    pub(crate) fn clear(&mut self) {
        *self = DecisionCache::default();
    }

    /// The objects of one owner, and those on a name that starts with `prefix`.
    pub(crate) fn of(&self, namespace: &str, owner: &str, prefix: &str) -> Vec<K> {
        self.of_at_most(namespace, owner, prefix, MOST_READ)
    }

    fn of_at_most(&self, namespace: &str, owner: &str, prefix: &str, bytes: usize) -> Vec<K> {
        let owned = self.by_owner.get(&(namespace.to_owned(), owner.to_owned()));
        let first = (namespace.to_owned(), prefix.to_owned());
        let on_name = self.objects.range(first..);
        let on_name = on_name
            .map(|(place, _)| place)
            .take_while(|(other, name)| other == namespace && name.starts_with(prefix));
        let on_name: BTreeSet<&String> = on_name.map(|(_, name)| name).collect();
        let others = owned.into_iter().flatten().filter(|name| !on_name.contains(name));
        // The placement's own objects have its names: no others take their room.
        let cached = on_name
            .iter()
            .copied()
            .chain(others)
            .filter_map(|name| self.objects.get(&(namespace.to_owned(), name.clone())));
        let mut read = 0;
        let within = cached.take_while(|cached| {
            let has_room = read < bytes;
            read += unpacked_bytes(&cached.packed);
            has_room
        });
        within.filter_map(|cached| unpack(&cached.packed)).collect()
    }

    /// How many bytes it takes to read the objects of an owner.
    pub(crate) fn bytes(&self, namespace: &str, owner: &str) -> usize {
        let owned = self.by_owner.get(&(namespace.to_owned(), owner.to_owned()));
        let cached = owned
            .into_iter()
            .flatten()
            .filter_map(|name| self.objects.get(&(namespace.to_owned(), name.clone())));
        cached.map(|cached| unpacked_bytes(&cached.packed)).sum()
    }

    /// One object.
    pub(crate) fn get(&self, key: &Key) -> Option<K> {
        let place = (key.namespace.clone(), key.name.clone());
        self.objects.get(&place).and_then(|cached| unpack(&cached.packed))
    }

    /// Every owner that has objects.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.by_owner.keys()
    }

    /// How many objects an owner has.
    pub(crate) fn count(&self, owner: &Owner) -> usize {
        self.by_owner.get(owner).map_or(0, BTreeSet::len)
    }

    /// When the objects of an owner were created.
    pub(crate) fn created(&self, owner: &Owner) -> impl Iterator<Item = Option<Timestamp>> {
        let names = self.by_owner.get(owner).into_iter().flatten();
        let cached = names.filter_map(|name| self.objects.get(&(owner.0.clone(), name.clone())));
        cached.map(|cached| cached.created)
    }

    fn leave(&mut self, namespace: &str, owner: Option<&str>, name: &str) {
        let Some(owner) = owner else { return };
        let owner = (namespace.to_owned(), owner.to_owned());
        if let Some(names) = self.by_owner.get_mut(&owner) {
            names.remove(name);
            if names.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
    }
}

fn owner_of<K: Published>(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(K::OWNER_LABEL).map(String::as_str)
}

fn pack<K: Published>(object: &K) -> Box<[u8]> {
    // A server keeps them when a write does not mention them, and they are larger than all the rest. What comes from a
    // watch has none.
    let json = match object.meta().managed_fields {
        None => serde_json::to_vec(object),
        Some(_) => {
            let mut object = object.clone();
            object.meta_mut().managed_fields = None;
            serde_json::to_vec(&object)
        }
    };
    // Serialising a value that was read from JSON cannot fail; an empty one would read as "not there" and be written
    // again, which is the safe side.
    lz4_flex::compress_prepend_size(&json.unwrap_or_default()).into()
}

/// The size of an object as JSON, which its packed form begins with.
fn unpacked_bytes(packed: &[u8]) -> usize {
    let size = packed.first_chunk::<4>().map(|size| u32::from_le_bytes(*size));
    size.and_then(|size| usize::try_from(size).ok())
        .unwrap_or_default()
}

fn unpack<K: Published>(packed: &[u8]) -> Option<K> {
    let json = lz4_flex::decompress_size_prepended(packed).ok()?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use portolan_api::cluster::PlacementDecision;
    use serde_json::json;

    use super::*;

    fn object(name: &str, owner: &str, version: &str, uid: &str) -> PlacementDecision {
        serde_json::from_value(json!({
            "metadata": {
                "namespace": "n", "name": name, "uid": uid, "resourceVersion": version,
                "labels": {PlacementDecision::OWNER_LABEL: owner},
            },
            "status": {"decisions": [{"clusterName": "c", "reason": ""}]},
        }))
        .unwrap()
    }

    fn key(name: &str, uid: &str) -> Key {
        Key {
            namespace: "n".into(),
            name: name.into(),
            uid: uid.into(),
        }
    }

    fn names(cache: &DecisionCache<PlacementDecision>, owner: &str, prefix: &str) -> Vec<String> {
        let objects = cache.of("n", owner, prefix);
        objects
            .into_iter()
            .filter_map(|object| object.metadata.name)
            .collect()
    }

    #[test]
    fn objects_of_others_do_not_take_the_room_of_those_on_names_of_the_placement() {
        let mut cache = DecisionCache::default();
        for number in 0..10 {
            cache.observe(&object(&format!("a-{number}"), "p", "10", &format!("a{number}")));
            cache.observe(&object(
                &format!("p-decision-{number}"),
                "p",
                "10",
                &format!("p{number}"),
            ));
        }
        let all = cache.of("n", "p", "p-decision-");
        assert_eq!(all.len(), 20);
        let half = cache.bytes("n", "p") / 2;
        let read = cache.of_at_most("n", "p", "p-decision-", half);
        let own = |object: &PlacementDecision| {
            let name = object.metadata.name.as_deref();
            name.is_some_and(|name| name.starts_with("p-decision-"))
        };
        assert_eq!(read.iter().filter(|object| own(object)).count(), 10);
        assert!(read.len() < 13, "{}", read.len());
    }

    #[test]
    fn an_older_version_does_not_replace_a_later_one() {
        let mut cache = DecisionCache::default();
        assert!(cache.observe(&object("p-decision-1", "p", "10", "u")).is_some());
        assert!(cache.observe(&object("p-decision-1", "q", "9", "u")).is_none());
        assert!(cache.observe(&object("p-decision-1", "p", "10", "u")).is_none());
        assert_eq!(names(&cache, "p", "p-decision-"), ["p-decision-1"]);
    }

    #[test]
    fn an_object_created_anew_replaces_the_old_one_whatever_its_version() {
        let mut cache = DecisionCache::default();
        cache.observe(&object("p-decision-1", "p", "10", "u"));
        assert!(cache.observe(&object("p-decision-1", "p", "3", "v")).is_some());
        assert!(cache.remove(&key("p-decision-1", "u")).is_none());
        assert_eq!(names(&cache, "p", "p-decision-"), ["p-decision-1"]);
    }

    #[test]
    fn what_the_server_made_of_an_object_replaces_what_was_sent() {
        let mut cache = DecisionCache::default();
        cache.assume(&object("p-decision-1", "p", "10", "u"));
        let mut stored = object("p-decision-1", "p", "10", "u");
        stored.status = None;
        assert!(
            cache.observe(&stored).is_none(),
            "it is our own write and no news"
        );
        let cached = cache.get(&key("p-decision-1", "u")).unwrap();
        assert_eq!(cached.status, None);
        cache.assume(&object("p-decision-1", "p", "10", "u"));
        assert_eq!(cache.get(&key("p-decision-1", "u")).unwrap().status, None);
    }

    #[test]
    fn an_object_that_went_is_not_brought_back_by_the_late_answer_to_a_write() {
        let mut cache = DecisionCache::default();
        cache.observe(&object("x", "p", "1", "u"));
        cache.remove(&key("x", "u"));
        cache.assume(&object("x", "p", "2", "u"));
        assert_eq!(cache.get(&key("x", "u")), None);
        // One that is created anew is another.
        cache.assume(&object("x", "p", "4", "v"));
        assert!(cache.get(&key("x", "v")).is_some());
    }

    #[test]
    fn an_object_that_changes_owners_concerns_both() {
        let mut cache = DecisionCache::default();
        cache.observe(&object("x", "p", "1", "u"));
        let touched = cache.observe(&object("x", "q", "2", "u")).unwrap();
        assert_eq!(touched.owners, ["p", "q"]);
        assert!(names(&cache, "p", "p-decision-").is_empty());
        assert_eq!(names(&cache, "q", "q-decision-"), ["x"]);
    }

    #[test]
    fn an_object_that_we_deleted_is_not_brought_back_by_a_late_event() {
        let mut cache = DecisionCache::default();
        cache.observe(&object("x", "p", "1", "u"));
        cache.remove_ours(&key("x", "u"));
        assert!(cache.observe(&object("x", "p", "2", "u")).is_none());
        assert!(cache.remove(&key("x", "u")).is_none());
        assert_eq!(cache.owners().count(), 0);
    }

    #[test]
    fn objects_on_a_name_of_the_placement_are_found_without_its_label() {
        let mut cache = DecisionCache::default();
        cache.observe(&object("p-decision-1", "other", "1", "u"));
        cache.observe(&object("pp-decision-1", "pp", "1", "v"));
        assert_eq!(names(&cache, "p", "p-decision-"), ["p-decision-1"]);
    }
}
