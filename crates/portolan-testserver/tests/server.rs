//! The server to test against is there and apart for each caller, whichever it is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use portolan_testserver::{Feature, TestServer};

#[tokio::test]
async fn callers_share_neither_namespace_nor_group() {
    let (one, two) = tokio::join!(TestServer::start(), TestServer::start());
    assert_ne!(one.namespace(), two.namespace());
    assert_ne!(one.group(), two.group());
    for server in [&one, &two] {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let object = serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}})).unwrap();
        let made: ConfigMap = api.create(&PostParams::default(), &object).await.unwrap();
        assert_eq!(made.metadata.namespace.as_deref(), Some(server.namespace()));
    }
}

#[tokio::test]
async fn the_version_says_what_a_server_can() {
    let server = TestServer::start().await;
    assert_eq!(server.is_real(), TestServer::would_be_real());
    let (_, minor) = server.version();
    assert_eq!(server.can(Feature::CelRules), minor >= 25);
    assert_eq!(server.lacks(Feature::CelRules), minor < 25);
}

#[tokio::test]
async fn other_users_may_do_what_roles_say() {
    let server = TestServer::start().await;
    for client in [server.client_as("ann", &["friends"]), server.anonymous_client()] {
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        match api.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) => assert_eq!(status.code, 403),
            other => panic!("expected a refusal, got {other:?}"),
        }
    }
}
