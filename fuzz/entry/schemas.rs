//! Definitions of kinds. The first line is the schema of `spec`, each further line the `spec` of an object.

use serde_json::Value;

use super::hub::{Answer, DEFINITIONS, JSON, MERGE, Server};

const OBJECTS: &str = "/apis/fuzz.example.com/v1/namespaces/default/fuzzes";
const MOST_OBJECTS: usize = 4;

/// A definition that is taken can be written again, its objects can be read, shown and written again, and it goes when it is deleted.
pub fn crd_schemas(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.lines();
    let schema = lines.next().unwrap_or_default();
    let definition = format!(
        r#"{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {{"name": "fuzzes.fuzz.example.com"}},
        "spec": {{"group": "fuzz.example.com", "scope": "Namespaced",
        "names": {{"kind": "Fuzz", "plural": "fuzzes", "singular": "fuzz", "listKind": "FuzzList"}},
        "versions": [{{"name": "v1", "served": true, "storage": true, "subresources": {{"status": {{}}}},
        "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{"spec": {schema}}}}}}}}}]}}}}"#
    );
    Server::with_empty(|server| {
        let made = server.send("POST", DEFINITIONS, JSON, definition.as_bytes());
        if !made.succeeded() {
            return;
        }
        let name = made.body.pointer("/metadata/name").and_then(Value::as_str);
        let path = format!("{DEFINITIONS}/{}", name.expect("a definition has a name"));
        written_again(server, &path, &definition);
        // A rule about the old value may refuse an object that has not changed.
        let compares = made.body.to_string().contains("oldSelf");
        for object in lines.take(MOST_OBJECTS) {
            write(server, object, compares);
        }
        server.check_well(OBJECTS);
        let described = server.get("/openapi/v3/apis/fuzz.example.com/v1");
        assert!(described.succeeded(), "{schema}: {described:?}");
        server.send("DELETE", &path, JSON, b"");
        server.wait_until_gone(&path);
    });
}

fn write(server: &Server, spec: &str, compares: bool) {
    let object = format!(
        r#"{{"apiVersion": "fuzz.example.com/v1", "kind": "Fuzz", "metadata": {{"generateName": "one-"}}, "spec": {spec}}}"#
    );
    let made = server.send("POST", OBJECTS, JSON, object.as_bytes());
    if !made.succeeded() {
        return;
    }
    let name = made.body.pointer("/metadata/name").and_then(Value::as_str);
    let path = format!("{OBJECTS}/{}", name.expect("an object has a name"));
    assert_eq!(server.get(&path).body, made.body, "{object}");
    if compares {
        server.send("PUT", &path, JSON, made.body.to_string().as_bytes());
        return;
    }
    let read = written_again(server, &path, &object);
    let patched = server.send("PATCH", &path, MERGE, b"{}");
    assert_eq!(
        patched.version(),
        read.version(),
        "{object}: patched with nothing: {patched:?}"
    );
}

/// The object at a path, which can be written unchanged.
fn written_again(server: &Server, path: &str, text: &str) -> Answer {
    let read = server.get(path);
    let put = server.send("PUT", path, JSON, read.body.to_string().as_bytes());
    assert_eq!(
        put.code, 200,
        "{text}: what came of it cannot be written: {put:?}"
    );
    assert_eq!(
        put.version(),
        read.version(),
        "{text}: written unchanged: {put:?}"
    );
    read
}
