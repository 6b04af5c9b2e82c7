//! A task that dies and a loop that stands still are noticed, whichever it is.

use std::time::Duration;

use jiff::Timestamp;
use kube::client::Body;
use portolan_api::cluster::Placement;
use portolan_runtime::Clock;
use tower::BoxError;

use super::*;
use crate::reconcile::fake;
use crate::sabotage::{Fault, set_fault};

const LOOPS: [&str; 7] = [
    "placements",
    "cluster profiles",
    "registration",
    "acceptance",
    "replica sets",
    "finished works",
    "work syncer",
];

/// Controllers of everything, on a server that never answers.
fn start() -> Controllers {
    let silent = tower::service_fn(|_: http::Request<Body>| {
        std::future::pending::<Result<http::Response<Body>, BoxError>>()
    });
    let mut settings = Settings::new(Clock::new(|| Timestamp::UNIX_EPOCH));
    settings.registration = true;
    Controllers::start(Client::new(silent, "default"), settings)
}

// Time stands still but for those who wait: hours are over at once.

#[tokio::test(start_paused = true)]
async fn every_loop_turns_while_the_server_does_not_answer() {
    let controllers = start();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(controllers.health().why_not_alive(), None);
    assert!(!controllers.health().is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_panics_is_named_by_the_probes_and_by_the_end() {
    for name in LOOPS {
        set_fault(name, Fault::Panics);
        let controllers = start();
        let failure = controllers.failed().await;
        assert_eq!(failure, format!("the task {name} panicked: as the test asked"));
        assert_eq!(controllers.health().why_not_alive(), Some(failure.clone()));
        assert_eq!(controllers.health().why_not_ready()[0], failure);
        controllers.kill();
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_stands_still_is_named_by_the_probes_and_by_the_end() {
    for name in LOOPS {
        set_fault(name, Fault::StandsStill);
        let controllers = start();
        let failure = controllers.failed().await;
        assert_eq!(failure, format!("the loop {name} has not turned for 60 seconds"));
        assert_eq!(controllers.health().why_not_alive(), Some(failure));
        controllers.kill();
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_that_stop_report_no_failure() {
    let controllers = start();
    let health = controllers.health();
    controllers.stop().await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(health.why_not_alive(), None);
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_decision_that_panics_does_not_end_scheduling_in_silence() {
    let (hub, client) = fake::live::hub().await;
    let placements: kube::Api<Placement> = kube::Api::default_namespaced(client.clone());
    let placement: Placement = fake::object(serde_json::json!({ "metadata": { "name": "web" }, "spec": {} }));
    placements
        .create(&kube::api::PostParams::default(), &placement)
        .await
        .unwrap();
    set_fault("placements", Fault::WritePanics);
    let controllers = Controllers::start(client, Settings::new(fake::live::clock()));
    let failure = controllers.failed().await;
    assert_eq!(failure, "the task placements panicked: as the test asked");
    controllers.kill();
    hub.stop().await;
}

/// Placements that are evaluated one after the other take minutes together, and the loop still turns.
#[tokio::test(start_paused = true)]
async fn many_slow_evaluations_are_no_loop_that_stands_still() {
    let (hub, client) = fake::live::hub().await;
    let placements: kube::Api<Placement> = kube::Api::default_namespaced(client.clone());
    for name in ["a", "b", "c", "d"] {
        let placement: Placement =
            fake::object(serde_json::json!({ "metadata": { "name": name }, "spec": {} }));
        placements
            .create(&kube::api::PostParams::default(), &placement)
            .await
            .unwrap();
    }
    set_fault("placements", Fault::EvaluationsAreSlow);
    let controllers = Controllers::start(client, Settings::new(fake::live::clock()));
    let decided = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let listed = placements.list(&kube::api::ListParams::default()).await.unwrap();
            if listed.iter().all(|placement| placement.status.is_some()) {
                break;
            }
        }
    };
    tokio::select! {
        failure = controllers.failed() => panic!("{failure}"),
        () = decided => {}
    }
    controllers.kill();
    hub.stop().await;
}

/// A round may be of all placements of a hub, and the process has seconds to end in.
#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_round_does_not_wait_for_the_rest_of_the_round() {
    let (hub, client) = fake::live::hub().await;
    let placements: kube::Api<Placement> = kube::Api::default_namespaced(client.clone());
    for number in 0..10 {
        let placement: Placement =
            fake::object(serde_json::json!({ "metadata": { "name": format!("p{number}") }, "spec": {} }));
        placements
            .create(&kube::api::PostParams::default(), &placement)
            .await
            .unwrap();
    }
    let decided = async || {
        let listed = placements.list(&kube::api::ListParams::default()).await.unwrap();
        listed
            .iter()
            .filter(|placement| placement.status.is_some())
            .count()
    };
    set_fault("placements", Fault::EvaluationsAreSlow);
    let controllers = Controllers::start(client, Settings::new(fake::live::clock()));
    while decided().await == 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    controllers.stop().await;
    let decided = decided().await;
    assert!(
        decided < 4,
        "{decided} of 10 were decided after the stop or shortly before"
    );
    hub.stop().await;
}
