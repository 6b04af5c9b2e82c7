//! Works that are templates, and the works that are made from them.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use portolan_api::FieldError;
use portolan_api::labels::{SCHEDULER_NAME, multicluster as labels, portolan};
use portolan_api::multicluster::Work;
use portolan_api::semantic::errors_in_work;
use portolan_api::shorten;
use serde_json::{Value, json};

use super::key::{Target, TemplateKey};
use crate::reconcile::Version;

/// A Work with a placement-key that nobody made from another one.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) placement_key: String,
    /// What works made from it say, or why none can be made.
    pub(super) content: Result<Arc<Content>, String>,
    pub(super) version: Version,
    pub(super) created: Option<Timestamp>,
    pub(super) conditions: Vec<Condition>,
    pub(super) reference: ObjectReference,
}

/// What a work made from a template says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Content {
    name: String,
    placement_key: String,
    template: String,
    manifests: Vec<Value>,
}

/// A work that was made from a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) version: Version,
    pub(super) deleting: bool,
    /// The content it has, if it is content of ours at all.
    content: Content,
}

/// What a Work is to the syncer.
pub(super) enum Role {
    Template(TemplateKey, Template),
    Made(Target, Made),
    /// The work belongs to another client.
    Foreign,
}

impl Role {
    pub(super) fn of(work: &Work) -> Role {
        let metadata = &work.metadata;
        let own = (
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        );
        let Some(placement_key) = label(metadata, labels::PLACEMENT_KEY).filter(|key| !key.is_empty()) else {
            return Role::Foreign;
        };
        match label(metadata, portolan::SYNCED_BY) {
            None => Role::Template(own.clone(), Template::of(work, &own, placement_key)),
            Some(SCHEDULER_NAME) => made(work, own, placement_key),
            Some(_) => Role::Foreign,
        }
    }
}

/// Ours only if it is called as we would call it: a copy that somebody made of our work is theirs.
fn made(work: &Work, (namespace, name): TemplateKey, placement_key: &str) -> Role {
    let annotations = work.metadata.annotations.as_ref();
    let named = annotations.and_then(|all| all.get(portolan::TEMPLATE)?.split_once('/'));
    let Some((home, template)) = named else {
        return Role::Foreign;
    };
    let key: TemplateKey = (home.to_owned(), template.to_owned());
    if work_name(&key) != name {
        return Role::Foreign;
    }
    let target = Target {
        cluster: namespace,
        template: key.clone(),
    };
    let made = Made {
        version: Version::of(&work.metadata),
        deleting: work.metadata.deletion_timestamp.is_some(),
        content: Content {
            name,
            placement_key: placement_key.to_owned(),
            template: format!("{}/{}", key.0, key.1),
            manifests: work.spec.workload.manifests.clone(),
        },
    };
    Role::Made(target, made)
}

impl Template {
    fn of(work: &Work, key: &TemplateKey, placement_key: &str) -> Template {
        Template {
            placement_key: placement_key.to_owned(),
            content: Content::of(work, key, placement_key).map(Arc::new),
            version: Version::of(&work.metadata),
            created: work.metadata.creation_timestamp.as_ref().map(|at| at.0),
            conditions: work
                .status
                .as_ref()
                .map_or_else(Vec::new, |status| status.conditions.clone()),
            reference: work.object_ref(&()),
        }
    }
}

impl Content {
    /// What is made of a template, or what is wrong with that.
    fn of(work: &Work, key: &TemplateKey, placement_key: &str) -> Result<Content, String> {
        let errors = mistakes(work);
        if !errors.is_empty() {
            let errors: Vec<String> = errors.iter().map(FieldError::to_string).collect();
            return Err(errors.join("; "));
        }
        let mut manifests = work.spec.workload.manifests.clone();
        for manifest in &mut manifests {
            manifest["metadata"]["labels"][labels::PLACEMENT_KEY] = placement_key.into();
        }
        Ok(Content {
            name: work_name(key),
            placement_key: placement_key.to_owned(),
            template: format!("{}/{}", key.0, key.1),
            manifests,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The whole work, in the namespace of a cluster.
    pub(super) fn work(&self, cluster: &str) -> Value {
        let mut work = self.patch(None);
        work["apiVersion"] = Work::api_version(&()).into();
        work["kind"] = Work::kind(&()).into();
        work["metadata"]["name"] = self.name.clone().into();
        work["metadata"]["namespace"] = cluster.into();
        work
    }

    /// What makes any version of the work say what it should.
    pub(super) fn patch(&self, version: Option<&Version>) -> Value {
        let mut patch = json!({
            "metadata": {
                "labels": { labels::PLACEMENT_KEY: self.placement_key, portolan::SYNCED_BY: SCHEDULER_NAME },
                "annotations": { portolan::TEMPLATE: self.template },
            },
            "spec": { "workload": { "manifests": self.manifests } },
        });
        if let Some(version) = version {
            patch["metadata"]["resourceVersion"] = version.as_str().into();
        }
        patch
    }
}

impl Made {
    pub(super) fn name(&self) -> &str {
        &self.content.name
    }

    /// Whether it says what another one says.
    pub(super) fn says_as(&self, other: &Made) -> bool {
        self.content == other.content
    }

    pub(super) fn says(&self, content: &Content) -> bool {
        self.content == *content
    }
}

/// Name of the works made from a template. A namespace has no dot in its name, so no two templates share one.
fn work_name((namespace, name): &TemplateKey) -> String {
    shorten::object_name(&format!("{namespace}.{name}")).into_owned()
}

fn mistakes(work: &Work) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (position, manifest) in work.spec.workload.manifests.iter().enumerate() {
        let path = format!("spec.workload.manifests[{position}]");
        if !manifest.is_object() {
            let accepted = "an object with apiVersion, kind and metadata.name";
            errors.push(FieldError::new(path, manifest, "no object", accepted));
            continue;
        }
        for (field, accepted) in [
            ("apiVersion", "such as v1 or apps/v1"),
            ("kind", "such as Deployment"),
        ] {
            if manifest[field].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::missing(format!("{path}.{field}"), accepted));
            }
        }
        for field in ["metadata", "metadata/labels"] {
            let value = manifest.pointer(&format!("/{field}"));
            if let Some(value) = value.filter(|value| !value.is_object() && !value.is_null()) {
                let path = format!("{path}.{}", field.replace('/', "."));
                errors.push(FieldError::new(path, value, "no object", "an object"));
            }
        }
    }
    if !errors.is_empty() {
        // What follows reads names, which only objects have.
        return errors;
    }
    let object = json!({ "spec": { "workload": { "manifests": work.spec.workload.manifests } } });
    errors_in_work(&object)
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}
