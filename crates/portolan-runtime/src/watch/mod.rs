//! One watch per kind, shared by all controllers.
//!
//! A watch says what it knows and no more: an object is reported gone only when the server said so, or when a complete
//! list did not have it; one that cannot be read is reported as such. While a list is under way, and when the kind is not served, it says that instead.

mod crd_guard;
mod known;
mod limits;
mod list_and_watch;
mod paging;
mod size;
mod subscriber;
mod sync_state;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::reading::Unreadable;

pub use limits::{bounded, with_limits, with_list_timeout, with_timeout};
pub use list_and_watch::Watch;
pub use subscriber::{Closed, Subscriber};
pub use sync_state::SyncState;

/// What a watch says.
#[derive(Debug)]
pub enum Delta<K> {
    /// The object is there, and this is what it looks like.
    Applied(Arc<K>),
    /// The object is there and cannot be read. It is unknown, not absent: what it was used for is kept. What was last
    /// reported of it, if anything was, is out of date.
    Unreadable(Arc<Unreadable>),
    /// The object is known to be gone.
    Deleted(Key),
    /// The object went with its CustomResourceDefinition. What it was used for is kept: it may come back, and if it does
    /// not, [`Delta::Deleted`] follows. Said by a watch that is guarded.
    DeletionHeld(Key),
    /// A list began; until [`Delta::Synced`] what is known may be out of date.
    ListStarted,
    /// When the CustomResourceDefinition of the kind was created, if that can be told. Said before the first
    /// [`Delta::Synced`] by a watch that is guarded.
    CrdCreated(Option<Timestamp>),
    /// What was reported is all there is.
    Synced,
    /// The server does not know the kind. What was reported before stays as it is.
    NotServed,
}

impl<K: kube::Resource> Delta<K> {
    /// The namespace of the object that it is about. Nothing where it is about all objects, or one outside of namespaces.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Delta::Applied(object) => object.meta().namespace.as_deref(),
            Delta::Unreadable(object) => object.metadata.namespace.as_deref(),
            Delta::Deleted(key) | Delta::DeletionHeld(key) => {
                Some(key.namespace.as_str()).filter(|name| !name.is_empty())
            }
            Delta::ListStarted | Delta::CrdCreated(_) | Delta::Synced | Delta::NotServed => None,
        }
    }
}

impl<K> Clone for Delta<K> {
    fn clone(&self) -> Self {
        match self {
            Delta::Applied(object) => Delta::Applied(object.clone()),
            Delta::Unreadable(object) => Delta::Unreadable(object.clone()),
            Delta::Deleted(key) => Delta::Deleted(key.clone()),
            Delta::DeletionHeld(key) => Delta::DeletionHeld(key.clone()),
            Delta::ListStarted => Delta::ListStarted,
            Delta::CrdCreated(at) => Delta::CrdCreated(*at),
            Delta::Synced => Delta::Synced,
            Delta::NotServed => Delta::NotServed,
        }
    }
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace; empty for kinds without.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, as last seen.
    pub uid: String,
}

impl Key {
    /// The key of the object with this metadata.
    pub fn of(metadata: &ObjectMeta) -> Key {
        Key {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
        }
    }

    /// Namespace and name, or the name alone.
    pub fn place(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}
