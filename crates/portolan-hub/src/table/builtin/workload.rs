//! Pods and what makes them. The hub runs none of it; a member cluster's objects are shown as their status says.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::age;
use super::super::column::Column;
use super::super::fields::{NONE, age_of};
use super::super::fields::{at, count, joined, labels, list, number, or_none, selector, text, time};
use super::{age as age_column, column, wide};

/// Where a pod template keeps its containers.
const TEMPLATE: &[&str] = &["spec", "template", "spec", "containers"];
const JOB_TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template", "spec", "containers"];

pub(super) fn deployment() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        column(
            "Ready",
            "string",
            "Number of the pod with ready state",
            |object, _| json!(ready(object)),
        ),
        column(
            "Up-to-date",
            "string",
            "Pods that have the desired template",
            |object, _| json!(number(object, &["status", "updatedReplicas"])),
        ),
        column("Available", "string", "Pods that are available", |object, _| {
            json!(number(object, &["status", "availableReplicas"]))
        }),
        age_column(),
    ];
    columns.extend(containers());
    columns.push(pod_selector());
    columns
}

pub(super) fn stateful_set() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        column(
            "Ready",
            "string",
            "Number of the pod with ready state",
            |object, _| json!(ready(object)),
        ),
        age_column(),
    ];
    columns.extend(containers());
    columns
}

pub(super) fn replica_set() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        column("Desired", "integer", "Desired pods", |object, _| {
            json!(number(object, &["spec", "replicas"]))
        }),
        column("Current", "integer", "Observed pods", |object, _| {
            json!(number(object, &["status", "replicas"]))
        }),
        column("Ready", "integer", "Ready pods", |object, _| {
            json!(number(object, &["status", "readyReplicas"]))
        }),
        age_column(),
    ];
    columns.extend(containers());
    columns.push(pod_selector());
    columns
}

pub(super) fn daemon_set() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        column(
            "Desired",
            "integer",
            "Nodes that should run the pod",
            |object, _| json!(number(object, &["status", "desiredNumberScheduled"])),
        ),
        column("Current", "integer", "Nodes that run the pod", |object, _| {
            json!(number(object, &["status", "currentNumberScheduled"]))
        }),
        column("Ready", "integer", "Nodes whose pod is ready", |object, _| {
            json!(number(object, &["status", "numberReady"]))
        }),
        column(
            "Up-to-date",
            "integer",
            "Nodes whose pod has the desired template",
            |object, _| json!(number(object, &["status", "updatedNumberScheduled"])),
        ),
        column(
            "Available",
            "integer",
            "Nodes whose pod is available",
            |object, _| json!(number(object, &["status", "numberAvailable"])),
        ),
        column(
            "Node Selector",
            "string",
            "The nodes the pod may run on",
            |object, _| json!(labels(at(object, &["spec", "template", "spec", "nodeSelector"]))),
        ),
        age_column(),
    ];
    columns.extend(containers());
    columns.push(pod_selector());
    columns
}

pub(super) fn job() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        column("Status", "string", "Status of the job.", |object, _| {
            json!(job_status(object))
        }),
        column(
            "Completions",
            "string",
            "Pods that succeeded, of those needed",
            |object, _| json!(completions(object)),
        ),
        column(
            "Duration",
            "string",
            "Time required to complete the job.",
            |object, now| json!(job_duration(object, now)),
        ),
        age_column(),
    ];
    columns.extend(containers());
    columns.push(pod_selector());
    columns
}

pub(super) fn cron_job() -> Vec<Column> {
    vec![
        Column::name(),
        column("Schedule", "string", "When jobs start", |object, _| {
            json!(text(object, &["spec", "schedule"]))
        }),
        column(
            "Timezone",
            "string",
            "The time zone of the schedule",
            |object, _| json!(or_none(text(object, &["spec", "timeZone"]).to_owned())),
        ),
        column("Suspend", "boolean", "Whether jobs are held back", |object, _| {
            json!(match at(object, &["spec", "suspend"]) {
                Value::Bool(true) => "True",
                Value::Bool(false) => "False",
                _ => "<unset>",
            })
        }),
        column("Active", "integer", "Jobs that run now", |object, _| {
            json!(count(object, &["status", "active"]))
        }),
        column(
            "Last Schedule",
            "string",
            "When a job was last started",
            |object, now| {
                let path = ["status", "lastScheduleTime"];
                match at(object, &path).is_null() {
                    true => json!(NONE),
                    false => json!(age_of(object, &path, now)),
                }
            },
        ),
        age_column(),
        wide(
            "Containers",
            "string",
            "Names of each container in the template.",
            |object, _| json!(joined(list(object, JOB_TEMPLATE), "name", ",")),
        ),
        wide(
            "Images",
            "string",
            "Images referenced by each container in the template.",
            |object, _| json!(joined(list(object, JOB_TEMPLATE), "image", ",")),
        ),
        wide("Selector", "string", "The pods of the jobs", |object, _| {
            json!(selector(at(object, &["spec", "jobTemplate", "spec", "selector"])))
        }),
    ]
}

