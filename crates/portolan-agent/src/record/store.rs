use kube::Resource;
use portolan_api::multicluster;
use portolan_api::work::AppliedManifestWork;
use serde_json::{Value, json};

use super::{Note, Record, Stored, hub_hash, name};
use crate::settings::Settings;
use crate::spoke::{Objects, Part, Place, Problem};
use crate::work::{ObjectId, WorkKey, WorkKind};

/// What we are called in records.
const AGENT_ID: &str = "portolan";

/// Why a record could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unkept {
    /// There is no place for records.
    #[error(
        "the member cluster does not serve {0}, in which the agent keeps what it has applied; install its \
         CustomResourceDefinition (portolan crds | kubectl apply -f -, or portolan agent --install-crds)"
    )]
    Unserved(&'static str),
    /// The record is being deleted.
    #[error("the record of what was applied is being deleted; it is made anew when it is gone")]
    Leaving,
    /// A request failed.
    #[error("the record of what was applied cannot be kept: {0}")]
    Failed(#[from] Problem),
}

/// The records of the works of one hub, on the member cluster.
pub(crate) struct Records {
    objects: Objects,
    hub_hash: String,
    cluster: String,
}

impl Records {
    pub(crate) fn new(objects: Objects, settings: &Settings) -> Records {
        Records {
            objects,
            hub_hash: hub_hash(&settings.hub_id, &settings.cluster),
            cluster: settings.cluster.clone(),
        }
    }

    /// The name of the record of a work.
    pub(crate) fn name(&self, key: &WorkKey) -> String {
        name(&self.hub_hash, &key.name)
    }

    /// The record of a work; an empty one if there is none.
    pub(crate) async fn read(&self, key: &WorkKey) -> Result<Record, Unkept> {
        let place = self.place(key);
        let found = self.objects.get(&place).await?;
        Ok(found.map_or_else(|| Record::new(key), |object| parse(key, &object)))
    }

    /// All records of a kind on the member cluster, those of other hubs as well, with their names.
    pub(crate) async fn all(&self, kind: WorkKind) -> Result<Vec<(String, Record)>, Unkept> {
        let key = WorkKey {
            kind,
            name: String::new(),
        };
        let objects = match self.objects.list(&self.place(&key)).await {
            // No such kind, no such records.
            Err(Problem::NotFound(_)) => Vec::new(),
            listed => listed?,
        };
        let named = objects.iter().map(|object| {
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            (name.unwrap_or_default().to_owned(), parse(&key, object))
        });
        Ok(named.collect())
    }

    /// Brings the stored record from one state to another, each part only if it changes. The note is first: it is
    /// what keeps an older copy of the work from removing anything.
    pub(crate) async fn save(&self, from: &Record, mut to: Record) -> Result<Record, Unkept> {
        let place = self.place(&to.key);
        to.stored = match &from.stored {
            None => {
                let made = self.objects.create(&place, &self.body(&to), None).await;
                let made = made.map_err(|problem| match problem {
                    Problem::NotFound(_) => Unkept::Unserved(plural(to.key.kind)),
                    problem => Unkept::Failed(problem),
                })?;
                stored(&made)
            }
            Some(current) if from.note != to.note => {
                let fields = json!({ "metadata": {
                    "resourceVersion": current.version, "annotations": to.note.annotations(),
                } });
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

    /// Deletes the record of a work that has left nothing.
    pub(crate) async fn delete(&self, record: &Record) -> Result<(), Unkept> {
        if let Some(stored) = &record.stored {
            // A record that lingers would be found by the next work of the same name.
            let place = self.place(&record.key);
            match self.objects.delete_at_once(&place, &stored.uid).await {
                // Another record has its name by now.
                Ok(()) | Err(Problem::Conflict(_)) => {}
                Err(problem) => return Err(problem.into()),
            }
        }
        Ok(())
    }

    fn body(&self, record: &Record) -> Value {
        let (kind, api_version, spec) = match record.key.kind {
            WorkKind::ManifestWork => (
                AppliedManifestWork::kind(&()),
                AppliedManifestWork::api_version(&()),
                json!({ "hubHash": self.hub_hash, "agentID": AGENT_ID, "manifestWorkName": record.key.name }),
            ),
            WorkKind::Work => (
                multicluster::AppliedWork::kind(&()),
                multicluster::AppliedWork::api_version(&()),
                json!({ "workName": record.key.name, "workNamespace": self.cluster }),
            ),
        };
        let mut annotations = record.note.annotations();
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.retain(|_, value| !value.is_null());
        }
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": self.name(&record.key), "annotations": annotations },
            "spec": spec,
        })
    }

    fn place(&self, key: &WorkKey) -> Place {
        let (group, version) = match key.kind {
            WorkKind::ManifestWork => (AppliedManifestWork::group(&()), AppliedManifestWork::version(&())),
            WorkKind::Work => (
                multicluster::AppliedWork::group(&()),
                multicluster::AppliedWork::version(&()),
            ),
        };
        Place {
            id: ObjectId {
                group: group.into_owned(),
                resource: plural(key.kind).to_owned(),
                namespace: String::new(),
                name: self.name(key),
            },
            version: version.into_owned(),
        }
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
    Some(Stored {
        uid: text("/metadata/uid")?.to_owned(),
        version: text("/metadata/resourceVersion")?.to_owned(),
        is_leaving: text("/metadata/deletionTimestamp").is_some(),
    })
}

fn parse(key: &WorkKey, object: &Value) -> Record {
    let annotations = object.pointer("/metadata/annotations").cloned();
    let annotations = annotations.and_then(|annotations| serde_json::from_value(annotations).ok());
    let nothing = Value::Null;
    Record {
        key: key.clone(),
        stored: stored(object),
        note: Note::read(&annotations.unwrap_or_default()),
        entries: Record::read_resources(object.get("status").unwrap_or(&nothing)),
    }
}
