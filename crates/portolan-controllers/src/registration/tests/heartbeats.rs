use std::time::Duration;

use jiff::Timestamp;
use portolan_api::cluster::ManagedCluster;
use portolan_runtime::watch::Delta;
use serde_json::json;

use super::fixture::{Hub, cluster, lease, synced};
use crate::moment::tests::{instant, shifted, wall};
use crate::reconcile::Reconciler;
use crate::reconcile::fake::second;
use crate::registration::message::Write;
use crate::registration::state::Input;

/// Status, reason and message of the Available condition.
fn available(hub: &Hub, name: &str) -> (String, String, String) {
    let status = hub.cluster(name).status.unwrap();
    let [condition] = status.conditions.as_slice() else {
        panic!("{status:?}")
    };
    (
        condition.status.clone(),
        condition.reason.clone(),
        condition.message.clone(),
    )
}

/// Lets time go by as the loop does: nothing happens before a timer says so. What was written.
fn pass(hub: &mut Hub, until: Timestamp) -> Vec<Write> {
    let mut writes = Vec::new();
    while let Some(next) = hub.state.next_due().map(wall).filter(|next| *next <= until) {
        writes.extend(hub.settle(next));
    }
    writes.extend(hub.settle(until));
    writes
}

fn hub_with(clusters: &[ManagedCluster]) -> Hub {
    let mut hub = Hub::new();
    clusters.iter().for_each(|cluster| hub.server.put(cluster));
    hub
}

#[test]
fn a_cluster_that_is_silent_for_five_lease_durations_is_unknown_and_tainted() {
    let mut hub = hub_with(&[cluster("a", "True"), cluster("b", "True")]);
    hub.server.put(&lease("a", 0));
    hub.server.put(&lease("b", 0));
    hub.settle(second(0));
    hub.server.put(&lease("b", 200));
    hub.settle(second(200));
    assert!(pass(&mut hub, second(299)).is_empty());
    pass(&mut hub, second(300));
    let expected = (
        "Unknown".to_owned(),
        "ManagedClusterLeaseUpdateStopped".to_owned(),
        "Registration agent stopped updating its lease.".to_owned(),
    );
    assert_eq!(available(&hub, "a"), expected);
    let taint = &hub.cluster("a").spec.taints[0];
    assert_eq!(taint.key, "cluster.open-cluster-management.io/unreachable");
    assert_eq!(available(&hub, "b").0, "True");
    assert!(pass(&mut hub, second(499)).is_empty());
    pass(&mut hub, second(500));
    assert_eq!(available(&hub, "b"), expected);
    assert_eq!(
        hub.state.next_due(),
        None,
        "silence costs nothing once it was noticed"
    );
}

#[test]
fn a_cluster_that_comes_back_is_watched_again() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    pass(&mut hub, second(1_000));
    assert_eq!(available(&hub, "a").0, "Unknown");
    let mut back = cluster("a", "True");
    back.spec = hub.cluster("a").spec;
    hub.server.put(&lease("a", 1_010));
    hub.server.put(&back);
    pass(&mut hub, second(1_309));
    assert_eq!(available(&hub, "a").0, "True");
    assert!(hub.cluster("a").spec.taints.is_empty());
    pass(&mut hub, second(1_309 + 300));
    assert_eq!(available(&hub, "a").0, "Unknown");
}

#[test]
fn how_long_is_too_long_is_what_the_cluster_says_also_when_it_changes_its_mind() {
    let mut brief = cluster("a", "True");
    brief.spec.lease_duration_seconds = Some(10);
    let mut hub = hub_with(&[brief.clone(), cluster("b", "True")]);
    hub.server.put(&lease("a", 0));
    hub.server.put(&lease("b", 0));
    hub.settle(second(0));
    assert!(pass(&mut hub, second(49)).is_empty());
    pass(&mut hub, second(50));
    assert_eq!(available(&hub, "a").0, "Unknown");
    let mut shorter = hub.cluster("b");
    shorter.spec.lease_duration_seconds = Some(20);
    hub.server.put(&shorter);
    pass(&mut hub, second(99));
    assert_eq!(available(&hub, "b").0, "True");
    pass(&mut hub, second(100));
    assert_eq!(available(&hub, "b").0, "Unknown");
}

#[test]
fn a_cluster_without_a_lease_keeps_what_it_has() {
    let mut hub = hub_with(&[cluster("a", "True"), cluster("b", "True")]);
    hub.server.put(&lease("b", 0));
    hub.settle(second(0));
    hub.server
        .delete::<k8s_openapi::api::coordination::v1::Lease>("b", "managed-cluster-lease");
    assert!(pass(&mut hub, second(10_000)).is_empty());
}

#[test]
fn clusters_that_are_not_accepted_or_said_to_be_unknown_are_left_alone() {
    let mut outside = cluster("a", "True");
    outside.spec.hub_accepts_client = false;
    let mut hub = hub_with(&[outside, cluster("b", "Unknown"), cluster("c", "")]);
    for name in ["a", "b", "c"] {
        hub.server.put(&lease(name, 0));
    }
    hub.settle(second(0));
    pass(&mut hub, second(10_000));
    assert_eq!(available(&hub, "a").0, "True");
    assert_eq!(available(&hub, "b").1, "R", "whoever said so has a reason");
    assert_eq!(
        available(&hub, "c").0,
        "Unknown",
        "one that never reported is told about"
    );
}

