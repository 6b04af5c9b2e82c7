//! The works and kinds that are known at one moment. What is computed from them holds nobody up who learns of more.

use std::sync::{Arc, OnceLock};

use super::work_queue::Works;
use super::work_reconciler::{WorkReconciler, lock};
use crate::plan::{Judgements, Ownership};
use crate::work::Kinds;

/// What is known at one moment.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) works: Works,
    pub(super) kinds: Arc<Kinds>,
    pub(super) judged: Arc<Judgements>,
    claims: Arc<OnceLock<Ownership>>,
}

/// What is asked for, as long as it is the same.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    version: u64,
    kinds: Arc<Kinds>,
    claims: Arc<OnceLock<Ownership>>,
}

impl Known {
    pub(super) fn new(works: Works, kinds: Arc<Kinds>, judged: Arc<Judgements>) -> Known {
        Known {
            works,
            kinds,
            judged,
            claims: Arc::default(),
        }
    }

    /// What the works ask for. Computed once for all who know the same.
    pub(super) fn claims(&self) -> &Ownership {
        self.claims
            .get_or_init(|| Ownership::new(&self.works, &self.kinds))
    }
}

impl WorkReconciler {
    /// The same with these kinds, which may have been all that were known a while ago.
    pub(super) fn known_with(&self, kinds: &Arc<Kinds>) -> Known {
        let known = self.known();
        match known.kinds == *kinds {
            true => known,
            false => Known::new(known.works, kinds.clone(), known.judged),
        }
    }

    pub(super) fn known(&self) -> Known {
        let (works, version) = {
            let queue = self.queue();
            (queue.works().clone(), queue.version())
        };
        let kinds = self.kinds().clone();
        let mut last = lock(&self.claims);
        if (last.version, &last.kinds) != (version, &kinds) {
            *last = Remembered {
                version,
                kinds: kinds.clone(),
                claims: Arc::default(),
            };
        }
        Known {
            works,
            kinds,
            judged: self.judged().clone(),
            claims: last.claims.clone(),
        }
    }
}
