//! The forms in which objects are read: items of lists, metadata alone, protobuf.

use http::Request;
use kube::client::Body;

use super::protobuf::{PROTOBUF, content};
use super::*;

async fn read(client: &Client, path: &str, accept: &str) -> (String, Vec<u8>) {
    let request = Request::get(path).header("accept", accept);
    let response = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    (kind, bytes.to_vec())
}

async fn read_json(client: &Client, path: &str) -> Value {
    let (_, bytes) = read(client, path, "application/json").await;
    serde_json::from_slice(&bytes).unwrap()
}

fn maps(server: &TestServer) -> String {
    format!("/api/v1/namespaces/{}/configmaps", server.namespace())
}

/// The object in an envelope, which names its kind.
fn unpacked<'a>(bytes: &'a [u8], kind: &str) -> &'a [u8] {
    let envelope = bytes.strip_prefix(b"k8s\0").unwrap();
    assert_eq!(content(2, content(1, envelope)), kind.as_bytes());
    content(2, envelope)
}

#[tokio::test]
async fn items_of_lists_name_their_kind_if_it_is_a_custom_one() {
    let (server, client) = server().await;
    let widgets = with_widgets(&server).await;
    widgets
        .create(&PostParams::default(), &widget(&server, "w", json!({"size": 1})))
        .await
        .unwrap();
    config_maps(&client)
        .create(&PostParams::default(), &config_map("m", "1"))
        .await
        .unwrap();
    let list = read_json(&client, &maps(&server)).await;
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("ConfigMapList"), &json!("v1"))
    );
    for item in list["items"].as_array().unwrap() {
        assert_eq!((&item["kind"], &item["apiVersion"]), (&Value::Null, &Value::Null));
    }
    let found = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["metadata"]["name"] == "m");
    assert_eq!(found.unwrap()["data"], json!({"key": "1"}));
    let path = format!(
        "/apis/{}/v1/namespaces/{}/widgets",
        server.group(),
        server.namespace()
    );
    let list = read_json(&client, &path).await;
    assert_eq!(list["items"][0]["kind"], "Widget");
}

#[tokio::test]
async fn metadata_is_written_as_protobuf_for_who_prefers_it() {
    let (server, client) = server().await;
    config_maps(&client)
        .create(&PostParams::default(), &config_map("m", "1"))
        .await
        .unwrap();
    let accept = |kind: &str| {
        let form = format!("as={kind};g=meta.k8s.io;v=v1");
        format!("{PROTOBUF};{form},application/json;{form},application/json")
    };
    let path = format!("{}/m", maps(&server));
    let (kind, bytes) = read(&client, &path, &accept("PartialObjectMetadata")).await;
    assert!(kind.starts_with(PROTOBUF), "{kind}");
    let object = unpacked(&bytes, "PartialObjectMetadata");
    assert_eq!(content(1, content(1, object)), b"m");

    let path = format!("{}?fieldSelector=metadata.name=m", maps(&server));
    let (kind, bytes) = read(&client, &path, &accept("PartialObjectMetadataList")).await;
    assert!(kind.starts_with(PROTOBUF), "{kind}");
    let list = unpacked(&bytes, "PartialObjectMetadataList");
    let metadata = content(1, content(2, list));
    assert_eq!(
        (content(1, metadata), content(3, metadata)),
        (&b"m"[..], server.namespace().as_bytes())
    );
}

#[tokio::test]
async fn who_takes_nothing_but_protobuf_reads_lists_and_watches_of_built_in_kinds() {
    let (server, client) = server().await;
    config_maps(&client)
        .create(&PostParams::default(), &config_map("m", "1"))
        .await
        .unwrap();
    let path = format!("{}?fieldSelector=metadata.name=m", maps(&server));
    let (kind, bytes) = read(&client, &path, PROTOBUF).await;
    assert!(kind.starts_with(PROTOBUF), "{kind}");
    let item = content(2, unpacked(&bytes, "ConfigMapList"));
    let (name, entry) = (content(1, content(1, item)), content(2, item));
    assert_eq!(
        (name, content(1, entry), content(2, entry)),
        (&b"m"[..], &b"key"[..], &b"1"[..])
    );

    let path = format!("{path}&watch=true&timeoutSeconds=1");
    let (kind, bytes) = read(&client, &path, &format!("{PROTOBUF};stream=watch")).await;
    assert!(
        kind.starts_with(PROTOBUF) && kind.contains("stream=watch"),
        "{kind}"
    );
    let (length, event) = bytes.split_at(4);
    let length = u32::from_be_bytes(length.try_into().unwrap());
    let event = &event[..usize::try_from(length).unwrap()];
    assert_eq!(content(1, event), b"ADDED");
    let object = unpacked(content(1, content(2, event)), "ConfigMap");
    assert_eq!(content(1, content(1, object)), b"m");

    // Custom resources have no form as protobuf.
    with_widgets(&server).await;
    let path = format!(
        "/apis/{}/v1/namespaces/{}/widgets",
        server.group(),
        server.namespace()
    );
    for path in [path.clone(), format!("{path}?watch=true&timeoutSeconds=1")] {
        let request = Request::get(&path).header("accept", PROTOBUF);
        let response = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 406, "{path}");
    }
}

#[tokio::test]
async fn discovery_tells_in_which_version_objects_are_kept() {
    let (server, client) = server().await;
    with_widgets(&server).await;
    let hash = async |path: &str, name: &str| {
        let found = read_json(&client, path).await;
        let resources = found["resources"].as_array().unwrap().clone();
        let own = resources.into_iter().find(|resource| resource["name"] == name);
        own.unwrap()["storageVersionHash"].clone()
    };
    assert_eq!(hash("/api/v1", "configmaps").await, "qFsyl6wFWjQ=");
    // It is that of the kept version in each version.
    let of = async |version: &str| hash(&format!("/apis/{}/{version}", server.group()), "widgets").await;
    let first = of("v1").await;
    assert_eq!(first.as_str().map(str::len), Some(12), "{first}");
    assert_eq!(of("v1beta1").await, first);
}
