//! Failed requests in the log: one line for each cause, then a count.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::runtime::watcher;
use portolan_api::count::counted;
use tokio::time::Instant;

use super::limiter::{Ends, Limiter, Line, Recovery};
use super::words::time_span;
use crate::failure::{Failure, error_chain, shortened};

/// Characters of an error in a line. With the operation around it the line stays below 500.
const ERROR: usize = 280;
/// What is over in less than this happens every day, where objects change and go while they are written.
const EVERYDAY: Duration = Duration::from_secs(20);
/// For how long a watch that failed counts as failing unless it fails again: longer than a request may take and than the
/// pause before the next attempt.
const FAILING: Duration = Duration::from_secs(120);
/// A resource that cannot be read for so long is a reason not to be ready.
const LASTING: Duration = Duration::from_secs(5);

/// What was tried: `patch placements/status shop/web`.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// The verb of the API: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: &'a str,
    /// The plural, with its group where that is known.
    pub resource: &'a str,
    /// Namespace and name of the object; empty for a list.
    pub object: &'a str,
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.resource)?;
        match self.object {
            "" => Ok(()),
            object => write!(formatter, " {}", shortened(object, 120)),
        }
    }
}

/// What failures have in common that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The server does not answer at all.
    Unreachable,
    /// The server does not accept the credentials.
    Unauthorized,
    /// The server answers, but is overloaded or broken.
    Broken { code: u16 },
    /// An operation that is not allowed.
    Forbidden { operation: String },
    /// An operation that cannot be carried out on some objects.
    Objects { operation: String, failure: Failure },
}

impl Cause {
    /// The cause, and the subject of it that failed.
    fn of(operation: Operation<'_>, error: &kube::Error) -> (Cause, String) {
        let asked = format!("{} {}", operation.verb, operation.resource);
        let code = match error {
            kube::Error::Api(status) => Some(status.code),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Some(200),
            _ => None,
        };
        match (code, Failure::of(error)) {
            (Some(401), _) => (Cause::Unauthorized, asked),
            (Some(403), _) => (Cause::Forbidden { operation: asked }, String::new()),
            (Some(code), Failure::Transient) => (Cause::Broken { code }, asked),
            (None, Failure::Transient) => (Cause::Unreachable, asked),
            (_, failure) => {
                let cause = Cause::Objects {
                    operation: asked,
                    failure,
                };
                (cause, operation.object.to_owned())
            }
        }
    }

    /// What a success of an operation says about the cause.
    fn ended_by(&self, operation: Operation<'_>) -> Ends {
        let asked = || format!("{} {}", operation.verb, operation.resource);
        match self {
            Cause::Unreachable | Cause::Unauthorized => Ends::All,
            Cause::Broken { .. } => Ends::Subject(asked()),
            Cause::Forbidden { operation: failed } if *failed == asked() => Ends::All,
            Cause::Objects {
                operation: failed, ..
            } if *failed == asked() => Ends::Subject(operation.object.to_owned()),
            Cause::Forbidden { .. } | Cause::Objects { .. } => Ends::Nothing,
        }
    }

    /// Whether the failure is part of everyday life unless it lasts: objects change and go while they are written.
    fn is_everyday(&self) -> bool {
        matches!(
            self,
            Cause::Objects {
                failure: Failure::Conflict | Failure::Missing,
                ..
            }
        )
    }
}

/// Failures of requests to one server: what is said of them in the log, and which watches fail. Clones share the counts.
#[derive(Clone, Debug)]
pub struct FailureLog(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    /// The server in messages: `the hub`.
    server: &'static str,
    /// What to do about credentials that it refuses.
    renewal: String,
    /// Whether nothing fails, so that the usual success costs one look.
    is_quiet: AtomicBool,
    /// Whether there may be objects that cannot be read, so that reading one costs one look.
    pub(super) has_unreadable: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    limiter: Limiter<Cause>,
    /// When the credentials were last refused, with the text for probes.
    refusal: Option<(Instant, String)>,
    /// Resources that cannot be read.
    reading: BTreeMap<String, Unread>,
    /// Objects that cannot be read, by resource and place, and why.
    pub(super) unreadable: BTreeMap<(String, String), String>,
}

/// A resource that cannot be read.
#[derive(Debug)]
struct Unread {
    /// When that was seen first, and last.
    since: Instant,
    at: Instant,
    /// For probes.
    text: String,
    /// Whether there was no answer at all: then any answer says that it is over.
    is_unanswered: bool,
}

impl FailureLog {
    /// A log of requests to `server`, as it is called in messages: `the hub`.
    pub fn new(server: &'static str) -> FailureLog {
        FailureLog::advising(server, "renew the kubeconfig or the token".to_owned())
    }

