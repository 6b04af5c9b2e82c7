//! What an expression may name: variables with their types, and libraries.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::scope::Scope;
use crate::types::{Kind, Type};

/// The type of a variable, or of what an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueType(pub(crate) Type);

impl ValueType {
    /// Anything; checked while evaluating.
    pub const DYN: ValueType = ValueType(Type::Dyn);
    /// `bool`
    pub const BOOL: ValueType = ValueType(Type::Known(Kind::Bool));
    /// `int`
    pub const INT: ValueType = ValueType(Type::Known(Kind::Int));
    /// `double`
    pub const DOUBLE: ValueType = ValueType(Type::Known(Kind::Double));
    /// `string`
    pub const STRING: ValueType = ValueType(Type::Known(Kind::String));
    /// `bytes`
    pub const BYTES: ValueType = ValueType(Type::Known(Kind::Bytes));
    /// `timestamp`
    pub const TIMESTAMP: ValueType = ValueType(Type::Known(Kind::Timestamp));
    /// `duration`
    pub const DURATION: ValueType = ValueType(Type::Known(Kind::Duration));

    /// A list of such elements.
    pub fn list(element: ValueType) -> ValueType {
        ValueType(Type::list(element.0))
    }

    /// A map from strings to such values.
    pub fn map(value: ValueType) -> ValueType {
        ValueType(Type::map(Type::Known(Kind::String), value.0))
    }

    /// An object with these fields and no others. Its value is a [`Value::map`](crate::Value::map).
    pub fn object(fields: impl IntoIterator<Item = (Arc<str>, ValueType)>) -> ValueType {
        let fields = fields.into_iter().map(|(name, field)| (name, field.0));
        ValueType(Type::Object(Arc::new(fields.collect::<BTreeMap<_, _>>())))
    }

    /// An optional value of this type.
    pub fn optional(self) -> ValueType {
        ValueType(Type::optional(self.0))
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What an expression may name.
#[derive(Clone, Debug)]
pub struct Environment {
    pub(crate) variables: Vec<(String, Type)>,
    pub(crate) scope: Scope,
}

impl Environment {
    /// The environment of Kubernetes validation rules: its libraries and no variables yet. Literals of lists and maps
    /// must agree in their types there.
    pub fn rules() -> Environment {
        Environment {
            variables: Vec::new(),
            scope: Scope::Rules,
        }
    }

    /// The environment of the condition rules of works: that of validation rules, and `hasConditions`.
    pub fn condition_rules() -> Environment {
        Environment {
            variables: Vec::new(),
            scope: Scope::Conditions,
        }
    }

    /// Adds a variable. Programs are given values in the order of these calls.
    #[must_use]
    pub fn variable(mut self, name: &str, known: ValueType) -> Environment {
        self.variables.push((name.to_owned(), known.0));
        self
    }

    /// The environment of cluster selectors.
    pub(crate) fn selectors() -> &'static Environment {
        static SELECTORS: LazyLock<Environment> = LazyLock::new(|| Environment {
            variables: vec![(
                "managedCluster".to_owned(),
                Type::map(Type::Known(Kind::String), Type::Dyn),
            )],
            scope: Scope::Selectors,
        });
        &SELECTORS
    }
}
