//! Stores the records of works on the member cluster, as AppliedManifestWorks and AppliedWorks.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Resource;
use portolan_api::work::AppliedManifestWork;
use portolan_api::{multicluster, shorten};
use serde_json::{Value, json};

use super::{Header, Note, Record, Stored, former_hub_hash, hub_hash, name};
use crate::plan::{Licence, RecordReference};
use crate::settings::Settings;
use crate::spoke::{Objects, Part, Place, Problem};
use crate::work::{ObjectId, WorkKey, WorkKind};

/// What earlier versions were called in records.
const FORMER_AGENT_ID: &str = "portolan";

/// Why a record could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordError {
    /// There is no place for records.
    #[error(
        "the member cluster does not serve {0}, in which the agent keeps what it has applied; install its \
         CustomResourceDefinition (portolan crds | kubectl apply -f -, or portolan agent --install-crds)"
    )]
    Unserved(&'static str),
    /// The record is being deleted.
    #[error("the record of what was applied is being deleted; it is made anew when it is gone")]
    Leaving,
    /// The record is that of another work: the names of both are so long that they are shortened to the same name.
    #[error(
        "another work has the record of what was applied: the names of both are so long that they are shortened to the same \
         name; give one of the works a shorter name: the record {record} is that of {other:?}"
    )]
    Taken { record: String, other: String },
    /// A request failed.
    #[error("the record of what was applied cannot be kept: {0}")]
    Failed(#[from] Problem),
}

/// The records of the works of one hub, on the member cluster.
pub(crate) struct Records {
    objects: Objects,
    hub_hash: String,
    /// The hash in the names that earlier versions gave to records.
    former_hub_hash: String,
    agent_id: String,
    cluster: String,
}

impl Records {
    pub(crate) fn new(objects: Objects, settings: &Settings) -> Records {
        Records {
            objects,
            hub_hash: hub_hash(settings.hub()),
            former_hub_hash: former_hub_hash(&settings.hub_id, &settings.cluster),
            agent_id: match settings.agent_id.as_str() {
                "" => hub_hash(settings.hub()),
                id => id.to_owned(),
            },
            cluster: settings.cluster.clone(),
        }
    }

    /// The name of the record of a work.
    pub(crate) fn name(&self, key: &WorkKey) -> String {
        name(&self.hub_hash, &key.name)
    }

    /// The record of a work; an empty one if there is none.
    pub(crate) async fn read(&self, key: &WorkKey) -> Result<Record, RecordError> {
        self.read_named(key, self.name(key)).await
    }

    /// The record of a work under the name that earlier versions gave it; an empty one if there is none.
    pub(crate) async fn read_former(&self, key: &WorkKey) -> Result<Record, RecordError> {
        self.read_named(key, name(&self.former_hub_hash, &key.name)).await
    }

    async fn read_named(&self, key: &WorkKey, name: String) -> Result<Record, RecordError> {
        let found = self.objects.get(&place(key.kind, &name), None).await?;
        match found {
            Some(object) => match work_name(key.kind, &object) {
                // A record is found by its own name. The name of a work that it gives counts if that work has such a record:
                // somebody may have edited it.
                other if other == key.name || !self.can_be_of(&name, other) => Ok(parse(key, name, &object)),
                other => Err(RecordError::Taken {
                    record: name,
                    other: other.to_owned(),
                }),
            },
            None => Ok(Record::new(key, name)),
        }
    }

    /// Whether a record of this name can be that of the work.
    fn can_be_of(&self, record: &str, work: &str) -> bool {
        let hashes = [&self.hub_hash, &self.former_hub_hash];
        !work.is_empty() && hashes.into_iter().any(|hash| name(hash, work) == record)
    }

    /// The record as it is now.
    pub(crate) async fn reread(&self, record: &Record) -> Result<Record, RecordError> {
        self.read_named(&record.key, record.name.clone()).await
    }

    /// A record of a work that is not stored yet.
    pub(crate) fn fresh(&self, key: &WorkKey) -> Record {
        Record::new(key, self.name(key))
    }

