//! While the fleet changes, a reader never loses sight of a cluster that stays, no slice grows too large, and nothing
//! is written twice: asserted over every prefix of what was recorded.

use futures::future::join_all;
use kube::Api;
use kube::api::DeleteParams;
use portolan_api::cluster::ManagedCluster;
use portolan_check::consumer;
use portolan_check::stream::{self, Recording};
use portolan_controllers::Controllers;
use serde_json::json;

use crate::consume::acts;
use crate::faults::Faults;
use crate::recorder::Recorder;
use crate::world::World;

/// A sequence of numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }
}

fn rolling(more: serde_json::Value) -> serde_json::Value {
    let mut spec = json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
        "decisionStrategy": {"updateStrategy": {"type": "RollingUpdate"}},
    });
    if let Some(group) = more.get("groupStrategy") {
        spec["decisionStrategy"]["groupStrategy"] = group.clone();
    }
    spec
}

/// A fleet of 230 clusters, 210 of them chosen, and placements of three kinds.
async fn world() -> World {
    let world = World::new().await;
    world.clusters(1..=210, &[("env", "prod")]).await;
    world.clusters(211..=230, &[("env", "dev")]).await;
    world.placement("flat", rolling(json!({}))).await;
    let groups = json!({"groupStrategy": {"clustersPerDecisionGroup": 90}});
    world.placement("grouped", rolling(groups.clone())).await;
    let mut sticky = groups;
    sticky["groupStrategy"]["assignment"] = json!("Sticky");
    world.placement("sticky", rolling(sticky)).await;
    world
}

/// One change to one cluster.
async fn change(world: &World, dice: &mut Dice, cluster: usize) {
    let name = format!("c{cluster:03}");
    match dice.roll(4) {
        0 => world.label(&name, "env", Some("prod")).await,
        1 | 2 => world.label(&name, "env", Some("dev")).await,
        _ => {
            let clusters = Api::<ManagedCluster>::all(world.client.clone());
            // It may have been deleted in an earlier round.
            let _ = clusters.delete(&name, &DeleteParams::default()).await;
        }
    }
}

async fn exists(world: &World, cluster: usize) -> bool {
    let clusters = Api::<ManagedCluster>::all(world.client.clone());
    clusters
        .get_opt(&format!("c{cluster:03}"))
        .await
        .unwrap()
        .is_some()
}

#[track_caller]
fn assert_sound(report: portolan_check::Report) {
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_change_at_a_time_keeps_every_rule_at_every_moment() {
    let mut world = world().await;
    world.start().await;
    let mut recorder = Recorder::start(&world).await;
    let mut dice = Dice(7);
    for _ in 0..12 {
        let cluster = 1 + dice.roll(230);
        if exists(&world, cluster).await {
            change(&world, &mut dice, cluster).await;
        } else {
            world.cluster(&format!("c{cluster:03}"), &[("env", "prod")]).await;
        }
        recorder.settle(&world).await;
    }
    let recording = recorder.finish();
    assert!(
        changes(&recording) > 40,
        "{} events are too few to say anything",
        changes(&recording)
    );
    assert_sound(stream::check(&recording));
    assert_sound(consumer::check(&recording, &acts(&recording)));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_a_burst_with_writes_that_fail_lose_no_cluster_that_stays() {
    let mut world = world().await;
    let faults = Faults::new(11);
    let client = faults.client(world.server.client());
    world.controllers = Some(Controllers::start(client, World::settings()));
    let health = world.controllers.as_ref().unwrap().health();
    crate::world::eventually("the controllers are ready", async || health.is_ready()).await;
    let mut recorder = Recorder::start(&world).await;
    let mut dice = Dice(23);
    for _ in 0..6 {
        // Each cluster changes at most once a round: one that is chosen before and after is one that stays.
        let start = dice.roll(200);
        let mut burst = Vec::new();
        for cluster in start + 1..=start + 30 {
            if exists(&world, cluster).await {
                let mut own = Dice(dice.roll(1 << 30) as u64);
                let world = &world;
                burst.push(async move { change(world, &mut own, cluster).await });
            }
        }
        join_all(burst).await;
        recorder.settle(&world).await;
    }
    faults.end();
    recorder.settle(&world).await;
    let recording = recorder.finish();
    assert!(faults.hurt.load(std::sync::atomic::Ordering::Relaxed) > 20);
    assert!(changes(&recording) > 100);
    assert_sound(stream::no_gaps(&recording));
    assert_sound(consumer::check(&recording, &acts(&recording)));
    recording.replay(|prefix| assert_sound(portolan_check::state::instant(prefix.state)));
    assert_sound(portolan_check::state::rest(&recording.last()));
    let both = (world.decided("flat").await, world.sliced("flat").await);
    assert_eq!(both.0, both.1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_controller_killed_between_two_writes_leaves_its_successor_mends() {
    let mut world = world().await;
    world.start().await;
    let mut recorder = Recorder::start(&world).await;
    let mut dice = Dice(5);
    for round in 0..6 {
        let start = dice.roll(190);
        for cluster in start + 1..=start + 8 {
            world
                .label(
                    &format!("c{cluster:03}"),
                    "env",
                    Some(if round % 2 == 0 { "dev" } else { "prod" }),
                )
                .await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(dice.roll(60) as u64)).await;
        // Dropped, not stopped: whatever is under way is cut off.
        world.controllers.take().unwrap().kill();
        world.start().await;
        recorder.settle(&world).await;
    }
    let recording = recorder.finish();
    assert_sound(stream::no_gaps(&recording));
    assert_sound(consumer::check(&recording, &acts(&recording)));
    recording.replay(|prefix| assert_sound(portolan_check::state::instant(prefix.state)));
    assert_sound(portolan_check::state::rest(&recording.last()));
    world.stop().await;
}

fn changes(recording: &Recording) -> usize {
    recording
        .events
        .iter()
        .filter(|event| event.object().is_some())
        .count()
}
