//! Namespaces that belong to a team: no cluster may have their name.

use std::collections::BTreeMap;
use std::fmt::Debug;

use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use portolan_api::cluster::{ManagedClusterSetBinding, Placement};
use portolan_api::labels::{multicluster, portolan};
use portolan_api::multicluster::Work;
use portolan_api::work::ManifestWorkReplicaSet;
use serde::de::DeserializeOwned;

/// Whether a Work with these labels is handed out to clusters, and is not one that was handed out.
pub(crate) fn is_template(labels: &BTreeMap<String, String>) -> bool {
    labels.contains_key(multicluster::PLACEMENT_KEY) && !labels.contains_key(portolan::SYNCED_BY)
}

/// The same as a selector.
fn templates() -> String {
    format!("{},!{}", multicluster::PLACEMENT_KEY, portolan::SYNCED_BY)
}

/// Something in the namespace that a team makes and a cluster never has, in words. The agent of a cluster with the name of
/// the namespace could change the team's Works, which would then reach other clusters.
pub(super) async fn sign_of_tenants(client: &Client, namespace: &str) -> kube::Result<Option<String>> {
    let everything = ListParams::default();
    let signs = [
        first::<Placement>(client, namespace, &everything).await?,
        first::<ManagedClusterSetBinding>(client, namespace, &everything).await?,
        first::<ManifestWorkReplicaSet>(client, namespace, &everything).await?,
        first::<Work>(client, namespace, &everything.clone().labels(&templates())).await?,
    ];
    Ok(signs.into_iter().flatten().next())
}

/// `the Placement web`. A kind that is not served, or may not be listed, has none.
async fn first<K>(client: &Client, namespace: &str, which: &ListParams) -> kube::Result<Option<String>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    match api.list_metadata(&which.clone().limit(1)).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
        answer => Ok(answer?.items.into_iter().next().map(|object| {
            let name = object.metadata.name.unwrap_or_default();
            format!("the {} {name}", K::kind(&()))
        })),
    }
}
