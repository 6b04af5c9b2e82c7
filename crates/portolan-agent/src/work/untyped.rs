//! Decodes works one by one, so that an unreadable work does not hide the others.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use portolan_api::multicluster;
use portolan_api::work::ManifestWork;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::WorkKind;

/// A kind that carries manifests to a cluster.
pub(crate) trait Distributed:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Send + Sync + 'static
{
    /// Which one.
    const KIND: WorkKind;
}

impl Distributed for ManifestWork {
    const KIND: WorkKind = WorkKind::ManifestWork;
}

impl Distributed for multicluster::Work {
    const KIND: WorkKind = WorkKind::Work;
}

/// An object of kind `K` whose content is not looked at yet: one work that cannot be read must not make a list of all
/// of them unreadable.
pub(crate) struct Untyped<K> {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Value,
    pub(crate) status: Value,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Untyped<K> {
    fn clone(&self) -> Self {
        Untyped {
            metadata: self.metadata.clone(),
            spec: self.spec.clone(),
            status: self.status.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Untyped<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Loose").field(&self.metadata.name).finish()
    }
}

impl<'de, K> Deserialize<'de> for Untyped<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            metadata: ObjectMeta,
            #[serde(default)]
            spec: Value,
            #[serde(default)]
            status: Value,
        }
        Fields::deserialize(deserializer).map(|fields| Untyped {
            metadata: fields.metadata,
            spec: fields.spec,
            status: fields.status,
            kind: PhantomData,
        })
    }
}

impl<K: Resource> Resource for Untyped<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
