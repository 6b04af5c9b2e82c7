//! Static types, and the shapes that function signatures are written in.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::value::Val;

/// The kinds of values; what `type(x)` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    List,
    Map,
    Timestamp,
    Duration,
    Type,
    Optional,
    Quantity,
    Semver,
    Url,
    Ip,
    Cidr,
    Format,
}

impl Kind {
    const ALL: [Kind; 19] = [
        Kind::Null,
        Kind::Bool,
        Kind::Int,
        Kind::Uint,
        Kind::Double,
        Kind::String,
        Kind::Bytes,
        Kind::List,
        Kind::Map,
        Kind::Timestamp,
        Kind::Duration,
        Kind::Type,
        Kind::Optional,
        Kind::Quantity,
        Kind::Semver,
        Kind::Url,
        Kind::Ip,
        Kind::Cidr,
        Kind::Format,
    ];

    pub(crate) fn of(value: &Val) -> Kind {
        match value {
            Val::Null => Kind::Null,
            Val::Bool(_) => Kind::Bool,
            Val::Int(_) => Kind::Int,
            Val::Uint(_) => Kind::Uint,
            Val::Double(_) => Kind::Double,
            Val::String(_) => Kind::String,
            Val::Bytes(_) => Kind::Bytes,
            Val::List(_) => Kind::List,
            Val::Map(_) => Kind::Map,
            Val::Timestamp(_) => Kind::Timestamp,
            Val::Duration(_) => Kind::Duration,
            Val::Type(_) => Kind::Type,
            Val::Optional(_) => Kind::Optional,
            Val::Quantity(_) => Kind::Quantity,
            Val::Semver(_) => Kind::Semver,
            Val::Url(_) => Kind::Url,
            Val::Ip(_) => Kind::Ip,
            Val::Cidr(_) => Kind::Cidr,
            Val::Format(_) => Kind::Format,
        }
    }

    /// The name the type has in expressions and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Null => "null_type",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Uint => "uint",
            Kind::Double => "double",
            Kind::String => "string",
            Kind::Bytes => "bytes",
            Kind::List => "list",
            Kind::Map => "map",
            Kind::Timestamp => "google.protobuf.Timestamp",
            Kind::Duration => "google.protobuf.Duration",
            Kind::Type => "type",
            Kind::Optional => "optional_type",
            Kind::Quantity => "kubernetes.Quantity",
            Kind::Semver => "kubernetes.Semver",
            Kind::Url => "kubernetes.URL",
            Kind::Ip => "net.IP",
            Kind::Cidr => "net.CIDR",
            Kind::Format => "kubernetes.NamedFormat",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What is known about a value before evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Anything; every check is left to run time.
    Dyn,
    Known(Kind),
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    /// A map at run time of which only these fields are known, each of its own type.
    Object(Arc<BTreeMap<Arc<str>, Type>>),
    Optional(Arc<Type>),
}

impl Type {
    pub(crate) fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    pub(crate) fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(inner: Type) -> Type {
        Type::Optional(Arc::new(inner))
    }

    /// The common type of two values that must agree, or `None` when they cannot.
    pub(crate) fn unify(&self, other: &Type) -> Option<Type> {
        match (self, other) {
            (Type::Dyn, _) | (_, Type::Dyn) => Some(Type::Dyn),
            (Type::Known(left), Type::Known(right)) => (left == right).then(|| self.clone()),
            (Type::List(left), Type::List(right)) => Some(Type::list(left.unify(right)?)),
            (Type::Optional(left), Type::Optional(right)) => Some(Type::optional(left.unify(right)?)),
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                Some(Type::map(key.unify(other_key)?, value.unify(other_value)?))
            }
            (Type::Object(left), Type::Object(right)) => {
                (Arc::ptr_eq(left, right) || left == right).then(|| self.clone())
            }
            // An object may be compared with null; that it never is one is known only to its writer.
            (Type::Object(_), Type::Known(Kind::Null)) => Some(self.clone()),
            (Type::Known(Kind::Null), Type::Object(_)) => Some(other.clone()),
            _ => None,
        }
    }

    /// The common type of elements that need not agree.
    pub(crate) fn join(self, other: &Type) -> Type {
        self.unify(other).unwrap_or(Type::Dyn)
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Known(kind) => f.write_str(kind.name()),
            Type::List(element) => write!(f, "list({element})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Object(_) => f.write_str("object"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
        }
    }
}

/// A parameter or result in a signature. `A` and `B` stand for one type each within a signature.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Any,
    A,
    B,
    Is(Kind),
    List(&'static Shape),
    Map(&'static Shape, &'static Shape),
    Optional(&'static Shape),
}

impl Shape {
    /// Whether a run-time value fits; only the outermost level is looked at.
    #[inline]
    pub(crate) fn accepts(&self, value: &Val) -> bool {
        match self {
            Shape::Any | Shape::A | Shape::B => true,
            Shape::Is(kind) => Kind::of(value) == *kind,
            Shape::List(_) => matches!(value, Val::List(_)),
            Shape::Map(..) => matches!(value, Val::Map(_)),
            Shape::Optional(_) => matches!(value, Val::Optional(_)),
        }
    }
}

/// The types that `A` and `B` were found to stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    a: Option<Type>,
    b: Option<Type>,
}

impl Bindings {
    /// Whether an argument of this type may be passed for this parameter.
    pub(crate) fn accept(&mut self, parameter: &Shape, argument: &Type) -> bool {
        match (parameter, argument) {
            (Shape::Any, _) => true,
            (Shape::A, _) => bind(&mut self.a, argument),
            (Shape::B, _) => bind(&mut self.b, argument),
            (_, Type::Dyn) => true,
            (Shape::Is(kind), Type::Known(known)) => kind == known,
            (Shape::List(element), Type::List(argument)) => self.accept(element, argument),
            (Shape::Optional(inner), Type::Optional(argument)) => self.accept(inner, argument),
            (Shape::Map(key, value), Type::Map(argument_key, argument_value)) => {
                self.accept(key, argument_key) && self.accept(value, argument_value)
            }
            _ => false,
        }
    }

    /// The result type once all arguments were accepted.
    pub(crate) fn instantiate(&self, shape: &Shape) -> Type {
        match shape {
            Shape::Any => Type::Dyn,
            Shape::A => self.a.clone().unwrap_or(Type::Dyn),
            Shape::B => self.b.clone().unwrap_or(Type::Dyn),
            Shape::Is(kind) => Type::Known(*kind),
            Shape::List(element) => Type::list(self.instantiate(element)),
            Shape::Map(key, value) => Type::map(self.instantiate(key), self.instantiate(value)),
            Shape::Optional(inner) => Type::optional(self.instantiate(inner)),
        }
    }
}

fn bind(slot: &mut Option<Type>, argument: &Type) -> bool {
    let unified = match slot {
        None => Some(argument.clone()),
        Some(bound) => bound.unify(argument),
    };
    let fits = unified.is_some();
    if fits {
        *slot = unified;
    }
    fits
}
