//! What a consumer made of a recorded watch.
//!
//! A recording says what there was to see; [`Act`]s say what the consumer did, and how much of the recording it had seen
//! by then. [`check`] compares the two: at each [`Event::Settled`](crate::Event::Settled) the consumer must have done
//! what the decisions ask, and in between nothing that they do not.

mod settled;
mod walk;

use serde::{Deserialize, Serialize};

use crate::{Cluster, DecisionId, ObjectKey, Recording, Report};

/// Something that a consumer did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// How many events of the recording it had seen. At a mark, what is done because of it is done after it.
    pub after: usize,
    /// The decision it did it for.
    pub decision: DecisionId,
    /// What it did.
    pub deed: Deed,
}

/// What a consumer can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deed {
    /// Put the workload on a cluster.
    Deployed(Cluster),
    /// Took the workload from a cluster.
    Removed(Cluster),
    /// Took the clusters in this order.
    Ordered(Vec<Cluster>),
    /// Took note that the decision is for no cluster.
    Emptied,
    /// Took note that there is no decision any more.
    Gone,
    /// Reported that no ClusterProfile stands for a cluster.
    Unresolved(Cluster),
    /// Reported that something in a slice cannot be read.
    Unreadable(ObjectKey),
    /// Wrote an object.
    Wrote(ObjectKey),
}

/// Whether the consumer did what the recorded decisions ask, and nothing else. Acts are in the order they were done.
pub fn check(recording: &Recording, acts: &[Act]) -> Report {
    let mut report = Report::new();
    let mut walk = walk::Walk::new(acts);
    recording.replay(|prefix| walk.follow(&prefix, &mut report));
    report
}
