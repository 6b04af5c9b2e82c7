//! Which resources cannot be read, for the log and for probes.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::runtime::watcher;
use tokio::time::Instant;

use super::cause::{Cause, Operation};
use super::failures::{ERROR, FAILING, FailureLog, Unread};
use super::limiter::Ends;
use crate::failure::{error_chain, shortened};

/// A resource that cannot be read for so long is a reason not to be ready.
const LASTING: Duration = Duration::from_secs(5);

impl FailureLog {
    /// A watch of a resource failed.
    pub fn watch_failed(&self, resource: &str, error: &watcher::Error) {
        let verb = match error {
            watcher::Error::InitialListFailed(_) => "list",
            _ => "watch",
        };
        let operation = Operation {
            verb,
            resource,
            object: "",
        };
        let answered;
        let error = match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => error,
            watcher::Error::WatchError(status) => {
                answered = kube::Error::Api(status.clone());
                &answered
            }
            watcher::Error::NoResourceVersion => {
                answered = kube::Error::Service("the list has no resourceVersion".into());
                &answered
            }
        };
        if is_expired(error) {
            // The server keeps changes for a while only; the list that follows brings what was missed.
            tracing::debug!("cannot {operation}: {}", shortened(&error_chain(error), ERROR));
            return;
        }
        self.reading_failed(operation, error);
    }

    /// Something failed without which nothing is decided.
    pub fn reading_failed(&self, operation: Operation<'_>, error: &kube::Error) {
        let (at, text) = (Instant::now(), self.problem(operation, error));
        let mut known = self.lock();
        let before = known.reading.get(operation.resource);
        let since = before
            .filter(|before| at - before.at < FAILING)
            .map_or(at, |before| before.since);
        let unread = Unread {
            since,
            at,
            text,
            is_unanswered: matches!(Cause::of(operation, error).0, Cause::Unreachable),
        };
        known.reading.insert(operation.resource.to_owned(), unread);
        drop(known);
        self.failed(operation, error);
    }

    /// A resource can be read: the server answered a request for its objects.
    pub fn reading_works(&self, resource: &str) {
        self.reading(resource, true);
    }

    /// A change came in. A watch goes on with credentials that are not accepted any more, so it says nothing about them.
    pub fn change_came(&self, resource: &str) {
        self.reading(resource, false);
    }

    fn reading(&self, resource: &str, is_answer: bool) {
        if self.0.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        self.lock().reading.remove(resource);
        for verb in ["get", "list", "watch"] {
            let operation = Operation {
                verb,
                resource,
                object: "",
            };
            let ends = |cause: &Cause| match cause {
                Cause::Unauthorized if !is_answer => Ends::Nothing,
                cause => cause.ended_by(operation),
            };
            self.ended(operation, ends, is_answer);
        }
    }

    /// Whether a resource cannot be read because the server did not answer.
    pub fn is_unanswered(&self) -> bool {
        let known = self.lock();
        let mut reading = known.reading.values();
        reading.any(|unread| unread.is_unanswered && unread.at.elapsed() < FAILING)
    }

    /// The server answered. A watch that goes on says so only when something changes.
    pub fn answered(&self) {
        self.lock().reading.retain(|_, unread| !unread.is_unanswered);
        let operation = Operation {
            verb: "get",
            resource: "version",
            object: "",
        };
        let ends = |cause: &Cause| match cause {
            Cause::Unreachable => Ends::All,
            _ => Ends::Nothing,
        };
        self.ended(operation, ends, false);
    }

    /// Why resources cannot be read, by resource.
    pub fn problems(&self) -> BTreeMap<String, String> {
        self.problems_since(Duration::ZERO)
    }

    /// The same, without what may be over in a moment: a server that is started again is away for seconds.
    pub fn lasting_problems(&self) -> BTreeMap<String, String> {
        self.problems_since(LASTING)
    }

    fn problems_since(&self, least: Duration) -> BTreeMap<String, String> {
        let known = self.lock();
        let failing = known
            .reading
            .iter()
            .filter(|(_, unread)| unread.at.elapsed() < FAILING && unread.since.elapsed() >= least);
        failing
            .map(|(resource, unread)| (resource.clone(), unread.text.clone()))
            .collect()
    }

    /// The failure for probes: the missing right, or the cause.
    fn problem(&self, operation: Operation<'_>, error: &kube::Error) -> String {
        let Operation { verb, resource, .. } = operation;
        let (server, text) = (self.0.server, shortened(&error_chain(error), ERROR));
        match error {
            kube::Error::Api(status) if status.code == 403 => {
                let user = match user(&status.message) {
                    Some(user) => format!(" for {}", shortened(user, 120)),
                    None => String::new(),
                };
                format!("{resource}: {verb} is forbidden{user}; grant the verbs get, list and watch")
            }
            kube::Error::Api(status) if status.code == 401 => {
                format!("{resource}: {}", self.refused(&error_chain(error)))
            }
            kube::Error::Api(_) | kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                format!("{resource}: {verb} failed: {text}")
            }
            _ => format!("{resource}: {server} cannot be reached: {text}"),
        }
    }
}

/// Whether a watch is to be begun anew because it was behind for too long.
fn is_expired(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 410)
}

/// The account in Kubernetes' message `User "NAME" cannot list resource …`.
fn user(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("User \"")?;
    rest.split_once('"').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    const RESOURCE: &str = "placements.cluster.open-cluster-management.io";

    fn answered(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure(message, reason).with_code(code)))
    }

    fn forbidden() -> kube::Error {
        let message = format!(
            "{RESOURCE} is forbidden: User \"system:serviceaccount:x:y\" cannot list resource \"placements\""
        );
        answered(403, "Forbidden", &message)
    }

    #[tokio::test]
    async fn a_watch_that_is_forbidden_names_the_account_and_the_verbs_until_it_works() {
        let log = FailureLog::new("the hub");
        log.watch_failed(RESOURCE, &watcher::Error::InitialListFailed(forbidden()));
        let expected = "placements.cluster.open-cluster-management.io: list is forbidden for \
                        system:serviceaccount:x:y; grant the verbs get, list and watch";
        assert_eq!(log.problems()[RESOURCE], expected);
        log.reading_works(RESOURCE);
        assert!(log.problems().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_does_not_fail_any_more_is_no_problem_even_if_nothing_happens() {
        let log = FailureLog::new("the hub");
        let gone = || kube::Error::Service("connection refused".into());
        log.watch_failed(RESOURCE, &watcher::Error::WatchStartFailed(gone()));
        assert!(log.problems()[RESOURCE].contains("the hub cannot be reached"));
        tokio::time::advance(FAILING).await;
        assert!(log.problems().is_empty());
    }
}
