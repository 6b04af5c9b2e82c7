//! Who else has a say in an object of the member cluster.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reference::{RecordReference, references};
use crate::record::Record;
use crate::work::{Kinds, Manifest, ObjectId, Strategy, Work, WorkKey, resolve};

/// Another owner of an object, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) String);

/// Somebody else who has a say in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Certainly.
    Owns(Owner),
    /// That cannot be told at the moment.
    Perhaps(Owner),
}

/// What all works that are not being deleted ask for.
#[derive(Debug)]
pub(crate) struct Claims<'w> {
    works: Vec<&'w Work>,
    kinds: &'w Kinds,
}

impl<'w> Claims<'w> {
    pub(crate) fn new(works: &'w BTreeMap<WorkKey, Work>, kinds: &'w Kinds) -> Claims<'w> {
        Claims {
            works: works.values().filter(|work| !work.deleting).collect(),
            kinds,
        }
    }

    /// The work that is first to say what the object looks like, if that is another one and it says something else.
    pub(crate) fn senior(&self, work: &Work, id: &ObjectId, manifest: &Manifest) -> Option<Owner> {
        let mut rivals: Vec<&Work> = self
            .works
            .iter()
            .copied()
            .filter(|other| other.key != work.key && other.is_senior_to(work))
            .collect();
        rivals.sort_by_key(|other| (other.created, &other.key));
        rivals
            .into_iter()
            .find(|other| {
                self.manifests(other).any(|(theirs, place)| {
                    let same = matches!(place, Some((place, true)) if place == *id);
                    same && theirs.body != manifest.body
                })
            })
            .map(|other| Owner(other.key.to_string()))
    }

    /// Another work that asks for the object, or may do so: one that cannot be read, or whose manifest has the right names
    /// and a kind that is not known.
    pub(crate) fn other(&self, key: &WorkKey, id: &ObjectId) -> Option<Other> {
        let others = self.works.iter().filter(|other| other.key != *key);
        let mut perhaps = None;
        for other in others {
            let owner = || Owner(other.key.to_string());
            if other.wish.is_err() {
                perhaps = Some(Other::Perhaps(owner()));
            }
            for (theirs, place) in self.manifests(other) {
                match place {
                    Some((place, _)) if place == *id => return Some(Other::Owns(owner())),
                    Some((place, _)) if goes_with(&place, id) => {
                        perhaps = Some(Other::Perhaps(owner().inside()));
                    }
                    None if may_go_with(theirs, id) => perhaps = Some(Other::Perhaps(owner().inside())),
                    None if (&theirs.group, &theirs.namespace, &theirs.name)
                        == (&id.group, &id.namespace, &id.name) =>
                    {
                        perhaps = Some(Other::Perhaps(owner()));
                    }
                    _ => {}
                }
            }
        }
        perhaps
    }

    /// The manifests of a work, with their places and whether they are written there.
    fn manifests<'a>(
        &'a self,
        work: &'a Work,
    ) -> impl Iterator<Item = (&'a Manifest, Option<(ObjectId, bool)>)> + 'a {
        let wish = work.wish.as_ref().ok();
        wish.into_iter().flat_map(|wish| {
            wish.manifests.iter().flatten().map(|manifest| {
                let place = resolve(manifest, &wish.configs, self.kinds)
                    .and_then(Result::ok)
                    .map(|target| {
                        (
                            target.id,
                            matches!(target.config.strategy, Strategy::Apply { .. }),
                        )
                    });
                (manifest, place)
            })
        })
    }
}

/// Whether an object goes when another does: with its namespace, or with the definition of its kind.
fn goes_with(object: &ObjectId, holder: &ObjectId) -> bool {
    match (holder.group.as_str(), holder.resource.as_str()) {
        NAMESPACES => object.namespace == holder.name,
        DEFINITIONS => format!("{}.{}", object.resource, object.group) == holder.name,
        _ => false,
    }
}

/// The same for an object whose kind is not known, as far as that can be told.
fn may_go_with(manifest: &Manifest, holder: &ObjectId) -> bool {
    match (holder.group.as_str(), holder.resource.as_str()) {
        NAMESPACES => manifest.namespace == holder.name,
        DEFINITIONS => {
            let group = holder.name.split_once('.').map(|(_, group)| group);
            group == Some(manifest.group.as_str())
        }
        _ => false,
    }
}

const NAMESPACES: (&str, &str) = ("", "namespaces");
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

impl Owner {
    /// The same, of something in the object.
    fn inside(self) -> Owner {
        Owner(format!("{}, which has something in it,", self.0))
    }

    /// Another record on the member cluster that lists something that would go with the object.
    pub(crate) fn inside_by_record(records: &[Record], own: &Record, id: &ObjectId) -> Option<Owner> {
        others(records, own)
            .find(|record| record.entries.keys().any(|entry| goes_with(entry, id)))
            .map(|record| record_owner(record).inside())
    }

    /// Another record on the member cluster that lists the object, of this hub or of another.
    pub(crate) fn by_record(records: &[Record], own: &Record, id: &ObjectId) -> Option<Owner> {
        others(records, own)
            .find(|record| record.entries.contains_key(id))
            .map(record_owner)
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
}
