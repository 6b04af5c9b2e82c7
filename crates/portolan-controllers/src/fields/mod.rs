//! Which fields the served CustomResourceDefinitions lack. A server drops a field that its definition does not have and
//! says nothing, so somebody else has to.
//!
//! [`MissingFields`] is pure: what a definition lacks of what we read and write. [`watch`] looks at the definitions at the start
//! and again when they change, says what is missing where people look for it, and tells the scheduler, which does not write
//! what would be dropped: it would write it again at every turn.

mod missing_fields;
mod watch;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

pub(crate) use missing_fields::{Field, MissingFields};
pub(crate) use watch::watch;

/// The fields that a served definition lacks, each with what to do without it.
pub fn missing_fields(definition: &CustomResourceDefinition) -> Vec<String> {
    MissingFields::of(definition)
        .iter()
        .map(Field::complaint)
        .collect()
}
