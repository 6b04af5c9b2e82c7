use portolan_api::cluster::{ManagedCluster, ManagedClusterSet};
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::{Delta, Key};

use super::fixture::{Hub, cluster, foreign};
use crate::moment::tests::instant;
use crate::profiles::message::{Input, Outcome, Write};
use crate::reconcile::fake::{cannot_be_read, second};
use crate::reconcile::{Failure, Reconciler};
use crate::sabotage::{Rule, with_sabotaged};

/// Lets every write that is due fail. How many there were.
fn fail(hub: &mut Hub, now: i64, failure: Failure) -> usize {
    let due = hub.state.due(second(now).into(), 4);
    for write in &due {
        let Write::Create { key, .. } = write else {
            panic!("{write:?}")
        };
        let endings = vec![(key.clone(), Outcome::Failed(failure))];
        hub.state.handle(Input::Ended {
            at: instant(second(now)),
            endings,
        });
    }
    due.len()
}

#[test]
fn a_namespace_that_takes_no_profile_is_not_asked_for_every_cluster() {
    let mut hub = Hub::new();
    for index in 0..100 {
        hub.server.put(&cluster(&format!("c{index:02}"), "prod"));
    }
    hub.deliver();
    assert_eq!(fail(&mut hub, 0, Failure::Forbidden), 4);
    assert_eq!(fail(&mut hub, 0, Failure::Forbidden), 0);
    assert_eq!(fail(&mut hub, 1, Failure::Forbidden), 4);
    hub.settle(second(100));
    hub.settle(second(101));
    assert_eq!(hub.profiles().len(), 100);
}

#[test]
fn one_bad_cluster_does_not_hold_up_the_others() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.deliver();
    assert_eq!(fail(&mut hub, 0, Failure::Invalid), 1);
    hub.server.put(&cluster("b", "prod"));
    hub.settle(second(0));
    assert_eq!(hub.profiles(), ["team/b"]);
}

#[test]
fn a_profile_whose_status_could_not_be_written_gets_it_later_in_one_write() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.deliver();
    let due = hub.state.due(second(0).into(), usize::MAX);
    let [Write::Create { key, content }] = due.as_slice() else {
        panic!("{due:?}")
    };
    let created = hub.server.create(&content.profile("team")).unwrap();
    let endings = vec![(key.clone(), Outcome::Begun(created, Failure::Transient))];
    hub.state.handle(Input::Ended {
        at: instant(second(0)),
        endings,
    });
    hub.deliver();
    assert!(hub.state.due(second(0).into(), usize::MAX).is_empty());
    assert_eq!(hub.settle(second(1)), 1);
    assert!(hub.profile("team", "a").status.is_some());
}

#[test]
fn the_echo_of_a_write_and_older_events_do_not_write_again() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.deliver();
    hub.write(second(0));
    let created = hub.server.events.front().cloned().unwrap();
    assert!(
        !created.gone && created.object.get("status").is_none(),
        "the older of the two events"
    );
    hub.deliver_one();
    assert!(hub.state.due(second(0).into(), usize::MAX).is_empty());
    hub.deliver();
    assert!(hub.state.due(second(100).into(), usize::MAX).is_empty());
}

#[test]
fn an_answer_about_a_profile_that_was_deleted_meanwhile_is_not_believed() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.deliver();
    let due = hub.state.due(second(0).into(), usize::MAX);
    let endings = hub.carry_out(&due[0]);
    hub.server.delete::<ClusterProfile>("team", "a");
    hub.deliver();
    hub.state.handle(Input::Ended {
        at: instant(second(0)),
        endings,
    });
    hub.settle(second(1));
    hub.settle(second(100));
    assert_eq!(hub.profiles(), ["team/a"]);
}

#[test]
fn a_profile_of_somebody_else_that_took_the_place_of_ours_is_not_written() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    let mut changed = cluster("a", "prod");
    changed.status.as_mut().unwrap().cluster_claims.clear();
    hub.server.put(&changed);
    hub.deliver();
    hub.server.delete::<ClusterProfile>("team", "a");
    hub.server.put(&foreign("team", "a"));
    let writes = hub.server.writes;
    assert_eq!(hub.write(second(1)).len(), 1, "nobody has heard of it yet");
    hub.settle(second(100));
    assert_eq!(hub.server.writes, writes);
}

#[test]
fn who_keeps_deleting_a_profile_sees_it_come_back_slower_and_slower() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    let mut waits = Vec::new();
    for round in 1..=12 {
        let now = second(round * 1_000);
        hub.server.delete::<ClusterProfile>("team", "a");
        hub.settle(now);
        let wait = match hub.profiles().is_empty() {
            true => hub
                .state
                .next_due()
                .unwrap()
                .duration_since(instant(now))
                .as_millis(),
            false => 0,
        };
        waits.push(wait);
        hub.settle(second(round * 1_000 + 500));
        assert_eq!(hub.profiles(), ["team/a"]);
    }
    assert_eq!(
        waits,
        [
            0, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000
        ]
    );
}

#[test]
fn when_the_kind_vanishes_and_comes_back_the_profiles_come_back() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    hub.state.handle(Input::Profile(Delta::NotServed));
    hub.server.put(&cluster("b", "prod"));
    assert_eq!(hub.settle(second(1)), 0);
    hub.server.delete::<ClusterProfile>("team", "a");
    hub.state.handle(Input::Profile(Delta::ListStarted));
    hub.deliver();
    hub.state.handle(Input::Profile(Delta::Synced));
    hub.settle(second(2));
    assert_eq!(hub.profiles(), ["team/a", "team/b"]);
}

/// Whether a state that starts on a server with profiles of `a` and `b`, and cannot read `a`, removes a profile.
fn removes_what_it_cannot_read() -> bool {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&cluster("b", "prod"));
    hub.settle(second(0));
    assert_eq!(hub.profiles(), ["team/a", "team/b"]);
    hub.server.delete::<ManagedCluster>("", "a");
    let mut state = hub.fresh();
    state.handle(Input::Cluster(Delta::Unreadable(cannot_be_read("", "a"))));
    let mut state = hub.continued(state);
    // Long after anything that is missing could be on its way.
    state.due(second(10_000).into(), usize::MAX);
    let removes = |due: Vec<Write>| due.iter().any(|write| matches!(write, Write::Remove { .. }));
    let while_unreadable = removes(state.due(second(20_000).into(), usize::MAX));
    // Only when it is gone does its profile go.
    state.handle(Input::Cluster(Delta::Deleted(Key::of(
        &cannot_be_read("", "a").metadata,
    ))));
    state.due(second(20_000).into(), usize::MAX);
    assert!(while_unreadable || removes(state.due(second(30_000).into(), usize::MAX)));
    while_unreadable
}

#[test]
fn the_profile_of_an_unreadable_cluster_stays_and_taking_it_away_is_noticed() {
    assert!(!removes_what_it_cannot_read());
    assert!(with_sabotaged(
        Rule::UnreadableIsNotAbsent,
        removes_what_it_cannot_read
    ));
}

#[test]
fn profiles_of_a_set_that_cannot_be_read_stay() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.settle(second(0));
    hub.server.delete::<ManagedClusterSet>("", "prod");
    let mut state = hub.fresh();
    state.handle(Input::Set(Delta::Unreadable(cannot_be_read("", "prod"))));
    let mut state = hub.continued(state);
    assert!(state.due(second(10_000).into(), usize::MAX).is_empty());
    assert!(state.due(second(20_000).into(), usize::MAX).is_empty());
}
