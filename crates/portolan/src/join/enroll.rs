//! Brings a cluster's objects onto a hub, and asks for its agent's token. Doing it again changes the labels that are named, and
//! nothing else.

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, Status};
use kube::{Api, Client, ResourceExt};
use portolan_api::cluster::ManagedCluster;
use portolan_api::conditions::{ConditionDraft, set};
use portolan_api::labels::portolan::AGENT_NAMESPACE;
use portolan_api::labels::{conditions, messages, ocm, reasons};
use portolan_api::structural;
use serde_json::{Value, json};

use super::objects::{FORMER_ACCOUNT, Newcomer, is_embedded};
use super::tenants::sign_of_tenants;

/// Whose fields these are.
const MANAGER: &str = "portolan-join";
/// Attempts to write the status. Controllers write the status too; after so many conflicts something is wrong.
const ATTEMPTS: usize = 10;

/// A token and how long it is good for.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) secret: String,
    pub(crate) expires: Timestamp,
}

/// Makes the cluster part of the fleet. Returns what was being done when something failed.
pub(crate) async fn enroll(
    client: &Client,
    newcomer: &Newcomer,
    now: Timestamp,
) -> Result<(), (String, kube::Error)> {
    let name = &newcomer.name;
    refuse_unfit(client, newcomer)
        .await
        .map_err(|error| (format!("let the cluster {name} in"), error))?;
    end_former_account(client, name).await?;
    let former: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
    let former = former.get_metadata_opt(FORMER_ACCOUNT).await;
    let has_former_account = former
        .map_err(|error| (format!("read the ServiceAccount {name}/{FORMER_ACCOUNT}"), error))?
        .is_some();
    for object in newcomer.objects(has_former_account) {
        let what = describe(&object);
        apply(client, &object)
            .await
            .map_err(|error| (format!("apply {what}"), error))?;
    }
    accept(client, &newcomer.name, now)
        .await
        .map_err(|error| (format!("accept the cluster {}", newcomer.name), error))
}

/// Nothing can be made in a namespace that is being deleted, and a ManagedCluster that is being deleted goes in any case. An
/// embedded member has an agent already, which two clusters of one name would contend with. The namespace of a team is no
/// place for an agent.
async fn refuse_unfit(client: &Client, newcomer: &Newcomer) -> kube::Result<()> {
    let name = newcomer.name.as_str();
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let cluster = match clusters.get_metadata_opt(name).await {
        // Whether the kind is served is said when the cluster is written.
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        answer => answer?,
    };
    if !newcomer.is_embedded()
        && let Some(found) = &cluster
        && is_embedded(&found.metadata)
    {
        return Err(conflict(&taken(name)));
    }
    let namespace = namespaces.get_metadata_opt(name).await?;
    if let Some(found) = &namespace
        && found
            .labels()
            .get(ocm::CLUSTER_NAME)
            .is_none_or(|cluster| cluster != name)
        && let Some(sign) = sign_of_tenants(client, name).await?
    {
        return Err(conflict(&belongs_to_tenants(name, &sign)));
    }
    let leaving = [
        ("ManagedCluster", cluster.map(|object| object.metadata)),
        ("namespace", namespace.map(|object| object.metadata)),
    ]
    .into_iter()
    .find(|(_, metadata)| {
        metadata
            .as_ref()
            .is_some_and(|metadata| metadata.deletion_timestamp.is_some())
    });
    let Some((what, _)) = leaving else { return Ok(()) };
    let why = format!(
        "the {what} {name} is being deleted; `portolan leave {name}` says what that waits for and finishes it, then \
         join the cluster again"
    );
    Err(conflict(&why))
}

fn conflict(why: &str) -> kube::Error {
    kube::Error::Api(Box::new(Status::failure(why, "Conflict").with_code(409)))
}

/// Why a cluster cannot have the name of an embedded member.
fn taken(name: &str) -> String {
    format!(
        "{name} is an embedded member that `portolan up --spokes` has made, with an agent inside that process; nothing is \
         changed; join your cluster under another name, or free this one: start `portolan up` on the same data with fewer \
         --spokes and with --forget-members, then join"
    )
}

/// Why a cluster cannot have the name of a namespace that a team works in.
fn belongs_to_tenants(name: &str, sign: &str) -> String {
    format!(
        "the namespace {name} has {sign}, so it is the namespace of a team; the agent of a cluster {name} could change the \
         works there, and they would go when the cluster leaves; nothing is changed; join your cluster under another name"
    )
}

