//! Reading a hub: every object that plays a part in a placement, as manifests.

use kube::api::ListParams;
use kube::core::Request;
use portolan_api::reading::{Received, Unreadable};
use portolan_api::structural::{self, Kind};
use portolan_api::{cluster, multicluster, work};
use serde::Deserialize;
use serde_json::Value;

use super::error::endless_list;
use super::{Server, explain};
use crate::input::{self, Finding, Manifests, Notes, Severity};
use crate::progress::Progress;
use crate::world::Inventory;

/// What is read of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything that plays a part in a placement.
    Placing,
    /// The same, and what is rolled out along the decisions.
    Linting,
    /// Placements and what is decided for them.
    Placements,
    /// Clusters and what is decided for them.
    Clusters,
    /// What is decided.
    Decisions,
}

impl Extent {
    /// Group and kind of what is read, ClusterProfiles apart.
    fn kinds(self) -> &'static [(&'static str, &'static str)] {
        // Each extent is a part of this.
        const KINDS: [(&str, &str); 10] = [
            (work::GROUP, "ManifestWork"),
            (multicluster::GROUP, "Work"),
            (work::GROUP, "ManifestWorkReplicaSet"),
            (cluster::GROUP, "ManagedClusterSetBinding"),
            (cluster::GROUP, "AddOnPlacementScore"),
            (cluster::GROUP, "Placement"),
            (cluster::GROUP, "PlacementDecision"),
            (multicluster::GROUP, "PlacementDecision"),
            (cluster::GROUP, "ManagedCluster"),
            (cluster::GROUP, "ManagedClusterSet"),
        ];
        match self {
            Extent::Linting => &KINDS,
            Extent::Placing => &KINDS[3..],
            Extent::Placements => &KINDS[5..8],
            Extent::Decisions => &KINDS[6..8],
            Extent::Clusters => &KINDS[6..],
        }
    }

    /// Whether placements are evaluated, as a controller does.
    fn is_evaluated(self) -> bool {
        matches!(self, Extent::Placing | Extent::Linting)
    }

    /// ClusterProfiles are read where they are the clusters: published from ManagedClusters there are many, and nothing
    /// is asked of them.
    fn has_profiles(self, inventory: Inventory, managed_clusters: usize) -> bool {
        let looks_at_clusters = matches!(self, Extent::Placing | Extent::Linting | Extent::Clusters);
        looks_at_clusters
            && match inventory {
                Inventory::Auto => managed_clusters == 0,
                Inventory::Managedclusters => false,
                Inventory::Clusterprofiles => true,
            }
    }
}

const PROFILES_ARE_CLUSTERS: &str = "the hub has no ManagedCluster, so ClusterProfiles are the clusters here; a controller decides \
     so only if it was started with `--inventory=clusterprofiles`";

/// The namespaces that an answer is about. The whole hub is read where that is allowed: answers name what other namespaces
/// have. A user with rights in one namespace alone gets an answer about that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces<'a> {
    All,
    One(&'a str),
    /// The namespace of the kubeconfig's context.
    OfContext,
}

impl<'a> Namespaces<'a> {
    fn fallback(self, server: &'a Server) -> Option<&'a str> {
        match self {
            Namespaces::All => None,
            Namespaces::One(namespace) => Some(namespace),
            Namespaces::OfContext => Some(&server.namespace),
        }
    }
}

/// Objects asked for at once: what kubectl asks for.
const PAGE: u32 = 500;

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(deserialize_with = "items")]
    items: Vec<Received<Value>>,
}

/// The items of a list: required, since an answer without them is no list; servers written in Go may send null for none.
fn items<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Received<Value>>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Debug, Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

/// The objects of the hub. Kinds that it does not serve are noted.
pub(crate) async fn read(
    server: &Server,
    extent: Extent,
    namespaces: Namespaces<'_>,
    inventory: Inventory,
    notes: &mut Notes,
) -> anyhow::Result<Manifests> {
    let mut objects = Vec::new();
    let mut unserved = Vec::new();
    let mut progress = Progress::counting("objects read");
    let mut clusters = 0;
    for (group, name) in extent.kinds() {
        let fallback = namespaces.fallback(server);
        match list_any(server, group, name, fallback, &mut progress, notes).await? {
            Some(mut found) => {
                if *name == "ManagedCluster" {
                    clusters = found.len();
                }
                objects.append(&mut found);
            }
            None => unserved.push(format!("{name}.{group}")),
        }
    }
    if unserved.len() == extent.kinds().len() {
        // Nothing but an API server is told to install definitions.
        server.version().await?;
        anyhow::bail!(
            "{} serves none of the kinds of placements; install them with `portolan crds | kubectl apply -f -` or \
             `portolan controller --install-crds`",
            server.url
        );
    }
    if extent.has_profiles(inventory, clusters) {
        match list_any(
            server,
            multicluster::GROUP,
            "ClusterProfile",
            None,
            &mut progress,
            notes,
        )
        .await?
        {
            Some(mut found) => {
                // A controller does not choose: without the flag it sees no cluster here.
                if inventory == Inventory::Auto && extent.is_evaluated() && !found.is_empty() {
                    notes.remark(PROFILES_ARE_CLUSTERS.to_owned());
                }
                objects.append(&mut found);
            }
            None => unserved.push(format!("ClusterProfile.{}", multicluster::GROUP)),
        }
    }
    drop(progress);
    for kind in unserved {
        notes.remark(format!("{kind} is not served there and left out"));
    }
    Ok(input::read_live(&server.url, objects, notes))
}

