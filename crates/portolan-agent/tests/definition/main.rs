//! The hub ends the kind of the works. Alone in its process: on a real server all tests of one share the definitions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../suite/world.rs"]
#[allow(dead_code, reason = "the suite needs more of it")]
mod world;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use portolan_agent::Agent;
use portolan_api::multicluster::Work;
use serde_json::json;

use world::{World, eventually, install};

const DEFINITIONS: [&str; 2] = [
    "manifestworks.work.open-cluster-management.io",
    "works.multicluster.x-k8s.io",
];

async fn create_works(world: &World) {
    world
        .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
        .await;
    let work: Work = serde_json::from_value(json!({
        "metadata": { "name": "other" }, "spec": { "workload": { "manifests": [world.config_map("c", "1")] } },
    }))
    .unwrap();
    world.works().create(&PostParams::default(), &work).await.unwrap();
}

async fn end_kinds(world: &World) {
    let definitions = Api::<CustomResourceDefinition>::all(world.hub.client());
    for name in DEFINITIONS {
        let _ = definitions.delete(name, &DeleteParams::default()).await.unwrap();
    }
    eventually("the definitions are gone", async || {
        for name in DEFINITIONS {
            if definitions.get_opt(name).await.unwrap().is_some() {
                return false;
            }
        }
        true
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn applied_objects_outlive_the_definitions_of_works_and_are_adopted_afterwards() {
    let world = World::new().await;
    // With the time that a server is given to say that the kind goes, as it is for users.
    let mut settings = world.settings();
    settings.deletion_patience = portolan_agent::Settings::new("", settings.clock.clone()).deletion_patience;
    let start = || Agent::start(world.hub.client(), world.spoke.client(), settings.clone());
    let agent = start();
    create_works(&world).await;
    let all = [("a", "1"), ("b", "1"), ("c", "1")];
    world.until_values("", &all).await;
    world.until_applied("web").await;

    end_kinds(&world).await;
    world.until_values("", &all).await;
    assert_eq!(world.recorded().await, ["a", "b", "c"]);

    // A new agent knows of the works from their records alone.
    agent.stop().await;
    let agent = start();
    install(&world.hub.client()).await;
    create_works(&world).await;
    world.until_applied("web").await;
    world.until_values("", &all).await;

    // Once the work is edited it is trusted again, and one that is deleted alone takes its objects along.
    world.set_manifests("web", &[world.config_map("a", "2")]).await;
    world.until_values("", &[("a", "2"), ("c", "1")]).await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[("c", "1")]).await;
    agent.stop().await;
}
