//! What a doctor asks a hub. A question that is refused leaves a gap, not an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, PostParams};
use portolan_api::labels::ocm;
use portolan_api::multicluster::Work;
use portolan_api::reading::Received;
use portolan_api::structural;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_api::{cluster, multicluster, work};
use portolan_engine::placement::PlacementKey;
use serde::de::DeserializeOwned;

use crate::input::{Manifests, Notes};
use crate::live::{self, Extent, Namespaces, Server};
use crate::world::Inventory;

/// Everything that was read. `None` stands for what this user may not read or the server does not serve.
#[derive(Debug)]
pub(super) struct Observed {
    /// The server's version, or why there is no answer to go on with.
    pub(super) version: Result<String, NoAnswer>,
    /// The name that the server knows this user by; servers before 1.28 do not say.
    pub(super) user: Option<String>,
    /// What the user proves that with, and where it comes from.
    pub(super) credentials: String,
    /// What the hub refused to list, or did not answer, apart from rights that are known to be missing.
    pub(super) unread: Vec<Unread>,
    /// Rights that this user lacks, such as `list placements.cluster.open-cluster-management.io`.
    pub(super) missing_rights: Option<Vec<String>>,
    /// Definitions of ours that are not installed.
    pub(super) missing_definitions: Option<Vec<String>>,
    /// Fields that installed definitions lack, with what to do.
    pub(super) missing_fields: Vec<String>,
    pub(super) inventory: Inventory,
    pub(super) manifests: Option<Manifests>,
    /// Cluster to the time of its last heartbeat.
    pub(super) heartbeats: Option<BTreeMap<String, Timestamp>>,
    pub(super) namespaces: Option<BTreeSet<String>>,
    pub(super) replica_sets: Option<Vec<ManifestWorkReplicaSet>>,
    pub(super) works: Option<Vec<ManifestWork>>,
    pub(super) plain_works: Option<Vec<Work>>,
    /// Placements whose decisions did not fit the objects in any of the reads, and why.
    pub(super) stale: BTreeMap<PlacementKey, String>,
}

/// A question that the hub refused or did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    /// Such as `list leases.coordination.k8s.io`.
    pub(super) what: String,
    pub(super) why: String,
}

impl Unread {
    /// Out of `cannot …: why`.
    fn of(error: &anyhow::Error) -> Unread {
        let text = error.to_string();
        let text = text.strip_prefix("cannot ").unwrap_or(&text);
        let (what, why) = text.split_once(": ").unwrap_or((text, ""));
        Unread {
            what: what.to_owned(),
            why: why.to_owned(),
        }
    }
}

/// Why a hub cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// It does not answer, or not as an API server does.
    Unreachable(String),
    /// It answers, and does not accept the credentials: why, and where they come from.
    Refused { why: String, credentials: String },
}

