//! The checks of rules 1 to 3 notice when the controllers break them: each rule has a switch that does.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_api::cluster::ManagedCluster;
use portolan_check::{CheckId, Cluster, DecisionId, Report, stream};
use portolan_runtime::Clock;
use portolan_runtime::watch::{Delta, Key};
use serde_json::{Value, json};

use super::server::{NAMESPACE, Server, now, object, scheduler};
use crate::moment::tests::instant;
use crate::placements::input::Input;
use crate::placements::scheduler::Scheduler;
use crate::reconcile::fake::cannot_be_read;
use crate::sabotage::{Rule, with_sabotaged};
use crate::settings::Settings;

pub(super) fn cluster(scheduler: &mut Scheduler, name: &str) {
    let cluster: ManagedCluster =
        object(json!({"metadata": {"name": name}, "spec": {"hubAcceptsClient": true}}));
    scheduler.handle(Input::Cluster(Delta::Applied(Arc::new(cluster))));
}

pub(super) fn remove(scheduler: &mut Scheduler, name: &str) {
    let key = Key {
        namespace: String::new(),
        name: name.to_owned(),
        uid: String::new(),
    };
    scheduler.handle(Input::Cluster(Delta::Deleted(key)));
}

/// A server and a scheduler at rest, with clusters `c001` and so on.
pub(super) fn at_rest(clusters: usize) -> (Server, Scheduler) {
    let mut server = Server::with(json!({"decisionStrategy": {"updateStrategy": {"type": "RollingUpdate"}}}));
    let mut scheduler = scheduler();
    server.introduce(&mut scheduler);
    (1..=clusters).for_each(|number| cluster(&mut scheduler, &format!("c{number:03}")));
    scheduler.handle(Input::Cluster(Delta::Synced));
    server.run(&mut scheduler);
    (server, scheduler)
}

/// Where registration is on, and a toleration lets the taint pass, the cluster does not wait for it.
#[test]
fn a_cluster_without_its_availability_taint_yet_is_not_selected_and_never_removed() {
    let raw = |spec: Value, status: Value| {
        let meta = json!({"name": "c", "creationTimestamp": "1970-01-12T13:00:00Z"});
        object::<ManagedCluster>(json!({"metadata": meta, "spec": spec, "status": status}))
    };
    let heard = json!({"conditions": [{
        "type": "ManagedClusterConditionAvailable", "status": "True", "reason": "r", "message": "",
        "lastTransitionTime": "1970-01-12T13:00:00Z",
    }]});
    let run = |registration: bool, placement: Value, clusters: &[ManagedCluster]| {
        let mut server = Server::with(placement);
        let mut settings = Settings::new(Clock::new(now));
        settings.registration = registration;
        let mut scheduler = Scheduler::new(settings, instant(now()));
        server.introduce(&mut scheduler);
        scheduler.handle(Input::Cluster(Delta::Synced));
        let decided = clusters.iter().map(|cluster| {
            scheduler.handle(Input::Cluster(Delta::Applied(Arc::new(cluster.clone()))));
            server.run(&mut scheduler);
            server.decided().len()
        });
        decided.collect::<Vec<_>>()
    };
    for accepted in [false, true] {
        let unheard = || raw(json!({"hubAcceptsClient": accepted}), json!({}));
        let heard = || raw(json!({"hubAcceptsClient": accepted}), heard.clone());
        // Available again, then silent: the cluster stays until its taint is stored.
        let clusters = [unheard(), heard(), unheard()];
        assert_eq!(run(true, json!({}), &clusters), [0, 1, 1], "accepted: {accepted}");
        // OCM's registration, or none: what taints say, and nothing else.
        assert_eq!(run(false, json!({}), &clusters), [1, 1, 1]);
        let tolerations = json!({"tolerations": [
            {"key": "cluster.open-cluster-management.io/unreachable", "operator": "Exists"},
        ]});
        assert_eq!(run(true, tolerations, &[unheard()]), [1]);
    }
}

/// The scores of the next process differ, since they count what was decided before. That alone is not written after a
/// start, and must not take the status with it.
#[test]
fn a_status_that_a_process_died_before_is_written_by_the_next_one() {
    let mut server = Server::with(json!({}));
    let start = |server: &Server| {
        let mut scheduler = scheduler();
        server.introduce(&mut scheduler);
        (1..=3).for_each(|number| cluster(&mut scheduler, &format!("c{number:03}")));
        scheduler.handle(Input::Cluster(Delta::Synced));
        scheduler
    };
    server.run_until_status(&mut start(&server));
    assert_eq!((server.decided().len(), server.told()), (3, None));
    server.run(&mut start(&server));
    assert_eq!(server.told(), Some(3));
}

fn rules(report: &Report) -> BTreeSet<CheckId> {
    report.findings.iter().map(|finding| finding.check).collect()
}

