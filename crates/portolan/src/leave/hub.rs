//! The requests of a removal: what a cluster has on its hub, and how each of it goes. Each of them may be repeated.

use std::fmt::Debug;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use portolan_api::cluster::{ManagedCluster, PlacementDecision};
use portolan_api::labels::ocm;
use portolan_api::labels::portolan::{AGENT_NAMESPACE, AGENT_ROLE, LEAVE, WAIT_FOR_WORKS};
use portolan_api::multicluster;
use portolan_api::reading::Received;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::join::is_embedded;
use crate::join::objects::{FORMER_ACCOUNT, cluster_role};
use crate::member_name;
use crate::up::spokes;

/// A result, or what was being done when a request failed.
pub(crate) type Doing<T> = Result<T, (String, kube::Error)>;

/// How often an object is read and written again that others write meanwhile.
const ATTEMPTS: usize = 10;

/// A kind that requests are made of.
pub(super) trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + 'static
{
}
impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + 'static> Kind for K {}

/// One cluster on one hub.
#[derive(Clone)]
pub(super) struct Hub {
    pub(super) client: Client,
    pub(super) cluster: String,
    /// Whether the namespace of the cluster stays, and the templates that others keep in it.
    pub(super) keeps_templates: bool,
}

/// What a hub has of a cluster, works apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) cluster: Option<ObjectMeta>,
    pub(super) namespace: Option<ObjectMeta>,
    pub(super) has_account: bool,
}

impl Found {
    /// Whether anything says that this is a cluster. A namespace alone that has the name may be anybody's.
    pub(super) fn is_cluster(&self, name: &str) -> bool {
        self.cluster.is_some() || self.has_account || self.owns_namespace(name)
    }

    /// Whether the account that `portolan join` makes is gone although the cluster is there.
    pub(super) fn lacks_account(&self) -> bool {
        self.cluster.is_some() && !self.has_account && self.embedded().is_none()
    }

    /// How many members `portolan up` has to start for this one to be among them, if it is an embedded member.
    pub(super) fn embedded(&self) -> Option<usize> {
        let cluster = self.cluster.as_ref()?;
        let number = member_name::number(cluster.name.as_deref()?)?;
        is_embedded(cluster).then_some(number + 1)
    }

    /// The same, of a member that no process runs.
    pub(super) fn stopped(&self) -> Option<usize> {
        let is_running = self.cluster.as_ref().is_some_and(spokes::runs);
        self.embedded().filter(|_| !is_running)
    }

    /// Whether the namespace was made for the cluster, so that it goes with it.
    pub(super) fn owns_namespace(&self, name: &str) -> bool {
        let labels = self
            .namespace
            .as_ref()
            .and_then(|namespace| namespace.labels.as_ref());
        labels
            .and_then(|labels| labels.get(ocm::CLUSTER_NAME))
            .map(String::as_str)
            == Some(name)
    }
}

impl Hub {
    /// One object that cannot be read must not keep a cluster from leaving: its metadata is all that is asked for here.
    pub(super) fn all<K: Kind + Resource<Scope = ClusterResourceScope>>(&self) -> Api<Received<K>> {
        Api::all(self.client.clone())
    }

    /// In the namespace of the cluster.
    pub(super) fn own<K: Kind + Resource<Scope = NamespaceResourceScope>>(&self) -> Api<Received<K>> {
        Api::namespaced(self.client.clone(), &self.cluster)
    }

    fn accounts(&self) -> Api<ServiceAccount> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    pub(super) async fn find(&self) -> Doing<Found> {
        let account = read(&self.accounts(), &self.cluster).await?;
        let role = read(&self.all::<ClusterRole>(), &cluster_role(&self.cluster)).await?;
        Ok(Found {
            cluster: read(&self.all::<ManagedCluster>(), &self.cluster)
                .await?
                .map(metadata),
            namespace: read(&self.all::<Namespace>(), &self.cluster).await?.map(metadata),
            has_account: account.is_some_and(|account| self.is_ours(&account)) || role.is_some(),
        })
    }

    /// The names of all clusters. A hub that does not serve ManagedClusters is an error.
    pub(super) async fn names(&self) -> Doing<Vec<String>> {
        let clusters = Api::<ManagedCluster>::all(self.client.clone());
        let clusters = clusters.list_metadata(&ListParams::default()).await;
        let clusters = clusters.map_err(|error| ("list the managedclusters".to_owned(), error))?;
        Ok(clusters.items.iter().map(ResourceExt::name_any).collect())
    }

