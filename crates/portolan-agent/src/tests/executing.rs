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

/// A work for an object, of an executor that may do nothing, which wants it to be different.
fn squatting(object: &str) -> Value {
    let mut work = spec(&[object]);
    work["executor"] = executor();
    work["workload"]["manifests"][0]["data"] = json!({ "k": "squat" });
    work
}

#[test]
fn a_work_that_was_refused_keeps_no_newer_work_from_its_object() {
    notices(Rule::AskingIsNotOwning, || {
        run(async {
            let world = World::new().await;
            world.put_spec("a", squatting("x")).await;
            world.put("b", &["x"]).await;
            for _ in 0..3 {
                world.agent().look().await;
            }
            world.objects().await == ["x"]
        })
    });
}

#[test]
fn works_that_were_refused_or_only_look_keep_no_object_whose_own_work_is_deleted() {
    notices(Rule::AskingIsNotOwning, || {
        run(async {
            let world = World::new().await;
            world.put("b", &["x"]).await;
            let looking = json!([{
                "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": NAMESPACE, "name": "x" },
                "updateStrategy": { "type": "ReadOnly" },
            }]);
            world.put_with("c", &["x"], looking).await;
            world.put_spec("d", squatting("x")).await;
            world.agent().look().await;
            assert_eq!(world.objects().await, ["x"]);
            world.delete("b").await;
            for _ in 0..3 {
                world.agent().look().await;
            }
            world.objects().await.is_empty()
        })
    });
}

#[test]
fn what_a_work_has_applied_stays_its_own_when_its_executor_loses_the_right() {
    run(async {
        let world = World::new().await;
        world
            .allow("deployer", &["get", "create", "patch", "delete"])
            .await;
        world.put_spec("a", squatting("x")).await;
        world.agent().look().await;
        assert_eq!(world.objects().await, ["x"]);
        world.allow("deployer", &["get"]).await;
        world.agent().look().await;
        world.put("b", &["x"]).await;
        for _ in 0..2 {
            world.agent().look().await;
        }
        let status = world.works().get("b").await.unwrap().status.unwrap();
        assert!(
            serde_json::to_string(&status)
                .unwrap()
                .contains("AppliedByAnotherWork")
        );
        world.delete("b").await;
        for _ in 0..2 {
            world.agent().look().await;
        }
        assert_eq!(world.objects().await, ["x"], "it was never the other one's");
    });
}