/// All objects of a kind in the first version that is served: the versions of a kind show the same objects.
async fn list_any(
    server: &Server,
    group: &str,
    name: &str,
    fallback: Option<&str>,
    progress: &mut Progress,
    notes: &mut Notes,
) -> anyhow::Result<Option<Vec<Value>>> {
    let versions = structural::kinds()
        .iter()
        .filter(|kind| kind.group == group && kind.kind == name);
    for kind in versions {
        if let Some(found) = list(server, kind, fallback, progress, notes).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Pages of a list without objects that are not the last. Servers have none of them, or few.
const MOST_EMPTY_PAGES: usize = 10;

/// All objects of a kind, or nothing when the kind is not served. Where the kind may not be listed in all namespaces, the
/// objects of the namespace `fallback`.
async fn list(
    server: &Server,
    kind: &Kind,
    fallback: Option<&str>,
    progress: &mut Progress,
    notes: &mut Notes,
) -> anyhow::Result<Option<Vec<Value>>> {
    let api_version = kind.api_version();
    let mut path = format!("/apis/{api_version}/{}", kind.plural);
    let mut fallback = fallback.filter(|_| kind.namespaced);
    let mut limit = Some(PAGE);
    let mut objects = Vec::new();
    let (mut next, mut empty_pages) = (String::new(), 0);
    loop {
        let parameters = ListParams {
            limit,
            continue_token: (!next.is_empty()).then(|| next.clone()),
            ..ListParams::default()
        };
        let doing = format!("list {}.{}", kind.plural, kind.group);
        let request = Request::new(path.clone()).list(&parameters)?;
        match server.client.request::<Page>(request).await {
            Ok(page) => {
                progress.advance_by(page.items.len());
                // Such a server would be asked for ever.
                empty_pages += usize::from(page.items.is_empty());
                let is_repeated = page.metadata.next == next || empty_pages > MOST_EMPTY_PAGES;
                if !page.metadata.next.is_empty() && is_repeated {
                    return Err(endless_list(&doing, &server.url));
                }
                for item in page.items {
                    match item {
                        Received::Readable(item) => objects.push(named(item, &api_version, &kind.kind)),
                        Received::Unreadable(item) => note_unreadable(server, kind, &item, notes),
                    }
                }
                next = page.metadata.next;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            Err(kube::Error::Api(status))
                if status.code == 403
                    && let Some(namespace) = fallback.take() =>
            {
                path = format!("/apis/{api_version}/namespaces/{namespace}/{}", kind.plural);
                continue;
            }
            // A user who may write Placements need not have permission to read the works of others.
            Err(kube::Error::Api(status)) if status.code == 403 && is_work(kind) => {
                notes.remark(format!(
                    "{}.{} may not be listed with these credentials, and were not checked",
                    kind.plural, kind.group
                ));
                return Ok(Some(Vec::new()));
            }
            // The server has forgotten the state that the pages were of: once more, all at once.
            Err(kube::Error::Api(status)) if status.code == 410 && limit.is_some() => {
                limit = None;
                next.clear();
                objects.clear();
                continue;
            }
            Err(error) => return Err(explain(&error, &doing, &server.url)),
        }
        if next.is_empty() {
            return Ok(Some(objects));
        }
    }
}

fn note_unreadable(server: &Server, kind: &Kind, item: &Unreadable, notes: &mut Notes) {
    let object = format!("{} {}", kind.kind, item.place());
    let finding = Finding {
        file: server.url.clone(),
        field: item.field.clone(),
        accepted: "a value of the right type".to_owned(),
        ..Finding::new(Severity::Error, None, &object, &item.problem)
    };
    notes.add_unreadable(object, item, vec![finding]);
}

fn is_work(kind: &Kind) -> bool {
    ["ManifestWork", "Work"].contains(&kind.kind.as_str())
}

/// The items of a list need not say what they are.
fn named(mut item: Value, api_version: &str, kind: &str) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), kind.into());
    }
    item
}
