//! The built-in kinds as merge rules: one table for strategic merge patch and for server-side apply.

mod rules;
mod workloads;

use serde_json::Value;

use super::typed::{Deduced, Key, Kind, Typed};

pub(crate) use rules::{kind, object, object_meta};

/// How strategic merge patch treats a field. Kept apart from [`Shape`], because Kubernetes' own answers differ: the
/// ports of a Service merge by `port` here and by `port` and `protocol` in an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Objects merge field by field, lists are replaced.
    Default,
    /// A list of scalars: the patch adds.
    Merge,
    /// A list of objects: elements with the same value of this field merge.
    MergeBy(&'static str),
}

/// How server-side apply treats a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object with the listed fields and possibly more.
    Struct,
    /// An object of freely named values.
    Map,
    /// Owned as one, object or list.
    Atomic,
    /// A list of distinct scalars.
    Set,
    /// A list of objects identified by these fields.
    Keyed(&'static [Key]),
    /// Not listed in the table: objects are structs, lists atomic.
    Unlisted,
}

/// One field of a built-in kind, or the kind itself.
#[derive(Debug)]
pub(crate) struct Field {
    name: &'static str,
    shape: Shape,
    strategy: Strategy,
    fields: &'static [Field],
    element: Option<&'static Field>,
    skeleton: Option<&'static str>,
}

/// What a struct's field is when the table does not list it. Most fields need no rule.
pub(super) static UNLISTED: Field = Field::new("", Shape::Unlisted);

/// Values of maps.
static VALUE: Field = Field::new("", Shape::Atomic);

/// `protocol` is a key of port lists and the only key that has a default.
static TCP: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| Value::from("TCP"));

impl Field {
    const fn new(name: &'static str, shape: Shape) -> Self {
        Self {
            name,
            shape,
            strategy: Strategy::Default,
            fields: &[],
            element: None,
            skeleton: None,
        }
    }

    const fn structure(name: &'static str, fields: &'static [Field]) -> Self {
        Self {
            fields,
            ..Self::new(name, Shape::Struct)
        }
    }

    const fn map(name: &'static str) -> Self {
        Self::new(name, Shape::Map)
    }

    const fn atomic(name: &'static str) -> Self {
        Self::new(name, Shape::Atomic)
    }

    const fn set(name: &'static str) -> Self {
        Self::new(name, Shape::Set)
    }

    const fn keyed(name: &'static str, keys: &'static [Key], element: &'static Field) -> Self {
        Self {
            element: Some(element),
            ..Self::new(name, Shape::Keyed(keys))
        }
    }

    const fn merge(self) -> Self {
        Self {
            strategy: Strategy::Merge,
            ..self
        }
    }

    const fn merge_by(self, key: &'static str) -> Self {
        Self {
            strategy: Strategy::MergeBy(key),
            ..self
        }
    }

    const fn element_of(self, element: &'static Field) -> Self {
        Self {
            element: Some(element),
            ..self
        }
    }

    const fn with_skeleton(self, json: &'static str) -> Self {
        Self {
            skeleton: Some(json),
            ..self
        }
    }

    /// How strategic merge patch treats this field.
    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The rule of a field of this object; list elements of this list answer through [`Field::items`].
    pub(crate) fn member(&self, name: &str) -> &'static Field {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .unwrap_or(&UNLISTED)
    }

    /// The fields of this object that have a rule, with their names.
    #[cfg(test)]
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'static str, &'static Field)> {
        self.fields.iter().map(|field| (field.name, field))
    }

    /// The rule of this list's elements.
    pub(crate) fn items(&self) -> &'static Field {
        self.element.unwrap_or(&UNLISTED)
    }
}

impl Typed for Field {
    fn kind(&self) -> Kind<'_> {
        match self.shape {
            Shape::Struct | Shape::Map => Kind::Granular,
            Shape::Atomic => Kind::AtomicMap,
            Shape::Set => Kind::Set,
            Shape::Keyed(keys) => Kind::KeyedList(keys),
            Shape::Unlisted => Kind::Deduced,
        }
    }

    fn field(&self, name: &str) -> Option<&dyn Typed> {
        match self.shape {
            Shape::Struct | Shape::Unlisted => Some(self.member(name)),
            _ => None,
        }
    }

    fn element(&self) -> Option<&dyn Typed> {
        match self.shape {
            Shape::Map => Some(&VALUE),
            Shape::Keyed(_) => Some(self.items()),
            _ => Some(&Deduced),
        }
    }

    fn default(&self) -> Option<&Value> {
        (self.name == "protocol").then(|| &*TCP)
    }

    fn skeleton(&self) -> Option<Value> {
        // The table is ours and a test parses every entry, so a failure cannot reach a request.
        self.skeleton.and_then(|json| serde_json::from_str(json).ok())
    }
}
