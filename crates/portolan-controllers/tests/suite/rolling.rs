//! Seed 003, RollingUpdate: its three scenarios with their objects. Names count from 1, and the union is what an object
//! holds and will hold.

use std::collections::BTreeMap;

use kube::Api;
use kube::api::DeleteParams;
use portolan_api::cluster::ManagedCluster;
use portolan_check::stream::Event;
use portolan_check::{Object, stream};
use serde_json::json;

use crate::recorder::Recorder;
use crate::world::World;

/// Each content that each OCM object had, as `first..last (count)`, in order.
fn history(recording: &stream::Recording) -> Vec<String> {
    let initial = recording.initial.decisions.values().map(|object| (object, false));
    let objects = recording.events.iter().filter_map(|event| match event {
        Event::Added(Object::Decision(object)) | Event::Modified(Object::Decision(object)) => {
            Some((object, true))
        }
        _ => None,
    });
    let mut seen: Vec<String> = Vec::new();
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for (object, is_new) in initial.chain(objects) {
        let entries = object.status.iter().flat_map(|status| &status.decisions);
        let names: Vec<&str> = entries.map(|entry| entry.cluster_name.as_str()).collect();
        let name = object.metadata.name.clone().unwrap();
        let number = name.rsplit('-').next().unwrap();
        let (Some(first), Some(end)) = (names.first(), names.last()) else {
            continue;
        };
        let line = format!("{number}: {first}..{end} ({})", names.len());
        if last.insert(name.clone(), line.clone()).as_ref() != Some(&line) && is_new {
            seen.push(line);
        }
    }
    seen
}

async fn world(clusters: std::ops::RangeInclusive<usize>) -> World {
    let mut world = World::new().await;
    world.clusters(clusters, &[]).await;
    world
        .placement(
            "p",
            json!({"decisionStrategy": {"updateStrategy": {"type": "RollingUpdate"}}}),
        )
        .await;
    world.start().await;
    world
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_a_cluster_in_front_shows_the_one_that_moves_in_both_objects() {
    let mut world = world(1..=150).await;
    let mut recorder = Recorder::start(&world).await;
    world.cluster("c000", &[]).await;
    recorder.settle(&world).await;
    let recording = recorder.finish();
    let history = history(&recording);
    let (surge, finalize) = history.split_at(2);
    assert_eq!(
        sorted(surge.to_vec()),
        ["1: c000..c100 (101)", "2: c100..c150 (51)"]
    );
    assert_eq!(finalize, ["1: c000..c099 (100)"]);
    let report = stream::check(&recording);
    assert!(report.is_clean(), "{report}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_first_cluster_shows_the_one_that_moves_back_in_both_objects() {
    let mut world = world(0..=150).await;
    let mut recorder = Recorder::start(&world).await;
    let clusters = Api::<ManagedCluster>::all(world.client.clone());
    clusters.delete("c000", &DeleteParams::default()).await.unwrap();
    recorder.settle(&world).await;
    let recording = recorder.finish();
    let history = history(&recording);
    let (surge, finalize) = history.split_at(1);
    assert_eq!(surge, ["1: c000..c100 (101)"]);
    assert_eq!(
        sorted(finalize.to_vec()),
        ["1: c001..c100 (100)", "2: c101..c150 (50)"]
    );
    let report = stream::check(&recording);
    assert!(report.is_clean(), "{report}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn regrouping_from_all_to_fifty_surges_to_a_hundred_and_fifty() {
    let mut world = world(1..=250).await;
    let mut recorder = Recorder::start(&world).await;
    let groups = json!({"spec": {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 50}}}});
    world.patch_placement("p", groups).await;
    recorder.settle(&world).await;
    let recording = recorder.finish();
    let history = history(&recording);
    let (surge, finalize) = history.split_at(4);
    // The third holds what it had, 201 to 250, and what it gets, 101 to 150; the seed's own figure of 150 counts clusters
    // that it never holds.
    assert_eq!(
        sorted(surge.to_vec()),
        [
            "2: c051..c200 (150)",
            "3: c101..c250 (100)",
            "4: c151..c200 (50)",
            "5: c201..c250 (50)"
        ]
    );
    assert_eq!(
        sorted(finalize.to_vec()),
        ["1: c001..c050 (50)", "2: c051..c100 (50)", "3: c101..c150 (50)"]
    );
    let report = stream::check(&recording);
    assert!(report.is_clean(), "{report}");
    world.stop().await;
}
