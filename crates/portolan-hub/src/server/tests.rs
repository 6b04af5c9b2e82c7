//! Clients that send or read nothing, and a store that failed.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, StreamBody};
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::access::Identity;

/// The beginning of a body whose rest never comes.
fn endless(path: &str) -> Request<UnsyncBoxBody<Bytes, Infallible>> {
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

/// A core in which `ann` may do everything, one thing at a time.
async fn core_with_ann() -> Arc<Core> {
    let limits = ClientLimits {
        requests_per_user: 1,
        watches_per_user: 1,
        ..ClientLimits::default()
    };
    core_with_limits(limits).await
}

/// A core in which `ann` and `amy` may do everything within the limits.
async fn core_with_limits(limits: ClientLimits) -> Arc<Core> {
    let core = Core::in_memory_with(limits);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "amy"},
        ],
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
    assert_eq!(answer.headers()["connection"], "close", "the body is in the way");
    let answer = remote(&core, "bob").oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert!(!answer.headers().contains_key("connection"));
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

/// A user who sends many requests at once waits behind the own ones, and acting as another user is no way round.
#[tokio::test]
async fn requests_of_a_user_wait_for_a_turn_and_those_of_another_do_not() {
    let core = core_with_limits(ClientLimits::default()).await;
    let ann = Identity::authenticated("ann", std::iter::empty::<String>());
    let send = |user: &str, request: http::request::Builder, body: &'static str| {
        let body = http_body_util::Full::new(Bytes::from_static(body.as_bytes()));
        Box::pin(remote(&core, user).oneshot(request.body(body).unwrap()))
    };
    let requests: [fn() -> (http::request::Builder, &'static str); 5] = [
        || (Request::get(CONFIG_MAPS), ""),
        || (Request::get(format!("{CONFIG_MAPS}/nothing")), ""),
        || {
            let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
            (Request::get(CONFIG_MAPS).header("accept", table), "")
        },
        || {
            (
                Request::post(CONFIG_MAPS).header("content-type", "application/yaml"),
                "a: 1",
            )
        },
        || (Request::get(CONFIG_MAPS).header("impersonate-user", "amy"), ""),
    ];
    let turn = core.in_flight.turn(&ann, usize::MAX).await;
    for request in requests {
        let (head, body) = request();
        let mut waiting = send("ann", head, body);
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        let (head, body) = request();
        let served = send("amy", head, body).await.unwrap();
        assert_ne!(served.status(), StatusCode::TOO_MANY_REQUESTS);
    }
    drop(turn);
    let (head, body) = requests[0]();
    assert_eq!(send("ann", head, body).await.unwrap().status(), StatusCode::OK);
}

/// A turn of a user that leaves room for one short request.
async fn nearly_all<'c>(core: &'c Core, user: &str) -> turns::Turn<'c> {
    let user = Identity::authenticated(user, std::iter::empty::<String>());
    core.in_flight.turn(&user, 60 * (64 << 10)).await
}

const MANY: &str = "/api/v1/namespaces/default/serviceaccounts";

#[tokio::test]
async fn requests_that_read_much_and_answer_little_are_long() {
    let core = core_with_limits(ClientLimits::default()).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "large", "namespace": "default"},
        "stringData": {"text": "x".repeat(100 << 10)},
    });
    core.ensure(vec![secret]).await.unwrap();
    let secrets = "/api/v1/namespaces/default/secrets";
    let labels: Vec<String> = (0..100).map(|number| format!("l{number}!=x")).collect();
    let many = (0..20).map(|number| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number}"), "namespace": "default"}})
    });
    core.ensure(many.collect()).await.unwrap();
    let accounts = (0..=apart::MOST_AT_ONCE).map(|number| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": format!("a{number}"), "namespace": "default"}})
    });
    core.ensure(accounts.collect()).await.unwrap();
    let binding = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b"},
        "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"all"}}"#;
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings?dryRun=All";
    let get = |path: String| {
        Request::get(path)
            .body(http_body_util::Full::<Bytes>::default())
            .unwrap()
    };
    let _turn = nearly_all(&core, "ann").await;
    let ask = |user: &str, request| Box::pin(remote(&core, user).oneshot(request));
    let short = ask("ann", get(format!("{CONFIG_MAPS}/m1"))).await.unwrap();
    assert_eq!(short.status(), StatusCode::OK);
    let post = Request::post(bindings).header("content-type", "application/json");
    let review = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
    let review = Request::post(review).header("content-type", "application/json");
    let asked = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","metadata":{"namespace":"default"},
        "spec":{"user":"x","resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}}}"#;
    let delete = Request::delete(format!("{secrets}/large?dryRun=All"));
    let delete_all = Request::delete(format!("{secrets}?dryRun=All"));
    for (what, request) in [
        (
            "a field selector",
            get(format!("{secrets}?fieldSelector=type%3Dnothing")),
        ),
        (
            "labels",
            get(format!("{CONFIG_MAPS}?labelSelector={}", labels.join(","))),
        ),
        (
            "a past state",
            get(format!(
                "{secrets}?limit=1&resourceVersion=1&resourceVersionMatch=Exact"
            )),
        ),
        (
            "many objects",
            get(format!("{MANY}?fieldSelector=metadata.name%3Dnothing")),
        ),
        ("a page of many objects", get(format!("{MANY}?limit=1"))),
        ("the index of documents", get("/openapi/v3".to_owned())),
        ("the number of objects", get("/metrics".to_owned())),
        ("rights", post.body(binding.into()).unwrap()),
        ("a review", review.body(asked.into()).unwrap()),
        (
            "a deletion",
            delete.body(http_body_util::Full::default()).unwrap(),
        ),
        (
            "deletions",
            delete_all.body(http_body_util::Full::default()).unwrap(),
        ),
    ] {
        assert!(futures::poll!(ask("ann", request.clone())).is_pending(), "{what}");
        assert!(futures::poll!(ask("amy", request)).is_ready(), "{what}");
    }
}

