//! Spans: one per decision that is published, from the watch event that made the placement due to the last write, with
//! one below it for the evaluation, for each phase and for each request.
//!
//! A subscriber to [`TARGET`] receives them; this crate does not send them anywhere. Without a subscriber each is a look at
//! a flag. What comes in and leads to no write, a heartbeat above all, has no span at all: a decision's is created when
//! there is something to write, and says in [`AGE`] how long it had been under way by then.

use std::time::Duration;

use portolan_engine::placement::PlacementKey;
use tracing::field::Empty;
use tracing::{Span, debug_span};

/// The target of every span.
pub const TARGET: &str = "portolan_controllers::trace";

/// The attribute that says how many microseconds before its creation a span began. A subscriber that keeps times is to
/// move the start back by it.
pub const AGE: &str = "age_us";

/// The root: a decision, or the removal of what a deleted placement left behind (`clusters` is 0 then).
pub(crate) fn decision(key: &PlacementKey, clusters: usize, age: Duration) -> Span {
    debug_span!(
        target: TARGET,
        "decision",
        placement.namespace = %key.namespace,
        placement.name = %key.name,
        clusters = clusters as i64,
        age_us = age.as_micros() as i64,
        writes = Empty,
        result = Empty,
        otel.status_code = Empty,
    )
}

/// The evaluation that led to a decision. It is over.
pub(crate) fn evaluated(decision: &Span, took: Duration) {
    drop(debug_span!(target: TARGET, parent: decision, "evaluate", age_us = took.as_micros() as i64));
}

/// The wait for the profiles that slices refer to.
pub(crate) fn profiles(wanted: usize) -> Span {
    debug_span!(target: TARGET, "profiles", wanted = wanted as i64)
}

/// One phase of a plan, counted from 1.
pub(crate) fn phase(kind: &'static str, number: usize, writes: usize) -> Span {
    debug_span!(target: TARGET, "phase", kind, phase = number as i64, writes = writes as i64)
}

/// One attempt at a request, the wait for its turn included.
pub(crate) fn request(verb: &'static str, resource: &'static str, attempt: u32) -> Span {
    debug_span!(
        target: TARGET,
        "request",
        otel.kind = "client",
        verb,
        resource,
        attempt = i64::from(attempt),
        result = Empty,
        otel.status_code = Empty,
    )
}

/// What became of a request or a decision: `ok`, or a word for what went wrong.
pub(crate) fn ended(span: &Span, result: &'static str) {
    span.record("result", result);
    if result != "ok" {
        span.record("otel.status_code", "ERROR");
    }
}

/// How many writes of a decision the server acknowledged.
pub(crate) fn wrote(decision: &Span, writes: usize) {
    decision.record("writes", writes as i64);
}
