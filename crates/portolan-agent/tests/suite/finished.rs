//! Works that are complete.

use kube::api::DeleteParams;
use portolan_agent::Agent;
use portolan_api::work::ManifestWork;
use serde_json::{Value, json};

use crate::network::Faults;
use crate::owners::settle;
use crate::world::World;

/// A rule by which the ConfigMap is complete when it says so.
fn rule(world: &World, name: &str) -> Value {
    json!({
        "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": name },
        "conditionRules": [{
            "type": "CEL", "condition": "Complete", "celExpressions": ["object.data.k == 'done'"],
        }],
    })
}

fn applied_generation(work: &ManifestWork) -> Option<i64> {
    let conditions = work.status.clone().unwrap_or_default().conditions;
    let mut applied = conditions.iter().filter(|condition| condition.type_ == "Applied");
    applied.next().and_then(|condition| condition.observed_generation)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_complete_is_neither_made_anew_nor_changed_until_its_rule_is_gone() {
    let world = World::new().await;
    let faults = [Faults::default()];
    let agent = Agent::start(
        world.hub.client(),
        faults[0].client(&world.spoke),
        world.settings(),
    );
    let map = |name: &str, value: &str| world.config_map(name, value);
    let rules = json!({ "manifestConfigs": [rule(&world, "job"), rule(&world, "second")] });
    let manifests = [map("job", "1"), map("second", "1"), map("other", "1")];
    world.create_work_with("web", &manifests, rules).await;
    world
        .until_condition("web", "Complete", "False", "ConditionRulesAggregated")
        .await;

    // One of two: the rest of the work goes on.
    world
        .set_manifests(
            "web",
            &[map("job", "done"), map("second", "1"), map("other", "2")],
        )
        .await;
    world.until_values("o", &[("other", "2")]).await;
    world.until_values("j", &[("job", "done")]).await;
    settle(&world, &faults).await;
    let gone = DeleteParams::default();
    world.config_maps().delete("job", &gone).await.unwrap();
    world
        .set_manifests(
            "web",
            &[map("job", "again"), map("second", "2"), map("other", "3")],
        )
        .await;
    world.until_values("", &[("other", "3"), ("second", "2")]).await;

    // All that can be: nothing of the work is touched any more.
    world
        .set_manifests(
            "web",
            &[map("job", "again"), map("second", "done"), map("other", "3")],
        )
        .await;
    world
        .until_condition("web", "Complete", "True", "ConditionRulesAggregated")
        .await;
    let before = world.manifest_works().get("web").await.unwrap();
    assert_eq!(applied_generation(&before), before.metadata.generation);
    world
        .set_manifests("web", &[map("other", "4"), map("job", "2"), map("second", "4")])
        .await;
    settle(&world, &faults).await;
    world
        .until_values("", &[("other", "3"), ("second", "done")])
        .await;
    let edited = world.manifest_works().get("web").await.unwrap();
    assert_eq!(
        applied_generation(&edited),
        before.metadata.generation,
        "it was not applied"
    );

    world
        .patch_work("web", json!({ "spec": { "manifestConfigs": null } }))
        .await;
    world
        .until_values("", &[("job", "2"), ("other", "4"), ("second", "4")])
        .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}
