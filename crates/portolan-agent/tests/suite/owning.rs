//! Objects name the record of their work as their owner, and that is what allows an agent to delete them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use portolan_api::work::AppliedManifestWork;
use serde_json::json;

use crate::network::Faults;
use crate::owners::settle;
use crate::world::{World, eventually};
use portolan_agent::Agent;

async fn owners(world: &World, name: &str) -> Vec<OwnerReference> {
    let map = world.config_maps().get(name).await.unwrap();
    map.metadata.owner_references.unwrap_or_default()
}

/// The record of the only work of this world, if there is one.
async fn record(world: &World) -> Option<AppliedManifestWork> {
    let records = Api::<AppliedManifestWork>::all(world.spoke.client());
    let listed = records.list(&ListParams::default()).await.unwrap();
    listed.into_iter().find(|record| {
        let resources = record.status.iter().flat_map(|status| &status.applied_resources);
        resources
            .into_iter()
            .any(|resource| resource.identifier.namespace == world.namespace)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_names_its_record_while_it_goes_with_its_work() {
    let world = World::new().await;
    let faults = [Faults::default()];
    let spoke = faults[0].client(&world.spoke);
    let agent = Agent::start(world.hub.client(), spoke, world.settings());
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    let record = record(&world).await.unwrap();
    let named = owners(&world, "a").await;
    assert_eq!(
        serde_json::to_value(&named).unwrap(),
        json!([{
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork",
            "name": record.name_any(), "uid": record.uid(),
        }])
    );
    let map = world.config_maps().get("a").await.unwrap();
    assert_eq!(map.metadata.labels, None, "nothing else is left on it");

    for (policy, count) in [("Orphan", 0), ("Foreground", 1), ("Orphan", 0)] {
        let option = json!({ "spec": { "deleteOption": { "propagationPolicy": policy } } });
        world.patch_work("web", option).await;
        eventually(&format!("{policy}: {count} owners"), async || {
            owners(&world, "a").await.len() == count
        })
        .await;
    }
    world.delete_work("web").await;
    world.until_gone("web").await;
    settle(&world, &faults).await;
    world.until_values("", &[("a", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_two_works_names_two_records_and_loses_one_with_each() {
    let world = World::new().await;
    let agent = world.agent();
    for work in ["one", "two"] {
        world.create_work(work, &[world.config_map("a", "1")]).await;
        world.until_applied(work).await;
    }
    let uid = world.config_maps().get("a").await.unwrap().uid();
    assert_eq!(owners(&world, "a").await.len(), 2);
    world.delete_work("one").await;
    world.until_gone("one").await;
    assert_eq!(owners(&world, "a").await.len(), 1);
    assert_eq!(world.config_maps().get("a").await.unwrap().uid(), uid);
    world.delete_work("two").await;
    world.until_gone("two").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_an_earlier_work_is_not_deleted_by_one_that_could_never_apply_it() {
    let world = World::new().await;
    let agent = world.agent();
    let orphan = json!({ "deleteOption": { "propagationPolicy": "Orphan" } });
    world
        .create_work_with("first", &[world.config_map("a", "1")], orphan)
        .await;
    world.until_applied("first").await;
    world.delete_work("first").await;
    world.until_gone("first").await;

    let configs = json!({ "manifestConfigs": [{
        "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": "a" },
        "updateStrategy": { "type": "ServerSideApply", "serverSideApply": { "fieldManager": "work-agent-2" } },
    }] });
    world
        .create_work_with("second", &[world.config_map("a", "2")], configs)
        .await;
    world
        .until_condition("second", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    eventually("the record has forgotten it", async || {
        world.recorded().await.is_empty()
    })
    .await;
    world.delete_work("second").await;
    world.until_gone("second").await;
    world.until_values("", &[("a", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_somebody_deletes_is_made_anew_and_its_objects_stay_the_same() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    let (first, uid) = (
        record(&world).await.unwrap(),
        world.config_maps().get("a").await.unwrap().uid(),
    );
    let records = Api::<AppliedManifestWork>::all(world.spoke.client());
    let _ = records
        .delete(&first.name_any(), &DeleteParams::default())
        .await
        .unwrap();
    eventually("the object names another record", async || {
        let named = owners(&world, "a").await;
        let now = record(&world).await;
        now.is_some_and(|now| {
            now.uid() != first.uid() && named.len() == 1 && Some(&named[0].uid) == now.metadata.uid.as_ref()
        })
    })
    .await;
    assert_eq!(world.config_maps().get("a").await.unwrap().uid(), uid);
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_a_lost_work_takes_its_objects_along_when_somebody_deletes_it() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    let lost = record(&world).await.unwrap();
    agent.stop().await;
    world
        .patch_work("web", json!({ "metadata": { "finalizers": null } }))
        .await;
    world.delete_work("web").await;
    world.until_gone("web").await;

    let agent = world.agent();
    world.create_work("other", &[world.config_map("b", "1")]).await;
    world.until_applied("other").await;
    world.until_values("", &[("a", "1"), ("b", "1")]).await;
    let records = Api::<AppliedManifestWork>::all(world.spoke.client());
    let _ = records
        .delete(&lost.name_any(), &DeleteParams::default())
        .await
        .unwrap();
    world.until_values("", &[("b", "1")]).await;
    eventually("the record is gone", async || {
        records.get_opt(&lost.name_any()).await.unwrap().is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_from_before_objects_named_theirs_is_brought_up_to_date() {
    let world = World::new().await;
    let agent = world.agent();
    let maps = [world.config_map("a", "1"), world.config_map("b", "1")];
    world.create_work("web", &maps).await;
    world.until_applied("web").await;
    agent.stop().await;
    // As an earlier version left them.
    let (how, old) = (PatchParams::default(), record(&world).await.unwrap());
    let nobody = Patch::Merge(json!({ "metadata": { "ownerReferences": null } }));
    for name in ["a", "b"] {
        world.config_maps().patch(name, &how, &nobody).await.unwrap();
    }
    let records = Api::<AppliedManifestWork>::all(world.spoke.client());
    let unheld = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    records.patch(&old.name_any(), &how, &unheld).await.unwrap();
    world.set_manifests("web", &maps[1..]).await;

    let agent = world.agent();
    world.until_values("", &[("b", "1")]).await;
    eventually("the record waits and the object names it", async || {
        let now = records.get(&old.name_any()).await.unwrap();
        now.uid() == old.uid() && !now.finalizers().is_empty() && owners(&world, "b").await.len() == 1
    })
    .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_outlive_the_definition_of_records() {
    // A real server is shared, and other tests need the definition there.
    if portolan_testserver::TestServer::would_be_real() {
        return;
    }
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.create_work("lost", &[world.config_map("b", "1")]).await;
    world.until_applied("web").await;
    world.until_applied("lost").await;
    let maps = world.config_maps();
    let uids = async || {
        let listed = maps.list(&ListParams::default()).await.unwrap();
        let own = listed.into_iter().filter(|map| map.data.is_some());
        own.map(|map| map.uid()).collect::<Vec<_>>()
    };
    let before = uids().await;
    agent.stop().await;
    world
        .patch_work("lost", json!({ "metadata": { "finalizers": null } }))
        .await;
    world.delete_work("lost").await;
    world.until_gone("lost").await;

    let definitions = Api::<CustomResourceDefinition>::all(world.spoke.client());
    let name = "appliedmanifestworks.work.open-cluster-management.io";
    let definition = definitions.get(name).await.unwrap();
    let _ = definitions.delete(name, &DeleteParams::default()).await.unwrap();
    let agent = world.agent();
    eventually("the definition is gone", async || {
        definitions.get_opt(name).await.unwrap().is_none()
    })
    .await;
    assert_eq!(uids().await, before);

    let again = json!({ "metadata": { "name": name }, "spec": definition.spec });
    let again: CustomResourceDefinition = serde_json::from_value(again).unwrap();
    definitions.create(&PostParams::default(), &again).await.unwrap();
    eventually("the object names a record again", async || {
        owners(&world, "a").await.len() == 1
    })
    .await;
    assert_eq!(uids().await, before);
    agent.stop().await;
}
