//! What a work has left on the member cluster, kept there as AppliedManifestWork or AppliedWork.
//!
//! An object is written into the record before it is applied, and leaves it after it is known to be gone: whenever the
//! agent dies, the record has every object that it may have left, and perhaps one more. An entry without a UID says that
//! the agent was about to apply the object. Being listed is no licence to delete an object: that the object names the
//! record as its owner is, or a mark with the record's UID until it does ([`crate::plan::Licence`]).

mod store;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use portolan_api::labels::portolan;
use portolan_api::shorten;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::spoke::Place;
use crate::work::{ObjectId, Work, WorkKey, WorkKind};

pub(crate) use store::{RecordError, Records};

/// The record of one work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) key: WorkKey,
    /// The name of the object.
    pub(crate) name: String,
    /// What the server says about the stored record; `None` when there is none.
    pub(crate) stored: Option<Stored>,
    pub(crate) header: Header,
    pub(crate) note: Note,
    /// Since when its work is known not to be on the hub, where that counts.
    pub(crate) eviction: Option<Timestamp>,
    /// What may be there, in order.
    pub(crate) entries: BTreeMap<ObjectId, Entry>,
}

/// Identity and version of a stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) uid: String,
    pub(crate) version: String,
    /// It is being deleted: what is written into it is lost with it.
    pub(crate) is_leaving: bool,
    /// The finalizers of the object.
    pub(crate) finalizers: Vec<String>,
}

/// Whose record it is, and the labels of its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Hash of the hub's address. A record of a Work has none.
    pub(crate) hub_hash: String,
    /// Id of the agent. A record of a Work has none.
    pub(crate) agent_id: String,
    /// All labels of the record.
    pub(crate) labels: BTreeMap<String, String>,
    /// Keys of those that were copied from the work.
    copied: BTreeSet<String>,
}

impl Header {
    /// With the labels of the work, and without those that the work had once. Labels of others stay.
    pub(crate) fn labelled_as(&self, work: &Work) -> Header {
        let mut labels = self.labels.clone();
        labels.retain(|key, _| !self.copied.contains(key));
        labels.extend(work.labels.clone());
        Header {
            labels,
            copied: work.labels.keys().cloned().collect(),
            ..self.clone()
        }
    }

    fn annotations(&self) -> Value {
        let copied: Vec<&str> = self.copied.iter().map(String::as_str).collect();
        let copied = (!copied.is_empty()).then(|| copied.join(","));
        json!({ portolan::WORK_LABELS: copied })
    }

    fn read_copied(annotations: &BTreeMap<String, String>) -> BTreeSet<String> {
        let copied = annotations.get(portolan::WORK_LABELS);
        let keys = copied.into_iter().flat_map(|keys| keys.split(','));
        keys.filter(|key| !key.is_empty()).map(str::to_owned).collect()
    }

    /// The merge patch of `metadata.labels`, from those that are stored.
    fn label_changes(&self, from: &Header) -> Value {
        let gone = from.labels.keys().filter(|key| !self.labels.contains_key(*key));
        let gone = gone.map(|key| (key.clone(), Value::Null));
        let now = self.labels.iter();
        let now = now.map(|(key, value)| (key.clone(), value.as_str().into()));
        Value::Object(gone.chain(now).collect())
    }
}

/// Which state of the work the record is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// UID of the work; empty where nobody noted it.
    pub(crate) uid: String,
    /// Its newest generation that was applied.
    pub(crate) generation: i64,
    /// Hash of what that asked for.
    pub(crate) content: String,
    /// The generation at which nothing is removed.
    pub(crate) keep_at: Option<i64>,
}

impl Note {
    /// The work as it is now.
    pub(crate) fn of(work: &Work) -> Note {
        Note {
            uid: work.uid.clone(),
            generation: work.generation,
            content: work.content.clone(),
            keep_at: None,
        }
    }

    fn annotations(&self) -> Value {
        json!({
            portolan::WORK_UID: self.uid,
            portolan::WORK_GENERATION: self.generation.to_string(),
            portolan::WORK_CONTENT: self.content,
            // In a merge patch, null takes away.
            portolan::KEEP_AT_GENERATION: self.keep_at.map(|generation| generation.to_string()),
        })
    }

    fn read(annotations: &BTreeMap<String, String>) -> Note {
        let text = |key: &str| annotations.get(key).cloned().unwrap_or_default();
        Note {
            uid: text(portolan::WORK_UID),
            generation: text(portolan::WORK_GENERATION).parse().unwrap_or_default(),
            content: text(portolan::WORK_CONTENT),
            keep_at: text(portolan::KEEP_AT_GENERATION).parse().ok(),
        }
    }
}

/// One object that a work may have left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) version: String,
    pub(crate) kind: String,
    /// UID of the object that was applied; `None` while it is about to be.
    pub(crate) uid: Option<String>,
}

impl Entry {
    /// Where the object is found.
    pub(crate) fn place(&self, id: &ObjectId) -> Place {
        Place {
            id: id.clone(),
            version: self.version.clone(),
        }
    }
}

impl Record {
    /// The record of a work that has left nothing yet.
    pub(crate) fn new(key: &WorkKey, name: String) -> Record {
        Record {
            key: key.clone(),
            name,
            stored: None,
            header: Header::default(),
            note: Note::default(),
            eviction: None,
            entries: BTreeMap::new(),
        }
    }