fn bindings_of_ann() -> Vec<serde_json::Value> {
    let binding = |number: usize| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": format!("b{number}"), "namespace": "default"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "none"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
        })
    };
    (0..300).map(binding).collect()
}

#[tokio::test]
async fn requests_of_a_user_with_very_many_bindings_are_authorized_in_a_turn() {
    let core = core_with_limits(ClientLimits::default()).await;
    core.ensure(bindings_of_ann()).await.unwrap();
    let _turn = nearly_all(&core, "ann").await;
    let ask = |user: &str, path: &str| Box::pin(remote(&core, user).oneshot(get(path)));
    assert!(futures::poll!(ask("ann", CONFIG_MAPS)).is_pending());
    assert!(futures::poll!(ask("amy", CONFIG_MAPS)).is_ready());
    let as_account = Request::get("/api/v1/namespaces/other/configmaps")
        .header("impersonate-user", "system:serviceaccount:default:a")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let mut as_account = Box::pin(remote(&core, "ann").oneshot(as_account));
    assert!(
        futures::poll!(as_account.as_mut()).is_pending(),
        "the right to act as somebody is looked for among them, too"
    );
    drop(as_account);
    let elsewhere = CONFIG_MAPS.replace("default", "other");
    assert!(
        futures::poll!(ask("ann", &elsewhere)).is_ready(),
        "they are not looked at"
    );
}

