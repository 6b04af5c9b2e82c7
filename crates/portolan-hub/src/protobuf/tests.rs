//! Bodies recorded from kubectl, compared with what the same kubectl prints as JSON; a definition as Go programs write it,
//! which the suite sends to a real server too; and garbage.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::schema::{Kind, Message};
use super::*;

/// `(recorded body, the same object as kubectl prints it)`, without the nulls.
macro_rules! recorded {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_bytes!(concat!("fixtures/", $name, ".bin")).as_slice(),
            include_str!(concat!("fixtures/", $name, ".json")),
        )),*]
    };
}

macro_rules! body {
    ($name:literal) => {
        include_bytes!(concat!("fixtures/", $name, ".bin")).as_slice()
    };
}

#[test]
fn a_body_of_kubectl_is_the_json_that_kubectl_prints() {
    for (name, body, expected) in recorded![
        "clusterrole",
        "clusterrole-aggregate",
        "clusterrolebinding",
        "configmap",
        "configmap-binary",
        "cronjob",
        "definition",
        "deployment",
        "ingress",
        "job",
        "namespace",
        "role",
        "rolebinding",
        "secret",
        "secret-docker",
        "service-clusterip",
        "service-external",
        "service-nodeport",
        "serviceaccount",
    ] {
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(decode(body).unwrap(), expected, "{name}");
    }
}

#[test]
fn what_was_read_can_be_written_and_read_again() {
    for (name, body, _) in recorded![
        "clusterrole",
        "clusterrole-aggregate",
        "clusterrolebinding",
        "configmap",
        "configmap-binary",
        "cronjob",
        "deployment",
        "ingress",
        "job",
        "namespace",
        "role",
        "rolebinding",
        "secret",
        "secret-docker",
        "service-clusterip",
        "service-external",
        "service-nodeport",
        "serviceaccount",
    ] {
        let object = decode(body).unwrap();
        let written = encode(&object).unwrap();
        assert_eq!(decode(&written).unwrap(), object, "{name}");
    }
    // Schemas are not written.
    assert_eq!(encode(&decode(body!("definition")).unwrap()), Err(Unwritable));
}

#[test]
fn one_object_with_what_no_client_writes_does_not_keep_a_list_from_being_written() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"x": 7, "y": "z"}},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1, "memory": 0.5, "x": "1Gi"}}}, 3],
            "newField": {"a": 1}, "hostname": 5,
        },
        "status": {
            "phase": "Running", "startTime": "2026-01-01T00:00:00Z", "newField": [],
            "containerStatuses": [{"name": "c", "ready": true, "restartCount": 2, "image": "i", "imageID": "",
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
        },
    });
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"y": "z"}},
        "spec": {
            "containers": [{"name": "c", "image": "i",
                "resources": {"requests": {"cpu": "1", "memory": "0.5", "x": "1Gi"}}}],
        },
        "status": {
            "phase": "Running", "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [{"name": "c", "ready": true, "restartCount": 2, "image": "i", "imageID": "",
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
        },
    });
    assert_eq!(decode(&encode(&pod).unwrap()).unwrap(), expected);
    assert!(encode_list("v1", "PodList", &json!({"resourceVersion": "1"}), &[pod]).is_ok());
    let status = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": 5});
    assert!(encode(&status).is_ok());
}

#[test]
fn reviews_and_token_requests_of_kubectl_are_read() {
    let review = |spec: Value| json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}, "spec": spec, "status": {"allowed": false}});
    for (name, body, expected) in [
        (
            "auth can-i list configmaps",
            body!("self-subject-access-review"),
            review(
                json!({"resourceAttributes": {"namespace": "team-a", "verb": "list", "resource": "configmaps"}}),
            ),
        ),
        (
            "auth can-i get /healthz",
            body!("self-subject-access-review-path"),
            review(json!({"nonResourceAttributes": {"path": "/healthz", "verb": "get"}})),
        ),
        (
            "auth can-i --list",
            body!("self-subject-rules-review"),
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "metadata": {}, "spec": {"namespace": "team-a"}, "status": {"incomplete": false}}),
        ),
        (
            "auth whoami",
            body!("self-subject-review"),
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}, "status": {"userInfo": {}}}),
        ),
        (
            "create token",
            body!("token"),
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": {"audiences": ["hub"], "expirationSeconds": 600}, "status": {"token": ""}}),
        ),
    ] {
        assert_eq!(decode(body).unwrap(), expected, "{name}");
    }
}

