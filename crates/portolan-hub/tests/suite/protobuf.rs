//! Definitions as protobuf, which is how Go programs with a current client send them.

use http::Request;
use kube::client::Body;

use super::*;

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition with nearly every field that there is, as protobuf and as JSON.
const BODY: &[u8] = include_bytes!("../../src/protobuf/fixtures/definition.bin");
const TEXT: &str = include_str!("../../src/protobuf/fixtures/definition.json");

async fn send(client: &Client, method: &str, path: &str, body: Vec<u8>) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", PROTOBUF)
        .header("accept", "application/json");
    let response = client
        .send(request.body(Body::from(body)).unwrap())
        .await
        .unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap())
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2], varint(bytes.len()).as_slice(), bytes].concat()
}

/// The content of the first field with this number. All before it are of the same type.
pub(crate) fn content(number: u8, mut message: &[u8]) -> &[u8] {
    loop {
        let (tag, rest) = message.split_first().unwrap();
        let (mut length, mut rest) = (0, rest);
        for shift in (0..).step_by(7) {
            let (byte, after) = rest.split_first().unwrap();
            length |= usize::from(byte & 0x7f) << shift;
            rest = after;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (bytes, after) = rest.split_at(length);
        if *tag == number << 3 | 2 {
            return bytes;
        }
        message = after;
    }
}

/// The same definition with this metadata.
fn with_metadata(name: &str, version: &str, label: &str) -> Vec<u8> {
    let envelope = BODY.strip_prefix(b"k8s\0").unwrap();
    let spec = content(2, content(2, envelope));
    let label = [field(1, b"label"), field(2, label.as_bytes())].concat();
    let metadata = [
        field(1, name.as_bytes()),
        field(6, version.as_bytes()),
        field(11, &label),
    ]
    .concat();
    let message = [field(1, &metadata), field(2, spec)].concat();
    [
        b"k8s\0".to_vec(),
        field(1, content(1, envelope)),
        field(2, &message),
    ]
    .concat()
}

/// Without the fields that came after the version of the server.
fn known(server: &TestServer, spec: &Value) -> Value {
    let mut spec = spec.clone();
    let version = &mut spec["versions"][0];
    if !server.can(Feature::SelectableFields) {
        version.as_object_mut().unwrap().remove("selectableFields");
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            .as_object_mut()
            .unwrap()
            .remove("x-kubernetes-validations");
    }
    spec
}

#[tokio::test]
async fn a_definition_is_created_and_changed_by_protobuf() {
    let (server, client) = server().await;
    let expected: Value = serde_json::from_str(TEXT).unwrap();
    let name = expected["metadata"]["name"].as_str().unwrap();
    let (code, created) = send(&client, "POST", DEFINITIONS, BODY.to_vec()).await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["spec"], known(&server, &expected["spec"]));
    assert_eq!(created["metadata"]["labels"], expected["metadata"]["labels"]);
    let version = |definition: &Value| {
        definition["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let latest = async || {
        definitions(&client)
            .get(name)
            .await
            .unwrap()
            .metadata
            .resource_version
            .unwrap()
    };

    let path = format!("{DEFINITIONS}/{name}");
    // The server itself writes the status meanwhile.
    let mut changed = Value::Null;
    eventually("the definition is changed", async || {
        let (code, answer) = send(&client, "PUT", &path, with_metadata(name, &latest().await, "one")).await;
        assert!(code == 200 || code == 409, "{answer}");
        changed = answer;
        code == 200
    })
    .await;
    assert_eq!(changed["metadata"]["labels"], json!({"label": "one"}));
    assert_eq!(changed["spec"], known(&server, &expected["spec"]));
    assert_ne!(version(&changed), version(&created));

    let status = format!("{path}/status");
    eventually("the status is written", async || {
        let (code, answer) = send(
            &client,
            "PUT",
            &status,
            with_metadata(name, &latest().await, "two"),
        )
        .await;
        assert!(code == 200 || code == 409, "{answer}");
        changed = answer;
        code == 200
    })
    .await;
    assert_eq!(changed["spec"], known(&server, &expected["spec"]));
    definitions(&client)
        .delete(name, &Default::default())
        .await
        .unwrap();
}