/// What the commands that look at a hub list.
const LISTED: [(&str, &str); 13] = [
    (cluster::GROUP, "placements"),
    (cluster::GROUP, "placementdecisions"),
    (cluster::GROUP, "managedclusters"),
    (cluster::GROUP, "managedclustersets"),
    (cluster::GROUP, "managedclustersetbindings"),
    (cluster::GROUP, "addonplacementscores"),
    (multicluster::GROUP, "placementdecisions"),
    (work::GROUP, "manifestworkreplicasets"),
    (work::GROUP, "manifestworks"),
    (multicluster::GROUP, "works"),
    ("coordination.k8s.io", "leases"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("", "namespaces"),
];

pub(super) async fn read(server: &Server, inventory: Inventory) -> Observed {
    let version = server.client.apiserver_version().await;
    let (user, refused) = match user(server).await {
        Ok(user) => (user, None),
        // A server may give its version to everybody.
        Err(error) if is_unauthorized(&error) => (None, Some(error)),
        Err(_) => (None, None),
    };
    let version = match version {
        Err(error) if is_unauthorized(&error) => Err(refusal(server, &error)),
        Err(error) => {
            let why = live::explain(&error, "read the version of the server", &server.url);
            Err(NoAnswer::Unreachable(why.to_string()))
        }
        // Any server that answers with JSON gives an empty version.
        Ok(version) if version.git_version.is_empty() => Err(NoAnswer::Unreachable(format!(
            "cannot read the version of the server: {} answers, but not as a Kubernetes API server",
            server.url
        ))),
        Ok(version) => match refused {
            Some(error) => Err(refusal(server, &error)),
            None => Ok(version.git_version),
        },
    };
    let mut observed = Observed {
        version,
        user,
        credentials: server.credentials.clone(),
        unread: Vec::new(),
        missing_rights: None,
        missing_definitions: None,
        missing_fields: Vec::new(),
        inventory,
        manifests: None,
        heartbeats: None,
        namespaces: None,
        replica_sets: None,
        works: None,
        plain_works: None,
        stale: BTreeMap::new(),
    };
    if observed.version.is_err() {
        return observed;
    }
    observed.missing_rights = missing_rights(server).await;
    let mut unread = Vec::new();
    if let Some(definitions) = list::<CustomResourceDefinition>(server, "", &mut unread).await {
        observed.missing_definitions = Some(missing_definitions(&definitions));
        observed.missing_fields = definitions
            .iter()
            .flat_map(portolan_controllers::missing_fields)
            .collect();
    }
    let mut notes = Notes::default();
    match live::read(server, Extent::Placing, Namespaces::All, inventory, &mut notes).await {
        Ok(manifests) => observed.manifests = Some(manifests),
        // Otherwise the definitions are missing, which have a check of their own.
        Err(error) if live::is_of_hub(&error) => unread.push(Unread::of(&error)),
        Err(_) => {}
    }
    let fields = format!("metadata.name={}", ocm::CLUSTER_LEASE);
    let leases = list::<Lease>(server, &fields, &mut unread).await;
    observed.heartbeats = leases.map(|leases| leases.into_iter().filter_map(heartbeat).collect());
    let namespaces = list::<Namespace>(server, "", &mut unread).await;
    observed.namespaces = namespaces.map(|list| {
        list.into_iter()
            .filter_map(|object| object.metadata.name)
            .collect()
    });
    observed.replica_sets = list(server, "", &mut unread).await;
    observed.works = list(server, "", &mut unread).await;
    observed.plain_works = list(server, "", &mut unread).await;
    // Rights that are missing have a check of their own.
    let missing = observed.missing_rights.as_deref().unwrap_or_default();
    unread.retain(|unread| !missing.contains(&unread.what));
    observed.unread = unread;
    observed
}

async fn user(server: &Server) -> kube::Result<Option<String>> {
    let api: Api<SelfSubjectReview> = Api::all(server.client.clone());
    let review = SelfSubjectReview::default();
    let answer = api.create(&PostParams::default(), &review).await?;
    let user = answer.status.and_then(|status| status.user_info);
    Ok(user.and_then(|user| user.username))
}

fn is_unauthorized(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 401)
}

fn refusal(server: &Server, error: &kube::Error) -> NoAnswer {
    NoAnswer::Refused {
        why: format!("{} answers {}", server.url, live::describe(error)),
        credentials: server.credentials.clone(),
    }
}

fn heartbeat(lease: Lease) -> Option<(String, Timestamp)> {
    Some((lease.metadata.namespace?, lease.spec?.renew_time?.0))
}

/// All objects of a kind, or nothing when they cannot be listed. A kind that is not served has a check of its own.
async fn list<K>(server: &Server, fields: &str, unread: &mut Vec<Unread>) -> Option<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + 'static,
{
    let api: Api<Received<K>> = Api::all(server.client.clone());
    match api.list(&ListParams::default().fields(fields)).await {
        Ok(list) => Some(live::readable(list)),
        Err(error) if live::is_unserved(&error) => None,
        Err(error) => {
            let doing = format!("list {}", resource(&K::group(&()), &K::plural(&())));
            unread.push(Unread::of(&live::explain(&error, &doing, &server.url)));
            None
        }
    }
}

fn resource(group: &str, plural: &str) -> String {
    match group {
        "" => plural.to_owned(),
        group => format!("{plural}.{group}"),
    }
}

fn missing_definitions(installed: &[CustomResourceDefinition]) -> Vec<String> {
    let installed: BTreeSet<&str> = installed
        .iter()
        .filter_map(|definition| definition.metadata.name.as_deref())
        .collect();
    let ours: BTreeSet<String> = structural::kinds()
        .iter()
        // These two are installed on member clusters.
        .filter(|kind| !kind.kind.starts_with("Applied"))
        .map(|kind| format!("{}.{}", kind.plural, kind.group))
        .collect();
    ours.into_iter()
        .filter(|name| !installed.contains(name.as_str()))
        .collect()
}

/// The rights that this user lacks, or nothing when the server cannot say.
async fn missing_rights(server: &Server) -> Option<Vec<String>> {
    let api: Api<SelfSubjectAccessReview> = Api::all(server.client.clone());
    let mut missing = Vec::new();
    for (group, resource) in LISTED {
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(group.to_owned()),
                    resource: Some(resource.to_owned()),
                    verb: Some("list".to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let answer = api.create(&PostParams::default(), &review).await.ok()?;
        if !answer.status.is_some_and(|status| status.allowed) {
            missing.push(format!("list {}", self::resource(group, resource)));
        }
    }
    Some(missing)
}
