//! Patches of each type, and server-side apply. The first byte chooses the object, the second one how it is asked for, the
//! rest is the patch.

use serde_json::{Value, json};

use super::choose;
use super::hub::{Answer, JSON, MERGE, Sent, Server};
use super::hub_objects::{OBJECTS, Object};

const OPTIONS: &[&str] = &[
    "",
    "?dryRun=All",
    "?fieldValidation=Strict",
    "?fieldManager=other&fieldValidation=Warn",
    "/status",
    "/scale",
    "/status?dryRun=All",
    "?force=true",
];
const APPLY_OPTIONS: &[&str] = &[
    "?fieldManager=a",
    "?fieldManager=a&force=true",
    "?fieldManager=a&dryRun=All",
    "?fieldManager=a&fieldValidation=Strict&force=true",
    "/status?fieldManager=a&force=true",
    "/scale?fieldManager=a&force=true",
    "?fieldManager=a&fieldValidation=Ignore",
    "?force=false",
];
/// The same for the second and further configurations, which somebody else applies.
const APPLY_NEXT: &[&str] = &["?fieldManager=b&force=true", "?fieldManager=a&force=true"];
/// Stands between the configurations of one input.
const NEXT: &[u8] = b"\n%%%\n";

/// Whether the same patch once more changes nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    ChangesNothing,
    MayChange,
}

/// `application/json-patch+json`.
pub fn json_patch(data: &[u8]) {
    patch(data, "application/json-patch+json", Again::MayChange);
}

/// `application/merge-patch+json`.
pub fn merge_patch(data: &[u8]) {
    patch(data, MERGE, Again::ChangesNothing);
}

/// `application/strategic-merge-patch+json`.
pub fn strategic_patch(data: &[u8]) {
    patch(data, "application/strategic-merge-patch+json", Again::MayChange);
}

/// `application/apply-patch+yaml`: up to four configurations, one after the other.
pub fn apply(data: &[u8]) {
    const CONTENT: &str = "application/apply-patch+yaml";
    let [object, options, rest @ ..] = data else {
        return;
    };
    let object = choose(&OBJECTS, *object);
    let options = std::iter::once(*choose(APPLY_OPTIONS, *options)).chain(APPLY_NEXT.iter().copied().cycle());
    Server::with(|server| {
        for (options, body) in options.zip(split(rest)).take(4) {
            request(server, object, options, CONTENT, body, Again::ChangesNothing);
        }
        server.restore(object);
    });
}

fn split(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some(at) = rest.windows(NEXT.len()).position(|window| window == NEXT) {
        parts.push(&rest[..at]);
        rest = &rest[at + NEXT.len()..];
    }
    parts.push(rest);
    parts
}

fn patch(data: &[u8], content: &str, again: Again) {
    let [object, options, body @ ..] = data else {
        return;
    };
    let (object, options) = (choose(&OBJECTS, *object), *choose(OPTIONS, *options));
    Server::with(|server| {
        if request(server, object, options, content, body, again) {
            server.restore(object);
        }
    });
}

/// Sends one patch and checks what came of it. Returns whether the object has changed.
fn request(
    server: &Server,
    object: &Object,
    options: &str,
    content: &str,
    body: &[u8],
    again: Again,
) -> bool {
    let path = object.path();
    let before = server.get(&path);
    let url = format!("{path}{options}");
    let sent = Sent {
        method: "PATCH",
        path: &url,
        content,
        body,
    };
    let answer = server.try_send(sent).expect("a valid path");
    let after = server.get(&path);
    server.check_well(&path);
    if !answer.succeeded() || options.contains("dryRun") {
        assert_eq!(before, after, "{sent:?} was answered {answer:?}");
        return false;
    }
    if after.code == 404 {
        // The janitor takes what has owners and none that is there.
        assert!(names_owners(&answer.body), "{sent:?}: {answer:?}");
        return true;
    }
    let of_scale = options.starts_with("/scale");
    assert!(
        of_scale || after.body == answer.body,
        "{sent:?}: {answer:?}, then {after:?}"
    );
    check_content(&before, &after, sent);
    if names_owners(&after.body) {
        return true;
    }
    if again == Again::ChangesNothing && !names_version(body) {
        let once_more = server.try_send(sent).expect("a valid path");
        assert_eq!(once_more.code, 200, "{sent:?} again: {once_more:?}");
        assert_eq!(server.get(&path), after, "{sent:?} again");
    }
    let text = after.body.to_string();
    let put = server.send("PUT", &path, JSON, text.as_bytes());
    assert_eq!(
        put.code, 200,
        "{sent:?}: what came of it cannot be written: {put:?}: {text}"
    );
    assert_eq!(
        put.version(),
        after.version(),
        "{sent:?}: written unchanged: {text}"
    );
    before != after
}

/// What no client may change.
fn check_content(before: &Answer, after: &Answer, sent: Sent<'_>) {
    if !before.succeeded() {
        return;
    }
    for field in [
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/creationTimestamp",
        "/kind",
        "/apiVersion",
    ] {
        let of = |answer: &Answer| answer.body.pointer(field).cloned();
        assert_eq!(of(before), of(after), "{sent:?}: {field}");
    }
    let unversioned = |answer: &Answer| {
        let mut body = answer.body.clone();
        body["metadata"]["resourceVersion"] = Value::Null;
        body
    };
    assert_eq!(
        before.version() == after.version(),
        unversioned(before) == unversioned(after),
        "{sent:?}: the version changes exactly when the object does"
    );
}

fn names_owners(object: &Value) -> bool {
    let owners = object.pointer("/metadata/ownerReferences");
    owners.is_some_and(|owners| *owners != json!([]))
}

/// Whether the patch may name a version, which is another one the second time. An escaped letter hides a name.
fn names_version(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    text.contains("resourceVersion") || text.contains('\\')
}
