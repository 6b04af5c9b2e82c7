//! All decisions that a consumer follows, and what it was told about each.
//!
//! Changes are never taken from events: they are the difference between what the consumer was told and what the slices
//! say now. So a watch that was cut off and lists anew brings exactly what happened meanwhile, and the order in which
//! slices arrive makes no difference to where it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::assemble::assemble_after;
use crate::change::difference;
use crate::{Change, Chosen, Cluster, DecisionId, DecisionSet, Discovery, Hold, Order, Slice, SliceKey};

/// How long a cluster has to be absent from a decision of several slices without revisions before it counts as removed.
/// Schedulers that take a cluster from one slice before they put it into another do so within a few writes.
pub const SETTLE: Duration = Duration::from_secs(5);

/// What to follow, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which decisions.
    pub discovery: Discovery,
    /// Whether order matters.
    pub order: Order,
    /// How long to wait before a cluster that may be on its way between two slices counts as removed. Not needed and not
    /// used where there are revisions, nor for a decision of one slice. Zero takes every gap for a removal.
    pub settle: Duration,
}

impl Options {
    /// Follows what is found, in any order, with [`SETTLE`].
    pub fn new(discovery: Discovery) -> Options {
        Options {
            discovery,
            order: Order::default(),
            settle: SETTLE,
        }
    }
}

/// What happened to one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Which decision.
    pub decision: DecisionId,
    /// What is different. With nothing in it, only scores, reasons, groups or problems changed, or a hold began or ended.
    pub changes: Vec<Change>,
    /// The decision as it is to be acted on: after all changes, and before those that are held back. Empty for one that is
    /// gone or that was never whole.
    pub set: Arc<DecisionSet>,
    /// Why the latest state of the slices is not acted on, if it is not.
    pub hold: Option<Hold>,
}

/// The decisions that a consumer follows.
///
/// `now` is the time since any fixed moment. Nothing is told before the first list is complete, nor while another one
/// is under way.
#[derive(Clone, Debug)]
pub struct Decisions {
    options: Options,
    slices: BTreeMap<SliceKey, Slice>,
    members: BTreeMap<DecisionId, BTreeSet<SliceKey>>,
    followed: BTreeMap<DecisionId, Followed>,
    touched: BTreeSet<DecisionId>,
    listing: Option<BTreeSet<SliceKey>>,
    certain: bool,
}

#[derive(Clone, Debug, Default)]
struct Followed {
    told: Option<Arc<DecisionSet>>,
    hold: Option<Hold>,
    /// Clusters that are in no slice, and when they count as removed.
    leaving: BTreeMap<Cluster, Duration>,
    /// The slice that was the only one. A change of it is whole by itself.
    alone: Option<SliceKey>,
}

impl Decisions {
    /// Follows nothing yet.
    pub fn new(options: Options) -> Decisions {
        Decisions {
            options,
            slices: BTreeMap::new(),
            members: BTreeMap::new(),
            followed: BTreeMap::new(),
            touched: BTreeSet::new(),
            listing: None,
            certain: false,
        }
    }

    /// Goes on where an earlier life of the consumer left off: these are the clusters that it acted on for a decision. What
    /// happened since is told when the first list is complete, as if there had been no pause.
    pub fn resume(&mut self, decision: DecisionId, clusters: impl IntoIterator<Item = Cluster>) {
        let chosen = clusters.into_iter().map(|cluster| Chosen {
            cluster,
            reason: None,
            score: None,
            group: None,
        });
        let told = DecisionSet {
            chosen: chosen.collect(),
            ..DecisionSet::default()
        };
        self.followed.entry(decision.clone()).or_default().told = Some(Arc::new(told));
        self.touched.insert(decision);
    }

    /// A list begins; it is going to bring every slice there is.
    pub fn list_began(&mut self) {
        self.certain = false;
        self.listing = Some(BTreeSet::new());
    }

    /// The list is complete: slices that it did not bring are gone.
    pub fn list_ended(&mut self) {
        if let Some(listed) = self.listing.take() {
            let gone: Vec<SliceKey> = self
                .slices
                .keys()
                .filter(|key| !listed.contains(*key))
                .cloned()
                .collect();
            for key in gone {
                self.delete(&key);
            }
        }
        self.certain = true;
    }