    /// Whether the record waits for us before it goes. One that does not is from before objects named their records.
    pub(crate) fn is_held(&self) -> bool {
        let ours = self.key.kind.record_finalizer();
        let stored = self.stored.as_ref();
        stored.is_some_and(|stored| stored.finalizers.iter().any(|held| held == ours))
    }

    /// Whether it is being deleted.
    pub(crate) fn is_leaving(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.is_leaving)
    }

    /// `status.appliedResources` in the words of the kind.
    fn applied_resources(&self) -> Value {
        let entries = self.entries.iter().enumerate();
        entries
            .map(|(ordinal, (id, entry))| {
                let mut resource = json!({
                    "group": id.group, "version": entry.version, "resource": id.resource,
                    "namespace": id.namespace, "name": id.name,
                });
                if let Some(uid) = &entry.uid {
                    resource["uid"] = uid.as_str().into();
                }
                if self.key.kind == WorkKind::Work {
                    resource["ordinal"] = ordinal.into();
                    resource["kind"] = entry.kind.as_str().into();
                }
                resource
            })
            .collect()
    }

    /// Reads what [`Record::applied_resources`] has written, or another agent.
    fn read_resources(status: &Value) -> BTreeMap<ObjectId, Entry> {
        let resources = status.get("appliedResources").and_then(Value::as_array);
        resources
            .into_iter()
            .flatten()
            .map(|resource| {
                let text = |field: &str| {
                    resource
                        .get(field)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                let id = ObjectId {
                    group: text("group"),
                    resource: text("resource"),
                    namespace: text("namespace"),
                    name: text("name"),
                };
                let entry = Entry {
                    version: text("version"),
                    kind: text("kind"),
                    uid: Some(text("uid")).filter(|uid| !uid.is_empty()),
                };
                (id, entry)
            })
            .collect()
    }
}

/// Tells the works of this hub from those of others that leave records on the same member cluster. Other agents of the kind
/// hash the same text in the same way, so that a record can be handed from one to the other.
pub(crate) fn hub_hash(hub_id: &str) -> String {
    hexadecimal(&Sha256::digest(hub_id))
}

/// The same as earlier versions of this agent had it.
pub(crate) fn former_hub_hash(hub_id: &str, cluster: &str) -> String {
    hexadecimal(&Sha256::digest(format!("{hub_id}/{cluster}"))[..5])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the record of a work.
pub(crate) fn name(hub_hash: &str, work: &str) -> String {
    shorten::object_name(&format!("{hub_hash}-{work}")).into_owned()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;
    use crate::work::read;

    #[test]
    fn a_record_is_read_as_it_was_written_in_either_kind() {
        for kind in [WorkKind::ManifestWork, WorkKind::Work] {
            let key = WorkKey {
                kind,
                name: "web".to_owned(),
            };
            let mut record = Record::new(&key, "hub-web".to_owned());
            for (name, uid) in [("a", Some("1")), ("b", None)] {
                let id = ObjectId {
                    resource: "configmaps".to_owned(),
                    namespace: "shop".to_owned(),
                    name: name.to_owned(),
                    ..ObjectId::default()
                };
                let entry = Entry {
                    version: "v1".to_owned(),
                    kind: match kind {
                        WorkKind::Work => "ConfigMap".to_owned(),
                        WorkKind::ManifestWork => String::new(),
                    },
                    uid: uid.map(str::to_owned),
                };
                record.entries.insert(id, entry);
            }
            let status = json!({ "appliedResources": record.applied_resources() });
            assert_eq!(Record::read_resources(&status), record.entries);
        }
    }

    #[test]
    fn the_name_of_a_record_is_the_hash_of_the_hub_s_address_and_the_work_s_name() {
        // `printf %s https://hub.example.com:6443 | sha256sum`
        let hash = "badbd4de19b639898c31f168ba913abc5d9e2bbcf25d70e3ee016190492578ae";
        assert_eq!(hub_hash("https://hub.example.com:6443"), hash);
        assert_eq!(name(hash, "web"), format!("{hash}-web"));
        assert_ne!(hub_hash("https://hub.example.com:6443/"), hash, "a slash counts");
        let longest = name(hash, &"w".repeat(188));
        assert_eq!((longest.len(), longest.ends_with(&"w".repeat(188))), (253, true));
        assert_eq!(name(hash, &"w".repeat(189)).len(), 253);
    }

    #[test]
    fn the_labels_of_a_work_are_kept_up_to_date_and_those_of_others_stay() {
        let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            pairs.collect()
        };
        let work = |pairs: &[(&str, &str)]| {
            let metadata = ObjectMeta {
                labels: Some(labels(pairs)),
                ..ObjectMeta::default()
            };
            read(WorkKind::ManifestWork, &metadata, &Value::Null, &Value::Null)
        };
        let theirs = Header {
            labels: labels(&[("theirs", "1")]),
            ..Header::default()
        };
        let first = theirs.labelled_as(&work(&[("a", "1"), ("b", "1")]));
        assert_eq!(first.labels, labels(&[("a", "1"), ("b", "1"), ("theirs", "1")]));
        let second = first.labelled_as(&work(&[("a", "2")]));
        assert_eq!(second.labels, labels(&[("a", "2"), ("theirs", "1")]));
        assert_eq!(
            second.label_changes(&first),
            json!({ "a": "2", "b": null, "theirs": "1" })
        );
    }
}
