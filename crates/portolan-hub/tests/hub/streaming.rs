//! Lists that come as a watch, in each form: what is streamed is what a get or a list answers.

use http::header::ACCEPT;

use super::*;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

async fn get(client: &Client, path: &str, accept: &str) -> Value {
    let request = Request::get(path)
        .header(ACCEPT, accept)
        .body(Full::new(Bytes::new()));
    let response = client.0.clone().oneshot(request.unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// The objects of the events up to the bookmark behind the initial ones, and that bookmark.
async fn stream(client: &Client, more: &str, accept: &str) -> (Vec<Value>, Value) {
    let path = format!(
        "{SECRETS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true{more}"
    );
    let request = Request::get(path)
        .header(ACCEPT, accept)
        .body(Full::new(Bytes::new()));
    let response = client.0.clone().oneshot(request.unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    let (mut body, mut text, mut objects) = (response.into_body(), Vec::new(), Vec::new());
    loop {
        text.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let mut event: Value = serde_json::from_slice(&line).unwrap();
            let object = event["object"].take();
            if event["type"] == "BOOKMARK" {
                return (objects, object);
            }
            assert_eq!(event["type"], "ADDED");
            objects.push(object);
        }
    }
}

async fn with_secrets() -> (Hub, Client) {
    let hub = Hub::builder()
        .clock(|| "2026-01-02T03:04:05Z".parse().unwrap())
        .start()
        .await
        .unwrap();
    let client = Client::of(&hub);
    for name in ["a", "b", "c"] {
        let secret = json!({"metadata": {"name": name}, "stringData": {"key": name}});
        client.create(SECRETS, &secret).await.ok();
    }
    (hub, client)
}

#[tokio::test]
async fn a_list_is_streamed_as_tables() {
    let (_hub, client) = with_secrets().await;
    let (tables, bookmark) = stream(&client, "", TABLE).await;
    for (place, name) in ["a", "b", "c"].iter().enumerate() {
        let mut expected = get(&client, &format!("{SECRETS}/{name}"), TABLE).await;
        if place > 0 {
            expected["columnDefinitions"] = Value::Null;
        }
        assert_eq!(tables[place], expected);
    }
    let annotation = |bookmark: &Value| {
        assert_eq!(bookmark["kind"], "Table", "{bookmark}");
        assert_eq!(bookmark["rows"].as_array().unwrap().len(), 1, "{bookmark}");
        let object = &bookmark["rows"][0]["object"];
        assert_eq!(object["kind"], "PartialObjectMetadata", "{bookmark}");
        assert_eq!(
            object["metadata"]["annotations"]["k8s.io/initial-events-end"],
            "true"
        );
        assert_eq!(
            object["metadata"]["resourceVersion"],
            bookmark["metadata"]["resourceVersion"]
        );
    };
    annotation(&bookmark);
    let (tables, bookmark) = stream(&client, "&includeObject=None", TABLE).await;
    assert_eq!(tables[0]["rows"][0]["object"], Value::Null);
    annotation(&bookmark);
}

#[tokio::test]
async fn a_list_is_streamed_as_metadata() {
    let (_hub, client) = with_secrets().await;
    let (objects, bookmark) = stream(&client, "", METADATA).await;
    let list = METADATA.replace("PartialObjectMetadata", "PartialObjectMetadataList");
    let listed = get(&client, SECRETS, &list).await;
    assert_eq!(Value::from(objects.clone()), listed["items"]);
    for object in &objects {
        let name = object["metadata"]["name"].as_str().unwrap();
        assert_eq!(
            *object,
            get(&client, &format!("{SECRETS}/{name}"), METADATA).await
        );
    }
    assert_eq!(bookmark["kind"], "PartialObjectMetadata");
    assert_eq!(
        bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
}
