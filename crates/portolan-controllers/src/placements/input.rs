//! What watches say, for one channel.

use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use portolan_api::multicluster::{self, ClusterProfile};
use portolan_runtime::watch::{Delta, SyncState};

use tokio::time::Instant;

use super::cache_sync::Watched;
use crate::fields::MissingFields;

/// A message, and when it came from the server.
#[derive(Debug)]
pub(crate) struct Received {
    pub(super) at: Instant,
    pub(super) input: Input,
}

impl Received {
    /// A message that is received now.
    pub(crate) fn now(input: Input) -> Received {
        Received {
            at: Instant::now(),
            input,
        }
    }

    /// Turns what a watch says into a message that was received at that moment.
    pub(crate) fn by<K>(wrap: fn(Delta<K>) -> Input) -> impl Fn(Delta<K>) -> Received {
        move |delta| Received::now(wrap(delta))
    }
}

/// One message of one watch.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Placement(Delta<Placement>),
    Cluster(Delta<ManagedCluster>),
    Profile(Delta<ClusterProfile>),
    Set(Delta<ManagedClusterSet>),
    Binding(Delta<ManagedClusterSetBinding>),
    Score(Delta<AddOnPlacementScore>),
    Decision(Delta<PlacementDecision>),
    Slice(Delta<multicluster::PlacementDecision>),
    /// The fields that the definitions on the server lack.
    MissingFields(MissingFields),
}

impl Input {
    /// The kind it is about.
    pub(super) fn kind(&self) -> Watched {
        match self {
            Input::Placement(_) => Watched::Placements,
            Input::Cluster(_) => Watched::Clusters,
            Input::Profile(_) => Watched::Profiles,
            Input::Set(_) => Watched::Sets,
            Input::Binding(_) => Watched::Bindings,
            Input::Score(_) => Watched::Scores,
            Input::Decision(_) => Watched::Decisions,
            Input::Slice(_) => Watched::Slices,
            Input::MissingFields(_) => Watched::Fields,
        }
    }

    /// What it says about the kind as a whole, if it does.
    pub(super) fn knowledge(&self) -> Option<SyncState> {
        match self {
            Input::Placement(delta) => knowledge(delta),
            Input::Cluster(delta) => knowledge(delta),
            Input::Profile(delta) => knowledge(delta),
            Input::Set(delta) => knowledge(delta),
            Input::Binding(delta) => knowledge(delta),
            Input::Score(delta) => knowledge(delta),
            Input::Decision(delta) => knowledge(delta),
            Input::Slice(delta) => knowledge(delta),
            Input::MissingFields(_) => Some(SyncState::Synced),
        }
    }
}

fn knowledge<K>(delta: &Delta<K>) -> Option<SyncState> {
    match delta {
        Delta::ListStarted => Some(SyncState::Listing),
        Delta::Synced => Some(SyncState::Synced),
        Delta::NotServed => Some(SyncState::NotServed),
        Delta::Applied(_)
        | Delta::Unreadable(_)
        | Delta::Deleted(_)
        | Delta::DeletionHeld(_)
        | Delta::CrdCreated(_) => None,
    }
}
