//! Requests that nobody should send, with the code, reason and causes that Kubernetes answers them with. Most are data:
//! `bad_input.yaml`.

use std::collections::BTreeSet;

use http::{Method, Request};
use kube::client::Body;
use serde::Deserialize;

use super::*;

/// Sends a request as it is. The answer is `code reason [cause field]…`, or `code text` where no Status comes back.
pub(super) async fn answer(client: &Client, method: &str, path: &str, kind: &str, body: &[u8]) -> String {
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(path);
    if !kind.is_empty() {
        request = request.header("content-type", kind);
    }
    let response = match client
        .send(request.body(Body::from(body.to_vec())).unwrap())
        .await
    {
        Ok(response) => response,
        Err(error) => return format!("no answer: {error:?}"),
    };
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
        return format!("{code} {}", String::from_utf8_lossy(&bytes).trim_end());
    };
    if value["kind"] != "Status" || value["status"] == "Success" {
        return code.to_string();
    }
    assert_eq!(value["code"], code, "{value}");
    // In any order, and each once: Kubernetes looks at some things twice, and names list items only since lately.
    let causes = value["details"]["causes"].as_array().into_iter().flatten();
    let causes: BTreeSet<_> = causes
        .map(|cause| {
            let part = |name: &str| cause[name].as_str().unwrap_or("-").to_owned();
            let field = part("field").replace("finalizers[0]", "finalizers");
            let field = field.replace("ownerReferences[0]", "ownerReferences");
            format!(" [{} {field}]", part("reason"))
        })
        .collect();
    let reason = value["reason"].as_str().unwrap_or("-");
    format!("{code} {reason}{}", causes.into_iter().collect::<String>())
}

const JSON: &str = "application/json";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    test: String,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    send: String,
    #[serde(rename = "as", default = "json_type")]
    kind: String,
    #[serde(default)]
    body: String,
    answer: String,
    /// A minor version as text, and the answer of servers before it.
    before: Option<(String, String)>,
    /// What a server answers as well that the hub does not follow.
    #[serde(default)]
    or: Option<String>,
}

fn json_type() -> String {
    "json".into()
}

impl Case {
    fn expected(&self, version: (u32, u32)) -> &str {
        match &self.before {
            Some((before, answer)) => {
                let (major, minor) = before.split_once('.').unwrap();
                let older = version < (major.parse().unwrap(), minor.parse().unwrap());
                if older { answer } else { &self.answer }
            }
            None => &self.answer,
        }
    }
}

