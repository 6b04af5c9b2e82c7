use std::convert::Infallible;

use http::Response;
use kube::client::Body;
use portolan_runtime::watch::with_limits;

use super::*;

fn place() -> Place {
    Place {
        id: ObjectId {
            resource: "configmaps".to_owned(),
            name: "a".to_owned(),
            ..ObjectId::default()
        },
        version: "v1".to_owned(),
    }
}

fn answering(answer: impl Fn(&str) -> String + Clone + Send + 'static) -> Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let text = answer(request.uri().query().unwrap_or_default());
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::from(text.into_bytes()))))
    });
    Client::new(service, "default")
}

/// A list of so many objects that are alike.
fn listing(object: Value, number: usize) -> impl Fn(&str) -> String + Clone {
    move |query| {
        let of = |name: &str| {
            let mut found = query.split('&').filter_map(|part| part.strip_prefix(name));
            found.next().map(|text| text.parse::<usize>().unwrap())
        };
        let (limit, from) = (of("limit=").unwrap(), of("continue=").unwrap_or(0));
        let end = number.min(from + limit);
        let rest = (end < number).then(|| end.to_string());
        let items = vec![&object; end - from];
        json!({ "kind": "List", "metadata": { "continue": rest }, "items": items }).to_string()
    }
}

async fn count(objects: &Objects) -> Result<usize, Problem> {
    let mut number = 0;
    objects.list(&place(), |_| number += 1).await?;
    Ok(number)
}

#[tokio::test]
async fn an_answer_that_is_no_object_is_no_answer() {
    for nonsense in [
        "[1]",
        "[]",
        "\"ok\"",
        "3",
        "null",
        "{}",
        "{\"items\":3}",
        r#"{"items":[],"metadata":{"continue":3}}"#,
    ] {
        let objects = Objects::new(answering(move |_| nonsense.to_owned()));
        let listed = count(&objects).await;
        assert!(matches!(listed, Err(Problem::Unanswered(_))), "{nonsense}");
        if !nonsense.starts_with('{') {
            let written = objects.merge(&place(), Part::Object, &Value::Null).await;
            assert!(matches!(written, Err(Problem::Unanswered(_))), "{nonsense}");
        }
    }
}

#[tokio::test]
async fn a_list_without_objects_is_empty() {
    for empty in [r#"{"items":[]}"#, r#"{"items":null,"metadata":{"continue":""}}"#] {
        let objects = Objects::new(answering(move |_| empty.to_owned()));
        assert_eq!(count(&objects).await, Ok(0), "{empty}");
    }
}

#[tokio::test]
async fn a_list_of_more_than_fifty_thousand_small_objects_is_read() {
    let objects = Objects::new(answering(listing(json!({ "a": 1 }), 60_000)));
    assert_eq!(count(&objects).await, Ok(60_000));
}

#[tokio::test]
async fn a_list_without_an_end_is_too_large_and_not_refused() {
    let endless = r#"{"items":[],"metadata":{"continue":"more"}}"#;
    let objects = Objects::new(answering(|_| endless.to_owned()));
    let listed = objects.list_within(1 << 20, &place(), drop).await;
    let Err(Problem::TooLarge(why)) = listed else {
        panic!("the list has an end");
    };
    assert!(why.contains("more than 1048576 bytes in the pages of"), "{why}");
}

#[tokio::test]
async fn a_page_of_a_list_that_is_too_large_is_read_in_smaller_pages() {
    let client = answering(listing(json!({ "a": "x".repeat(1_000) }), 60));
    let objects = Objects::new(with_limits(client, ANSWER_TIMEOUT, 30_000));
    assert_eq!(count(&objects).await, Ok(60));
}

#[tokio::test]
async fn an_object_that_is_too_large_by_itself_is_said_to_be_so() {
    let client = answering(listing(json!({ "a": "x".repeat(1_000) }), 3));
    let objects = Objects::new(with_limits(client, ANSWER_TIMEOUT, 1_000));
    let listed = count(&objects).await;
    assert!(matches!(listed, Err(Problem::TooLarge(_))), "{listed:?}");
}
