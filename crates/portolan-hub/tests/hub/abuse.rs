//! Bodies that would hurt the process or its readers. A real server bears more of some and takes half a minute for it, so
//! these run on the hub alone.

use super::*;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Eight operations nest an object 25,600 levels deep; each level takes a stack frame when the object is written or dropped.
#[tokio::test]
async fn a_patch_that_nests_without_end_is_refused() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client
        .create(CONFIG_MAPS, &json!({"metadata": {"name": "there"}}))
        .await
        .ok();
    let levels = 90;
    let value = (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let mut operations = vec![json!({"op": "add", "path": "/x", "value": value})];
    for times in 0..8 {
        let bottom = "/a".repeat(levels << times);
        operations.push(json!({"op": "copy", "from": "/x", "path": format!("/x{bottom}/a")}));
    }
    let path = format!("{CONFIG_MAPS}/there");
    let refused = client
        .send("PATCH", &path, "application/json-patch+json", &json!(operations))
        .await;
    assert_eq!(refused.code, 422);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains("at most 100 levels are accepted"), "{message}");
    client.get(&path).await.ok();
}

#[tokio::test]
async fn an_object_with_too_many_levels_is_refused() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    client.create(DEFINITIONS, &widgets(schema)).await.ok();
    let widget = |levels: usize| {
        let spec = (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": format!("w{levels}")}, "spec": spec})
    };
    assert_eq!(client.create(WIDGETS, &widget(110)).await.code, 400);
    client.create(WIDGETS, &widget(90)).await.ok();
    client.get(WIDGETS).await.ok();
}

#[tokio::test]
async fn a_whole_number_with_a_fraction_is_stored_as_an_integer() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    client.create(DEFINITIONS, &widgets(schema)).await.ok();
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3.0}});
    client.create(WIDGETS, &widget).await.ok();
    let stored = client.get(&format!("{WIDGETS}/w")).await.ok();
    assert!(stored["spec"]["size"].is_i64(), "{stored}");
}

#[tokio::test]
async fn an_object_does_not_grow_without_end_by_patches() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    client.create(DEFINITIONS, &widgets(schema)).await.ok();
    client.create(WIDGETS, &widget(json!({}))).await.ok();
    let path = format!("{WIDGETS}/w");
    let patch = |key: &str| json!({"spec": {key: "x".repeat(5 << 19)}});
    client.merge(&path, &patch("a")).await.ok();
    let refused = client.merge(&path, &patch("b")).await;
    assert_eq!(refused.refusal(), (413, "RequestEntityTooLarge", vec![]));
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("at most 4194304 are stored of one object"),
        "{message}"
    );
    client.merge(&path, &json!({"spec": {"a": null}})).await.ok();
    client.merge(&path, &patch("b")).await.ok();
}

/// Ten lines stand for ten thousand million values.
#[tokio::test]
async fn a_body_whose_aliases_multiply_is_refused() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let mut body = String::from("metadata: {name: there}\nl0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*l{}", level - 1); 10].join(", ");
        body.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
    }
    for (method, path, kind) in [
        ("POST", CONFIG_MAPS.to_owned(), "application/yaml"),
        (
            "PATCH",
            format!("{CONFIG_MAPS}/there?fieldManager=ann"),
            "application/apply-patch+yaml",
        ),
    ] {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, kind);
        let request = request.body(Full::new(Bytes::from(body.clone()))).unwrap();
        let response = client.0.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 400, "{method}");
    }
}

/// Garbage collection looks for each owner.
#[tokio::test]
async fn an_object_with_too_many_owners_or_finalizers_is_refused() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let owners = |count: usize| -> serde_json::Value {
        let owner = |i| json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": format!("u{i}")});
        (0..count).map(owner).collect()
    };
    let finalizers = |count: usize| -> serde_json::Value {
        let finalizer = |i| format!("example.com/f{i}");
        (0..count).map(finalizer).collect()
    };
    let most = json!({"metadata": {"name": "most", "ownerReferences": owners(1_000), "finalizers": finalizers(1_000)}});
    client.create(CONFIG_MAPS, &most).await.ok();
    let path = format!("{CONFIG_MAPS}/most");
    for (field, list) in [
        ("ownerReferences", owners(1_001)),
        ("finalizers", finalizers(1_001)),
    ] {
        let refused = [
            client
                .create(CONFIG_MAPS, &json!({"metadata": {"name": "more", field: list}}))
                .await,
            client.merge(&path, &json!({"metadata": {field: list}})).await,
        ];
        for refused in refused {
            let why =
                format!("FieldValueTooMany metadata.{field}: Too many: 1001: must have at most 1000 items");
            assert_eq!(refused.refusal(), (422, "Invalid", vec![why]));
        }
    }
}
