//! One manifest of a work: the object without the fields that only a server sets.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Fields that a server fills in. In a manifest they were copied from somewhere and mean nothing here.
const SERVERS_OWN: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// An object that a work asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Empty where the manifest names none.
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// What is sent to the member cluster.
    pub(crate) body: Value,
    /// What the work has. Several copies of a manifest share it.
    written: Arc<Value>,
}

/// Why a manifest cannot be applied, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidManifest(pub(crate) String);

impl Manifest {
    /// Reads the manifest, or says which field is wrong.
    pub(crate) fn read(value: &Value) -> Result<Manifest, InvalidManifest> {
        if !value.is_object() {
            return Err(InvalidManifest(
                "the manifest is not an object; accepted: a complete Kubernetes object".to_owned(),
            ));
        }
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let api_version = text("/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let missing = |field: &str, accepted: &str| {
            Err(InvalidManifest(format!(
                "the manifest has no {field}; accepted: {accepted}"
            )))
        };
        if version.is_empty() || version.contains('/') {
            return missing("usable apiVersion", "a version such as v1 or apps/v1");
        }
        if text("/kind").is_empty() {
            return missing("kind", "the kind of the object, such as ConfigMap");
        }
        if text("/metadata/name").is_empty() {
            return match text("/metadata/generateName") {
                "" => missing("metadata.name", "the name of the object"),
                _ => Err(InvalidManifest(
                    "the manifest has a metadata.generateName, by which an object could not be found again; \
                     accepted: metadata.name"
                        .to_owned(),
                )),
            };
        }
        for part in ["/metadata/name", "/metadata/namespace", "/kind", "/apiVersion"] {
            if !is_path_part(text(part), part == "/apiVersion") {
                return Err(InvalidManifest(format!(
                    "the manifest's {} {:?} has a character that cannot be part of a name",
                    part[1..].replace('/', "."),
                    text(part)
                )));
            }
        }
        Ok(Manifest {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text("/kind").to_owned(),
            namespace: text("/metadata/namespace").to_owned(),
            name: text("/metadata/name").to_owned(),
            body: cleaned(value),
            written: Arc::new(value.clone()),
        })
    }

    /// Takes away the namespace of an object whose kind has none.
    pub(crate) fn drop_namespace(&mut self) {
        self.namespace.clear();
        if let Some(metadata) = self.body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("namespace");
        }
    }

    /// What agents hash to know a manifest again: all that is written but for its UID and times that are null.
    pub(crate) fn hashed(&self) -> Value {
        let mut value = Value::clone(&self.written);
        drop_null_times(&mut value);
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("uid");
        }
        value
    }

    /// `apiVersion` as the object has it.
    pub(crate) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// Whether the text can stand in the path of a request. With any other, a request cannot be made, or is one for something else.
fn is_path_part(text: &str, may_have_slash: bool) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    let mut parts = text.split('/');
    text.chars().all(|c| is_usual(c) || may_have_slash && c == '/')
        && parts.all(|part| ![".", ".."].contains(&part))
}

/// The manifest without what only a server can say.
fn cleaned(value: &Value) -> Value {
    let mut body = value.clone();
    if let Some(object) = body.as_object_mut() {
        object.remove("status");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            SERVERS_OWN.iter().for_each(|field| {
                metadata.remove(*field);
            });
        }
        if object.get("apiVersion").is_some_and(|version| version == "v1")
            && object.get("kind").is_some_and(|kind| kind == "Secret")
        {
            fold_string_data(object);
        }
    }
    drop_null_times(&mut body);
    body
}

/// A null `creationTimestamp` in a template is what programs write who know no better, and raises the generation of the object
/// each time that it is applied.
fn drop_null_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
                && metadata.get("creationTimestamp").is_some_and(Value::is_null)
            {
                metadata.remove("creationTimestamp");
            }
            fields.values_mut().for_each(drop_null_times);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_null_times),
        _ => {}
    }
}

/// A server turns `stringData` into `data` and forgets that it was there, so that a key that leaves it would stay for ever.
fn fold_string_data(secret: &mut Map<String, Value>) {
    let texts = match secret.get("stringData") {
        Some(Value::Object(texts)) if texts.values().all(Value::is_string) => texts.clone(),
        // The server says what is wrong with it.
        _ => return,
    };
    if !matches!(secret.get("data"), None | Some(Value::Null | Value::Object(_))) {
        return;
    }
    secret.remove("stringData");
    let data = secret.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = Value::Object(Map::new());
    }
    for (key, text) in texts {
        data[key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_is_read_without_what_only_a_server_can_say() {
        let manifest = Manifest::read(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web", "namespace": "shop", "creationTimestamp": null, "resourceVersion": "7", "uid": "x" },
            "spec": { "replicas": 2 }, "status": { "replicas": 1 },
        }))
        .unwrap();
        assert_eq!(
            (
                manifest.group.as_str(),
                manifest.version.as_str(),
                manifest.api_version().as_str()
            ),
            ("apps", "v1", "apps/v1")
        );
        assert_eq!(
            manifest.body,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": "web", "namespace": "shop" }, "spec": { "replicas": 2 },
            })
        );
    }

    #[test]
    fn the_texts_of_a_secret_are_applied_as_its_data() {
        let secret = |fields: Value| {
            let mut secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } });
            secret
                .as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            Manifest::read(&secret).unwrap().body
        };
        let body = secret(json!({ "data": { "a": "eA==", "b": "eA==" }, "stringData": { "b": "text" } }));
        assert_eq!(body["data"], json!({ "a": "eA==", "b": "dGV4dA==" }));
        assert!(body.get("stringData").is_none());
        let wrong = secret(json!({ "stringData": { "b": 7 } }));
        assert_eq!(
            wrong["stringData"],
            json!({ "b": 7 }),
            "the server says what is wrong"
        );
    }

    #[test]
    fn null_times_are_dropped_at_every_depth() {
        let metadata = json!({ "name": "a", "creationTimestamp": null });
        let manifest = Manifest::read(&json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata,
            "spec": { "template": { "metadata": metadata }, "volumeClaimTemplates": [{ "metadata": metadata }],
                "creationTimestamp": null },
        }))
        .unwrap();
        assert_eq!(
            manifest.body["spec"],
            json!({ "template": { "metadata": { "name": "a" } }, "volumeClaimTemplates": [{ "metadata": { "name": "a" } }],
                "creationTimestamp": null })
        );
    }

    #[test]
    fn what_is_missing_is_named_with_what_would_be_accepted() {
        for (manifest, word) in [
            (json!(3), "not an object"),
            (
                json!({ "kind": "ConfigMap", "metadata": { "name": "a" } }),
                "apiVersion",
            ),
            (json!({ "apiVersion": "v1", "metadata": { "name": "a" } }), "kind"),
            (
                json!({ "apiVersion": "v1", "kind": "ConfigMap" }),
                "metadata.name",
            ),
            (
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" } }),
                "generateName",
            ),
            (
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "../secrets" } }),
                "metadata.name",
            ),
        ] {
            let InvalidManifest(why) = Manifest::read(&manifest).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }
}
