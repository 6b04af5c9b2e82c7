//! Everybody who may own an object that is to be removed: works of both kinds as the hub has them now, and records.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_runtime::logging::Operation;
use tokio::time::Instant;

use super::judging::Answers;
use super::known::Known;
use super::work_queue::Works;
use super::work_reconciler::{ReconcileError, WorkReconciler};
use crate::plan::{RecordOwners, Sought};
use crate::record::{Record, RecordError};
use crate::sabotage::{Rule, sabotaged};
use crate::spoke::Problem;
use crate::work::{ObjectId, Work, WorkKey, WorkKind};

/// Possible owners of an object beside the works that the agent knows.
pub(super) struct Others {
    /// The works of the other kind as the hub has them now.
    pub(super) listed: Known,
    pub(super) owners: RecordOwners,
    /// What executors of works that were not judged yet may do.
    pub(super) answers: Answers,
}

impl WorkReconciler {
    /// Everything that can tell that one of these objects has another owner.
    ///
    /// Each kind has a watch of its own, and one may lag behind the other: that an object was handed from a work of one
    /// kind to one of the other may be known by half. So the hub is asked for the other kind.
    pub(super) async fn know_others(
        &self,
        key: &WorkKey,
        record: &Record,
        ids: &[ObjectId],
    ) -> Result<Others, ReconcileError> {
        let listed = match sabotaged(Rule::KnowAllFirst) {
            true => Vec::new(),
            false => self
                .works_of(key.kind.other())
                .await
                .map_err(ReconcileError::Hub)?,
        };
        let listed = listed.into_iter().map(|work| (work.key.clone(), Arc::new(work)));
        let listed: Works = listed.collect();
        let unknown = self.computing.compute(|| self.unknown_kinds(&listed, ids)).await;
        // A kind that nobody knows is in doubt for those who ask for it, and holds nobody else up.
        if let Err(trouble) = self.learn(unknown).await {
            let operation = Operation {
                verb: "find the kinds of the manifests of",
                resource: key.kind.resource(),
                object: &key.name,
            };
            self.log(operation, &trouble);
        }
        let listed = Known::new(listed, self.kinds().clone(), self.judged().clone());
        let mut records = self.all(WorkKind::ManifestWork).await?;
        records.extend(self.all(WorkKind::Work).await?);
        Ok(Others {
            listed,
            owners: RecordOwners::of(&records, record, ids),
            answers: Answers::default(),
        })
    }

    /// The `apiVersion`s to be asked for before it can be told whether a work means one of these objects. Manifests that mean
    /// none of them, whatever their kind is, are nobody's business here: their authors would decide how long others wait. What
    /// the member cluster has just not served is in doubt, and asked for again later.
    fn unknown_kinds(&self, listed: &Works, ids: &[ObjectId]) -> BTreeSet<String> {
        let (known, sought, now) = (self.known(), Sought::new(ids), Instant::now());
        let works = known.works.values().chain(listed.values());
        let wishes = works.filter_map(|work| work.desired.as_ref().ok());
        let manifests = wishes.flat_map(|desired| desired.manifests.iter().flatten());
        let concerned = manifests.filter(|manifest| sought.may_be_meant_by(manifest));
        let mut unknown = known.kinds.unknown(concerned);
        let answered = self.answered();
        unknown.retain(|api_version| !answered.has(api_version, now));
        unknown
    }

    /// The works of a kind as the hub has them now. Works of the SIG are for those who may see them: a hub that never showed
    /// any to this agent has none for it.
    async fn works_of(&self, kind: WorkKind) -> Result<Vec<Work>, Problem> {
        match self.hub.works(kind).await {
            Err(Problem::Refused(_)) if kind == WorkKind::Work && !self.queue().has_any(kind) => {
                Ok(Vec::new())
            }
            works => works,
        }
    }

    /// The records of a kind. An agent that may not see those of Works, and has none to deal with, has no such records; what
    /// another agent has applied for one names its record as its owner.
    pub(super) async fn all(&self, kind: WorkKind) -> Result<Vec<Record>, RecordError> {
        match self.records.all(kind).await {
            Err(RecordError::Failed(Problem::Refused(_)))
                if kind == WorkKind::Work && !self.queue().has_any(kind) =>
            {
                Ok(Vec::new())
            }
            records => records,
        }
    }
}
