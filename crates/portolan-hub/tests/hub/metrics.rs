//! What the hub counts.

use super::*;

/// The number of a line of `/metrics` that has all these parts.
fn number(metrics: &str, name: &str, parts: &[&str]) -> Option<f64> {
    let line = metrics.lines().find(|line| {
        line.starts_with(&format!("{name}{{")) && parts.iter().all(|part| line.contains(part))
    })?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[tokio::test]
async fn requests_are_counted_by_what_they_are_about() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let maps = "/api/v1/namespaces/default/configmaps";
    for name in ["a", "b"] {
        client
            .create(maps, &json!({"metadata": {"name": name}}))
            .await
            .ok();
    }
    client.create(maps, &json!({"metadata": {"name": "a"}})).await;
    client.get(maps).await.ok();
    client.get("/api/v1/namespaces/default/nothings/x").await;
    let metrics = client.get("/metrics").await.body.as_str().unwrap().to_owned();
    let posts = [
        "resource=\"configmaps\"",
        "verb=\"POST\"",
        "scope=\"resource\"",
        "version=\"v1\"",
    ];
    let total = |code: &str| {
        number(
            &metrics,
            "apiserver_request_total",
            &[&posts[..], &[code]].concat(),
        )
    };
    assert_eq!(total("code=\"201\""), Some(2.0));
    assert_eq!(total("code=\"409\""), Some(1.0));
    assert_eq!(
        number(&metrics, "apiserver_request_duration_seconds_count", &posts),
        Some(3.0)
    );
    let all = [&posts[..], &["le=\"+Inf\""]].concat();
    assert_eq!(
        number(&metrics, "apiserver_request_duration_seconds_bucket", &all),
        Some(3.0)
    );
    let lists = [
        "resource=\"configmaps\"",
        "verb=\"LIST\"",
        "scope=\"namespace\"",
        "code=\"200\"",
    ];
    assert_eq!(number(&metrics, "apiserver_request_total", &lists), Some(1.0));
    assert_eq!(
        number(
            &metrics,
            "apiserver_storage_objects",
            &["resource=\"configmaps\""]
        ),
        Some(2.0)
    );
    assert!(
        !metrics.contains("nothings"),
        "what is not served is not remembered"
    );
}

#[tokio::test]
async fn watches_are_counted_while_they_are_open() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let open = async || {
        let metrics = client.get("/metrics").await.body.as_str().unwrap().to_owned();
        number(
            &metrics,
            "apiserver_longrunning_requests",
            &["resource=\"configmaps\"", "verb=\"WATCH\""],
        )
    };
    let request = Request::get("/api/v1/configmaps?watch=true")
        .body(Full::new(Bytes::new()))
        .unwrap();
    let watch = client.0.clone().oneshot(request).await.unwrap();
    assert_eq!(open().await, Some(1.0));
    drop(watch);
    assert_eq!(open().await, Some(0.0));
}
