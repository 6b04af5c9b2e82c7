//! An agent whose works are not dealt with any more says so, and is silent on the hub: its Lease is not renewed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::BoxError;

use crate::sabotage::{Fault, Rule, clear_fault, set_fault, with_sabotaged};
use crate::{Agent, Clock, Settings};

/// A server that has the ManagedCluster, takes the Lease and never answers anything else, and how often the Lease was
/// renewed.
fn server() -> (Client, Arc<AtomicUsize>) {
    let renewals = Arc::new(AtomicUsize::new(0));
    let counted = renewals.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let is_renewal = path.contains("/leases/") && request.method() == Method::PATCH;
        counted.fetch_add(usize::from(is_renewal), Ordering::SeqCst);
        async move {
            if !is_renewal && !path.ends_with("/managedclusters/west") {
                std::future::pending::<()>().await;
            }
            let answer = json!({ "metadata": { "name": "west" }, "spec": { "hubAcceptsClient": true } });
            Ok::<_, BoxError>(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    (Client::new(service, "default"), renewals)
}

/// Lets an agent live for a while and then have a fault. What it said, and the renewals in the hour after that.
async fn renewals_after(fault: Fault) -> (String, usize) {
    let (hub, renewals) = server();
    let settings = Settings::new("west", Clock::new(|| Timestamp::UNIX_EPOCH));
    let agent = Agent::start(hub.clone(), hub, settings);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(renewals.load(Ordering::SeqCst) > 10, "it lives");
    assert_eq!(agent.monitor().why_not_alive(), None);
    set_fault("works", fault);
    let failure = agent.failed().await;
    let before = renewals.load(Ordering::SeqCst);
    assert_eq!(agent.monitor().why_not_alive(), Some(failure.clone()));
    assert_eq!(agent.monitor().why_not_ready()[0], failure);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    clear_fault();
    agent.kill();
    (failure, renewals.load(Ordering::SeqCst) - before)
}

/// Time stands still but for those who wait.
fn on_one_thread<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}

#[test]
fn an_agent_whose_loop_died_renews_its_lease_no_more_and_a_broken_rule_is_noticed() {
    let expected = ("the task works panicked: as the test asked".to_owned(), 0);
    assert_eq!(on_one_thread(renewals_after(Fault::Panics)), expected);
    let (_, renewals) = with_sabotaged(Rule::DeadAgentIsSilent, || {
        on_one_thread(renewals_after(Fault::Panics))
    });
    assert!(renewals > 0);
}

#[test]
fn an_agent_whose_loop_stands_still_renews_its_lease_no_more() {
    let expected = ("the loop works has not turned for 60 seconds".to_owned(), 0);
    assert_eq!(on_one_thread(renewals_after(Fault::StandsStill)), expected);
}
