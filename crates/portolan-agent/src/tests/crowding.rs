//! Works that ask for a lot do not keep others waiting.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{NAMESPACE, World, manifest, run};
use crate::work::WorkKind;
use crate::works::Outcome;

/// Requests for lists of kinds, as they were made.
type Asked = Arc<Mutex<Vec<String>>>;

/// Keeps those of this request's paths that ask what kinds there are.
fn note(asked: &Asked, path: &str) {
    let parts = path.split('/').filter(|part| !part.is_empty()).count();
    let is_list = match path {
        path if path.starts_with("/apis") => parts <= 3,
        path => path.starts_with("/api") && parts <= 2,
    };
    if is_list {
        asked.lock().unwrap().push(path.to_owned());
    }
}

/// A work whose executor may do nothing, with one manifest of each of these versions.
fn crowd(api_versions: impl Iterator<Item = String>, name: &str) -> Value {
    let manifests: Vec<Value> = api_versions
        .map(|api_version| {
            let mut manifest = manifest(name);
            manifest["apiVersion"] = api_version.into();
            manifest
        })
        .collect();
    json!({
        "workload": { "manifests": manifests },
        "executor": { "subject": {
            "type": "ServiceAccount", "serviceAccount": { "namespace": NAMESPACE, "name": "nobody" },
        } },
    })
}

#[test]
fn kinds_that_nobody_serves_cost_the_removals_of_other_works_next_to_nothing() {
    run(async {
        let world = World::new().await;
        world.put("a", &["x", "y", "z"]).await;
        let asked = Asked::default();
        let noted = asked.clone();
        let mut agent = world.agent_through(move |request| {
            note(&noted, request.uri().path());
            true
        });
        agent.look().await;
        // Some cannot mean the objects, and some can.
        let groups = (0..200).map(|number| format!("g{number}.example/v1"));
        world.put_spec("others", crowd(groups, "y")).await;
        let versions = (0..200).map(|number| format!("v1unknown{number}"));
        world.put_spec("same", crowd(versions, "y")).await;
        for (left, questions) in [(vec!["y", "z"], 0), (vec!["z"], 1), (vec![], 0)] {
            world.put("a", &left).await;
            agent.list(WorkKind::ManifestWork).await;
            asked.lock().unwrap().clear();
            agent.pass("a").await;
            assert_eq!(world.objects().await, left);
            let asked = asked.lock().unwrap().clone();
            assert_eq!(asked.len(), questions, "{asked:?}");
        }
    });
}

#[test]
fn a_work_with_too_many_kinds_is_refused_in_words_and_the_member_is_not_asked() {
    run(async {
        let world = World::new().await;
        let asked = Asked::default();
        let noted = asked.clone();
        let mut agent = world.agent_through(move |request| {
            note(&noted, request.uri().path());
            true
        });
        let groups = (0..300).map(|number| format!("g{number}.example/v1"));
        world.put_spec("many", crowd(groups, "x")).await;
        agent.look().await;
        agent.look().await;
        assert!(asked.lock().unwrap().is_empty());
        let work = agent.known("many");
        let said = &work.status.conditions[0];
        assert_eq!((said.type_.as_str(), said.status.as_str()), ("Applied", "False"));
        assert!(
            said.message.contains("300 different values of apiVersion"),
            "{}",
            said.message
        );
    });
}

#[test]
fn a_work_without_rights_holds_no_object_of_another_work_however_long_it_takes() {
    run(async {
        // The questions about its executor hang, and then the look at what is there.
        for hanging in ["subjectaccessreviews", "PartialObjectMetadata"] {
            let world = World::new().await;
            let mut agent = world.agent_through(move |request| {
                let accept = request
                    .headers()
                    .get("accept")
                    .and_then(|accept| accept.to_str().ok());
                !request.uri().path().contains(hanging) && !accept.unwrap_or_default().contains(hanging)
            });
            world.put("victim", &["x"]).await;
            let mut attack = crowd(std::iter::once("v1".to_owned()), "x");
            attack["workload"]["manifests"][0]["data"] = json!({ "k": "mine" });
            world.put_spec("w-attack", attack).await;
            agent.list(WorkKind::ManifestWork).await;
            agent.list(WorkKind::Work).await;
            let attack = agent.pass("w-attack");
            tokio::pin!(attack);
            let ended = tokio::time::timeout(Duration::from_millis(500), &mut attack).await;
            assert!(ended.is_err(), "it hangs");
            let victim = tokio::time::timeout(Duration::from_secs(10), agent.pass("victim")).await;
            assert_eq!(victim.ok(), Some(Outcome::Changed), "{hanging}");
            assert_eq!(world.objects().await, ["x"]);
        }
    });
}
