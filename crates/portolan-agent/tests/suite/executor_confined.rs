//! A service account confines everything that is done for a work: what is read, watched, written and removed.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use http::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use portolan_agent::{Agent, Clock};
use portolan_api::work::ManifestCondition;
use serde_json::{Value, json};

use crate::world::{World, eventually};

const ACCOUNT: &str = "deployer";

fn executor(world: &World) -> Value {
    json!({ "subject": {
        "type": "ServiceAccount", "serviceAccount": { "namespace": world.namespace, "name": ACCOUNT },
    } })
}

/// Lets the account do this, and nothing else.
async fn allow(world: &World, rules: Value) {
    let (how, group) = (PatchParams::apply("test").force(), "rbac.authorization.k8s.io");
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": { "name": ACCOUNT }, "rules": rules,
    });
    let roles = Api::<Role>::namespaced(world.spoke.client(), &world.namespace);
    roles.patch(ACCOUNT, &how, &Patch::Apply(role)).await.unwrap();
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": { "name": ACCOUNT },
        "roleRef": { "apiGroup": group, "kind": "Role", "name": ACCOUNT },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": world.namespace }],
    });
    let bindings = Api::<RoleBinding>::namespaced(world.spoke.client(), &world.namespace);
    bindings
        .patch(ACCOUNT, &how, &Patch::Apply(binding))
        .await
        .unwrap();
}

async fn allow_config_maps(world: &World, verbs: &[&str]) {
    allow(
        world,
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }]),
    )
    .await;
}

/// A clock that a test can set forward.
fn clock() -> (Clock, Arc<AtomicI64>) {
    let ahead = Arc::new(AtomicI64::new(0));
    let seconds = ahead.clone();
    #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
    let clock = Clock::new(move || {
        let ahead = SignedDuration::from_secs(seconds.load(Ordering::SeqCst));
        Timestamp::now().checked_add(ahead).unwrap()
    });
    (clock, ahead)
}

/// What is said about the first manifest of the work.
async fn said(world: &World, work: &str) -> ManifestCondition {
    let work = world.manifest_works().get(work).await.unwrap();
    let status = work.status.unwrap_or_default().resource_status;
    status
        .unwrap_or_default()
        .manifests
        .into_iter()
        .next()
        .unwrap_or_default()
}

