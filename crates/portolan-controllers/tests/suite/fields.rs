//! On definitions that lack fields, as OCM's own do: what is missing is reported, annotations stand in, and nothing is
//! written again and again because the server drops it.

use http::{Request, Response, StatusCode};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::client::Body;
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_controllers::Controllers;
use serde_json::{Value, json};
use tower::BoxError;

use crate::world::{World, eventually};

const PLACEMENTS: &str = "placements.cluster.open-cluster-management.io";
const DECISIONS: &str = "placementdecisions.cluster.open-cluster-management.io";

/// Where fields are in the definitions that OCM's lack.
const MISSING: [(&str, &str); 6] = [
    (PLACEMENTS, "/spec/properties/sortBy"),
    (PLACEMENTS, "/spec/properties/scoreRateLimit"),
    (
        PLACEMENTS,
        "/spec/properties/decisionStrategy/properties/updateStrategy",
    ),
    (
        PLACEMENTS,
        "/spec/properties/decisionStrategy/properties/groupStrategy/properties/assignment",
    ),
    (PLACEMENTS, "/status/properties/lastScoreUpdateTime"),
    (DECISIONS, "/status/properties/decisions/items/properties/score"),
];

/// Our definitions without those fields, and without the rules that may speak of them.
fn lacking() -> Vec<CustomResourceDefinition> {
    let mut crds = portolan_api::crd_values();
    for crd in &mut crds {
        for (name, pointer) in MISSING {
            if crd["metadata"]["name"] == name {
                let (parent, last) = pointer.rsplit_once('/').unwrap();
                let root = "/spec/versions/0/schema/openAPIV3Schema/properties";
                let parent = crd.pointer_mut(&format!("{root}{parent}")).unwrap();
                parent.as_object_mut().unwrap().remove(last).unwrap();
            }
        }
    }
    crds.into_iter()
        .map(|crd| serde_json::from_value(crd).unwrap())
        .collect()
}

fn writes(world: &World) -> f64 {
    let text = world.controllers.as_ref().unwrap().metrics().text();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("portolan_writes_total{"));
    lines
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum()
}

