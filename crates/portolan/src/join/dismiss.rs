//! Takes a cluster out of the fleet: the opposite of [`enroll`](super::enroll).

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::{multicluster as kep, ocm};
use portolan_api::multicluster::Work;
use portolan_api::work::ManifestWork;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::objects::Newcomer;

type Doing<T> = Result<T, (String, kube::Error)>;

/// Removes a cluster that is gone for good, with its namespace and everything in it. Works wait for their agent before
/// they go; whoever calls this knows that there is none any more, nor anything that it has applied. Returns what was
/// being done when something failed.
pub(crate) async fn dismiss(client: &Client, name: &str) -> Doing<()> {
    let role = Newcomer {
        name: name.to_owned(),
        ..Newcomer::default()
    }
    .role();
    // First, so that nothing is placed there any more.
    delete::<ManagedCluster>(client, name).await?;
    release::<ManifestWork>(client, name, ocm::MANIFEST_WORK_FINALIZER).await?;
    release::<Work>(client, name, kep::WORK_FINALIZER).await?;
    delete::<ClusterRoleBinding>(client, &role).await?;
    delete::<ClusterRole>(client, &role).await?;
    delete::<Namespace>(client, name).await
}

/// Deletes an object, if it is there.
async fn delete<K>(client: &Client, name: &str) -> Doing<()>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    match api.delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer
            .map(drop)
            .map_err(|error| (format!("delete the {} {name}", K::kind(&())), error)),
    }
}

/// Lets the works of a cluster go when they are deleted. Finalizers of others stay.
async fn release<K>(client: &Client, cluster: &str, finalizer: &str) -> Doing<()>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), cluster);
    let failed = |error| (format!("release the {} of {cluster}", K::plural(&())), error);
    for work in api.list(&ListParams::default()).await.map_err(failed)? {
        let others: Vec<&String> = work.finalizers().iter().filter(|own| *own != finalizer).collect();
        if others.len() < work.finalizers().len() {
            let patch =
                json!({"metadata": {"resourceVersion": work.resource_version(), "finalizers": others}});
            api.patch(&work.name_any(), &PatchParams::default(), &Patch::Merge(patch))
                .await
                .map_err(failed)?;
        }
    }
    Ok(())
}