    /// The same, with what to do about credentials that the server refuses.
    pub fn advising(server: &'static str, renewal: String) -> FailureLog {
        FailureLog(Arc::new(Shared {
            server,
            renewal,
            is_quiet: AtomicBool::new(true),
            has_unreadable: AtomicBool::new(false),
            known: Mutex::default(),
        }))
    }

    /// A request failed.
    pub fn failed(&self, operation: Operation<'_>, error: &kube::Error) {
        if is_leaving(error) {
            // Every object of a namespace that is deleted is refused for a moment.
            tracing::debug!("cannot {operation}: {}", shortened(&error_chain(error), ERROR));
            return;
        }
        let (cause, subject) = Cause::of(operation, error);
        self.count(operation, cause, &subject, &error_chain(error));
    }

    /// The same where the class of a failure and its text are all that is known.
    pub fn failed_as(&self, operation: Operation<'_>, failure: Failure, error: &str) {
        let asked = format!("{} {}", operation.verb, operation.resource);
        let (cause, subject) = match failure {
            Failure::Transient => (Cause::Broken { code: 0 }, asked),
            // As `error_chain` begins the text of an answer.
            Failure::Forbidden if error.starts_with("401 ") => (Cause::Unauthorized, asked),
            Failure::Forbidden => (Cause::Forbidden { operation: asked }, String::new()),
            failure => {
                let cause = Cause::Objects {
                    operation: asked,
                    failure,
                };
                (cause, operation.object.to_owned())
            }
        };
        self.count(operation, cause, &subject, error);
    }

    fn count(&self, operation: Operation<'_>, cause: Cause, subject: &str, error: &str) {
        let now = Instant::now();
        self.0.is_quiet.store(false, Ordering::Relaxed);
        let mut known = self.lock();
        let over = match cause {
            // 0 is all that is known of some failures; it need not have been an answer. The others are those of a server that
            // is stopping, or of a proxy in front of a server that is gone.
            Cause::Unreachable | Cause::Broken { code: 0 | 502..=504 } => Vec::new(),
            _ => known.limiter.succeeded(
                |cause| match cause {
                    Cause::Unreachable => Ends::All,
                    _ => Ends::Nothing,
                },
                now,
            ),
        };
        let line = known.limiter.failed(&cause, subject, now);
        if cause == Cause::Unauthorized {
            known.refusal = Some((now, self.refused(error)));
        }
        drop(known);
        self.say_over(over, operation);
        let Some(line) = line else { return };
        let text = self.words(&cause, operation, error, line);
        match line {
            Line::Continues { lasting, .. } if lasting >= EVERYDAY => tracing::warn!("{text}"),
            _ if cause.is_everyday() => tracing::debug!("{text}"),
            _ => tracing::warn!("{text}"),
        }
    }

    /// A request was carried out.
    pub fn succeeded(&self, operation: Operation<'_>) {
        if self.0.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        self.ended(operation, |cause| cause.ended_by(operation), true);
    }

    fn ended(&self, operation: Operation<'_>, ends: impl Fn(&Cause) -> Ends, is_accepted: bool) {
        let mut known = self.lock();
        if is_accepted {
            known.refusal = None;
        }
        let over = known.limiter.succeeded(ends, Instant::now());
        self.0.is_quiet.store(known.limiter.is_quiet(), Ordering::Relaxed);
        drop(known);
        self.say_over(over, operation);
    }

    /// [`FailureLog::failed`] for an object that is made into text only here.
    pub fn request_failed(&self, verb: &str, resource: &str, object: &dyn fmt::Display, error: &kube::Error) {
        let object = object.to_string();
        let operation = Operation {
            verb,
            resource,
            object: &object,
        };
        self.failed(operation, error);
    }

