//! StatefulSets and DaemonSets: they roll out for a moment, and are ready then.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Step, Workload};

/// A simulated member has one node, as far as DaemonSets are concerned.
const NODES: i64 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Rolling,
    Ready,
    Failed,
}

pub(super) fn stateful(workload: &Workload<'_>) -> Step {
    let replicas = workload.number("/spec/replicas").unwrap_or(1);
    let (phase, again) = phase(workload, "/status/updatedReplicas", replicas);
    // While a new version rolls out, the old one goes on serving.
    let serving = workload
        .number("/status/readyReplicas")
        .unwrap_or(0)
        .min(replicas);
    let (updated, ready) = numbers(phase, replicas, serving);
    let name = workload.object["metadata"]["name"].as_str().unwrap_or_default();
    let revision = format!("{name}-{}", workload.generation());
    let before = workload.object["status"]["currentRevision"].as_str();
    let current = match phase {
        Phase::Rolling => before.unwrap_or(&revision),
        _ => &revision,
    };
    let mut wanted = json!({
        "observedGeneration": workload.generation(), "replicas": replicas, "availableReplicas": ready,
        "currentRevision": current, "updateRevision": revision, "collisionCount": 0,
    });
    let old = match phase {
        Phase::Rolling => serving,
        _ => replicas,
    };
    counts(
        &mut wanted,
        &[
            ("readyReplicas", ready),
            ("currentReplicas", old),
            ("updatedReplicas", updated),
        ],
    );
    workload.status(wanted, again)
}

pub(super) fn daemon(workload: &Workload<'_>) -> Step {
    let (phase, again) = phase(workload, "/status/updatedNumberScheduled", NODES);
    let serving = workload.number("/status/numberReady").unwrap_or(0).min(NODES);
    let (updated, ready) = numbers(phase, NODES, serving);
    let mut wanted = json!({
        "observedGeneration": workload.generation(), "currentNumberScheduled": NODES, "numberMisscheduled": 0,
        "desiredNumberScheduled": NODES, "numberReady": ready,
    });
    counts(
        &mut wanted,
        &[
            ("updatedNumberScheduled", updated),
            ("numberAvailable", ready),
            ("numberUnavailable", NODES - ready),
        ],
    );
    workload.status(wanted, again)
}

/// Where a rollout is, by the field that counts what is up to date.
fn phase(workload: &Workload<'_>, updated: &str, wanted: i64) -> (Phase, Option<Timestamp>) {
    if workload.fails() {
        return (Phase::Failed, None);
    }
    let observed = workload.number("/status/observedGeneration") == Some(workload.generation());
    let done = workload.done(workload.since);
    let is_updated = workload.number(updated).unwrap_or(0) == wanted;
    match observed && is_updated || done <= workload.now {
        true => (Phase::Ready, None),
        false => (Phase::Rolling, Some(done)),
    }
}

/// How many are up to date, and how many are ready.
fn numbers(phase: Phase, wanted: i64, serving: i64) -> (i64, i64) {
    match phase {
        Phase::Rolling => (0, serving),
        Phase::Ready => (wanted, wanted),
        Phase::Failed => (wanted, 0),
    }
}

/// Kubernetes leaves zeros of these fields out.
fn counts(status: &mut Value, counts: &[(&str, i64)]) {
    for (field, number) in counts.iter().filter(|(_, number)| *number > 0) {
        status[*field] = json!(number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::InjectedFault;
    use super::super::tests::{at, look};
    use super::*;

    fn object(kind: &str) -> Value {
        json!({"kind": kind, "metadata": {"name": "db", "generation": 1}, "spec": {"replicas": 3}})
    }

    #[test]
    fn a_stateful_set_is_ready_after_a_moment_and_is_left_alone_then() {
        let mut object = object("StatefulSet");
        assert_eq!(look(&mut object, InjectedFault::Well, 0).again, Some(at(2)));
        assert_eq!(object["status"]["observedGeneration"], 1);
        assert_eq!(object["status"].get("readyReplicas"), None);
        look(&mut object, InjectedFault::Well, 2);
        let status = &object["status"];
        assert_eq!(
            [
                "replicas",
                "readyReplicas",
                "availableReplicas",
                "updatedReplicas",
                "currentReplicas"
            ]
            .map(|field| status[field].as_i64()),
            [Some(3); 5]
        );
        assert_eq!(status["currentRevision"], status["updateRevision"]);
        assert_eq!(look(&mut object, InjectedFault::Well, 100), Step::default());
    }

    #[test]
    fn a_daemon_set_has_the_numbers_of_one_node() {
        let mut object = object("DaemonSet");
        look(&mut object, InjectedFault::Well, 0);
        assert_eq!(object["status"]["numberReady"], 0);
        assert_eq!(object["status"]["numberUnavailable"], 1);
        look(&mut object, InjectedFault::Well, 2);
        let status = &object["status"];
        assert_eq!(
            [
                "desiredNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable"
            ]
            .map(|field| status[field].as_i64()),
            [Some(1); 4]
        );
        assert_eq!(look(&mut object, InjectedFault::Well, 100), Step::default());
    }

    #[test]
    fn sets_fail_with_their_member_and_recover_with_it() {
        for (kind, ready) in [("StatefulSet", "availableReplicas"), ("DaemonSet", "numberReady")] {
            let mut object = object(kind);
            look(&mut object, InjectedFault::Well, 2);
            look(&mut object, InjectedFault::Failed, 3);
            assert_eq!(object["status"][ready], 0, "{kind}");
            look(&mut object, InjectedFault::Well, 4);
            assert_ne!(object["status"][ready], 0, "{kind}");
        }
    }

    #[test]
    fn the_old_version_of_a_stateful_set_serves_while_a_new_one_rolls_out() {
        let mut object = object("StatefulSet");
        look(&mut object, InjectedFault::Well, 2);
        object["metadata"]["generation"] = json!(2);
        look(&mut object, InjectedFault::Well, 1);
        let status = &object["status"];
        assert_eq!(
            (&status["readyReplicas"], status.get("updatedReplicas")),
            (&json!(3), None)
        );
        assert_ne!(status["currentRevision"], status["updateRevision"]);
    }
}