#[tokio::test]
async fn a_request_that_waits_to_be_authorized_counts() {
    let core = core_with_ann().await;
    core.ensure(bindings_of_ann()).await.unwrap();
    let _turn = nearly_all(&core, "ann").await;
    let mut waiting = Box::pin(remote(&core, "ann").oneshot(get(CONFIG_MAPS)));
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    let refused = remote(&core, "ann").oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_right_that_was_taken_away_while_a_request_waited_does_not_count() {
    let core = core_with_limits(ClientLimits::default()).await;
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}"#;
    let requests = [
        (
            Request::post(CONFIG_MAPS).header("content-type", "application/json"),
            map,
        ),
        (Request::get(CONFIG_MAPS), ""),
        (Request::delete(CONFIG_MAPS), ""),
    ];
    let ann = Identity::authenticated("ann", std::iter::empty::<String>());
    let turn = core.in_flight.turn(&ann, usize::MAX).await;
    let mut waiting: Vec<_> = requests
        .into_iter()
        .map(|(request, body)| {
            let body = http_body_util::Full::<Bytes>::from(body);
            Box::pin(remote(&core, "ann").oneshot(request.body(body).unwrap()))
        })
        .collect();
    for request in &mut waiting {
        assert!(futures::poll!(request.as_mut()).is_pending());
    }
    let removed = Request::delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/all")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let removed = Service::new(core.clone(), Peer::admin())
        .oneshot(removed)
        .await
        .unwrap();
    assert_eq!(removed.status(), StatusCode::OK);
    drop(turn);
    for answer in futures::future::join_all(waiting).await {
        assert_eq!(answer.unwrap().status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(core.store.count("/configmaps/"), 0);
}

#[tokio::test]
async fn a_right_that_was_taken_away_while_a_body_arrived_does_not_count() {
    let core = core_with_limits(ClientLimits::default()).await;
    let (send, rest) = futures::channel::mpsc::unbounded::<Result<http_body::Frame<Bytes>, Infallible>>();
    let request = Request::post(CONFIG_MAPS)
        .header("content-type", "application/json")
        .body(StreamBody::new(rest).boxed_unsync())
        .unwrap();
    let mut arriving = Box::pin(remote(&core, "ann").oneshot(request));
    assert!(futures::poll!(arriving.as_mut()).is_pending());
    let removed = Request::delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/all")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let admin = Service::new(core.clone(), Peer::admin());
    assert_eq!(admin.oneshot(removed).await.unwrap().status(), StatusCode::OK);
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}"#;
    send.unbounded_send(Ok(http_body::Frame::data(map.into())))
        .unwrap();
    drop(send);
    assert_eq!(arriving.await.unwrap().status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_request_that_waits_for_a_revision_keeps_no_other_request_waiting() {
    let core = core_with_limits(ClientLimits::default()).await;
    let ann = Identity::authenticated("ann", std::iter::empty::<String>());
    for path in [
        format!("{CONFIG_MAPS}/x?resourceVersion=9000000"),
        format!("{CONFIG_MAPS}?resourceVersion=9000000"),
        format!("{CONFIG_MAPS}?resourceVersion=9000000&resourceVersionMatch=Exact"),
    ] {
        let mut waiting = Box::pin(remote(&core, "ann").oneshot(get(&path)));
        assert!(futures::poll!(waiting.as_mut()).is_pending(), "{path}");
        let turn = Box::pin(core.in_flight.turn(&ann, usize::MAX));
        assert!(futures::poll!(turn).is_ready(), "{path}");
    }
}

/// Many watches of a user hear of one change of a large object at the same moment.
#[tokio::test]
async fn watches_of_large_objects_wait_for_a_turn_of_their_user() {
    let core = core_with_limits(ClientLimits::default()).await;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": "default"},
        "data": {"text": "x".repeat(900 << 10)},
    });
    core.ensure(vec![map]).await.unwrap();
    let watch = |user: &str| {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let request = Request::get(format!("{CONFIG_MAPS}?watch=true")).header("accept", table);
        remote(&core, user).oneshot(request.body(Empty::<Bytes>::new()).unwrap())
    };
    let mut of_ann = watch("ann").await.unwrap().into_body();
    let mut of_amy = watch("amy").await.unwrap().into_body();
    let ann = Identity::authenticated("ann", std::iter::empty::<String>());
    let turn = core.in_flight.turn(&ann, usize::MAX).await;
    let mut waiting = Box::pin(of_ann.frame());
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    assert!(
        of_amy.frame().await.unwrap().is_ok(),
        "another user does not wait"
    );
    drop(turn);
    assert!(waiting.await.unwrap().is_ok());
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
    drop((open, served));
    assert_eq!(ann.oneshot(get(&path)).await.unwrap().status(), StatusCode::OK);
}

/// A watch that is not read holds a list of all objects there were.
#[tokio::test]
async fn the_objects_that_a_watch_begins_with_count_until_they_are_read() {
    let core = core_with_limits(ClientLimits {
        answer_bytes_per_user: 100,
        ..ClientLimits::default()
    })
    .await;
    let maps = (0..10).map(|number| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number}"), "namespace": "default"}})
    });
    core.ensure(maps.collect()).await.unwrap();
    let watch = || remote(&core, "ann").oneshot(get("/api/v1/namespaces/default/configmaps?watch=1"));
    let first = watch().await.unwrap();
    assert_eq!(first.status(), StatusCode::OK);
    let refused = watch().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(first);
    assert_eq!(watch().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn an_answer_counts_as_in_flight_until_its_client_has_read_it() {
    let core = core_with_ann().await;
    let ann = remote(&core, "ann");
    let unread = ann.clone().oneshot(get(CONFIG_MAPS)).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    let length = http_body::Body::size_hint(unread.body()).exact();
    assert!(length.is_some(), "the client is told how long the answer is");
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

/// A user that may act as another must not be able to use up what the other has.
#[tokio::test]
async fn a_request_counts_for_the_user_that_sent_it_whoever_it_is_made_as() {
    let core = core_with_ann().await;
    let (ann, amy) = (remote(&core, "ann"), remote(&core, "amy"));
    let as_ann = |path: &str| {
        let mut request = get(path);
        let name = http::HeaderValue::from_static("ann");
        request.headers_mut().insert("impersonate-user", name);
        request
    };
    for path in [CONFIG_MAPS.to_owned(), format!("{CONFIG_MAPS}?watch=1")] {
        let unread = amy.clone().oneshot(as_ann(&path)).await.unwrap();
        assert_eq!(unread.status(), StatusCode::OK, "{path}");
        let others = ann.clone().oneshot(get(&path)).await.unwrap();
        assert_eq!(others.status(), StatusCode::OK, "{path}");
        let refused = amy.clone().oneshot(get(&path)).await.unwrap();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
    }
}

const FILLER: usize = 100_000;

/// A core with a ConfigMap of some size, where the answers to one user may take twice as much and a bit.
async fn core_with_answer_limits() -> Arc<Core> {
    let limits = ClientLimits {
        answer_bytes: 4 * FILLER as u64,
        answer_bytes_per_user: 5 * FILLER as u64 / 2,
        ..ClientLimits::default()
    };
    let core = core_with_limits(limits).await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": "default"},
        "data": {"key": "x".repeat(FILLER)},
    });
    core.ensure(vec![object]).await.unwrap();
    core
}

