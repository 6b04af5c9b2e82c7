//! Query strings of every kind of request. The first byte chooses the request, the second one the object, the rest is the
//! query as it stands in the URL.

use serde_json::Value;

use super::choose;
use super::hub::{Answer, JSON, MERGE, Sent, Server};
use super::hub_objects::{OBJECTS, Object};
use super::selectors::names;

/// What a request is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Collection,
    One,
    Status,
}

/// What a request carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    Nothing,
    /// The object under another name.
    New,
    /// The object with another label.
    Changed,
    /// A merge patch, or a configuration that is applied.
    Label,
}

const REQUESTS: &[(&str, About, &str, Carries)] = &[
    ("GET", About::Collection, JSON, Carries::Nothing),
    ("GET", About::One, JSON, Carries::Nothing),
    ("POST", About::Collection, JSON, Carries::New),
    ("PUT", About::One, JSON, Carries::Changed),
    ("PATCH", About::One, MERGE, Carries::Label),
    (
        "PATCH",
        About::One,
        "application/apply-patch+yaml",
        Carries::Label,
    ),
    ("DELETE", About::One, JSON, Carries::Nothing),
    ("DELETE", About::Collection, JSON, Carries::Nothing),
    ("PATCH", About::Status, MERGE, Carries::Label),
];

/// A refused request and a dry run change nothing; pages of a list make up the list.
pub fn queries(data: &[u8]) {
    let [request, object, query @ ..] = data else {
        return;
    };
    // Not what can be in a URL; the parser of HTTP refuses it before a hub sees it.
    let Ok(query) = std::str::from_utf8(query) else {
        return;
    };
    let (method, about, content, carries) = *choose(REQUESTS, *request);
    let object = choose(&OBJECTS, *object);
    let place = match about {
        About::Collection => object.collection.to_owned(),
        About::One => object.path(),
        About::Status => format!("{}/status", object.path()),
    };
    let body = body(object, carries);
    let path = format!("{place}?{query}");
    let sent = Sent {
        method,
        path: &path,
        content,
        body: body.as_bytes(),
    };
    Server::with(|server| match method {
        "GET" => read(server, sent, object.collection),
        _ => write(server, sent, query, object.collection),
    });
}

fn body(object: &Object, carries: Carries) -> String {
    let mut value: Value = match object.text {
        "" => return String::new(),
        _ => object.value(),
    };
    match carries {
        Carries::Nothing => return String::new(),
        Carries::New => value["metadata"]["name"] = "new".into(),
        Carries::Changed => value["metadata"]["labels"]["x"] = "y".into(),
        Carries::Label => {
            let metadata = serde_json::json!({"labels": {"x": "y"}});
            let header = |field: &str| value[field].clone();
            value = serde_json::json!({"apiVersion": header("apiVersion"), "kind": header("kind"), "metadata": metadata});
        }
    }
    value.to_string()
}

fn read(server: &Server, sent: Sent<'_>, collection: &str) {
    // Not every one is a watch; a list is one line.
    let Some(Ok(lines)) = server.watch(sent, JSON, || {}) else {
        return;
    };
    let [list] = lines.as_slice() else { return };
    let token = list.pointer("/metadata/continue").and_then(Value::as_str);
    if let Some(token) = token.filter(|token| !token.is_empty()) {
        let rest = server.get(&format!("{collection}?continue={token}"));
        assert!(rest.succeeded(), "{sent:?}: {rest:?}");
        let first = Answer {
            code: 200,
            body: list.clone(),
        };
        let (first, rest) = (names(&first), names(&rest));
        assert!(first.is_disjoint(&rest), "{sent:?}: {first:?}, then {rest:?}");
    }
}

fn write(server: &Server, sent: Sent<'_>, query: &str, collection: &str) {
    let state = || server.get(collection).body["items"].clone();
    let before = state();
    let Some(answer) = server.try_send(sent) else {
        return;
    };
    if state() == before {
        return;
    }
    assert!(answer.succeeded(), "{sent:?}: {answer:?}");
    let dry = query.split('&').next() == Some("dryRun=All");
    assert!(!dry, "{sent:?}: {answer:?}");
    for object in OBJECTS.iter().filter(|object| object.collection == collection) {
        server.restore(object);
    }
}
