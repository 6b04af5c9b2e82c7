//! Label and field selectors: of placements as JSON, and of requests as text. The first line of the text is the label
//! selector, the second one the field selector.

use std::collections::BTreeSet;

use serde_json::Value;

use super::engine;
use super::hub::{Answer, JSON, Sent, Server};
use super::hub_objects::{CONFIG_MAPS, WIDGETS};

const COLLECTIONS: &[&str] = &[CONFIG_MAPS, WIDGETS, "/api/v1/namespaces"];

/// A list, a watch and a deletion of a collection select the same objects, or say why they select none.
pub fn selectors(data: &[u8]) {
    engine::expressions(data);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (labels, fields) = text.split_once('\n').unwrap_or((text, ""));
    let query = format!(
        "labelSelector={}&fieldSelector={}",
        encoded(labels),
        encoded(fields)
    );
    Server::with(|server| {
        for collection in COLLECTIONS {
            select(server, collection, &query);
        }
    });
}

fn select(server: &Server, collection: &str, query: &str) {
    let selected = server.get(&format!("{collection}?{query}"));
    let path = format!("{collection}?{query}&watch=true&timeoutSeconds=1");
    let sent = Sent {
        method: "GET",
        path: &path,
        content: JSON,
        body: b"",
    };
    let watched = server.watch(sent, JSON, || {}).expect("a valid path");
    match watched {
        Err(refusal) => assert_eq!(refusal, selected, "{sent:?}"),
        Ok(lines) => {
            let of_watch: BTreeSet<String> = lines.iter().map(|line| name(&line["object"])).collect();
            assert_eq!(of_watch, names(&selected), "{sent:?}");
            let all = names(&server.get(collection));
            assert!(of_watch.is_subset(&all), "{sent:?}: {of_watch:?}");
        }
    }
    if collection != "/api/v1/namespaces" {
        let deleted = server.send("DELETE", &format!("{collection}?{query}&dryRun=All"), JSON, b"");
        assert_eq!(names(&deleted), names(&selected), "{sent:?}");
    }
}

/// The names of a list's objects.
pub(super) fn names(list: &Answer) -> BTreeSet<String> {
    let items = list.body["items"].as_array();
    items.into_iter().flatten().map(name).collect()
}

fn name(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// Percent-encoded, so that any text can be in a URL.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes()
        .map(|byte| match plain(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