    /// What is known may be out of date, until [`Decisions::trust`]. For sources that find out themselves what is gone.
    pub fn doubt(&mut self) {
        self.certain = false;
    }

    /// What is known is all there is.
    pub fn trust(&mut self) {
        self.certain = true;
    }

    /// A slice is there, and this is what it says.
    pub fn apply(&mut self, slice: Slice) {
        let key = slice.key();
        if let Some(listed) = &mut self.listing {
            listed.insert(key.clone());
        }
        let decision = self.options.discovery.decision_of(&slice);
        if let Some(old) = self.slices.get(&key) {
            if *old == slice {
                return;
            }
            let before = self.options.discovery.decision_of(old);
            if before != decision {
                self.leave(before, &key);
            }
        }
        self.members
            .entry(decision.clone())
            .or_default()
            .insert(key.clone());
        self.touched.insert(decision);
        self.slices.insert(key, slice);
    }

    /// A slice is known to be gone.
    pub fn delete(&mut self, key: &SliceKey) {
        if let Some(old) = self.slices.remove(key) {
            self.leave(self.options.discovery.decision_of(&old), key);
        }
    }

    fn leave(&mut self, decision: DecisionId, key: &SliceKey) {
        if let Some(members) = self.members.get_mut(&decision) {
            members.remove(key);
            if members.is_empty() {
                self.members.remove(&decision);
            }
        }
        self.touched.insert(decision);
    }

    /// What the consumer has not been told yet. Nothing while what is known may be out of date.
    pub fn updates(&mut self, now: Duration) -> Vec<Update> {
        if !self.certain {
            return Vec::new();
        }
        let due = self.followed.iter().filter(|(_, followed)| {
            let mut times = followed.leaving.values();
            times.any(|at| *at <= now)
        });
        let due: Vec<DecisionId> = due.map(|(decision, _)| decision.clone()).collect();
        let mut look_at = std::mem::take(&mut self.touched);
        look_at.extend(due);
        look_at
            .into_iter()
            .filter_map(|decision| self.look(decision, now))
            .collect()
    }

    /// When a cluster counts as removed without anything being heard.
    pub fn next_due(&self) -> Option<Duration> {
        let times = self
            .followed
            .values()
            .flat_map(|followed| followed.leaving.values());
        times.min().copied().filter(|_| self.certain)
    }

    /// What the consumer was told about a decision: nothing of one that it does not follow or that was never whole.
    pub fn told(&self, decision: &DecisionId) -> Option<&Arc<DecisionSet>> {
        self.followed.get(decision)?.told.as_ref()
    }

    /// Every decision that the consumer was told about.
    pub fn all(&self) -> impl Iterator<Item = (&DecisionId, &Arc<DecisionSet>)> {
        let followed = self.followed.iter();
        followed.filter_map(|(decision, followed)| Some((decision, followed.told.as_ref()?)))
    }

    /// Decisions whose slices are in no state to act on, with the reason.
    pub fn held(&self) -> impl Iterator<Item = (&DecisionId, &Hold)> {
        let followed = self.followed.iter();
        followed.filter_map(|(decision, followed)| Some((decision, followed.hold.as_ref()?)))
    }

    /// The slices of a decision as they are now, whether or not they are acted on.
    pub fn slices(&self, decision: &DecisionId) -> impl Iterator<Item = &Slice> {
        let keys = self.members.get(decision);
        keys.into_iter().flatten().filter_map(|key| self.slices.get(key))
    }

