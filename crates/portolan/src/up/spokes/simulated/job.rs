//! Jobs: they run for a moment, and are complete then. A failure is for good, as in Kubernetes.

use serde_json::{Value, json};

use super::conditions::{Said, condition, find};
use super::{Step, Workload, text};

pub(super) fn step(workload: &Workload<'_>) -> Step {
    let status = &workload.object["status"];
    let suspended = workload.object["spec"]["suspend"] == true;
    if suspended || is_over(status) {
        return Step::default();
    }
    let started = workload.time(&status["startTime"]);
    let ready = started.map(|started| workload.done(started));
    let completions = workload.number("/spec/completions").unwrap_or(1);
    let parallel = workload.number("/spec/parallelism").unwrap_or(1);
    let start = json!(text(started.unwrap_or(workload.now)));
    let condition = |said: &Said| condition(status, said, "lastProbeTime", workload.now);
    if workload.fails() {
        let said = Said {
            kind: "Failed",
            status: "True",
            reason: "BackoffLimitExceeded",
            message: "The workload fails, as asked for. (simulated)",
        };
        let failed = workload.number("/spec/backoffLimit").unwrap_or(6) + 1;
        let wanted = json!({"startTime": start, "failed": failed, "conditions": [condition(&said)]});
        return workload.status(wanted, None);
    }
    match ready {
        None => workload.status(
            json!({"startTime": start, "active": parallel.min(completions).max(1)}),
            Some(workload.done(workload.now)),
        ),
        Some(ready) if ready > workload.now => Step {
            again: Some(ready),
            ..Step::default()
        },
        Some(_) => {
            let said = Said {
                kind: "Complete",
                status: "True",
                reason: "CompletionsReached",
                message: "Reached expected number of succeeded pods. (simulated)",
            };
            let wanted = json!({
                "startTime": start, "completionTime": text(workload.now), "succeeded": completions,
                "conditions": [condition(&said)],
            });
            workload.status(wanted, None)
        }
    }
}

/// Whether a Job with this status has ended.
pub(super) fn is_over(status: &Value) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|kind| find(status, kind).is_some_and(|condition| condition["status"] == "True"))
}

#[cfg(test)]
mod tests {
    use super::super::InjectedFault;
    use super::super::tests::look;
    use super::*;

    fn train() -> Value {
        json!({"kind": "Job", "metadata": {}, "spec": {"completions": 4, "parallelism": 2}})
    }

    #[test]
    fn a_job_runs_and_is_complete_after_a_moment() {
        let mut object = train();
        assert!(look(&mut object, InjectedFault::Well, 0).again.is_some());
        assert_eq!(object["status"]["active"], 2);
        look(&mut object, InjectedFault::Well, 2);
        assert_eq!(object["status"]["succeeded"], 4);
        assert_eq!(object["status"].get("active"), None);
        assert_eq!(
            look(&mut object, InjectedFault::Failed, 3),
            Step::default(),
            "what is done is done"
        );
    }

    #[test]
    fn a_failed_job_stays_failed_and_a_suspended_one_does_not_start() {
        let mut object = train();
        look(&mut object, InjectedFault::Well, 0);
        look(&mut object, InjectedFault::Failed, 1);
        assert_eq!(object["status"]["conditions"][0]["type"], "Failed");
        assert_eq!(look(&mut object, InjectedFault::Well, 2), Step::default());
        let mut object = train();
        object["spec"]["suspend"] = json!(true);
        assert_eq!(look(&mut object, InjectedFault::Well, 0), Step::default());
    }
}
