//! Works that are complete and are to go.

use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use portolan_api::work::ManifestWork;
use serde_json::{Value, json};

use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_work_is_deleted_after_its_time_unless_a_replica_set_owns_it() {
    let mut world = World::new().await;
    world.start_with(World::settings()).await;
    let api: Api<ManifestWork> = Api::default_namespaced(world.client.clone());
    let create = async |name: &str, labels: Value, ttl: Option<i64>, rule: Value| {
        let work = json!({
            "metadata": { "name": name, "labels": labels, "finalizers": ["example.com/agent"] },
            "spec": { "workload": { "manifests": [{
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default" },
            }] }, "deleteOption": { "ttlSecondsAfterFinished": ttl }, "manifestConfigs": [{
                "resourceIdentifier": { "resource": "configmaps", "namespace": "default", "name": "a" },
                "conditionRules": [rule],
            }] },
        });
        let work: ManifestWork = serde_json::from_value(work).unwrap();
        api.create(&PostParams::default(), &work).await.unwrap();
    };
    let complete = json!({ "type": "CEL", "condition": "Complete", "celExpressions": ["true"] });
    create("later", json!({}), Some(3600), complete.clone()).await;
    create("stays", json!({}), None, complete.clone()).await;
    create(
        "ruleless",
        json!({}),
        Some(0),
        json!({ "type": "WellKnownConditions", "condition": "" }),
    )
    .await;
    create(
        "owned",
        json!({ portolan_api::labels::ocm::REPLICA_SET: "ns.set" }),
        Some(0),
        complete.clone(),
    )
    .await;
    create("goes", json!({}), Some(0), complete).await;
    let now = World::settings().clock.now().strftime("%FT%TZ").to_string();
    let is_leaving = async |name: &str| {
        let work = api.get(name).await.unwrap();
        work.metadata.deletion_timestamp.is_some()
    };
    for name in ["later", "stays", "ruleless", "owned", "goes"] {
        assert!(!is_leaving(name).await, "{name} is not complete yet");
        let conditions = json!([{
            "type": "Complete", "status": "True", "reason": "ConditionRulesAggregated", "message": "",
            "lastTransitionTime": now,
        }]);
        let manifests = json!([{
            "resourceMeta": {
                "ordinal": 0, "version": "v1", "kind": "ConfigMap", "resource": "configmaps", "namespace": "default",
                "name": "a",
            },
            "conditions": conditions,
        }]);
        let patch = Patch::Merge(json!({ "status": {
            "conditions": conditions, "resourceStatus": { "manifests": manifests },
        } }));
        api.patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    eventually("goes is deleted", async || is_leaving("goes").await).await;
    for name in ["later", "stays", "ruleless", "owned"] {
        assert!(!is_leaving(name).await, "{name}");
    }
}
