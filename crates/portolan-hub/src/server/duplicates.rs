//! Finds fields that a JSON body gives twice. Parsing keeps the last of them and would not tell.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// More than this are not listed; nobody reads them.
const MOST: usize = 100;

/// The paths of fields that occur more than once in one object. Empty for text that is no JSON.
pub(super) fn duplicates(text: &[u8]) -> Vec<String> {
    // Nearly no body has any, and that can be told without making paths.
    if serde_json::from_slice::<Unique>(text).is_ok() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut parser = serde_json::Deserializer::from_slice(text);
    // What does not parse is refused elsewhere.
    let _ = Walk {
        path: String::new(),
        found: &mut found,
    }
    .deserialize(&mut parser);
    found
}

/// JSON of which no object has a field twice. Reading anything else fails.
struct Unique;

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unique)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut seen: Vec<Cow<'de, str>> = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            map.next_value::<Unique>()?;
            seen.push(name);
        }
        seen.sort_unstable();
        match seen.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(A::Error::custom("a field is given twice")),
            false => Ok(Unique),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        while list.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }
}

struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() {
                key.clone()
            } else {
                format!("{}.{key}", self.path)
            };
            if !seen.insert(key) && self.found.len() < MOST {
                self.found.push(path.clone());
            }
            map.next_value_seed(Walk {
                path,
                found: self.found,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut at = 0_usize;
        while list
            .next_element_seed(Walk {
                path: format!("{}[{at}]", self.path),
                found: self.found,
            })?
            .is_some()
        {
            at += 1;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(IgnoredAny).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_given_twice_are_named() {
        let text = br#"{"a": 1, "a": 2, "spec": {"list": [{"x": 1}, {"x": 1, "x": null}]}, "b": [true, 1.5, -1, "s"]}"#;
        assert_eq!(duplicates(text), ["a", "spec.list[1].x"]);
        assert_eq!(duplicates(br#"{"a": 1, "\u0061": 2}"#), ["a"]);
        assert!(duplicates(b"{").is_empty());
        assert!(duplicates(br#"{"a": {"a": [{"a": null}, {"a": 0.5}]}, "b": "a"}"#).is_empty());
    }
}
