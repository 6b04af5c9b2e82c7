//! What is usual to know about the workloads of Kubernetes.

use serde_json::Value;

use super::conditions::{ConditionStatus, NewCondition};
use portolan_api::labels::conditions;

/// Names and paths of the values that `WellKnownStatus` stands for.
pub(super) fn feedback(group: &str, kind: &str) -> &'static [(&'static str, &'static str)] {
    match (group, kind) {
        ("apps", "Deployment") => &[
            ("ReadyReplicas", ".status.readyReplicas"),
            ("Replicas", ".status.replicas"),
            ("AvailableReplicas", ".status.availableReplicas"),
        ],
        ("apps", "StatefulSet") => &[
            ("ReadyReplicas", ".status.readyReplicas"),
            ("Replicas", ".status.replicas"),
            ("AvailableReplicas", ".status.availableReplicas"),
        ],
        ("apps", "DaemonSet") => &[
            ("NumberReady", ".status.numberReady"),
            ("DesiredNumberScheduled", ".status.desiredNumberScheduled"),
            ("NumberAvailable", ".status.numberAvailable"),
        ],
        ("batch", "Job") => &[
            (
                "JobComplete",
                ".status.conditions[?(@.type==\"Complete\")].status",
            ),
            ("JobSucceeded", ".status.succeeded"),
        ],
        ("", "Pod") => &[
            ("PodReady", ".status.conditions[?(@.type==\"Ready\")].status"),
            ("PodPhase", ".status.phase"),
        ],
        _ => &[],
    }
}

/// The conditions that `WellKnownConditions` stands for; none for a kind that nothing is usual for.
pub(super) fn conditions(group: &str, kind: &str, object: &Value) -> Vec<NewCondition> {
    match (group, kind) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("batch", "Job") => job(object),
        ("", "Pod") => pod(object),
        _ => Vec::new(),
    }
}

const REASON: &str = super::rule_reasons::EVALUATED;

fn number(object: &Value, pointer: &str) -> i64 {
    object
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Whether the controller of the object has looked at what is wanted now.
fn is_observed(object: &Value) -> bool {
    number(object, "/status/observedGeneration") >= number(object, "/metadata/generation")
}

fn condition<'v>(object: &'v Value, r#type: &str) -> Option<&'v Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == r#type)
}