#[test]
fn the_clock_of_a_member_does_not_matter() {
    let mut hub = hub_with(&[cluster("behind", "True"), cluster("ahead", "True")]);
    for now in (0..2_000).step_by(60) {
        hub.server.put(&lease("behind", now - 100_000));
        hub.server.put(&lease("ahead", now + 100_000));
        pass(&mut hub, second(now));
    }
    assert_eq!(available(&hub, "behind").0, "True");
    pass(&mut hub, second(1_980 + 299));
    assert_eq!(available(&hub, "ahead").0, "True");
    pass(&mut hub, second(1_980 + 300));
    assert_eq!(available(&hub, "ahead").0, "Unknown");
}

#[test]
fn a_hub_that_was_down_waits_before_it_calls_anybody_silent() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    hub.state = hub.restarted();
    hub.server.events.clear();
    assert!(pass(&mut hub, second(100_000)).is_empty());
    assert_eq!(available(&hub, "a").0, "True");
    pass(&mut hub, second(100_300));
    assert_eq!(available(&hub, "a").0, "Unknown");
}

#[test]
fn a_machine_that_slept_waits_as_well() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    // The timer for second 300 goes off in second 7,000.
    hub.state
        .paused(instant(second(7_000)), Duration::from_secs(6_700));
    assert!(hub.settle(second(7_000)).is_empty());
    assert!(pass(&mut hub, second(7_299)).is_empty());
    pass(&mut hub, second(7_300));
    assert_eq!(available(&hub, "a").0, "Unknown");
}

#[test]
fn a_renewal_that_was_not_heard_of_is_found_before_anything_is_written() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    // The watch is held up; the server has had the renewal all along.
    hub.server.put(&lease("a", 290));
    let before = hub.server.writes;
    assert_eq!(hub.write(second(300)).len(), 1, "it is looked into");
    assert!(hub.write(second(300)).is_empty());
    assert_eq!(hub.server.writes, before, "and found to be well");
    assert!(pass(&mut hub, second(599)).is_empty());
    pass(&mut hub, second(600));
    assert_eq!(available(&hub, "a").0, "Unknown");
}

#[test]
fn nobody_is_called_silent_while_leases_are_not_known() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    hub.state.handle(Input::Lease(Delta::ListStarted));
    assert!(pass(&mut hub, second(320)).is_empty());
    synced(&mut hub.state);
    pass(&mut hub, second(320));
    assert_eq!(available(&hub, "a").0, "Unknown");
}

#[test]
fn other_leases_and_changes_that_are_no_renewal_do_not_count() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    let mut other = lease("a", 0);
    other.metadata.name = Some("leader".to_owned());
    hub.server.put(&other);
    hub.settle(second(0));
    assert_eq!(hub.state.next_due(), None);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    let mut labelled = lease("a", 0);
    labelled.metadata.labels = serde_json::from_value(json!({"by": "hand"})).unwrap();
    hub.server.put(&labelled);
    hub.settle(second(200));
    pass(&mut hub, second(300));
    assert_eq!(available(&hub, "a").0, "Unknown");
}

#[test]
fn a_pause_that_is_longer_than_short_leases_take_makes_nobody_silent() {
    for pause in [26_i64, 28, 30] {
        let mut brief = cluster("a", "True");
        brief.spec.lease_duration_seconds = Some(5);
        let mut hub = hub_with(&[brief]);
        hub.server.put(&lease("a", 0));
        hub.settle(second(0));
        // The loop was to turn in second 20.
        let late = Duration::from_secs(pause.unsigned_abs() - 20);
        hub.state.paused(instant(second(pause)), late);
        assert!(hub.settle(second(pause)).is_empty(), "{pause}");
        assert!(pass(&mut hub, second(pause + 24)).is_empty(), "{pause}");
        pass(&mut hub, second(pause + 25));
        assert_eq!(available(&hub, "a").0, "Unknown");
    }
}

#[test]
fn a_wall_clock_that_is_set_neither_makes_a_cluster_silent_nor_hides_that_it_is() {
    for jump in [-3600, 28, 3600] {
        let mut brief = cluster("a", "True");
        brief.spec.lease_duration_seconds = Some(5);
        let mut hub = hub_with(&[brief]);
        hub.server.put(&lease("a", 0));
        hub.settle(second(0));
        let due = |hub: &mut Hub, at: i64| hub.state.due(shifted(second(at), jump), usize::MAX);
        assert!(due(&mut hub, 20).is_empty(), "{jump}");
        assert!(matches!(due(&mut hub, 25)[..], [Write::Silent { .. }]), "{jump}");
    }
}

#[test]
fn a_moment_of_delay_is_no_reason_to_start_over() {
    let mut hub = hub_with(&[cluster("a", "True")]);
    hub.server.put(&lease("a", 0));
    hub.settle(second(0));
    hub.state.paused(instant(second(290)), Duration::from_secs(29));
    pass(&mut hub, second(300));
    assert_eq!(available(&hub, "a").0, "Unknown");
}
