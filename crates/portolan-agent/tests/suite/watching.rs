//! Objects that are looked at as they change.

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use portolan_agent::{Agent, Clock};
use serde_json::json;

use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_watched_is_read_back_when_it_changes_and_not_when_its_time_comes() {
    let world = World::new().await;
    // On a clock that stands still no time ever comes.
    let mut settings = world.settings();
    settings.clock = Clock::new(|| Timestamp::from_second(1_800_000_000).unwrap());
    let agent = Agent::start(world.hub.client(), world.spoke.client(), settings);
    let spec = json!({ "manifestConfigs": [{
        "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": "a" },
        "updateStrategy": { "type": "CreateOnly" },
        "feedbackScrapeType": "Watch",
        "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": [{ "name": "k", "path": ".data.k" }] }],
    }] });
    world
        .create_work_with("web", &[world.config_map("a", "0")], spec)
        .await;
    let read_back = async || {
        let work = world.manifest_works().get("web").await.unwrap();
        let manifests = work.status?.resource_status?.manifests;
        let values = manifests.into_iter().next()?.status_feedback?.values;
        values.into_iter().next()?.field_value.string
    };
    for value in ["0", "1", "2"] {
        let patch = Patch::Merge(json!({ "data": { "k": value } }));
        eventually("it is there", async || {
            let how = PatchParams::default();
            world.config_maps().patch("a", &how, &patch).await.is_ok()
        })
        .await;
        eventually(&format!("{value} is read back"), async || {
            read_back().await.as_deref() == Some(value)
        })
        .await;
    }
    agent.kill();
}
