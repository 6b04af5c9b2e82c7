//! The works of the hub, of both kinds, in one shape.

mod executor;
mod manifest;
mod read;
mod reserved;
mod target;
mod untyped;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::{conditions, multicluster, ocm};
use portolan_api::work::{DeleteOption, ManifestCondition, ManifestResourceMeta};

pub(crate) use executor::{Account, Executor};
pub(crate) use manifest::{InvalidManifest, Manifest};
pub(crate) use read::{hash, read, unreadable};
pub(crate) use reserved::reserved;
#[cfg(test)]
pub(crate) use target::{Config, Ignored};
pub(crate) use target::{
    FIELD_MANAGER, Kinds, ObjectId, Resource, Setting, Strategy, Target, place, resolve, strategy,
};
pub(crate) use untyped::{Distributed, Untyped};

/// One of the two kinds that carry manifests to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum WorkKind {
    /// `work.open-cluster-management.io`
    ManifestWork,
    /// `multicluster.x-k8s.io`
    Work,
}

impl WorkKind {
    /// Both.
    pub(crate) const ALL: [WorkKind; 2] = [WorkKind::ManifestWork, WorkKind::Work];

    /// What keeps a work of this kind until its objects are gone. The names are those of the kinds' first agents, so
    /// that a work can be handed from one agent to another.
    pub(crate) fn finalizer(self) -> &'static str {
        match self {
            WorkKind::ManifestWork => ocm::MANIFEST_WORK_FINALIZER,
            WorkKind::Work => multicluster::WORK_FINALIZER,
        }
    }

    /// What keeps the record of a work of this kind until it is known what becomes of the objects that it owns.
    pub(crate) fn record_finalizer(self) -> &'static str {
        match self {
            WorkKind::ManifestWork => ocm::APPLIED_MANIFEST_WORK_FINALIZER,
            WorkKind::Work => multicluster::APPLIED_WORK_FINALIZER,
        }
    }

    /// The resource, in the words of a role.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            WorkKind::ManifestWork => "manifestworks.work.open-cluster-management.io",
            WorkKind::Work => "works.multicluster.x-k8s.io",
        }
    }

    /// The resource that the agent keeps its records of works of this kind in.
    pub(crate) fn record_resource(self) -> &'static str {
        match self {
            WorkKind::ManifestWork => "appliedmanifestworks.work.open-cluster-management.io",
            WorkKind::Work => "appliedworks.multicluster.x-k8s.io",
        }
    }

    /// What to say where the member cluster has no place for records of works of this kind.
    pub(crate) fn missing_definition(self) -> String {
        format!(
            "the member cluster does not serve {}, in which the agent keeps what it has applied for a {self}; install its \
             CustomResourceDefinition on the member cluster (portolan agent --install-crds, or portolan crds | kubectl apply \
             -f -)",
            self.record_resource()
        )
    }

    /// The other one.
    pub(crate) fn other(self) -> WorkKind {
        match self {
            WorkKind::ManifestWork => WorkKind::Work,
            WorkKind::Work => WorkKind::ManifestWork,
        }
    }
}

impl fmt::Display for WorkKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            WorkKind::ManifestWork => "ManifestWork",
            WorkKind::Work => "Work",
        })
    }
}

/// Which work. The namespace is always that of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkKey {
    pub(crate) kind: WorkKind,
    pub(crate) name: String,
}

impl fmt::Display for WorkKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.name)
    }
}

/// A work as the hub has it.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) key: WorkKey,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    /// The `resourceVersion` that writes are based on.
    pub(crate) version: String,
    pub(crate) created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub(crate) deleting: bool,
    pub(crate) finalizers: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    /// Hash of what it asks for.
    pub(crate) content: String,
    /// What it asks for, or why that cannot be read.
    pub(crate) desired: Result<DesiredManifests, String>,
    pub(crate) status: Status,
}

impl Work {
    /// Whether it waits for us before it goes.
    pub(crate) fn is_held(&self) -> bool {
        let ours = self.key.kind.finalizer();
        self.finalizers.iter().any(|finalizer| finalizer == ours)
    }

    /// The generation that was last said to be applied or not; `None` if the work has no such condition.
    pub(crate) fn applied_generation(&self) -> Option<i64> {
        let mut said = self.status.conditions.iter();
        let said = said.find(|condition| condition.type_ == conditions::APPLIED)?;
        Some(said.observed_generation.unwrap_or_default())
    }

    /// Whether it says of itself that its present generation was applied.
    pub(crate) fn is_applied(&self) -> bool {
        let mut said = self.status.conditions.iter();
        said.any(|said| {
            said.type_ == conditions::APPLIED
                && said.status == "True"
                && said.observed_generation == Some(self.generation)
        })
    }

    /// Which of two works is the first to say what an object looks like: the older one.
    pub(crate) fn is_senior_to(&self, other: &Work) -> bool {
        (self.created, &self.key) < (other.created, &other.key)
    }
}

/// What a work asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct DesiredManifests {
    pub(crate) manifests: Vec<Result<Manifest, InvalidManifest>>,
    /// None where these are not compared with the manifests.
    pub(crate) settings: Vec<Setting>,
    /// Which limit of a work it is beyond: its options are not compared with its manifests, or its kinds are not asked for. Nothing
    /// of the work is applied or removed then: what it asks for is not known.
    pub(crate) excess: Option<InvalidManifest>,
    pub(crate) delete_option: DeleteOption,
    /// In whose name objects are read and applied.
    pub(crate) executor: Executor,
}

/// The status of a work, whichever kind it is of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) manifests: Vec<ManifestCondition>,
}

/// What a status says about manifests, by their objects.
pub(crate) struct Before<'s>(HashMap<[&'s str; 4], &'s ManifestCondition>);

impl<'s> Before<'s> {
    pub(crate) fn of(status: &'s Status) -> Before<'s> {
        // Of two for one object the first counts.
        let manifests = status.manifests.iter().rev();
        Before(
            manifests
                .map(|manifest| (names(&manifest.resource_meta), manifest))
                .collect(),
        )
    }

    /// What is said about the manifest of this object.
    pub(crate) fn manifest(&self, meta: &ManifestResourceMeta) -> Option<&'s ManifestCondition> {
        self.0.get(&names(meta)).copied()
    }
}

fn names(meta: &ManifestResourceMeta) -> [&str; 4] {
    [&meta.group, &meta.kind, &meta.namespace, &meta.name]
}
