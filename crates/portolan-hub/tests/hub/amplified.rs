//! Small objects whose definition would make large answers of them.

use http::header::ACCEPT;

use super::*;

/// Enough for more defaults than a list may get, of which each object gets two megabytes.
const OBJECTS: usize = 34;
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// Code and bytes of an answer.
async fn read(client: &Client, path: &str, accept: &str) -> (StatusCode, Bytes) {
    let request = Request::get(path).header(ACCEPT, accept);
    let request = request.body(Full::new(Bytes::new())).unwrap();
    let response = client.0.clone().oneshot(request).await.unwrap();
    let code = response.status();
    (code, response.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn defaults_make_no_more_of_a_list_than_there_is_room_for() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client
        .create(DEFINITIONS, &widgets(json!({"type": "object"})))
        .await
        .ok();
    for number in 0..OBJECTS {
        let mut object = widget(json!({}));
        object["metadata"]["name"] = format!("w{number}").into();
        client.create(WIDGETS, &object).await.ok();
    }
    let large = json!({"type": "string", "default": "x".repeat(2 << 20)});
    let definition = widgets(json!({"type": "object", "default": {}, "properties": {"large": large}}));
    let path = format!("{DEFINITIONS}/widgets.example.com");
    client
        .merge(&path, &json!({"spec": definition["spec"]}))
        .await
        .ok();

    let (code, body) = read(&client, WIDGETS, TABLE).await;
    let message = String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned();
    assert_eq!(code, 413, "{message}");
    assert!(
        message.contains("defaults") && message.contains("limit"),
        "{message}"
    );
    for accept in ["application/json", TABLE] {
        let (code, _) = read(&client, &format!("{WIDGETS}?limit=1"), accept).await;
        assert_eq!(code, 200, "{accept}");
    }
    // Metadata has no defaults.
    let (code, body) = read(&client, WIDGETS, METADATA).await;
    assert_eq!(code, 200);
    assert!(body.len() < 100_000, "{}", body.len());

    // What is deleted is deleted, whatever the answer has room for. It is JSON, as a list without a form is.
    let deleted = client.delete(WIDGETS).await.ok();
    assert_eq!(deleted["items"], json!([]));
    assert_eq!(client.get(WIDGETS).await.ok()["items"], json!([]));
    hub.stop().await;
}

#[tokio::test]
async fn a_definition_declares_a_limited_number_of_columns() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let definition = |count: usize| {
        let mut definition = widgets(json!({"type": "object"}));
        let column = |number| json!({"name": format!("C{number}"), "type": "string", "jsonPath": ".spec.a"});
        let columns: Vec<Value> = (0..count).map(column).collect();
        definition["spec"]["versions"][0]["additionalPrinterColumns"] = columns.into();
        definition
    };
    let refused = client.create(DEFINITIONS, &definition(101)).await;
    assert_eq!(
        refused.refusal(),
        (
            422,
            "Invalid",
            vec![
                "FieldValueTooMany spec.versions[0].additionalPrinterColumns: Too many: 101: must have at most 100 items"
                    .to_owned()
            ]
        )
    );
    client.create(DEFINITIONS, &definition(100)).await.ok();
    hub.stop().await;
}
