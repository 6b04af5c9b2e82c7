//! What an executor confines, with the switches that let it slip.

use serde_json::{Value, json};

use super::fixture::{NAMESPACE, World, run, spec};
use super::rules::notices;
use crate::sabotage::Rule;

fn executor() -> Value {
    json!({ "subject": {
        "type": "ServiceAccount", "serviceAccount": { "namespace": NAMESPACE, "name": "deployer" },
    } })
}

#[test]
fn nothing_is_applied_for_an_executor_that_may_not_take_it_away_again() {
    notices(Rule::AskFirst, || {
        run(async {
            let world = World::new().await;
            world.allow("deployer", &["get", "create", "patch"]).await;
            let mut work = spec(&["x"]);
            work["executor"] = executor();
            world.put_spec("a", work).await;
            world.agent().look().await;
            world.objects().await.is_empty() && world.recorded().await.is_empty()
        })
    });
}

#[test]
fn nothing_is_read_for_an_executor_that_may_not_read_it() {
    notices(Rule::ExecutorReads, || {
        run(async {
            let world = World::new().await;
            world.apply_as("somebody", "x", "secret").await;
            let mut work = spec(&["x"]);
            work["executor"] = executor();
            work["manifestConfigs"] = json!([{
                "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": NAMESPACE, "name": "x" },
                "updateStrategy": { "type": "ReadOnly" },
                "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": [{ "name": "k", "path": ".data.k" }] }],
            }]);
            world.put_spec("a", work).await;
            world.agent().look().await;
            let status = world.works().get("a").await.unwrap().status.unwrap();
            !serde_json::to_string(&status).unwrap().contains("secret")
        })
    });
}

#[test]
fn half_an_executor_is_not_the_agent() {
    notices(Rule::WholeExecutor, || {
        run(async {
            let world = World::new().await;
            let mut work = spec(&["x"]);
            work["executor"] = json!({ "subject": { "type": "ServiceAccount" } });
            world.put_spec("a", work).await;
            world.agent().look().await;
            world.objects().await.is_empty()
        })
    });
}