    /// Whether the record is of another hub. The name of a record counts as well: it cannot be edited.
    pub(crate) fn is_of_another_hub(&self, record: &Record) -> bool {
        record.header.hub_hash != self.hub_hash && self.behind_our_hash(&record.name).is_none()
    }

    /// Notes since when the work of a record is not on the hub, or that it is there.
    pub(crate) async fn set_eviction(
        &self,
        record: &Record,
        since: Option<Timestamp>,
    ) -> Result<(), RecordError> {
        let Some(current) = &record.stored else {
            return Ok(());
        };
        // The API has whole seconds.
        let since = since.map(|since| {
            Timestamp::from_second(since.as_second())
                .unwrap_or(since)
                .to_string()
        });
        let fields = json!({
            "metadata": { "uid": current.uid, "resourceVersion": current.version },
            "status": { "evictionStartTime": since },
        });
        let place = place(record.key.kind, &record.name);
        self.objects.merge(&place, Part::Status, &fields).await?;
        Ok(())
    }

    /// Our id, as records have it.
    pub(crate) fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// Whether it is a record of this agent, under its present or its former name.
    pub(crate) fn is_ours(&self, record: &Record) -> bool {
        let named = [&self.hub_hash, &self.former_hub_hash].map(|hash| name(hash, &record.key.name));
        let ids = [self.agent_id.as_str(), FORMER_AGENT_ID];
        let mut owners = named.iter().zip(ids);
        owners.any(|(name, id)| {
            *name == record.name && (record.key.kind == WorkKind::Work || record.header.agent_id == id)
        })
    }

    /// All records of a kind on the member cluster, those of other hubs as well.
    pub(crate) async fn all(&self, kind: WorkKind) -> Result<Vec<Record>, RecordError> {
        let mut records = Vec::new();
        let add = |object: Value| {
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            let name = name.unwrap_or_default();
            let key = WorkKey {
                kind,
                name: self.work_of(name, work_name(kind, &object)).to_owned(),
            };
            records.push(parse(&key, name.to_owned(), &object));
        };
        match self.objects.list(&place(kind, ""), add).await {
            Ok(()) => Ok(records),
            // No such kind, no such records.
            Err(Problem::NotFound(_)) => Ok(Vec::new()),
            Err(problem) => Err(problem.into()),
        }
    }

    /// The work that a record is of. Somebody may have edited what the record says: it counts only if a work of that name has
    /// such a record. Otherwise the name of the record says it, unless the name was cut.
    fn work_of<'a>(&self, record: &'a str, said: &'a str) -> &'a str {
        match self.behind_our_hash(record) {
            Some(work) if !self.can_be_of(record, said) && !shorten::may_be_cut(record) => work,
            _ => said,
        }
    }

    /// Whether a record has the name of one of ours, and nothing tells which work it is of. That work may be on the hub.
    pub(crate) fn is_in_doubt(&self, record: &Record) -> bool {
        self.behind_our_hash(&record.name).is_some() && !self.can_be_of(&record.name, &record.key.name)
    }

