//! Seed 002, decision groups: its examples with their objects, names counting from 1, while the strategy and the fleet
//! change, and what a consumer that acts on every change makes of it.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::cluster::Placement;
use portolan_check::stream::Recording;
use portolan_check::{Cluster, DecisionId, stream};
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::world::{World, eventually};

const GROUP_INDEX: &str = "cluster.open-cluster-management.io/decision-group-index";
const GROUP_NAME: &str = "cluster.open-cluster-management.io/decision-group-name";

/// `name | group index | group name | first..last (count)`
fn line(name: &str, labels: Option<&BTreeMap<String, String>>, clusters: &[&str]) -> String {
    let label = |key| {
        labels
            .and_then(|labels| labels.get(key))
            .map_or("-", String::as_str)
    };
    let (first, last) = (clusters.first().unwrap(), clusters.last().unwrap());
    let count = clusters.len();
    format!(
        "{name} | {} | {} | {first}..{last} ({count})",
        label(GROUP_INDEX),
        label(GROUP_NAME)
    )
}

/// The OCM objects of a placement, by number.
async fn objects(world: &World, placement: &str) -> Vec<String> {
    let mut objects = world.decisions(placement).await;
    objects.sort_by_key(|object| number(object.metadata.name.as_deref().unwrap()));
    let lines = objects.iter().filter_map(|object| {
        let entries = object.status.iter().flat_map(|status| &status.decisions);
        let clusters: Vec<&str> = entries.map(|entry| entry.cluster_name.as_str()).collect();
        let name = object.metadata.name.as_deref().unwrap();
        (!clusters.is_empty()).then(|| line(name, object.metadata.labels.as_ref(), &clusters))
    });
    lines.collect()
}

/// The slices of a placement, by number.
async fn slices(world: &World, placement: &str) -> Vec<String> {
    let mut slices = world.slices(placement).await;
    slices.sort_by_key(|slice| number(slice.metadata.name.as_deref().unwrap()));
    let lines = slices.iter().filter_map(|slice| {
        let references = slice
            .decisions
            .iter()
            .filter_map(|entry| entry.cluster_profile_ref.as_ref());
        let clusters: Vec<&str> = references.map(|reference| reference.name.as_str()).collect();
        let name = slice.metadata.name.as_deref().unwrap();
        (!clusters.is_empty()).then(|| line(name, slice.metadata.labels.as_ref(), &clusters))
    });
    lines.collect()
}

fn number(name: &str) -> usize {
    name.rsplit('-').next().unwrap().parse().unwrap()
}

/// `index name [objects] count` of each group in the status.
async fn groups(world: &World, placement: &str) -> Vec<String> {
    let placement = world.api::<Placement>().get(placement).await.unwrap();
    let groups = placement
        .status
        .into_iter()
        .flat_map(|status| status.decision_groups);
    groups
        .map(|group| {
            let numbers: Vec<&str> = group
                .decisions
                .iter()
                .map(|name| name.rsplit('-').next().unwrap())
                .collect();
            let (index, name) = (group.decision_group_index, &group.decision_group_name);
            format!("{index} {name:?} [{}] {}", numbers.join(","), group.cluster_count)
        })
        .collect()
}

async fn until_objects(world: &World, placement: &str, expected: &[&str]) {
    let mut last = Vec::new();
    eventually("the objects are the expected ones", async || {
        let now = objects(world, placement).await;
        if now != last {
            tracing::info!(?now, ?expected, "objects");
        }
        last = now;
        last == expected
    })
    .await;
}

fn common(decision_strategy: Value) -> Value {
    let selector =
        json!({"matchExpressions": [{"key": "common-profile", "operator": "In", "values": ["true"]}]});
    json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": selector}}],
        "decisionStrategy": decision_strategy,
    })
}

fn named(group: &str) -> Value {
    let exists = json!({"matchExpressions": [{"key": group, "operator": "Exists"}]});
    json!({"groupName": group, "groupClusterSelector": {"labelSelector": exists}})
}

async fn chosen(world: &World, prefix: &str, count: usize, group: &str) {
    let names: Vec<String> = (1..=count).map(|number| format!("{prefix}{number:02}")).collect();
    let labels = [("common-profile", "true"), (group, "")];
    futures::future::join_all(names.iter().map(|name| world.cluster(name, &labels))).await;
}

