use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
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
    let_user_have(client, "ann", "reader").await;
}

async fn let_user_have(client: &Client, user: &str, role: &str) {
    let bindings: Api<RoleBinding> = Api::default_namespaced(client.clone());
    let binding = json!({
        "metadata": {"name": user}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    bindings
        .create(&PostParams::default(), &serde_json::from_value(binding).unwrap())
        .await
        .unwrap();
}

/// Reviews are answered from the same roles as requests.
async fn ann_can_get(ann: &Client, namespace: &str) -> bool {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(ann.clone());
    let review = json!({"metadata": {}, "spec": {"resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "configmaps"}}});
    let review = reviews
        .create(&PostParams::default(), &serde_json::from_value(review).unwrap())
        .await
        .unwrap();
    review.status.unwrap().allowed
}

#[tokio::test]
async fn a_user_may_do_what_roles_say_from_their_write_to_their_removal() {
    let (server, admin) = server().await;
    let ann = server.client_as("ann", &[]);
    let api = config_maps(&ann);
    let status = refusal(api.list(&ListParams::default()).await);
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        status.message,
        format!(
            "configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"{}\"",
            server.namespace()
        )
    );
    let_ann_read(&admin).await;
    eventually("ann may read", async || {
        ann_can_get(&ann, server.namespace()).await
    })
    .await;
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    assert_eq!(
        refusal(api.create(&PostParams::default(), &config_map("a", "1")).await).code,
        403
    );
    let bindings: Api<RoleBinding> = Api::default_namespaced(admin);
    bindings.delete("ann", &DeleteParams::default()).await.unwrap();
    eventually("ann may no longer read", async || {
        !ann_can_get(&ann, server.namespace()).await
    })
    .await;
    assert_eq!(refusal(api.list(&ListParams::default()).await).code, 403);
}

#[tokio::test]
async fn anonymous_gets_health_and_version_and_nothing_else() {
    let (server, _) = server().await;
    let anonymous = server.anonymous_client();
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        anonymous.request_text(request).await.unwrap();
    }
    let status = refusal(config_maps(&anonymous).list(&ListParams::default()).await);
    assert_eq!(status.code, 403);
    assert!(status.message.contains("system:anonymous"), "{}", status.message);
    for path in ["/metrics", "/apis", "/openapi/v2", "/nowhere"] {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(refusal(anonymous.request_text(request).await).code, 403, "{path}");
    }
}

#[tokio::test]
async fn a_probe_lists_its_checks_when_asked_to() {
    let (server, _) = server().await;
    for probe in ["healthz", "livez", "readyz"] {
        let request = http::Request::get(format!("/{probe}?verbose=1"))
            .body(Vec::new())
            .unwrap();
        let text = server.client().request_text(request).await.unwrap();
        for check in ["ping", "log", "etcd"] {
            assert!(text.contains(&format!("[+]{check} ok\n")), "{text}");
        }
        assert!(text.ends_with(&format!("{probe} check passed\n")), "{text}");
    }
}

#[tokio::test]
async fn a_review_has_no_table_and_must_ask_something() {
    let (server, _) = server().await;
    let review = async |spec: Value, accept: &str| {
        let review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
        let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .header("content-type", "application/json")
            .header("accept", accept)
            .body(review.to_string().into_bytes());
        server.client().request_text(request.unwrap()).await
    };
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let path = json!({"nonResourceAttributes": {"path": "/", "verb": "get"}});
    assert_eq!(refusal(review(path.clone(), table).await).code, 406);
    // The next form that is accepted is taken.
    let either = format!("{table},application/json");
    assert!(
        review(path, &either)
            .await
            .unwrap()
            .contains("SelfSubjectAccessReview")
    );
    let refused = refusal(review(json!({}), "application/json").await);
    assert_eq!((refused.code, refused.reason.as_str()), (422, "Invalid"));
}

#[tokio::test]
async fn only_those_who_may_act_as_others_do() {
    let (server, _) = server().await;
    // Ann acts as an administrator's client does, and is refused to act as somebody else in turn.
    let mut config = server.config().clone();
    config.auth_info.impersonate = Some("ann".into());
    let ann = Client::try_from(config).unwrap();
    let request = http::Request::get("/api/v1/namespaces/default/configmaps")
        .header("impersonate-user", "bob")
        .body(Vec::new())
        .unwrap();
    // Two names for one user: which of them counts is not said anywhere, but never both.
    assert_eq!(refusal(ann.request_text(request).await).code, 403);
    let groups = http::Request::get("/api/v1/namespaces")
        .header("impersonate-group", "system:masters")
        .body(Vec::new())
        .unwrap();
    let refused = refusal(server.client().request_text(groups).await);
    let expected = if server.version() < (1, 36) { 500 } else { 400 };
    assert_eq!(refused.code, expected, "{}", refused.message);
    let masters = server.client_as("ann", &["system:masters"]);
    config_maps(&masters).list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn nobody_grants_more_than_they_have() {
    let (server, admin) = server().await;
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
    let own: Api<Role> = Api::default_namespaced(server.client_as("ann", &[]));
    let role = |name: &str, verb: &str| -> Role {
        let role = json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": [verb]}]});
        serde_json::from_value(role).unwrap()
    };
    eventually("ann may create what she may do", async || {
        own.create(&PostParams::default(), &role("fine", "get"))
            .await
            .is_ok()
    })
    .await;
    assert_eq!(
        refusal(own.create(&PostParams::default(), &role("more", "delete")).await).code,
        403
    );
}

#[tokio::test]
async fn a_role_for_one_name_allows_a_list_and_a_watch_of_that_name_alone() {
    let (server, admin) = server().await;
    let ann = server.client_as("ann", &[]);
    let role = json!({"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["hers"], "verbs": ["get", "list", "watch"]},
    ]});
    let roles: Api<Role> = Api::default_namespaced(admin.clone());
    roles
        .create(&PostParams::default(), &serde_json::from_value(role).unwrap())
        .await
        .unwrap();
    let_user_have(&admin, "ann", "reader").await;
    config_maps(&admin)
        .create(&PostParams::default(), &config_map("hers", "1"))
        .await
        .unwrap();
    let api = config_maps(&ann);
    eventually("ann may read hers", async || api.get("hers").await.is_ok()).await;
    for selector in ["metadata.name=hers", "metadata.name==hers"] {
        let listed = api.list(&ListParams::default().fields(selector)).await.unwrap();
        assert_eq!(listed.items.len(), 1, "{selector}");
    }
    let watched = api
        .watch(&WatchParams::default().fields("metadata.name=hers"), "0")
        .await;
    assert!(watched.is_ok());
    for selector in ["metadata.name=his", "metadata.name!=hers", ""] {
        let refused = refusal(api.list(&ListParams::default().fields(selector)).await);
        assert_eq!(refused.code, 403, "{selector}");
    }
}

async fn let_ann_have(admin: &Client, rules: serde_json::Value) {
    let role = json!({"metadata": {"name": "ann"}, "rules": rules});
    let roles: Api<Role> = Api::default_namespaced(admin.clone());
    roles
        .create(&PostParams::default(), &serde_json::from_value(role).unwrap())
        .await
        .unwrap();
    let_user_have(admin, "ann", "ann").await;
}

async fn status_of(client: &Client, request: http::Request<Vec<u8>>) -> u16 {
    match client.request_text(request).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("no answer: {error}"),
    }
}

#[tokio::test]
async fn applying_a_missing_object_needs_the_right_to_create() {
    let (server, admin) = server().await;
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "patch"]}]);
    let_ann_have(&admin, rules).await;
    config_maps(&admin)
        .create(&PostParams::default(), &config_map("there", "1"))
        .await
        .unwrap();
    let ann = config_maps(&server.client_as("ann", &[]));
    eventually("ann may read", async || ann.get("there").await.is_ok()).await;
    let apply = async |name: &str| {
        let config =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
        ann.patch(name, &PatchParams::apply("ann"), &Patch::Apply(&config))
            .await
    };
    assert!(apply("there").await.is_ok());
    let refused = refusal(apply("missing").await);
    assert_eq!(refused.code, 403);
    assert!(config_maps(&admin).get_opt("missing").await.unwrap().is_none());
}

