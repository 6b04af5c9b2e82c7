use http::Request;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use super::*;

#[tokio::test]
async fn refusals_are_those_of_kubernetes() {
    let (_hub, client) = hub().await;
    let api = config_maps(&client);
    let status = refusal(api.get("a").await);
    assert_eq!(
        (status.code, status.reason.as_str(), status.message.as_str()),
        (404, "NotFound", "configmaps \"a\" not found")
    );
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let status = refusal(api.create(&PostParams::default(), &config_map("a", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "AlreadyExists"));
    let mut stale = config_map("a", "2");
    stale.metadata.resource_version = Some("1".into());
    let status = refusal(api.replace("a", &PostParams::default(), &stale).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let status = refusal(api.create(&PostParams::default(), &config_map("A_b", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "nowhere");
    let status = refusal(
        elsewhere
            .create(&PostParams::default(), &config_map("a", "1"))
            .await,
    );
    assert_eq!(
        (status.code, status.message.as_str()),
        (404, "namespaces \"nowhere\" not found")
    );
    let wrong = Preconditions {
        uid: Some("other".into()),
        ..Default::default()
    };
    let status = refusal(
        api.delete("a", &DeleteParams::default().preconditions(wrong))
            .await,
    );
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let broken = Patch::Merge(json!({"metadata": {"labels": {"a": 1}}}));
    assert_eq!(
        refusal(api.patch("a", &PatchParams::default(), &broken).await).code,
        400
    );
}

#[tokio::test]
async fn bad_requests_get_their_codes() {
    let (_hub, client) = hub().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let large = "x".repeat(4 << 20);
    let cases = [
        ("GET", "/apis/nowhere/v1/things", "application/json", "", 404),
        (
            "GET",
            "/api/v1/namespaces/default/nothings",
            "application/json",
            "",
            404,
        ),
        ("GET", "/nowhere", "application/json", "", 404),
        ("POST", "/api/v1/configmaps", "application/json", "{}", 405),
        ("PUT", maps, "application/json", "{}", 405),
        ("POST", "/version", "application/json", "{}", 405),
        ("POST", maps, "application/json", "{", 400),
        ("POST", maps, "application/json", "[]", 400),
        ("POST", maps, "text/plain", "{}", 415),
        (
            "POST",
            maps,
            "application/json",
            r#"{"metadata":{"name":"a"},"data":{"a":1}}"#,
            400,
        ),
        (
            "POST",
            maps,
            "application/json",
            r#"{"kind":"Secret","metadata":{"name":"a"}}"#,
            400,
        ),
        ("POST", maps, "application/json", r#"{"metadata":{}}"#, 422),
        ("POST", maps, "application/json", large.as_str(), 413),
        ("GET", "/api/v1/configmaps?labelSelector=a%20b%20c", "", "", 400),
        ("GET", "/api/v1/configmaps?fieldSelector=data.x=1", "", "", 400),
        ("GET", "/api/v1/configmaps?limit=x", "", "", 400),
        ("GET", "/api/v1/configmaps?continue=x", "", "", 400),
        ("GET", "/api/v1/configmaps?resourceVersion=x", "", "", 400),
        (
            "GET",
            "/api/v1/configmaps?resourceVersionMatch=Exact",
            "",
            "",
            422,
        ),
        ("GET", "/api/v1/configmaps?%zz=1", "", "", 400),
    ];
    for (method, path, kind, body, expected) in cases {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind);
        let request = request
            .body(kube::client::Body::from(body.as_bytes().to_vec()))
            .unwrap();
        let response = client.send(request).await.unwrap();
        assert_eq!(response.status(), expected, "{method} {path} {:.60}", body);
    }
}

#[tokio::test]
async fn health_version_and_discovery_answer() {
    let (_hub, client) = hub().await;
    assert_eq!(client.apiserver_version().await.unwrap().minor, "33");
    with_widgets(&client).await;
    let discovery = kube::discovery::Discovery::new(client.clone())
        .run()
        .await
        .unwrap();
    let (resource, _) = discovery
        .resolve_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
        .unwrap();
    assert_eq!(resource.plural, "widgets");
    for path in ["/healthz", "/readyz", "/livez"] {
        let request = Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(client.request_text(request).await.unwrap(), "ok");
    }
}
