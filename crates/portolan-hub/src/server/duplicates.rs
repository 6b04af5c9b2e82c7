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
        path: &mut Vec::new(),
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
    /// The way to the value. It is text only where a field is given twice: a text for each value would take the product of the
    /// length of the names and the number of the values.
    path: &'a mut Vec<Step>,
    found: &'a mut Vec<String>,
}

enum Step {
    Field(String),
    Item(usize),
}

/// The way as text, `spec.list[1].x`, cut if it is long.
fn text(path: &[Step]) -> String {
    const LONGEST: usize = 1 << 10;
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text.push_str(name),
            Step::Field(name) => text.extend([".", name]),
            Step::Item(at) => text.push_str(&format!("[{at}]")),
        }
        if text.len() > LONGEST {
            let cut: String = text.chars().take(LONGEST).collect();
            return format!("{cut}…");
        }
    }
    text
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
            self.path.push(Step::Field(key.clone()));
            if !seen.insert(key) && self.found.len() < MOST {
                self.found.push(text(self.path));
            }
            map.next_value_seed(Walk {
                path: self.path,
                found: self.found,
            })?;
            self.path.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for at in 0.. {
            self.path.push(Step::Item(at));
            let next = list.next_element_seed(Walk {
                path: self.path,
                found: self.found,
            })?;
            self.path.pop();
            if next.is_none() {
                break;
            }
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

    /// A path for each value takes minutes here and copies tens of gigabytes.
    #[test]
    fn long_names_and_many_values_are_searched_without_a_path_for_each() {
        let (name, values) = ("k".repeat(200_000), vec!["1"; 200_000].join(","));
        let text = format!(r#"{{"a": 1, "a": 1, "{name}": [{values}], "{name}": 2}}"#);
        let found = duplicates(text.as_bytes());
        assert_eq!(found.len(), 2);
        assert!(found[0] == "a" && found[1].len() < 2_000 && found[1].ends_with("k…"));
    }

    #[test]
    fn fields_given_twice_are_named() {
        let text = br#"{"a": 1, "a": 2, "spec": {"list": [{"x": 1}, {"x": 1, "x": null}]}, "b": [true, 1.5, -1, "s"]}"#;
        assert_eq!(duplicates(text), ["a", "spec.list[1].x"]);
        assert_eq!(duplicates(br#"{"a": 1, "\u0061": 2}"#), ["a"]);
        assert!(duplicates(b"{").is_empty());
        assert!(duplicates(br#"{"a": {"a": [{"a": null}, {"a": 0.5}]}, "b": "a"}"#).is_empty());
    }
}