#[tokio::test]
async fn answers_that_are_not_read_take_a_bounded_number_of_bytes() {
    let core = core_with_answer_limits().await;
    let list = async |user: &str| remote(&core, user).oneshot(get(CONFIG_MAPS)).await.unwrap();
    let mut unread = vec![list("ann").await, list("ann").await];
    let refused = list("ann").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    let text = refused.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(
        text.contains("answers to the user") && text.contains("250000"),
        "{text}"
    );
    // Another user has room until there is none for anybody.
    unread.push(list("amy").await);
    assert!(unread.iter().all(|answer| answer.status() == StatusCode::OK));
    assert_eq!(list("amy").await.status(), StatusCode::TOO_MANY_REQUESTS);
    // A connection drops the body when it has taken the last part; the bytes are there until they are sent.
    let parts = unread.remove(0).into_body().frame().await.unwrap();
    assert_eq!(list("amy").await.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(parts);
    assert_eq!(list("amy").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_write_that_was_done_is_not_answered_as_refused() {
    let core = core_with_answer_limits().await;
    let ann = remote(&core, "ann");
    let _unread = ann.clone().oneshot(get(CONFIG_MAPS)).await.unwrap();
    let _unread_too = ann.clone().oneshot(get(CONFIG_MAPS)).await.unwrap();
    let patch = |value: &str| {
        let patch = json!({"data": {"key": value.repeat(FILLER)}}).to_string();
        Request::patch(format!("{CONFIG_MAPS}/large"))
            .header("content-type", "application/merge-patch+json")
            .body(http_body_util::Full::new(Bytes::from(patch)))
            .unwrap()
    };
    let written = ann.clone().oneshot(patch("y")).await.unwrap();
    assert_eq!(written.status(), StatusCode::OK);
    // From here on there is no room at all, which is said before anything is written.
    let refused = ann.clone().oneshot(patch("z")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(written);
    // The objects that were deleted are left out of the answer.
    let deletion = Request::delete(CONFIG_MAPS).body(Empty::<Bytes>::new()).unwrap();
    let deleted = ann.oneshot(deletion).await.unwrap();
    assert_eq!(deleted.status(), StatusCode::OK);
    let status = deleted.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&status).unwrap();
    assert_eq!(status["status"], "Success");
}

#[tokio::test]
async fn an_account_that_is_being_deleted_has_no_tokens() {
    let core = Core::in_memory();
    let metadata = json!({"name": "robot", "namespace": "default", "finalizers": ["example.com/held"]});
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
    core.ensure(vec![account]).await.unwrap();
    let path = "/api/v1/namespaces/default/serviceaccounts/robot";
    let request = |method: &str, path: &str, token: &str| {
        Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(http_body_util::Full::new(Bytes::from_static(b"{}")))
            .unwrap()
    };
    let admin = || Service::new(core.clone(), Peer::admin());
    let token_request = format!("{path}/token");
    let answer = admin()
        .oneshot(request("POST", &token_request, ""))
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let token = body["status"]["token"].as_str().unwrap();
    let code = async |service: Service, method: &str, path: &str| {
        let answer = service.oneshot(request(method, path, token)).await.unwrap();
        answer.status()
    };
    let robot = || Service::new(core.clone(), Peer::Remote(None));
    let known = code(robot(), "GET", path).await;
    assert_eq!(known, StatusCode::FORBIDDEN, "an account that has no roles");
    assert_eq!(code(admin(), "DELETE", path).await, StatusCode::OK);
    assert_eq!(
        code(admin(), "GET", path).await,
        StatusCode::OK,
        "the finalizer holds it"
    );
    assert_eq!(code(robot(), "GET", path).await, StatusCode::UNAUTHORIZED);
    assert_eq!(code(admin(), "POST", &token_request).await, StatusCode::CONFLICT);
}