    /// An account that somebody else made under the name of the cluster is not touched.
    fn is_ours(&self, account: &ServiceAccount) -> bool {
        account.labels().get(ocm::CLUSTER_NAME) == Some(&self.cluster)
    }

    /// Begins the deletion of the ManagedCluster: nothing is placed there any more, and it is shown until all is gone.
    pub(super) async fn begin(&self) -> Doing<()> {
        let api = self.all::<ManagedCluster>();
        let doing = || format!("delete the ManagedCluster {}", self.cluster);
        for attempt in 1.. {
            let Some(cluster) = read(&api, &self.cluster).await? else {
                return Ok(());
            };
            if cluster.meta().deletion_timestamp.is_some() {
                return Ok(());
            }
            let mut finalizers = cluster.finalizers().to_vec();
            if !finalizers.iter().any(|finalizer| finalizer == LEAVE) {
                finalizers.push(LEAVE.to_owned());
                let patch = json!({"metadata": {
                    "resourceVersion": cluster.resource_version(), "finalizers": finalizers,
                }});
                let (how, patch) = (PatchParams::default(), Patch::Merge(patch));
                match api.patch(&self.cluster, &how, &patch).await {
                    Err(error) if code(&error) == Some(409) && attempt < ATTEMPTS => continue,
                    answer => drop(answer.map_err(|error| (doing(), error))?),
                }
            }
            return delete(&api, &self.cluster, cluster.uid()).await;
        }
        Ok(())
    }

    /// Decision objects of either kind that name the cluster. A kind that is not served or may not be read names none, and
    /// neither does an object that cannot be read.
    pub(super) async fn decisions(&self) -> Doing<Vec<String>> {
        let decisions = listed::<PlacementDecision>(&Api::all(self.client.clone())).await?;
        let slices = listed::<multicluster::PlacementDecision>(&Api::all(self.client.clone())).await?;
        let decisions = decisions
            .iter()
            .filter(|decision| {
                let entries = decision.status.iter().flat_map(|status| &status.decisions);
                entries
                    .into_iter()
                    .any(|entry| entry.cluster_name == self.cluster)
            })
            .map(named);
        let slices = slices
            .iter()
            .filter(|slice| {
                let own = slice.metadata.namespace.as_deref().unwrap_or_default();
                let mut profiles = slice.decisions.iter().filter_map(|entry| entry.profile(own));
                profiles.any(|(_, name)| name == self.cluster)
            })
            .map(named);
        Ok(decisions.chain(slices).collect())
    }

    /// When the agent renewed its Lease the last time, by the clock of the member.
    pub(super) async fn heartbeat(&self) -> Doing<Option<jiff::Timestamp>> {
        let lease = read(&self.own::<Lease>(), ocm::CLUSTER_LEASE).await?;
        let lease = lease.and_then(|lease| lease.readable().ok());
        Ok(lease.and_then(|lease| Some(lease.spec?.renew_time?.0)))
    }

    /// Ends the account and its rights. Only for a cluster whose works are gone: its agent could not remove them.
    pub(super) async fn revoke(&self) -> Doing<()> {
        let accounts = self.accounts();
        let account = read(&accounts, &self.cluster).await?;
        if let Some(account) = account.filter(|account| self.is_ours(account)) {
            delete(&accounts, &self.cluster, account.uid()).await?;
        }
        delete(&self.own::<ServiceAccount>(), FORMER_ACCOUNT, None).await?;
        let role = cluster_role(&self.cluster);
        delete(&self.all::<ClusterRoleBinding>(), &role, None).await?;
        delete(&self.all::<ClusterRole>(), &role, None).await?;
        let (bindings, roles) = (self.own::<RoleBinding>(), self.own::<Role>());
        delete(&bindings, AGENT_ROLE, None).await?;
        delete(&roles, AGENT_ROLE, None).await?;
        release(&bindings, AGENT_ROLE, WAIT_FOR_WORKS).await?;
        release(&roles, AGENT_ROLE, WAIT_FOR_WORKS).await
    }

    pub(super) async fn delete_namespace(&self) -> Doing<()> {
        delete(&self.all::<Namespace>(), &self.cluster, None).await
    }

    /// Lets the ManagedCluster go.
    pub(super) async fn end(&self) -> Doing<()> {
        release(&self.all::<ManagedCluster>(), &self.cluster, LEAVE).await
    }
}

fn named<K: Kind>(object: &K) -> String {
    let namespace = object.namespace().unwrap_or_default();
    format!("{namespace}/{}", object.name_any())
}

