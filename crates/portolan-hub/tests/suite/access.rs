use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::*;

async fn let_ann_read(client: &Client) {
    let roles: Api<Role> = Api::default_namespaced(client.clone());
    let role = json!({
        "metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
    });
    roles
        .create(&PostParams::default(), &serde_json::from_value(role).unwrap())
        .await
        .unwrap();
    let bindings: Api<RoleBinding> = Api::default_namespaced(client.clone());
    let binding = json!({
        "metadata": {"name": "ann"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    bindings
        .create(&PostParams::default(), &serde_json::from_value(binding).unwrap())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_user_may_do_what_roles_say_from_their_write_to_their_removal() {
    let (hub, admin) = hub().await;
    let ann = Client::new(hub.service_for("ann", &[]), "default");
    let api = config_maps(&ann);
    let status = refusal(api.list(&ListParams::default()).await);
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        status.message,
        "configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\""
    );
    let_ann_read(&admin).await;
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    assert_eq!(
        refusal(api.create(&PostParams::default(), &config_map("a", "1")).await).code,
        403
    );
    let reviews: Api<SelfSubjectAccessReview> = Api::all(ann.clone());
    let review = json!({"metadata": {}, "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "configmaps"}}});
    let review = reviews
        .create(&PostParams::default(), &serde_json::from_value(review).unwrap())
        .await
        .unwrap();
    assert!(review.status.unwrap().allowed);
    let bindings: Api<RoleBinding> = Api::default_namespaced(admin);
    bindings.delete("ann", &DeleteParams::default()).await.unwrap();
    assert_eq!(refusal(api.list(&ListParams::default()).await).code, 403);
}

#[tokio::test]
async fn over_tls_a_certificate_or_token_is_needed_for_all_but_health_and_version() {
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
    assert_eq!(refusal(config_maps(&anonymous).get("a").await).code, 403);
    assert_eq!(anonymous.apiserver_version().await.unwrap().minor, "33");
    let ann = connect(|config| config["users"][0]["user"] = json!({"token": "secret"})).await;
    config_maps(&ann).get("a").await.unwrap();
    let wrong = connect(|config| config["users"][0]["user"] = json!({"token": "wrong"})).await;
    assert_eq!(refusal(config_maps(&wrong).get("a").await).code, 401);
    hub.stop().await;
}

#[tokio::test]
async fn nobody_grants_more_than_they_have() {
    let (hub, admin) = hub().await;
    let_ann_read(&admin).await;
    let roles: Api<Role> = Api::default_namespaced(admin.clone());
    let role = json!({"metadata": {"name": "roles"}, "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]}]});
    roles
        .create(&PostParams::default(), &serde_json::from_value(role).unwrap())
        .await
        .unwrap();
    let bindings: Api<RoleBinding> = Api::default_namespaced(admin);
    let binding = json!({
        "metadata": {"name": "ann-roles"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "roles"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    bindings
        .create(&PostParams::default(), &serde_json::from_value(binding).unwrap())
        .await
        .unwrap();
    let own: Api<Role> = Api::default_namespaced(Client::new(hub.service_for("ann", &[]), "default"));
    let role = |name: &str, verb: &str| -> Role {
        let role = json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": [verb]}]});
        serde_json::from_value(role).unwrap()
    };
    own.create(&PostParams::default(), &role("fine", "get"))
        .await
        .unwrap();
    assert_eq!(
        refusal(own.create(&PostParams::default(), &role("more", "delete")).await).code,
        403
    );
}
