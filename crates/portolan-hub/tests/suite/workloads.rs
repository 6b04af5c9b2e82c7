//! Workloads and Ingresses with mistakes that people make in manifests.

use super::bad_input::answer;
use super::*;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments?dryRun=All";
const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses?dryRun=All";
const JSON: &str = "application/json";

/// A Deployment whose container has these fields as well.
fn deployment(more: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    container
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}},
        },
    })
}

async fn posted(client: &Client, path: &str, object: &Value) -> String {
    answer(client, "POST", path, JSON, object.to_string().as_bytes()).await
}

#[tokio::test]
async fn containers_with_fields_of_wrong_types_are_refused() {
    let (_server, client) = server().await;
    let usual = json!({
        "command": ["sh"], "env": [{"name": "A", "value": "b"}, {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [{"name": "http", "containerPort": 80}], "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "resources": {"limits": {"cpu": 0.5, "memory": "64Mi"}, "requests": {"cpu": "100m"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
        "securityContext": {"runAsNonRoot": true}, "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    });
    let mut usual = deployment(usual);
    usual["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]);
    assert_eq!(posted(&client, DEPLOYMENTS, &usual).await, "201");
    for wrong in [
        json!({"resources": {"limits": {"cpu": "many"}}}),
        json!({"resources": {"limits": {"cpu": true}}}),
        json!({"env": {"A": "b"}}),
        json!({"env": [{"name": "A", "value": 1}]}),
        json!({"ports": [{"containerPort": "http"}]}),
        json!({"livenessProbe": {"periodSeconds": "often"}}),
        json!({"command": "sh"}),
    ] {
        let got = posted(&client, DEPLOYMENTS, &deployment(wrong.clone())).await;
        assert_eq!(got, "400 BadRequest", "{wrong}");
    }
    let mut labels = deployment(json!({}));
    labels["spec"]["template"]["metadata"]["labels"]["version"] = json!(1);
    assert_eq!(posted(&client, DEPLOYMENTS, &labels).await, "400 BadRequest");
}

#[tokio::test]
async fn containers_with_invalid_names_and_ports_are_refused() {
    let (_server, client) = server().await;
    let at = "spec.template.spec.containers[0]";
    for (wrong, cause) in [
        (json!({"name": "C_x"}), format!("[FieldValueInvalid {at}.name]")),
        (
            json!({"ports": [{"containerPort": 70_000}]}),
            format!("[FieldValueInvalid {at}.ports[0].containerPort]"),
        ),
        (
            json!({"ports": [{}]}),
            format!("[FieldValueRequired {at}.ports[0].containerPort]"),
        ),
        (
            json!({"ports": [{"containerPort": 80, "name": "the-port-of-the-web"}]}),
            format!("[FieldValueInvalid {at}.ports[0].name]"),
        ),
        (
            json!({"env": [{"name": "A=b"}]}),
            format!("[FieldValueInvalid {at}.env[0].name]"),
        ),
        (
            json!({"env": [{"value": "b"}]}),
            format!("[FieldValueRequired {at}.env[0].name]"),
        ),
        (
            json!({"imagePullPolicy": "Sometimes"}),
            format!("[FieldValueNotSupported {at}.imagePullPolicy]"),
        ),
    ] {
        let got = posted(&client, DEPLOYMENTS, &deployment(wrong.clone())).await;
        assert_eq!(got, format!("422 Invalid {cause}"), "{wrong}");
    }
}

#[tokio::test]
async fn unknown_fields_of_pods_and_ingresses_are_refused_when_the_client_asks() {
    let (server, client) = server().await;
    if server.lacks(Feature::FieldValidation) {
        return;
    }
    let path = |path: &str| format!("{path}&fieldValidation=Strict");
    let mut typo = deployment(json!({}));
    typo["spec"]["template"]["spec"]["containrs"] = json!([]);
    for wrong in [typo, deployment(json!({"resource": {"limits": {"cpu": "1"}}}))] {
        let got = posted(&client, &path(DEPLOYMENTS), &wrong).await;
        assert_eq!(got, "400 BadRequest", "{wrong}");
        assert_eq!(posted(&client, DEPLOYMENTS, &wrong).await, "201", "{wrong}");
    }
    let old = ingress(
        json!({"path": "/", "pathType": "Prefix", "backend": {"serviceName": "web", "servicePort": 80}}),
    );
    assert_eq!(posted(&client, &path(INGRESSES), &old).await, "400 BadRequest");
}

/// An Ingress with this path.
fn ingress(path: Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"},
        "spec": {"rules": [{"http": {"paths": [path]}}]},
    })
}

#[tokio::test]
async fn ingresses_without_a_type_of_path_or_a_backend_are_refused() {
    let (_server, client) = server().await;
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let right = ingress(json!({"path": "/", "pathType": "Prefix", "backend": backend}));
    assert_eq!(posted(&client, INGRESSES, &right).await, "201");
    let at = "spec.rules[0].http.paths[0]";
    for (path, cause) in [
        (
            json!({"path": "/", "backend": backend}),
            format!("[FieldValueRequired {at}.pathType]"),
        ),
        (
            json!({"path": "/", "pathType": "Regex", "backend": backend}),
            format!("[FieldValueNotSupported {at}.pathType]"),
        ),
        (
            json!({"path": "a", "pathType": "Exact", "backend": backend}),
            format!("[FieldValueInvalid {at}.path]"),
        ),
        (
            json!({"path": "/", "pathType": "Exact", "backend": {"serviceName": "web", "servicePort": 80}}),
            format!("[FieldValueInvalid {at}.backend]"),
        ),
        (
            json!({"path": "/", "pathType": "Exact", "backend": {"service": {"name": "web"}}}),
            format!("[FieldValueRequired {at}.backend]"),
        ),
    ] {
        let got = posted(&client, INGRESSES, &ingress(path.clone())).await;
        assert_eq!(got, format!("422 Invalid {cause}"), "{path}");
    }
}

#[tokio::test]
async fn an_apply_with_a_wrong_type_names_the_field() {
    let (_server, client) = server().await;
    let services: Api<DynamicObject> = Api::default_namespaced_with(
        client.clone(),
        &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Service")),
    );
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "wrong"}, "spec": {"ports": [{"port": "http", "protocol": "TCP"}]},
    });
    let apply = kube::api::PatchParams::apply("test");
    let patch = kube::api::Patch::Apply(&service);
    let kube::Error::Api(status) = services.patch("wrong", &apply, &patch).await.unwrap_err() else {
        panic!("it is a Status");
    };
    let said = &status.message;
    assert!(said.starts_with("failed to create typed patch object"), "{said}");
    // What was found is a type of Go, which not every server names alike.
    let field = r#".spec.ports[port="http",protocol="TCP"].port: expected numeric (int or float), got "#;
    assert!(said.contains(field), "{said}");
}

#[tokio::test]
async fn claims_of_a_stateful_set_may_say_what_they_are() {
    let (server, client) = server().await;
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
        "spec": {
            "serviceName": "s", "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            "volumeClaimTemplates": [{
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    });
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let apply = "application/apply-patch+yaml";
    let body = set.to_string();
    let applied = format!("{sets}/s?dryRun=All&fieldManager=test&force=true");
    assert_eq!(
        answer(&client, "PATCH", &applied, apply, body.as_bytes()).await,
        "201"
    );
    if server.lacks(Feature::FieldValidation) {
        return;
    }
    let strict = format!("{sets}?dryRun=All&fieldValidation=Strict");
    assert_eq!(posted(&client, &strict, &set).await, "201");
}