pub(super) fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// The object, if it is there. A kind that is not served has none.
pub(super) async fn read<K: Kind>(api: &Api<K>, name: &str) -> Doing<Option<K>> {
    match api.get_opt(name).await {
        Err(error) if code(&error) == Some(404) => Ok(None),
        answer => answer.map_err(|error| (format!("read the {} {name}", K::kind(&())), error)),
    }
}

fn metadata<K: Kind>(object: K) -> ObjectMeta {
    object.meta().clone()
}

/// All objects that can be read. A kind that is not served, or may not be listed, has none.
async fn listed<K: Kind>(api: &Api<Received<K>>) -> Doing<Vec<K>> {
    match api.list(&ListParams::default()).await {
        Err(error) if matches!(code(&error), Some(403 | 404)) => Ok(Vec::new()),
        answer => answer
            .map(|list| {
                list.items
                    .into_iter()
                    .filter_map(|item| item.readable().ok())
                    .collect()
            })
            .map_err(|error| (format!("list the {}", K::plural(&())), error)),
    }
}

/// Deletes an object, if it is there and is the one that is meant.
pub(super) async fn delete<K: Kind>(api: &Api<K>, name: &str, uid: Option<String>) -> Doing<()> {
    let same = uid.map(|uid| Preconditions {
        uid: Some(uid),
        resource_version: None,
    });
    let how = DeleteParams {
        preconditions: same,
        ..DeleteParams::default()
    };
    match api.delete(name, &how).await {
        // Gone, or another one by now.
        Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(()),
        answer => answer
            .map(drop)
            .map_err(|error| (format!("delete the {} {name}", K::kind(&())), error)),
    }
}

/// Takes a finalizer off an object, if it is there. Finalizers of others stay.
pub(super) async fn release<K: Kind>(api: &Api<K>, name: &str, finalizer: &str) -> Doing<()> {
    for attempt in 1.. {
        let Some(object) = read(api, name).await? else {
            return Ok(());
        };
        let others: Vec<&String> = object
            .finalizers()
            .iter()
            .filter(|own| *own != finalizer)
            .collect();
        if others.len() == object.finalizers().len() {
            return Ok(());
        }
        let patch = json!({"metadata": {"resourceVersion": object.resource_version(), "finalizers": others}});
        match api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Err(error) if code(&error) == Some(409) && attempt < ATTEMPTS => {}
            Err(error) if code(&error) == Some(404) => return Ok(()),
            answer => {
                let doing = format!("take the finalizer {finalizer} off the {} {name}", K::kind(&()));
                return answer.map(drop).map_err(|error| (doing, error));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    /// A hub whose decisions and whose ManagedCluster have a field of another type than their kinds say.
    fn odd_hub() -> Hub {
        let answer = |request: http::Request<Body>| async move {
            let metadata =
                |name: &str| json!({"name": name, "namespace": "shop", "uid": "1", "resourceVersion": "1"});
            let status = |cluster: &str| json!({"decisions": [{"clusterName": cluster, "reason": ""}]});
            let path = request.uri().path();
            let answer = match (path.rsplit('/').next(), path.contains("multicluster")) {
                (Some("placementdecisions"), false) => json!({"metadata": {}, "items": [
                    {"metadata": metadata("odd"), "status": {"decisions": "none"}},
                    {"metadata": metadata("plain"), "status": status("west")},
                ]}),
                (Some("placementdecisions"), true) => json!({"metadata": {}, "items": [
                    {"metadata": metadata("odd"), "decisions": 7},
                ]}),
                (Some("west"), _) => {
                    json!({"metadata": metadata("west"), "spec": {"leaseDurationSeconds": "long"}})
                }
                (name, _) => panic!("{name:?} is not asked for"),
            };
            Ok::<_, std::convert::Infallible>(http::Response::new(Body::from(
                answer.to_string().into_bytes(),
            )))
        };
        Hub {
            client: Client::new(service_fn(answer), "default"),
            cluster: "west".to_owned(),
            keeps_templates: false,
        }
    }

    #[tokio::test]
    async fn an_object_that_cannot_be_read_keeps_no_cluster_from_leaving() {
        let hub = odd_hub();
        assert_eq!(hub.decisions().await.unwrap(), ["shop/plain"]);
        let clusters = hub.all::<ManagedCluster>();
        assert!(read(&clusters, "west").await.unwrap().is_some());
        delete(&clusters, "west", None).await.unwrap();
    }
}
