//! An agent that dies while it takes over what another agent has left.

use portolan_agent::Agent;

use super::left::Left;
use crate::network::Faults;
use crate::world::World;

/// The agent dies at its first, second, … write, which arrives, until it gets by with fewer. So what is seen after its death
/// is what is seen after each of its writes. The works are deleted then, and its successor has to remove exactly what is owned.
async fn kill_at_every_write(client: impl Fn(&World, &Faults) -> Agent, fewest: usize) {
    let world = World::new().await;
    for writes in 0.. {
        let left = Left::behind(&world, &format!("x{writes}")).await;
        let before = left.seen().await;
        let faults = Faults::unanswered_after(writes);
        let agent = client(&world, &faults);
        let killed = faults
            .stands_still_unless(async || left.is_taken_over().await)
            .await;
        agent.kill();
        assert_eq!(left.seen().await, before, "after {writes} writes");
        assert_eq!(faults.deletions(), 0, "after {writes} writes");
        let agent = world.agent();
        left.delete().await;
        left.until_only_others_are_left(&before).await;
        agent.stop().await;
        if !killed {
            assert!(writes >= fewest, "only {writes} writes");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_at_a_write_to_the_member_in_a_takeover_loses_nothing() {
    let start = |world: &World, faults: &Faults| {
        Agent::start(world.hub.client(), faults.client(&world.spoke), world.settings())
    };
    // The records, the managers of six objects, and the objects themselves.
    kill_at_every_write(start, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_at_a_write_to_the_hub_in_a_takeover_loses_nothing() {
    let start = |world: &World, faults: &Faults| {
        Agent::start(faults.client(&world.hub), world.spoke.client(), world.settings())
    };
    kill_at_every_write(start, 2).await;
}
