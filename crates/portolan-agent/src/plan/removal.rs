use portolan_api::work::{DeleteOption, DeletePropagationPolicy};
use serde_json::Value;

use super::owners::{Other, Owner};
use crate::record::Entry;
use crate::sabotage::{Rule, broken};
use crate::work::{FIELD_MANAGER, ObjectId};

/// What becomes of an object that its work does not ask for any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// It is not there, or another object has its name: the record forgets it.
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

/// What is to be done about an object of the record that is to go.
pub(crate) fn removal(entry: &Entry, there: Option<&Value>, other: Option<Other>) -> Removal {
    let Some(there) = there else {
        return Removal::Gone;
    };
    let uid = there.pointer("/metadata/uid").and_then(Value::as_str);
    let Some(uid) = uid.filter(|uid| !uid.is_empty()) else {
        return Removal::Gone;
    };
    let ours = match &entry.uid {
        Some(ours) => ours == uid,
        None => has_our_mark(there),
    };
    if !ours && !broken(Rule::OnlyTheVeryObject) {
        return Removal::Gone;
    }
    match other.filter(|_| !broken(Rule::SharedStays)) {
        Some(Other::Owns(owner)) => return Removal::Shared(owner),
        Some(Other::Perhaps(owner)) => return Removal::Doubtful(owner),
        None => {}
    }
    if there.pointer("/metadata/deletionTimestamp").is_some() {
        return Removal::Going;
    }
    Removal::Delete { uid: uid.to_owned() }
}

/// Whether an agent has ever written the object.
fn has_our_mark(there: &Value) -> bool {
    let entries = there.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| {
        let manager = entry.get("manager").and_then(Value::as_str);
        manager.is_some_and(|manager| manager.starts_with(FIELD_MANAGER))
    })
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

    fn there(uid: &str, manager: &str) -> Value {
        json!({ "metadata": { "uid": uid, "managedFields": [{ "manager": manager }] } })
    }

    #[test]
    fn only_the_very_object_that_was_applied_is_deleted() {
        let delete = |uid: &str| Removal::Delete { uid: uid.to_owned() };
        assert_eq!(
            removal(&entry(Some("1")), Some(&there("1", "x")), None),
            delete("1")
        );
        assert_eq!(
            removal(&entry(Some("1")), Some(&there("2", "work-agent")), None),
            Removal::Gone
        );
        assert_eq!(removal(&entry(Some("1")), None, None), Removal::Gone);
    }

    #[test]
    fn an_object_that_was_about_to_be_applied_is_deleted_only_if_it_was() {
        let delete = Removal::Delete { uid: "1".to_owned() };
        assert_eq!(
            removal(&entry(None), Some(&there("1", "work-agent")), None),
            delete
        );
        assert_eq!(
            removal(&entry(None), Some(&there("1", "kubectl")), None),
            Removal::Gone
        );
    }

    #[test]
    fn what_somebody_else_owns_too_stays() {
        let owner = || Owner("Work b".to_owned());
        let kept = |other| removal(&entry(Some("1")), Some(&there("1", "x")), Some(other));
        assert_eq!(kept(Other::Owns(owner())), Removal::Shared(owner()));
        assert_eq!(kept(Other::Perhaps(owner())), Removal::Doubtful(owner()));
    }

    #[test]
    fn an_object_that_is_going_is_waited_for() {
        let going = json!({ "metadata": { "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        assert_eq!(removal(&entry(Some("1")), Some(&going), None), Removal::Going);
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
