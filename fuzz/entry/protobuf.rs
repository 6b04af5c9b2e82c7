//! Bodies in the protobuf format of Kubernetes. The first byte chooses the request, the second one the kind, the third one
//! whether the rest is the message of that kind or all that follows the magic bytes.

use serde_json::Value;

use super::choose;
use super::hub::{JSON, MERGE, Sent, Server};
use super::hub_objects::{CONFIG_MAPS, OBJECTS};
use super::selectors::encoded;

use super::hub::PROTOBUF;

const KINDS: &[(&str, &str, &str)] = &[
    ("v1", "ConfigMap", CONFIG_MAPS),
    ("v1", "Secret", "/api/v1/namespaces/default/secrets"),
    ("v1", "Pod", "/api/v1/namespaces/default/pods"),
    ("v1", "Service", "/api/v1/namespaces/default/services"),
    (
        "v1",
        "ServiceAccount",
        "/api/v1/namespaces/default/serviceaccounts",
    ),
    ("v1", "Event", "/api/v1/namespaces/default/events"),
    ("v1", "Namespace", "/api/v1/namespaces"),
    (
        "apps/v1",
        "Deployment",
        "/apis/apps/v1/namespaces/default/deployments",
    ),
    (
        "apps/v1",
        "DaemonSet",
        "/apis/apps/v1/namespaces/default/daemonsets",
    ),
    (
        "apps/v1",
        "StatefulSet",
        "/apis/apps/v1/namespaces/default/statefulsets",
    ),
    ("batch/v1", "Job", "/apis/batch/v1/namespaces/default/jobs"),
    (
        "batch/v1",
        "CronJob",
        "/apis/batch/v1/namespaces/default/cronjobs",
    ),
    (
        "coordination.k8s.io/v1",
        "Lease",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    ),
    (
        "events.k8s.io/v1",
        "Event",
        "/apis/events.k8s.io/v1/namespaces/default/events",
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    ),
    (
        "authentication.k8s.io/v1",
        "TokenReview",
        "/apis/authentication.k8s.io/v1/tokenreviews",
    ),
    (
        "authentication.k8s.io/v1",
        "SelfSubjectReview",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    ),
    (
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    ),
    (
        "authorization.k8s.io/v1",
        "SelfSubjectRulesReview",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ),
];

/// What was taken as protobuf is read as JSON and can be written as such; what was refused is not there.
pub fn protobuf(data: &[u8]) {
    let [request, kind, form, message @ ..] = data else {
        return;
    };
    let (version, name, collection) = *choose(KINDS, *kind);
    let body = |version: &str, kind: &str| match *choose(&[true, false], *form) {
        true => envelope(version, kind, message),
        false => [b"k8s\0", message].concat(),
    };
    Server::with(
        |server| match *choose(&["create", "delete", "delete all", "replace"], *request) {
            "create" => create(server, collection, &body(version, name)),
            "replace" => replace(server, &body("v1", "ConfigMap")),
            "delete" => delete(
                server,
                &format!("{CONFIG_MAPS}/plain"),
                &body("v1", "DeleteOptions"),
            ),
            _ => delete(server, CONFIG_MAPS, &body("meta.k8s.io/v1", "DeleteOptions")),
        },
    );
}

fn create(server: &Server, collection: &str, body: &[u8]) {
    let before = server.get(collection);
    let answer = server.send("POST", collection, PROTOBUF, body);
    let text = |pointer: &str| answer.body.pointer(pointer).and_then(Value::as_str);
    if !answer.succeeded() || collection.ends_with("reviews") {
        let after = server.get(collection);
        assert_eq!(before.body["items"], after.body["items"], "{body:?}: {answer:?}");
        return;
    }
    let name = text("/metadata/name").expect("a created object has a name");
    let path = format!("{collection}/{}", encoded(name));
    let read = server.get(&path);
    if read.code != 404 {
        // The hub writes the status of a definition once it serves the kind.
        match collection.ends_with("customresourcedefinitions") {
            true => assert_eq!(read.body["spec"], answer.body["spec"], "{body:?}"),
            false => assert_eq!(read.body, answer.body, "{body:?}"),
        }
        server.check_well(&path);
        let json = read.body.to_string();
        let put = server.send("PUT", &path, JSON, json.as_bytes());
        assert_eq!(
            put.code, 200,
            "{body:?}: what came of it cannot be written: {put:?}: {json}"
        );
        assert_eq!(
            put.version(),
            read.version(),
            "{body:?}: written unchanged: {json}"
        );
    }
    let free = br#"{"metadata": {"finalizers": null, "ownerReferences": null}}"#;
    server.send("PATCH", &path, MERGE, free);
    server.send(
        "DELETE",
        &format!("{path}?propagationPolicy=Background"),
        JSON,
        b"",
    );
    server.wait_until_gone(&path);
}

fn replace(server: &Server, body: &[u8]) {
    let plain = &OBJECTS[0];
    let before = server.get(&plain.path());
    let answer = server.send("PUT", &plain.path(), PROTOBUF, body);
    let after = server.get(&plain.path());
    match answer.succeeded() {
        true => server.restore(plain),
        false => assert_eq!(before, after, "{body:?}: {answer:?}"),
    }
}

fn delete(server: &Server, path: &str, body: &[u8]) {
    let sent = Sent {
        method: "DELETE",
        path,
        content: PROTOBUF,
        body,
    };
    let before = server.get(CONFIG_MAPS);
    let answer = server.try_send(sent).expect("a valid path");
    let after = server.get(CONFIG_MAPS);
    if before.body["items"] == after.body["items"] {
        return;
    }
    assert!(answer.succeeded(), "{sent:?}: {answer:?}");
    for object in OBJECTS.iter().filter(|object| object.collection == CONFIG_MAPS) {
        server.restore(object);
    }
}

/// The envelope of a message: the kind, and the message itself.
fn envelope(version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let meta = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &meta), field(2, message)].concat()
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut encoded = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        encoded.push(u8::try_from(length & 0x7f).expect("seven bits") | 0x80);
        length >>= 7;
    }
    encoded.push(u8::try_from(length).expect("seven bits"));
    encoded.extend_from_slice(bytes);
    encoded
}
