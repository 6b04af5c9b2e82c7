//! Seed 004: scores in decisions, decisions in their order, and how often they are refreshed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use portolan_api::cluster::{ManagedClusterSet, Placement};
use portolan_controllers::{Clock, Settings};
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::world::{World, eventually};

/// A clock that stands still until the test moves it.
#[derive(Clone)]
struct Hand(Arc<AtomicI64>);

impl Hand {
    fn new() -> Hand {
        // Later than what a server stamps, so that nothing seems to come from the future.
        Hand(Arc::new(AtomicI64::new(4_000_000_000)))
    }

    fn settings(&self) -> Settings {
        let seconds = self.0.clone();
        let now = move || Timestamp::from_second(seconds.load(Ordering::Relaxed)).unwrap();
        Settings::new(Clock::new(now))
    }

    /// Moves on and gives the controllers a reason to look at the clock: they sleep by the system's.
    async fn advance(&self, world: &World, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
        world
            .label("cluster-3", "moved", Some(&seconds.to_string()))
            .await;
    }
}

/// The fleet of the seed: four clusters with the hardware and two without.
async fn h100() -> World {
    let world = World::new().await;
    world
        .create::<ManagedClusterSet>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": "global"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        }))
        .await;
    world.bind("global").await;
    for number in 1..=6 {
        let labels: &[(&str, &str)] = match number {
            3 | 4 => &[],
            _ => &[("gpu.example.com/h100", "enabled")],
        };
        world.cluster(&format!("cluster-{number}"), labels).await;
    }
    for (cluster, value) in [
        ("cluster-1", 65),
        ("cluster-2", 80),
        ("cluster-5", 10),
        ("cluster-6", 10),
    ] {
        world
            .score(cluster, "hardware-availability", &[("h100", value)])
            .await;
    }
    world
}

fn by_h100(mode: Option<&str>) -> Value {
    let mut policy = json!({"configurations": [{
        "scoreCoordinate": {
            "type": "AddOn",
            "addOn": {"resourceName": "hardware-availability", "scoreName": "h100"},
        },
        "weight": 1,
    }]});
    if let Some(mode) = mode {
        policy["mode"] = json!(mode);
    }
    json!({
        "clusterSets": ["global"],
        "predicates": [{"requiredClusterSelector": {"labelSelector": {
            "matchLabels": {"gpu.example.com/h100": "enabled"},
        }}}],
        "prioritizerPolicy": policy,
        "sortBy": "Score",
    })
}

/// `cluster=score` of every entry, object by object, in the order in which they stand.
async fn scored(world: &World, placement: &str) -> Vec<Vec<String>> {
    let mut objects = world.decisions(placement).await;
    objects.sort_by_key(|object| object.metadata.name.clone());
    let object = |object: &portolan_api::cluster::PlacementDecision| {
        let entries = object.status.iter().flat_map(|status| &status.decisions);
        entries
            .map(|entry| format!("{}={}", entry.cluster_name, entry.score))
            .collect()
    };
    objects.iter().map(object).collect()
}

