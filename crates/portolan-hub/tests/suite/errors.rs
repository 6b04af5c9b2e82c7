use http::Request;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use super::*;

#[tokio::test]
async fn refusals_are_those_of_kubernetes() {
    let (_server, client) = server().await;
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
        422
    );
}

#[tokio::test]
async fn health_version_and_discovery_answer() {
    let (server, client) = server().await;
    assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    with_widgets(&server).await;
    let discovery = kube::discovery::Discovery::new(client.clone())
        .run()
        .await
        .unwrap();
    let (resource, _) = discovery
        .resolve_gvk(&GroupVersionKind::gvk(server.group(), "v1", "Widget"))
        .unwrap();
    assert_eq!(resource.plural, "widgets");
    for path in ["/healthz", "/readyz", "/livez"] {
        let request = Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(client.request_text(request).await.unwrap(), "ok");
    }
}