fn by_score() -> Value {
    let coordinate = json!({"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "cheap"}});
    json!({"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]})
}

async fn entries(world: &World) -> Vec<(String, i64)> {
    let decision = world
        .api::<PlacementDecision>()
        .get("p-decision-1")
        .await
        .unwrap();
    let status = decision.status.unwrap();
    status
        .decisions
        .into_iter()
        .map(|entry| (entry.cluster_name, entry.score))
        .collect()
}

/// Scores in the order of their value; without values where there is no field for them.
fn order(scores: [i64; 3]) -> Vec<(String, i64)> {
    let names = ["c003", "c001", "c002"].map(String::from);
    names.into_iter().zip(scores).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_the_server_drops_are_reported_stood_in_for_and_not_written_again() {
    let mut world = World::new().await;
    world.install(lacking()).await;
    world.clusters(1..=3, &[]).await;
    for (cluster, score) in [("c001", 20), ("c002", 10), ("c003", 30)] {
        world.score(cluster, "cost", &[("cheap", score)]).await;
    }
    world
        .placement("p", json!({"prioritizerPolicy": by_score(), "sortBy": "Score"}))
        .await;
    let sorted = json!({"metadata": {"annotations": {"portolan.dev/sort-by": "Score"}}});
    world.patch_placement("p", sorted).await;
    world.start().await;
    let world = &mut world;
    assert_eq!(entries(world).await, order([0, 0, 0]), "the annotation sorts");
    let notes = world.controllers.as_ref().unwrap().health().notes();
    for words in [
        ["spec.sortBy", "portolan.dev/sort-by"],
        ["updateStrategy", "portolan.dev/update-strategy"],
        ["assignment", "portolan.dev/group-assignment"],
        ["status.decisions[].score", "no scores"],
    ] {
        assert!(
            notes
                .iter()
                .any(|note| words.iter().all(|word| note.contains(word))),
            "{words:?}: {notes:?}"
        );
    }
    let served = format!("portolan_field_served{{definition=\"{PLACEMENTS}\",field=\"spec.sortBy\"}}");
    let text = world.controllers.as_ref().unwrap().metrics().text();
    assert!(text.contains(&format!("{served} 0")), "{text}");

    // Looked at once more, and after a restart: nothing is written.
    world.until_idle().await;
    let before = writes(world);
    let evaluations = world.metric("portolan_evaluations_total");
    for round in 0..3 {
        world
            .patch_placement(
                "p",
                json!({"metadata": {"annotations": {"example.com/round": round.to_string()}}}),
            )
            .await;
        eventually("it is evaluated", async || {
            world.metric("portolan_evaluations_total") > evaluations + f64::from(round)
        })
        .await;
    }
    world.until_idle().await;
    assert_eq!(writes(world), before);
    world.stop().await;
    world.start().await;
    assert_eq!(writes(world), 0.0);

    // With the fields served, scores are written; the placement keeps its order, though the field has its default now.
    world.install(portolan_api::crds()).await;
    eventually("scores are there", async || {
        entries(world).await == order([30, 20, 10])
    })
    .await;
    eventually("nothing is missing", async || {
        let health = world.controllers.as_ref().unwrap().health();
        health.notes().is_empty() && world.metric(&served) == 1.0
    })
    .await;
    // A placement that the server has filled in since.
    let patch = Patch::Merge(json!({"spec": {"numberOfClusters": 3}}));
    let api = world.api::<Placement>();
    api.patch("p", &PatchParams::default(), &patch).await.unwrap();
    world.until_idle().await;
    assert_eq!(entries(world).await, order([30, 20, 10]));
    world.stop().await;
}

/// A client of somebody who may not read definitions.
fn without_definitions(sound: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let sound = sound.clone();
        async move {
            if !request.uri().path().contains("/customresourcedefinitions") {
                return Ok::<_, BoxError>(sound.send(request).await?);
            }
            let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}"#;
            let mut response = Response::new(Body::from(status.as_bytes().to_vec()));
            *response.status_mut() = StatusCode::FORBIDDEN;
            Ok(response)
        }
    });
    Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_may_not_read_definitions_says_so_and_learns_from_answers() {
    let mut world = World::new().await;
    world.install(lacking()).await;
    world.clusters(1..=2, &[]).await;
    world.score("c001", "cost", &[("cheap", 20)]).await;
    world
        .placement("p", json!({"prioritizerPolicy": by_score()}))
        .await;
    let controllers = Controllers::start(without_definitions(world.client.clone()), World::settings());
    let health = controllers.health();
    world.controllers = Some(controllers);
    eventually("the controllers are ready", async || health.is_ready()).await;
    world.until_decided("p", &["c001", "c002"]).await;
    let notes = health.notes();
    assert!(
        notes
            .iter()
            .any(|note| note.contains("customresourcedefinitions.apiextensions.k8s.io: get is forbidden")),
        "{notes:?}"
    );
    world.until_idle().await;
    let (before, evaluations) = (writes(&world), world.metric("portolan_evaluations_total"));
    let patch = json!({"metadata": {"annotations": {"example.com/round": "1"}}});
    world.patch_placement("p", patch).await;
    eventually("it is evaluated", async || {
        world.metric("portolan_evaluations_total") > evaluations
    })
    .await;
    world.until_idle().await;
    assert_eq!(writes(&world), before);
    // A deletion is one all the same.
    let clusters = world.scoped::<ManagedCluster>();
    clusters.delete("c001", &DeleteParams::default()).await.unwrap();
    world.until_decided("p", &["c002"]).await;
    world
        .api::<Placement>()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    eventually("nothing is left", async || {
        world.decisions("p").await.is_empty() && world.slices("p").await.is_empty()
    })
    .await;
    world.stop().await;
}