/// A length-delimited field.
fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = varint(u64::from(number) << 3 | 2);
    bytes.extend(varint(content.len() as u64));
    bytes.extend_from_slice(content);
    bytes
}

fn number(field: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(field) << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
}

#[test]
fn times_numbers_and_references_are_written_as_json_writes_them() {
    let time = [number(1, 1_700_000_000), number(2, 123_456_000)].concat();
    let lease = [
        field(1, b"me"),
        number(2, 0),
        field(3, &time),
        number(5, u64::MAX),
    ]
    .concat();
    let metadata = [field(1, b"lock"), field(8, &time), number(10, 0), number(7, 0)].concat();
    let body = envelope(
        "coordination.k8s.io/v1",
        "Lease",
        &[field(1, &metadata), field(2, &lease)].concat(),
    );
    assert_eq!(
        decode(&body).unwrap(),
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            // Whole seconds; a pointer to zero stays, a plain zero goes.
            "metadata": {"name": "lock", "creationTimestamp": "2023-11-14T22:13:20Z", "deletionGracePeriodSeconds": 0},
            "spec": {
                "holderIdentity": "me",
                "leaseDurationSeconds": 0,
                "acquireTime": "2023-11-14T22:13:20.123456Z",
                "leaseTransitions": -1,
            },
        })
    );
}

