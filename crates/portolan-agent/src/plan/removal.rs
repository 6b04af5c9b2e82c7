//! Decides whether the agent deletes or keeps an object that its work no longer asks for.

use portolan_api::work::{DeleteOption, DeletePropagationPolicy};
use serde_json::Value;

use super::owners::{Other, Owner};
use super::reference::RecordReference;
use crate::record::Entry;
use crate::sabotage::{Rule, sabotaged};
use crate::work::ObjectId;

/// What becomes of an object that its work does not ask for any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// It is not there, or not ours to delete: the record forgets it.
    Gone,
    /// It stays, because somebody else owns it too: the record forgets it.
    Shared(Owner),
    /// It stays and the record keeps it, because somebody else may own it too.
    Doubtful(Owner),
    /// Its deletion is under way.
    Going,
    /// It is deleted, if it still has this UID.
    Delete { uid: String },
}

/// Whether the object outlives the work.
pub(crate) fn is_orphaned(option: &DeleteOption, id: &ObjectId) -> bool {
    match option.propagation_policy.unwrap_or_default() {
        DeletePropagationPolicy::Foreground => false,
        DeletePropagationPolicy::Orphan => true,
        DeletePropagationPolicy::SelectivelyOrphan => option
            .selectively_orphans
            .iter()
            .flat_map(|rules| &rules.orphaning_rules)
            .any(|rule| id.is_meant_by(rule)),
    }
}

/// What allows an agent to delete an object that its record lists.
#[derive(Clone, Debug)]
pub(crate) enum Licence {
    /// The object names the record as its owner, or was made for it and does not name it yet.
    Reference(RecordReference),
    /// The record is from before objects named theirs: the UID in it is enough.
    RecordedUid(RecordReference),
    /// The record is not stored, so that no object can name it.
    Nothing,
}

impl Licence {
    /// Whether the entry is about this very object, and the object may be deleted because of it.
    fn covers(&self, entry: &Entry, there: &Value, uid: &str) -> bool {
        let very_object = entry.uid.as_deref().is_none_or(|noted| noted == uid);
        let allowed = match self {
            _ if sabotaged(Rule::NamedIsLicence) => true,
            Licence::RecordedUid(_) if entry.uid.is_some() => true,
            Licence::Reference(record) | Licence::RecordedUid(record) => {
                record.is_owner_of(there) || entry.uid.is_none() && record.has_made(there)
            }
            Licence::Nothing => false,
        };
        very_object && allowed
    }

    /// The record that objects name.
    pub(crate) fn record(&self) -> Option<&RecordReference> {
        match self {
            Licence::Reference(record) | Licence::RecordedUid(record) => Some(record),
            Licence::Nothing => None,
        }
    }
}

