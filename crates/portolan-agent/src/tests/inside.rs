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
