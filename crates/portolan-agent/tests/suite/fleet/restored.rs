//! The hub is put back to an older copy of its data while agents are running: what they do is the table in docs/agent.md.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::hub::Server;
use super::{Fleet, OBJECTS, create};
use crate::world::{config_map, eventually};

fn spec(objects: &[(&str, &str)]) -> Value {
    let manifests: Vec<Value> = objects
        .iter()
        .map(|(name, value)| config_map(OBJECTS, name, value))
        .collect();
    json!({ "spec": { "workload": { "manifests": manifests } } })
}

/// Waits until Applied is about the present generation of a work, with this status and reason.
async fn until_applied(fleet: &Fleet, work: &str, status: &str, reason: &str) {
    let works = fleet.api("ManifestWork", &fleet.members[0].name);
    eventually(&format!("{work} is {status} {reason}"), async || {
        let Some(work) = works.get_opt(work).await.unwrap() else {
            return false;
        };
        let conditions = work.data.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|found| {
            found["type"] == "Applied"
                && (&found["status"], &found["reason"]) == (&json!(status), &json!(reason))
                && found["observedGeneration"].as_i64() == work.metadata.generation
        })
    })
    .await;
}

async fn values(fleet: &Fleet) -> Vec<String> {
    let values = fleet.members[0].values().await;
    values
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

async fn until_values(fleet: &Fleet, expected: &[&str]) {
    eventually(&format!("there are {expected:?}"), async || {
        values(fleet).await == expected
    })
    .await;
}

const DONE: &str = "AppliedManifestWorkComplete";

#[tokio::test(flavor = "multi_thread")]
async fn agents_keep_what_an_older_copy_of_the_hub_does_not_know_and_follow_new_edits() {
    let mut fleet = Fleet::new(Server::process().await, 1).await;
    let (member, namespace) = (fleet.members[0].name.clone(), fleet.namespace.clone());
    create(
        &fleet.hub,
        "ManifestWork",
        &member,
        "same",
        spec(&[("same", "1")]),
    )
    .await;
    create(&fleet.hub, "ManifestWork", &member, "web", spec(&[("a", "1")])).await;
    create(
        &fleet.hub,
        "ManifestWork",
        &member,
        "early",
        spec(&[("early", "1")]),
    )
    .await;
    let placement = json!({ "spec": { "clusterSets": [namespace] } });
    create(&fleet.hub, "Placement", &namespace, "all", placement).await;
    let set = json!({ "spec": {
        "manifestWorkTemplate": spec(&[("app", "1")])["spec"], "placementRefs": [{ "name": "all" }],
    } });
    create(&fleet.hub, "ManifestWorkReplicaSet", &namespace, "app", set).await;
    fleet.start();
    until_values(&fleet, &["a=1", "app=1", "early=1", "same=1"]).await;
    for work in ["same", "web", "early", &format!("{namespace}.app")] {
        until_applied(&fleet, work, "True", DONE).await;
    }
    fleet.hub.kill().await;
    let copy = fleet.hub.copy();
    fleet.hub.revive().await;

    // What the copy does not know: an edit, another version, a new work and one that is gone.
    fleet
        .patch("ManifestWork", &member, "web", spec(&[("a", "2"), ("b", "2")]))
        .await;
    let template =
        |version: &str| json!({ "spec": { "manifestWorkTemplate": spec(&[("app", version)])["spec"] } });
    fleet
        .patch("ManifestWorkReplicaSet", &namespace, "app", template("2"))
        .await;
    create(
        &fleet.hub,
        "ManifestWork",
        &member,
        "late",
        spec(&[("late", "2")]),
    )
    .await;
    fleet.members[0].recorder.give_up(["early".to_owned()]);
    let works = fleet.api("ManifestWork", &member);
    let _ = works.delete("early", &DeleteParams::default()).await.unwrap();
    until_values(&fleet, &["a=2", "app=2", "b=2", "late=2", "same=1"]).await;
    for work in ["web", "late", &format!("{namespace}.app")] {
        until_applied(&fleet, work, "True", DONE).await;
    }
    eventually("early is gone", async || {
        works.get_opt("early").await.unwrap().is_none()
    })
    .await;

    // Controllers live and die with the hub here; agents do not.
    fleet.kill_controllers();
    fleet.hub.kill().await;
    fleet.hub.restore(copy);
    fleet.hub.revive().await;
    fleet.start();
    until_applied(&fleet, "web", "Unknown", "HubWentBack").await;
    until_applied(&fleet, &format!("{namespace}.app"), "Unknown", "HubWentBack").await;
    until_applied(&fleet, "same", "True", DONE).await;
    // On the hub again, and with nothing that speaks against it.
    until_values(&fleet, &["a=2", "app=2", "b=2", "early=1", "late=2", "same=1"]).await;

    // Edits are made on the hub as it is now, and count in full.
    fleet.members[0].recorder.give_up(["b".to_owned()]);
    fleet
        .patch("ManifestWork", &member, "web", spec(&[("a", "3")]))
        .await;
    fleet
        .patch("ManifestWorkReplicaSet", &namespace, "app", template("3"))
        .await;
    until_values(&fleet, &["a=3", "app=3", "early=1", "late=2", "same=1"]).await;
    until_applied(&fleet, "web", "True", DONE).await;
    until_applied(&fleet, &format!("{namespace}.app"), "True", DONE).await;
    assert_eq!(fleet.members[0].recorder.wrong(), [""; 0]);
}
