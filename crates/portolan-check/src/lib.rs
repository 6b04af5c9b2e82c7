//! The rules of Portolan and of `PlacementDecision` conformance, each stated once as a predicate over data.
//!
//! What it is: a second opinion. It is written from the documents and shares no code with the engine, so that a
//! misreading in one is caught by the other. A check looks at one [`State`], at a pair of states, at a recorded
//! [`Recording`] of a watch, or at plain values (explanations, numbers), and answers with a [`Report`]. Which checks
//! exist, what each states, who must meet it and which text says so is in the [`registry`].
//!
//! | question | where |
//! |---|---|
//! | is this state sound at any moment, and at rest? | [`state::instant`], [`state::rest`] |
//! | did this change, or this non-change, obey the rules? | [`pair`] |
//! | did any reader of this watch ever see something it must not? | [`stream`] |
//! | what does a reader that knows revisions act on? | [`revision`] |
//! | did this rollout stay within its bounds and reach everybody? | [`rollout`] |
//! | did this consumer do what the decisions asked, and nothing else? | [`consumer`] |
//! | is the answer given to a person complete? | [`explain`] |
//! | what does the reference formula say? | [`numbers`] |
//!
//! What it never does: talk to a server, read a clock, repair anything, or stop at the first problem. An object that
//! cannot be judged by a check (a label that does not parse, say) is skipped by that check, because another one
//! reports it.
//!
//! Callers: unit and property tests, and the suites of every other crate.
//!
//! ```
//! use portolan_check::{Recording, registry, stream};
//!
//! let slice = |entries: &str| {
//!     let head = r#""apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"PlacementDecision""#;
//!     format!(r#"{{{head},"metadata":{{"namespace":"shop","name":"web-decision-0"}},"decisions":[{entries}]}}"#)
//! };
//! let (with, without) = (slice(r#"{"clusterProfileRef":{"name":"fra"}}"#), slice(""));
//! let recording = Recording::from_json_lines(&format!(
//!     "{{\"type\":\"INITIAL\",\"object\":{with}}}
//!      {{\"type\":\"MODIFIED\",\"object\":{without}}}
//!      {{\"type\":\"MODIFIED\",\"object\":{with}}}
//!      {{\"type\":\"SETTLED\"}}"
//! ))?;
//! let report = stream::check(&recording);
//! assert_eq!(report.findings[0].check, registry::find("C35").expect("is listed").id);
//! # Ok::<(), portolan_check::stream::ReadError>(())
//! ```

#![forbid(unsafe_code)]

mod cluster;
pub mod consumer;
mod decision;
pub mod explain;
mod finding;
mod labels;
pub mod numbers;
mod object;
pub mod pair;
pub mod registry;
pub mod revision;
pub mod rollout;
pub mod state;
pub mod stream;

#[cfg(test)]
mod tests;

pub use cluster::Cluster;
pub use decision::{Decision, DecisionId, DecisionKind, Slice};
pub use finding::{Finding, MESSAGE_LIMIT, Report, Severity};
pub use object::{Object, ObjectKey, ObjectKind};
pub use registry::CheckId;
pub use state::State;
pub use stream::{Event, Recording};
