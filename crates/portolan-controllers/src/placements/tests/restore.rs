//! A process that starts while a hub is being restored: what is not there yet is not gone.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::{AddOnPlacementScore, Placement};
use portolan_check::{Cluster, DecisionId, Report, stream};
use portolan_runtime::watch::{Delta, Key};
use serde_json::json;

use super::rules::{at_rest, cluster, remove};
use super::server::{NAMESPACE, Server, binding, now, object, scheduler};
use crate::placements::input::Input;
use crate::placements::scheduler::Scheduler;
use crate::sabotage::{Rule, with_sabotaged};

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

/// A process that finds no definition of clusters, and then one without a cluster.
fn restarted(server: &Server) -> Scheduler {
    let mut scheduler = scheduler();
    server.introduce(&mut scheduler);
    scheduler.handle(Input::Cluster(Delta::NotServed));
    scheduler.handle(Input::Cluster(Delta::ListStarted));
    scheduler.handle(Input::Cluster(Delta::CrdCreated(Some(now()))));
    scheduler.handle(Input::Cluster(Delta::Synced));
    scheduler
}

/// The definition is made anew and the clusters come back one by one; the last of them never does.
fn restore() -> (Server, Report) {
    let (mut server, _) = at_rest(3);
    server.recording = stream::Recording::starting_at(server.recording.last());
    let mut scheduler = restarted(&server);
    server.run(&mut scheduler);
    cluster(&mut scheduler, "c002");
    server.run_at(&mut scheduler, after(20));
    cluster(&mut scheduler, "c001");
    server.run_at(&mut scheduler, after(40));
    let everyone = ["c001", "c002", "c003"].map(String::from);
    let mut report = stream::stays_present(
        &server.recording,
        &DecisionId::ocm(NAMESPACE, "p"),
        &everyone.iter().map(Cluster::managed).collect(),
    );
    report.extend(stream::stays_present(
        &server.recording,
        &DecisionId::kep(NAMESPACE, "p"),
        &everyone
            .iter()
            .map(|name| Cluster::profile(NAMESPACE, name))
            .collect(),
    ));
    assert!(report.is_clean() == (server.reason("DecisionKept").as_deref() == Some("Restoring")));
    server.run_at(&mut scheduler, after(299));
    server.run_at(&mut scheduler, after(300));
    (server, report)
}

#[test]
fn clusters_that_may_come_back_stay_decided_and_dropping_them_is_noticed() {
    let (server, report) = restore();
    assert!(report.is_clean(), "{report}");
    assert_eq!(server.decided(), ["c001", "c002"]);
    assert_eq!(server.reason("DecisionKept"), None);
    let (_, report) = with_sabotaged(Rule::MissingIsNotGone, restore);
    assert!(!report.is_clean());
}

#[test]
fn when_every_cluster_of_a_decision_is_back_it_is_not_in_doubt_any_more() {
    let (mut server, _) = at_rest(2);
    let mut scheduler = restarted(&server);
    cluster(&mut scheduler, "c001");
    cluster(&mut scheduler, "c003");
    server.run_at(&mut scheduler, after(20));
    assert_eq!(server.decided(), ["c001", "c002"], "all of it is kept");
    cluster(&mut scheduler, "c002");
    server.run_at(&mut scheduler, after(21));
    assert_eq!(server.decided(), ["c001", "c002", "c003"]);
    assert_eq!(server.reason("DecisionKept"), None);
    // What happens to them from now on was heard.
    remove(&mut scheduler, "c001");
    server.run_at(&mut scheduler, after(22));
    assert_eq!(server.decided(), ["c002", "c003"]);
}

#[test]
fn a_cluster_that_is_heard_to_be_deleted_leaves_though_others_may_be_on_their_way() {
    let (mut server, _) = at_rest(2);
    let mut scheduler = restarted(&server);
    server.run(&mut scheduler);
    cluster(&mut scheduler, "c002");
    server.run(&mut scheduler);
    remove(&mut scheduler, "c001");
    scheduler.handle(Input::Set(Delta::Synced));
    cluster(&mut scheduler, "c003");
    server.run(&mut scheduler);
    assert_eq!(server.decided(), ["c002", "c003"]);
}

#[test]
fn a_definition_as_old_as_the_decision_is_taken_at_its_word() {
    let (mut server, _) = at_rest(2);
    server.created_at(after(-10));
    for (founded, decided) in [(-1000, vec!["c001"]), (-5, vec!["c001", "c002"])] {
        let mut server = server.clone();
        let mut scheduler = scheduler();
        server.introduce(&mut scheduler);
        cluster(&mut scheduler, "c001");
        scheduler.handle(Input::Cluster(Delta::CrdCreated(Some(after(founded)))));
        scheduler.handle(Input::Cluster(Delta::Synced));
        server.run(&mut scheduler);
        assert_eq!(server.decided(), decided, "{founded}");
    }
}

