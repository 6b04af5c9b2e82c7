//! Decodes an object of a list or a watch by itself: an object that cannot be decoded is unknown, not absent.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::late_times;
use super::trimmed::Trimmed;
use super::words::in_words;

/// Characters of a problem: an error may quote a value of a megabyte.
const PROBLEM: usize = 240;

/// An object of kind `K` without its `managedFields`, or what can be said about one that cannot be read.
#[derive(Clone, Debug)]
pub enum Received<K> {
    /// The object.
    Readable(K),
    /// The object is there and cannot be read.
    Unreadable(Box<Unreadable>),
}

/// An object that a server has and that cannot be read as what its kind says it is. It is unknown, not absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable {
    /// Of the object, as far as it can be read; without `managedFields` and owners.
    pub metadata: ObjectMeta,
    /// The field that cannot be read: `status.conditions[0].observedGeneration`; empty if there is no such field.
    pub field: String,
    /// Why it cannot be read.
    pub problem: String,
}

impl Unreadable {
    /// Namespace and name, or the name alone.
    pub fn place(&self) -> String {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        match self.metadata.namespace.as_deref() {
            None | Some("") => name.to_owned(),
            Some(namespace) => format!("{namespace}/{name}"),
        }
    }
}

/// `status.validUntil: year 10000 is out of range`.
impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => formatter.write_str(&self.problem),
            field => write!(formatter, "{field}: {}", self.problem),
        }
    }
}

impl<K: DeserializeOwned + 'static> Received<K> {
    /// Reads one object from its text.
    pub fn read(text: &str) -> Received<K> {
        let error = match serde_json::from_str::<Trimmed<K>>(text) {
            Ok(Trimmed(object)) => return Received::Readable(object),
            Err(error) => error,
        };
        match late_times::shortened(text).and_then(|text| serde_json::from_str::<Trimmed<K>>(&text).ok()) {
            Some(Trimmed(object)) => Received::Readable(object),
            None => Received::Unreadable(Box::new(unreadable::<K>(text, &error))),
        }
    }
}

impl<K> Received<K> {
    /// The object, if it can be read.
    pub fn readable(self) -> Result<K, Box<Unreadable>> {
        match self {
            Received::Readable(object) => Ok(object),
            Received::Unreadable(unreadable) => Err(unreadable),
        }
    }
}

/// Taken as text first, which no depth and no type can spoil. Works with `serde_json` alone, and in an event of a watch
/// only where the type comes before the object, as every Kubernetes server writes it.
impl<'de, K: DeserializeOwned + 'static> Deserialize<'de> for Received<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Received::read(text.get()))
    }
}

/// An object that cannot be read has nothing to be written.
impl<K: Serialize> Serialize for Received<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Received::Readable(object) => object.serialize(serializer),
            Received::Unreadable(unreadable) => Err(serde::ser::Error::custom(unreadable)),
        }
    }
}

impl<K: Resource> Resource for Received<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Received::Readable(object) => object.meta(),
            Received::Unreadable(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Received::Readable(object) => object.meta_mut(),
            Received::Unreadable(unreadable) => &mut unreadable.metadata,
        }
    }
}

/// What can be said of an object that could not be decoded. It is decoded once more to find the field.
fn unreadable<K: DeserializeOwned + 'static>(text: &str, error: &serde_json::Error) -> Unreadable {
    let mut json = serde_json::Deserializer::from_str(text);
    let found: Result<Trimmed<K>, _> = serde_path_to_error::deserialize(&mut json);
    let (field, problem) = match found {
        Ok(_) => (String::new(), error.to_string()),
        Err(error) => {
            let field = error.path().to_string();
            (field, error.into_inner().to_string())
        }
    };
    Unreadable {
        metadata: metadata(text),
        // The path of the object itself is a dot.
        field: shortened(field.trim_matches('.')),
        problem: shortened(&in_words(&without_place(&problem))),
    }
}

