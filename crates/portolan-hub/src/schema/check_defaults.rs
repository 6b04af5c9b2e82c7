//! Whether the defaults of a schema are values that the schema keeps as they are. An object that gets another one is changed,
//! or refused, by the next write of the same object.

use super::prune::unknown_in;
use super::validate::violations;
use super::{FieldError, Schema, join, rules};

/// Everything that is wrong with the defaults in the schema of a whole object. `path` is where it stands in the definition.
pub(crate) fn check_defaults(schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, true, path, &mut errors);
    errors
}

fn node(schema: &Schema, resource: bool, path: &str, errors: &mut Vec<FieldError>) {
    // To Kubernetes null is no default.
    if let Some(default) = schema.default.as_ref().filter(|default| !default.is_null()) {
        let at = join(path, "default");
        if unknown_in(schema, default) {
            errors.push(FieldError::invalid(&at, default, "must not have unknown fields"));
        }
        let wrong = violations(schema, default, &at);
        if wrong.is_empty() && schema.ruled {
            let verdict = rules::evaluate(schema, default, None);
            errors.extend(verdict.errors.into_iter().map(|error| below(&at, error)));
        }
        errors.extend(wrong);
    }
    if let Some(items) = &schema.items {
        node(items, items.embedded_resource, &join(path, "items"), errors);
    }
    for (name, field) in &schema.properties {
        // What every object has follows rules of its own.
        if resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let at = format!("{}[{name}]", join(path, "properties"));
        node(field, field.embedded_resource, &at, errors);
    }
}

/// The error of a rule, whose field starts at the default.
fn below(at: &str, mut error: FieldError) -> FieldError {
    error.field = match error.field.as_str() {
        "" => at.to_owned(),
        field if field.starts_with('[') => format!("{at}{field}"),
        field => join(at, field),
    };
    error
}