#[tokio::test]
async fn a_field_selector_does_not_widen_what_a_role_allows() {
    let (server, admin) = server().await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["hers"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]},
    ]);
    let_ann_have(&admin, rules).await;
    config_maps(&admin)
        .create(&PostParams::default(), &config_map("hers", "1"))
        .await
        .unwrap();
    let ann = server.client_as("ann", &[]);
    eventually("ann may read hers", async || {
        config_maps(&ann).get("hers").await.is_ok()
    })
    .await;
    let home = format!("/api/v1/namespaces/{}", server.namespace());
    let named = |name: &str| json!({"metadata": {"name": name}}).to_string().into_bytes();
    let selected = |name: &str| format!("fieldSelector=metadata.name%3D{name}");
    let post = |path: String, name: &str| {
        let request = http::Request::post(path).header("content-type", "application/json");
        request.body(named(name)).unwrap()
    };
    let create = post(format!("{home}/configmaps?{}", selected("hers")), "other");
    assert_eq!(status_of(&ann, create).await, 403, "create");
    let collection = format!("{home}/configmaps?{}", selected("hers"));
    let delete = http::Request::delete(collection).body(Vec::new()).unwrap();
    assert_eq!(status_of(&ann, delete).await, 403, "deletecollection");
    let namespaces = format!("/api/v1/namespaces?{}", selected(server.namespace()));
    let other = format!("{}-other", server.namespace());
    assert_eq!(
        status_of(&ann, post(namespaces.clone(), &other)).await,
        403,
        "namespace"
    );
    let list = http::Request::get(namespaces).body(Vec::new()).unwrap();
    assert_eq!(
        status_of(&ann, list).await,
        403,
        "a list of namespaces is at cluster scope"
    );
}

#[tokio::test]
async fn a_user_name_beyond_ascii_is_impersonated_and_never_dropped() {
    let (server, admin) = server().await;
    let request = |user: &[u8]| {
        http::Request::get(format!("/api/v1/namespaces/{}/configmaps", server.namespace()))
            .header("impersonate-user", http::HeaderValue::from_bytes(user).unwrap())
            .body(Vec::new())
            .unwrap()
    };
    let refused = refusal(admin.request_text(request("josé".as_bytes())).await);
    assert_eq!(refused.code, 403);
    assert!(refused.message.contains("jos"), "{}", refused.message);
    // Not UTF-8: a server may refuse the header or the user, but the request does not run as its sender.
    let code = status_of(&admin, request(b"jos\xe9")).await;
    assert!(matches!(code, 400 | 403), "{code}");
}
