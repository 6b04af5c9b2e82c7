//! Works that are lost, and come back while their objects are about to go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::json;

use super::fixture::{World, run, spec};

#[test]
fn the_objects_of_a_work_that_comes_back_while_they_are_waited_for_stay() {
    run(async {
        let world = World::new().await;
        world.put("web", &["a"]).await;
        world.agent().look().await;
        let before = world.maps().get("a").await.unwrap().metadata.uid;
        world.lose("web").await;
        let is_back = Arc::new(AtomicBool::new(false));
        let (works, returns) = (world.works(), is_back.clone());
        let hub = world.hub_then(move || {
            let (works, returns) = (works.clone(), returns.clone());
            async move {
                if returns.swap(false, Ordering::SeqCst) {
                    let work = json!({ "metadata": { "name": "web" }, "spec": spec(&["a"]) });
                    let work = serde_json::from_value(work).unwrap();
                    works.create(&PostParams::default(), &work).await.unwrap();
                }
            }
        });
        let mut agent = world.agent_that_evicts(hub);
        agent.look().await;
        // The grace period begins.
        agent.sweep().await;
        // The work is created right after the agent has asked for it.
        is_back.store(true, Ordering::SeqCst);
        agent.sweep().await;
        assert!(!is_back.load(Ordering::SeqCst), "the agent has asked the hub");
        let after = world.maps().get("a").await.unwrap().metadata.uid;
        assert_eq!(after, before);
        world.lose("web").await;
        agent.sweep().await;
        assert_eq!(
            world.objects().await,
            Vec::<String>::new(),
            "a work that stays lost is evicted"
        );
    });
}

#[test]
fn objects_stay_whatever_work_and_hub_their_record_says_it_is_of() {
    run(async {
        let long = "w".repeat(200);
        let world = World::new().await;
        world.put("web", &["a"]).await;
        world.put(&long, &["b"]).await;
        let mut agent = world.agent_that_evicts(world.hub_then(|| async {}));
        agent.look().await;
        for work in ["web", long.as_str()] {
            let record = world.record(work).await.name_any();
            world.rename_work_in(&record, "other").await;
        }
        world.put("mine", &["c"]).await;
        agent.look().await;
        world.move_to_another_hub("mine").await;
        for _ in 0..3 {
            agent.sweep().await;
        }
        assert_eq!(
            world.objects().await,
            ["a", "b", "c"],
            "their works are on the hub"
        );
    });
}
