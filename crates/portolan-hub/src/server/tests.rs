//! Clients that send or read nothing, and a store that failed.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, StreamBody};
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::access::Identity;

/// The beginning of a body whose rest never comes.
fn endless(path: &str) -> Request<Body> {
    let frames = futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>();
    let body = StreamBody::new(frames).boxed_unsync();
    Request::post(path)
        .header("content-type", "application/json")
        .body(body)
        .unwrap()
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(path).body(Empty::new()).unwrap()
}

fn remote(core: &Arc<Core>, user: &str) -> Service {
    let identity = Identity::authenticated(user, std::iter::empty::<String>());
    Service::new(core.clone(), Peer::Remote(Some(identity)))
}

/// A core in which `ann` may do everything.
async fn core_with_ann() -> Arc<Core> {
    let core = Core::in_memory();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    core.ensure(vec![role, binding]).await.unwrap();
    core
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(start_paused = true)]
async fn a_user_without_rights_is_refused_before_the_body_is_read() {
    let core = core_with_ann().await;
    let started = tokio::time::Instant::now();
    let answer = remote(&core, "bob").oneshot(endless(CONFIG_MAPS)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(
        started.elapsed(),
        std::time::Duration::ZERO,
        "nothing was waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let core = core_with_ann().await;
    let answer = remote(&core, "ann").oneshot(endless(CONFIG_MAPS)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
}

/// A watch would hold it until its end, and may last for days.
#[tokio::test(start_paused = true)]
async fn the_body_of_a_read_is_not_waited_for() {
    let core = core_with_ann().await;
    for path in [CONFIG_MAPS.to_owned(), format!("{CONFIG_MAPS}?watch=1")] {
        let mut request = endless(&path);
        *request.method_mut() = http::Method::GET;
        let answer = remote(&core, "ann").oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn a_user_opens_no_more_watches_than_the_limit() {
    let core = core_with_ann().await;
    let ann = remote(&core, "ann");
    let path = format!("{CONFIG_MAPS}?watch=1");
    let open = ann.clone().oneshot(get(&path)).await.unwrap();
    assert_eq!(open.status(), StatusCode::OK);
    let refused = ann.clone().oneshot(get(&path)).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let served = ann.clone().oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert_eq!(served.status(), StatusCode::OK, "a request is no watch");
    drop(open);
    assert_eq!(ann.oneshot(get(&path)).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn an_answer_counts_as_in_flight_until_its_client_has_read_it() {
    let core = core_with_ann().await;
    let ann = remote(&core, "ann");
    let unread = ann.clone().oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    assert!(unread.headers().contains_key("content-length"));
    let refused = ann.clone().oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    unread.into_body().collect().await.unwrap();
    let served = ann.oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert_eq!(served.status(), StatusCode::OK);
}

#[tokio::test]
async fn documents_count_as_in_flight_and_probes_do_not() {
    let core = core_with_ann().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "paths"},
        "rules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "paths"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "paths"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    core.ensure(vec![role, binding]).await.unwrap();
    let ann = remote(&core, "ann");
    let unread = ann.clone().oneshot(get("/openapi/v3/api/v1")).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    let refused = ann.clone().oneshot(get("/openapi/v3/api/v1")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let probe = ann.oneshot(get("/readyz")).await.unwrap();
    assert_eq!(probe.status(), StatusCode::OK);
}

#[tokio::test]
async fn probes_fail_when_the_store_has_failed() {
    let core = Core::in_memory();
    let service = Service::new(core.clone(), Peer::admin());
    let probe = async |path: &str| {
        let answer = service.clone().oneshot(get(path)).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    assert_eq!(probe("/readyz").await, (StatusCode::OK, "ok".to_owned()));
    core.store.fail("No space left on device");
    for path in ["/healthz", "/livez", "/readyz"] {
        let (status, text) = probe(path).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        assert!(text.contains("No space left on device"), "{text}");
    }
}