async fn until_scored(world: &World, placement: &str, expected: &[&[&str]]) {
    let mut last = Vec::new();
    eventually(&format!("{placement} is scored {expected:?}"), async || {
        let now = scored(world, placement).await;
        if now != last {
            tracing::info!(?now, "scores");
        }
        last = now;
        last == expected
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_h100_example_is_ordered_by_score_and_then_by_name() {
    let mut world = h100().await;
    world.placement("h100", by_h100(Some("Exact"))).await;
    world.start().await;
    let expected = ["cluster-2=80", "cluster-1=65", "cluster-5=10", "cluster-6=10"];
    assert_eq!(scored(&world, "h100").await, [expected]);
    let object = &world.decisions("h100").await[0];
    assert_eq!(object.metadata.name.as_deref(), Some("h100-decision-1"));
    assert_eq!(
        serde_json::to_value(&object.metadata.labels).unwrap(),
        json!({
            "cluster.open-cluster-management.io/decision-group-index": "0",
            "cluster.open-cluster-management.io/decision-group-name": "",
            "cluster.open-cluster-management.io/placement": "h100",
        })
    );
    // The slice has the same order, and the scores in an annotation.
    let slice = &world.slices("h100").await[0];
    let order: Vec<&str> = slice
        .decisions
        .iter()
        .map(|entry| entry.cluster_profile_ref.as_ref().unwrap().name.as_str())
        .collect();
    assert_eq!(order, ["cluster-2", "cluster-1", "cluster-5", "cluster-6"]);
    let annotations = slice.metadata.annotations.as_ref().unwrap();
    assert!(
        annotations["portolan.dev/scores"].contains("80"),
        "{annotations:?}"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_the_default_mode_the_score_is_the_total_with_balance_and_steady() {
    let mut world = h100().await;
    let hand = Hand::new();
    world.placement("h100", by_h100(None)).await;
    world.start_with(hand.settings()).await;
    // Nobody else chose these clusters: Balance gives each 100. Nothing was decided before: Steady gives nothing yet.
    let first: &[&str] = &["cluster-2=180", "cluster-1=165", "cluster-5=110", "cluster-6=110"];
    until_scored(&world, "h100", &[first]).await;
    // Now all of them are steady. That alone is no reason to evaluate: own writes would follow own writes.
    world.until_idle().await;
    assert_eq!(scored(&world, "h100").await, [first]);
    // The end of the limit is.
    hand.advance(&world, 61).await;
    let steady: &[&str] = &["cluster-2=280", "cluster-1=265", "cluster-5=210", "cluster-6=210"];
    until_scored(&world, "h100", &[steady]).await;
    world.until_idle().await;
    let version = async || {
        world
            .api::<Placement>()
            .get("h100")
            .await
            .unwrap()
            .metadata
            .resource_version
    };
    let before = version().await;
    hand.advance(&world, 61).await;
    world.until_idle().await;
    assert_eq!(version().await, before, "one refresh, not one a minute");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_named_group_is_sorted_by_itself_and_what_is_left_before_it_is_cut() {
    let mut world = h100().await;
    for name in ["cluster-1", "cluster-5"] {
        world.label(name, "canary", Some("yes")).await;
    }
    let mut spec = by_h100(Some("Exact"));
    spec["decisionStrategy"] = json!({"groupStrategy": {
        "clustersPerDecisionGroup": 1,
        "decisionGroups": [{
            "groupName": "canary",
            "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "yes"}}},
        }],
    }});
    world.placement("h100", spec.clone()).await;
    spec["decisionStrategy"]["groupStrategy"]["clustersPerDecisionGroup"] = json!(2);
    spec["sortBy"] = json!("ClusterName");
    world.placement("by-name", spec).await;
    world.start().await;
    assert_eq!(
        scored(&world, "h100").await,
        [
            ["cluster-1=65"],
            ["cluster-5=10"],
            ["cluster-2=80"],
            ["cluster-6=10"]
        ]
    );
    // The usual order is by name, and the scores are told all the same.
    assert_eq!(
        scored(&world, "by-name").await,
        [["cluster-1=65", "cluster-5=10"], ["cluster-2=80", "cluster-6=10"]]
    );
    // A better score moves a cluster to an earlier group.
    world
        .score("cluster-5", "hardware-availability", &[("h100", 90)])
        .await;
    until_scored(
        &world,
        "h100",
        &[
            &["cluster-5=90"],
            &["cluster-1=65"],
            &["cluster-2=80"],
            &["cluster-6=10"],
        ],
    )
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_score_that_changes_alone_waits_for_its_limit_and_a_cluster_does_not() {
    let mut world = h100().await;
    let hand = Hand::new();
    let mut spec = by_h100(Some("Exact"));
    spec["scoreRateLimit"] = json!("5m");
    world.placement("h100", spec).await;
    world.start_with(hand.settings()).await;
    let first: &[&str] = &["cluster-2=80", "cluster-1=65", "cluster-5=10", "cluster-6=10"];
    assert_eq!(scored(&world, "h100").await, [first]);
    let mut recorder = Recorder::start(&world).await;
    world
        .score("cluster-6", "hardware-availability", &[("h100", 99)])
        .await;
    recorder.settle(&world).await;
    hand.advance(&world, 299).await;
    recorder.settle(&world).await;
    assert_eq!(scored(&world, "h100").await, [first]);
    hand.advance(&world, 2).await;
    let after: &[&str] = &["cluster-6=99", "cluster-2=80", "cluster-1=65", "cluster-5=10"];
    until_scored(&world, "h100", &[after]).await;
    recorder.settle(&world).await;
    // The limit holds anew; a cluster that leaves does not wait for it, and takes the scores along.
    world
        .score("cluster-5", "hardware-availability", &[("h100", 11)])
        .await;
    recorder.settle(&world).await;
    assert_eq!(scored(&world, "h100").await, [after]);
    world.label("cluster-1", "gpu.example.com/h100", None).await;
    until_scored(
        &world,
        "h100",
        &[&["cluster-6=99", "cluster-2=80", "cluster-5=11"]],
    )
    .await;
    recorder.settle(&world).await;
    let report = portolan_check::stream::no_gaps(&recorder.finish());
    assert!(report.is_clean(), "{report}");
    let placement = world.api::<Placement>().get("h100").await.unwrap();
    let updated = placement.status.unwrap().last_score_update_time.unwrap();
    assert_eq!(updated.0.as_second(), 4_000_000_301);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_limit_is_a_timer_and_needs_no_other_event() {
    let mut world = h100().await;
    let mut spec = by_h100(Some("Exact"));
    spec["scoreRateLimit"] = json!("2s");
    world.placement("h100", spec).await;
    world.start().await;
    for value in [20, 30] {
        world
            .score("cluster-6", "hardware-availability", &[("h100", value)])
            .await;
    }
    until_scored(
        &world,
        "h100",
        &[&["cluster-2=80", "cluster-1=65", "cluster-6=30", "cluster-5=10"]],
    )
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshes_of_scores_share_a_budget_over_the_whole_hub() {
    let mut world = h100().await;
    let hand = Hand::new();
    for name in ["first", "second"] {
        let mut spec = by_h100(Some("Exact"));
        spec["scoreRateLimit"] = json!("1s");
        world.placement(name, spec).await;
    }
    let mut settings = hand.settings();
    // Refills on the monotonic clock: long enough to see that the second waits, short enough to wait for it.
    settings.score_writes_per_second = 0.1;
    world.start_with(settings).await;
    hand.advance(&world, 10).await;
    world.until_idle().await;
    world
        .score("cluster-6", "hardware-availability", &[("h100", 99)])
        .await;
    let before: &[&str] = &["cluster-2=80", "cluster-1=65", "cluster-5=10", "cluster-6=10"];
    let after: &[&str] = &["cluster-6=99", "cluster-2=80", "cluster-1=65", "cluster-5=10"];
    until_scored(&world, "first", &[after]).await;
    assert_eq!(scored(&world, "second").await, [before]);
    until_scored(&world, "second", &[after]).await;
    world.stop().await;
}
