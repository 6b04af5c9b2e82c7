use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::Request;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchParams};
use kube::{Api, Client};
use tokio::sync::mpsc;

use super::super::limits::limited;
use super::super::{Delta, Subscriber, Watch};
use super::*;

/// A server that sends the same bytes again and again for as long as they are read, and how many it has sent.
fn endless(status: u16, text: &'static str) -> (Client, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let count = count.clone();
        let chunks = futures::stream::repeat_with(move || {
            count.fetch_add(text.len(), Ordering::SeqCst);
            Ok::<_, BoxError>(Frame::data(Bytes::from_static(text.as_bytes())))
        });
        let response = Response::builder().status(status).body(StreamBody::new(chunks));
        async move { response }
    });
    (Client::new(service, "default"), sent)
}

fn maps(client: Client, event: usize, answer: usize, list: Option<u64>) -> Api<ConfigMap> {
    let sizes = Sizes {
        event,
        answer,
        list: list.map(Pages::of),
    };
    Api::default_namespaced(limited(client, None, sizes))
}

const PATH: &str = "GET /api/v1/namespaces/default/configmaps";

async fn watched(maps: &Api<ConfigMap>) -> String {
    let events = match maps.watch(&WatchParams::default(), "1").await {
        Ok(events) => events.boxed().try_next().await.map(drop),
        Err(error) => Err(error),
    };
    crate::failure::error_chain(&events.unwrap_err())
}

#[tokio::test]
async fn an_event_without_an_end_is_not_read_to_the_end() {
    let (client, sent) = endless(200, "xxxx");
    let said = watched(&maps(client, 1000, 1000, None)).await;
    assert_eq!(
        said,
        format!(
            "the connection broke off: the server has sent more than 1000 bytes of one event of the watch {PATH}; accepted: \
             events of at most 1000 bytes, each on a line"
        )
    );
    assert!(sent.load(Ordering::SeqCst) <= 1004);
}

#[tokio::test]
async fn a_watch_of_any_length_is_read_while_its_events_are_short() {
    let event = concat!(
        r#"{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"2"}}}"#,
        "\n"
    );
    let (client, _) = endless(200, event);
    let maps = maps(client, 2 * event.len(), 1, None);
    let events = maps.watch(&WatchParams::default(), "1").await.unwrap();
    let events: Vec<_> = events.take(1000).collect().await;
    assert!(events.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_refusal_of_a_watch_without_an_end_is_not_read_to_the_end() {
    let (client, sent) = endless(500, "x\n");
    let said = watched(&maps(client, 1000, 1000, None)).await;
    assert!(
        said.contains(&format!("more than 1000 bytes as the answer to {PATH}")),
        "{said}"
    );
    assert!(sent.load(Ordering::SeqCst) <= 1002);
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read_to_the_end() {
    let (client, sent) = endless(200, "{\n");
    let error = maps(client, 1000, 1000, None).get("a").await.unwrap_err();
    let said = crate::failure::error_chain(&error);
    assert_eq!(
        said,
        format!(
            "the server has sent more than 1000 bytes as the answer to {PATH}/a; accepted: at most 1000 bytes"
        )
    );
    assert_eq!(
        crate::failure::Failure::of(&error),
        crate::failure::Failure::Transient
    );
    assert!(sent.load(Ordering::SeqCst) <= 1002);
}

/// A server whose list has another page after every page, with so many new objects each, and how many pages it has sent.
fn pages(objects: usize) -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let queries = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let mut queries = queries.lock().unwrap();
        queries.push(request.uri().query().unwrap_or_default().to_owned());
        let page = queries.len();
        let items: Vec<_> = (0..objects)
            .map(|number| serde_json::json!({ "metadata": { "name": format!("m-{page}-{number}") } }))
            .collect();
        let list = serde_json::json!({
            "kind": "ConfigMapList", "apiVersion": "v1", "items": items,
            "metadata": { "resourceVersion": "5", "continue": page.to_string() },
        });
        std::future::ready(Ok::<_, BoxError>(Response::new(Body::from(
            list.to_string().into_bytes(),
        ))))
    });
    (Client::new(service, "default"), asked)
}

#[tokio::test]
async fn a_list_whose_pages_never_end_is_given_up_and_may_begin_again() {
    for objects in [0, 3] {
        let (client, _) = pages(objects);
        let maps = maps(client, 1 << 20, 1 << 20, Some(10 * PAGE_BYTES));
        for _ in 0..2 {
            let mut how = ListParams::default().limit(3);
            let mut read = 0;
            let error = loop {
                match maps.list(&how).await {
                    Ok(page) => how = how.continue_token(&page.metadata.continue_.unwrap()),
                    Err(error) => break error,
                }
                read += 1;
                assert!(read <= 10, "the list has no end");
            };
            assert_eq!(read, 10);
            let said = crate::failure::error_chain(&error);
            assert!(
                said.contains(&format!("in the pages of {PATH}, and they do not end")),
                "{said}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_objects_without_an_end_keeps_few_and_asks_less_often() {
    let (client, asked) = pages(3);
    let (sender, mut deltas) = mpsc::channel(1000);
    let subscribers = vec![Subscriber::new(sender, |delta| delta)];
    let watch = Watch::<ConfigMap>::new(client, subscribers).of_at_most(9);
    let ended = tokio::time::timeout(Duration::from_secs(600), watch.run()).await;
    assert!(ended.is_err(), "the watch ended");
    let (mut applied, mut synced) = (0, false);
    while let Ok(delta) = deltas.try_recv() {
        applied += usize::from(matches!(delta, Delta::Applied(_)));
        synced |= matches!(delta, Delta::Synced);
    }
    assert_eq!(applied, 18, "twice as many as may be known");
    assert!(!synced, "the list did not end");
    let asked = asked.lock().unwrap().len();
    // A doubling wait of at most 15 seconds; without it there would be thousands.
    assert!((20..200).contains(&asked), "{asked}");
}