pub(super) fn pod() -> Vec<Column> {
    vec![
        Column::name(),
        column(
            "Ready",
            "string",
            "Containers that are ready, of all.",
            |object, _| {
                let statuses = list(object, &["status", "containerStatuses"]);
                let ready = statuses.iter().filter(|status| status["ready"] == true).count();
                json!(format!("{ready}/{}", count(object, &["spec", "containers"])))
            },
        ),
        column(
            "Status",
            "string",
            "The aggregate status of the containers in this pod.",
            |object, _| json!(pod_status(object)),
        ),
        column(
            "Restarts",
            "string",
            "How often containers of this pod were restarted.",
            |object, _| {
                let statuses = list(object, &["status", "containerStatuses"]).iter();
                let restarts: i64 = statuses
                    .map(|status| number(status, &["restartCount"]))
                    .fold(0, i64::saturating_add);
                json!(restarts.to_string())
            },
        ),
        age_column(),
        wide("IP", "string", "The address of the pod", |object, _| {
            json!(or_none(text(object, &["status", "podIP"]).to_owned()))
        }),
        wide("Node", "string", "The node of the pod", |object, _| {
            json!(or_none(text(object, &["spec", "nodeName"]).to_owned()))
        }),
        wide(
            "Nominated Node",
            "string",
            "The node it waits for",
            |object, _| json!(or_none(text(object, &["status", "nominatedNodeName"]).to_owned())),
        ),
        wide(
            "Readiness Gates",
            "string",
            "Gates that are open, of all",
            |object, _| json!(gates(object)),
        ),
    ]
}

fn containers() -> [Column; 2] {
    [
        wide(
            "Containers",
            "string",
            "Names of each container in the template.",
            |object, _| json!(joined(list(object, TEMPLATE), "name", ",")),
        ),
        wide(
            "Images",
            "string",
            "Images referenced by each container in the template.",
            |object, _| json!(joined(list(object, TEMPLATE), "image", ",")),
        ),
    ]
}

fn pod_selector() -> Column {
    wide("Selector", "string", "The pods that belong to it", |object, _| {
        json!(selector(at(object, &["spec", "selector"])))
    })
}

fn ready(object: &Value) -> String {
    // A server without workload controllers has not defaulted the replicas, and they default to one.
    let desired = at(object, &["spec", "replicas"]).as_i64().unwrap_or(1);
    format!("{}/{desired}", number(object, &["status", "readyReplicas"]))
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = list(object, &["status", "conditions"]).iter();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn job_status(object: &Value) -> &'static str {
    if has_condition(object, "Complete") {
        return "Complete";
    }
    if has_condition(object, "Failed") {
        return "Failed";
    }
    if !at(object, &["metadata", "deletionTimestamp"]).is_null() {
        return "Terminating";
    }
    for condition in ["Suspended", "FailureTarget", "SuccessCriteriaMet"] {
        if has_condition(object, condition) {
            return condition;
        }
    }
    "Running"
}

fn completions(object: &Value) -> String {
    let succeeded = number(object, &["status", "succeeded"]);
    match (
        at(object, &["spec", "completions"]).as_i64(),
        number(object, &["spec", "parallelism"]),
    ) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
}

fn job_duration(object: &Value, now: Timestamp) -> String {
    let Some(start) = time(object, &["status", "startTime"]) else {
        return String::new();
    };
    age::between(start, time(object, &["status", "completionTime"]).unwrap_or(now))
}

fn pod_status(object: &Value) -> String {
    if !at(object, &["metadata", "deletionTimestamp"]).is_null() {
        return "Terminating".to_owned();
    }
    for status in list(object, &["status", "containerStatuses"]).iter().rev() {
        for state in ["waiting", "terminated"] {
            let reason = text(status, &["state", state, "reason"]);
            if !reason.is_empty() {
                return reason.to_owned();
            }
        }
    }
    match text(object, &["status", "reason"]) {
        "" => text(object, &["status", "phase"]).to_owned(),
        reason => reason.to_owned(),
    }
}

fn gates(object: &Value) -> String {
    let gates = list(object, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| has_condition(object, text(gate, &["conditionType"])))
        .count();
    format!("{open}/{}", gates.len())
}
