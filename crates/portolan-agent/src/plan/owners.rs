//! Other owners of an object on the member cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reference::{RecordReference, references};
use crate::record::Record;
use crate::work::{Manifest, ObjectId};

/// Another owner of an object, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) String);

/// Another owner of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Certainly.
    Owns(Owner),
    /// That cannot be told at the moment.
    Perhaps(Owner),
}

/// Whether anything goes with the object.
pub(super) fn holds_others(id: &ObjectId) -> bool {
    [NAMESPACES, DEFINITIONS].contains(&(id.group.as_str(), id.resource.as_str()))
}

/// Whether an object goes when another does: with its namespace, or with the definition of its kind.
pub(super) fn goes_with(object: &ObjectId, holder: &ObjectId) -> bool {
    match (holder.group.as_str(), holder.resource.as_str()) {
        NAMESPACES => object.namespace == holder.name,
        DEFINITIONS => format!("{}.{}", object.resource, object.group) == holder.name,
        _ => false,
    }
}

/// The same for an object whose kind is not known, as far as that can be told.
pub(super) fn may_go_with(manifest: &Manifest, holder: &ObjectId) -> bool {
    match (holder.group.as_str(), holder.resource.as_str()) {
        NAMESPACES => held_by(holder) == Some(manifest.namespace.as_str()),
        DEFINITIONS => held_by(holder) == Some(manifest.group.as_str()),
        _ => false,
    }
}

/// Whether an object whose kind is not known may be this one. A namespace means nothing to a kind without.
pub(super) fn may_be(manifest: &Manifest, id: &ObjectId) -> bool {
    (&manifest.group, &manifest.name) == (&id.group, &id.name)
        && (manifest.namespace == id.namespace || id.namespace.is_empty())
}

/// Objects that are looked for among many manifests.
#[derive(Debug)]
pub(crate) struct Sought<'i> {
    /// By group and name.
    ids: BTreeMap<(&'i str, &'i str), Vec<&'i ObjectId>>,
    /// Those that others go with, by what tells which.
    holders: BTreeMap<&'i str, Vec<&'i ObjectId>>,
}

impl<'i> Sought<'i> {
    pub(crate) fn new(ids: &'i [ObjectId]) -> Sought<'i> {
        let mut sought = Sought {
            ids: BTreeMap::new(),
            holders: BTreeMap::new(),
        };
        for id in ids {
            let named = (id.group.as_str(), id.name.as_str());
            sought.ids.entry(named).or_default().push(id);
            if let Some(held) = held_by(id) {
                sought.holders.entry(held).or_default().push(id);
            }
        }
        sought
    }

    /// Whether a manifest may mean one of them, or something that goes with one, whatever its kind is.
    pub(crate) fn may_be_meant_by(&self, manifest: &Manifest) -> bool {
        let named = (manifest.group.as_str(), manifest.name.as_str());
        let mut same = self.ids.get(&named).into_iter().flatten();
        let holders = [manifest.namespace.as_str(), manifest.group.as_str()];
        let mut holders = holders
            .into_iter()
            .flat_map(|held| self.holders.get(held))
            .flatten();
        same.any(|id| may_be(manifest, id)) || holders.any(|id| may_go_with(manifest, id))
    }
}

/// The namespace, or the group of the kind, of what goes with the object.
fn held_by(id: &ObjectId) -> Option<&str> {
    match (id.group.as_str(), id.resource.as_str()) {
        NAMESPACES => Some(&id.name),
        DEFINITIONS => id.name.split_once('.').map(|(_, group)| group),
        _ => None,
    }
}

const NAMESPACES: (&str, &str) = ("", "namespaces");
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

impl Owner {
    /// The same, of something in the object.
    pub(super) fn inside(self) -> Owner {
        Owner(format!("{}, which has something in it,", self.0))
    }

    /// Another record that the object itself names as its owner.
    pub(crate) fn by_reference(there: &Value, own: Option<&RecordReference>) -> Option<Owner> {
        let text = |reference: &Value, field: &str| {
            let text = reference.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        references(there)
            .iter()
            .filter(|reference| {
                let kind = text(reference, "kind");
                matches!(kind.as_str(), "AppliedManifestWork" | "AppliedWork")
            })
            .find(|reference| own.is_none_or(|own| !own.is_meant_by(reference)))
            .map(|reference| Owner(format!("{} {}", text(reference, "kind"), text(reference, "name"))))
    }
}

/// Other records on the member cluster, of this hub or of another, that list objects which are to be removed or something that
/// would go with one. Each record is read once for all objects: both may be thousands.
#[derive(Debug, Default)]
pub(crate) struct RecordOwners {
    listed: BTreeMap<ObjectId, Owner>,
    inside: BTreeMap<ObjectId, Owner>,
    /// Entries of records that were looked at.
    #[cfg(test)]
    visited: usize,
}

impl RecordOwners {
    pub(crate) fn of(records: &[Record], own: &Record, ids: &[ObjectId]) -> RecordOwners {
        let mut owners = RecordOwners::default();
        let sought: BTreeSet<&ObjectId> = ids.iter().collect();
        let holders = |kind: (&str, &str)| -> BTreeMap<&str, &ObjectId> {
            let holders = ids
                .iter()
                .filter(|id| (id.group.as_str(), id.resource.as_str()) == kind);
            holders.map(|id| (id.name.as_str(), id)).collect()
        };
        let (namespaces, definitions) = (holders(NAMESPACES), holders(DEFINITIONS));
        for record in others(records, own) {
            for entry in record.entries.keys() {
                #[cfg(test)]
                {
                    owners.visited += 1;
                }
                if sought.contains(entry) && !owners.listed.contains_key(entry) {
                    owners.listed.insert(entry.clone(), record_owner(record));
                }
                let definition = (!definitions.is_empty())
                    .then(|| definitions.get(format!("{}.{}", entry.resource, entry.group).as_str()));
                let holders = [namespaces.get(entry.namespace.as_str()), definition.flatten()];
                for holder in holders.into_iter().flatten() {
                    if !owners.inside.contains_key(*holder) {
                        owners
                            .inside
                            .insert((*holder).clone(), record_owner(record).inside());
                    }
                }
            }
        }
        owners
    }

