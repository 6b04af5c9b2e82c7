//! One field of a stored object, read without the rest: an object may have tens of thousands of other fields, and a list with a
//! field selector reads every object.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The value at a path of field names, separated by dots. Nothing where a part of the path is missing or no object.
pub(super) fn value_at(text: &[u8], path: &str) -> Option<Value> {
    let parts: Vec<&str> = path.split('.').collect();
    let mut json = serde_json::Deserializer::from_slice(text);
    // A text that is not of this shape has no such field.
    At(&parts).deserialize(&mut json).ok().flatten()
}

/// The parts of a path that are still to be followed.
struct At<'p>(&'p [&'p str]);

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => serde::Deserialize::deserialize(deserializer).map(Some),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Option<Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some((first, rest)) = self.0.split_first() else {
            return Ok(None);
        };
        let mut found = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match key == *first {
                true => found = map.next_value_seed(At(rest))?,
                false => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_what_the_whole_object_has_there() {
        let object = json!({
            "type": "Opaque", "data": {"type": "other", "k\u{e9}": 1},
            "spec": {"nodeName": "n1", "list": [{"nodeName": "n2"}], "empty": null, "deep": {"er": {"still": true}}},
        });
        let text = object.to_string();
        for path in [
            "type",
            "spec.nodeName",
            "spec.empty",
            "spec.deep.er.still",
            "spec.deep",
            "spec.missing",
            "missing.nodeName",
            "spec.list.nodeName",
            "type.name",
            "data.k\u{e9}",
        ] {
            let whole = path.split('.').try_fold(&object, |value, part| value.get(part));
            assert_eq!(value_at(text.as_bytes(), path), whole.cloned(), "{path}");
        }
        assert_eq!(value_at(br#"["a"]"#, "a"), None);
        assert_eq!(value_at(b"{", "a"), None);
    }
}
