//! What is said about a work and its objects. Nothing here touches a server.

mod conditions;
mod feedback;
mod json_path;
mod rules;
mod status;
mod well_known;

pub(crate) use json_path::JsonPath;
pub(crate) use status::{Applied, Finding, Found, held, report, to_json, undecided, unreadable, waiting};
