//! Writes that ask for the metadata of what was written and nothing else: the rest is what was sent. A decision is ten
//! thousand characters, and reading back what one has just written is half of the work of writing it.
//!
//! Written by hand because kube's `Api` asks for whole objects in answer to every write but a patch.

use std::marker::PhantomData;

use http::Request;
use http::header::{ACCEPT, HeaderValue};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use portolan_api::reading::Trimmed;
use serde::{Deserialize, Serialize};

use crate::request::FIELD_MANAGER;

/// A server that does not know how to answer so answers with the whole object, which is read the same way.
const METADATA_ONLY: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");

/// The objects of one kind in one namespace.
pub(super) struct Objects<K> {
    client: Client,
    request: kube::core::Request,
    kind: PhantomData<fn() -> K>,
}

#[derive(Deserialize)]
struct Answer {
    metadata: ObjectMeta,
}

impl<K: Resource<DynamicType = ()> + Serialize> Objects<K> {
    pub(super) fn new(client: &Client, namespace: &str) -> Objects<K> {
        Objects {
            client: client.clone(),
            request: kube::core::Request::new(K::url_path(&(), Some(namespace))),
            kind: PhantomData,
        }
    }

    pub(super) async fn create(&self, object: &K) -> kube::Result<ObjectMeta> {
        let request = self.request.create(&parameters(), json(object)?);
        self.send(request).await
    }

    pub(super) async fn replace(&self, object: &K) -> kube::Result<ObjectMeta> {
        let request = self.request.replace(name(object), &parameters(), json(object)?);
        self.send(request).await
    }

    pub(super) async fn replace_status(&self, object: &K) -> kube::Result<ObjectMeta> {
        let (name, parameters) = (name(object), parameters());
        let request = self
            .request
            .replace_subresource("status", name, &parameters, json(object)?);
        self.send(request).await
    }

    pub(super) async fn merge_status(
        &self,
        name: &str,
        patch: &serde_json::Value,
    ) -> kube::Result<ObjectMeta> {
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let request = self
            .request
            .patch_subresource("status", name, &parameters, &Patch::Merge(patch));
        self.send(request).await
    }

    async fn send(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> kube::Result<ObjectMeta> {
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        request.headers_mut().insert(ACCEPT, METADATA_ONLY);
        let Trimmed(answer) = self.client.request::<Trimmed<Answer>>(request).await?;
        Ok(answer.metadata)
    }
}

fn parameters() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

fn json(object: &impl Serialize) -> kube::Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(kube::Error::SerdeError)
}

fn name<K: Resource>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}