#[test]
fn managed_fields_keep_the_json_inside() {
    let entry = [field(1, b"kubectl"), field(7, &field(1, br#"{"f:data":{}}"#))].concat();
    let body = envelope("v1", "ConfigMap", &field(1, &field(17, &entry)));
    let expected = json!([{"manager": "kubectl", "fieldsV1": {"f:data": {}}}]);
    assert_eq!(decode(&body).unwrap()["metadata"]["managedFields"], expected);
}

#[test]
fn delete_options_come_in_the_version_of_what_is_deleted() {
    let options = [
        number(1, 0),
        field(2, &field(1, b"uid-1")),
        field(4, b"Foreground"),
    ]
    .concat();
    for version in ["v1", "apps/v1", "meta.k8s.io/v1"] {
        let expected = json!({"apiVersion": version, "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": "uid-1"}, "propagationPolicy": "Foreground"});
        assert_eq!(
            decode(&envelope(version, "DeleteOptions", &options)).unwrap(),
            expected
        );
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_reason() {
    let huge = field(14, b"").repeat(300_000);
    for (body, status, says) in [
        (b"{}".to_vec(), 400, "does not start with"),
        (b"k8s\0\x0a\xff".to_vec(), 400, "Unknown cannot be decoded"),
        (
            envelope("v1", "Namespace", &[0x0a, 0x7f]),
            400,
            "Namespace cannot be decoded",
        ),
        (
            envelope("v1", "Namespace", &field(1, &field(1, &[0xff, 0xfe]))),
            400,
            "ObjectMeta cannot be decoded",
        ),
        (
            envelope("v1", "Namespace", &number(1, 4)),
            400,
            "Namespace cannot be decoded",
        ),
        (
            envelope("v1", "Node", b""),
            415,
            "v1 Node is not accepted as protobuf",
        ),
        (
            envelope("apps/v1", "Namespace", b""),
            415,
            "accepted are v1 ConfigMap, v1 Event",
        ),
        (
            envelope("v1", "ConfigMap", &field(99, b"x")),
            415,
            "field 99 of ConfigMap",
        ),
        (
            [envelope("v1", "ConfigMap", b""), field(3, b"gzip")].concat(),
            415,
            "\"gzip\"",
        ),
        (
            envelope("v1", "ConfigMap", &field(1, &huge)),
            413,
            "too many values",
        ),
    ] {
        let error = decode(&body).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.status(), status, "{error}");
    }
}

#[test]
fn fields_nobody_knows_are_skipped_while_they_hold_nothing() {
    let body = envelope("v1", "ConfigMap", &[field(99, b""), number(98, 0)].concat());
    assert_eq!(
        decode(&body).unwrap(),
        json!({"apiVersion": "v1", "kind": "ConfigMap"})
    );
}

#[test]
fn no_table_names_a_number_or_a_field_twice() {
    fn check(message: &'static Message, seen: &mut Vec<&'static str>) {
        if seen.contains(&message.name) {
            return;
        }
        seen.push(message.name);
        let (mut numbers, mut names) = (Vec::new(), Vec::new());
        for field in message.fields() {
            assert!(
                !numbers.contains(&field.number),
                "{} {}",
                message.name,
                field.number
            );
            assert!(
                field.name.is_empty() || !names.contains(&field.name),
                "{} {}",
                message.name,
                field.name
            );
            numbers.push(field.number);
            names.push(field.name);
            match field.kind {
                Kind::Message(inner)
                | Kind::Inline(inner)
                | Kind::SchemaOrList(inner)
                | Kind::SchemaOrBoolean(inner)
                | Kind::SchemaOrStrings(inner) => check(inner, seen),
                _ => {}
            }
        }
    }
    for (_, _, message) in kinds::all() {
        check(message, &mut Vec::new());
    }
}

/// The body of a definition whose schema is this one.
fn definition(schema: &[u8]) -> Vec<u8> {
    let version = field(7, &field(4, &field(1, schema)));
    envelope(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &field(2, &version),
    )
}

fn schema_of(body: &[u8]) -> Value {
    decode(body).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn schemas_that_may_be_something_else_are_told_apart() {
    let text = field(5, b"string");
    for (schema, expected) in [
        (field(24, &field(1, &text)), json!({"items": {"type": "string"}})),
        (
            field(24, &[field(2, &text), field(2, b"")].concat()),
            json!({"items": [{"type": "string"}, {}]}),
        ),
        (field(30, &number(1, 0)), json!({"additionalProperties": false})),
        (field(30, &number(1, 1)), json!({"additionalProperties": true})),
        (
            field(30, &[number(1, 1), field(2, &text)].concat()),
            json!({"additionalProperties": {"type": "string"}}),
        ),
        (
            field(32, &[field(1, b"a"), field(2, &field(2, b"b"))].concat()),
            json!({"dependencies": {"a": ["b"]}}),
        ),
        (
            field(32, &[field(1, b"a"), field(2, &field(1, &text))].concat()),
            json!({"dependencies": {"a": {"type": "string"}}}),
        ),
        (field(8, &field(1, b"null")), json!({"default": null})),
        (
            [varint(9 << 3 | 1), 0.5f64.to_le_bytes().to_vec()].concat(),
            json!({"maximum": 0.5}),
        ),
        (
            [varint(9 << 3 | 1), 0f64.to_le_bytes().to_vec()].concat(),
            json!({"maximum": 0}),
        ),
    ] {
        assert_eq!(schema_of(&definition(&schema)), expected);
    }
}

#[test]
fn a_number_that_json_does_not_have_is_refused() {
    for number in [f64::NAN, f64::INFINITY] {
        let schema = [varint(9 << 3 | 1), number.to_le_bytes().to_vec()].concat();
        assert_eq!(decode(&definition(&schema)).unwrap_err().status(), 400);
    }
    let single = [varint(9 << 3 | 5), 1f32.to_le_bytes().to_vec()].concat();
    assert_eq!(decode(&definition(&single)).unwrap_err().status(), 400);
}

/// A schema is the one message that holds itself, so that a body could nest it without end.
#[test]
fn a_schema_that_is_nested_too_deep_is_refused() {
    let nested = |levels: usize| {
        let innermost = field(5, b"object");
        (0..levels).fold(innermost, |schema, _| field(28, &schema))
    };
    decode(&definition(&nested(90))).unwrap();
    for levels in [100, 5_000] {
        let error = decode(&definition(&nested(levels))).unwrap_err();
        assert_eq!(error, Error::TooDeep(100));
        assert_eq!(error.status(), 400);
    }
}

proptest! {
    #[test]
    fn garbage_never_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&body);
        for (version, kind, _) in kinds::all() {
            let _ = decode(&envelope(version, kind, &body));
        }
    }

    #[test]
    fn a_damaged_body_never_panics(at in 0usize..234, byte: u8, cut in 0usize..234) {
        let mut body = body!("deployment").to_vec();
        body[at] = byte;
        let _ = decode(&body);
        body.truncate(cut);
        let _ = decode(&body);
    }
}
