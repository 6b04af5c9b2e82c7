//! A replica set on a hub, and everything that its rollouts depend on.

use kube::Api;
use kube::api::ListParams;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::labels::ocm;
use portolan_api::reading::Received;
use portolan_api::spelling;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_controllers::overview::Objects;
use portolan_engine::placement::PlacementKey;

use crate::completions::names;
use crate::live::{self, Server};

/// Which replica set, on which hub: the same for every command that names one.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// The ManifestWorkReplicaSet: NAMESPACE/NAME, or NAME with --namespace
    #[arg(value_name = "NAME", add = names::replica_sets())]
    name: String,

    /// Namespace of the ManifestWorkReplicaSet [default: default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,

    #[command(flatten)]
    pub(super) connect: live::ConnectArgs,
}

impl Target {
    /// Namespace and name.
    pub(super) fn key(&self) -> anyhow::Result<(&str, &str)> {
        let (namespace, name) = match self.name.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, self.name.as_str()),
        };
        match (namespace, self.namespace.as_deref()) {
            _ if name.is_empty() || name.contains('/') => {
                anyhow::bail!(
                    "{} is no name; accepted: NAMESPACE/NAME, such as shop/web",
                    self.name
                )
            }
            (Some(one), Some(other)) if one != other => {
                anyhow::bail!("--namespace {other} and {one}/… name two namespaces; accepted: one of both")
            }
            (one, other) => Ok((one.or(other).unwrap_or("default"), name)),
        }
    }
}

/// Reads a replica set.
pub(super) async fn get(
    server: &Server,
    namespace: &str,
    name: &str,
) -> anyhow::Result<ManifestWorkReplicaSet> {
    let api: Api<Received<ManifestWorkReplicaSet>> = Api::namespaced(server.client.clone(), namespace);
    let found = api
        .get_opt(name)
        .await
        .map_err(|error| live::explain(&error, "read the ManifestWorkReplicaSet", &server.url))?;
    match found.map(Received::readable) {
        Some(Ok(set)) => Ok(set),
        // Any JSON can be read as an object that cannot be read.
        Some(Err(unreadable)) if unreadable.metadata.name.as_deref() != Some(name) => {
            Err(live::no_usable_answer(
                "read the ManifestWorkReplicaSet",
                &server.url,
                &unreadable.to_string(),
            ))
        }
        Some(Err(unreadable)) => anyhow::bail!(
            "the ManifestWorkReplicaSet {namespace}/{name} on {} cannot be read: {unreadable}",
            server.url
        ),
        None => Err(missing(server, namespace, name).await),
    }
}

/// The error about a replica set that does not exist. It names those that may be meant, as far as they can be listed.
async fn missing(server: &Server, namespace: &str, name: &str) -> anyhow::Error {
    let api: Api<ManifestWorkReplicaSet> = Api::all(server.client.clone());
    let listed = api.list_metadata(&ListParams::default()).await;
    let there: Vec<PlacementKey> = listed
        .into_iter()
        .flatten()
        .filter_map(|set| Some(PlacementKey::new(&set.metadata.namespace?, &set.metadata.name?)))
        .collect();
    let alike: Vec<String> = there
        .iter()
        .filter(|key| &*key.name == name)
        .map(ToString::to_string)
        .collect();
    let asked = format!("{namespace}/{name}");
    let names: Vec<String> = there.iter().map(ToString::to_string).collect();
    let meant = match alike.is_empty() {
        true => spelling::did_you_mean(&asked, names.iter().map(String::as_str)).map(str::to_owned),
        false => Some(alike.join(" or ")),
    };
    let hint = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`portolan rollout list` lists all".to_owned(),
    };
    anyhow::anyhow!(
        "there is no ManifestWorkReplicaSet {asked} on {}; {hint}",
        server.url
    )
}

/// Reads a replica set with its works, placements, decisions and clusters.
pub(super) async fn read(server: &Server, namespace: &str, name: &str) -> anyhow::Result<Objects> {
    let set = get(server, namespace, name).await?;
    let owned = format!("{}={}", ocm::REPLICA_SET, owner_label(namespace, name));
    Ok(Objects {
        works: list(server, Api::all(server.client.clone()), &owned).await?,
        placements: in_namespace(server, namespace).await?,
        decisions: in_namespace(server, namespace).await?,
        clusters: everywhere(server).await?,
        set,
    })
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
    list(server, Api::namespaced(server.client.clone(), namespace), "").await
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

/// A kind that is not served has no objects.
async fn list<K>(server: &Server, api: Api<Received<K>>, labels: &str) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug + 'static,
{
    match api.list(&ListParams::default().labels(labels)).await {
        Ok(list) => Ok(live::readable(list)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(live::explain(
            &error,
            &format!("list {}", K::plural(&())),
            &server.url,
        )),
    }
}
