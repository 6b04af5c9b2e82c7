//! What came of a work, said to the hub.

use portolan_api::labels::conditions;
use portolan_runtime::failure::Failure;
use portolan_runtime::logging::Operation;
use tokio::time::Instant;

use super::work_queue::Outcome;
use super::work_reconciler::{ReconcileError, WorkReconciler};
use crate::cost::Cost;
use crate::report::{self, ManifestResult, ObservedObject};
use crate::spoke::Problem;
use crate::work::{Account, DesiredManifests, Executor, Status, Work};

impl WorkReconciler {
    /// Says what came of it.
    pub(super) async fn conclude(
        &self,
        work: &Work,
        desired: &DesiredManifests,
        findings: Vec<ManifestResult>,
        mut cost: Cost,
        outcome: Outcome,
    ) -> Result<Outcome, ReconcileError> {
        let seen = findings
            .iter()
            .filter(|finding| finding.found != ObservedObject::Hidden);
        let targets = seen.filter_map(|finding| finding.target.as_ref());
        let watched = targets.filter(|target| target.config.watched);
        let user = desired.executor.account().map(Account::user);
        match &desired.executor {
            Executor::Invalid(_) => self.watches.follow(&work.key, None, std::iter::empty()),
            _ => self.watches.follow(&work.key, user.as_deref(), watched),
        }
        let now = self.clock.now();
        let status = || report::report(work, &findings, &mut cost, now);
        let status = self.computing.compute(status).await;
        self.tell(work, status).await?;
        Ok(outcome)
    }

    /// Writes the status, if it is another one. In place of a status that the hub refuses, it writes that.
    pub(super) async fn tell(&self, work: &Work, status: Status) -> Result<(), ReconcileError> {
        self.monitor.told(work, &status);
        self.log_applied(work, &status);
        if status == work.status {
            return Ok(());
        }
        let problem = match self.write(work, &status).await {
            Err(problem) if is_final(&problem) => problem.to_string(),
            written => return written.map_err(ReconcileError::Hub),
        };
        let instead = report::unwritable(work, &problem, self.clock.now());
        if instead != work.status {
            self.write(work, &instead).await.map_err(ReconcileError::Hub)?;
        }
        Err(ReconcileError::Hub(Problem::Refused(problem)))
    }

    /// The log of an agent says what its works lack.
    fn log_applied(&self, work: &Work, status: &Status) {
        let operation = Operation {
            verb: "apply all manifests of",
            resource: work.key.kind.resource(),
            object: &work.key.name,
        };
        match complaint(work, status) {
            Some(message) => self.monitor.spoke.failed_as(operation, Failure::Invalid, message),
            None => self.monitor.spoke.completed(operation),
        }
    }

    async fn write(&self, work: &Work, status: &Status) -> Result<(), Problem> {
        let written = self.hub.report(work, status).await?;
        self.queue().answered(work, written, Instant::now());
        Ok(())
    }
}

/// What a status says of manifests that are not applied. While a work is deleted its objects go, and none is missing.
fn complaint<'s>(work: &Work, status: &'s Status) -> Option<&'s str> {
    let mut said = status.conditions.iter();
    let applied = said.find(|condition| condition.type_ == conditions::APPLIED)?;
    (applied.status == "False" && !work.deleting).then_some(applied.message.as_str())
}

/// Whether the hub will never take the status. Where the store is too small for a work with a status of the usual size, a server
/// says so as if it had an error of its own.
fn is_final(problem: &Problem) -> bool {
    match problem {
        Problem::Refused(_) => true,
        Problem::Unanswered(why) => why.contains("request is too large"),
        Problem::NotFound(_) | Problem::Conflict(_) | Problem::TooLarge(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;
    use crate::work::{WorkKind, read};

    #[test]
    fn the_log_says_what_is_not_applied_unless_the_work_is_deleted() {
        let status = |status: &str| {
            let applied = json!({
                "type": conditions::APPLIED, "status": status, "reason": "R",
                "message": "ConfigMap shop/web: it is refused", "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            Status {
                conditions: vec![serde_json::from_value(applied).unwrap()],
                manifests: Vec::new(),
            }
        };
        let nothing = ObjectMeta::default();
        let mut work = read(WorkKind::ManifestWork, &nothing, &Value::Null, &Value::Null);
        assert_eq!(complaint(&work, &status("True")), None);
        assert_eq!(
            complaint(&work, &status("False")),
            Some("ConfigMap shop/web: it is refused")
        );
        work.deleting = true;
        assert_eq!(complaint(&work, &status("False")), None);
    }

    #[test]
    fn a_status_too_large_for_the_store_is_refused_and_an_unanswered_one_is_not() {
        let said = |message: &str, code| {
            let status = kube::core::Status::failure(message, "").with_code(code);
            is_final(&Problem::of(&kube::Error::Api(Box::new(status))))
        };
        assert!(said("etcdserver: request is too large", 500));
        assert!(said("Request entity too large: limit is 3145728", 413));
        assert!(!said("etcdserver: leader changed", 500));
        assert!(!said("the object has been modified", 409));
    }
}
