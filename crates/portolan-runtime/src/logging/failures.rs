//! Failed requests in the log: one line for each cause, then a count.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_api::count::counted;
use tokio::time::Instant;

use super::cause::{Cause, Operation};
use super::limiter::{Ends, Limiter, Line, Recovery};
use super::unserved::Unserved;
use super::words::time_span;
use crate::failure::{Failure, error_chain, shortened};

/// Characters of an error in a line. With the operation around it the line stays below 500.
pub(super) const ERROR: usize = 280;
/// The server that every component talks to, in messages.
const HUB: &str = "the hub";
/// As rustls begins what it says of a certificate that is not the one of the kubeconfig.
const UNTRUSTED: &str = "invalid peer certificate";
/// What is over in less than this happens every day, where objects change and go while they are written.
const EVERYDAY: Duration = Duration::from_secs(20);
/// For how long a watch that failed counts as failing unless it fails again: longer than a request may take and than the
/// pause before the next attempt.
pub(super) const FAILING: Duration = Duration::from_secs(120);

/// Failures of requests to one server: what is said of them in the log, and which watches fail. Clones share the counts.
#[derive(Clone, Debug)]
pub struct FailureLog(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    /// The server in messages: `the hub`.
    pub(super) server: &'static str,
    /// What to do about credentials that it refuses.
    renewal: String,
    /// The flag of this process that installs definitions on that server, to end a sentence.
    pub(super) also_installs: &'static str,
    /// Whether nothing fails, so that the usual success costs one look.
    pub(super) is_quiet: AtomicBool,
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
    pub(super) reading: BTreeMap<String, Unread>,
    /// Objects that cannot be read, by resource and place, and why.
    pub(super) unreadable: BTreeMap<(String, String), String>,
    pub(super) unserved: Unserved,
}

/// A resource that cannot be read.
#[derive(Debug)]
pub(super) struct Unread {
    /// When that was seen first, and last.
    pub(super) since: Instant,
    pub(super) at: Instant,
    /// For probes.
    pub(super) text: String,
    /// Whether there was no answer at all: then any answer says that it is over.
    pub(super) is_unanswered: bool,
}

impl FailureLog {
    /// A log of requests to `server`, as it is called in messages: `the hub`.
    pub fn new(server: &'static str) -> FailureLog {
        FailureLog::with(
            server,
            "renew the kubeconfig or the token".to_owned(),
            " or --install-crds",
        )
    }

    /// The same of a process that installs no definitions there, with what to do about credentials that the server refuses.
    pub fn advising(server: &'static str, renewal: String) -> FailureLog {
        FailureLog::with(server, renewal, "")
    }

