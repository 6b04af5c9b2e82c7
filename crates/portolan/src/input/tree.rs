//! A document as a JSON value, built with a budget.
//!
//! Aliases make a small YAML text stand for a huge document. The budget grows with the text, so that every document
//! without aliases fits, and one with aliases may be a few times larger than it is written but no more.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What a value costs besides its text.
const NODE: usize = 16;
/// What aliases may add to a document of any size.
const SMALL: usize = 4 << 20;
/// What aliases may add at most.
const LARGE: usize = 256 << 20;

/// What is left to spend on a document.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<usize>,
}

impl Budget {
    /// A budget for a document that is written in so many bytes.
    pub(super) fn for_text(bytes: usize) -> Budget {
        // No value is written in less than a byte.
        let plain = bytes.saturating_mul(NODE + 1);
        Budget {
            left: Cell::new(plain.saturating_add(plain.min(LARGE)).saturating_add(SMALL)),
        }
    }

    /// Builds a value from what a deserializer has to say.
    pub(super) fn read<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<Value, D::Error> {
        Tree(self).deserialize(deserializer)
    }

    fn spend<E: de::Error>(&self, text: usize) -> Result<(), E> {
        match self.left.get().checked_sub(NODE + text) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom(
                "aliases make the document many times larger than it is written",
            )),
        }
    }
}

/// What is said of a key that an object has twice.
pub(super) fn twice(key: &str) -> String {
    let key: String = key.chars().take(64).collect();
    format!("the key {key:?} is there twice")
}

#[derive(Clone, Copy)]
struct Tree<'a>(&'a Budget);

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(value.into())
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.0.spend(0)?;
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        self.0.spend(value.len())?;
        Ok(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        self.0.spend(value.len())?;
        Ok(value.into())
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(Value::Null)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.spend(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.spend(0)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.0.spend(key.len())?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(twice(&key)));
            }
            let value = entries.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
