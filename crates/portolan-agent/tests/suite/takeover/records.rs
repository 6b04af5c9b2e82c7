//! Whose a record is, what it is called, and when a record goes whose work is lost.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use portolan_agent::Agent;
use portolan_api::work::{AppliedManifestWork, ManifestWork};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{agent_id, hub_hash, patch, record_name, records};
use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_named_and_labelled_as_other_agents_do_it() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    let name = record_name(&world, "web");
    let record = records(&world).get(&name).await.unwrap();
    assert_eq!(
        (
            record.spec.hub_hash,
            record.spec.agent_id,
            record.spec.manifest_work_name
        ),
        (
            Some(hub_hash(&world)),
            Some(hub_hash(&world)),
            Some("web".to_owned())
        )
    );

    for (labels, expected) in [
        (
            json!({ "team": "shop", "tier": "1" }),
            vec![("team", "shop"), ("tier", "1")],
        ),
        (json!({ "team": "till", "tier": null }), vec![("team", "till")]),
    ] {
        world
            .patch_work("web", json!({ "metadata": { "labels": labels } }))
            .await;
        let expected: BTreeMap<String, String> = expected
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        eventually(&format!("the record has the labels {expected:?}"), async || {
            *records(&world).get(&name).await.unwrap().labels() == expected
        })
        .await;
    }
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_another_agent_is_taken_over_once_and_not_if_that_one_runs_too() {
    let world = World::new().await;
    let mut settings = world.settings();
    settings.agent_id = "klusterlet".to_owned();
    let start = |settings| Agent::start(world.hub.client(), world.spoke.client(), settings);
    let agent = start(settings);
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    agent.stop().await;
    let name = record_name(&world, "web");
    assert_eq!(agent_id(&world, &name).await, "klusterlet");
    let (record, object) = (
        records(&world).get(&name).await.unwrap().uid(),
        world.config_maps().get("a").await.unwrap().uid(),
    );

    let agent = world.agent();
    eventually("the record is taken over", async || {
        agent_id(&world, &name).await == hub_hash(&world)
    })
    .await;
    patch(&world, &name, json!({ "spec": { "agentID": "klusterlet" } })).await;
    world.set_manifests("web", &[world.config_map("a", "2")]).await;
    world.until_applied("web").await;
    world.until_values("", &[("a", "2")]).await;
    assert_eq!(agent_id(&world, &name).await, "klusterlet", "it is left so");
    assert_eq!(records(&world).get(&name).await.unwrap().uid(), record);
    assert_eq!(world.config_maps().get("a").await.unwrap().uid(), object);
    agent.stop().await;
}

