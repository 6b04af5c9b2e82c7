//! Members that cannot reach their hub in the middle of a rollout, and watches that end without a word.

use std::time::Duration;

use serde_json::{Value, json};

use super::hub::Server;
use super::state::has;
use super::{Fleet, Member, OBJECTS};
use crate::world::{config_map, eventually};

/// Three members in three groups, with version 1 on all of them. Each keeps something beside it.
async fn rolled_out(strategy: Value) -> Fleet {
    let mut fleet = Fleet::new(Server::lasting().await, 3).await;
    for member in &mut fleet.members {
        // A watch that hangs is to be noticed while the test lasts.
        member.settings.watch = Duration::from_secs(1);
        let spec = json!({ "workload": { "manifests": [config_map(OBJECTS, "beside", "1")] } });
        let name = member.name.clone();
        super::create(
            &fleet.hub,
            "ManifestWork",
            &name,
            "beside",
            json!({ "spec": spec }),
        )
        .await;
    }
    let group = |number: usize| {
        let selector = json!({ "labelSelector": { "matchLabels": { "ring": format!("r{number}") } } });
        json!({ "groupName": format!("r{number}"), "groupClusterSelector": selector })
    };
    let placement = json!({ "spec": {
        "clusterSets": [fleet.namespace],
        "tolerations": [{ "operator": "Exists" }],
        "decisionStrategy": { "groupStrategy": { "decisionGroups": [group(0), group(1), group(2)] } },
    } });
    let namespace = fleet.namespace.clone();
    super::create(&fleet.hub, "Placement", &namespace, "all", placement).await;
    let set = json!({ "spec": {
        "manifestWorkTemplate": template("1"),
        "placementRefs": [{ "name": "all", "rolloutStrategy": strategy }],
    } });
    super::create(&fleet.hub, "ManifestWorkReplicaSet", &namespace, "app", set).await;
    fleet.start();
    complete(&fleet, "1").await;
    for member in &fleet.members {
        until(member, &[("app", "1"), ("beside", "1")]).await;
    }
    fleet
}

fn template(version: &str) -> Value {
    json!({ "workload": { "manifests": [config_map(OBJECTS, "app", version)] } })
}

async fn release(fleet: &Fleet, version: &str) {
    let patch = json!({ "spec": { "manifestWorkTemplate": template(version) } });
    fleet
        .patch("ManifestWorkReplicaSet", &fleet.namespace, "app", patch)
        .await;
}

/// Waits until the rollout of this version has reached everybody.
async fn complete(fleet: &Fleet, version: &str) {
    eventually(&format!("version {version} is rolled out"), async || {
        let set = fleet.api("ManifestWorkReplicaSet", &fleet.namespace);
        let set = set.get("app").await.unwrap();
        let mut versions = Vec::new();
        for member in &fleet.members {
            versions.push(on_the_hub(fleet, member).await);
        }
        has(&set, "PlacementRolledOut") && versions.iter().all(|found| found.as_deref() == Some(version))
    })
    .await;
}

/// The version in the work of a member.
async fn on_the_hub(fleet: &Fleet, member: &Member) -> Option<String> {
    let works = fleet.api("ManifestWork", &member.name);
    let work = works
        .get_opt(&format!("{}.app", fleet.namespace))
        .await
        .unwrap()?;
    let version = work.data.pointer("/spec/workload/manifests/0/data/k")?;
    version.as_str().map(str::to_owned)
}

async fn until(member: &Member, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    eventually(&format!("{} has {expected:?}", member.name), async || {
        member.values().await == expected
    })
    .await;
}