/// Line and column count in a text that nobody sees.
fn without_place(problem: &str) -> String {
    match problem.rsplit_once(" at line ") {
        Some((problem, _)) => problem.to_owned(),
        None => problem.to_owned(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(PROBLEM) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The metadata, field by field: each that can be read.
fn metadata(text: &str) -> ObjectMeta {
    let object = fields(text);
    let metadata = object.get("metadata").map(|metadata| fields(metadata.get()));
    let metadata = metadata.unwrap_or_default();
    let text = |field: &str| value::<String>(&metadata, field);
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        labels: value(&metadata, "labels"),
        annotations: value(&metadata, "annotations"),
        generation: value(&metadata, "generation"),
        finalizers: value(&metadata, "finalizers"),
        creation_timestamp: value(&metadata, "creationTimestamp"),
        deletion_timestamp: value(&metadata, "deletionTimestamp"),
        ..ObjectMeta::default()
    }
}

fn fields(text: &str) -> BTreeMap<String, Box<RawValue>> {
    serde_json::from_str(text).unwrap_or_default()
}

fn value<T: DeserializeOwned>(fields: &BTreeMap<String, Box<RawValue>>, field: &str) -> Option<T> {
    serde_json::from_str(fields.get(field)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::ManagedCluster;
    use crate::work::ManifestWork;

    fn cluster(name: &str) -> Value {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {
                "name": name, "uid": "u", "resourceVersion": "7", "labels": { "a": "b" },
                "managedFields": [{ "manager": "x", "fieldsV1": { "f:spec": {} } }],
            },
            "spec": { "hubAcceptsClient": true },
        })
    }

    fn odd(name: &str) -> Value {
        let mut odd = cluster(name);
        odd["status"] = json!({ "conditions": [{
            "type": "X", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1.5,
        }] });
        odd
    }

    fn list(items: &[Value]) -> String {
        json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "9" }, "items": items })
            .to_string()
    }

    #[test]
    fn an_object_that_cannot_be_read_hides_no_other_of_its_list() {
        let text = list(&[cluster("a"), odd("b"), cluster("c")]);
        let list: ObjectList<Received<ManagedCluster>> = serde_json::from_str(&text).unwrap();
        let [a, b, c] = <[_; 3]>::try_from(list.items).unwrap();
        assert_eq!(a.meta().managed_fields, None);
        assert!(matches!((&a, &c), (Received::Readable(_), Received::Readable(_))));
        assert_eq!(b.meta().resource_version.as_deref(), Some("7"));
        let unreadable = b.readable().unwrap_err();
        assert_eq!(unreadable.place(), "b");
        assert_eq!(unreadable.metadata.uid.as_deref(), Some("u"));
        assert_eq!(
            unreadable.to_string(),
            "status.conditions[0].observedGeneration: the value is the number 1.5; accepted: a whole number"
        );
    }

    #[test]
    fn the_last_second_that_kubernetes_stores_spoils_no_object() {
        let mut late = odd("b");
        late["status"]["conditions"][0]["observedGeneration"] = 1.into();
        late["status"]["conditions"][0]["lastTransitionTime"] = "9999-12-31T23:59:59Z".into();
        let cluster = Received::<ManagedCluster>::read(&late.to_string())
            .readable()
            .unwrap();
        let time = cluster.status.unwrap().conditions[0].last_transition_time.0;
        assert_eq!(time.to_string(), "9999-12-30T22:00:00Z");
    }

    #[test]
    fn a_time_that_rust_has_no_room_for_is_named() {
        let mut odd = odd("b");
        odd["status"]["conditions"][0]["observedGeneration"] = 1.into();
        odd["status"]["conditions"][0]["lastTransitionTime"] = "10000-01-01T00:00:00Z".into();
        let unreadable = Received::<ManagedCluster>::read(&odd.to_string())
            .readable()
            .unwrap_err();
        assert_eq!(unreadable.field, "status.conditions[0].lastTransitionTime");
        assert!(!unreadable.problem.is_empty());
    }

    #[test]
    fn depth_spoils_the_one_object_that_has_it() {
        let mut deep = Value::Null;
        for _ in 0..100 {
            deep = json!({ "a": deep });
        }
        let work = |name: &str, value: &str| {
            format!(
                r#"{{"metadata":{{"name":"{name}","resourceVersion":"1"}},"spec":{{"workload":{{"manifests":[{value}]}}}}}}"#
            )
        };
        let bottomless = format!("{}1{}", r#"{"a":"#.repeat(1000), "}".repeat(1000));
        let items = [
            work("deep", &deep.to_string()),
            work("bottomless", &bottomless),
            work("flat", "{}"),
        ];
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"List","metadata":{{}},"items":[{}]}}"#,
            items.join(",")
        );
        let list: ObjectList<Received<ManifestWork>> = serde_json::from_str(&text).unwrap();
        let read: Vec<bool> = list
            .items
            .iter()
            .map(|item| matches!(item, Received::Readable(_)))
            .collect();
        assert_eq!(read, [true, false, true]);
        let event = format!(r#"{{"type":"ADDED","object":{}}}"#, items[1]);
        let event: WatchEvent<Received<ManifestWork>> = serde_json::from_str(&event).unwrap();
        let WatchEvent::Added(Received::Unreadable(unreadable)) = event else {
            panic!("{event:?}");
        };
        assert_eq!(unreadable.place(), "bottomless");
        assert!(
            unreadable.problem.contains("recursion limit exceeded"),
            "{unreadable}"
        );
    }

    #[test]
    fn a_long_value_is_not_repeated_whole() {
        let mut odd = cluster("b");
        odd["spec"]["hubAcceptsClient"] = "x".repeat(1 << 20).into();
        let unreadable = Received::<ManagedCluster>::read(&odd.to_string())
            .readable()
            .unwrap_err();
        assert!(unreadable.to_string().len() < 500);
        assert_eq!(unreadable.field, "spec.hubAcceptsClient");
    }

    #[test]
    fn what_is_no_object_at_all_is_unreadable_too() {
        for text in [
            "3",
            "null",
            "[]",
            r#"{"metadata":3}"#,
            r#"{"metadata":{"name":3,"labels":4}}"#,
        ] {
            let unreadable = Received::<ManagedCluster>::read(text).readable().unwrap_err();
            assert!(!unreadable.problem.is_empty(), "{text}");
        }
    }
}