/// A cluster that comes first shifts all others by one; one that leaves the first slice is replaced from the last.
fn shift() -> Report {
    let (mut server, mut scheduler) = at_rest(201);
    cluster(&mut scheduler, "c000");
    server.run(&mut scheduler);
    remove(&mut scheduler, "c000");
    remove(&mut scheduler, "c050");
    server.run(&mut scheduler);
    stream::check(&server.recording)
}

#[test]
fn clusters_that_shift_stay_in_sight_and_phases_in_the_wrong_order_are_noticed() {
    let report = shift();
    assert!(report.is_clean(), "{report}");
    let report = with_sabotaged(Rule::NoGap, shift);
    assert!(rules(&report).contains(&CheckId::Rule1), "{report}");
}

/// A controller that starts while the server answers the list of clusters.
fn start_in_the_middle_of_a_list() -> Report {
    let (mut server, _) = at_rest(5);
    let mut scheduler = scheduler();
    server.introduce(&mut scheduler);
    scheduler.handle(Input::Cluster(Delta::ListStarted));
    cluster(&mut scheduler, "c001");
    server.run(&mut scheduler);
    (2..=5).for_each(|number| cluster(&mut scheduler, &format!("c{number:03}")));
    scheduler.handle(Input::Cluster(Delta::Synced));
    server.run(&mut scheduler);
    let mut report = Report::new();
    let everyone: Vec<String> = (1..=5).map(|number| format!("c{number:03}")).collect();
    // From when all of them were decided for the first time.
    let settled = server
        .recording
        .events
        .iter()
        .position(|event| matches!(event, stream::Event::Settled));
    let mut recording =
        stream::Recording::starting_at(server.recording.states().nth(settled.unwrap()).unwrap());
    recording.events = server.recording.events.split_off(settled.unwrap());
    let managed = everyone.iter().map(Cluster::managed).collect();
    let profiles = everyone
        .iter()
        .map(|name| Cluster::profile(NAMESPACE, name))
        .collect();
    report.extend(stream::stays_present(
        &recording,
        &DecisionId::ocm(NAMESPACE, "p"),
        &managed,
    ));
    report.extend(stream::stays_present(
        &recording,
        &DecisionId::kep(NAMESPACE, "p"),
        &profiles,
    ));
    report
}

#[test]
fn nothing_is_decided_on_half_a_list_and_deciding_all_the_same_is_noticed() {
    let report = start_in_the_middle_of_a_list();
    assert!(report.is_clean(), "{report}");
    let report = with_sabotaged(Rule::NeverDestroyOnDoubt, start_in_the_middle_of_a_list);
    assert!(!report.is_clean());
}

/// A controller that starts on what an earlier one wrote.
fn restart() -> (usize, Report) {
    let (mut server, _) = at_rest(5);
    let written = server.recording.events.len();
    let mut scheduler = scheduler();
    server.introduce(&mut scheduler);
    (1..=5).for_each(|number| cluster(&mut scheduler, &format!("c{number:03}")));
    scheduler.handle(Input::Cluster(Delta::Synced));
    server.run(&mut scheduler);
    // One more: the mark.
    let written = server.recording.events.len() - written - 1;
    (written, stream::check(&server.recording))
}

#[test]
fn a_restart_writes_nothing_and_writing_what_is_there_is_noticed() {
    let (written, report) = restart();
    assert!(report.is_clean(), "{report}");
    assert_eq!(written, 0);
    let (written, report) = with_sabotaged(Rule::UnchangedUntouched, restart);
    assert!(written > 0);
    assert!(rules(&report).contains(&CheckId::Rule3), "{report}");
}

/// A controller that starts on what an earlier one wrote, and cannot read one of the clusters.
fn restart_without_reading(unreadable: &str) -> Report {
    let (mut server, _) = at_rest(5);
    let mut scheduler = scheduler();
    server.introduce(&mut scheduler);
    let everyone: Vec<String> = (1..=5).map(|number| format!("c{number:03}")).collect();
    for name in everyone.iter().filter(|name| *name != unreadable) {
        cluster(&mut scheduler, name);
    }
    scheduler.handle(Input::Cluster(Delta::Unreadable(cannot_be_read("", unreadable))));
    scheduler.handle(Input::Cluster(Delta::Synced));
    let before = server.recording.events.len();
    server.run(&mut scheduler);
    let mut recording = stream::Recording::starting_at(server.recording.states().nth(before).unwrap());
    recording.events = server.recording.events.split_off(before);
    let managed = everyone.iter().map(Cluster::managed).collect();
    stream::stays_present(&recording, &DecisionId::ocm(NAMESPACE, "p"), &managed)
}

#[test]
fn a_cluster_that_cannot_be_read_stays_selected_and_taking_it_for_absent_is_noticed() {
    let report = restart_without_reading("c003");
    assert!(report.is_clean(), "{report}");
    let report = with_sabotaged(Rule::UnreadableIsNotAbsent, || restart_without_reading("c003"));
    assert!(!report.is_clean());
}