    fn look(&mut self, decision: DecisionId, now: Duration) -> Option<Update> {
        let keys = self.members.get(&decision);
        let slices: Vec<&Slice> = keys
            .into_iter()
            .flatten()
            .filter_map(|key| self.slices.get(key))
            .collect();
        if !slices.iter().any(|slice| self.options.discovery.finds(slice)) {
            return self.gone(decision);
        }
        let followed = self.followed.entry(decision.clone()).or_default();
        let acted_on = followed.told.as_ref().and_then(|told| told.revision.as_ref());
        let alone = match slices[..] {
            [slice] => Some(slice.key()),
            _ => None,
        };
        let set = match assemble_after(slices, acted_on) {
            Ok(set) => set,
            Err(hold) => {
                followed.alone = None;
                return followed.held(decision, hold);
            }
        };
        // One object changes in one piece, and a revision is in one piece: what is not there is not on its way.
        let whole = set.revision.is_some() || (alone.is_some() && alone == followed.alone);
        let settle = if whole {
            Duration::ZERO
        } else {
            self.options.settle
        };
        followed.alone = alone;
        followed.take(decision, set, settle, now, self.options.order)
    }

    fn gone(&mut self, decision: DecisionId) -> Option<Update> {
        let followed = self.followed.remove(&decision)?;
        let changes = match followed.told {
            Some(told) => {
                let removed = told.clusters().cloned().map(Change::Removed);
                removed.chain([Change::Gone]).collect()
            }
            // Nothing was told of it but that it could not be acted on.
            None => Vec::new(),
        };
        Some(Update {
            decision,
            changes,
            set: Arc::default(),
            hold: None,
        })
    }
}

impl Followed {
    fn held(&mut self, decision: DecisionId, hold: Hold) -> Option<Update> {
        // A reader that waits for a whole revision does not count down besides.
        self.leaving.clear();
        if self.hold.as_ref() == Some(&hold) {
            return None;
        }
        self.hold = Some(hold);
        Some(Update {
            decision,
            changes: Vec::new(),
            set: self.told.clone().unwrap_or_default(),
            hold: self.hold.clone(),
        })
    }

    fn take(
        &mut self,
        decision: DecisionId,
        mut set: DecisionSet,
        settle: Duration,
        now: Duration,
        order: Order,
    ) -> Option<Update> {
        let lingering = self.lingering(&set, settle, now);
        if let Some(told) = &self.told {
            put_back(&mut set.chosen, told, &lingering);
        }
        let changes = difference(self.told.as_deref(), &set, order);
        let released = self.hold.take().is_some();
        let said = |set: &DecisionSet| {
            let mut chosen = set.chosen.clone();
            chosen.sort_by(|a, b| a.cluster.cmp(&b.cluster));
            (chosen, set.problems.clone(), set.placement_key.clone())
        };
        let news =
            released || !changes.is_empty() || self.told.as_ref().is_none_or(|told| said(told) != said(&set));
        let set = Arc::new(set);
        self.told = Some(set.clone());
        news.then_some(Update {
            decision,
            changes,
            set,
            hold: None,
        })
    }

    /// Clusters that were told, are in no slice, and do not count as removed yet.
    fn lingering(&mut self, set: &DecisionSet, settle: Duration, now: Duration) -> BTreeSet<Cluster> {
        let has = set.as_a_set();
        // A cluster that seems absent may be the one that cannot be read.
        let hidden = set.problems.iter().any(|problem| problem.hides_a_cluster);
        let told = self.told.iter().flat_map(|told| told.clusters());
        let mut lingering = BTreeSet::new();
        let mut leaving = BTreeMap::new();
        for cluster in told.filter(|cluster| !has.contains(cluster)) {
            if hidden {
                lingering.insert(cluster.clone());
                continue;
            }
            let until = self.leaving.get(cluster).copied().unwrap_or(now + settle);
            if settle > Duration::ZERO && now < until {
                lingering.insert(cluster.clone());
                leaving.insert(cluster.clone(), until);
            }
        }
        self.leaving = leaving;
        lingering
    }
}

/// Puts clusters that linger behind the ones that they were behind before, so that waiting for them changes no order.
fn put_back(chosen: &mut Vec<Chosen>, told: &DecisionSet, lingering: &BTreeSet<Cluster>) {
    let mut before: Option<&Cluster> = None;
    for old in &told.chosen {
        if lingering.contains(&old.cluster) {
            let place = before.and_then(|before| chosen.iter().position(|chosen| chosen.cluster == *before));
            chosen.insert(place.map_or(0, |place| place + 1), old.clone());
        }
        before = Some(&old.cluster);
    }
}
