//! What goes with another object.

use super::fixture::{World, run};
use crate::work::WorkKind;

#[test]
fn a_namespace_stays_while_another_work_has_something_in_it() {
    run(async {
        let world = World::new().await;
        world.put_namespace("space", "shared").await;
        world.put_in("web", "shared", "a").await;
        let mut agent = world.agent();
        agent.look().await;
        agent.list(WorkKind::ManifestWork).await;
        agent.look().await;
        assert_eq!(world.objects_in("shared").await, ["a"]);

        world.delete("space").await;
        for _ in 0..3 {
            agent.look().await;
            assert_eq!(world.objects_in("shared").await, ["a"]);
        }
        let status = agent.known("space").status;
        let said = status.conditions.iter().find(|said| said.type_ == "Deleting");
        assert!(
            said.is_some_and(|said| said.message.contains("web")),
            "{status:?}"
        );

        world.delete("web").await;
        for _ in 0..5 {
            agent.look().await;
        }
        assert!(!world.has_namespace("shared").await);
    });
}

#[test]
fn an_object_that_goes_with_its_namespace_leaves_the_record_also_in_doubt() {
    run(async {
        let world = World::new().await;
        world.put_namespace("space", "going").await;
        world.agent().look().await;
        world.put_in("a", "going", "x").await;
        world.agent().look().await;
        assert_eq!(world.recorded().await, ["x", "going"]);
        // The member takes a while to remove what is in a namespace.
        world.hold_in("going", "x").await;
        world.delete_namespace("going").await;

        // Another work of that name says nothing about what the former one asked for.
        world.lose("a").await;
        world.put("a", &["y"]).await;
        world.agent().look().await;
        assert_eq!(world.recorded().await, ["y", "going"]);
        assert_eq!(world.objects_in("going").await, ["x"]);
    });
}
