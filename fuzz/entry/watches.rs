//! Parameters of watches. The first byte chooses what is watched, the second one the form of the answer, the rest is the
//! query. `NOW` in it stands for the version of the collection, `OLD` for an earlier and `NEXT` for a later one.

use serde_json::Value;

use super::choose;
use super::hub::{JSON, Sent, Server};
use super::hub_objects::{CONFIG_MAPS, OBJECTS, WIDGETS};

const PLACES: &[&str] = &[
    CONFIG_MAPS,
    "/api/v1/configmaps",
    "/api/v1/namespaces/default/configmaps/new",
    "/api/v1/watch/namespaces/default/configmaps",
    WIDGETS,
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/api/v1/namespaces/absent/configmaps",
];
const FORMS: &[&str] = &[
    JSON,
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
];

/// A watch is refused in words, or is a stream of events whose versions never go back and which ends with at most one error.
pub fn watches(data: &[u8]) {
    let [place, form, query @ ..] = data else {
        return;
    };
    let Ok(query) = std::str::from_utf8(query) else {
        return;
    };
    let (place, form) = (*choose(PLACES, *place), *choose(FORMS, *form));
    Server::with(|server| {
        let now: u64 = server.get(CONFIG_MAPS).version().parse().expect("a version");
        let replaced = query
            .replace("NOW", &now.to_string())
            .replace("OLD", &now.saturating_sub(3).to_string())
            .replace("NEXT", &(now + 1).to_string());
        let path = format!("{place}?watch=true&{replaced}");
        let sent = Sent {
            method: "GET",
            path: &path,
            content: JSON,
            body: b"",
        };
        let Some(Ok(lines)) = server.watch(sent, form, || change(server)) else {
            return;
        };
        check(&lines, form, sent);
        let told = |kind: &str| {
            let is_new = |line: &&Value| {
                line.pointer("/object/metadata/name")
                    .is_some_and(|name| name == "new")
            };
            lines.iter().filter(is_new).any(|line| line["type"] == kind)
        };
        let asks = |words: &[&str]| words.iter().any(|word| query.contains(word));
        let here = form == JSON && place.contains("configmaps") && !place.contains("absent");
        if here && !asks(&["%", "elector", "ersion"]) {
            assert!(told("ADDED") && told("DELETED"), "{sent:?}: {lines:?}");
        }
    });
}

/// Something happens meanwhile.
fn change(server: &Server) {
    let new = br#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "labels": {"app": "web"}}}"#;
    let made = server.send("POST", CONFIG_MAPS, JSON, new);
    assert_eq!(made.code, 201, "{made:?}");
    let widget = OBJECTS.iter().find(|object| object.collection == WIDGETS);
    server.restore(widget.expect("a widget"));
    let gone = server.send("DELETE", &format!("{CONFIG_MAPS}/new"), JSON, b"");
    assert_eq!(gone.code, 200, "{gone:?}");
}

fn check(lines: &[Value], form: &str, sent: Sent<'_>) {
    let mut reached = 0;
    for (at, line) in lines.iter().enumerate() {
        let kind = line["type"].as_str().unwrap_or_default();
        let object = &line["object"];
        match kind {
            "ERROR" => {
                assert_eq!(at + 1, lines.len(), "{sent:?}: something follows {line}");
                assert_eq!(
                    (&object["kind"], &object["code"]),
                    (&"Status".into(), &410.into()),
                    "{sent:?}: {line}"
                );
                assert!(
                    object["message"].as_str().is_some_and(|text| !text.is_empty()),
                    "{sent:?}: {line}"
                );
            }
            "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" => {
                assert!(
                    object["kind"].is_string() && object["apiVersion"].is_string(),
                    "{sent:?}: {line}"
                );
                let version = object
                    .pointer("/metadata/resourceVersion")
                    .and_then(Value::as_str);
                let version = version.and_then(|text| text.parse::<u64>().ok());
                if form != JSON || kind == "ADDED" {
                    continue;
                }
                let version = version.unwrap_or_else(|| panic!("{sent:?}: {line} has no version"));
                assert!(reached <= version, "{sent:?}: {version} after {reached}");
                reached = version;
            }
            _ => panic!("{sent:?}: {line}"),
        }
    }
}
