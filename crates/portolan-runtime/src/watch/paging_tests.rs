use std::sync::Mutex;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::mpsc;
use tower::BoxError;

use super::super::limits::with_limits;
use super::super::{Delta, Subscriber, Watch};
use super::*;
use crate::failure::TooLarge;

const EACH: usize = 3000;
/// Seven objects fit, and no eight.
const MOST: usize = 7 * (EACH + 100) + 200;

/// A server with so many objects of [`EACH`] bytes, and the limits of the pages that it was asked for.
fn server(objects: usize, each: usize) -> (Client, Arc<Mutex<Vec<usize>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let limits = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let number = move |name: &str| {
            let value = query.split('&').find_map(|part| part.strip_prefix(name))?;
            value.parse::<usize>().ok()
        };
        let limits = limits.clone();
        async move {
            let Some(limit) = number("limit=") else {
                return std::future::pending().await;
            };
            limits.lock().unwrap().push(limit);
            let from = number("continue=").unwrap_or(0);
            let to = (from + limit).min(objects);
            let item = |place: usize| json!({"metadata": {"name": format!("m{place}")}, "data": {"x": "y".repeat(each)}});
            let next = if to < objects {
                to.to_string()
            } else {
                String::new()
            };
            let list = json!({
                "kind": "ConfigMapList", "apiVersion": "v1", "items": (from..to).map(item).collect::<Vec<_>>(),
                "metadata": {"resourceVersion": "5", "continue": next},
            });
            Ok::<_, BoxError>(Response::new(Full::new(Bytes::from(list.to_string()))))
        }
    });
    (Client::new(service, "default"), asked)
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(with_limits(client, std::time::Duration::from_secs(70), MOST))
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_too_large_is_asked_for_in_parts() {
    let (client, asked) = server(30, EACH);
    let maps = maps(client);
    let mut how = ListParams::default().limit(20);
    let mut names = Vec::new();
    loop {
        let page = maps.list(&how).await.unwrap();
        names.extend(page.items.into_iter().filter_map(|map| map.metadata.name));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => how = how.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(
        names,
        (0..30).map(|place| format!("m{place}")).collect::<Vec<_>>()
    );
    assert_eq!(asked.lock().unwrap()[..6], [20, 10, 5, 10, 5, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_begins_with_every_object_although_pages_are_too_large() {
    let (client, _) = server(30, EACH);
    let client = with_limits(client, std::time::Duration::from_secs(70), MOST);
    let (sender, mut deltas) = mpsc::channel(100);
    let watch =
        tokio::spawn(Watch::<ConfigMap>::new(client, vec![Subscriber::new(sender, |delta| delta)]).run());
    let mut applied = 0;
    loop {
        match deltas.recv().await.unwrap() {
            Delta::Applied(_) => applied += 1,
            Delta::Synced => break,
            _ => {}
        }
    }
    assert_eq!(applied, 30);
    watch.abort();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_too_large_alone_is_said_to_be() {
    let (client, asked) = server(3, MOST);
    let error = maps(client)
        .list(&ListParams::default().limit(20))
        .await
        .unwrap_err();
    assert!(TooLarge::is_cause_of(&error), "{error:?}");
    assert_eq!(*asked.lock().unwrap(), [20, 10, 5, 2, 1]);
}

#[test]
fn pages_grow_again_where_objects_are_small() {
    let size = PageSize::default();
    size.too_large(2);
    for expected in [2, 4, 8, 8] {
        let uri: Uri = "/api/v1/configmaps?limit=8&continue=3".parse().unwrap();
        let request = Request::get(uri).body(Body::empty()).unwrap();
        let page = PageRequest::of(request, 8, &size);
        assert_eq!(page.objects(), expected);
        assert_eq!(
            page.request().uri().to_string(),
            format!("/api/v1/configmaps?limit={expected}&continue=3")
        );
        size.fitted(8, page.objects());
    }
}

#[test]
fn a_request_for_one_object_makes_no_other_page_smaller() {
    let size = PageSize::default();
    size.fitted(1, 1);
    assert_eq!(size.at_most(100), 100);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_halfway_begins_again_with_smaller_pages() {
    let (client, asked) = server(30, EACH);
    let requests = asked.clone();
    let slow = tower::service_fn(move |request: Request<Body>| {
        let (client, second) = (client.clone(), !requests.lock().unwrap().is_empty());
        async move {
            if second {
                tokio::time::sleep(std::time::Duration::from_secs(30)).await;
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    let maps = maps(Client::new(slow, "default"));
    let how = ListParams::default().limit(20);
    for _ in 0..2 {
        let given_up = tokio::time::timeout(std::time::Duration::from_secs(35), maps.list(&how)).await;
        drop(given_up);
    }
    assert_eq!(*asked.lock().unwrap(), [20, 10, 5]);
}

#[test]
fn watches_and_requests_without_a_limit_are_sent_as_they_are() {
    for (method, query) in [
        (Method::GET, "?watch=1&limit=5"),
        (Method::GET, "?watch=true&limit=5"),
        (Method::GET, ""),
        (Method::GET, "?limit=0"),
        (Method::GET, "?limit=x"),
        (Method::DELETE, "?limit=5"),
    ] {
        let uri: Uri = format!("/api/v1/configmaps{query}").parse().unwrap();
        assert_eq!(limit(&method, &uri), None, "{method} {query}");
    }
}
