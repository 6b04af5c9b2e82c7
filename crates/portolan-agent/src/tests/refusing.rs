//! Works without rights: what they ask for keeps nothing from anybody, whatever they do to what is known of them.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::fixture::{NAMESPACE, World, manifest, run, spec};
use super::rules::notices;
use crate::sabotage::Rule;

/// A work for these objects, of an executor that may do nothing.
fn squatting(manifests: Value) -> Value {
    let account = json!({ "namespace": NAMESPACE, "name": "deployer" });
    json!({
        "workload": { "manifests": manifests },
        "executor": { "subject": { "type": "ServiceAccount", "serviceAccount": account } },
    })
}

/// A ConfigMap that is different from the one that others ask for.
fn different(name: &str, value: &str) -> Value {
    let mut map = manifest(name);
    map["data"] = json!({ "k": value });
    map
}

#[test]
fn a_refused_work_whose_status_the_hub_would_not_take_keeps_no_object_and_says_so() {
    run(async {
        let world = World::new().await;
        let mut squat = squatting(json!([different("x", "squat")]));
        let rule = |named: &str| json!({ "type": "CEL", "condition": named, "celExpressions": ["true"] });
        squat["manifestConfigs"] = json!([{
            "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": NAMESPACE, "name": "x" },
            "conditionRules": [rule("not a type!"), rule(&"a".repeat(317)), rule("Available")],
        }]);
        world.put_spec("a", squat).await;
        world.put("b", &["x"]).await;
        let mut agent = world.agent();
        for _ in 0..2 {
            agent.look().await;
        }
        assert_eq!(world.objects().await, ["x"]);
        let status = world.works().get("a").await.unwrap().status.unwrap();
        let said = serde_json::to_string(&status).unwrap();
        assert!(
            said.contains("ConditionRulesValid") && said.contains("\"Refused\""),
            "{said}"
        );
        world.delete("b").await;
        for _ in 0..2 {
            agent.look().await;
        }
        assert!(world.objects().await.is_empty());
    });
}

#[test]
fn a_finished_work_has_no_say_in_what_it_never_applied() {
    run(async {
        let world = World::new().await;
        // The older work is over with its own object, which it only looks at, and names one of another work.
        let mut squat = squatting(json!([manifest("own"), different("x", "squat")]));
        squat["executor"] = Value::Null;
        squat["manifestConfigs"] = json!([{
            "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": NAMESPACE, "name": "own" },
            "conditionRules": [{ "type": "CEL", "condition": "Complete", "celExpressions": ["true"] }],
        }]);
        let mut own = squat.clone();
        own["workload"]["manifests"] = json!([manifest("own")]);
        world.put_spec("a", own).await;
        let mut agent = world.agent();
        for _ in 0..2 {
            agent.look().await;
        }
        // Complete for good, whatever it asks for from now on.
        world.patch("a", json!({ "spec": squat })).await;
        world.put("b", &["x"]).await;
        for _ in 0..2 {
            agent.look().await;
        }
        assert_eq!(world.objects().await, ["own", "x"]);
        world.delete("b").await;
        for _ in 0..2 {
            agent.look().await;
        }
        assert_eq!(world.objects().await, ["own"]);
    });
}

#[test]
fn a_refused_work_whose_status_is_lost_keeps_no_object() {
    run(async {
        let world = World::new().await;
        world.put("b", &["x"]).await;
        world
            .put_spec("d", squatting(json!([different("x", "squat")])))
            .await;
        let mut agent = world.agent();
        agent.look().await;
        let lost = json!({ "status": { "conditions": [], "resourceStatus": { "manifests": [] } } });
        let how = PatchParams::default();
        world
            .works()
            .patch_status("d", &how, &Patch::Merge(lost))
            .await
            .unwrap();
        world.delete("b").await;
        agent.look().await;
        agent.look().await;
        assert!(world.objects().await.is_empty());
    });
}

