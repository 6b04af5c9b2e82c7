//! Hub, controllers and agents are killed again and again at random moments while a random history goes on; in the end
//! everything is as if nothing had happened, and no object that was wanted all the time was ever deleted.
//!
//! `PORTOLAN_CHAOS_SEED` repeats a history, `PORTOLAN_CHAOS_ROUNDS` says how long it is.

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use super::Fleet;
use super::hub::Server;
use super::script::{Draws, Script};
use super::state::{State, state, unsettled};
use crate::world::{eventually, eventually_or};

const SEED: &str = "PORTOLAN_CHAOS_SEED";
const ROUNDS: &str = "PORTOLAN_CHAOS_ROUNDS";
const DEFAULT_ROUNDS: usize = 100;
const MEMBERS: usize = 3;
/// After so many rounds everybody is left alone for once, and all must be as the history wants it.
const BREATHER: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn killing_hub_controllers_and_agents_makes_no_difference_in_the_end() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number(SEED).unwrap_or_else(|| RandomState::new().hash_one(SEED) % 1_000_000);
    let rounds = number(ROUNDS).map_or(DEFAULT_ROUNDS, |rounds| usize::try_from(rounds).unwrap());
    eprintln!("{SEED}={seed} {ROUNDS}={rounds}");

    let expected = undisturbed(seed, rounds).await;
    let fleet = disturbed(seed, rounds).await;
    let last = RefCell::new(String::new());
    eventually_or(
        async || {
            let difference = difference(&expected, &state(&fleet).await.unwrap());
            let same = difference.is_empty();
            last.replace(difference);
            same.then_some(())
        },
        || format!("it ends as without kills; {}", last.borrow()),
    )
    .await;
    let members = fleet.members.iter();
    let wrong: Vec<String> = members
        .clone()
        .flat_map(|member| member.recorder.wrong())
        .collect();
    assert!(wrong.is_empty(), "deleted though wanted all the time: {wrong:?}");
    let deletions: usize = members.map(|member| member.recorder.deletions()).sum();
    assert!(
        rounds < DEFAULT_ROUNDS || deletions > 0,
        "the recorders see deletions"
    );
}

async fn begin(seed: u64) -> (Fleet, Script) {
    let mut fleet = Fleet::new(Server::start().await, MEMBERS).await;
    let script = Script::new(&fleet, seed);
    let hub = fleet.hub.way.client();
    for change in script.beginning() {
        change.carry_out(&hub).await;
    }
    fleet.start();
    (fleet, script)
}

async fn undisturbed(seed: u64, rounds: usize) -> State {
    let (fleet, mut script) = begin(seed).await;
    let hub = fleet.hub.way.client();
    for _ in 0..rounds {
        for change in script.next() {
            change.carry_out(&hub).await;
        }
    }
    settle(&fleet, &script).await;
    let (last, calm) = (RefCell::new(State::new()), RefCell::new(0));
    eventually("nothing changes any more", async || {
        let now = state(&fleet).await.unwrap();
        let same = *last.borrow() == now;
        last.replace(now);
        calm.replace_with(|calm| if same { *calm + 1 } else { 0 });
        *calm.borrow() > 20
    })
    .await;
    last.into_inner()
}

async fn disturbed(seed: u64, rounds: usize) -> Fleet {
    let (mut fleet, mut script) = begin(seed).await;
    let mut draws = Draws::new(!seed);
    for round in 1..=rounds {
        let before: Vec<_> = (0..fleet.members.len())
            .map(|member| script.wanted(member))
            .collect();
        let changes = script.next();
        for (number, before) in before.into_iter().enumerate() {
            let wanted = script.wanted(number);
            let given_up = before.into_keys().filter(|name| !wanted.contains_key(name));
            let given_up = given_up.chain(script.passing(number));
            fleet.members[number].recorder.give_up(given_up);
        }
        let hub = fleet.hub.way.client();
        let changing = async {
            for change in changes {
                change.carry_out(&hub).await;
            }
        };
        let killing = async {
            strike(&mut fleet, &mut draws).await;
        };
        tokio::join!(changing, killing);
        if round % BREATHER == 0 {
            settle(&fleet, &script).await;
        }
    }
    settle(&fleet, &script).await;
    fleet
}

/// Kills some of them, each at a moment of its own, and starts them again.
async fn strike(fleet: &mut Fleet, draws: &mut Draws) {
    let members = fleet.members.len();
    // At least one of them: agents, controllers, hub.
    let mut victims = draws.below(1 << (members + 2));
    if victims == 0 {
        victims = 1 << draws.below(members + 2);
    }
    for victim in 0..members + 2 {
        if victims & (1 << victim) == 0 {
            continue;
        }
        let moment = Duration::from_millis(draws.below(15) as u64);
        let (writes, arrives) = (draws.below(4), draws.below(2) == 0);
        if victim < members {
            stand_still(fleet.members[victim].line(), writes, arrives, moment).await;
            fleet.members[victim].kill();
        } else if victim == members {
            stand_still(fleet.controllers_line(), writes, arrives, moment).await;
            fleet.kill_controllers();
        } else if fleet.hub.can_be_killed() {
            tokio::time::sleep(moment).await;
            fleet.hub.kill().await;
            fleet.hub.revive().await;
        }
        if draws.below(2) == 0 {
            fleet.start();
        }
    }
    fleet.start();
}

/// Lets it come to a write, if it does so in time.
async fn stand_still(line: &crate::network::Faults, writes: usize, arrives: bool, moment: Duration) {
    line.stand_still(writes, arrives);
    let still = async {
        while !line.is_still() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let _ = tokio::time::timeout(moment, still).await;
}

/// Waits until all is as the script wants it.
async fn settle(fleet: &Fleet, script: &Script) {
    let last = RefCell::new(String::new());
    eventually_or(
        async || {
            let now = unsettled(fleet, script).await.unwrap();
            last.replace(now.clone().unwrap_or_default());
            now.is_none().then_some(())
        },
        || format!("all is as it is wanted; {}", last.borrow()),
    )
    .await;
}

fn difference(expected: &State, found: &State) -> String {
    let mut lines = Vec::new();
    for (at, expected) in expected {
        match found.get(at) {
            None => lines.push(format!("{at} is missing")),
            Some(found) if found != expected => lines.push(format!("{at} is {found}, expected {expected}")),
            Some(_) => {}
        }
    }
    let more = found.keys().filter(|at| !expected.contains_key(*at));
    lines.extend(more.map(|at| format!("{at} is one too many")));
    lines.join("\n")
}
