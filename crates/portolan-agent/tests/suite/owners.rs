//! Objects that more than one work asks for, and clusters with more than one agent.

use kube::api::{DeleteParams, PostParams};
use portolan_api::multicluster::Work;
use serde_json::json;

use crate::network::Faults;
use crate::world::{World, eventually, versions};
use portolan_agent::Agent;

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_two_works_goes_with_the_last_of_them() {
    let world = World::new().await;
    let agent = world.agent();
    let shared = world.config_map("shared", "1");
    world
        .create_work("one", &[shared.clone(), world.config_map("own", "1")])
        .await;
    let two: Work = serde_json::from_value(json!({
        "metadata": { "name": "two" }, "spec": { "workload": { "manifests": [shared] } },
    }))
    .unwrap();
    world.works().create(&PostParams::default(), &two).await.unwrap();
    eventually("both have it in their records", async || {
        world.recorded().await == ["own", "shared", "shared"]
    })
    .await;

    world.set_manifests("one", &[world.config_map("own", "1")]).await;
    eventually("one has let go of it", async || {
        world.recorded().await == ["own", "shared"]
    })
    .await;
    assert_eq!(world.values("shared").await.len(), 1);

    world.delete_work("one").await;
    world.until_gone("one").await;
    assert_eq!(world.values("").await, [("shared".to_owned(), "1".to_owned())]);
    let _ = world
        .works()
        .delete("two", &DeleteParams::default())
        .await
        .unwrap();
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_works_that_disagree_the_older_one_counts_until_it_goes() {
    let world = World::new().await;
    let agent = world.agent();
    world
        .create_work("a-first", &[world.config_map("x", "first")])
        .await;
    world.until_applied("a-first").await;
    world
        .create_work("b-second", &[world.config_map("x", "second")])
        .await;
    let second = world
        .until_condition("b-second", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifest = second
        .status
        .unwrap()
        .resource_status
        .unwrap()
        .manifests
        .remove(0);
    assert_eq!(manifest.conditions[0].reason, "AppliedByAnotherWork");
    assert!(manifest.conditions[0].message.contains("a-first"));
    assert_eq!(world.values("").await, [("x".to_owned(), "first".to_owned())]);
    world.delete_work("a-first").await;
    world.until_gone("a-first").await;
    world.until_values("", &[("x", "second")]).await;
    world.until_applied("b-second").await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_of_one_cluster_agree_and_then_write_nothing() {
    let world = World::new().await;
    let faults = [Faults::default(), Faults::default()];
    let agents: Vec<Agent> = faults
        .iter()
        .map(|faults| Agent::start(world.hub.client(), faults.client(&world.spoke), world.settings()))
        .collect();
    world
        .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
        .await;
    world.until_applied("web").await;
    world.set_manifests("web", &[world.config_map("a", "2")]).await;
    world.until_values("", &[("a", "2")]).await;
    world.until_applied("web").await;
    settle(&world, &faults).await;
    let before = (versions(&world).await, faults[0].writes() + faults[1].writes());
    look_again(&faults, 3).await;
    let after = (versions(&world).await, faults[0].writes() + faults[1].writes());
    assert_eq!(before, after);
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    for agent in agents {
        agent.stop().await;
    }
}

/// Waits until the clients have looked at the objects so many times more.
pub(crate) async fn look_again(faults: &[Faults], times: usize) {
    for faults in faults {
        let before = faults.reads();
        eventually("the agent looks again", async || faults.reads() >= before + times).await;
    }
}

/// Waits until nothing is written any more.
pub(crate) async fn settle(world: &World, faults: &[Faults]) {
    let seen = std::cell::RefCell::new((versions(world).await, 0));
    eventually("nothing is written any more", async || {
        look_again(faults, 3).await;
        let now = (versions(world).await, faults.iter().map(Faults::writes).sum());
        let same = *seen.borrow() == now;
        seen.replace(now);
        same
    })
    .await;
}
