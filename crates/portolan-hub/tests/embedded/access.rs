//! Credentials that the hub hands out itself, and roles that count from the moment they are written.

use base64::Engine as _;
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

#[tokio::test]
async fn every_namespace_has_the_authority_that_programs_are_to_trust() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for start in ["the first", "after the keys were removed"] {
        let hub = Hub::builder()
            .data(folder.path())
            .listen(([127, 0, 0, 1], 0).into())
            .published()
            .start()
            .await
            .unwrap();
        let client = Client::new(hub.service(), "default");
        let config: Kubeconfig = Kubeconfig::from_yaml(&hub.kubeconfig().unwrap()).unwrap();
        let cluster = config.clusters[0].cluster.clone().unwrap();
        let trusted = cluster.certificate_authority_data.unwrap();
        let trusted = base64::engine::general_purpose::STANDARD.decode(trusted).unwrap();
        let trusted = String::from_utf8(trusted).unwrap();
        let maps = config_maps(&client);
        loop {
            let map = maps.get_opt("kube-root-ca.crt").await.unwrap();
            let data = map.and_then(|map| map.data).unwrap_or_default();
            if data.get("ca.crt") == Some(&trusted) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(!seen.contains(&trusted), "{start}");
        seen.push(trusted);
        let services = Api::<k8s_openapi::api::core::v1::Service>::default_namespaced(client);
        let own = services.get("kubernetes").await.unwrap();
        let ports = own.spec.and_then(|spec| spec.ports).unwrap_or_default();
        assert!(ports.iter().any(|port| port.port == 443), "{start}: {ports:?}");
        hub.stop().await;
        std::fs::remove_dir_all(folder.path().join("pki")).unwrap();
    }
}
