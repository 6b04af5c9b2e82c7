//! Carries out what the state decided.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::portolan::{AGENT_NAMESPACE, AGENT_ROLE, WAIT_FOR_WORKS};
use portolan_api::labels::{conditions, messages, ocm, reasons};
use portolan_api::multicluster::Work;
use portolan_api::work::ManifestWork;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::state::Write;
use super::state::{Answer, Input, Standing, Target};
use crate::reconcile::{RequestContext, WantedCondition, creating, patching, with_condition};

/// An account that is younger may be one of a cluster that is still to come.
const OLD_ACCOUNT: SignedDuration = SignedDuration::from_hours(1);

/// Sends one write and says how it ended.
pub(super) async fn carry_out(client: Client, context: RequestContext, write: Write) -> Input {
    let (verb, resource) = write.request();
    let target = write.target();
    let result = context
        .request(verb, resource, &target, send(client, &write))
        .await;
    Input::Ended {
        at: tokio::time::Instant::now(),
        target,
        result,
    }
}

async fn send(client: Client, write: &Write) -> kube::Result<Answer> {
    match write {
        Write::Condition { cluster, at } => {
            let api = Api::<ManagedCluster>::all(client);
            let Some(found) = api.get_opt(cluster).await? else {
                return Ok(Answer::Cluster(None));
            };
            let standing = Standing::of(&found);
            if !standing.is_to_be_said() {
                return Ok(Answer::Cluster(Some(Arc::new(found))));
            }
            let patch = said(&found, *at);
            let patched = api
                .patch_status(cluster, &patching(), &Patch::Merge(patch))
                .await?;
            Ok(Answer::Cluster(Some(Arc::new(patched))))
        }
        Write::MakeNamespace { cluster } => {
            let found = Api::<ManagedCluster>::all(client.clone())
                .get_opt(cluster)
                .await?;
            let is_needed = |found: &ManagedCluster| Standing::of(found).needs_namespace();
            if !found.as_ref().is_some_and(is_needed) {
                return Ok(Answer::Cluster(found.map(Arc::new)));
            }
            let api = Api::<Namespace>::all(client);
            if let Some(there) = api.get_opt(cluster).await? {
                return Ok(Answer::Namespace(Some(Arc::new(there))));
            }
            let mut namespace = Namespace::default();
            namespace.metadata.name = Some(cluster.to_string());
            namespace
                .labels_mut()
                .insert(ocm::CLUSTER_NAME.to_owned(), cluster.to_string());
            let made = api.create(&creating(), &namespace).await?;
            Ok(Answer::Namespace(Some(Arc::new(made))))
        }
        Write::LookAtNamespace { cluster } => {
            let found = Api::<Namespace>::all(client).get_opt(cluster).await?;
            Ok(Answer::Namespace(found.map(Arc::new)))
        }
        Write::ReleaseRights { cluster } => {
            let namespaces = Api::<Namespace>::all(client.clone());
            if namespaces.get_opt(cluster).await?.is_none() {
                return Ok(Answer::Namespace(None));
            }
            if has_any::<ManifestWork>(&client, cluster).await? || has_any::<Work>(&client, cluster).await? {
                return Ok(Answer::WorksLeft);
            }
            release::<RoleBinding>(&client, cluster).await?;
            release::<Role>(&client, cluster).await?;
            Ok(Answer::Released)
        }
        Write::DeleteAccount { cluster } => {
            let found = Api::<ManagedCluster>::all(client.clone())
                .get_opt(cluster)
                .await?;
            if let Some(found) = found {
                return Ok(Answer::Cluster(Some(Arc::new(found))));
            }
            // The account outlives the namespace: the agent needs it to remove the works.
            if let Some(there) = Api::<Namespace>::all(client.clone()).get_opt(cluster).await? {
                return Ok(Answer::Namespace(Some(Arc::new(there))));
            }
            end_account(client, cluster).await?;
            Ok(Answer::Settled)
        }
        Write::FindAccounts { at } => find_accounts(client, *at).await,
    }
}

