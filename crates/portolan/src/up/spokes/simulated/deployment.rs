//! Deployments: they roll out for a moment, and are available then.

use serde_json::{Value, json};

use super::conditions::{Said, condition, find};
use super::{Step, Workload};

/// The reason of `Progressing` while a rollout goes on, in the words of Kubernetes.
const ROLLING: &str = "ReplicaSetUpdated";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Rolling,
    Available,
    Failed,
}

pub(super) fn step(workload: &Workload<'_>) -> Step {
    let (phase, again) = phase(workload);
    workload.status(describe(workload, phase), again)
}

fn phase(workload: &Workload<'_>) -> (Phase, Option<jiff::Timestamp>) {
    let status = &workload.object["status"];
    if workload.fails() {
        return (Phase::Failed, None);
    }
    let observed = workload.number("/status/observedGeneration");
    if observed != Some(workload.generation()) {
        return (Phase::Rolling, Some(workload.done(workload.now)));
    }
    let progressing = find(status, "Progressing").filter(|condition| condition["reason"] == ROLLING);
    let ready = progressing
        .and_then(|condition| workload.time(&condition["lastUpdateTime"]))
        .map(|started| workload.done(started))
        .filter(|ready| *ready > workload.now);
    match ready {
        Some(ready) => (Phase::Rolling, Some(ready)),
        None => (Phase::Available, None),
    }
}

fn describe(workload: &Workload<'_>, phase: Phase) -> Value {
    let status = &workload.object["status"];
    let replicas = workload.number("/spec/replicas").unwrap_or(1);
    // While a new version rolls out, the old one goes on serving.
    let serving = workload
        .number("/status/availableReplicas")
        .unwrap_or(0)
        .min(replicas);
    let (updated, available) = match phase {
        Phase::Rolling => (0, serving),
        Phase::Available => (replicas, replicas),
        Phase::Failed => (replicas, 0),
    };
    let availability = match available == replicas {
        true => Said {
            kind: "Available",
            status: "True",
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability. (simulated)",
        },
        false => Said {
            kind: "Available",
            status: "False",
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability. (simulated)",
        },
    };
    let progress = match phase {
        Phase::Rolling => Said {
            kind: "Progressing",
            status: "True",
            reason: ROLLING,
            message: "The rollout goes on. (simulated)",
        },
        Phase::Available => Said {
            kind: "Progressing",
            status: "True",
            reason: "NewReplicaSetAvailable",
            message: "The rollout is done. (simulated)",
        },
        Phase::Failed => Said {
            kind: "Progressing",
            status: "False",
            reason: "ProgressDeadlineExceeded",
            message: "The workload fails, as asked for. (simulated)",
        },
    };
    let conditions =
        [&availability, &progress].map(|said| condition(status, said, "lastUpdateTime", workload.now));
    let mut wanted = json!({"observedGeneration": workload.generation(), "conditions": conditions});
    // Kubernetes leaves zeros out.
    for (field, number) in [
        ("replicas", replicas),
        ("updatedReplicas", updated),
        ("readyReplicas", available),
        ("availableReplicas", available),
        ("unavailableReplicas", replicas - available),
    ] {
        if number > 0 {
            wanted[field] = json!(number);
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::InjectedFault;
    use super::super::tests::{at, look};
    use super::*;

    fn web() -> Value {
        json!({"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 3}})
    }

    fn is(object: &Value, kind: &str) -> String {
        find(&object["status"], kind).unwrap()["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_new_one_rolls_out_is_available_after_a_moment_and_is_left_alone_then() {
        let mut object = web();
        let first = look(&mut object, InjectedFault::Well, 0);
        assert_eq!(first.again, Some(at(2)));
        assert_eq!(object["status"]["observedGeneration"], 1);
        assert_eq!(is(&object, "Available"), "False");
        assert_eq!(
            look(&mut object, InjectedFault::Well, 1),
            Step {
                again: Some(at(2)),
                ..Step::default()
            }
        );
        look(&mut object, InjectedFault::Well, 2);
        assert_eq!(is(&object, "Available"), "True");
        assert_eq!(object["status"]["availableReplicas"], 3);
        assert_eq!(object["status"]["updatedReplicas"], 3);
        assert_eq!(look(&mut object, InjectedFault::Well, 100), Step::default());
    }

    #[test]
    fn the_old_version_serves_while_a_new_one_rolls_out() {
        let mut object = web();
        look(&mut object, InjectedFault::Well, 0);
        look(&mut object, InjectedFault::Well, 2);
        object["metadata"]["generation"] = json!(2);
        look(&mut object, InjectedFault::Well, 10);
        assert_eq!(is(&object, "Available"), "True");
        assert_eq!(object["status"].get("updatedReplicas"), None);
        look(&mut object, InjectedFault::Well, 12);
        assert_eq!(object["status"]["updatedReplicas"], 3);
        assert_eq!(object["status"]["observedGeneration"], 2);
    }

    #[test]
    fn it_fails_with_its_member_and_recovers_with_it() {
        let mut object = web();
        look(&mut object, InjectedFault::Well, 0);
        look(&mut object, InjectedFault::Well, 2);
        look(&mut object, InjectedFault::Failed, 10);
        assert_eq!(
            (is(&object, "Available"), is(&object, "Progressing")),
            ("False".into(), "False".into())
        );
        assert_eq!(object["status"]["unavailableReplicas"], 3);
        assert_eq!(look(&mut object, InjectedFault::Failed, 11), Step::default());
        look(&mut object, InjectedFault::Well, 12);
        assert_eq!(is(&object, "Available"), "True");
    }

    #[test]
    fn a_partition_changes_nothing_for_what_runs() {
        let mut object = web();
        look(&mut object, InjectedFault::Well, 0);
        look(&mut object, InjectedFault::Well, 2);
        assert_eq!(look(&mut object, InjectedFault::Partitioned, 3), Step::default());
    }

    #[test]
    fn one_that_is_told_to_fail_fails_and_one_that_takes_its_time_gets_it() {
        let mut object = web();
        object["metadata"]["annotations"] = json!({"portolan.dev/simulate": "fail"});
        look(&mut object, InjectedFault::Well, 0);
        assert_eq!(is(&object, "Progressing"), "False");
        let mut object = web();
        object["metadata"]["annotations"] = json!({"portolan.dev/simulate-seconds": "30"});
        assert_eq!(look(&mut object, InjectedFault::Well, 0).again, Some(at(30)));
    }
}