#[test]
fn a_refused_work_that_is_edited_while_another_is_deleted_keeps_no_object() {
    run(async {
        let world = World::new().await;
        world.put("b", &["x"]).await;
        world.put_spec("d", squatting(json!([different("x", "1")]))).await;
        let mut agent = world.agent();
        agent.look().await;
        world
            .patch(
                "d",
                json!({ "spec": { "workload": { "manifests": [different("x", "2")] } } }),
            )
            .await;
        world.delete("b").await;
        // The deleted work is dealt with before the edited one.
        agent.look().await;
        agent.look().await;
        assert!(world.objects().await.is_empty());
    });
}

#[test]
fn an_edit_of_a_refused_work_takes_no_object_from_a_newer_one() {
    run(async {
        let world = World::new().await;
        world.put_spec("z", squatting(json!([different("x", "1")]))).await;
        world.put("b", &["x"]).await;
        let mut agent = world.agent();
        agent.look().await;
        agent.look().await;
        assert_eq!(world.objects().await, ["x"]);
        world
            .patch(
                "z",
                json!({ "spec": { "workload": { "manifests": [different("x", "2")] } } }),
            )
            .await;
        agent.look().await;
        let status = world.works().get("b").await.unwrap().status.unwrap();
        let said = serde_json::to_string(&status).unwrap();
        assert!(!said.contains("AppliedByAnotherWork"), "{said}");
    });
}

#[test]
fn an_object_is_not_left_to_a_work_that_was_not_judged_yet() {
    notices(Rule::JudgeFirst, || {
        run(async {
            let world = World::new().await;
            world.put("b", &["x"]).await;
            world.agent().look().await;
            let mut wrong = manifest("x");
            // The member refuses it whoever applies it.
            wrong["data"] = json!({ "k": { "not": "a text" } });
            world
                .put_spec("d", json!({ "workload": { "manifests": [wrong] } }))
                .await;
            world.delete("b").await;
            let mut agent = world.agent();
            for _ in 0..3 {
                agent.look().await;
            }
            world.objects().await.is_empty()
        })
    });
}

#[test]
fn what_a_rightful_work_asks_for_stays_when_it_was_not_judged_yet() {
    run(async {
        let world = World::new().await;
        world.put("b", &["x"]).await;
        world.agent().look().await;
        let uid = world.maps().get("x").await.unwrap().metadata.uid;
        world
            .allow("deployer", &["get", "create", "patch", "delete"])
            .await;
        world.put_spec("d", squatting(json!([manifest("x")]))).await;
        world.delete("b").await;
        let mut agent = world.agent();
        for _ in 0..3 {
            agent.look().await;
        }
        assert!(world.works().get_opt("b").await.unwrap().is_none());
        assert_eq!(world.maps().get("x").await.unwrap().metadata.uid, uid);
    });
}

#[test]
fn a_manifest_of_an_unknown_kind_keeps_nothing_if_its_executor_may_not_have_it() {
    run(async {
        let world = World::new().await;
        world.put_namespace("a", "shop").await;
        world.put("b", &["x"]).await;
        let mut agent = world.agent();
        agent.look().await;
        let metadata = json!({ "name": "w", "namespace": "shop" });
        let inside = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata });
        let mut same = manifest("x");
        same["apiVersion"] = "v9".into();
        world.put_spec("d", squatting(json!([inside, same]))).await;
        world.delete("a").await;
        world.delete("b").await;
        for _ in 0..3 {
            agent.look().await;
        }
        assert!(!world.has_namespace("shop").await && world.objects().await.is_empty());
    });
}

#[test]
fn a_manifest_whose_kind_cannot_be_asked_for_holds_nobody_up() {
    run(async {
        let world = World::new().await;
        world.put("b", &["x"]).await;
        let mut agent = world.agent();
        agent.look().await;
        for (name, api_version) in [("d", "a b/v1"), ("e", "../v1"), ("f", "é/v1")] {
            let mut odd = spec(&["y"]);
            odd["workload"]["manifests"][0]["apiVersion"] = api_version.into();
            world.put_spec(name, odd).await;
        }
        world.delete("b").await;
        for _ in 0..2 {
            agent.look().await;
        }
        assert!(world.objects().await.is_empty());
        let status = world.works().get("d").await.unwrap().status.unwrap();
        let said = serde_json::to_string(&status).unwrap();
        assert!(said.contains("InvalidManifest"), "{said}");
    });
}