    /// The rest of a record's name that begins with the hash of our hub.
    fn behind_our_hash<'a>(&self, record: &'a str) -> Option<&'a str> {
        let mut hashes = [&self.hub_hash, &self.former_hub_hash].into_iter();
        hashes.find_map(|hash| record.strip_prefix(hash.as_str())?.strip_prefix('-'))
    }

    /// The record as objects name it; `None` while it is not stored.
    pub(crate) fn reference(&self, record: &Record) -> Option<RecordReference> {
        let uid = record.stored.as_ref()?.uid.clone();
        let (api_version, kind) = match record.key.kind {
            WorkKind::ManifestWork => (
                AppliedManifestWork::api_version(&()),
                AppliedManifestWork::kind(&()),
            ),
            WorkKind::Work => (
                multicluster::AppliedWork::api_version(&()),
                multicluster::AppliedWork::kind(&()),
            ),
        };
        Some(RecordReference {
            api_version: api_version.into_owned(),
            kind: kind.into_owned(),
            name: record.name.clone(),
            uid,
        })
    }

    /// What allows us to delete objects that the record lists.
    pub(crate) fn licence(&self, record: &Record) -> Licence {
        let is_old = !record.is_held() && !record.note.uid.is_empty();
        match self.reference(record) {
            Some(reference) if is_old => Licence::RecordedUid(reference),
            Some(reference) => Licence::Reference(reference),
            None => Licence::Nothing,
        }
    }

    /// Whether records of the kind can be made: not while the member cluster ends the kind, and deletes all of them.
    pub(crate) async fn is_lasting(&self, kind: WorkKind) -> Result<bool, RecordError> {
        let api_version = match kind {
            WorkKind::ManifestWork => AppliedManifestWork::api_version(&()),
            WorkKind::Work => multicluster::AppliedWork::api_version(&()),
        };
        let verbs = self.objects.verbs(&api_version, plural(kind)).await?;
        Ok(verbs.iter().any(|verb| verb == "create"))
    }

    /// Makes a record from before objects named theirs wait for us.
    pub(crate) async fn hold(&self, record: &Record) -> Result<Record, RecordError> {
        let ours = record.key.kind.record_finalizer().to_owned();
        self.set_finalizers(record, |held| held.push(ours)).await
    }

    /// Lets a record go.
    pub(crate) async fn release(&self, record: &Record) -> Result<Record, RecordError> {
        let ours = record.key.kind.record_finalizer();
        self.set_finalizers(record, |held| held.retain(|held| held != ours))
            .await
    }

    async fn set_finalizers(
        &self,
        record: &Record,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<Record, RecordError> {
        let Some(current) = &record.stored else {
            return Ok(record.clone());
        };
        let mut finalizers = current.finalizers.clone();
        change(&mut finalizers);
        let fields = json!({ "metadata": {
            "uid": current.uid, "resourceVersion": current.version, "finalizers": finalizers,
        } });
        let place = place(record.key.kind, &record.name);
        let written = self.objects.merge(&place, Part::Object, &fields).await?;
        Ok(Record {
            stored: stored(&written),
            ..record.clone()
        })
    }

    /// Brings the stored record from one state to another, each part only if it changes. The note is first: it is
    /// what keeps an older copy of the work from removing anything.
    pub(crate) async fn save(&self, from: &Record, mut to: Record) -> Result<Record, RecordError> {
        let place = place(to.key.kind, &to.name);
        to.stored = match &from.stored {
            None => {
                self.sign(&mut to);
                let made = self.objects.create(&place, &self.body(&to), None).await;
                let made = made.map_err(|problem| match problem {
                    Problem::NotFound(_) => RecordError::Unserved(plural(to.key.kind)),
                    problem => RecordError::Failed(problem),
                })?;
                stored(&made)
            }
            Some(current) if (&from.note, &from.header) != (&to.note, &to.header) => {
                let mut fields = json!({ "metadata": {
                    "resourceVersion": current.version, "annotations": annotations(&to),
                    "labels": to.header.label_changes(&from.header),
                } });
                if to.key.kind == WorkKind::ManifestWork {
                    fields["spec"] = self.spec(&to);
                }
                stored(&self.objects.merge(&place, Part::Object, &fields).await?)
            }
            Some(current) => Some(current.clone()),
        };
        if from.entries != to.entries {
            let version = to.stored.as_ref().map(|stored| stored.version.clone());
            let fields = json!({
                "metadata": { "resourceVersion": version },
                "status": { "appliedResources": to.applied_resources() },
            });
            to.stored = stored(&self.objects.merge(&place, Part::Status, &fields).await?);
        }
        Ok(to)
    }

    /// Deletes the record of a work that has left nothing, as it was read. No object must name it any more.
    pub(crate) async fn delete(&self, record: &Record) -> Result<(), RecordError> {
        let released = match record.is_held() {
            true => self.release(record).await,
            false => Ok(record.clone()),
        };
        let record = match released {
            // It was being deleted, and waited for nobody else.
            Err(RecordError::Failed(Problem::NotFound(_))) => return Ok(()),
            released => released?,
        };
        if let Some(stored) = &record.stored {
            // A record that lingers would be found by the next work of the same name.
            let place = place(record.key.kind, &record.name);
            let deleted = self
                .objects
                .delete_at_once(&place, &stored.uid, &stored.version)
                .await;
            if let Err(problem) = deleted {
                let now = self.reread(&record).await?.stored;
                let is_there = now.is_some_and(|now| now.uid == stored.uid);
                // Otherwise another record has its name by now.
                if is_there || !matches!(problem, Problem::Conflict(_)) {
                    return Err(problem.into());
                }
            }
        }
        Ok(())
    }

    fn body(&self, record: &Record) -> Value {
        let (kind, api_version) = match record.key.kind {
            WorkKind::ManifestWork => (
                AppliedManifestWork::kind(&()),
                AppliedManifestWork::api_version(&()),
            ),
            WorkKind::Work => (
                multicluster::AppliedWork::kind(&()),
                multicluster::AppliedWork::api_version(&()),
            ),
        };
        let mut annotations = annotations(record);
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.retain(|_, value| !value.is_null());
        }
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {
                "name": record.name, "annotations": annotations, "labels": record.header.labels,
                "finalizers": [record.key.kind.record_finalizer()],
            },
            "spec": self.spec(record),
        })
    }

    fn spec(&self, record: &Record) -> Value {
        match record.key.kind {
            WorkKind::ManifestWork => json!({
                "hubHash": record.header.hub_hash, "agentID": record.header.agent_id,
                "manifestWorkName": record.key.name,
            }),
            WorkKind::Work => json!({ "workName": record.key.name, "workNamespace": self.cluster }),
        }
    }

    /// Makes it say whose record it is.
    pub(crate) fn sign(&self, record: &mut Record) {
        if record.key.kind == WorkKind::ManifestWork {
            record.header.hub_hash.clone_from(&self.hub_hash);
            record.header.agent_id.clone_from(&self.agent_id);
        }
    }
}