/// A consumer that does something on a cluster when it appears in a decision and undoes it when it is gone: how often
/// it had to undo, per cluster.
fn undone(recording: &Recording, decision: &DecisionId) -> BTreeMap<Cluster, usize> {
    let mut installed: BTreeSet<Cluster> = BTreeSet::new();
    let mut undone = BTreeMap::new();
    recording.replay(|prefix| {
        let now = prefix
            .state
            .decision(decision)
            .map(|decision| decision.clusters())
            .unwrap_or_default();
        for gone in installed.difference(&now) {
            *undone.entry(gone.clone()).or_default() += 1;
        }
        installed = now;
    });
    undone
}

/// No consumer of either kind undoes anything on a cluster that is chosen at the end.
fn assert_undisturbed(world: &World, recording: &Recording, placement: &str) {
    let last = recording.last();
    for id in [
        DecisionId::ocm(&world.namespace, placement),
        DecisionId::kep(&world.namespace, placement),
    ] {
        let stays = last.decision(&id).unwrap().clusters();
        assert!(stays.len() > 100, "{id} has {} clusters", stays.len());
        let mut undone = undone(recording, &id);
        undone.retain(|cluster, _| stays.contains(cluster));
        assert_eq!(undone, BTreeMap::new(), "{id}");
    }
    let report = stream::check(recording);
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_named_groups_come_first_and_the_rest_of_310_clusters_is_cut_at_150() {
    let mut world = World::new().await;
    chosen(&world, "w", 10, "prod-canary-west").await;
    chosen(&world, "e", 10, "prod-canary-east").await;
    world.clusters(1..=290, &[("common-profile", "true")]).await;
    world.cluster("other", &[("common-profile", "false")]).await;
    let strategy = json!({"groupStrategy": {
        "clustersPerDecisionGroup": 150,
        "decisionGroups": [named("prod-canary-west"), named("prod-canary-east")],
    }});
    world.placement("ztp-placement", common(strategy)).await;
    world.start().await;
    let expected = [
        "ztp-placement-decision-1 | 0 | prod-canary-west | w01..w10 (10)",
        "ztp-placement-decision-2 | 1 | prod-canary-east | e01..e10 (10)",
        "ztp-placement-decision-3 | 2 |  | c001..c100 (100)",
        "ztp-placement-decision-4 | 2 |  | c101..c150 (50)",
        "ztp-placement-decision-5 | 3 |  | c151..c250 (100)",
        "ztp-placement-decision-6 | 3 |  | c251..c290 (40)",
    ];
    assert_eq!(objects(&world, "ztp-placement").await, expected);
    // Slices count from 0, and the one with no name says nothing of a name.
    let slices = slices(&world, "ztp-placement").await;
    let found: Vec<(usize, &str)> = slices
        .iter()
        .map(|line| {
            let (name, rest) = line.split_once(" | ").unwrap();
            (number(name), rest.rsplit(" | ").next().unwrap())
        })
        .collect();
    let wanted: Vec<(usize, &str)> = expected
        .iter()
        .enumerate()
        .map(|(number, line)| (number, line.rsplit(" | ").next().unwrap()))
        .collect();
    assert_eq!(found, wanted);
    assert_eq!(
        groups(&world, "ztp-placement").await,
        [
            r#"0 "prod-canary-west" [1] 10"#,
            r#"1 "prod-canary-east" [2] 10"#,
            r#"2 "" [3,4] 150"#,
            r#"3 "" [5,6] 140"#,
        ]
    );
    let placement = world.api::<Placement>().get("ztp-placement").await.unwrap();
    let status = placement.status.unwrap();
    assert_eq!(status.number_of_selected_clusters, 310);
    let first = &world.decisions("ztp-placement").await[0].metadata;
    let owner = &first.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str(), owner.controller),
        ("Placement", "ztp-placement", Some(true))
    );
    assert_eq!(Some(&owner.uid), placement.metadata.uid.as_ref());
    assert_eq!(
        first.labels.as_ref().unwrap().len(),
        3,
        "OCM takes labels away that are not its own"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strategies_come_change_and_go_while_a_consumer_of_either_kind_undoes_nothing() {
    let mut world = World::new().await;
    chosen(&world, "k", 20, "prod-canary").await;
    world.clusters(1..=300, &[("common-profile", "true")]).await;
    let rolling = json!({"updateStrategy": {"type": "RollingUpdate"}});
    world.placement("ztp-placement", common(rolling)).await;
    world.start().await;
    // No strategy: one group.
    let one_group = [
        "ztp-placement-decision-1 | 0 |  | c001..c100 (100)",
        "ztp-placement-decision-2 | 0 |  | c101..c200 (100)",
        "ztp-placement-decision-3 | 0 |  | c201..c300 (100)",
        "ztp-placement-decision-4 | 0 |  | k01..k20 (20)",
    ];
    assert_eq!(objects(&world, "ztp-placement").await, one_group);
    assert_eq!(groups(&world, "ztp-placement").await, [r#"0 "" [1,2,3,4] 320"#]);
    let mut recorder = Recorder::start(&world).await;
    let group = async |strategy: Value| {
        let patch = json!({"spec": {"decisionStrategy": {"groupStrategy": strategy}}});
        world.patch_placement("ztp-placement", patch).await;
    };

    // Created: a named group, and the rest in one.
    group(json!({"clustersPerDecisionGroup": "100%", "decisionGroups": [named("prod-canary")]})).await;
    let canary = [
        "ztp-placement-decision-1 | 0 | prod-canary | k01..k20 (20)",
        "ztp-placement-decision-2 | 1 |  | c001..c100 (100)",
        "ztp-placement-decision-3 | 1 |  | c101..c200 (100)",
        "ztp-placement-decision-4 | 1 |  | c201..c300 (100)",
    ];
    until_objects(&world, "ztp-placement", &canary).await;
    recorder.settle(&world).await;
    assert_eq!(
        groups(&world, "ztp-placement").await,
        [r#"0 "prod-canary" [1] 20"#, r#"1 "" [2,3,4] 300"#]
    );

    // Updated: groups of 150.
    group(json!({"clustersPerDecisionGroup": 150, "decisionGroups": null})).await;
    let halves = [
        "ztp-placement-decision-1 | 0 |  | c001..c100 (100)",
        "ztp-placement-decision-2 | 0 |  | c101..c150 (50)",
        "ztp-placement-decision-3 | 1 |  | c151..c250 (100)",
        "ztp-placement-decision-4 | 1 |  | c251..c300 (50)",
        "ztp-placement-decision-5 | 2 |  | k01..k20 (20)",
    ];
    until_objects(&world, "ztp-placement", &halves).await;
    recorder.settle(&world).await;
    assert_eq!(
        groups(&world, "ztp-placement").await,
        [r#"0 "" [1,2] 150"#, r#"1 "" [3,4] 150"#, r#"2 "" [5] 20"#]
    );

    // More clusters, in front of all others: every group shifts.
    let early = [("common-profile", "true")];
    for name in ["a1", "a2", "a3"] {
        world.cluster(name, &early).await;
    }
    let shifted = [
        "ztp-placement-decision-1 | 0 |  | a1..c097 (100)",
        "ztp-placement-decision-2 | 0 |  | c098..c147 (50)",
        "ztp-placement-decision-3 | 1 |  | c148..c247 (100)",
        "ztp-placement-decision-4 | 1 |  | c248..c297 (50)",
        "ztp-placement-decision-5 | 2 |  | c298..k20 (23)",
    ];
    until_objects(&world, "ztp-placement", &shifted).await;
    recorder.settle(&world).await;

    // Deleted: one group again.
    group(Value::Null).await;
    let together = [
        "ztp-placement-decision-1 | 0 |  | a1..c097 (100)",
        "ztp-placement-decision-2 | 0 |  | c098..c197 (100)",
        "ztp-placement-decision-3 | 0 |  | c198..c297 (100)",
        "ztp-placement-decision-4 | 0 |  | c298..k20 (23)",
    ];
    until_objects(&world, "ztp-placement", &together).await;
    recorder.settle(&world).await;
    assert_eq!(world.decisions("ztp-placement").await.len(), 4);

    assert_undisturbed(&world, &recorder.finish(), "ztp-placement");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_rolling_update_slices_lose_no_cluster_and_plain_changes_leave_no_gap() {
    let mut world = World::new().await;
    world.clusters(1..=220, &[("common-profile", "true")]).await;
    world.placement("p", common(json!({}))).await;
    world.start().await;
    world
        .until_condition(
            "p",
            "RollingUpdateRecommended",
            ("True", "SeveralDecisionObjects"),
        )
        .await;
    let mut recorder = Recorder::start(&world).await;
    world.cluster("c000", &[("common-profile", "true")]).await;
    recorder.settle(&world).await;
    world.label("c050", "common-profile", None).await;
    recorder.settle(&world).await;
    assert_undisturbed(&world, &recorder.finish(), "p");
    world.stop().await;
}
