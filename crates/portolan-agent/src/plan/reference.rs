//! The owner reference by which an object names the record of its work. It is what allows an agent to delete the object.

use portolan_api::labels::portolan;
use serde_json::{Value, json};

/// A stored record, as objects name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordReference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl RecordReference {
    /// Whether the object names this very record as its owner.
    pub(crate) fn is_owner_of(&self, there: &Value) -> bool {
        let mut references = references(there).iter();
        references.any(|reference| text(reference, "uid") == self.uid)
    }

    /// Whether the object was made for this record and does not name it yet: an agent ended in between.
    pub(crate) fn has_made(&self, there: &Value) -> bool {
        let labels = there.pointer("/metadata/labels");
        labels.is_some_and(|labels| text(labels, portolan::MADE_FOR) == self.uid)
    }

    /// The body for an object that is not there yet. A reference in it would belong to the manager of the manifest, and
    /// two works with one manager would take each other's away.
    pub(crate) fn mark(&self, body: &Value) -> Value {
        let mut body = body.clone();
        if !body["metadata"]["labels"].is_object() {
            body["metadata"]["labels"] = json!({});
        }
        body["metadata"]["labels"][portolan::MADE_FOR] = self.uid.as_str().into();
        body
    }

    /// The merge patch after which the object names this record as its owner; `None` if it does. A record of the same name
    /// that was there before is named no longer.
    pub(crate) fn to_add(&self, there: &Value) -> Option<Value> {
        let own = |reference: &&Value| self.is_meant_by(reference);
        let named = references(there).iter().filter(own).count() == 1 && self.is_owner_of(there);
        if named && !self.has_made(there) {
            return None;
        }
        let mut kept = self.others(there);
        kept.push(json!({
            "apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid,
        }));
        Some(self.patch(there, kept))
    }

    /// The merge patch after which the object does not name this record any more; `None` if it does not.
    pub(crate) fn to_remove(&self, there: &Value) -> Option<Value> {
        let kept = self.others(there);
        let named = kept.len() != references(there).len();
        (named || self.has_made(there)).then(|| self.patch(there, kept))
    }

    /// For this very object in this very version: the list is written as a whole.
    fn patch(&self, there: &Value, references: Vec<Value>) -> Value {
        let mut patch = json!({ "metadata": {
            "uid": there.pointer("/metadata/uid"),
            "resourceVersion": there.pointer("/metadata/resourceVersion"),
            "ownerReferences": references,
        } });
        if self.has_made(there) {
            patch["metadata"]["labels"] = json!({ portolan::MADE_FOR: null });
        }
        patch
    }

    fn others(&self, there: &Value) -> Vec<Value> {
        let references = references(there).iter();
        references
            .filter(|reference| !self.is_meant_by(reference))
            .cloned()
            .collect()
    }

    /// By group, kind and name: a record that was made anew has another UID.
    pub(super) fn is_meant_by(&self, reference: &Value) -> bool {
        let group = |api_version: &str| api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
        group(text(reference, "apiVersion")) == group(&self.api_version)
            && text(reference, "kind") == self.kind
            && text(reference, "name") == self.name
    }
}

/// Everything that the object names as its owner.
pub(super) fn references(there: &Value) -> &[Value] {
    let references = there.pointer("/metadata/ownerReferences");
    references.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(uid: &str) -> RecordReference {
        RecordReference {
            api_version: "work.open-cluster-management.io/v1".to_owned(),
            kind: "AppliedManifestWork".to_owned(),
            name: "hub-web".to_owned(),
            uid: uid.to_owned(),
        }
    }

    fn object(references: Value) -> Value {
        json!({ "metadata": { "uid": "u", "resourceVersion": "7", "ownerReferences": references } })
    }

    fn named(record: &RecordReference) -> Value {
        json!({
            "apiVersion": record.api_version, "kind": record.kind, "name": record.name, "uid": record.uid,
        })
    }

    fn somebody() -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "hub-web", "uid": "c" })
    }

    #[test]
    fn a_reference_is_added_once_and_beside_those_of_others() {
        let record = record("1");
        let patch = record.to_add(&object(json!([somebody()]))).unwrap();
        assert_eq!(
            patch,
            json!({ "metadata": {
                "uid": "u", "resourceVersion": "7", "ownerReferences": [somebody(), named(&record)],
            } })
        );
        assert_eq!(record.to_add(&object(json!([named(&record)]))), None);
        assert!(record.to_add(&json!({ "metadata": { "uid": "u" } })).is_some());
    }

    #[test]
    fn a_record_that_was_made_anew_takes_the_place_of_the_one_before() {
        let (old, new) = (record("1"), record("2"));
        let there = object(json!([named(&old), somebody()]));
        assert!(old.is_owner_of(&there) && !new.is_owner_of(&there));
        let patch = new.to_add(&there).unwrap();
        assert_eq!(
            patch["metadata"]["ownerReferences"],
            json!([somebody(), named(&new)])
        );
    }

    #[test]
    fn a_reference_is_taken_off_and_those_of_others_stay() {
        let record = record("1");
        let patch = record
            .to_remove(&object(json!([named(&record), somebody()])))
            .unwrap();
        assert_eq!(patch["metadata"]["ownerReferences"], json!([somebody()]));
        assert_eq!(record.to_remove(&object(json!([somebody()]))), None);
    }

    #[test]
    fn the_mark_of_a_new_object_is_of_one_record_and_goes_with_the_reference() {
        let (ours, theirs) = (record("1"), record("2"));
        let made = ours.mark(&json!({ "metadata": { "name": "a", "labels": { "k": "v" } } }));
        assert!(ours.has_made(&made) && !theirs.has_made(&made));
        assert_eq!(made["metadata"]["labels"]["k"], "v");
        let patch = ours.to_add(&made).unwrap();
        assert_eq!(patch["metadata"]["labels"], json!({ portolan::MADE_FOR: null }));
        let patch = theirs.to_add(&made).unwrap();
        assert!(patch["metadata"].get("labels").is_none());
        assert!(ours.to_remove(&made).is_some() && theirs.to_remove(&made).is_none());
    }
}