    fn with(server: &'static str, renewal: String, also_installs: &'static str) -> FailureLog {
        FailureLog(Arc::new(Shared {
            server,
            renewal,
            also_installs,
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
        match is_alarming(&cause, line) {
            true => tracing::warn!("{text}"),
            false => tracing::debug!("{text}"),
        }
    }

    /// A request was carried out.
    pub fn succeeded(&self, operation: Operation<'_>) {
        if self.0.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        self.ended(operation, |cause| cause.ended_by(operation), true);
    }

    /// What an operation was for is done, perhaps without a request: failures of the operation are over. Whether the server
    /// answers, and accepts the credentials, is not known from that.
    pub fn completed(&self, operation: Operation<'_>) {
        if self.0.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        let ends = |cause: &Cause| match cause {
            Cause::Unreachable | Cause::Unauthorized => Ends::Nothing,
            cause => cause.ended_by(operation),
        };
        self.ended(operation, ends, false);
    }

    pub(super) fn ended(&self, operation: Operation<'_>, ends: impl Fn(&Cause) -> Ends, is_accepted: bool) {
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

    /// That the server does not accept the credentials, if it said so last.
    pub fn refusal(&self) -> Option<String> {
        let known = self.lock();
        let (_, text) = known.refusal.as_ref().filter(|(at, _)| at.elapsed() < FAILING)?;
        Some(text.clone())
    }

    pub(super) fn refused(&self, error: &str) -> String {
        let (server, text) = (self.0.server, shortened(error, ERROR));
        format!(
            "{server} does not accept the credentials ({text}); {}",
            self.0.renewal
        )
    }

    fn words(&self, cause: &Cause, operation: Operation<'_>, error: &str, line: Line) -> String {
        let (server, error) = (self.0.server, shortened(error, ERROR));
        // Every component talks to the hub; where it talks to another server, the line says so.
        let place = match server {
            HUB => String::new(),
            server => format!(" on {server}"),
        };
        let mut text = match cause {
            Cause::Unreachable if error.contains(UNTRUSTED) => format!(
                "cannot {operation}: {server} cannot be reached: {error}; another server listens there, or it was set up anew \
                 since the kubeconfig was written: get its kubeconfig again"
            ),
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
                "cannot {operation}{place}: {error}; conflict: the object changed while it was being written; evaluating again"
            ),
            _ => format!("cannot {operation}{place}: {error}"),
        };
        if let Line::Continues {
            times: times @ 2..,
            lasting,
            ..
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
                    tracing::warn!("{server} answers again after {lasting} ({times} failed)");
                }
                Cause::Unauthorized => {
                    tracing::warn!("{server} accepts the credentials again after {lasting} ({times} failed)");
                }
                cause if cause.is_everyday() => {}
                Cause::Objects { operation, .. } | Cause::Forbidden { operation } => {
                    tracing::warn!("{operation} works again after {lasting} ({times} failed)");
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

/// Whether a failure deserves a warning: conflicts, and objects that are gone, only if one and the same object keeps failing.
/// At the start of a fleet there are many of them, each of another object.
fn is_alarming(cause: &Cause, line: Line) -> bool {
    match line {
        _ if !cause.is_everyday() => true,
        Line::Continues { longest, .. } => longest >= EVERYDAY,
        Line::Begins => false,
    }
}

/// Whether the namespace of the object is being deleted.
fn is_leaving(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status)
        if status.code == 403 && status.message.contains("because it is being terminated"))
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
    async fn what_is_done_without_a_request_says_nothing_about_the_server() {
        let log = FailureLog::new("the hub");
        let operation = |verb| Operation {
            verb,
            resource: RESOURCE,
            object: "shop/web",
        };
        let is_quiet = || log.0.is_quiet.load(Ordering::Relaxed);
        log.failed_as(operation("process"), Failure::Invalid, "no");
        log.failed(operation("list"), &kube::Error::Service("refused".into()));
        log.completed(operation("process"));
        assert!(!is_quiet(), "the hub is still out of reach");
        log.answered();
        assert!(is_quiet(), "what was to be processed is");
    }

    #[test]
    fn conflicts_of_many_objects_are_no_warning_and_one_that_lasts_is() {
        let cause = Cause::Objects {
            operation: "patch works".to_owned(),
            failure: Failure::Conflict,
        };
        let line = |longest| Line::Continues {
            times: 9,
            lasting: Duration::from_secs(60),
            longest,
        };
        assert!(!is_alarming(&cause, Line::Begins));
        assert!(!is_alarming(&cause, line(Duration::ZERO)));
        assert!(is_alarming(&cause, line(EVERYDAY)));
        assert!(is_alarming(&Cause::Unreachable, Line::Begins));
    }

    #[test]
    fn a_namespace_that_is_being_deleted_is_no_missing_right() {
        let message = "unable to create new content in namespace shop because it is being terminated";
        assert!(is_leaving(&answered(403, "Forbidden", message)));
        assert!(!is_leaving(&forbidden()));
    }

    #[test]
    fn a_certificate_that_is_not_trusted_is_said_with_what_to_do() {
        let operation = Operation {
            verb: "list",
            resource: RESOURCE,
            object: "",
        };
        let error = "invalid peer certificate: UnknownIssuer";
        let text = FailureLog::new(HUB).words(&Cause::Unreachable, operation, error, Line::Begins);
        assert!(text.ends_with("get its kubeconfig again"), "{text}");
    }
}
