//! **Simulated** workload controllers: no container runs. The workloads of a member get the status that a cluster would
//! give them, after a moment, or that of a failure where one was asked for; a CronJob makes Jobs.
//!
//! What is to become of a workload is a pure function of the object, the member's fate and the time, one module a kind;
//! [`run`] follows the objects and writes. A workload can be told how to go by annotations of its own:
//! `portolan.dev/simulate: fail`, and `portolan.dev/simulate-seconds: "30"` for how long it takes.

mod conditions;
mod cron_job;
mod deployment;
mod ingress;
mod job;
mod pod;
mod run;
mod sets;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::injected_fault::InjectedFault;

pub(crate) use run::run;

/// Annotation of a workload: how many seconds until it is available or done.
const SECONDS: &str = "portolan.dev/simulate-seconds";
/// How long a workload takes that does not say.
const TAKES: i64 = 2;

/// The kinds that are simulated: group and kind. All of them are `v1`.
const KINDS: [(&str, &str); 7] = [
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("", "Pod"),
    ("networking.k8s.io", "Ingress"),
];

/// What comes of looking at a workload.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    /// The status it is to have, when that is another than it has.
    status: Option<Value>,
    /// A Job to make before the status says so.
    create: Option<Value>,
    /// The names of Jobs to delete.
    delete: Vec<String>,
    /// When it is to be looked at again.
    again: Option<Timestamp>,
}

/// A workload as it is.
#[derive(Clone, Copy, Debug)]
struct Workload<'a> {
    object: &'a Value,
    /// The Jobs that it owns.
    jobs: &'a [&'a Value],
    fate: InjectedFault,
    /// When this generation of it was first seen.
    since: Timestamp,
    now: Timestamp,
}

impl Workload<'_> {
    fn step(&self) -> Step {
        match self.object["kind"].as_str() {
            Some("Deployment") => deployment::step(self),
            Some("StatefulSet") => sets::stateful(self),
            Some("DaemonSet") => sets::daemon(self),
            Some("Job") => job::step(self),
            Some("CronJob") => cron_job::step(self),
            Some("Pod") => pod::step(self),
            Some("Ingress") => ingress::step(self),
            _ => Step::default(),
        }
    }

    /// Whether it fails, with its member or by itself.
    fn fails(&self) -> bool {
        self.fate == InjectedFault::Failed
            || self.annotation(super::injected_fault::ANNOTATION) == InjectedFault::Failed.annotation()
    }

    /// When something that began at this time is done. Times come from objects, and may be as late as a time can be.
    fn done(&self, began: Timestamp) -> Timestamp {
        began.checked_add(self.takes()).unwrap_or(Timestamp::MAX)
    }

    fn takes(&self) -> SignedDuration {
        let seconds = self
            .annotation(SECONDS)
            .and_then(|text| text.parse::<u32>().ok())
            .map_or(TAKES, i64::from);
        SignedDuration::from_secs(seconds)
    }

    /// The status, unless it is the one that it has.
    fn status(&self, wanted: Value, again: Option<Timestamp>) -> Step {
        Step {
            status: (self.object["status"] != wanted).then_some(wanted),
            again,
            ..Step::default()
        }
    }

    fn generation(&self) -> i64 {
        self.number("/metadata/generation").unwrap_or(1)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A time of a test.
    pub(super) fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// Looks at a workload that was first seen at second 0, and takes over what comes of that.
    pub(super) fn look(object: &mut Value, fate: InjectedFault, second: i64) -> Step {
        let workload = Workload {
            object,
            jobs: &[],
            fate,
            since: at(0),
            now: at(second),
        };
        let step = workload.step();
        if let Some(status) = step.status.clone() {
            object["status"] = status;
        }
        step
    }
}
