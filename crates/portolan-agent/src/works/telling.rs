//! What came of a work, said to the hub.

use tokio::time::Instant;

use super::desk::Outcome;
use super::pass::{Passes, Trouble};
use crate::cost::Cost;
use crate::report::{self, Finding, Found};
use crate::spoke::Problem;
use crate::work::{Account, Executor, Status, Wish, Work};

impl Passes {
    /// Says what came of it.
    pub(super) async fn conclude(
        &self,
        work: &Work,
        wish: &Wish,
        findings: Vec<Finding>,
        mut cost: Cost,
        outcome: Outcome,
    ) -> Result<Outcome, Trouble> {
        let seen = findings.iter().filter(|finding| finding.found != Found::Hidden);
        let targets = seen.filter_map(|finding| finding.target.as_ref());
        let watched = targets.filter(|target| target.config.watched);
        let user = wish.executor.account().map(Account::user);
        match &wish.executor {
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
    pub(super) async fn tell(&self, work: &Work, status: Status) -> Result<(), Trouble> {
        self.monitor.told(work, &status);
        if status == work.status {
            return Ok(());
        }
        let problem = match self.write(work, &status).await {
            Err(problem) if is_final(&problem) => problem.to_string(),
            written => return written.map_err(Trouble::Hub),
        };
        let instead = report::unwritable(work, &problem, self.clock.now());
        if instead != work.status {
            self.write(work, &instead).await.map_err(Trouble::Hub)?;
        }
        Err(Trouble::Hub(Problem::Refused(problem)))
    }

    async fn write(&self, work: &Work, status: &Status) -> Result<(), Problem> {
        let written = self.hub.report(work, status).await?;
        self.desk().answered(work, written, Instant::now());
        Ok(())
    }
}

/// Whether the hub will never take the status. Where the store is too small for a work with a status of the usual size, a server
/// says so as if it had an error of its own.
fn is_final(problem: &Problem) -> bool {
    match problem {
        Problem::Refused(_) => true,
        Problem::Unanswered(why) => why.contains("request is too large"),
        Problem::NotFound(_) | Problem::Conflict(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_the_store_has_no_room_for_is_refused_and_one_that_got_no_answer_is_not() {
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
