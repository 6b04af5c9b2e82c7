//! Who else has a say in an object of the member cluster.

use serde_json::Value;

use super::reference::{RecordReference, references};
use crate::record::Record;
use crate::work::{Manifest, ObjectId};

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
    pub(super) fn inside(self) -> Owner {
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
