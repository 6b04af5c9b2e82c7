//! The record of a work is no other work's to have.

use kube::Api;
use kube::api::ListParams;
use portolan_api::work::{AppliedManifestWork, ManifestWork};
use serde_json::{Value, json};

use super::fixture::{World, manifest, run};
use super::rules::notices;
use crate::sabotage::{Rule, with_sabotaged};

/// The record of the work `victim`.
async fn record(world: &World) -> Option<AppliedManifestWork> {
    let records = Api::<AppliedManifestWork>::all(world.spoke());
    let records = records.list(&ListParams::default()).await.unwrap();
    let mut records = records.into_iter();
    records.find(|record| record.spec.manifest_work_name.as_deref() == Some("victim"))
}

/// A manifest that names the record, gives it another note and takes its finalizer away.
fn of_record(record: &AppliedManifestWork) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork",
        "metadata": {
            "name": record.metadata.name, "annotations": { "portolan.dev/work-generation": "99" }, "finalizers": [],
        },
        "spec": record.spec,
    })
}

/// A victim that is applied, and another work that has its record and a ConfigMap.
async fn scene(world: &World) -> AppliedManifestWork {
    world.put("victim", &["x"]).await;
    world.agent().look().await;
    let before = record(world).await.unwrap();
    let manifests = json!([of_record(&before), manifest("y")]);
    let spec = json!({ "workload": { "manifests": manifests } });
    world.put_spec("another", spec).await;
    for _ in 0..3 {
        world.agent().look().await;
    }
    before
}

async fn until_gone(world: &World, work: &str) {
    world.delete(work).await;
    for _ in 0..5 {
        world.agent().look().await;
    }
    let left: Option<ManifestWork> = world.works().get_opt(work).await.unwrap();
    assert!(left.is_none(), "{:?}", left.and_then(|left| left.status));
}

#[test]
fn a_work_cannot_change_the_record_of_another_work() {
    notices(Rule::RecordsReserved, || {
        run(async {
            let world = World::new().await;
            let before = scene(&world).await;
            record(&world).await.is_some_and(|now| now == before)
        })
    });
}

#[test]
fn a_work_that_asks_for_a_record_says_why_it_is_refused_and_applies_the_rest() {
    run(async {
        let world = World::new().await;
        let before = scene(&world).await;
        assert_eq!(world.objects().await, ["x", "y"]);
        let status = world.works().get("another").await.unwrap().status.unwrap();
        let manifests = status.resource_status.unwrap().manifests;
        let applied = manifests[0]
            .conditions
            .iter()
            .find(|said| said.type_ == "Applied");
        let applied = applied.unwrap();
        assert_eq!(
            (applied.status.as_str(), applied.reason.as_str()),
            ("False", "ReservedKind")
        );
        assert!(
            applied.message.contains("AppliedManifestWork"),
            "{}",
            applied.message
        );
        until_gone(&world, "another").await;
        assert_eq!(record(&world).await, Some(before));
        assert_eq!(world.objects().await, ["x"]);
    });
}

#[test]
fn a_work_does_not_read_a_record_either() {
    run(async {
        let world = World::new().await;
        let before = scene(&world).await;
        let resource = json!({
            "group": "work.open-cluster-management.io", "resource": "appliedmanifestworks", "name": before.metadata.name,
        });
        let paths = json!([{ "name": "uid", "path": ".metadata.uid" }]);
        let configs = json!([{
            "resourceIdentifier": resource, "updateStrategy": { "type": "ReadOnly" },
            "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": paths }],
        }]);
        world
            .patch("another", json!({ "spec": { "manifestConfigs": configs } }))
            .await;
        world.agent().look().await;
        let work = world.works().get("another").await.unwrap();
        let status = serde_json::to_string(&work.status).unwrap();
        assert!(
            status.contains("ReservedKind") && !status.contains(before.metadata.uid.as_deref().unwrap()),
            "{status}"
        );
    });
}

#[test]
fn a_record_that_a_work_took_before_that_was_refused_outlives_the_work() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (world, before) = with_sabotaged(Rule::RecordsReserved, || {
        runtime.block_on(async {
            let world = World::new().await;
            let before = scene(&world).await;
            let taken = record(&world).await.unwrap();
            assert_eq!(
                taken.metadata.owner_references.map(|owners| owners.len()),
                Some(1)
            );
            (world, before)
        })
    });
    runtime.block_on(async {
        until_gone(&world, "another").await;
        let now = record(&world).await.unwrap();
        assert_eq!(now.metadata.uid, before.metadata.uid);
        assert_eq!((now.metadata.owner_references, now.status), (None, before.status));
        assert_eq!(world.objects().await, ["x"]);
        until_gone(&world, "victim").await;
        assert!(world.objects().await.is_empty());
        assert_eq!(world.records().await, 0);
    });
}