/// What is to be done about an object of the record that is to go.
pub(crate) fn removal(
    entry: &Entry,
    there: Option<&Value>,
    other: Option<Other>,
    licence: &Licence,
) -> Removal {
    let Some(there) = there else {
        return Removal::Gone;
    };
    let uid = there.pointer("/metadata/uid").and_then(Value::as_str);
    let Some(uid) = uid.filter(|uid| !uid.is_empty()) else {
        return Removal::Gone;
    };
    if !licence.covers(entry, there, uid) && !sabotaged(Rule::OnlyTheVeryObject) {
        return Removal::Gone;
    }
    match other.filter(|_| !sabotaged(Rule::SharedStays)) {
        Some(Other::Owns(owner)) => return Removal::Shared(owner),
        Some(Other::Perhaps(owner)) => return Removal::Doubtful(owner),
        None => {}
    }
    if there.pointer("/metadata/deletionTimestamp").is_some() {
        return Removal::Going;
    }
    Removal::Delete { uid: uid.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(uid: Option<&str>) -> Entry {
        Entry {
            uid: uid.map(str::to_owned),
            ..Entry::default()
        }
    }

    fn record(uid: &str) -> RecordReference {
        RecordReference {
            api_version: "work.open-cluster-management.io/v1".to_owned(),
            kind: "AppliedManifestWork".to_owned(),
            name: "hub-web".to_owned(),
            uid: uid.to_owned(),
        }
    }

    /// An object that an agent has written.
    fn there(uid: &str) -> Value {
        json!({ "metadata": { "uid": uid, "managedFields": [{ "manager": "work-agent" }] } })
    }

    /// The same, which names a record as its owner.
    fn owned(uid: &str, record: &RecordReference) -> Value {
        let mut object = there(uid);
        let patch = record.to_add(&object).unwrap();
        object["metadata"]["ownerReferences"] = patch["metadata"]["ownerReferences"].clone();
        object
    }

    fn delete(uid: &str) -> Removal {
        Removal::Delete { uid: uid.to_owned() }
    }

    /// What becomes of the object without other owners.
    fn becomes(noted: Option<&str>, there: &Value) -> Removal {
        let licence = Licence::Reference(record("r"));
        removal(&entry(noted), Some(there), None, &licence)
    }

    #[test]
    fn only_the_very_object_that_was_applied_is_deleted() {
        let object = owned("1", &record("r"));
        assert_eq!(becomes(Some("1"), &object), delete("1"));
        assert_eq!(becomes(Some("2"), &object), Removal::Gone);
        let licence = Licence::Reference(record("r"));
        assert_eq!(removal(&entry(Some("1")), None, None, &licence), Removal::Gone);
    }

    #[test]
    fn an_object_that_does_not_name_the_record_stays_whatever_the_record_says() {
        for noted in [Some("1"), None] {
            assert_eq!(becomes(noted, &there("1")), Removal::Gone);
            assert_eq!(becomes(noted, &owned("1", &record("other"))), Removal::Gone);
        }
        let licence = Licence::Nothing;
        let object = owned("1", &record("r"));
        assert_eq!(
            removal(&entry(Some("1")), Some(&object), None, &licence),
            Removal::Gone
        );
    }

    #[test]
    fn an_object_about_to_be_applied_is_deleted_only_if_it_is_of_this_record() {
        assert_eq!(
            becomes(None, &there("1")),
            Removal::Gone,
            "an agent wrote it, perhaps another, perhaps for another work"
        );
        assert_eq!(becomes(None, &record("r").mark(&there("1"))), delete("1"));
        assert_eq!(becomes(None, &record("other").mark(&there("1"))), Removal::Gone);
        assert_eq!(becomes(None, &owned("1", &record("r"))), delete("1"));
    }

    #[test]
    fn a_record_from_before_objects_named_theirs_goes_by_the_uid() {
        let licence = Licence::RecordedUid(record("r"));
        let becomes = |noted, there: &Value| removal(&entry(noted), Some(there), None, &licence);
        assert_eq!(becomes(Some("1"), &there("1")), delete("1"));
        assert_eq!(becomes(Some("2"), &there("1")), Removal::Gone);
        assert_eq!(becomes(None, &there("1")), Removal::Gone);
    }

    #[test]
    fn what_somebody_else_owns_too_stays() {
        let owner = || Owner("Work b".to_owned());
        let (object, licence) = (owned("1", &record("r")), Licence::Reference(record("r")));
        let kept = |other| removal(&entry(Some("1")), Some(&object), Some(other), &licence);
        assert_eq!(kept(Other::Owns(owner())), Removal::Shared(owner()));
        assert_eq!(kept(Other::Perhaps(owner())), Removal::Doubtful(owner()));
    }

    #[test]
    fn an_object_that_is_going_is_waited_for() {
        let mut going = owned("1", &record("r"));
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(becomes(Some("1"), &going), Removal::Going);
    }

    #[test]
    fn orphans_are_all_none_or_those_that_rules_name() {
        let id = |name: &str| ObjectId {
            resource: "configmaps".to_owned(),
            namespace: "n".to_owned(),
            name: name.to_owned(),
            ..ObjectId::default()
        };
        let option = |value: Value| serde_json::from_value::<DeleteOption>(value).unwrap();
        assert!(!is_orphaned(&DeleteOption::default(), &id("a")));
        assert!(is_orphaned(
            &option(json!({ "propagationPolicy": "Orphan" })),
            &id("a")
        ));
        let some = option(
            json!({ "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": { "orphaningRules": [
            { "group": "", "resource": "configmaps", "namespace": "n", "name": "a" },
        ] } }),
        );
        assert!(is_orphaned(&some, &id("a")) && !is_orphaned(&some, &id("b")));
    }
}
