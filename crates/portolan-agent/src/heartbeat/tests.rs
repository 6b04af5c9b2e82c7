//! The heartbeat on servers that answer, refuse or hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tower::BoxError;

use super::*;
use crate::Clock;

/// A server that answers every request with this object, or none.
fn server(answer: Option<Value>) -> Client {
    let service = tower::service_fn(move |_: Request<Body>| {
        let answer = answer.as_ref().map(|answer| answer.to_string().into_bytes());
        let answer = answer.map(|answer| Response::new(Body::from(answer)));
        std::future::ready(answer.ok_or_else(|| BoxError::from("no route to host")))
    });
    Client::new(service, "default")
}

async fn beat_once(hub: Client, spoke: Client) -> Result<(), Silence> {
    beat_for(Monitor::new(), hub, spoke).await
}

fn heart(monitor: Monitor, hub: Client, spoke: Client) -> Heart {
    Heart {
        clusters: Api::all(hub.clone()),
        leases: Api::namespaced(hub, "west"),
        objects: Objects::new(spoke.clone()),
        spoke,
        monitor,
        settings: Settings::new("west", Clock::new(|| jiff::Timestamp::UNIX_EPOCH)),
        rival: Mutex::default(),
    }
}

async fn beat_for(monitor: Monitor, hub: Client, spoke: Client) -> Result<(), Silence> {
    let heart = heart(monitor, hub, spoke);
    let beat = heart.once(UNKNOWN_DURATION).await;
    let reported = match beat.cluster {
        Some(cluster) => heart.report(cluster).await,
        None => Ok(()),
    };
    beat.renewed.and(reported)
}

#[tokio::test]
async fn an_agent_whose_heartbeat_is_refused_is_not_ready_until_it_is_not() {
    let refusing = tower::service_fn(|_: Request<Body>| {
        let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Unauthorized", "reason": "Unauthorized", "code": 401 });
        let mut response = Response::new(Body::from(status.to_string().into_bytes()));
        *response.status_mut() = http::StatusCode::UNAUTHORIZED;
        std::future::ready(Ok::<_, BoxError>(response))
    });
    let refusal = |monitor: &Monitor| {
        let reasons = monitor.why_not_ready().into_iter();
        reasons
            .filter(|reason| reason.contains("Lease") && reason.contains("Unauthorized"))
            .count()
    };
    let monitor = Monitor::new();
    let well = || {
        server(Some(
            json!({ "metadata": { "name": "west" }, "spec": { "hubAcceptsClient": true } }),
        ))
    };
    let refused = beat_for(monitor.clone(), Client::new(refusing, "default"), well()).await;
    assert!(matches!(refused, Err(Silence::Hub(_))), "{refused:?}");
    assert_eq!(refusal(&monitor), 1, "{:?}", monitor.why_not_ready());
    let _ = beat_for(monitor.clone(), well(), well()).await;
    assert_eq!(refusal(&monitor), 0, "{:?}", monitor.why_not_ready());
}

#[tokio::test]
async fn a_list_that_fails_for_a_moment_does_not_make_the_cluster_unavailable() {
    for code in [429, 500, 503] {
        let spoke = tower::service_fn(move |request: Request<Body>| {
            let (code, body) = match request.uri().path() {
                "/version" => (
                    200,
                    json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.4", "gitCommit": "",
                    "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": "" }),
                ),
                "/livez" => (200, json!("ok")),
                path if path.ends_with("/clusterclaims") => (code, json!({})),
                _ => (200, json!({ "metadata": {}, "items": [] })),
            };
            let mut response = Response::new(Body::from(body.to_string().into_bytes()));
            *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
            std::future::ready(Ok::<_, BoxError>(response))
        });
        let spoke = Client::new(spoke, "default");
        let settings = Settings::new("west", Clock::new(|| jiff::Timestamp::UNIX_EPOCH));
        let (facts, problem) = Facts::gather(&spoke, &Objects::new(spoke.clone()), &settings).await;
        assert!(problem.is_err(), "{code}");
        assert_eq!(facts.version.as_deref(), Some("v1.36.4"));
        assert_eq!(facts.claims, None, "they stay on the hub as they are");
        assert!(health::is_well(&spoke).await);
    }
}

