//! What is said about a work and its objects. Nothing here touches a server.

mod conditions;
mod feedback;
mod finding;
mod finished;
mod fitting;
mod json_path;
mod manifest;
mod mistakes;
mod rule_index;
mod rule_reasons;
mod rules;
mod status;
mod well_known;

pub(crate) use finding::{Applied, Finding, Found, is_over};
pub(crate) use finished::finished;
pub(crate) use json_path::{JsonPath, Key, Trail};
use manifest::FEEDBACK_SYNCED;
pub use mistakes::option_mistakes;
pub(crate) use status::{held, report, to_json, undecided, unreadable, unwritable, waiting};
