//! A violation at one field, worded as Kubernetes words it.

use std::fmt;

use serde_json::Value;

/// What is wrong with which field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldError {
    pub(crate) field: String,
    pub(crate) cause: Cause,
    /// Everything after `field: `.
    pub(crate) message: String,
}

/// The machine-readable reason of a cause in a Status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Required,
    Invalid,
    /// The JSON type that was found, and those that are accepted.
    TypeInvalid {
        found: &'static str,
        accepted: &'static str,
    },
    /// A text where a quantity belongs.
    QuantityInvalid,
    NotSupported,
    Duplicate,
    TooLong,
    TooMany,
    Forbidden,
}

impl Cause {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Cause::Required => "FieldValueRequired",
            Cause::Invalid | Cause::QuantityInvalid => "FieldValueInvalid",
            Cause::TypeInvalid { .. } => "FieldValueTypeInvalid",
            Cause::NotSupported => "FieldValueNotSupported",
            Cause::Duplicate => "FieldValueDuplicate",
            Cause::TooLong => "FieldValueTooLong",
            Cause::TooMany => "FieldValueTooMany",
            Cause::Forbidden => "FieldValueForbidden",
        }
    }

    /// Whether values are so wrong that rules cannot be asked about them.
    pub(crate) fn is_fundamental(self) -> bool {
        matches!(
            self,
            Cause::Required
                | Cause::TypeInvalid { .. }
                | Cause::NotSupported
                | Cause::TooLong
                | Cause::TooMany
        )
    }
}

impl FieldError {
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(": {detail}")
        };
        Self {
            field: field.into(),
            cause: Cause::Required,
            message: format!("Required value{detail}"),
        }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self {
            field: field.into(),
            cause: Cause::Invalid,
            message: format!("Invalid value: {value}: {detail}"),
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self {
            field: field.into(),
            cause: Cause::Forbidden,
            message: format!("Forbidden: {detail}"),
        }
    }

    pub(crate) fn type_invalid(field: &str, found: &Value, accepted: &'static str) -> Self {
        let found = type_name(found);
        let message =
            format!("Invalid value: \"{found}\": {field} in body must be of type {accepted}: \"{found}\"");
        Self {
            field: field.to_owned(),
            cause: Cause::TypeInvalid { found, accepted },
            message,
        }
    }

    pub(crate) fn quantity_invalid(field: &str, found: &Value) -> Self {
        let detail = "quantities must match the regular expression \
                      '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        Self {
            cause: Cause::QuantityInvalid,
            ..Self::invalid(field, found, detail)
        }
    }

    pub(crate) fn not_supported(field: &str, value: &Value, accepted: &[Value]) -> Self {
        let accepted: Vec<_> = accepted.iter().map(Value::to_string).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            accepted.join(", ")
        );
        Self {
            field: field.to_owned(),
            cause: Cause::NotSupported,
            message,
        }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            field: field.into(),
            cause: Cause::Duplicate,
            message: format!("Duplicate value: {value}"),
        }
    }

    pub(crate) fn too_long(field: &str, limit: usize) -> Self {
        let message = format!("Too long: may not be more than {limit} bytes");
        Self {
            field: field.to_owned(),
            cause: Cause::TooLong,
            message,
        }
    }

    pub(crate) fn too_many(field: &str, found: usize, limit: usize) -> Self {
        let message = format!("Too many: {found}: must have at most {limit} items");
        Self {
            field: field.to_owned(),
            cause: Cause::TooMany,
            message,
        }
    }
}

impl FieldError {
    /// The field as it is shown; the whole object has no name of its own.
    pub(crate) fn field_name(&self) -> &str {
        if self.field.is_empty() {
            "<nil>"
        } else {
            &self.field
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field_name(), self.message)
    }
}

/// The JSON type of a value in the schema's words.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
