//! Credentials that the hub hands out itself, and roles that count from the moment they are written.

use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::*;

fn code<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn over_tls_a_certificate_or_token_is_needed() {
    let hub = Hub::builder()
        .listen(([127, 0, 0, 1], 0).into())
        .start()
        .await
        .unwrap();
    hub.add_token("secret", "ann", &["system:masters"]);
    let connect = async |change: fn(&mut serde_json::Value)| {
        let config: Kubeconfig = Kubeconfig::from_yaml(&hub.kubeconfig().unwrap()).unwrap();
        let mut config = serde_json::to_value(config).unwrap();
        change(&mut config);
        let config: Kubeconfig = serde_json::from_value(config).unwrap();
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .unwrap();
        Client::try_from(config).unwrap()
    };
    let admin = connect(|_| {}).await;
    config_maps(&admin)
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let anonymous = connect(|config| config["users"][0]["user"] = json!({})).await;
    assert_eq!(code(config_maps(&anonymous).get("a").await), 403);
    assert_eq!(anonymous.apiserver_version().await.unwrap().minor, "36");
    let ann = connect(|config| config["users"][0]["user"] = json!({"token": "secret"})).await;
    config_maps(&ann).get("a").await.unwrap();
    let wrong = connect(|config| config["users"][0]["user"] = json!({"token": "wrong"})).await;
    assert_eq!(code(config_maps(&wrong).get("a").await), 401);
    hub.stop().await;
}

#[tokio::test]
async fn a_binding_counts_for_the_next_request_already() {
    let (hub, admin) = hub().await;
    let ann = config_maps(&Client::new(hub.service_for("ann", &[]), "default"));
    let bindings: Api<RoleBinding> = Api::default_namespaced(admin);
    let binding = json!({
        "metadata": {"name": "ann"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    for _ in 0..20 {
        assert_eq!(code(ann.list(&ListParams::default()).await), 403);
        bindings.create(&PostParams::default(), &binding).await.unwrap();
        ann.list(&ListParams::default()).await.unwrap();
        bindings.delete("ann", &DeleteParams::default()).await.unwrap();
    }
}
