//! Pods: they start for a moment and run then; one that is not to be restarted succeeds instead.

use serde_json::{Value, json};

use super::conditions::{Said, condition};
use super::{Step, Workload, text};

/// Addresses of the block that is set aside for examples.
const POD_ADDRESS: &str = "192.0.2.10";
const HOST_ADDRESS: &str = "192.0.2.2";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    /// Runs, and ends after a moment.
    Working,
    Succeeded,
    /// Its containers end with an error and are started again.
    Crashing,
    Failed,
}

pub(super) fn step(workload: &Workload<'_>) -> Step {
    let status = &workload.object["status"];
    if matches!(status["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return Step::default();
    }
    let policy = workload.object["spec"]["restartPolicy"]
        .as_str()
        .unwrap_or("Always");
    let started = workload.time(&status["startTime"]);
    let ready = workload.done(started.unwrap_or(workload.now));
    let waits = ready > workload.now;
    let phase = match (workload.fails(), policy) {
        (true, "Never") => Phase::Failed,
        (true, _) => Phase::Crashing,
        (false, "Always") if waits => Phase::Starting,
        (false, "Always") => Phase::Running,
        (false, _) if waits => Phase::Working,
        (false, _) => Phase::Succeeded,
    };
    let again = matches!(phase, Phase::Starting | Phase::Working).then_some(ready);
    workload.status(describe(workload, phase), again)
}

fn describe(workload: &Workload<'_>, phase: Phase) -> Value {
    let status = &workload.object["status"];
    let start = workload.time(&status["startTime"]).unwrap_or(workload.now);
    let truth = |holds: bool| if holds { "True" } else { "False" };
    let ready = matches!(phase, Phase::Running | Phase::Working);
    let why = match phase {
        _ if ready => "",
        Phase::Succeeded => "PodCompleted",
        _ => "ContainersNotReady",
    };
    let conditions = [
        ("PodScheduled", "True", ""),
        ("Initialized", "True", ""),
        ("ContainersReady", truth(ready), why),
        ("Ready", truth(ready), why),
    ]
    .map(|(kind, status_word, reason)| {
        let said = Said {
            kind,
            status: status_word,
            reason,
            message: "simulated",
        };
        let mut said = condition(status, &said, "lastProbeTime", workload.now);
        said["lastProbeTime"] = Value::Null;
        said
    });
    let word = match phase {
        Phase::Starting => "Pending",
        Phase::Running | Phase::Working | Phase::Crashing => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
    };
    let containers = workload.object["spec"]["containers"].as_array();
    let containers: Vec<Value> = containers
        .into_iter()
        .flatten()
        .map(|container| container_status(workload, container, phase))
        .collect();
    let mut wanted = json!({
        "phase": word, "startTime": text(start), "conditions": conditions, "containerStatuses": containers,
        "hostIP": HOST_ADDRESS, "hostIPs": [{"ip": HOST_ADDRESS}], "qosClass": "BestEffort",
    });
    if phase != Phase::Starting {
        wanted["podIP"] = json!(POD_ADDRESS);
        wanted["podIPs"] = json!([{"ip": POD_ADDRESS}]);
    }
    wanted
}

fn container_status(workload: &Workload<'_>, container: &Value, phase: Phase) -> Value {
    let name = &container["name"];
    let statuses = workload.object["status"]["containerStatuses"].as_array();
    let before = statuses
        .into_iter()
        .flatten()
        .find(|status| status["name"] == *name);
    let kept = |pointer: &str| {
        let old = before
            .and_then(|before| before.pointer(pointer))
            .and_then(Value::as_str);
        old.map_or_else(|| text(workload.now), str::to_owned)
    };
    let terminated = |reason: &str, code: i64| {
        json!({"terminated": {
            "reason": reason, "exitCode": code, "startedAt": kept("/state/running/startedAt"), "finishedAt": text(workload.now),
        }})
    };
    let state = match phase {
        Phase::Starting => json!({"waiting": {"reason": "ContainerCreating"}}),
        Phase::Running | Phase::Working => {
            json!({"running": {"startedAt": kept("/state/running/startedAt")}})
        }
        Phase::Crashing => json!({"waiting": {
            "reason": "CrashLoopBackOff", "message": "The workload fails, as asked for. (simulated)",
        }}),
        Phase::Succeeded => terminated("Completed", 0),
        Phase::Failed => terminated("Error", 1),
    };
    let restarts = before
        .and_then(|before| before["restartCount"].as_i64())
        .unwrap_or(0);
    let crashed_before =
        before.is_some_and(|before| before["state"]["waiting"]["reason"] == "CrashLoopBackOff");
    let runs = matches!(phase, Phase::Running | Phase::Working);
    json!({
        "name": name, "image": container["image"], "imageID": "", "ready": runs, "started": runs, "state": state,
        "lastState": {}, "restartCount": restarts + i64::from(phase == Phase::Crashing && !crashed_before),
    })
}

#[cfg(test)]
mod tests {
    use super::super::InjectedFault;
    use super::super::tests::{at, look};
    use super::*;

    fn pod(policy: &str) -> Value {
        json!({
            "kind": "Pod", "metadata": {}, "status": {"phase": "Pending"},
            "spec": {"restartPolicy": policy, "containers": [{"name": "web", "image": "nginx"}]},
        })
    }

    fn ready(object: &Value) -> bool {
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let containers = object["status"]["containerStatuses"].as_array().unwrap();
        let is_ready = conditions
            .iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        assert_eq!(is_ready, containers.iter().all(|status| status["ready"] == true));
        is_ready
    }

    #[test]
    fn a_pod_runs_and_is_ready_after_a_moment_and_is_left_alone_then() {
        let mut object = pod("Always");
        assert_eq!(look(&mut object, InjectedFault::Well, 0).again, Some(at(2)));
        assert_eq!(
            (object["status"]["phase"].as_str(), ready(&object)),
            (Some("Pending"), false)
        );
        look(&mut object, InjectedFault::Well, 2);
        assert_eq!(
            (object["status"]["phase"].as_str(), ready(&object)),
            (Some("Running"), true)
        );
        assert_eq!(look(&mut object, InjectedFault::Well, 100), Step::default());
    }

    #[test]
    fn a_pod_that_is_not_restarted_succeeds_and_stays_so() {
        for policy in ["Never", "OnFailure"] {
            let mut object = pod(policy);
            look(&mut object, InjectedFault::Well, 0);
            assert_eq!(
                (object["status"]["phase"].as_str(), ready(&object)),
                (Some("Running"), true)
            );
            look(&mut object, InjectedFault::Well, 2);
            assert_eq!(
                (object["status"]["phase"].as_str(), ready(&object)),
                (Some("Succeeded"), false)
            );
            let state = &object["status"]["containerStatuses"][0]["state"]["terminated"];
            assert_eq!(
                (&state["reason"], &state["exitCode"]),
                (&json!("Completed"), &json!(0))
            );
            assert_eq!(
                look(&mut object, InjectedFault::Failed, 3),
                Step::default(),
                "what is done is done"
            );
        }
    }

    #[test]
    fn a_pod_fails_for_good_or_is_started_again_as_its_policy_says() {
        let mut object = pod("Never");
        look(&mut object, InjectedFault::Failed, 0);
        assert_eq!(object["status"]["phase"], "Failed");
        let mut object = pod("Always");
        look(&mut object, InjectedFault::Well, 2);
        look(&mut object, InjectedFault::Failed, 3);
        let container = &object["status"]["containerStatuses"][0];
        assert_eq!(container["state"]["waiting"]["reason"], "CrashLoopBackOff");
        assert_eq!(container["restartCount"], 1);
        assert_eq!(look(&mut object, InjectedFault::Failed, 4), Step::default());
        look(&mut object, InjectedFault::Well, 5);
        assert!(ready(&object), "{object}");
    }
}
