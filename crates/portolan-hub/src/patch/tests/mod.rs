//! Tests of the patch functions: tables of cases as data (`*.yaml`), and properties.

mod apply;
mod patches;
mod properties;
mod schema;

use serde::de::DeserializeOwned;

use super::{ApplyError, PatchError};

/// Reads a table of cases.
fn cases<T: DeserializeOwned>(yaml: &str) -> Vec<T> {
    serde_saphyr::from_str(yaml).expect("the table parses")
}

/// The status code of a failed patch, as the variants document it.
fn code(error: &PatchError) -> u16 {
    match error {
        PatchError::BadRequest(_) => 400,
        PatchError::TooLarge(_) => 413,
        PatchError::Unprocessable(_) => 422,
        PatchError::Internal(_) => 500,
    }
}

/// The status code of a failed apply.
fn apply_code(error: &ApplyError) -> u16 {
    match error {
        ApplyError::Conflicts(_) => 409,
        ApplyError::BadRequest(_) => 400,
        ApplyError::Internal(_) => 500,
    }
}