fn annotations(record: &Record) -> Value {
    let mut annotations = record.note.annotations();
    if let (Some(all), Value::Object(more)) = (annotations.as_object_mut(), record.header.annotations()) {
        all.extend(more);
    }
    annotations
}

fn place(kind: WorkKind, name: &str) -> Place {
    let (group, version) = match kind {
        WorkKind::ManifestWork => (AppliedManifestWork::group(&()), AppliedManifestWork::version(&())),
        WorkKind::Work => (
            multicluster::AppliedWork::group(&()),
            multicluster::AppliedWork::version(&()),
        ),
    };
    Place {
        id: ObjectId {
            group: group.into_owned(),
            resource: plural(kind).to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        },
        version: version.into_owned(),
    }
}

fn plural(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::ManifestWork => "appliedmanifestworks",
        WorkKind::Work => "appliedworks",
    }
}

fn stored(object: &Value) -> Option<Stored> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
    Some(Stored {
        uid: text("/metadata/uid")?.to_owned(),
        version: text("/metadata/resourceVersion")?.to_owned(),
        is_leaving: text("/metadata/deletionTimestamp").is_some(),
        finalizers: finalizers.map(str::to_owned).collect(),
    })
}

/// The name of the work whose record an object says it is.
fn work_name(kind: WorkKind, object: &Value) -> &str {
    let pointer = match kind {
        WorkKind::ManifestWork => "/spec/manifestWorkName",
        WorkKind::Work => "/spec/workName",
    };
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn parse(key: &WorkKey, name: String, object: &Value) -> Record {
    let texts = |pointer: &str| -> BTreeMap<String, String> {
        let texts = object.pointer(pointer).cloned();
        let texts = texts.and_then(|texts| serde_json::from_value(texts).ok());
        texts.unwrap_or_default()
    };
    let text = |pointer: &str| {
        let text = object.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let annotations = texts("/metadata/annotations");
    let nothing = Value::Null;
    Record {
        key: key.clone(),
        name,
        stored: stored(object),
        header: Header {
            hub_hash: text("/spec/hubHash"),
            agent_id: text("/spec/agentID"),
            labels: texts("/metadata/labels"),
            copied: Header::read_copied(&annotations),
        },
        note: Note::read(&annotations),
        eviction: text("/status/evictionStartTime").parse().ok(),
        entries: Record::read_resources(object.get("status").unwrap_or(&nothing)),
    }
}
