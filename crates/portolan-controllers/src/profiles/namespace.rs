//! One namespace with profiles, and what is to become of each of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::crd_age::RestoreWindow;
use tokio::time::Instant;

use super::bound_namespaces::{Bound, BoundNamespaces};
use super::cluster::Cluster;
use super::content::{Observed, Owner};
use super::message::{Key, Removal, Write};
use super::published_profiles::Standing;
use super::{GRACE, LONGEST_HOLD};
use crate::reconcile::{Action, backoff};

#[derive(Debug, Default)]
pub(super) struct Namespace {
    pub(super) bound: Bound,
    /// It cannot be told who belongs to one of the sets, so no profile is deleted.
    pub(super) doubtful: bool,
    pub(super) entries: BTreeMap<Arc<str>, Entry>,
    /// The server takes no profile in this namespace: it is going, or it is not allowed.
    pub(super) held_back: Option<HeldBack>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HeldBack {
    times: u32,
    until: Instant,
}

/// One profile, wanted or there or both.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) wanted: bool,
    /// Whether it was wanted since the process started: what ended that was heard.
    seen: bool,
    pub(super) observed: Option<Observed>,
    /// The server does not accept what we would write.
    pub(super) refused: bool,
    unwanted_since: Option<Instant>,
    /// How often it was deleted by somebody else while it was wanted, and when it may come back.
    lost: u32,
    back_at: Option<Instant>,
}

impl Namespace {
    pub(super) fn wants(&self, spaces: &BoundNamespaces, cluster: &Cluster) -> bool {
        !cluster.deleting && spaces.has(&self.bound, &cluster.labels)
    }

    /// Takes note whether a cluster is wanted here. Whether its profile is to be looked at.
    pub(super) fn place(&mut self, name: &Arc<str>, wanted: bool) -> bool {
        match self.entries.get_mut(name) {
            None if !wanted => false,
            None => {
                self.entries.insert(
                    name.clone(),
                    Entry {
                        wanted,
                        seen: wanted,
                        ..Entry::default()
                    },
                );
                true
            }
            Some(entry) => {
                entry.wanted = wanted;
                entry.seen |= wanted;
                if wanted {
                    entry.unwanted_since = None;
                } else if entry.observed.is_none() {
                    self.entries.remove(name);
                }
                true
            }
        }
    }

    /// The profile was deleted, by this controller or by another client.
    pub(super) fn lose(&mut self, name: &Arc<str>) {
        let Some(entry) = self.entries.get_mut(name) else {
            return;
        };
        let lost = entry.observed.take();
        if !entry.wanted {
            self.entries.remove(name);
        } else if lost.is_some_and(|lost| lost.owner == Owner::Portolan) {
            entry.lost += 1;
        }
    }

    /// We deleted the profile.
    pub(super) fn removed(&mut self, name: &Arc<str>) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.observed = None;
            entry.unwanted_since = None;
            if !entry.wanted {
                self.entries.remove(name);
            }
        }
    }

    /// The server took no profile here. Whether that is news; failures of writes that were under way together count once.
    pub(super) fn hold_back(&mut self, now: Instant, longest: Duration) -> bool {
        if self.held_back.is_some_and(|held| held.until > now) {
            return false;
        }
        let times = self.held_back.map_or(0, |held| held.times) + 1;
        self.held_back = Some(HeldBack {
            times,
            until: now + backoff(times, longest),
        });
        times == 1
    }

    pub(super) fn standing(&self, name: &Arc<str>) -> Option<Standing> {
        let entry = self.entries.get(name)?;
        match &entry.observed {
            Some(_) => Some(Standing::Settled),
            None if !entry.wanted => None,
            None if entry.refused || self.held_back.is_some() => Some(Standing::Settled),
            None => Some(Standing::Expected),
        }
    }

    pub(super) fn decide(
        &mut self,
        key: &Key,
        cluster: Option<&Cluster>,
        graces: &[RestoreWindow],
        now: Instant,
        longest_backoff: Duration,
    ) -> Action<Write> {
        let Some(entry) = self.entries.get_mut(&key.1) else {
            return Action::AwaitChange;
        };
        let content = cluster
            .filter(|_| entry.wanted)
            .map(|cluster| cluster.content.clone());
        match (&entry.observed, content) {
            (None, None) => Action::AwaitChange,
            (None, Some(content)) => {
                if let Some(held) = self.held_back.filter(|held| held.until > now) {
                    return Action::RequeueAt(held.until);
                }
                if let Some(at) = entry.comes_back(key, now, longest_backoff) {
                    return Action::RequeueAt(at);
                }
                Action::Write(Write::Create {
                    key: key.clone(),
                    content,
                })
            }
            (Some(observed), _) if observed.owner == Owner::SomebodyElse || observed.deleting => {
                Action::AwaitChange
            }
            (Some(observed), Some(content)) if observed.metadata != content.metadata => {
                Action::Write(Write::Metadata {
                    key: key.clone(),
                    version: observed.version.clone(),
                    content,
                })
            }
            (Some(observed), Some(content)) if observed.status != content.status => {
                Action::Write(Write::Status {
                    key: key.clone(),
                    content,
                })
            }
            (Some(_), Some(_)) => Action::AwaitChange,
            (Some(_), None) if self.doubtful => Action::AwaitChange,
            (Some(observed), None) => {
                let graces = graces
                    .iter()
                    .filter(|grace| !entry.seen && grace.covers(observed.created));
                if let Some(until) = graces.map(|grace| grace.ends).max() {
                    return Action::RequeueAt(until);
                }
                let since = *entry.unwanted_since.get_or_insert(now);
                if now < since + GRACE {
                    return Action::RequeueAt(since + GRACE);
                }
                let removal = Removal {
                    name: key.1.clone(),
                    version: observed.version.clone(),
                    unconditional: now >= since + LONGEST_HOLD,
                };
                Action::Write(Write::Remove {
                    namespace: key.0.clone(),
                    profiles: vec![removal],
                })
            }
        }
    }
}

impl Entry {
    /// Takes note of what is there, unless something later is known. Whether it was news.
    pub(super) fn observe(&mut self, observed: Observed) -> bool {
        if self
            .observed
            .as_ref()
            .is_some_and(|before| observed.version.is_before(&before.version))
        {
            return false;
        }
        self.observed = Some(observed);
        self.refused = false;
        self.back_at = None;
        true
    }

    /// When a profile that others delete may come back: at once the first time, then slower and slower.
    fn comes_back(&mut self, key: &Key, now: Instant, longest: Duration) -> Option<Instant> {
        if self.lost < 2 {
            return None;
        }
        let at = *self.back_at.get_or_insert_with(|| {
            tracing::warn!(
                namespace = &*key.0,
                name = &*key.1,
                times = self.lost,
                "another client keeps deleting a ClusterProfile that Portolan publishes; it is created again with growing pauses"
            );
            now + backoff(self.lost, longest)
        });
        (at > now).then_some(at)
    }
}