/// The conditions of a cluster, with what the hub has decided about it, in OCM's words.
fn said(cluster: &ManagedCluster, now: Timestamp) -> serde_json::Value {
    let mut there = cluster.status.clone().unwrap_or_default().conditions;
    let wanted = match cluster.spec.hub_accepts_client {
        true => {
            there.retain(|condition| condition.type_ != conditions::HUB_DENIED);
            WantedCondition {
                type_: conditions::HUB_ACCEPTED,
                status: "True",
                reason: reasons::HUB_ADMIN_ACCEPTED,
                message: messages::HUB_ADMIN_ACCEPTED.to_owned(),
            }
        }
        false => WantedCondition {
            type_: conditions::HUB_ACCEPTED,
            status: "False",
            reason: reasons::HUB_ADMIN_DENIED,
            message: messages::HUB_ADMIN_DENIED.to_owned(),
        },
    };
    let conditions = with_condition(&there, &wanted, now).unwrap_or(there);
    json!({
        "metadata": {"resourceVersion": cluster.metadata.resource_version},
        "status": {"conditions": conditions},
    })
}

/// Whether the namespace has an object of the kind. A hub that does not serve the kind has none.
async fn has_any<K>(client: &Client, namespace: &str) -> kube::Result<bool>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + fmt::Debug + DeserializeOwned,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    match api.list_metadata(&ListParams::default().limit(1)).await {
        Ok(list) => Ok(!list.items.is_empty()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes our finalizer off the agent's Role or RoleBinding.
async fn release<K>(client: &Client, namespace: &str) -> kube::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + fmt::Debug + DeserializeOwned,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    let Some(object) = api.get_metadata_opt(AGENT_ROLE).await? else {
        return Ok(());
    };
    let others: Vec<&String> = object
        .finalizers()
        .iter()
        .filter(|finalizer| *finalizer != WAIT_FOR_WORKS)
        .collect();
    if others.len() == object.finalizers().len() {
        return Ok(());
    }
    let patch = json!({"metadata": {"resourceVersion": object.resource_version(), "finalizers": others}});
    match api
        .patch_metadata(AGENT_ROLE, &patching(), &Patch::Merge(patch))
        .await
    {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(drop),
    }
}

/// The clusters that have an account which is not young.
async fn find_accounts(client: Client, at: Timestamp) -> kube::Result<Answer> {
    let api = Api::<ServiceAccount>::namespaced(client, AGENT_NAMESPACE);
    let of_clusters = ListParams::default().labels(ocm::CLUSTER_NAME);
    let found = api.list_metadata(&of_clusters).await?;
    // While a backup is restored, an account may be there before its cluster and its namespace.
    let is_old = |made: Timestamp| at.duration_since(made) > OLD_ACCOUNT;
    let accounts = found.items.iter().filter(|account| {
        let made = account.creation_timestamp();
        made.is_some_and(|made| is_old(made.0))
    });
    let names = accounts.map(|account| account.name_any().into());
    Ok(Answer::Accounts(names.collect()))
}

/// Deletes the account of a cluster that is gone. One that has the name and is not the cluster's stays.
async fn end_account(client: Client, cluster: &str) -> kube::Result<()> {
    let api = Api::<ServiceAccount>::namespaced(client, AGENT_NAMESPACE);
    let Some(account) = api.get_metadata_opt(cluster).await? else {
        return Ok(());
    };
    if account.labels().get(ocm::CLUSTER_NAME).map(String::as_str) != Some(cluster) {
        return Ok(());
    }
    let same = DeleteParams::default().preconditions(Preconditions {
        uid: account.uid(),
        resource_version: None,
    });
    match api.delete(cluster, &same).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        answer => answer.map(drop),
    }
}

impl Write {
    pub(super) fn target(&self) -> Target {
        match self {
            Write::Condition { cluster, .. } => Target::Condition(cluster.clone()),
            Write::MakeNamespace { cluster }
            | Write::LookAtNamespace { cluster }
            | Write::ReleaseRights { cluster } => Target::Namespace(cluster.clone()),
            Write::DeleteAccount { cluster } => Target::Account(cluster.clone()),
            Write::FindAccounts { .. } => Target::Accounts,
        }
    }

    /// Verb and resource, for logs and metrics.
    fn request(&self) -> (&'static str, &'static str) {
        match self {
            Write::Condition { .. } => ("patch", "managedclusters/status"),
            Write::MakeNamespace { .. } => ("create", "namespaces"),
            Write::LookAtNamespace { .. } => ("get", "namespaces"),
            Write::ReleaseRights { .. } => ("patch", "rolebindings"),
            Write::DeleteAccount { .. } => ("delete", "serviceaccounts"),
            Write::FindAccounts { .. } => ("list", "serviceaccounts"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Condition(name) | Target::Namespace(name) => formatter.write_str(name),
            Target::Account(name) => write!(formatter, "{AGENT_NAMESPACE}/{name}"),
            Target::Accounts => formatter.write_str(AGENT_NAMESPACE),
        }
    }
}
