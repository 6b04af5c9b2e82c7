//! Agents that die, networks that are gone, and agents that may do little.

use std::time::Duration;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use portolan_agent::Agent;
use portolan_api::work::{AppliedManifestWork, ManifestWork};
use serde_json::{Value, json};

use crate::network::Faults;
use crate::owners::{look_again, settle};
use crate::world::{World, eventually, versions};

/// Where the writes go that an agent dies at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Hub,
    Member,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_that_dies_before_any_write_leaves_the_next_one_puts_right() {
    kill_at_every_write(To::Member, Faults::still_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_before_the_answer_to_any_write_leaves_nothing_either() {
    kill_at_every_write(To::Member, Faults::unanswered_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_one_that_dies_before_a_write_to_the_hub() {
    kill_at_every_write(To::Hub, Faults::still_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_one_that_dies_before_the_answer_to_a_write_to_the_hub() {
    kill_at_every_write(To::Hub, Faults::unanswered_after).await;
}

/// A life of a work in which it is made, edited and deleted.
const EDITS: usize = 3;

/// Kills the agent at its first, second, … write in each part of a work's life, until it gets by with fewer. Its successor
/// ends where an agent would have that nobody killed.
async fn kill_at_every_write(to: To, at: impl Fn(usize) -> Faults) {
    for edit in 0..EDITS {
        let world = World::new().await;
        let mut writes = 0;
        while kill_at_write(&world, to, at(writes), edit, &format!("w{writes}")).await {
            writes += 1;
        }
        assert!(writes > 0, "{to:?}: nothing is written at edit {edit}");
    }
}

/// Kills an agent in one part of a work's life. Whether it came to that.
async fn kill_at_write(world: &World, to: To, faults: Faults, killed: usize, name: &str) -> bool {
    let map = |part: &str, value: &str| world.config_map(&format!("{name}-{part}"), value);
    let mut came_to_it = false;
    for edit in 0..EDITS {
        match edit {
            0 => world.create_work(name, &[map("a", "1"), map("b", "1")]).await,
            1 => world.set_manifests(name, &[map("b", "2"), map("c", "2")]).await,
            _ => world.delete_work(name).await,
        }
        if edit == killed {
            let (hub, spoke) = match to {
                To::Hub => (faults.client(&world.hub), world.spoke.client()),
                To::Member => (world.hub.client(), faults.client(&world.spoke)),
            };
            let agent = Agent::start(hub, spoke, world.settings());
            came_to_it = faults
                .stands_still_unless(async || is_done(world, name, edit).await)
                .await;
            agent.kill();
        }
        let agent = world.agent();
        eventually("its successor is done", async || is_done(world, name, edit).await).await;
        let (b, c) = (format!("{name}-b"), format!("{name}-c"));
        match edit {
            0 => {
                world
                    .until_values(name, &[(&format!("{name}-a"), "1"), (&b, "1")])
                    .await
            }
            1 => world.until_values(name, &[(&b, "2"), (&c, "2")]).await,
            _ => world.until_values(name, &[]).await,
        }
        agent.stop().await;
    }
    assert!(world.recorded().await.is_empty());
    came_to_it
}

/// Whether the work is applied, or gone, in its present form.
async fn is_done(world: &World, name: &str, edit: usize) -> bool {
    let Some(work) = world.manifest_works().get_opt(name).await.unwrap() else {
        return edit == EDITS - 1;
    };
    let conditions = work.status.unwrap_or_default().conditions;
    edit < EDITS - 1
        && conditions.iter().any(|condition| {
            condition.type_ == "Applied"
                && condition.status == "True"
                && condition.observed_generation == work.metadata.generation
        })
}

/// An agent dies before it could say what it was about to do, and meanwhile somebody withdraws that.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_on_its_way_when_an_agent_died_is_removed_if_it_is_withdrawn_meanwhile() {
    withdraw_at_every_write(Faults::still_after).await;
    withdraw_at_every_write(Faults::unanswered_after).await;
}

async fn withdraw_at_every_write(at: impl Fn(usize) -> Faults) {
    let world = World::new().await;
    for writes in 0.. {
        let name = format!("w{writes}");
        let map = |part: &str, value: &str| world.config_map(&format!("{name}-{part}"), value);
        world.create_work(&name, &[map("a", "1"), map("b", "1")]).await;
        let faults = at(writes);
        let agent = Agent::start(world.hub.client(), faults.client(&world.spoke), world.settings());
        let still = faults.stands_still_unless(async || {
            let work = world.manifest_works().get(&name).await.unwrap();
            let conditions = work.status.unwrap_or_default().conditions;
            conditions.iter().any(|condition| condition.type_ == "Applied")
        });
        let done = !still.await;
        agent.kill();
        // What was on its way is withdrawn before anybody could note whether it arrived.
        world.set_manifests(&name, &[map("b", "2"), map("c", "1")]).await;
        let agent = world.agent();
        world
            .until_values(&name, &[(&format!("{name}-b"), "2"), (&format!("{name}-c"), "1")])
            .await;
        world.until_applied(&name).await;
        world.delete_work(&name).await;
        world.until_gone(&name).await;
        world.until_values(&name, &[]).await;
        assert!(world.recorded().await.is_empty());
        agent.stop().await;
        if done {
            assert!(writes >= 4, "a record, its content twice, two objects");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_whose_object_is_not_answered_for_holds_up_no_other() {
    let world = World::new().await;
    let spoke = Faults::default();
    spoke.stick("/stuck");
    let agent = Agent::start(world.hub.client(), spoke.client(&world.spoke), world.settings());
    world.create_work("slow", &[world.config_map("stuck", "1")]).await;
    eventually("the slow one is dealt with", async || {
        let work = world.manifest_works().get("slow").await.unwrap();
        work.metadata.finalizers.is_some()
    })
    .await;
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    // It was given no answer yet, not even the one that there is none.
    let slow = world.manifest_works().get("slow").await.unwrap();
    assert!(slow.status.unwrap_or_default().conditions.is_empty());
    agent.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing() {
    let world = World::new().await;
    let faults = [Faults::default()];
    let start = || {
        Agent::start(
            world.hub.client(),
            faults[0].client(&world.spoke),
            world.settings(),
        )
    };
    let agent = start();
    world
        .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
        .await;
    world.until_applied("web").await;
    settle(&world, &faults).await;
    agent.stop().await;
    let before = versions(&world).await;
    let agent = start();
    look_again(&faults, 6).await;
    assert_eq!(versions(&world).await, before);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_cannot_be_reached_removes_nothing_and_is_caught_up_with_later() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.create_work("going", &[world.config_map("g", "1")]).await;
    world.until_applied("web").await;
    world.until_applied("going").await;
    agent.stop().await;

    let (hub, spoke) = (Faults::default(), Faults::default());
    hub.cut(true);
    world.set_manifests("web", &[world.config_map("b", "1")]).await;
    world.delete_work("going").await;
    let agent = Agent::start(
        hub.client(&world.hub),
        spoke.client(&world.spoke),
        world.settings(),
    );
    look_again(std::slice::from_ref(&hub), 3).await;
    assert_eq!(spoke.writes(), 0);
    assert_eq!(world.values("").await.len(), 2);

    hub.cut(false);
    world.until_values("", &[("b", "1")]).await;
    world.until_gone("going").await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_says_how_it_is_and_what_it_counted() {
    let world = World::new().await;
    let agent = world.agent();
    let monitor = agent.monitor();
    let says = async |line: &str| {
        eventually(line, async || monitor.text().lines().any(|said| said == line)).await;
    };
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world
        .create_work("bad", &[json!({ "apiVersion": "v1", "kind": "ConfigMap" })])
        .await;
    says(r#"portolan_agent_works{kind="ManifestWork",state="applied"} 1"#).await;
    says(r#"portolan_agent_works{kind="ManifestWork",state="failed"} 1"#).await;
    says(r#"portolan_agent_applies_total{result="ok"} 1"#).await;
    says("portolan_agent_hub_reachable 1").await;
    says("portolan_agent_ready 1").await;
    assert!(monitor.text().contains("portolan_agent_heartbeat_age_seconds "));

    world.delete_work("bad").await;
    world.until_gone("bad").await;
    eventually("it is not counted any more", async || {
        !monitor.text().contains(r#"state="failed""#)
    })
    .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_that_vanishes_without_being_deleted_leaves_its_objects() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    agent.stop().await;
    // As after a restore of the hub: the work is not there, and nobody waited for the agent.
    world
        .patch_work("web", json!({ "metadata": { "finalizers": null } }))
        .await;
    world.delete_work("web").await;
    world.until_gone("web").await;

    let faults = [Faults::default()];
    let agent = Agent::start(
        world.hub.client(),
        faults[0].client(&world.spoke),
        world.settings(),
    );
    world.create_work("other", &[world.config_map("b", "1")]).await;
    world.until_applied("other").await;
    settle(&world, &faults).await;
    assert_eq!(world.values("").await.len(), 2);

    // Made anew with less in it, it removes nothing until somebody edits it.
    world.create_work("web", &[world.config_map("c", "1")]).await;
    world.until_applied("web").await;
    settle(&world, &faults).await;
    assert_eq!(world.values("a").await.len(), 1);
    world.set_manifests("web", &[world.config_map("c", "2")]).await;
    world.until_values("", &[("b", "1"), ("c", "2")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_needs_no_more_than_its_own_namespace_on_the_hub() {
    let world = World::new().await;
    let admin = world.hub.client();
    let (name, user) = (
        format!("agent-{}", world.cluster),
        format!("agent-{}", world.cluster),
    );
    let role: Role = serde_json::from_value(json!({
        "metadata": { "name": name },
        "rules": [
            { "apiGroups": ["work.open-cluster-management.io"], "resources": ["manifestworks"], "verbs": ["get", "list", "watch", "patch"] },
            { "apiGroups": ["multicluster.x-k8s.io"], "resources": ["works"], "verbs": ["get", "list", "watch", "patch"] },
            { "apiGroups": ["work.open-cluster-management.io"], "resources": ["manifestworks/status"], "verbs": ["patch"] },
            { "apiGroups": ["multicluster.x-k8s.io"], "resources": ["works/status"], "verbs": ["patch"] },
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"] },
        ],
    }))
    .unwrap();
    let own: ClusterRole = serde_json::from_value(json!({
        "metadata": { "name": name },
        "rules": [
            { "apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters"], "resourceNames": [world.cluster], "verbs": ["get"] },
            { "apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters/status"], "resourceNames": [world.cluster], "verbs": ["patch"] },
        ],
    }))
    .unwrap();
    let binding = |kind: &str| {
        json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        })
    };
    let how = PostParams::default();
    Api::<Role>::namespaced(admin.clone(), &world.cluster)
        .create(&how, &role)
        .await
        .unwrap();
    let bound: RoleBinding = serde_json::from_value(binding("Role")).unwrap();
    Api::<RoleBinding>::namespaced(admin.clone(), &world.cluster)
        .create(&how, &bound)
        .await
        .unwrap();
    Api::<ClusterRole>::all(admin.clone())
        .create(&how, &own)
        .await
        .unwrap();
    let bound: ClusterRoleBinding = serde_json::from_value(binding("ClusterRole")).unwrap();
    Api::<ClusterRoleBinding>::all(admin.clone())
        .create(&how, &bound)
        .await
        .unwrap();
    crate::heartbeat::create_cluster(&world).await;

    let limited = world.hub.client_as(&user, &[]);
    let elsewhere = Api::<ManifestWork>::namespaced(limited.clone(), "default");
    eventually("the roles count", async || {
        let own = Api::<ManifestWork>::namespaced(limited.clone(), &world.cluster);
        own.list(&ListParams::default()).await.is_ok()
    })
    .await;
    assert!(elsewhere.list(&ListParams::default()).await.is_err());
    let agent = Agent::start(limited, world.spoke.client(), world.settings());
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    crate::heartbeat::until_joined(&world).await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_being_deleted_is_waited_for_and_made_anew() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("web", "1")]).await;
    world.until_values("web", &[("web", "1")]).await;
    let records: Api<AppliedManifestWork> = Api::all(world.spoke.client());
    let own = async || {
        let listed = records.list(&ListParams::default()).await.unwrap();
        let is_own = |record: &AppliedManifestWork| {
            let applied = record.status.iter().flat_map(|status| &status.applied_resources);
            applied
                .into_iter()
                .any(|resource| resource.identifier.namespace == world.namespace)
        };
        listed.into_iter().find(is_own)
    };
    eventually("the object is recorded", async || own().await.is_some()).await;
    let first = own().await.unwrap();
    let how = PatchParams::default();
    let finalizers = |list: Value| Patch::Merge(json!({ "metadata": { "finalizers": list } }));
    let name = first.name_any();
    records
        .patch(&name, &how, &finalizers(json!(["test/holds"])))
        .await
        .unwrap();
    records.delete(&name, &DeleteParams::default()).await.unwrap();
    world.set_manifests("web", &[world.config_map("web", "2")]).await;
    // What is applied now would be in no record when this one is gone.
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.until_values("web", &[("web", "1")]).await;

    records
        .patch(&name, &how, &finalizers(Value::Null))
        .await
        .unwrap();
    world.until_values("web", &[("web", "2")]).await;
    eventually("another record has the object", async || {
        own().await.is_some_and(|record| record.uid() != first.uid())
    })
    .await;
    agent.stop().await;
}