#[tokio::test]
async fn the_server_that_does_not_answer_is_the_one_that_is_named() {
    // A ManagedCluster, and a Lease as far as anybody looks.
    let cluster = json!({ "metadata": { "name": "west" }, "spec": { "hubAcceptsClient": true } });
    let dead_member = beat_once(server(Some(cluster.clone())), server(None)).await;
    assert!(matches!(dead_member, Err(Silence::Member(_))), "{dead_member:?}");
    let dead_hub = beat_once(server(None), server(Some(cluster))).await;
    assert!(matches!(dead_hub, Err(Silence::Hub(_))), "{dead_hub:?}");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_answer_does_not_keep_the_lease_from_being_renewed() {
    let renewals = Arc::new(AtomicUsize::new(0));
    let counted = renewals.clone();
    let hub = tower::service_fn(move |request: Request<Body>| {
        if request.uri().path().ends_with("/managed-cluster-lease") {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        let answer = json!({
            "metadata": { "name": "west", "resourceVersion": "1" },
            "spec": { "hubAcceptsClient": true, "leaseDurationSeconds": 4 },
        });
        std::future::ready(Ok::<_, BoxError>(Response::new(Body::from(
            answer.to_string().into_bytes(),
        ))))
    });
    let silent =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, BoxError>>());
    let (_stop, stopped) = watch::channel(false);
    let beating = beat(
        (Client::new(hub, "default"), Client::new(silent, "default")),
        Settings::new("west", Clock::new(|| jiff::Timestamp::UNIX_EPOCH)),
        Monitor::new(),
        stopped,
    );
    let _ = tokio::time::timeout(Duration::from_secs(60), beating).await;
    // Every two seconds.
    assert!(renewals.load(Ordering::SeqCst) >= 29, "{renewals:?}");
}

#[tokio::test]
async fn a_lease_is_good_for_as_long_as_before_where_the_cluster_cannot_be_read() {
    for code in [403, 500] {
        let announced = Arc::new(Mutex::new(None));
        let seen = announced.clone();
        let hub = tower::service_fn(move |request: Request<Body>| {
            let (seen, is_lease) = (seen.clone(), request.uri().path().contains("/leases/"));
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                if is_lease {
                    let lease: Value = serde_json::from_slice(&body).unwrap();
                    *seen.lock().unwrap() = lease.pointer("/spec/leaseDurationSeconds").cloned();
                }
                let mut response =
                    Response::new(Body::from(json!({ "metadata": {} }).to_string().into_bytes()));
                if !is_lease {
                    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
                }
                Ok::<_, BoxError>(response)
            }
        });
        let heart = heart(Monitor::new(), Client::new(hub, "default"), server(None));
        let beat = heart.once(10).await;
        assert_eq!(beat.duration, 10);
        assert_eq!(*announced.lock().unwrap(), Some(json!(10)), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_does_not_keep_the_hub_from_hearing_that_the_member_is_ill() {
    let spoke = tower::service_fn(|request: Request<Body>| async move {
        let (code, body) = match request.uri().path() {
            "/livez" => (500, json!({})),
            "/version" => (
                200,
                json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.4", "gitCommit": "", "gitTreeState": "",
                    "buildDate": "", "goVersion": "", "compiler": "", "platform": "" }),
            ),
            _ => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                (200, json!({ "metadata": { "continue": "more" }, "items": [{}] }))
            }
        };
        let mut response = Response::new(Body::from(body.to_string().into_bytes()));
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
        Ok::<_, BoxError>(response)
    });
    let said = Arc::new(Mutex::new(String::new()));
    let heard = said.clone();
    let hub = tower::service_fn(move |request: Request<Body>| {
        let heard = heard.clone();
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(&body));
            let answer = json!({ "metadata": { "name": "west" }, "spec": { "hubAcceptsClient": true } });
            Ok::<_, BoxError>(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    let heart = heart(
        Monitor::new(),
        Client::new(hub, "default"),
        Client::new(spoke, "default"),
    );
    let cluster = serde_json::from_value(json!({
        "metadata": { "name": "west" }, "spec": { "hubAcceptsClient": true },
    }));
    let started = Instant::now();
    let reported = heart.report(cluster.unwrap()).await;
    assert!(matches!(reported, Err(Silence::Member(_))), "{reported:?}");
    assert!(
        started.elapsed() < Duration::from_secs(90),
        "{:?}",
        started.elapsed()
    );
    let said = said.lock().unwrap().clone();
    assert!(said.contains("ManagedClusterKubeAPIServerUnavailable"), "{said}");
}

#[tokio::test]
async fn a_lease_that_the_agent_may_not_renew_says_how_the_rights_come_back() {
    let hub = tower::service_fn(|request: Request<Body>| {
        let is_lease = request.uri().path().contains("/leases");
        let answer = match is_lease {
            true => json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "cannot patch leases", "reason": "Forbidden", "code": 403 }),
            false => json!({ "metadata": { "name": "west" }, "spec": { "hubAcceptsClient": true } }),
        };
        let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
        if is_lease {
            *response.status_mut() = http::StatusCode::FORBIDDEN;
        }
        std::future::ready(Ok::<_, BoxError>(response))
    });
    let beat = heart(Monitor::new(), Client::new(hub, "default"), server(None))
        .once(10)
        .await;
    let Err(Silence::Hub(problem)) = beat.renewed else {
        panic!("the hub refuses");
    };
    assert!(problem.to_string().contains("portolan join west"), "{problem}");
}
