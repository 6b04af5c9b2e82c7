//! What an agent may delete, and what happens to objects that stay.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::fixture::{World, manifest, run, spec};
use super::rules::notices;
use crate::sabotage::Rule;
use crate::work::WorkKind;
use crate::works::Outcome;

#[test]
fn an_object_that_was_never_applied_stays_although_the_record_lists_it() {
    notices(Rule::NamedIsLicence, || {
        run(async {
            let world = World::new().await;
            // Left by an earlier work, of this hub or of another.
            world.apply_as("work-agent", "x", "1").await;
            world.put("a", &["x"]).await;
            assert!(world.die_after(2).await, "it dies before it applies the object");
            assert_eq!(world.recorded().await, ["x"]);
            world.delete("a").await;
            for _ in 0..3 {
                world.agent().look().await;
            }
            assert!(world.works().get_opt("a").await.unwrap().is_none());
            world.objects().await == ["x"]
        })
    });
}

#[test]
fn an_object_that_was_just_made_and_does_not_name_its_record_yet_goes_with_its_work() {
    run(async {
        for writes in 2..5 {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            world.die_after(writes).await;
            world.delete("a").await;
            for _ in 0..3 {
                world.agent().look().await;
            }
            assert!(world.objects().await.is_empty(), "after {writes} writes");
            assert!(world.works().get_opt("a").await.unwrap().is_none());
        }
    });
}

#[test]
fn an_object_that_another_agent_lists_without_owning_it_outlives_the_work() {
    notices(Rule::NamedIsLicence, || {
        run(async {
            let world = World::new().await;
            world.apply_as("somebody", "read", "1").await;
            let config = json!({
                "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": "default", "name": "read" },
                "updateStrategy": { "type": "ReadOnly" },
            });
            world.put_with("a", &["read", "x"], json!([config])).await;
            world.agent().look().await;
            // The other agent lists what it only looks at, too, and leaves no notes.
            world.list_as_another_agent("a", "read").await;
            world.delete("a").await;
            for _ in 0..3 {
                world.agent().look().await;
            }
            assert!(world.works().get_opt("a").await.unwrap().is_none());
            world.objects().await == ["read"]
        })
    });
}

/// A work whose object another manager has in other words, without force.
async fn refused(world: &World) {
    world.apply_as("somebody", "x", "theirs").await;
    let mut ours = manifest("x");
    ours["data"] = json!({ "k": "ours" });
    let config = json!({
        "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": "default", "name": "x" },
        "updateStrategy": { "type": "ServerSideApply", "serverSideApply": { "fieldManager": "work-agent-a" } },
    });
    let spec = json!({ "workload": { "manifests": [ours] }, "manifestConfigs": [config] });
    world.put_spec("a", spec).await;
}

#[test]
fn what_the_member_refuses_leaves_the_record() {
    notices(Rule::RefusedIsForgotten, || {
        run(async {
            let world = World::new().await;
            refused(&world).await;
            world.agent().look().await;
            world.recorded().await.is_empty()
        })
    });
}

#[test]
fn an_object_that_stays_does_not_name_a_record_that_goes() {
    notices(Rule::StaysUnowned, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            let mut agent = world.agent();
            agent.look().await;
            assert_eq!(world.owners("x").await.map(|owners| owners.len()), Some(1));
            let orphan = json!({ "spec": { "deleteOption": { "propagationPolicy": "Orphan" } } });
            world.patch("a", orphan).await;
            world.delete("a").await;
            for _ in 0..3 {
                agent.look().await;
            }
            assert!(world.works().get_opt("a").await.unwrap().is_none());
            // Gone already, or soon: the member collects what names an owner that is gone.
            world.owners("x").await.is_some_and(|owners| owners.is_empty())
        })
    });
}

