//! The rules that an agent must hold: each has a check that passes, and that fails with the rule's switch on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::fixture::{CLUSTER, World, key, run, settings};
use crate::Agent;
use crate::sabotage::{Rule, with_sabotaged};
use crate::work::WorkKind;
use crate::works::Input;

/// The check passes, and fails when the rule is broken.
pub(super) fn notices(rule: Rule, holds: impl Fn() -> bool) {
    assert!(holds(), "{rule:?} holds");
    assert!(
        !with_sabotaged(rule, &holds),
        "{rule:?} is broken and nobody notices"
    );
}

#[test]
fn nothing_is_removed_while_works_are_listed() {
    notices(Rule::KnowAllFirst, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x", "y"]).await;
            world.agent().look().await;
            // x goes from one work to the other, of which an agent that starts now has not heard yet.
            world.put_work("b", &["x"]).await;
            world.put("a", &["y"]).await;
            let mut agent = world.agent();
            agent.hear(Input::Listing(WorkKind::Work));
            agent.list(WorkKind::ManifestWork).await;
            agent.pass("a").await;
            world.objects().await == ["x", "y"]
        })
    });
}

#[test]
fn an_object_that_goes_to_a_work_of_the_other_kind_stays_even_if_heard_of_late() {
    run(async {
        let world = World::new().await;
        world.put("a", &["x", "y"]).await;
        let mut agent = world.agent();
        agent.look().await;
        world.put_work("b", &["x"]).await;
        world.put("a", &["y"]).await;
        // The watch of Works is complete and lags behind.
        agent.list(WorkKind::ManifestWork).await;
        agent.pass("a").await;
        assert_eq!(world.objects().await, ["x", "y"]);
        agent.look().await;
        assert_eq!(world.objects().await, ["x", "y"]);
    });
}

#[test]
fn a_work_that_is_just_gone_takes_nothing_with_it() {
    notices(Rule::LostIsNotDeleted, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            let mut agent = world.agent();
            agent.look().await;
            agent.hear(Input::Gone(key("a")));
            agent.pass("a").await;
            world.objects().await == ["x"]
        })
    });
}

#[test]
fn what_another_work_asks_for_stays() {
    notices(Rule::SharedStays, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x", "y"]).await;
            world.put("b", &["x"]).await;
            let mut agent = world.agent();
            agent.look().await;
            world.put("a", &["y"]).await;
            agent.list(WorkKind::ManifestWork).await;
            agent.pass("a").await;
            world.objects().await == ["x", "y"]
        })
    });
}

#[test]
fn an_object_that_somebody_else_made_stays() {
    notices(Rule::OnlyTheVeryObject, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x", "y"]).await;
            let mut agent = world.agent();
            agent.look().await;
            world.replace("x").await;
            world.put("a", &["y"]).await;
            agent.look().await;
            world.objects().await == ["x", "y"]
        })
    });
}

#[test]
fn an_older_copy_of_a_work_removes_nothing() {
    notices(Rule::HubWentBack, || {
        run(async {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            let mut agent = world.agent();
            agent.look().await;
            let older = agent.known("a");
            world.put("a", &["x", "y"]).await;
            agent.look().await;
            agent.hear(Input::Work(Box::new(older)));
            agent.pass("a").await;
            world.objects().await == ["x", "y"]
        })
    });
}

/// An agent dies at its first, second, … write to the member, until it gets by with fewer; whether all is well each time.
async fn wherever_it_dies(is_well: impl AsyncFn(&World) -> bool) -> bool {
    for writes in 0.. {
        let world = World::new().await;
        world.put("a", &["x", "y"]).await;
        let died = world.die_after(writes).await;
        if !is_well(&world).await {
            return false;
        }
        if !died {
            assert_eq!(world.objects().await, ["x", "y"]);
            break;
        }
    }
    true
}

#[test]
fn wherever_an_agent_dies_every_object_is_in_a_record() {
    notices(Rule::RecordFirst, || {
        run(wherever_it_dies(async |world| {
            let recorded = world.recorded().await;
            world.objects().await.iter().all(|name| recorded.contains(name))
        }))
    });
}

#[test]
fn wherever_an_agent_dies_a_work_with_objects_waits_for_it() {
    notices(Rule::HoldFirst, || {
        run(wherever_it_dies(async |world| {
            let finalizers = world.works().get("a").await.unwrap().metadata.finalizers;
            world.objects().await.is_empty() || finalizers.is_some_and(|held| !held.is_empty())
        }))
    });
}

#[test]
fn an_agent_asks_the_hub_about_its_own_cluster_only() {
    notices(Rule::OwnNamespaceOnly, || {
        let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        run(async {
            let world = World::new().await;
            world.put("a", &["x"]).await;
            let agent = Agent::start(world.watched_hub(asked.clone()), world.spoke(), settings());
            while world.objects().await.is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            agent.stop().await;
        });
        let asked = asked.lock().unwrap();
        assert!(!asked.is_empty());
        asked.iter().all(|path| {
            path.contains(&format!("/namespaces/{CLUSTER}/"))
                || path.contains(&format!("/managedclusters/{CLUSTER}"))
        })
    });
}
