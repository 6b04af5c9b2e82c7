//! Outputs that are switched off.

use portolan_api::cluster::Placement;
use portolan_api::multicluster;
use portolan_controllers::Output;
use serde_json::json;

use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn without_ocm_decisions_the_slices_alone_follow_the_fleet_and_survive_a_restart() {
    let mut world = World::new().await;
    world.clusters(1..=4, &[]).await;
    // Steady needs to know what was decided before: the slices tell.
    world.placement("top", json!({"numberOfClusters": 2})).await;
    let off = || {
        let mut settings = World::settings();
        settings.ocm_decisions = Output::Off;
        settings
    };
    world.start_with(off()).await;
    assert_eq!(world.sliced("top").await, ["c001", "c002"]);
    assert!(world.decisions("top").await.is_empty());
    let status = world.api::<Placement>().get("top").await.unwrap().status.unwrap();
    assert_eq!(status.number_of_selected_clusters, 2);
    assert!(
        status
            .decision_groups
            .iter()
            .all(|group| group.decisions.is_empty())
    );
    world.stop().await;
    // A cluster that comes first by name does not push out one that is there.
    world.cluster("a", &[]).await;
    world.start_with(off()).await;
    assert_eq!(world.sliced("top").await, ["c001", "c002"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_slices_ocm_decisions_alone_follow_the_fleet_and_old_slices_stay() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    world.placement("p", json!({})).await;
    world.start().await;
    world.until_decided("p", &["c001", "c002"]).await;
    world.stop().await;
    let mut settings = World::settings();
    settings.slices = Output::Off;
    world.start_with(settings).await;
    world.cluster("c003", &[]).await;
    eventually("the OCM decisions follow", async || {
        world.decided("p").await == ["c001", "c002", "c003"]
    })
    .await;
    world.until_idle().await;
    assert_eq!(world.sliced("p").await, ["c001", "c002"]);
    world.stop().await;
    world.start().await;
    assert_eq!(world.sliced("p").await, ["c001", "c002", "c003"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_is_off_says_so_whether_it_is_not_wanted_or_not_served() {
    const KEP: &str = "placementdecisions.multicluster.x-k8s.io";
    let mut world = World::new().await;
    let enabled = |world: &World| {
        let outputs = ["ocm-decisions", "slices", "cluster-profiles"];
        outputs.map(|output| world.metric(&format!("portolan_output_enabled{{output=\"{output}\"}}")))
    };
    let notes = |world: &World| world.controllers.as_ref().unwrap().health().notes();
    world.remove_crd(KEP).await;
    // A server may answer for a moment longer.
    eventually("slices are not served", async || {
        let slices = world.api::<multicluster::PlacementDecision>();
        slices.list(&Default::default()).await.is_err()
    })
    .await;
    world.start().await;
    eventually("slices alone are off", async || {
        enabled(&world) == [1.0, 0.0, 1.0]
            && notes(&world)
                .iter()
                .any(|note| note.contains("slices is off") && note.contains("not served"))
    })
    .await;
    world.install_crd(KEP).await;
    eventually("slices are on again", async || {
        enabled(&world) == [1.0, 1.0, 1.0] && notes(&world).is_empty()
    })
    .await;
    world.stop().await;
    let mut settings = World::settings();
    settings.ocm_decisions = Output::Off;
    settings.cluster_profiles = Output::Off;
    world.start_with(settings).await;
    assert_eq!(enabled(&world), [0.0, 1.0, 0.0]);
    let notes = notes(&world);
    for flag in ["--ocm-decisions=off", "--cluster-profiles=off"] {
        assert!(notes.iter().any(|note| note.contains(flag)), "{notes:?}");
    }
    world.stop().await;
}