/// Sets and bindings, when they come back late, are part of what makes a cluster eligible.
#[test]
fn a_decision_outlives_bindings_that_are_not_there_yet() {
    let (mut server, _) = at_rest(2);
    let mut scheduler = scheduler();
    scheduler.handle(Input::Binding(Delta::NotServed));
    scheduler.handle(Input::Binding(Delta::Synced));
    scheduler.handle(Input::Score(Delta::Synced));
    server.introduce_some(&mut scheduler);
    cluster(&mut scheduler, "c001");
    cluster(&mut scheduler, "c002");
    scheduler.handle(Input::Cluster(Delta::Synced));
    server.run(&mut scheduler);
    assert_eq!(
        server.reason("DecisionKept"),
        None,
        "a moment is nothing to speak of"
    );
    server.run_at(&mut scheduler, after(20));
    assert_eq!(server.decided(), ["c001", "c002"]);
    assert_eq!(server.reason("DecisionKept").as_deref(), Some("Restoring"));
    scheduler.handle(binding());
    server.run_at(&mut scheduler, after(21));
    assert_eq!(server.reason("DecisionKept"), None);
    // Taken away now, it is taken away.
    scheduler.handle(unbinding());
    server.run_at(&mut scheduler, after(22));
    assert!(server.decided().is_empty());
}

#[test]
fn what_this_process_decided_itself_while_kinds_were_new_follows_at_once() {
    let mut server = Server::with(json!({}));
    let mut scheduler = scheduler();
    scheduler.handle(Input::Binding(Delta::NotServed));
    scheduler.handle(Input::Binding(Delta::Synced));
    scheduler.handle(Input::Score(Delta::Synced));
    server.introduce_some(&mut scheduler);
    cluster(&mut scheduler, "c001");
    scheduler.handle(Input::Cluster(Delta::Synced));
    server.run(&mut scheduler);
    scheduler.handle(binding());
    server.run(&mut scheduler);
    assert_eq!(server.decided(), ["c001"]);
    scheduler.handle(unbinding());
    server.run(&mut scheduler);
    assert!(server.decided().is_empty());
}

fn unbinding() -> Input {
    let key = Key {
        namespace: NAMESPACE.to_owned(),
        name: "all".to_owned(),
        uid: String::new(),
    };
    Input::Binding(Delta::Deleted(key))
}

fn score(cluster: &str, value: i32) -> Input {
    let score: AddOnPlacementScore = object(json!({
        "metadata": {"name": "cost", "namespace": cluster},
        "status": {"scores": [{"name": "cheap", "value": value}]},
    }));
    Input::Score(Delta::Applied(Arc::new(score)))
}

#[test]
fn a_decision_by_scores_outlives_scores_that_are_not_there_yet() {
    let coordinate = json!({"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "cheap"}});
    let policy = json!({"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]});
    let mut server = Server::with(json!({"numberOfClusters": 1, "prioritizerPolicy": policy}));
    let clusters = |scheduler: &mut Scheduler| {
        ["c001", "c002", "c003"]
            .iter()
            .for_each(|name| cluster(scheduler, name));
        scheduler.handle(Input::Cluster(Delta::Synced));
    };
    let mut first = scheduler();
    server.introduce(&mut first);
    clusters(&mut first);
    first.handle(score("c003", 100));
    server.run(&mut first);
    assert_eq!(server.decided(), ["c003"]);
    // The kind is not there, then it is there and empty, then another score is back first.
    let mut scheduler = scheduler();
    scheduler.handle(Input::Score(Delta::NotServed));
    scheduler.handle(binding());
    scheduler.handle(Input::Binding(Delta::Synced));
    server.introduce_some(&mut scheduler);
    clusters(&mut scheduler);
    server.run_at(&mut scheduler, after(1));
    assert_eq!(server.decided(), ["c003"]);
    scheduler.handle(Input::Score(Delta::Synced));
    scheduler.handle(score("c002", 50));
    server.run_at(&mut scheduler, after(2));
    assert_eq!(server.decided(), ["c003"]);
    scheduler.handle(score("c003", 40));
    server.run_at(&mut scheduler, after(3));
    assert_eq!(server.decided(), ["c002"], "now it is known to be worse");
}

/// A placement that is restored after the process started, or never.
fn restore_placement(comes_back: bool) -> Vec<String> {
    let (mut server, _) = at_rest(2);
    let placement: Option<Placement> = server.lose_placement();
    let mut scheduler = scheduler();
    scheduler.handle(Input::Placement(Delta::NotServed));
    server.introduce(&mut scheduler);
    scheduler.handle(Input::Placement(Delta::CrdCreated(Some(now()))));
    cluster(&mut scheduler, "c001");
    cluster(&mut scheduler, "c002");
    scheduler.handle(Input::Cluster(Delta::Synced));
    server.run(&mut scheduler);
    let kept = server.decided();
    if comes_back {
        let mut placement = placement.unwrap();
        placement.metadata.uid = Some("another".to_owned());
        server.restore_placement(placement.clone());
        scheduler.handle(Input::Placement(Delta::Applied(Arc::new(placement))));
    }
    server.run_at(&mut scheduler, after(301));
    let after = server.decided();
    assert_eq!(after.is_empty(), !comes_back);
    kept
}

#[test]
fn objects_of_a_placement_that_may_come_back_stay_and_removing_them_is_noticed() {
    assert_eq!(restore_placement(true), ["c001", "c002"]);
    assert_eq!(restore_placement(false), ["c001", "c002"]);
    let kept = with_sabotaged(Rule::MissingIsNotGone, || restore_placement(false));
    assert!(kept.is_empty());
}
