//! Reads ManifestWorks and Works into one type.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::multicluster::{WorkSpec, WorkStatus};
use portolan_api::semantic::incomparable_options;
use portolan_api::work::{ManifestCondition, ManifestResourceMeta, ManifestWorkSpec, ManifestWorkStatus};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{DesiredManifests, Executor, InvalidManifest, Manifest, Status, Work, WorkKey, WorkKind};

/// Most values of `apiVersion` in one work. A cluster with many extensions serves about a hundred; each that is not known costs
/// the member cluster a question.
const MOST_API_VERSIONS: usize = 256;

/// Reads a work of either kind. What cannot be read is said in the work.
pub(crate) fn read(kind: WorkKind, metadata: &ObjectMeta, spec: &Value, status: &Value) -> Work {
    let (desired, status) = match kind {
        WorkKind::ManifestWork => (
            manifest_work(spec),
            parse::<ManifestWorkStatus>(status)
                .map(|status| Status {
                    conditions: status.conditions,
                    manifests: status.resource_status.unwrap_or_default().manifests,
                })
                .unwrap_or_default(),
        ),
        WorkKind::Work => (
            parse::<WorkSpec>(spec).map(|spec| work_wish(&spec)),
            parse::<WorkStatus>(status).map(of_work).unwrap_or_default(),
        ),
    };
    Work {
        content: hash(spec),
        status,
        ..unread(kind, metadata, desired)
    }
}

/// A work of which nothing but the metadata can be read.
pub(crate) fn unreadable(kind: WorkKind, metadata: &ObjectMeta, problem: String) -> Work {
    unread(kind, metadata, Err(problem))
}

fn unread(kind: WorkKind, metadata: &ObjectMeta, desired: Result<DesiredManifests, String>) -> Work {
    Work {
        key: WorkKey {
            kind,
            name: metadata.name.clone().unwrap_or_default(),
        },
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        version: metadata.resource_version.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
        deleting: metadata.deletion_timestamp.is_some(),
        finalizers: metadata.finalizers.clone().unwrap_or_default(),
        labels: metadata.labels.clone().unwrap_or_default(),
        content: String::new(),
        desired,
        status: Status::default(),
    }
}

/// An absent part is an empty one.
fn parse<T: DeserializeOwned + Default>(value: &Value) -> Result<T, String> {
    match value {
        Value::Null => Ok(T::default()),
        value => T::deserialize(value).map_err(|error| error.to_string()),
    }
}

/// The executor is read by itself: one of a type that is not known spoils no more than the manifests of its work.
fn manifest_work(spec: &Value) -> Result<DesiredManifests, String> {
    let executor = Executor::read(spec.get("executor").unwrap_or(&Value::Null));
    let incomparable = incomparable_options(spec, "spec").map(|error| InvalidManifest(error.statement()));
    let spec: ManifestWorkSpec = match spec {
        Value::Object(fields) if executor != Executor::Agent => {
            let mut fields = fields.clone();
            fields.remove("executor");
            parse(&Value::Object(fields))?
        }
        spec => parse(spec)?,
    };
    let manifests: Vec<_> = spec.workload.manifests.iter().map(Manifest::read).collect();
    Ok(DesiredManifests {
        settings: match incomparable {
            None => spec.manifest_configs.into_iter().map(Into::into).collect(),
            Some(_) => Vec::new(),
        },
        excess: incomparable.or_else(|| too_many_api_versions(&manifests)),
        manifests,
        delete_option: spec.delete_option.unwrap_or_default(),
        executor,
    })
}

fn work_wish(spec: &WorkSpec) -> DesiredManifests {
    let manifests: Vec<_> = spec.workload.manifests.iter().map(Manifest::read).collect();
    DesiredManifests {
        excess: too_many_api_versions(&manifests),
        manifests,
        ..DesiredManifests::default()
    }
}

/// Why the agent does not ask the member cluster for the kinds of these manifests; `None` if it does.
fn too_many_api_versions(manifests: &[Result<Manifest, InvalidManifest>]) -> Option<InvalidManifest> {
    let named: BTreeSet<String> = manifests.iter().flatten().map(Manifest::api_version).collect();
    (named.len() > MOST_API_VERSIONS).then(|| {
        InvalidManifest(format!(
            "spec.workload.manifests has {} different values of apiVersion, and the member cluster is asked about each; \
             accepted: {MOST_API_VERSIONS} or fewer, or several works",
            named.len()
        ))
    })
}

fn of_work(status: WorkStatus) -> Status {
    let manifests = status.manifest_conditions.into_iter().map(|manifest| {
        let identifier = manifest.identifier;
        ManifestCondition {
            resource_meta: ManifestResourceMeta {
                ordinal: identifier.ordinal,
                group: identifier.group.unwrap_or_default(),
                version: identifier.version.unwrap_or_default(),
                kind: identifier.kind.unwrap_or_default(),
                resource: identifier.resource.unwrap_or_default(),
                name: identifier.name.unwrap_or_default(),
                namespace: identifier.namespace.unwrap_or_default(),
            },
            status_feedback: None,
            conditions: manifest.conditions,
        }
    });
    Status {
        conditions: status.conditions,
        manifests: manifests.collect(),
    }
}

/// Twenty hexadecimal digits that are different for different content.
pub(crate) fn hash(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string());
    digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_work_that_cannot_be_read_says_so_and_is_still_a_work() {
        let spec =
            json!({ "workload": { "manifests": [] }, "deleteOption": { "propagationPolicy": "Perhaps" } });
        let metadata = ObjectMeta {
            name: Some("web".to_owned()),
            generation: Some(4),
            ..ObjectMeta::default()
        };
        let work = read(WorkKind::ManifestWork, &metadata, &spec, &Value::Null);
        assert_eq!((work.key.name.as_str(), work.generation), ("web", 4));
        assert!(work.desired.unwrap_err().contains("Perhaps"));
    }

    #[test]
    fn a_work_with_too_many_api_versions_says_so_and_one_with_many_objects_does_not() {
        let manifest = |group: usize| json!({ "apiVersion": format!("g{group}/v1"), "kind": "A", "metadata": { "name": "a" } });
        let excess = |kind, groups: usize, objects: usize| {
            let manifests: Vec<Value> = (0..objects).map(|number| manifest(number % groups)).collect();
            let spec = json!({ "workload": { "manifests": manifests } });
            let work = read(kind, &ObjectMeta::default(), &spec, &Value::Null);
            work.desired.unwrap().excess
        };
        for kind in WorkKind::ALL {
            assert_eq!(excess(kind, 256, 1000), None);
            let InvalidManifest(why) = excess(kind, 257, 1000).unwrap();
            let words = ["spec.workload.manifests", "257", "apiVersion", "256 or fewer"];
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
        }
    }

    #[test]
    fn an_executor_that_is_not_known_spoils_nothing_but_the_work_s_own_manifests() {
        let spec = json!({ "executor": { "subject": { "type": "User" } }, "workload": { "manifests": [1] } });
        let metadata = ObjectMeta::default();
        let work = read(WorkKind::ManifestWork, &metadata, &spec, &Value::Null);
        let desired = work.desired.unwrap();
        assert!(matches!(desired.executor, Executor::Invalid(_)));
        assert_eq!(desired.manifests.len(), 1);
    }
}
