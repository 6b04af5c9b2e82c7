//! What is said about a work and its objects. Nothing here touches a server.

mod conditions;
mod feedback;
mod finished;
mod fitting;
mod json_path;
mod manifest;
mod manifest_result;
mod mistakes;
mod rule_index;
mod rule_reasons;
mod rules;
mod status;
mod well_known;

pub(crate) use finished::finished;
pub(crate) use json_path::{JsonPath, Key, Trail};
use manifest::FEEDBACK_SYNCED;
pub(crate) use manifest_result::{ApplyOutcome, ManifestResult, ObservedObject, is_over};
pub use mistakes::option_mistakes;
pub(crate) use status::{held, report, to_json, undecided, unreadable, unwritable, waiting};
