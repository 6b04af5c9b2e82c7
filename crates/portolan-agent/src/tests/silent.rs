//! A hub that takes requests and never answers them. Time stands still but for those who wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::sync::Notify;
use tower::BoxError;

use portolan_runtime::logging::Operation;

use super::fixture::{World, run, settings};
use crate::Agent;

/// A server that does not answer its first request for what `silent` is in the path of, and has nothing at all.
fn server(silent: &'static str, asked_again: Arc<Notify>) -> Client {
    let asked = Arc::new(AtomicBool::new(false));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (asked, asked_again) = (asked.clone(), asked_again.clone());
        async move {
            if request.uri().path().contains(silent) {
                if !asked.swap(true, Ordering::SeqCst) {
                    return std::future::pending().await;
                }
                asked_again.notify_one();
            }
            let mut response = Response::new(Body::from(br#"{"kind":"Status","code":404}"#.to_vec()));
            *response.status_mut() = StatusCode::NOT_FOUND;
            Ok::<_, BoxError>(response)
        }
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_dropped_asks_for_nothing_any_more() {
    let asked_again = Arc::new(Notify::new());
    let agent = Agent::start(
        server("/leases", asked_again.clone()),
        server("nothing", Arc::default()),
        settings(),
    );
    asked_again.notified().await;
    drop(agent);
    tokio::task::yield_now().await;
    let asked = tokio::time::timeout(std::time::Duration::from_secs(3600), async {
        // One may have been under way.
        asked_again.notified().await;
        asked_again.notified().await;
    });
    assert!(asked.await.is_err(), "it has stopped");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_and_watches_do_not_wait_forever_for_an_answer() {
    for path in ["/managedclusters/", "/leases", "/manifestworks", "/works"] {
        let asked_again = Arc::new(Notify::new());
        let agent = Agent::start(
            server(path, asked_again.clone()),
            server("nothing", Arc::default()),
            settings(),
        );
        asked_again.notified().await;
        agent.kill();
    }
}

#[test]
fn a_pass_that_asks_the_hub_nothing_does_not_say_that_the_hub_answers_again() {
    run(async {
        let world = World::new().await;
        world.put("web", &["a"]).await;
        let mut agent = world.agent();
        agent.look().await;
        agent.look().await;
        let refused = kube::core::Status::failure("no", "Unauthorized").with_code(401);
        let list = Operation {
            verb: "list",
            resource: "manifestworks",
            object: "",
        };
        agent
            .monitor
            .hub
            .failed(list, &kube::Error::Api(Box::new(refused)));
        agent.pass("web").await;
        assert!(
            agent.monitor.hub.refusal().is_some(),
            "there was nothing to report"
        );
        world.put("web", &["a", "b"]).await;
        agent.look().await;
        assert_eq!(agent.monitor.hub.refusal(), None, "the hub took a report");
    });
}
