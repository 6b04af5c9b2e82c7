//! What single built-in kinds do beyond what all do.

use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

fn lease(holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    })
}

#[tokio::test]
async fn a_replace_creates_objects_of_the_kinds_that_allow_it() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let path = format!("{LEASES}/l");
    let created = client.replace(&path, &lease("a")).await;
    assert_eq!(created.code, 201);
    let mut read = created.ok();
    client.delete(&path).await.ok();
    read["spec"]["holderIdentity"] = "b".into();
    let again = client.replace(&path, &read).await;
    assert_eq!(again.code, 201, "it was deleted meanwhile");
    let again = again.ok();
    assert_ne!(again["metadata"]["uid"], read["metadata"]["uid"]);
    let replaced = client.replace(&path, &again).await;
    assert_eq!(replaced.code, 200);
    let dry = client
        .replace(
            &format!("{LEASES}/m?dryRun=All"),
            &json!({"metadata": {"name": "m"}}),
        )
        .await;
    assert_eq!(dry.code, 201);
    assert_eq!(client.get(&format!("{LEASES}/m")).await.code, 404);

    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r";
    assert_eq!(
        client
            .replace(roles, &json!({"metadata": {"name": "r"}, "rules": []}))
            .await
            .code,
        201
    );
    let maps = "/api/v1/namespaces/default/configmaps/c";
    assert_eq!(
        client
            .replace(maps, &json!({"metadata": {"name": "c"}}))
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn who_may_only_update_does_not_create_by_it() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let group = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let rules = json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]}]);
    client
        .create(
            &format!("{group}/roles"),
            &json!({"metadata": {"name": "r"}, "rules": rules}),
        )
        .await
        .ok();
    let binding = json!({
        "metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
    });
    client
        .create(&format!("{group}/rolebindings"), &binding)
        .await
        .ok();
    let ann = Client(hub.service_for("ann", &[]));
    let path = format!("{LEASES}/l");
    let refused = ann.replace(&path, &lease("ann")).await;
    assert_eq!(refused.refusal().0, 403, "{refused:?}");
    let live = client.create(LEASES, &lease("a")).await.ok();
    ann.replace(&path, &live).await.ok();
}

#[tokio::test]
async fn every_namespace_has_a_service_account_that_comes_back() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client
        .create("/api/v1/namespaces", &json!({"metadata": {"name": "team"}}))
        .await
        .ok();
    for namespace in ["default", "kube-system", "team"] {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        eventually("there is an account", || async {
            client.get(&path).await.code == 200
        })
        .await;
    }
    let path = "/api/v1/namespaces/team/serviceaccounts/default";
    let first = client.get(path).await.ok();
    client.delete(path).await.ok();
    eventually("there is another one", || async {
        let now = client.get(path).await;
        now.code == 200 && now.body["metadata"]["uid"] != first["metadata"]["uid"]
    })
    .await;
    client.delete("/api/v1/namespaces/team").await.ok();
    eventually("the namespace ends", || async {
        client.get("/api/v1/namespaces/team").await.code == 404 && client.get(path).await.code == 404
    })
    .await;
}

#[tokio::test]
async fn a_token_review_tells_whose_a_token_is() {
    let hub = Hub::builder().start().await.unwrap();
    hub.add_token("abc", "ann", &["team"]);
    let client = Client::of(&hub);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    client
        .create(accounts, &json!({"metadata": {"name": "robot"}}))
        .await
        .ok();
    let issued = client
        .create(&format!("{accounts}/robot/token"), &json!({"spec": {}}))
        .await
        .ok();
    let review = async |token: &str| {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        client
            .create("/apis/authentication.k8s.io/v1/tokenreviews", &review)
            .await
            .ok()["status"]
            .clone()
    };
    assert_eq!(
        review("abc").await,
        json!({"authenticated": true, "user": {"username": "ann", "groups": ["team", "system:authenticated"]}})
    );
    let robot = review(issued["status"]["token"].as_str().unwrap()).await;
    assert_eq!(robot["user"]["username"], "system:serviceaccount:default:robot");
    assert_eq!(
        review("nope").await,
        json!({"user": {}, "error": "invalid bearer token"})
    );
}