fn condition(manifest: &ManifestCondition, r#type: &str) -> (String, String) {
    let found = manifest
        .conditions
        .iter()
        .find(|condition| condition.type_ == r#type);
    found
        .map(|condition| (condition.status.clone(), condition.message.clone()))
        .unwrap_or_default()
}

fn value(manifest: &ManifestCondition) -> Option<String> {
    let feedback = manifest.status_feedback.clone()?;
    feedback.values.into_iter().next()?.field_value.string
}

fn read_back(world: &World, name: &str, strategy: &str) -> Value {
    json!([{
        "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": name },
        "updateStrategy": { "type": strategy },
        "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": [{ "name": "k", "path": ".data.k" }] }],
        "conditionRules": [{
            "type": "CEL", "condition": "Guessed", "celExpressions": ["object.data.k == 'secret'"],
        }],
    }])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_executor_may_not_get_is_not_read_back_until_it_may() {
    let world = World::new().await;
    let there = serde_json::from_value(world.config_map("a", "secret")).unwrap();
    let how = PostParams::default();
    world.config_maps().create(&how, &there).await.unwrap();
    let agent = world.agent();
    let spec = json!({ "executor": executor(&world), "manifestConfigs": read_back(&world, "a", "ReadOnly") });
    world
        .create_work_with("web", &[world.config_map("a", "guess")], spec)
        .await;
    world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifest = said(&world, "web").await;
    assert_eq!(value(&manifest), None);
    assert_eq!(condition(&manifest, "Guessed").0, "Unknown");
    assert_eq!(condition(&manifest, "StatusFeedbackSynced").0, "False");
    assert_eq!(
        condition(&manifest, "Available").0,
        "True",
        "that it is there is no secret"
    );
    let (applied, why) = condition(&manifest, "Applied");
    assert_eq!(applied, "False");
    assert!(why.contains("may not get") && why.contains(ACCOUNT), "{why}");

    allow_config_maps(&world, &["get"]).await;
    world.until_applied("web").await;
    let manifest = said(&world, "web").await;
    assert_eq!(value(&manifest).as_deref(), Some("secret"));
    assert_eq!(condition(&manifest, "Guessed").0, "True");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_applied_without_the_right_to_delete_unless_it_is_to_stay() {
    let world = World::new().await;
    allow_config_maps(&world, &["get", "create", "patch"]).await;
    let agent = world.agent();
    let spec = json!({ "executor": executor(&world) });
    world
        .create_work_with("web", &[world.config_map("a", "1")], spec)
        .await;
    world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let (_, why) = condition(&said(&world, "web").await, "Applied");
    assert!(why.contains("may not delete"), "{why}");
    assert!(world.values("").await.is_empty() && world.recorded().await.is_empty());

    let orphan = json!({ "spec": { "deleteOption": { "propagationPolicy": "Orphan" } } });
    world.patch_work("web", orphan).await;
    world.until_applied("web").await;
    world.until_values("", &[("a", "1")]).await;
    // An edit takes nothing away from what the account could not delete.
    let foreground = json!({ "spec": { "deleteOption": { "propagationPolicy": "Foreground" } } });
    world.patch_work("web", foreground).await;
    world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    world.set_manifests("web", &[world.config_map("b", "1")]).await;
    eventually("the record forgets it", async || {
        world.recorded().await.is_empty()
    })
    .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[("a", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_taken_away_is_noticed_and_objects_still_go_with_their_work() {
    let world = World::new().await;
    allow_config_maps(&world, &["get", "create", "patch", "delete"]).await;
    let (clock, ahead) = clock();
    let mut settings = world.settings();
    settings.clock = clock;
    let agent = Agent::start(world.hub.client(), world.spoke.client(), settings);
    let spec = json!({ "executor": executor(&world) });
    let maps = [world.config_map("a", "1"), world.config_map("b", "1")];
    world.create_work_with("web", &maps, spec).await;
    world.until_applied("web").await;

    allow_config_maps(&world, &["get"]).await;
    // That something is allowed counts for a minute.
    ahead.store(61, Ordering::SeqCst);
    world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    world.until_values("", &[("a", "1"), ("b", "1")]).await;
    world.set_manifests("web", &maps[1..]).await;
    world.until_values("", &[("b", "1")]).await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_may_deal_with_one_object_by_name_deals_with_that_one() {
    let world = World::new().await;
    let verbs = ["get", "patch", "delete"];
    allow(
        &world,
        json!([
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] },
            { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": verbs },
        ]),
    )
    .await;
    let agent = world.agent();
    let spec = json!({ "executor": executor(&world) });
    let maps = [world.config_map("a", "1"), world.config_map("b", "1")];
    world.create_work_with("web", &maps, spec).await;
    world.until_values("", &[("a", "1")]).await;
    let work = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifests = work.status.unwrap().resource_status.unwrap().manifests;
    assert_eq!(condition(&manifests[0], "Applied").0, "True");
    let (_, why) = condition(&manifests[1], "Applied");
    assert!(why.contains("may not get, patch, delete"), "{why}");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_rights_by_an_executor_that_it_does_not_have() {
    let world = World::new().await;
    let rbac = "rbac.authorization.k8s.io";
    let verbs = ["get", "create", "patch", "delete"];
    allow(
        &world,
        json!([{ "apiGroups": [rbac], "resources": ["roles"], "verbs": verbs }]),
    )
    .await;
    let agent = world.agent();
    let role = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "Role",
        "metadata": { "name": "more", "namespace": world.namespace },
        "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }],
    });
    let spec = json!({ "executor": executor(&world) });
    world.create_work_with("web", &[role], spec).await;
    world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let roles = Api::<Role>::namespaced(world.spoke.client(), &world.namespace);
    assert!(roles.get_opt("more").await.unwrap().is_none());
    // It is tried again and again, and written down for the time of each try.
    eventually("the record forgets it", async || {
        world.recorded().await.is_empty()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_executor_applies_nothing_and_removes_nothing_until_it_is_whole() {
    let world = World::new().await;
    let agent = world.agent();
    let maps = [world.config_map("a", "1"), world.config_map("b", "1")];
    world.create_work("web", &maps).await;
    world.until_applied("web").await;

    let half = json!({ "subject": { "type": "ServiceAccount" } });
    let manifests = [world.config_map("a", "2"), world.config_map("c", "2")];
    let edit = json!({ "spec": { "executor": half, "workload": { "manifests": manifests } } });
    world.patch_work("web", edit).await;
    let work = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifests = work.status.unwrap().resource_status.unwrap().manifests;
    for manifest in manifests {
        let applied = manifest
            .conditions
            .iter()
            .find(|condition| condition.type_ == "Applied")
            .unwrap();
        assert_eq!(applied.reason, "InvalidExecutor");
        assert!(
            applied.message.contains("serviceAccount.namespace"),
            "{}",
            applied.message
        );
    }
    world.until_values("", &[("a", "1"), ("b", "1")]).await;

    allow_config_maps(&world, &["get", "create", "patch", "delete"]).await;
    let whole = json!({ "spec": { "executor": executor(&world) } });
    world.patch_work("web", whole).await;
    world.until_applied("web").await;
    world.until_values("", &[("a", "2"), ("c", "2")]).await;
    agent.stop().await;
}

/// Requests for ConfigMaps: what was asked, and in whose name.
type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// A client whose requests for ConfigMaps are written down.
fn noting(client: Client, asked: Asked) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, asked) = (client.clone(), asked.clone());
        async move {
            if request.uri().path().contains("/configmaps") {
                let header = |name: &str| {
                    let value = request.headers().get(name);
                    value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                };
                let content = header("accept").filter(|accept| accept.contains("PartialObjectMetadata"));
                let is_watch = request
                    .uri()
                    .query()
                    .is_some_and(|query| query.contains("watch="));
                let what = match request.method().as_str() {
                    "GET" if is_watch => "watch",
                    "GET" if request.uri().path().ends_with("/configmaps") => "list",
                    "GET" if content.is_some() => "look",
                    "GET" => "get",
                    "PATCH" if header("content-type").is_some_and(|kind| kind.contains("apply")) => "apply",
                    "PATCH" => "refer",
                    "DELETE" => "delete",
                    other => other,
                };
                let who = header("impersonate-user");
                asked.lock().unwrap().push((what.to_owned(), who));
            }
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_read_watched_and_applied_in_the_name_of_the_executor() {
    let world = World::new().await;
    let verbs = ["get", "create", "patch", "delete", "list", "watch"];
    allow_config_maps(&world, &verbs[..4]).await;
    let asked = Asked::default();
    let spoke = noting(world.spoke.client(), asked.clone());
    let agent = Agent::start(world.hub.client(), spoke, world.settings());
    let mut configs = read_back(&world, "a", "Update");
    configs[0]["feedbackScrapeType"] = "Watch".into();
    let spec = json!({ "executor": executor(&world), "manifestConfigs": configs });
    world
        .create_work_with("web", &[world.config_map("a", "1")], spec)
        .await;
    world.until_applied("web").await;
    allow_config_maps(&world, &verbs).await;
    eventually("it is watched once that is allowed", async || {
        let asked = asked.lock().unwrap();
        asked.iter().any(|(what, _)| what == "watch")
    })
    .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    let asked = asked.lock().unwrap().clone();
    let account = format!("system:serviceaccount:{}:{ACCOUNT}", world.namespace);
    for (what, who) in &asked {
        match what.as_str() {
            // Whether it is there, whose it is, and that it goes is for the agent to know.
            "look" | "refer" | "delete" => assert_eq!(*who, None, "{what}"),
            _ => assert_eq!(who.as_deref(), Some(account.as_str()), "{what}"),
        }
    }
    for what in ["get", "apply", "watch", "refer", "delete"] {
        assert!(
            asked.iter().any(|(asked, _)| asked == what),
            "{what} in {asked:?}"
        );
    }
    agent.stop().await;
}
