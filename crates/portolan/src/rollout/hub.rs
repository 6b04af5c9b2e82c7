//! A replica set on a hub, and everything that its rollouts depend on.

use kube::Api;
use kube::api::ListParams;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::labels::ocm;
use portolan_api::reading::Received;
use portolan_api::shorten::MAX_LABEL_VALUE;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_controllers::overview::Objects;
use portolan_engine::placement::PlacementKey;

use super::concerned::{Concerned, only};
use crate::completions::names;
use crate::input::Problems;
use crate::live::{self, LeftOut, Server};
use crate::object_name::{self, ObjectName};

/// Which replica set, on which hub: the same for every command that names one.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// The ManifestWorkReplicaSet: NAMESPACE/NAME, or NAME
    #[arg(value_name = "NAME", value_parser = object_name::parse, add = names::replica_sets())]
    name: ObjectName,

    /// Namespace of NAME [default: that of the kubeconfig's context, or default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,

    #[command(flatten)]
    pub(super) connect: live::ConnectArgs,
}

impl Target {
    /// The hub, and namespace and name of the replica set.
    pub(super) async fn connect(&self) -> anyhow::Result<(Server, PlacementKey)> {
        // Before a hub is looked for.
        let flag = self.namespace.as_deref();
        self.name.namespace(flag).map_err(Problems::from)?;
        let server = self.connect.connect().await?;
        let key = self.name.key(flag, &server.namespace).map_err(Problems::from)?;
        Ok((server, key))
    }
}

/// A replica set with everything that its rollouts depend on, as far as it can be read.
pub(super) struct Found {
    pub(super) objects: Objects,
    /// What cannot be read of it.
    pub(super) left_out: Vec<LeftOut>,
}

/// Reads a replica set, if it exists.
async fn find(server: &Server, key: &PlacementKey) -> anyhow::Result<Option<ManifestWorkReplicaSet>> {
    let api: Api<Received<ManifestWorkReplicaSet>> = Api::namespaced(server.client.clone(), &key.namespace);
    let found = api
        .get_opt(&key.name)
        .await
        .map_err(|error| live::explain(&error, "read the ManifestWorkReplicaSet", &server.url))?;
    match found.map(Received::readable) {
        Some(Ok(set)) => Ok(Some(set)),
        // Any JSON can be read as an object that cannot be read.
        Some(Err(unreadable)) if unreadable.metadata.name.as_deref() != Some(&*key.name) => {
            Err(live::no_usable_answer(
                "read the ManifestWorkReplicaSet",
                &server.url,
                &unreadable.to_string(),
            ))
        }
        Some(Err(unreadable)) => anyhow::bail!(
            "the ManifestWorkReplicaSet {key} on {} cannot be read: {unreadable}",
            server.url
        ),
        None => Ok(None),
    }
}

/// The error about a replica set that does not exist. It names those that may be meant, as far as they can be listed.
pub(super) async fn missing(server: &Server, key: &PlacementKey) -> anyhow::Error {
    let api: Api<ManifestWorkReplicaSet> = Api::all(server.client.clone());
    let place = format!("on {}", server.url);
    let Ok(listed) = api.list_metadata(&ListParams::default()).await else {
        return anyhow::anyhow!(
            "there is no ManifestWorkReplicaSet {key} {place}; `portolan rollout list` lists all"
        );
    };
    let there = listed
        .into_iter()
        .filter_map(|set| Some(PlacementKey::new(&set.metadata.namespace?, &set.metadata.name?)));
    Problems::from(object_name::missing("ManifestWorkReplicaSet", key, &place, there)).into()
}

/// Reads a replica set with its works, placements, decisions and clusters. An error when there is none.
pub(super) async fn read(server: &Server, key: &PlacementKey) -> anyhow::Result<Found> {
    match read_if_there(server, key).await? {
        Some(found) => Ok(found),
        None => Err(missing(server, key).await),
    }
}