/// Leaves the record of the work `web` as earlier versions of this agent left theirs. Its name.
async fn make_former(world: &World) -> String {
    let digest = Sha256::digest(format!("/{}", world.cluster));
    let hash: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{hash}-web");
    let present = records(world).get(&record_name(world, "web")).await.unwrap();
    let former: AppliedManifestWork = serde_json::from_value(json!({
        "metadata": {
            "name": name, "annotations": present.annotations(), "finalizers": present.finalizers(),
        },
        "spec": { "hubHash": hash, "agentID": "portolan", "manifestWorkName": "web" },
    }))
    .unwrap();
    let former = records(world)
        .create(&PostParams::default(), &former)
        .await
        .unwrap();
    let status = Patch::Merge(json!({ "status": present.status }));
    let how = PatchParams::default();
    records(world).patch_status(&name, &how, &status).await.unwrap();
    let owner = json!([{
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork",
        "name": name, "uid": former.uid(),
    }]);
    let owned = Patch::Merge(json!({ "metadata": { "ownerReferences": owner } }));
    for map in world.config_maps().list(&ListParams::default()).await.unwrap() {
        if map.owner_references().is_empty() {
            continue;
        }
        world
            .config_maps()
            .patch(&map.name_any(), &how, &owned)
            .await
            .unwrap();
    }
    patch(
        world,
        &present.name_any(),
        json!({ "metadata": { "finalizers": null } }),
    )
    .await;
    let _ = records(world)
        .delete(&present.name_any(), &DeleteParams::default())
        .await
        .unwrap();
    name
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_under_a_former_name_is_moved_and_its_objects_stay_the_same() {
    let world = World::new().await;
    for deleted_meanwhile in [false, true] {
        let agent = world.agent();
        world
            .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
            .await;
        world.until_applied("web").await;
        agent.stop().await;
        let former = make_former(&world).await;
        let object = world.config_maps().get("a").await.unwrap().uid();
        match deleted_meanwhile {
            true => world.delete_work("web").await,
            false => world.set_manifests("web", &[world.config_map("a", "1")]).await,
        }

        let agent = world.agent();
        eventually("the former record is gone", async || {
            records(&world).get_opt(&former).await.unwrap().is_none()
        })
        .await;
        if !deleted_meanwhile {
            world.until_applied("web").await;
            world.until_values("", &[("a", "1")]).await;
            let map = world.config_maps().get("a").await.unwrap();
            assert_eq!((map.uid(), map.owner_references().len()), (object, 1));
            world.delete_work("web").await;
        }
        world.until_gone("web").await;
        world.until_values("", &[]).await;
        agent.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_must_not_see_works_of_the_sig_still_removes_what_is_withdrawn() {
    let world = World::new().await;
    let admin = world.hub.client();
    let user = format!("klusterlet-{}", world.cluster);
    let group = "work.open-cluster-management.io";
    let role: Role = serde_json::from_value(json!({
        "metadata": { "name": user },
        "rules": [
            { "apiGroups": [group], "resources": ["manifestworks"], "verbs": ["get", "list", "watch", "patch"] },
            { "apiGroups": [group], "resources": ["manifestworks/status"], "verbs": ["patch"] },
        ],
    }))
    .unwrap();
    let bound: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    }))
    .unwrap();
    let how = PostParams::default();
    Api::namespaced(admin.clone(), &world.cluster)
        .create(&how, &role)
        .await
        .unwrap();
    Api::namespaced(admin, &world.cluster)
        .create(&how, &bound)
        .await
        .unwrap();
    let limited = world.hub.client_as(&user, &[]);
    let own = Api::<ManifestWork>::namespaced(limited.clone(), &world.cluster);
    eventually("the role counts", async || {
        own.list(&ListParams::default()).await.is_ok()
    })
    .await;
    let mut settings = world.settings();
    settings.heartbeat = false;
    let agent = Agent::start(limited, world.spoke.client(), settings);
    world
        .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
        .await;
    world.until_applied("web").await;
    world.set_manifests("web", &[world.config_map("a", "1")]).await;
    world.until_values("", &[("a", "1")]).await;
    eventually("the agent is ready without a heartbeat", async || {
        agent.monitor().why_not_ready().is_empty()
    })
    .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

/// Removes a work from the hub without a deletion that anybody could see.
async fn lose(world: &World, work: &str) {
    world
        .patch_work(work, json!({ "metadata": { "finalizers": null } }))
        .await;
    world.delete_work(work).await;
    world.until_gone(work).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_work_is_evicted_after_its_grace_period_and_not_if_it_comes_back() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.create_work("back", &[world.config_map("b", "1")]).await;
    world.until_applied("web").await;
    world.until_applied("back").await;
    agent.stop().await;
    lose(&world, "web").await;
    lose(&world, "back").await;

    let start = |grace: u64| {
        let mut settings = world.settings();
        settings.poll = std::time::Duration::from_millis(100);
        settings.eviction_grace = Some(std::time::Duration::from_secs(grace));
        Agent::start(world.hub.client(), world.spoke.client(), settings)
    };
    let since = async |work: &str| {
        let name = record_name(&world, work);
        let record = records(&world).get(&name).await.unwrap();
        record.status.and_then(|status| status.eviction_start_time)
    };
    let agent = start(3600);
    eventually("the time of both starts to run", async || {
        since("web").await.is_some() && since("back").await.is_some()
    })
    .await;
    world.create_work("back", &[world.config_map("b", "1")]).await;
    eventually("the time of the one that is back stops", async || {
        since("back").await.is_none()
    })
    .await;
    world.until_values("", &[("a", "1"), ("b", "1")]).await;
    agent.stop().await;

    let agent = start(0);
    world.until_values("", &[("b", "1")]).await;
    let name = record_name(&world, "web");
    eventually("the record is gone", async || {
        records(&world).get_opt(&name).await.unwrap().is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_a_former_hub_goes_when_present_records_have_its_objects() {
    let world = World::new().await;
    let start = |hub: &str| {
        let mut settings = world.settings();
        settings.poll = std::time::Duration::from_millis(100);
        settings.hub_id = format!("{hub}-{}", world.cluster);
        settings.agent_id = format!("agent-{}", world.cluster);
        Agent::start(world.hub.client(), world.spoke.client(), settings)
    };
    let own = async || {
        let listed = records(&world).list(&ListParams::default()).await.unwrap();
        let id = format!("agent-{}", world.cluster);
        let own = listed
            .into_iter()
            .filter(|record| record.spec.agent_id.as_ref() == Some(&id));
        own.map(|record| record.name_any()).collect::<Vec<_>>()
    };
    let agent = start("old");
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.create_work("kept", &[world.config_map("b", "1")]).await;
    world.until_applied("web").await;
    world.until_applied("kept").await;
    let (before, uid) = (own().await, world.config_maps().get("a").await.unwrap().uid());
    agent.stop().await;
    lose(&world, "kept").await;

    // The other hub has one of the works, too.
    let agent = start("new");
    let digest = Sha256::digest(format!("old-{}", world.cluster));
    let old: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    eventually("the former record of the work is gone", async || {
        let now = own().await;
        now.contains(&format!("{old}-kept")) && !now.contains(&format!("{old}-web"))
    })
    .await;
    assert_eq!(before.len(), 2);
    let map = world.config_maps().get("a").await.unwrap();
    assert_eq!((map.uid(), map.owner_references().len()), (uid, 1));
    world.until_values("", &[("a", "1"), ("b", "1")]).await;
    agent.stop().await;
}
