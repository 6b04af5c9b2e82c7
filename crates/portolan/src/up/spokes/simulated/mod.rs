//! A **simulated** workload controller: no container runs. Deployments and Jobs on a member get the status that a cluster
//! would give them, after a moment, or that of a failure where one was asked for.
//!
//! What a workload is to look like is a pure function of the object, the member's fate and the time ([`deployment`],
//! [`job`]); [`run`] follows the objects and writes. A workload can be told how to go by annotations of its own:
//! `portolan.dev/simulate: fail`, and `portolan.dev/simulate-seconds: "30"` for how long it takes.

mod conditions;
mod deployment;
mod job;
mod run;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::fate::Fate;

pub(crate) use run::run;

/// Annotation of a workload: how many seconds until it is available or done.
const SECONDS: &str = "portolan.dev/simulate-seconds";
/// How long a workload takes that does not say.
const TAKES: i64 = 2;

/// What comes of looking at a workload.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    /// The status it is to have, when that is another than it has.
    status: Option<Value>,
    /// When it is to be looked at again.
    again: Option<Timestamp>,
}

/// A workload as it is.
#[derive(Clone, Copy, Debug)]
struct Workload<'a> {
    object: &'a Value,
    fate: Fate,
    now: Timestamp,
}

impl Workload<'_> {
    fn step(&self) -> Step {
        match self.object["kind"].as_str() {
            Some("Deployment") => deployment::step(self),
            Some("Job") => job::step(self),
            _ => Step::default(),
        }
    }

    /// Whether it fails, with its member or by itself.
    fn fails(&self) -> bool {
        self.fate == Fate::Failed || self.annotation(super::fate::ANNOTATION) == Fate::Failed.annotation()
    }

    fn takes(&self) -> SignedDuration {
        let seconds = self
            .annotation(SECONDS)
            .and_then(|text| text.parse::<u32>().ok())
            .map_or(TAKES, i64::from);
        SignedDuration::from_secs(seconds)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.object["metadata"]["annotations"][key].as_str()
    }

    fn number(&self, pointer: &str) -> Option<i64> {
        self.object.pointer(pointer).and_then(Value::as_i64)
    }

    fn time(&self, value: &Value) -> Option<Timestamp> {
        value.as_str()?.parse().ok()
    }
}

/// As Kubernetes writes times.
fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
