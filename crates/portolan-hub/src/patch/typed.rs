//! How values merge: the schema as strategic merge and server-side apply see it.

use std::borrow::Cow;

use serde_json::Value;

/// The name of a field that identifies the elements of a keyed list.
pub(crate) type Key = Cow<'static, str>;

/// How the value at one place of an object merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// A string, number, boolean or int-or-string: owned as one.
    Scalar,
    /// An object whose fields have owners of their own; both structs and maps.
    Granular,
    /// An object owned and replaced as one (`x-kubernetes-map-type: atomic`).
    AtomicMap,
    /// A list owned and replaced as one (the default, or `x-kubernetes-list-type: atomic`).
    AtomicList,
    /// A list of distinct scalars, each with owners of its own (`x-kubernetes-list-type: set`).
    Set,
    /// A list of objects identified by these fields (`x-kubernetes-list-type: map`).
    KeyedList(&'a [Key]),
    /// No schema: objects are granular, lists atomic, whatever else a scalar.
    Deduced,
}

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarType {
    Boolean,
    Numeric,
    Text,
}

/// A read-only view of a schema node. Custom resources implement it from their structural schema, built-in kinds from
/// the table in `builtin`. Shared between the requests of a server, hence the bounds.
pub(crate) trait Typed: Send + Sync {
    /// How values here merge.
    fn kind(&self) -> Kind<'_>;

    /// The type of a declared field of an object. `None` for the keys of a map and for undeclared fields.
    fn field(&self, name: &str) -> Option<&dyn Typed>;

    /// The type of list elements, of map values and (where unknown fields are preserved) of undeclared fields.
    /// `None` for objects that allow declared fields only: a configuration naming another is refused.
    fn element(&self) -> Option<&dyn Typed>;

    /// Which values a scalar can be; `None` if any.
    fn scalar(&self) -> Option<ScalarType> {
        None
    }

    /// The default of this field, consulted when a keyed list's element leaves a key out.
    fn default(&self) -> Option<&Value> {
        None
    }

    /// Only asked of the root: parts that an object of this kind always has, whether or not anybody wrote them.
    /// No manager owns their mere existence.
    fn skeleton(&self) -> Option<Value> {
        None
    }

    /// Only asked of the root: whether this apiVersion is still served. Managers that wrote in one that is not are
    /// forgotten, since their field sets can no longer be interpreted.
    fn serves(&self, _api_version: &str) -> bool {
        true
    }
}

/// The type of values without a schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deduced;

/// The one instance needed where a `&dyn Typed` is.
pub(crate) static DEDUCED: Deduced = Deduced;

impl Typed for Deduced {
    fn kind(&self) -> Kind<'_> {
        Kind::Deduced
    }

    fn field(&self, _name: &str) -> Option<&dyn Typed> {
        None
    }

    fn element(&self) -> Option<&dyn Typed> {
        Some(&DEDUCED)
    }
}

/// The type of an object's field: declared, or that of a map's values, or deduced. Lenient, because stored objects
/// may carry what an older schema allowed.
pub(super) fn child<'a>(typed: &'a dyn Typed, name: &str) -> &'a dyn Typed {
    typed.field(name).or_else(|| typed.element()).unwrap_or(&DEDUCED)
}

/// The type of a list's elements.
pub(super) fn item(typed: &dyn Typed) -> &dyn Typed {
    typed.element().unwrap_or(&DEDUCED)
}