#[tokio::test]
async fn a_cluster_role_shows_the_rules_it_gathers() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let selector = json!([{"matchLabels": {"to-sum": "true"}}]);
    let sum = json!({"metadata": {"name": "sum"}, "aggregationRule": {"clusterRoleSelectors": selector}, "rules": []});
    client.create(roles, &sum).await.ok();
    let rules = json!([{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}]);
    let part = json!({"metadata": {"name": "part", "labels": {"to-sum": "true"}}, "rules": rules});
    client.create(roles, &part).await.ok();
    eventually("the rules are gathered", || async {
        client.get(&format!("{roles}/sum")).await.ok()["rules"] == rules
    })
    .await;
    client.delete(&format!("{roles}/part")).await.ok();
    eventually("and given up", || async {
        client.get(&format!("{roles}/sum")).await.ok()["rules"] == json!([])
    })
    .await;
}

/// Kubernetes reads a built-in kind in one go, and a custom resource first as JSON and then by its schema.
#[tokio::test]
async fn strict_errors_come_in_the_order_of_kubernetes() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client
        .create(
            DEFINITIONS,
            &widgets(json!({"type": "object", "properties": {"size": {"type": "integer"}}})),
        )
        .await
        .ok();
    let message = async |path: &str, body: &'static str| {
        let request = Request::post(format!("{path}?fieldValidation=Strict"))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from_static(body.as_bytes())))
            .unwrap();
        let response = client.0.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 400);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let status: Value = serde_json::from_slice(&bytes).unwrap();
        status["message"].as_str().unwrap().to_owned()
    };
    let deployment = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},
        "spec":{"replicas":1,"replicas":2,"nope":1,"selector":{},"template":{}}}"#;
    let told = message("/apis/apps/v1/namespaces/default/deployments", deployment).await;
    let expected = r#"strict decoding error: unknown field "spec.nope", duplicate field "spec.replicas""#;
    assert!(told.contains(expected), "{told}");
    let widget = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1,"size":2,"nope":1}}"#;
    let told = message(WIDGETS, widget).await;
    let expected = r#"strict decoding error: duplicate field "spec.size", unknown field "spec.nope""#;
    assert!(told.contains(expected), "{told}");
}

#[tokio::test]
async fn a_patch_to_a_wrong_type_names_the_object_and_the_field() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let services = "/api/v1/namespaces/default/services";
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    client.create(services, &service).await.ok();
    let path = format!("{services}/web");
    let wrong = json!({"spec": {"ports": [{"port": "http"}]}});
    let answer = client.merge(&path, &wrong).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.body["message"],
        "Service \"web\" is invalid: patch: Invalid value: \"{\\\"spec\\\":{\\\"ports\\\":[{\\\"port\\\":\\\"http\\\"}]}}\": \
         json: cannot unmarshal string into Go struct field Service.spec.ports[0].port of type integer"
    );
    assert_eq!(answer.body["details"]["name"], "web");
    assert_eq!(answer.body["details"]["causes"][0]["field"], "patch");
    let applied = json!({"apiVersion": "v1", "kind": "Service", "spec": wrong["spec"]});
    let answer = client
        .send(
            "PATCH",
            &format!("{path}?fieldManager=test"),
            "application/apply-patch+yaml",
            &applied,
        )
        .await;
    assert_eq!(answer.code, 500);
    assert_eq!(
        answer.body["message"],
        "failed to create typed patch object (default/web; /v1, Kind=Service): \
         .spec.ports[port=\"http\",protocol=\"TCP\"].port: expected numeric (int or float), got string"
    );
}