/// All cases that differ are shown at once.
#[tokio::test]
async fn bad_requests_are_answered_as_kubernetes_answers_them() {
    let (server, client) = server().await;
    with_widgets(&server).await;
    config_maps(&client)
        .create(&PostParams::default(), &config_map("there", "1"))
        .await
        .unwrap();
    let groups: Vec<Group> = serde_saphyr::from_str(include_str!("bad_input.yaml")).unwrap();
    let home = format!("/api/v1/namespaces/{}", server.namespace());
    let widgets = format!(
        "/apis/{}/v1/namespaces/{}/widgets",
        server.group(),
        server.namespace()
    );
    let mut wrong = Vec::new();
    for group in &groups {
        for case in &group.cases {
            let (method, path) = case.send.split_once(' ').unwrap();
            let path = path.replace('~', &home).replace('^', &widgets);
            let path = path.replace("GROUP", server.group());
            let body = case.body.replace("GROUP", server.group());
            let kind = format!("application/{}", case.kind);
            let got = answer(&client, method, &path, &kind, body.as_bytes()).await;
            let expected = case.expected(server.version());
            let is_real = server.is_real();
            if got != expected && !(is_real && case.or.as_ref().is_some_and(|or| got.starts_with(or))) {
                let Case { send, kind, body, .. } = case;
                wrong.push(format!(
                    "{}: {send} {kind} {body}\n    {got}\n    {expected} was expected",
                    group.test
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(client.apiserver_version().await.is_ok(), "it still serves");
}

#[tokio::test]
async fn deep_bodies_and_long_names_are_refused() {
    let (server, client) = server().await;
    let path = format!("/api/v1/namespaces/{}/configmaps", server.namespace());
    let deep = format!(
        "{{\"metadata\":{{\"name\":\"a\"}},\"data\":{}",
        "[".repeat(20_000)
    );
    assert_eq!(
        answer(&client, "POST", &path, JSON, deep.as_bytes()).await,
        "400 BadRequest"
    );
    let long = json!({"metadata": {"name": "a".repeat(254)}}).to_string();
    assert_eq!(
        answer(&client, "POST", &path, JSON, long.as_bytes()).await,
        "422 Invalid [FieldValueInvalid metadata.name]"
    );
    assert_eq!(
        answer(&client, "POST", &path, "text/plain", b"{}").await,
        "415 UnsupportedMediaType"
    );
}

#[tokio::test]
async fn a_body_may_be_three_mebibytes_and_a_config_map_one() {
    let (server, client) = server().await;
    let body = |size: usize| json!({"metadata": {"name": "a"}, "data": {"a": "x".repeat(size)}}).to_string();
    let path = format!("/api/v1/namespaces/{}/configmaps", server.namespace());
    let huge = answer(&client, "POST", &path, JSON, body(4 << 20).as_bytes()).await;
    assert_eq!(huge, "413 RequestEntityTooLarge");
    let large = answer(&client, "POST", &path, JSON, body(2 << 20).as_bytes()).await;
    assert_eq!(large, "422 Invalid [FieldValueTooLong []]");
    assert_eq!(
        answer(&client, "POST", &path, JSON, body(900 << 10).as_bytes()).await,
        "201"
    );
}

#[tokio::test]
async fn huge_selectors_are_evaluated_or_refused_but_never_choked_on() {
    let (server, client) = server().await;
    config_maps(&client)
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let path = |selector: String| {
        format!(
            "/api/v1/namespaces/{}/configmaps?labelSelector={selector}",
            server.namespace()
        )
    };
    let values: Vec<_> = (0..5_000).map(|n| format!("v{n}")).collect();
    let many = path(format!("a%20in%20({})", values.join(",")));
    assert_eq!(answer(&client, "GET", &many, "", b"").await, "200");
    let terms = |count: usize| -> String {
        let terms: Vec<_> = (0..count).map(|n| format!("!k{n}")).collect();
        terms.join(",")
    };
    assert_eq!(answer(&client, "GET", &path(terms(100)), "", b"").await, "200");
    // Kubernetes has no limit; each requirement costs a look at every object.
    let more = match server.is_real() {
        true => "200",
        false => "400 BadRequest",
    };
    assert_eq!(answer(&client, "GET", &path(terms(2_000)), "", b"").await, more);
    let nested = path("(".repeat(10_000));
    assert_eq!(answer(&client, "GET", &nested, "", b"").await, "400 BadRequest");
}

/// Clients that speak protobuf send these options so, whatever they delete.
#[tokio::test]
async fn options_of_a_deletion_are_read_from_protobuf_too() {
    let (server, client) = server().await;
    config_maps(&client)
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let field =
        |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len().try_into().unwrap()], bytes].concat();
    let options = |uid: &str| {
        let preconditions = field(2, &field(1, uid.as_bytes()));
        let kind = [field(1, b"v1"), field(2, b"DeleteOptions")].concat();
        [b"k8s\0".to_vec(), field(1, &kind), field(2, &preconditions)].concat()
    };
    let path = format!("/api/v1/namespaces/{}/configmaps/a", server.namespace());
    let kind = "application/vnd.kubernetes.protobuf";
    assert_eq!(
        answer(&client, "DELETE", &path, kind, &options("other")).await,
        "409 Conflict"
    );
    let uid = config_maps(&client).get("a").await.unwrap().metadata.uid.unwrap();
    let gone = answer(&client, "DELETE", &path, kind, &options(&uid)).await;
    assert_eq!(gone, "200");
}
