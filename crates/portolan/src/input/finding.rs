//! What is wrong or worth knowing about one place of the input, for programs.

use portolan_api::FieldError;
use serde::Serialize;

use super::place::Place;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Severity {
    /// It is refused, or keeps a placement from being evaluated.
    Error,
    /// It is accepted and most likely not what is meant.
    Warning,
    /// It plays no part.
    Info,
}

/// One finding. What is not known is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The file, or the hub.
    pub(crate) file: String,
    /// Position of the document in the file, from 1.
    pub(crate) document: Option<usize>,
    /// Kind, namespace and name.
    pub(crate) object: String,
    pub(crate) field: String,
    pub(crate) value: String,
    pub(crate) problem: String,
    pub(crate) accepted: String,
}

impl Finding {
    /// About something that has no field.
    pub(crate) fn new(severity: Severity, place: Option<&Place>, object: &str, problem: &str) -> Finding {
        Finding {
            severity,
            file: place.map(|place| place.source().to_owned()).unwrap_or_default(),
            document: place.and_then(Place::number),
            object: object.to_owned(),
            field: String::new(),
            value: String::new(),
            problem: problem.to_owned(),
            accepted: String::new(),
        }
    }

    /// About a field.
    pub(super) fn of_field(severity: Severity, place: &Place, object: &str, error: &FieldError) -> Finding {
        Finding::about(severity, Some(place), object, error)
    }

    /// About a field of an object that was read, from wherever.
    pub(crate) fn about(
        severity: Severity,
        place: Option<&Place>,
        object: &str,
        error: &FieldError,
    ) -> Finding {
        Finding {
            field: error.path.clone(),
            value: error.value.clone(),
            accepted: error.accepted.clone(),
            ..Finding::new(severity, place, object, &error.problem)
        }
    }
}