fn is_true(object: &Value, r#type: &str) -> bool {
    condition(object, r#type).is_some_and(|condition| condition["status"] == "True")
}

fn message(object: &Value, r#type: &str) -> String {
    condition(object, r#type)
        .and_then(|condition| condition["message"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// Progressing and Degraded for something with replicas.
fn replicas(
    object: &Value,
    wanted: i64,
    updated: i64,
    available: i64,
    total: i64,
    failure: Option<String>,
) -> Vec<NewCondition> {
    let done =
        is_observed(object) && updated >= wanted && available >= wanted && total <= wanted.max(updated);
    // A failure of what was wanted before says nothing about a rollback or a correction.
    let failure = failure.filter(|_| is_observed(object));
    let counts = format!("{available} of {wanted} are available, {updated} up to date");
    let degraded = match &failure {
        Some(why) => NewCondition::new(conditions::DEGRADED, ConditionStatus::True, REASON, why.clone()),
        None => NewCondition::new(
            conditions::DEGRADED,
            ConditionStatus::False,
            REASON,
            "no failure is reported",
        ),
    };
    vec![
        NewCondition::new(
            conditions::PROGRESSING,
            ConditionStatus::of(!done),
            REASON,
            counts,
        ),
        degraded,
    ]
}

fn wanted_replicas(object: &Value) -> i64 {
    object
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(1)
}

fn deployment(object: &Value) -> Vec<NewCondition> {
    let stuck = condition(object, "Progressing").is_some_and(|condition| {
        condition["status"] == "False" && condition["reason"] == "ProgressDeadlineExceeded"
    });
    let failure = if stuck {
        Some(message(object, "Progressing"))
    } else {
        is_true(object, "ReplicaFailure").then(|| message(object, "ReplicaFailure"))
    };
    replicas(
        object,
        wanted_replicas(object),
        number(object, "/status/updatedReplicas"),
        number(object, "/status/availableReplicas"),
        number(object, "/status/replicas"),
        failure,
    )
}

fn stateful_set(object: &Value) -> Vec<NewCondition> {
    // Servers before 1.22 do not count what is available.
    let available = match object.pointer("/status/availableReplicas") {
        Some(available) => available.as_i64().unwrap_or_default(),
        None => number(object, "/status/readyReplicas"),
    };
    replicas(
        object,
        wanted_replicas(object),
        number(object, "/status/updatedReplicas"),
        available,
        number(object, "/status/replicas"),
        None,
    )
}

fn daemon_set(object: &Value) -> Vec<NewCondition> {
    let wanted = number(object, "/status/desiredNumberScheduled");
    replicas(
        object,
        wanted,
        number(object, "/status/updatedNumberScheduled"),
        number(object, "/status/numberAvailable"),
        wanted,
        None,
    )
}

fn job(object: &Value) -> Vec<NewCondition> {
    let (complete, failed) = (is_true(object, "Complete"), is_true(object, "Failed"));
    vec![
        NewCondition::new(
            conditions::COMPLETE,
            ConditionStatus::of(complete || failed),
            REASON,
            match (complete, failed) {
                (true, _) => "the job has completed".to_owned(),
                (_, true) => format!("the job has failed: {}", message(object, "Failed")),
                _ => "the job has not ended".to_owned(),
            },
        ),
        NewCondition::new(
            conditions::PROGRESSING,
            ConditionStatus::of(!complete && !failed),
            REASON,
            format!(
                "{} active, {} succeeded",
                number(object, "/status/active"),
                number(object, "/status/succeeded")
            ),
        ),
        NewCondition::new(
            conditions::DEGRADED,
            ConditionStatus::of(failed),
            REASON,
            if failed {
                message(object, "Failed")
            } else {
                "no failure is reported".to_owned()
            },
        ),
    ]
}

fn pod(object: &Value) -> Vec<NewCondition> {
    let phase = object
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or("Unknown");
    let text = format!("the pod is {phase}");
    vec![
        NewCondition::new(
            conditions::COMPLETE,
            ConditionStatus::of(matches!(phase, "Succeeded" | "Failed")),
            REASON,
            text.clone(),
        ),
        NewCondition::new(
            conditions::PROGRESSING,
            ConditionStatus::of(phase == "Pending" || phase == "Running" && !is_true(object, "Ready")),
            REASON,
            text.clone(),
        ),
        NewCondition::new(
            conditions::DEGRADED,
            ConditionStatus::of(phase == "Failed"),
            REASON,
            text,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_api_lists_the_conditions_that_are_given_here() {
        let kinds = [
            ("apps", "Deployment"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("batch", "Job"),
            ("", "Pod"),
            ("", "ConfigMap"),
        ];
        for (group, kind) in kinds {
            let given = conditions(group, kind, &Value::Null);
            let given: Vec<&str> = given.iter().map(|said| said.r#type.as_str()).collect();
            let listed = portolan_api::work::well_known_conditions(group, kind);
            assert_eq!(given, listed, "{kind}");
            assert_eq!(feedback(group, kind).is_empty(), listed.is_empty(), "{kind}");
        }
    }

    fn truths(kind: &str, group: &str, object: Value) -> Vec<(String, &'static str)> {
        conditions(group, kind, &object)
            .into_iter()
            .map(|said| (said.r#type, said.truth.word()))
            .collect()
    }

    fn expected(pairs: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        pairs
            .iter()
            .map(|(r#type, truth)| ((*r#type).to_owned(), *truth))
            .collect()
    }

    #[test]
    fn a_deployment_progresses_until_what_is_wanted_now_is_available() {
        let deployment = |observed: i64, available: i64| {
            json!({
                "metadata": { "generation": 2 }, "spec": { "replicas": 2 },
                "status": { "observedGeneration": observed, "replicas": 2, "updatedReplicas": 2, "availableReplicas": available },
            })
        };
        let progressing = expected(&[("Progressing", "True"), ("Degraded", "False")]);
        assert_eq!(
            truths("Deployment", "apps", deployment(1, 2)),
            progressing,
            "not looked at yet"
        );
        assert_eq!(truths("Deployment", "apps", deployment(2, 1)), progressing);
        let done = expected(&[("Progressing", "False"), ("Degraded", "False")]);
        assert_eq!(truths("Deployment", "apps", deployment(2, 2)), done);
    }

    #[test]
    fn a_deployment_past_its_deadline_is_degraded() {
        let stuck = |observed: i64| {
            let conditions = json!([
                { "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow" },
            ]);
            let status = json!({ "observedGeneration": observed, "conditions": conditions });
            json!({ "metadata": { "generation": 2 }, "status": status })
        };
        let degraded = |truth| expected(&[("Progressing", "True"), ("Degraded", truth)]);
        assert_eq!(truths("Deployment", "apps", stuck(2)), degraded("True"));
        assert_eq!(
            truths("Deployment", "apps", stuck(1)),
            degraded("False"),
            "the deadline of what was wanted before"
        );
    }

    #[test]
    fn a_job_ends_by_completion_or_failure() {
        let job =
            |r#type: &str| json!({ "status": { "conditions": [{ "type": r#type, "status": "True" }] } });
        let all = |complete, progressing, degraded| {
            expected(&[
                ("Complete", complete),
                ("Progressing", progressing),
                ("Degraded", degraded),
            ])
        };
        assert_eq!(truths("Job", "batch", json!({})), all("False", "True", "False"));
        assert_eq!(
            truths("Job", "batch", job("Complete")),
            all("True", "False", "False")
        );
        assert_eq!(
            truths("Job", "batch", job("Failed")),
            all("True", "False", "True")
        );
    }
}
