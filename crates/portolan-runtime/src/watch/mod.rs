//! One watch per kind, shared by all controllers.
//!
//! A watch says what it knows and no more: an object is reported gone only when the server said so, or when a complete
//! list did not have it; one that cannot be read is reported as such. While a list is under way, and when the kind is not served, it says that instead.

mod feed;
mod guard;
mod known;
mod patience;
mod size;
mod source;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::reading::Unreadable;

pub use feed::{Closed, Feed};
pub use patience::{bounded, patient, patient_for_a_list, with_limits};
pub use source::Source;

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
    Held(Key),
    /// A list began; until [`Delta::Synced`] what is known may be out of date.
    Listing,
    /// When the CustomResourceDefinition of the kind was created, if that can be told. Said before the first
    /// [`Delta::Synced`] by a watch that is guarded.
    Founded(Option<Timestamp>),
    /// What was reported is all there is.
    Synced,
    /// The server does not know the kind. What was reported before stays as it is.
    Unserved,
}

impl<K: kube::Resource> Delta<K> {
    /// The namespace of the object that it is about. Nothing where it is about all objects, or one outside of namespaces.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Delta::Applied(object) => object.meta().namespace.as_deref(),
            Delta::Unreadable(object) => object.metadata.namespace.as_deref(),
            Delta::Deleted(key) | Delta::Held(key) => {
                Some(key.namespace.as_str()).filter(|name| !name.is_empty())
            }
            Delta::Listing | Delta::Founded(_) | Delta::Synced | Delta::Unserved => None,
        }
    }
}

impl<K> Clone for Delta<K> {
    fn clone(&self) -> Self {
        match self {
            Delta::Applied(object) => Delta::Applied(object.clone()),
            Delta::Unreadable(object) => Delta::Unreadable(object.clone()),
            Delta::Deleted(key) => Delta::Deleted(key.clone()),
            Delta::Held(key) => Delta::Held(key.clone()),
            Delta::Listing => Delta::Listing,
            Delta::Founded(at) => Delta::Founded(*at),
            Delta::Synced => Delta::Synced,
            Delta::Unserved => Delta::Unserved,
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
