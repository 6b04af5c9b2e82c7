//! What is said about a work and its objects. Nothing here touches a server.

mod conditions;
mod feedback;
mod finished;
mod fitting;
mod json_path;
mod mistakes;
mod rule_reasons;
mod rules;
mod status;
mod well_known;

pub(crate) use finished::finished;
pub(crate) use json_path::{JsonPath, Key, Trail};
pub use mistakes::option_mistakes;
use status::FEEDBACK_SYNCED;
pub(crate) use status::{
    Applied, Finding, Found, held, is_over, report, to_json, undecided, unreadable, unwritable, waiting,
};
