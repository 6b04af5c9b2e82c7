//! What is found out about a work before anything is taken for it: its kinds, and what its executor may do. Those are questions
//! to the member cluster, as many as the author of the work likes, and nobody waits for an object until they are answered. What a
//! work may not have it does not take, so that nobody waits for it later either.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::items::{Item, Reader};
use super::work_reconciler::{ReconcileError, WorkReconciler};
use crate::report::ApplyOutcome;
use crate::spoke::{Place, Problem};
use crate::work::{DesiredManifests, Executor, Kinds, Strategy, Work};

/// What was found out. It counts for one look at the work.
pub(super) struct Prepared {
    /// The kinds that are known to this look: a manifest of another one is not applied.
    pub(super) kinds: Arc<Kinds>,
    /// Whether all of its kinds were answered.
    pub(super) learned: Result<(), ReconcileError>,
    /// Manifests that are not applied, by their numbers: why, and in whose name their objects are read.
    refused: BTreeMap<usize, (ApplyOutcome, Reader)>,
    /// Those and the ones that are only looked at.
    pub(super) idle: BTreeSet<usize>,
}

impl Prepared {
    /// Nothing of the work is known to be refused.
    pub(super) fn open(kinds: Arc<Kinds>, learned: Result<(), ReconcileError>) -> Prepared {
        Prepared {
            kinds,
            learned,
            refused: BTreeMap::new(),
            idle: BTreeSet::new(),
        }
    }

    /// Refuses what was refused before. A right that was granted meanwhile counts the next time: the object was not taken.
    pub(super) fn refuse(&self, items: &mut [Item]) {
        for (number, (applied, reader)) in &self.refused {
            if let Some(item) = items.get_mut(*number) {
                item.refused = Some(applied.clone());
                item.reader = reader.clone();
            }
        }
    }
}

impl WorkReconciler {
    /// Finds out what it takes to know which objects the work has a say in.
    pub(super) async fn prepare(&self, work: &Work) -> Prepared {
        let Some(desired) = work.desired.as_ref().ok().filter(|_| !work.deleting) else {
            return Prepared::open(self.kinds().clone(), Ok(()));
        };
        let learned = self.learn_for(desired).await;
        let known = self.known();
        let mut prepared = Prepared::open(known.kinds.clone(), learned);
        // Without an executor nothing is asked, and what the agent may do is found out by doing it.
        if prepared.learned.is_err() || desired.executor == Executor::Agent {
            return prepared;
        }
        let mut items = self.items(work, desired, &known).await;
        self.confine(work, desired, &mut items).await;
        for (number, item) in items.into_iter().enumerate() {
            let strategy = item.target.as_ref().map(|target| &target.config.strategy);
            if item.refused.is_some() || strategy == Some(&Strategy::ReadOnly) {
                prepared.idle.insert(number);
            }
            if let Some(applied) = item.refused {
                prepared.refused.insert(number, (applied, item.reader));
            }
        }
        prepared
    }

    /// Forgets the kinds of an `apiVersion` after the member cluster had no place for one of them: its definition may have been made
    /// anew with another plural or scope. The next look asks again.
    pub(super) fn doubt_kinds(&self, place: &Place, problem: &Problem) {
        if problem.is_unserved() {
            Arc::make_mut(&mut self.kinds()).forget(&place.api_version());
        }
    }

    /// Finds out about the kinds of a work, which may have come with it: what was answered before does not count.
    async fn learn_for(&self, desired: &DesiredManifests) -> Result<(), ReconcileError> {
        if desired.excess.is_some() {
            return Ok(());
        }
        let unknown = self.kinds().unknown(desired.manifests.iter().flatten());
        self.learn(unknown).await
    }
}