    /// [`FailureLog::succeeded`] for an object that is made into text only if something fails.
    pub fn request_succeeded(&self, verb: &str, resource: &str, object: &dyn fmt::Display) {
        if self.0.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        let object = object.to_string();
        self.succeeded(Operation {
            verb,
            resource,
            object: &object,
        });
    }

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
    pub(crate) fn reading_failed(&self, operation: Operation<'_>, error: &kube::Error) {
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
    pub(crate) fn is_unanswered(&self) -> bool {
        let known = self.lock();
        let mut reading = known.reading.values();
        reading.any(|unread| unread.is_unanswered && unread.at.elapsed() < FAILING)
    }

    /// The server answered. A watch that goes on says so only when something changes.
    pub(crate) fn answered(&self) {
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

    /// That the server does not accept the credentials, if it said so last.
    pub fn refusal(&self) -> Option<String> {
        let known = self.lock();
        let (_, text) = known.refusal.as_ref().filter(|(at, _)| at.elapsed() < FAILING)?;
        Some(text.clone())
    }

    fn refused(&self, error: &str) -> String {
        let (server, text) = (self.0.server, shortened(error, ERROR));
        format!(
            "{server} does not accept the credentials ({text}); {}",
            self.0.renewal
        )
    }

    /// Why resources cannot be read, by resource.
    pub fn problems(&self) -> BTreeMap<String, String> {
        self.problems_since(Duration::ZERO)
    }

    /// The same, without what may be over in a moment: a server that is started again is away for seconds.
    pub(crate) fn lasting_problems(&self) -> BTreeMap<String, String> {
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

    fn words(&self, cause: &Cause, operation: Operation<'_>, error: &str, line: Line) -> String {
        let (server, error) = (self.0.server, shortened(error, ERROR));
        let mut text = match cause {
            Cause::Unreachable => format!("cannot {operation}: {server} cannot be reached: {error}"),
            Cause::Unauthorized => {
                format!(
                    "cannot {operation}: {error}; {server} does not accept the credentials; {}",
                    self.0.renewal
                )
            }
            Cause::Objects {
                failure: Failure::Conflict,
                ..
            } => format!(
                "cannot {operation}: {error}; conflict: the object changed while it was being written; evaluating again"
            ),
            _ => format!("cannot {operation}: {error}"),
        };
        if let Line::Continues {
            times: times @ 2..,
            lasting,
        } = line
        {
            text.push_str(&format!(
                " ({} since the last line, failing for {})",
                counted(times, "failure"),
                time_span(lasting)
            ));
        }
        text
    }

    fn say_over(&self, over: Vec<Recovery<Cause>>, operation: Operation<'_>) {
        for Recovery {
            cause,
            times,
            lasting,
        } in over
        {
            let (server, lasting) = (self.0.server, time_span(lasting));
            let times = counted(times, "request");
            match &cause {
                Cause::Unreachable => {
                    tracing::info!("{server} answers again after {lasting} ({times} failed)");
                }
                Cause::Unauthorized => {
                    tracing::info!("{server} accepts the credentials again after {lasting} ({times} failed)");
                }
                cause if cause.is_everyday() => {}
                Cause::Objects { operation, .. } | Cause::Forbidden { operation } => {
                    tracing::info!("{operation} works again after {lasting} ({times} failed)");
                }
                Cause::Broken { .. } => {
                    let Operation { verb, resource, .. } = operation;
                    tracing::info!("{verb} {resource} works again after {lasting} ({times} failed)");
                }
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a watch is to be begun anew because it was behind for too long.
fn is_expired(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 410)
}

/// Whether the namespace of the object is being deleted.
fn is_leaving(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status)
        if status.code == 403 && status.message.contains("because it is being terminated"))
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
    async fn credentials_that_are_refused_are_so_until_a_request_is_answered() {
        let log = FailureLog::new("the hub");
        assert_eq!(log.refusal(), None);
        let patch = Operation {
            verb: "patch",
            resource: RESOURCE,
            object: "shop/web",
        };
        log.failed(patch, &answered(401, "Unauthorized", "Unauthorized"));
        let refusal = log.refusal().unwrap();
        assert!(
            refusal.contains("the hub does not accept the credentials"),
            "{refusal}"
        );
        // A watch that was begun before goes on.
        log.change_came(RESOURCE);
        assert!(log.refusal().is_some());
        log.succeeded(patch);
        assert_eq!(log.refusal(), None);
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

    #[test]
    fn failures_are_counted_by_what_they_have_in_common() {
        let operation = |object: &'static str| Operation {
            verb: "patch",
            resource: "works",
            object,
        };
        let cause = |error: &kube::Error, object: &'static str| Cause::of(operation(object), error);
        let gone = kube::Error::Service("connection refused".into());
        assert_eq!(
            cause(&gone, "a").0,
            cause(&kube::Error::Service("other".into()), "b").0
        );
        assert_eq!(cause(&answered(401, "", ""), "a").0, Cause::Unauthorized);
        assert_eq!(cause(&forbidden(), "a"), cause(&forbidden(), "b"));
        assert_ne!(
            cause(&answered(500, "", ""), "a").0,
            cause(&answered(503, "", ""), "a").0
        );
        let (invalid, subject) = cause(&answered(422, "Invalid", ""), "shop/web");
        assert_eq!(subject, "shop/web");
        assert_eq!(
            invalid.ended_by(operation("shop/web")),
            Ends::Subject("shop/web".to_owned())
        );
        assert!(!invalid.is_everyday() && cause(&answered(409, "Conflict", ""), "a").0.is_everyday());
    }

    #[test]
    fn a_namespace_that_is_being_deleted_is_no_missing_right() {
        let message = "unable to create new content in namespace shop because it is being terminated";
        assert!(is_leaving(&answered(403, "Forbidden", message)));
        assert!(!is_leaving(&forbidden()));
    }
}
