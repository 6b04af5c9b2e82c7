//! Reads placement decisions, whoever made them, and says what changed.
//!
//! What it is: a library for consumers of `PlacementDecision` (`multicluster.x-k8s.io`), and of the OCM kind with its
//! decision groups. Slices go in; whole [`DecisionSet`]s and [`Change`]s come out. [`Decisions`] is the state and is
//! pure; with the feature `stream` (on by default) `DecisionStream` is a watch around it.
//!
//! ```text
//! objects ─► Slice ─► Discovery: which decision ─► assemble: one set, or a Hold ─► Decisions: what is different ─► Update
//!                                                  groups: the OCM kind, by decision group
//! ```
//!
//! What it never does: write a decision, need to know which scheduler made it, act on half of an update, or take
//! something for removed because it was not seen. A cluster that moves between slices is no change; a decision for no
//! cluster is not the same as no decision.
//!
//! Callers: consumers of other authors, and Portolan's own.
//!
//! ```
//! use std::time::Duration;
//! use portolan_consumer::{Change, Decisions, Discovery, Options, Slice};
//!
//! let slice = |clusters: &[&str]| {
//!     let entry = |name: &&str| serde_json::json!({ "clusterProfileRef": { "name": name } });
//!     let entries: Vec<_> = clusters.iter().map(entry).collect();
//!     let object = serde_json::json!({
//!         "metadata": { "namespace": "shop", "name": "web-0", "labels": { "multicluster.x-k8s.io/placement-key": "web" } },
//!         "decisions": entries,
//!     });
//!     Slice::of(&serde_json::from_value(object).expect("is a PlacementDecision"))
//! };
//! let mut decisions = Decisions::new(Options::new(Discovery::PlacementKey("web".into())));
//! decisions.list_began();
//! decisions.apply(slice(&["fra"]));
//! decisions.list_ended();
//! let update = &decisions.updates(Duration::ZERO)[0];
//! assert!(matches!(&update.changes[..], [Change::Added(chosen)] if chosen.cluster.name == "fra"));
//!
//! decisions.apply(slice(&[]));
//! let update = &decisions.updates(Duration::ZERO)[0];
//! assert!(matches!(&update.changes[..], [Change::Removed(_), Change::Emptied]));
//! ```

#![forbid(unsafe_code)]

mod assemble;
mod change;
mod choice;
mod cluster;
mod decisions;
mod discovery;
pub mod groups;
mod problem;
mod set;
mod slice;
#[cfg(feature = "stream")]
mod stream;
#[cfg(test)]
mod tests;

pub use assemble::{Hold, assemble};
pub use change::{Change, Order};
pub use cluster::{Chosen, Cluster};
pub use decisions::{Decisions, Options, SETTLE, Update};
pub use discovery::{DecisionId, Discovery, Shared};
pub use portolan_api::decision::GroupKey;
pub use problem::Problem;
pub use set::{DecisionSet, Resolved};
pub use slice::{Revision, Slice, SliceKey};
#[cfg(feature = "stream")]
pub use stream::{DecisionStream, Error};