/// Says in the place of a registration controller whether a member is heard of.
async fn heard_of(fleet: &Fleet, member: &Member, status: &str) {
    let condition = json!({
        "type": "ManagedClusterConditionAvailable", "status": status, "reason": "Lease", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = kube::api::Patch::Merge(json!({ "status": { "conditions": [condition] } }));
    let clusters = fleet.api("ManagedCluster", "");
    clusters
        .patch_status(&member.name, &kube::api::PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn nothing_was_removed(fleet: &Fleet) {
    for member in &fleet.members {
        assert_eq!(member.recorder.wrong(), [""; 0], "{}", member.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_waits_for_a_member_that_is_cut_off_and_goes_on_when_that_has_caught_up() {
    let fleet = rolled_out(json!({ "type": "ProgressivePerGroup", "progressivePerGroup": {} })).await;
    let (first, cut, last) = (&fleet.members[0], &fleet.members[1], &fleet.members[2]);
    cut.line().cut(true);
    release(&fleet, "2").await;
    until(first, &[("app", "2"), ("beside", "1")]).await;
    eventually("the work of the member that is cut off is updated", async || {
        on_the_hub(&fleet, cut).await.as_deref() == Some("2")
    })
    .await;
    // A word from a member that is done already moves nothing either.
    let touched = json!({ "metadata": { "annotations": { "touched": "yes" } } });
    fleet.patch("ManagedCluster", "", &first.name, touched).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(on_the_hub(&fleet, last).await.as_deref(), Some("1"), "it waits");
    until(cut, &[("app", "1"), ("beside", "1")]).await;

    cut.line().cut(false);
    until(cut, &[("app", "2"), ("beside", "1")]).await;
    until(last, &[("app", "2"), ("beside", "1")]).await;
    complete(&fleet, "2").await;
    nothing_was_removed(&fleet);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_goes_on_without_an_offline_member_that_catches_up_later() {
    let strategy = json!({ "type": "Progressive", "progressive": { "maxConcurrency": 1 } });
    let fleet = rolled_out(strategy).await;
    let (cut, last) = (&fleet.members[1], &fleet.members[2]);
    cut.line().cut(true);
    heard_of(&fleet, cut, "Unknown").await;
    release(&fleet, "2").await;
    until(last, &[("app", "2"), ("beside", "1")]).await;
    until(cut, &[("app", "1"), ("beside", "1")]).await;

    cut.line().cut(false);
    // The agent says so itself, at its next heartbeat.
    heard_of(&fleet, cut, "True").await;
    until(cut, &[("app", "2"), ("beside", "1")]).await;
    complete(&fleet, "2").await;
    nothing_was_removed(&fleet);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_reset_or_hangs_without_a_word_in_mid_rollout_is_noticed() {
    let fleet = rolled_out(json!({ "type": "ProgressivePerGroup", "progressivePerGroup": {} })).await;
    let (reset, hangs) = (&fleet.members[1], &fleet.members[2]);
    release(&fleet, "2").await;
    until(&fleet.members[0], &[("app", "2"), ("beside", "1")]).await;
    reset.line().cut(true);
    hangs.line().hang();
    reset.line().cut(false);
    complete(&fleet, "2").await;
    for member in &fleet.members {
        until(member, &[("app", "2"), ("beside", "1")]).await;
    }
    nothing_was_removed(&fleet);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_falls_silent_and_is_heard_again_keeps_its_workload() {
    let mut fleet = Fleet::new(Server::lasting().await, 2).await;
    let namespace = fleet.namespace.clone();
    for member in &fleet.members {
        // Agents renew their Leases every second, so that silence is noticed after ten.
        let lease = json!({ "spec": { "leaseDurationSeconds": 2 } });
        fleet.patch("ManagedCluster", "", &member.name, lease).await;
    }
    fleet.start_registering();
    for member in &fleet.members {
        let clusters = fleet.api("ManagedCluster", "");
        eventually("the member has reported", async || {
            let cluster = clusters.get(&member.name).await.unwrap();
            let conditions = cluster
                .data
                .pointer("/status/conditions")
                .and_then(Value::as_array);
            let mut conditions = conditions.into_iter().flatten();
            let is_available = conditions.any(|condition| {
                condition["type"] == "ManagedClusterConditionAvailable" && condition["status"] == "True"
            });
            is_available && cluster.data.pointer("/spec/taints").is_none()
        })
        .await;
    }
    let placement = json!({ "spec": { "clusterSets": [namespace] } });
    super::create(&fleet.hub, "Placement", &namespace, "all", placement).await;
    let set =
        json!({ "spec": { "manifestWorkTemplate": template("1"), "placementRefs": [{ "name": "all" }] } });
    super::create(&fleet.hub, "ManifestWorkReplicaSet", &namespace, "app", set).await;
    for member in &fleet.members {
        until(member, &[("app", "1")]).await;
    }
    let silent = &fleet.members[1];
    let uid = silent.uid("app").await;
    silent.line().cut(true);
    eventually("the silent member leaves the decision", async || {
        decided(&fleet).await == [fleet.members[0].name.clone()]
    })
    .await;
    eventually("the replica set says that its work is kept", async || {
        let set = fleet.api("ManifestWorkReplicaSet", &namespace);
        let said = set.get("app").await.unwrap().data.to_string();
        said.contains("kept on clusters that cannot be reached")
    })
    .await;

    silent.line().cut(false);
    eventually("the member is decided again", async || {
        decided(&fleet).await.len() == 2
    })
    .await;
    // The agent looks at its works again, and finds them as they were.
    release(&fleet, "2").await;
    until(silent, &[("app", "2")]).await;
    assert_eq!(silent.uid("app").await, uid, "it was made anew");
    nothing_was_removed(&fleet);
}

/// The clusters that the placement selects.
async fn decided(fleet: &Fleet) -> Vec<String> {
    let decisions = fleet.api("PlacementDecision", &fleet.namespace);
    let listed = decisions.list(&kube::api::ListParams::default()).await.unwrap();
    let entries = listed
        .items
        .iter()
        .filter_map(|object| object.data.pointer("/status/decisions"));
    let entries = entries.filter_map(Value::as_array).flatten();
    let names = entries.filter_map(|entry| entry["clusterName"].as_str());
    names.map(str::to_owned).collect()
}
