//! Objects without their `managedFields`: what every write leaves there is half of what a server sends, and as a tree in
//! memory it takes several times the space of the rest. Of a ManifestWork the time at which its status was last written is
//! kept.
//!
//! Written by hand because it has to happen while the answer is read: kube decodes a whole page of a list before anyone
//! can take a field away.

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::value::CowStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::json;

use crate::work::ManifestWork;

/// An object of kind `K`, read without its `managedFields`.
#[derive(Clone, Debug)]
pub struct Trimmed<K>(pub K);

impl<'de, K: Deserialize<'de> + 'static> Deserialize<'de> for Trimmed<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Trim {
            inner: deserializer,
            level: Level::Object {
                keeps_time: TypeId::of::<K>() == TypeId::of::<ManifestWork>(),
            },
        };
        K::deserialize(object).map(Trimmed)
    }
}

impl<K: Resource> Resource for Trimmed<K> {
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
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// Where in an object we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Object {
        keeps_time: bool,
    },
    Metadata {
        /// Whether to keep when the status was last written: for a ManifestWork, rollouts count from that time.
        keeps_time: bool,
    },
}

/// Passes everything on but the one field. Serves as deserializer, seed, visitor and map, whichever is wrapped.
struct Trim<T> {
    inner: T,
    level: Level,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Trim<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Trim {
            inner: visitor,
            level: self.level,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_option(Trim {
            inner: visitor,
            level: self.level,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Trim<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Trim {
            inner: deserializer,
            level: self.level,
        })
    }
}

/// Objects are maps; anything else is passed on for the kind to refuse.
impl<'de, V: Visitor<'de>> Visitor<'de> for Trim<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(TrimMap {
            map,
            level: self.level,
            in_metadata: None,
            times: None,
        })
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Trim {
            inner: deserializer,
            level: self.level,
        })
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.inner.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.inner.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.inner.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.inner.visit_str(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(sequence)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }
}

/// What is read of an entry of `managedFields`.
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    subresource: String,
    time: Option<String>,
}

/// The newest entry of the status, with nothing but its time.
fn newest(entries: Vec<Entry>) -> serde_json::Value {
    let status = entries.into_iter().filter(|entry| entry.subresource == "status");
    // Times of a server are in one format, so that the order of the texts is theirs.
    match status.filter_map(|entry| entry.time).max() {
        Some(time) => json!([{ "subresource": "status", "time": time }]),
        None => json!([]),
    }
}

struct TrimMap<A> {
    map: A,
    level: Level,
    /// The level of the value to come, if that is the object's metadata.
    in_metadata: Option<Level>,
    /// The value to come, if that is what is left of `managedFields`.
    times: Option<serde_json::Value>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TrimMap<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        loop {
            let Some(Key(key)) = self.map.next_key::<Key<'de>>()? else {
                return Ok(None);
            };
            self.in_metadata = None;
            match self.level {
                Level::Metadata { keeps_time } if key == "managedFields" => {
                    if !keeps_time {
                        self.map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let entries = self.map.next_value::<Option<Vec<Entry>>>()?;
                    self.times = Some(newest(entries.unwrap_or_default()));
                }
                Level::Object { keeps_time } if key == "metadata" => {
                    self.in_metadata = Some(Level::Metadata { keeps_time });
                }
                _ => {}
            }
            let key: CowStrDeserializer<'_, A::Error> = key.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if let Some(times) = self.times.take() {
            return seed.deserialize(times).map_err(A::Error::custom);
        }
        match self.in_metadata.take() {
            Some(level) => self.map.next_value_seed(Trim { inner: seed, level }),
            None => self.map.next_value_seed(seed),
        }
    }
}

/// A key, borrowed from the text where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use crate::cluster::ManagedCluster;
    use serde_json::json;

    use super::*;

    fn cluster() -> serde_json::Value {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {
                "name": "c", "labels": {"managedFields": "a label of that name stays", "metadata": "too"},
                "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}], "generation": 3,
            },
            "spec": {"hubAcceptsClient": true},
            "status": {"clusterClaims": [{"name": "managedFields", "value": "v"}]},
        })
    }

    #[test]
    fn everything_is_read_but_the_managed_fields() {
        let mut whole: ManagedCluster = serde_json::from_value(cluster()).unwrap();
        assert!(whole.metadata.managed_fields.take().is_some());
        let Trimmed(from_value) = serde_json::from_value::<Trimmed<ManagedCluster>>(cluster()).unwrap();
        let text = cluster().to_string();
        let Trimmed(from_text) = serde_json::from_str::<Trimmed<ManagedCluster>>(&text).unwrap();
        let Trimmed(from_reader) =
            serde_json::from_reader::<_, Trimmed<ManagedCluster>>(text.as_bytes()).unwrap();
        assert_eq!([&from_value, &from_text, &from_reader], [&whole; 3]);
    }

    #[test]
    fn what_is_no_object_is_refused_as_the_kind_refuses_it() {
        for text in [
            "3",
            "null",
            "[]",
            r#"{"metadata": 3, "spec": {"hubAcceptsClient": true}}"#,
        ] {
            let lean = serde_json::from_str::<Trimmed<ManagedCluster>>(text)
                .unwrap_err()
                .to_string();
            let plain = serde_json::from_str::<ManagedCluster>(text)
                .unwrap_err()
                .to_string();
            assert_eq!(lean, plain, "{text}");
        }
    }
}