#[test]
fn who_made_an_object_once_does_not_own_another_of_its_name() {
    run(async {
        let world = World::new().await;
        let config = json!({
            "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": "default", "name": "x" },
            "updateStrategy": { "type": "CreateOnly" },
        });
        let mut work = spec(&["x", "y"]);
        work["manifestConfigs"] = json!([config]);
        world.put_spec("a", work).await;
        let mut agent = world.agent();
        agent.look().await;
        assert_eq!(world.recorded().await, ["x", "y"]);
        world.replace("x").await;
        agent.look().await;
        assert_eq!(world.recorded().await, ["y"]);
        world.delete("a").await;
        for _ in 0..3 {
            agent.look().await;
        }
        assert_eq!(world.objects().await, ["x"]);
    });
}

#[test]
fn nothing_is_applied_for_a_work_that_another_agent_has_let_go_meanwhile() {
    notices(Rule::AskAfterRecord, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            let finalizer = "cluster.open-cluster-management.io/manifest-work-cleanup";
            let held = json!({ "metadata": { "finalizers": [finalizer] } });
            world.patch("a", held).await;
            let mut agent = world.agent();
            agent.list(WorkKind::ManifestWork).await;
            agent.list(WorkKind::Work).await;
            // The other one found no record.
            world.lose("a").await;
            agent.pass("a").await;
            world.objects().await.is_empty() && world.records().await == 0
        })
    });
}

#[test]
fn a_record_of_a_lost_work_is_cleared_away_only_if_nothing_of_it_was_applied() {
    run(async {
        // It dies before the first write, after the record, its content, the object, the reference and the UID.
        for (writes, records, objects) in [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 1), (4, 1, 1), (5, 1, 1)] {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            world.die_after(writes).await;
            world.lose("a").await;
            let mut agent = world.agent();
            agent.look().await;
            agent.sweep().await;
            assert_eq!(world.records().await, records, "after {writes} writes");
            assert_eq!(world.objects().await.len(), objects, "after {writes} writes");
        }
    });
}

#[test]
fn a_work_whose_record_has_the_name_of_another_record_changes_nothing() {
    run(async {
        let world = World::new().await;
        let long = "a".repeat(240);
        world.put(&long, &["x"]).await;
        world.agent().look().await;
        let record = world.record(&long).await.name_any();
        // As long as a record's name may be, so it is not shortened, and it is what the other name is shortened to.
        let (_, same) = record
            .split_once('-')
            .expect("the hash of the hub comes before the name");
        world.put(same, &["y"]).await;
        let mut agent = world.agent();
        agent.look().await;
        assert_eq!(world.objects().await, ["x"]);
        assert!(matches!(agent.pass(same).await, Outcome::Failed));
        let status = world.works().get(same).await.unwrap().status.unwrap();
        let applied = |condition: &&Condition| condition.type_ == "Applied";
        let applied = status.conditions.iter().find(applied).unwrap();
        assert_eq!(applied.status, "False", "{applied:?}");
        let manifests = json!(status.resource_status).to_string();
        assert!(
            manifests.contains("NoRecord") && manifests.contains("a shorter name"),
            "{manifests}"
        );
        // An agent that did not know of it may have held the work.
        let held = json!({ "metadata": { "finalizers": [WorkKind::ManifestWork.finalizer()] } });
        let patch = Patch::Merge(held);
        world
            .works()
            .patch(same, &PatchParams::default(), &patch)
            .await
            .unwrap();
        world.delete(same).await;
        agent.look().await;
        assert!(world.works().get_opt(same).await.unwrap().is_none());
        assert_eq!(world.objects().await, ["x"]);
    });
}

#[test]
fn a_record_that_names_another_work_is_still_the_record_of_its_own() {
    run(async {
        let world = World::new().await;
        world.put("app", &["x"]).await;
        world.agent().look().await;
        let record = world.record("app").await.name_any();
        world.rename_work_in(&record, "other").await;
        world.delete("app").await;
        for _ in 0..3 {
            world.agent().look().await;
        }
        assert!(world.works().get_opt("app").await.unwrap().is_none());
        assert!(world.objects().await.is_empty(), "the object went with its work");
    });
}
