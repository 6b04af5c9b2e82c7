//! Kinds whose definition is made anew while an agent runs.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use serde_json::json;

use super::fixture::{NAMESPACE, World, run};

async fn define(world: &World, plural: &str, scope: &str) {
    let definition = json!({
        "metadata": { "name": format!("{plural}.example.com") },
        "spec": {
            "group": "example.com", "scope": scope, "names": { "kind": "Widget", "plural": plural },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    let definitions = Api::<CustomResourceDefinition>::all(world.spoke());
    let definition = serde_json::from_value(definition).unwrap();
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
}

fn widgets(plural: &str) -> ApiResource {
    ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: plural.to_owned(),
    }
}

#[test]
fn a_kind_that_comes_back_with_another_plural_and_scope_is_learnt_again() {
    run(async {
        let world = World::new().await;
        define(&world, "widgets", "Namespaced").await;
        let widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w", "namespace": NAMESPACE },
        });
        world
            .put_spec("a", json!({ "workload": { "manifests": [widget] } }))
            .await;
        let mut agent = world.agent();
        agent.look().await;
        let before = Api::<DynamicObject>::namespaced_with(world.spoke(), NAMESPACE, &widgets("widgets"));
        assert!(before.get_opt("w").await.unwrap().is_some());
        let definitions = Api::<CustomResourceDefinition>::all(world.spoke());
        let old = "widgets.example.com";
        definitions.delete(old, &DeleteParams::default()).await.unwrap();
        while definitions.get_opt(old).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        define(&world, "gizmos", "Cluster").await;
        for _ in 0..3 {
            agent.look().await;
        }
        let after = Api::<DynamicObject>::all_with(world.spoke(), &widgets("gizmos"));
        assert!(after.get_opt("w").await.unwrap().is_some());
    });
}