/// Ends the tokens of a former cluster of this name. Its account may have outlived it, and must not have the rights of the
/// new cluster.
async fn end_former_account(client: &Client, name: &str) -> Result<(), (String, kube::Error)> {
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    // A list, because a server that does not serve the kind refuses it: then it is not known whether the cluster is there.
    let named = ListParams::default().fields(&format!("metadata.name={name}"));
    let there = clusters.list_metadata(&named).await;
    if !there
        .map_err(|error| ("list the managedclusters".to_owned(), error))?
        .items
        .is_empty()
    {
        return Ok(());
    }
    let failed = |error| {
        let doing = format!("end the account {AGENT_NAMESPACE}/{name} of a former cluster");
        (doing, error)
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let Some(account) = accounts.get_metadata_opt(name).await.map_err(failed)? else {
        return Ok(());
    };
    if account.labels().get(ocm::CLUSTER_NAME).map(String::as_str) != Some(name) {
        return Ok(());
    }
    let deleted = accounts.delete(name, &DeleteParams::default()).await;
    deleted.map(drop).map_err(failed)
}

/// A new token for the agent of a cluster. Earlier ones stay valid until they expire.
pub(crate) async fn token(client: &Client, cluster: &str, seconds: i64) -> kube::Result<Token> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: Some(seconds),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(cluster, &PostParams::default(), &request)
        .await?;
    let Some(status) = answer.status else {
        let failure = Status::failure("the answer to the TokenRequest has no token", "InternalError");
        return Err(kube::Error::Api(Box::new(failure.with_code(500))));
    };
    Ok(Token {
        secret: status.token,
        expires: status.expiration_timestamp.0,
    })
}

async fn apply(client: &Client, object: &Value) -> kube::Result<()> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let identity = GroupVersionKind::gvk(group, version, kind);
    let resource = match structural::find(api_version, kind) {
        Some(ours) => ApiResource::from_gvk_with_plural(&identity, &ours.plural),
        None => ApiResource::from_gvk(&identity),
    };
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    if kind == "ManagedCluster" {
        return create_or_merge(&api, text("/metadata/name"), object).await;
    }
    if kind == "Namespace" {
        return create_unless_there(&api, object).await;
    }
    let how = PatchParams::apply(MANAGER).force();
    api.patch(text("/metadata/name"), &how, &Patch::Apply(object))
        .await
        .map(drop)
}

/// A namespace that is there stays as it is. With the label of the cluster it would be deleted, with everything in it, when
/// the cluster leaves.
async fn create_unless_there(api: &Api<DynamicObject>, object: &Value) -> kube::Result<()> {
    let create = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let new = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    match api.create(&create, &new).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        answer => answer.map(drop),
    }
}

/// A cluster that is there keeps what is not mentioned: joining again for a new token takes no label away.
async fn create_or_merge(api: &Api<DynamicObject>, name: &str, object: &Value) -> kube::Result<()> {
    let create = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let new = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    match api.create(&create, &new).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        answer => return answer.map(drop),
    }
    let how = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api.patch(name, &how, &Patch::Merge(object)).await.map(drop)
}

/// Says that the hub lets the cluster in, as OCM does where it runs.
async fn accept(client: &Client, name: &str, now: Timestamp) -> kube::Result<()> {
    let api: Api<ManagedCluster> = Api::all(client.clone());
    let mut attempt = 1;
    loop {
        let cluster = api.get(name).await?;
        let Some(status) = accepted(&cluster, now) else {
            return Ok(());
        };
        let patch = json!({
            "metadata": {"resourceVersion": cluster.metadata.resource_version}, "status": {"conditions": status},
        });
        match api
            .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => attempt += 1,
            answer => return answer.map(drop),
        }
    }
}

/// The conditions with the one that says so, unless it is there.
fn accepted(cluster: &ManagedCluster, now: Timestamp) -> Option<Vec<Condition>> {
    let status = cluster.status.clone().unwrap_or_default();
    let is_accepted = |condition: &Condition| condition.type_ == conditions::HUB_ACCEPTED;
    if status
        .conditions
        .iter()
        .any(|condition| is_accepted(condition) && condition.status == "True")
    {
        return None;
    }
    let mut all = status.conditions;
    all.retain(|condition| condition.type_ != conditions::HUB_DENIED);
    let (reason, message) = (reasons::HUB_ADMIN_ACCEPTED, messages::HUB_ADMIN_ACCEPTED);
    let draft = ConditionDraft::new(conditions::HUB_ACCEPTED, "True", reason, message);
    set(&mut all, draft, None, now);
    Some(all)
}

/// `Role west/portolan-agent`.
fn describe(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match text("/metadata/namespace") {
        "" => format!("the {} {}", text("/kind"), text("/metadata/name")),
        namespace => format!("the {} {namespace}/{}", text("/kind"), text("/metadata/name")),
    }
}
