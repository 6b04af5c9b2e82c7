//! Works whose executor has no right to an object: they can neither keep it nor take it from others, whatever they say.

use serde_json::{Value, json};

use crate::world::{World, eventually};

/// An executor that may do nothing.
fn executor(world: &World) -> Value {
    let account = json!({ "namespace": world.namespace, "name": "nobody" });
    json!({ "subject": { "type": "ServiceAccount", "serviceAccount": account } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_without_rights_and_without_conditions_blocks_no_other_and_has_a_status() {
    let world = World::new().await;
    let agent = world.agent();
    let rule = |named: &str| json!({ "type": "CEL", "condition": named, "celExpressions": ["true"] });
    let config = json!({
        "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": "x" },
        "conditionRules": [rule("not a type!"), rule(&"a".repeat(317)), rule("Available")],
    });
    let spec = json!({ "executor": executor(&world), "manifestConfigs": [config] });
    world
        .create_work_with("a-squat", &[world.config_map("x", "squat")], spec)
        .await;
    world
        .until_condition("a-squat", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    world.create_work("web", &[world.config_map("x", "1")]).await;
    world.until_applied("web").await;
    world.until_values("", &[("x", "1")]).await;
    eventually("the status says that a rule is wrong", async || {
        let work = world.manifest_works().get("a-squat").await.unwrap();
        let said = serde_json::to_string(&work.status).unwrap();
        said.contains("ConditionRulesValid")
    })
    .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_without_rights_that_is_edited_all_the_time_keeps_no_object() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("x", "1")]).await;
    world.until_applied("web").await;
    let spec = json!({ "executor": executor(&world) });
    world
        .create_work_with("squat", &[world.config_map("x", "0")], spec)
        .await;
    world
        .until_condition("squat", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let edits = async {
        for edit in 1.. {
            let map = world.config_map("x", &edit.to_string());
            world.set_manifests("squat", &[map]).await;
        }
    };
    let deletion = async {
        world.delete_work("web").await;
        world.until_gone("web").await;
    };
    tokio::select! {
        () = edits => {}
        () = deletion => {}
    }
    world.until_values("", &[]).await;
    agent.stop().await;
}
