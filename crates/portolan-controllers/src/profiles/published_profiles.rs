//! Which profiles are there, for those who refer to them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long to wait for a profile that nobody is about to publish. Whoever asks may have heard of a cluster, a binding
/// or a Placement a moment before the publisher; or the publisher knows better, and nothing will ever come.
const UNEXPECTED_WAIT: Duration = Duration::from_secs(2);

/// Tells when ClusterProfiles are there. Clones share what they know.
#[derive(Clone, Debug)]
pub(crate) struct Profiles(Arc<PublishedProfiles>);

#[derive(Debug)]
struct PublishedProfiles {
    entries: RwLock<Entries>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Entries {
    /// No profile is going to be published, because that is switched off or the kind is not served.
    off: bool,
    /// The publisher has heard of everything once. Before, what it has not heard of it may still hear of.
    ready: bool,
    namespaces: HashMap<Arc<str>, HashMap<Arc<str>, Standing>>,
}

/// How it stands with one profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It will be published.
    Expected,
    /// It is there, or the server does not let it be.
    Settled,
}

/// What the first cluster that is not settled waits for.
enum Front {
    /// There is none.
    Done,
    /// Its profile, which will come.
    Expected,
    /// The publisher to hear of anything.
    Unready,
    /// The publisher to hear of it, if it ever does.
    Unheard,
}

impl Profiles {
    pub(super) fn new() -> Profiles {
        Profiles(Arc::new(PublishedProfiles {
            entries: RwLock::default(),
            changed: Notify::new(),
        }))
    }

    /// For controllers that do not publish profiles: nobody waits.
    pub(crate) fn off() -> Profiles {
        let profiles = Profiles::new();
        profiles.switch(true);
        profiles
    }

    /// Waits until each of the clusters has a ClusterProfile in the namespace that a reference names, or cannot have
    /// one: publishing is off, the kind is not served, the server refuses it. Somebody else's profile counts. For one
    /// that the publisher does not mean to write it waits only a moment, so that nobody waits for what never comes.
    pub(crate) async fn published<N: AsRef<str>>(&self, namespace: &str, clusters: &[N]) {
        let mut missing = clusters;
        let patience = tokio::time::sleep(UNEXPECTED_WAIT);
        tokio::pin!(patience);
        let mut patient = true;
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // From here on a change wakes us even if it happens before we wait.
            changed.as_mut().enable();
            match self.skip_settled(namespace, &mut missing, patient) {
                Front::Done => return,
                Front::Expected => changed.await,
                Front::Unready => {
                    changed.await;
                    patience.as_mut().reset(Instant::now() + UNEXPECTED_WAIT);
                }
                Front::Unheard => tokio::select! {
                    () = changed => {}
                    () = &mut patience => patient = false,
                },
            }
        }
    }

    /// Drops the clusters from the front that need not be waited for. Only the front is looked at on each change, so
    /// waiting for n clusters costs n steps and not n².
    fn skip_settled<N: AsRef<str>>(&self, namespace: &str, missing: &mut &[N], patient: bool) -> Front {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        if entries.off {
            return Front::Done;
        }
        let known = entries.namespaces.get(namespace);
        while let [first, rest @ ..] = *missing {
            match known.and_then(|known| known.get(first.as_ref())) {
                Some(Standing::Settled) => {}
                Some(Standing::Expected) => return Front::Expected,
                None if !entries.ready => return Front::Unready,
                None if patient => return Front::Unheard,
                None => {}
            }
            *missing = rest;
        }
        Front::Done
    }

    /// Takes note of how it stands with a profile; nothing when none is wanted and none is there.
    pub(super) fn note(&self, namespace: &Arc<str>, cluster: &Arc<str>, standing: Option<Standing>) {
        let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        let changed = match standing {
            Some(standing) => {
                let known = entries.namespaces.entry(namespace.clone()).or_default();
                known.insert(cluster.clone(), standing) != Some(standing)
            }
            None => {
                let known = entries.namespaces.get_mut(namespace);
                let removed = known.is_some_and(|known| known.remove(cluster).is_some());
                if removed && entries.namespaces.get(namespace).is_some_and(HashMap::is_empty) {
                    entries.namespaces.remove(namespace);
                }
                removed
            }
        };
        drop(entries);
        if changed {
            self.0.changed.notify_waiters();
        }
    }

    /// The publisher has heard of everything.
    pub(super) fn ready(&self) {
        self.0
            .entries
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .ready = true;
        self.0.changed.notify_waiters();
    }

    pub(super) fn switch(&self, off: bool) {
        self.0.entries.write().unwrap_or_else(PoisonError::into_inner).off = off;
        self.0.changed.notify_waiters();
    }
}
