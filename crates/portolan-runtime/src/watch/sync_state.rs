//! How much of a kind is known.

use super::Delta;

/// How much of a kind is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncState {
    /// A list is under way, for the first time or again.
    #[default]
    Listing,
    /// All objects are known.
    Synced,
    /// The server does not have the kind.
    NotServed,
}

impl SyncState {
    /// Takes in a delta of the kind.
    pub fn after<T>(&mut self, delta: &Delta<T>) {
        *self = match delta {
            Delta::Applied(_)
            | Delta::Unreadable(_)
            | Delta::Deleted(_)
            | Delta::DeletionHeld(_)
            | Delta::CrdCreated(_) => return,
            Delta::ListStarted => SyncState::Listing,
            Delta::Synced => SyncState::Synced,
            Delta::NotServed => SyncState::NotServed,
        };
    }

    /// Whether all objects are known.
    pub fn is_synced(self) -> bool {
        self == SyncState::Synced
    }
}