    /// A record that lists the object.
    pub(crate) fn listed(&self, id: &ObjectId) -> Option<&Owner> {
        self.listed.get(id)
    }

    /// A record that lists something that would go with the object.
    pub(crate) fn inside(&self, id: &ObjectId) -> Option<&Owner> {
        self.inside.get(id)
    }
}

fn others<'r>(records: &'r [Record], own: &Record) -> impl Iterator<Item = &'r Record> + use<'r> {
    let uid = |record: &Record| record.stored.as_ref().map(|stored| stored.uid.clone());
    let own = uid(own);
    records.iter().filter(move |record| uid(record) != own)
}

fn record_owner(record: &Record) -> Owner {
    Owner(format!("the record {} of a {}", record.name, record.key.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Entry, Stored};
    use crate::work::{WorkKey, WorkKind};

    fn id(group: &str, resource: &str, namespace: &str, name: &str) -> ObjectId {
        ObjectId {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn what_is_in_a_namespace_or_of_a_kind_goes_with_it() {
        let (space, kind) = (
            id("", "namespaces", "", "shop"),
            id(
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                "",
                "widgets.example.com",
            ),
        );
        let widget = id("example.com", "widgets", "shop", "w");
        assert!(goes_with(&widget, &space) && goes_with(&widget, &kind));
        let other = id("example.com", "gadgets", "other", "shop");
        assert!(!goes_with(&other, &space) && !goes_with(&other, &kind));
        // Only these two have anything in them.
        assert!(!goes_with(&widget, &id("", "configmaps", "", "shop")));
        assert!(!goes_with(&widget, &id("example.com", "namespaces", "", "shop")));
    }

    #[test]
    fn each_record_is_read_once_however_many_objects_are_to_be_removed() {
        let record = |number: usize, entries: &[ObjectId]| {
            let key = WorkKey {
                kind: WorkKind::ManifestWork,
                name: format!("w{number}"),
            };
            let mut record = Record::new(&key, format!("r{number}"));
            record.stored = Some(Stored {
                uid: format!("u{number}"),
                version: "1".to_owned(),
                is_leaving: false,
                finalizers: Vec::new(),
            });
            record.entries = entries.iter().map(|id| (id.clone(), Entry::default())).collect();
            record
        };
        let map = |number: usize| id("", "configmaps", "shop", &format!("m{number}"));
        let widget = id("example.com", "widgets", "shop", "w");
        let mut ids: Vec<ObjectId> = (0..100).map(map).collect();
        ids.push(id("", "namespaces", "", "shop"));
        ids.push(id(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "",
            "widgets.example.com",
        ));
        let own = record(0, &ids);
        let mut records = vec![own.clone()];
        records.extend((1..50).map(|number| record(number, &[map(number), id("", "secrets", "other", "s")])));
        records.push(record(50, &[widget]));
        let owners = RecordOwners::of(&records, &own, &ids);
        assert_eq!(owners.visited, 49 * 2 + 1, "and none of its own");
        assert_eq!(
            owners.listed(&map(7)).unwrap().0,
            "the record r7 of a ManifestWork"
        );
        assert_eq!(owners.listed(&map(70)), None);
        let inside = |at: usize| owners.inside(&ids[at]).map(|owner| owner.0.as_str());
        assert_eq!(inside(0), None);
        assert_eq!(
            inside(100),
            Some("the record r1 of a ManifestWork, which has something in it,")
        );
        assert_eq!(
            inside(101),
            Some("the record r50 of a ManifestWork, which has something in it,")
        );
    }

    #[test]
    fn manifests_that_cannot_mean_an_object_are_told_from_those_that_may() {
        let definitions = "customresourcedefinitions";
        let ids = [
            id("", "configmaps", "shop", "a"),
            id("example.com", "widgets", "", "w"),
            id("", "namespaces", "", "gone"),
            id("apiextensions.k8s.io", definitions, "", "gadgets.example.org"),
        ];
        let sought = Sought::new(&ids);
        let manifest = |api_version: &str, namespace: &str, name: &str| {
            let metadata = serde_json::json!({ "name": name, "namespace": namespace });
            let object =
                serde_json::json!({ "apiVersion": api_version, "kind": "Any", "metadata": metadata });
            Manifest::read(&object).unwrap()
        };
        for (api_version, namespace, name, may) in [
            ("v1", "shop", "a", true),
            ("v2", "shop", "a", true),
            ("v1", "other", "a", false),
            ("example.com/v1", "any", "w", true),
            ("example.com/v1", "any", "v", false),
            ("example.com/v1", "gone", "v", true),
            ("example.org/v1", "any", "v", true),
            ("gone/v1", "shop", "v", false),
        ] {
            let manifest = manifest(api_version, namespace, name);
            let each = ids
                .iter()
                .any(|id| may_be(&manifest, id) || may_go_with(&manifest, id));
            assert_eq!(
                (sought.may_be_meant_by(&manifest), each),
                (may, may),
                "{manifest:?}"
            );
        }
    }
}