/// The same, and nothing when there is no such replica set.
pub(super) async fn read_if_there(server: &Server, key: &PlacementKey) -> anyhow::Result<Option<Found>> {
    let Some(set) = find(server, key).await? else {
        return Ok(None);
    };
    let owner = owner_label(&key.namespace, &key.name);
    let namespace = &*key.namespace;
    let (works, unread_works) = match owner.len() <= MAX_LABEL_VALUE {
        true => {
            let owned = format!("{}={owner}", ocm::REPLICA_SET);
            split_list(server, Api::all(server.client.clone()), &owned).await?
        }
        // No work can have that label, and a server refuses to look for it. What is wrong, the replica set's mistakes say.
        false => Default::default(),
    };
    let (placements, unread_placements) = split_list(server, namespaced(server, namespace), "").await?;
    let (decisions, unread_decisions) = split_list(server, namespaced(server, namespace), "").await?;
    let (clusters, unread_clusters) = split_list(server, Api::all(server.client.clone()), "").await?;
    let objects = Objects {
        works,
        placements,
        decisions,
        clusters,
        set,
    };
    let concerned = Concerned::of(&objects);
    let mut left_out = unread_works;
    left_out.extend(only(unread_placements, |metadata| {
        concerned.has_placement(metadata)
    }));
    left_out.extend(only(unread_decisions, |metadata| {
        concerned.has_decision(metadata)
    }));
    left_out.extend(only(unread_clusters, |metadata| concerned.has_cluster(metadata)));
    Ok(Some(Found { objects, left_out }))
}

/// Whether the server still serves replica sets, so that one that is not there was deleted.
pub(super) async fn serves_replica_sets(server: &Server) -> bool {
    refuse_unserved(server).await.is_ok()
}

/// Every replica set of a hub, or of a namespace, and everything that their rollouts depend on.
pub(super) struct All {
    pub(super) sets: Vec<ManifestWorkReplicaSet>,
    pub(super) works: Vec<ManifestWork>,
    pub(super) placements: Vec<Placement>,
    pub(super) decisions: Vec<PlacementDecision>,
    pub(super) clusters: Vec<ManagedCluster>,
}

/// Reads replica sets with everything that their rollouts depend on.
pub(super) async fn read_all(server: &Server, namespace: Option<&str>) -> anyhow::Result<All> {
    let sets: Vec<ManifestWorkReplicaSet> = within(server, namespace).await?;
    if sets.is_empty() {
        refuse_unserved(server).await?;
    }
    Ok(All {
        sets,
        works: list(server, Api::all(server.client.clone()), ocm::REPLICA_SET).await?,
        placements: within(server, namespace).await?,
        decisions: within(server, namespace).await?,
        clusters: everywhere(server).await?,
    })
}

/// Says that a server does not know replica sets: that there are none would be half of the truth.
async fn refuse_unserved(server: &Server) -> anyhow::Result<()> {
    let api: Api<ManifestWorkReplicaSet> = Api::all(server.client.clone());
    match api.list_metadata(&ListParams::default().limit(1)).await {
        Err(error @ kube::Error::Api(_)) if live::is_unserved(&error) => Err(live::explain(
            &error,
            "list the ManifestWorkReplicaSets",
            &server.url,
        )),
        _ => Ok(()),
    }
}

/// What the label of a work says about its owner.
pub(super) fn owner_label(namespace: &str, name: &str) -> String {
    format!("{namespace}.{name}")
}

/// Whether a work belongs to the replica set with that label.
pub(super) fn is_owned(work: &ManifestWork, owner: &str) -> bool {
    let labels = work.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(ocm::REPLICA_SET))
        .is_some_and(|label| label == owner)
}

async fn within<K>(server: &Server, namespace: Option<&str>) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + 'static,
{
    match namespace {
        Some(namespace) => in_namespace(server, namespace).await,
        None => list(server, Api::all(server.client.clone()), "").await,
    }
}

async fn in_namespace<K>(server: &Server, namespace: &str) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + 'static,
{
    list(server, namespaced(server, namespace), "").await
}

fn namespaced<K>(server: &Server, namespace: &str) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(server.client.clone(), namespace)
}

async fn everywhere<K>(server: &Server) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = (), Scope = ClusterResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + 'static,
{
    list(server, Api::all(server.client.clone()), "").await
}

/// The objects that can be read; the others are named.
async fn list<K>(server: &Server, api: Api<Received<K>>, labels: &str) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug + 'static,
{
    let (objects, left_out) = split_list(server, api, labels).await?;
    live::note(&left_out);
    Ok(objects)
}

/// The objects that can be read, and those that cannot. A kind that is not served has no objects.
async fn split_list<K>(
    server: &Server,
    api: Api<Received<K>>,
    labels: &str,
) -> anyhow::Result<(Vec<K>, Vec<LeftOut>)>
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug + 'static,
{
    match api.list(&ListParams::default().labels(labels)).await {
        Ok(list) => Ok(live::split(list)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok((Vec::new(), Vec::new())),
        Err(error) => Err(live::explain(
            &error,
            &format!("list {}", K::plural(&())),
            &server.url,
        )),
    }
}
