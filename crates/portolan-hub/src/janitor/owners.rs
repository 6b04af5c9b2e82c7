//! Owner references: an object goes when all its owners are gone; an owner may wait for what it owns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::pace::PORTION;
use super::{Janitor, Settled, Unchanged};
use crate::server::{FOREGROUND, ORPHAN, Propagation, apart_always};
use crate::store::{Key, OwnerReference, Stored};

/// How an owner stands to the object that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Solid,
    /// Being deleted, and waiting for this object to go first.
    Waiting,
    Gone,
}

/// Kinds of owners by apiVersion and kind: finding one takes a look at every kind that is served.
type Kinds<'a> = HashMap<(&'a str, &'a str), Option<bool>>;

impl Janitor {
    /// Deletes an object without owners left, or drops the references to those that are gone.
    pub(super) async fn check_owners(&self, object: &Stored) -> Settled {
        if object.revision() > self.revision {
            return Settled::AheadOfIndex;
        }
        let owners = &object.meta().owner_references;
        let mut kinds = Kinds::new();
        let standing: Vec<Owner> = owners
            .iter()
            .map(|owner| self.standing(object.key(), owner, &mut kinds))
            .collect();
        if standing.contains(&Owner::Solid) {
            let lost: HashSet<&str> = owners
                .iter()
                .zip(&standing)
                .filter(|(_, standing)| **standing != Owner::Solid)
                .map(|(owner, _)| owner.uid.as_str())
                .collect();
            if !lost.is_empty() {
                self.edit(object.key(), |object| drop_owners(object, &lost)).await;
            }
            return Settled::Done;
        }
        let waited_for = standing.contains(&Owner::Waiting);
        let has_dependents = self.index.dependents_of(&object.meta().uid).next().is_some();
        let policy = if waited_for && has_dependents {
            Propagation::Foreground
        } else {
            kept_policy(object)
        };
        self.delete(object, Some(policy), Unchanged::Version).await;
        Settled::Done
    }

    fn standing<'a>(&self, dependent: &Key, owner: &'a OwnerReference, kinds: &mut Kinds<'a>) -> Owner {
        let namespaced = kinds
            .entry((&owner.api_version, &owner.kind))
            .or_insert_with(|| self.is_namespaced(owner));
        let Some(namespaced) = *namespaced else {
            return Owner::Solid;
        };
        // A cluster-scoped object cannot be owned by one in a namespace; Kubernetes leaves such references alone.
        if namespaced && dependent.namespace().is_empty() {
            return Owner::Solid;
        }
        let Some(key) = self.index.find(&owner.uid) else {
            return Owner::Gone;
        };
        if !key.namespace().is_empty() && key.namespace() != dependent.namespace() {
            return Owner::Gone;
        }
        let deleting = self
            .core
            .store
            .get(key)
            .filter(|owner| owner.meta().deletion_timestamp.is_some());
        match deleting {
            Some(owner) if holds(&owner, FOREGROUND) => Owner::Waiting,
            _ => Owner::Solid,
        }
    }

    /// Whether the owner's kind has namespaces, if it is served.
    fn is_namespaced(&self, owner: &OwnerReference) -> Option<bool> {
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let registry = self.core.registry();
        let resource = registry.by_kind(group, version, &owner.kind)?;
        Some(resource.namespaced)
    }

    /// Does for an owner that is being deleted what its finalizers ask, and takes them off when it is done.
    pub(super) async fn release_dependents(&self, owner: &Stored) -> Settled {
        let uid = owner.meta().uid.as_str();
        if holds(owner, ORPHAN) {
            let dependents = self.some_dependents(uid, |dependent| self.is_served(dependent));
            let uids = &HashSet::from([uid]);
            let portion = dependents.iter().take(PORTION);
            self.each(portion, |dependent| async move {
                let drop = |object: &mut Value| drop_owners(object, uids);
                self.edit(dependent.key(), drop).await;
            })
            .await;
            if dependents.len() > PORTION {
                return Settled::InPart;
            }
            self.edit(owner.key(), |object| drop_finalizer(object, ORPHAN))
                .await;
        } else if holds(owner, FOREGROUND) {
            let dependents = self.some_dependents(uid, |dependent| {
                dependent.meta().deletion_timestamp.is_none() && self.is_served(dependent)
            });
            let portion = dependents.iter().take(PORTION);
            let checked = self.each(portion, |dependent| self.check_owners(dependent)).await;
            if checked.contains(&Settled::AheadOfIndex) {
                return Settled::AheadOfIndex;
            }
            if dependents.len() > PORTION {
                return Settled::InPart;
            }
            let is_blocked = apart_always(|| {
                let keys = self.index.dependents_of(uid);
                let mut left = keys.filter_map(|key| self.dependent(key, uid));
                left.any(|dependent| blocks(&dependent, uid))
            });
            if !is_blocked {
                self.edit(owner.key(), |object| drop_finalizer(object, FOREGROUND))
                    .await;
            }
        }
        Settled::Done
    }

    /// A portion of what an owner has, and one more if there is more. An owner may have very many, so no client waits for the thread.
    fn some_dependents(&self, uid: &str, which: impl Fn(&Stored) -> bool) -> Vec<Arc<Stored>> {
        apart_always(|| {
            let keys = self.index.dependents_of(uid);
            let dependents = keys.filter_map(|key| self.dependent(key, uid));
            let wanted = dependents.filter(|dependent| which(dependent));
            wanted.take(PORTION + 1).collect()
        })
    }

    /// The object under a key, if it still names the owner.
    fn dependent(&self, key: &Key, uid: &str) -> Option<Arc<Stored>> {
        let names_owner = |object: &Arc<Stored>| {
            let mut owners = object.meta().owner_references.iter();
            owners.any(|owner| owner.uid == uid)
        };
        self.core.store.get(key).filter(names_owner)
    }

    /// Whether anything can be done about an object: a kind that is not served is left alone.
    fn is_served(&self, object: &Stored) -> bool {
        self.resource(object.key()).is_some()
    }
}

/// Whether an owner waits for this object to go.
fn blocks(dependent: &Stored, uid: &str) -> bool {
    let mut owners = dependent.meta().owner_references.iter();
    owners
        .find(|owner| owner.uid == uid)
        .is_some_and(|owner| owner.block_owner_deletion)
}

fn holds(object: &Stored, finalizer: &str) -> bool {
    object.meta().finalizers.iter().any(|held| held == finalizer)
}

/// What the object's own finalizers ask for.
fn kept_policy(object: &Stored) -> Propagation {
    if holds(object, ORPHAN) {
        Propagation::Orphan
    } else if holds(object, FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

fn drop_owners(object: &mut Value, uids: &HashSet<&str>) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        owners.retain(|owner| {
            let uid = owner["uid"].as_str();
            uid.is_none_or(|uid| !uids.contains(uid))
        });
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        }
    }
}

fn drop_finalizer(object: &mut Value, finalizer: &str) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|held| held != finalizer);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
}
