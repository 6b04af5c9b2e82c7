//! CronJobs: a Job when the schedule says so, and no more finished Jobs than the limits keep.

use cronexpr::{Crontab, MakeTimestamp};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Step, Workload, conditions, job, text};

/// The time of the schedule that a Job was made for, as Kubernetes writes it.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// How far back a time of the schedule is looked for, in steps: most schedules are found in the last hour.
const BACK: [i64; 4] = [3_600, 24 * 3_600, 32 * 24 * 3_600, 4 * 366 * 24 * 3_600];

pub(super) fn step(workload: &Workload<'_>) -> Step {
    let (over, active): (Vec<&Value>, Vec<&Value>) =
        workload.jobs.iter().partition(|job| job::is_over(&job["status"]));
    let mut step = Step {
        delete: outdated(workload, &over),
        ..Step::default()
    };
    let spec = &workload.object["spec"];
    let mut last = workload.time(&workload.object["status"]["lastScheduleTime"]);
    // What cannot be read is never due. The server has refused the mistakes that people make.
    let schedule = schedule(spec).filter(|_| spec["suspend"] != true);
    if let Some(schedule) = schedule {
        step.again = next(&schedule, workload.now);
        let forbidden = spec["concurrencyPolicy"] == "Forbid" && !active.is_empty();
        if let Some(due) = due(workload, &schedule, last).filter(|_| !forbidden) {
            if spec["concurrencyPolicy"] == "Replace" {
                step.delete.extend(active.iter().copied().map(name));
            }
            step.create = Some(make(workload, due));
            last = Some(due);
        }
    }
    let deleted = |job: &&&Value| !step.delete.contains(&name(job));
    let active: Vec<Value> = active.iter().filter(deleted).map(|job| reference(job)).collect();
    let succeeded = over
        .iter()
        .filter_map(|job| workload.time(&job["status"]["completionTime"]))
        .chain(workload.time(&workload.object["status"]["lastSuccessfulTime"]))
        .max();
    let mut wanted = json!({});
    if !active.is_empty() {
        wanted["active"] = active.into();
    }
    for (field, time) in [("lastScheduleTime", last), ("lastSuccessfulTime", succeeded)] {
        if let Some(time) = time {
            wanted[field] = text(time).into();
        }
    }
    let nothing = workload.object["status"].is_null() && wanted == json!({});
    if !nothing && workload.object["status"] != wanted {
        step.status = Some(wanted);
    }
    step
}

/// The schedule in its time zone, or in UTC.
fn schedule(spec: &Value) -> Option<Crontab> {
    let text = match spec["schedule"].as_str()? {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        text => text,
    };
    let zone = spec["timeZone"].as_str().unwrap_or("UTC");
    // Kubernetes takes a question mark for an asterisk.
    cronexpr::parse_crontab(&format!("{} {zone}", text.replace('?', "*"))).ok()
}

fn next(schedule: &Crontab, after: Timestamp) -> Option<Timestamp> {
    let next = schedule.find_next(MakeTimestamp(after)).ok()?;
    Some(next.timestamp())
}

/// The latest time of the schedule for which no Job was made, unless it is too late for it.
fn due(workload: &Workload<'_>, schedule: &Crontab, last: Option<Timestamp>) -> Option<Timestamp> {
    let created = workload.time(&workload.object["metadata"]["creationTimestamp"]);
    let mut earliest = last.or(created)?;
    if let Some(deadline) = workload.number("/spec/startingDeadlineSeconds") {
        let deadline = SignedDuration::from_secs(deadline.max(0));
        // A deadline before the first time that can be written is none.
        earliest = earliest.max(workload.now.checked_sub(deadline).unwrap_or(Timestamp::MIN));
    }
    BACK.into_iter().find_map(|seconds| {
        let back = SignedDuration::from_secs(seconds);
        let from = earliest.max(workload.now.checked_sub(back).unwrap_or(Timestamp::MIN));
        let times = std::iter::successors(next(schedule, from), |time| next(schedule, *time));
        times.take_while(|time| *time <= workload.now).last()
    })
}

/// The Job for a time of the schedule. Its name says the time, so that it is made once.
fn make(workload: &Workload<'_>, due: Timestamp) -> Value {
    let (metadata, template) = (
        &workload.object["metadata"],
        &workload.object["spec"]["jobTemplate"],
    );
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut annotations = match &template["metadata"]["annotations"] {
        Value::Object(annotations) => annotations.clone(),
        _ => serde_json::Map::new(),
    };
    annotations.insert(SCHEDULED.to_owned(), text(due).into());
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": format!("{name}-{}", due.as_second() / 60), "namespace": metadata["namespace"],
            "labels": template["metadata"]["labels"], "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "CronJob", "name": name, "uid": metadata["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": template["spec"],
    })
}

/// The names of finished Jobs beyond the limits, oldest first.
fn outdated(workload: &Workload<'_>, over: &[&Value]) -> Vec<String> {
    let mut outdated = Vec::new();
    for (failed, limit, usual) in [
        (false, "/spec/successfulJobsHistoryLimit", 3),
        (true, "/spec/failedJobsHistoryLimit", 1),
    ] {
        let has_failed = |job: &Value| {
            conditions::find(&job["status"], "Failed").is_some_and(|condition| condition["status"] == "True")
        };
        let mut jobs: Vec<&Value> = over
            .iter()
            .copied()
            .filter(|job| has_failed(job) == failed)
            .collect();
        jobs.sort_by_key(|job| (workload.time(&job["status"]["startTime"]), name(job)));
        let limit = workload.number(limit).unwrap_or(usual);
        let keep = usize::try_from(limit).unwrap_or(0);
        let beyond = jobs.len().saturating_sub(keep);
        outdated.extend(jobs.into_iter().take(beyond).map(name));
    }
    outdated
}

fn name(job: &Value) -> String {
    job["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn reference(job: &Value) -> Value {
    let metadata = &job["metadata"];
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "namespace": metadata["namespace"],
        "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
    })
}

#[cfg(test)]
mod tests {
    use super::super::InjectedFault;
    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-03-01T{time}Z").parse().unwrap()
    }

    fn cron(spec: Value) -> Value {
        let mut object = json!({
            "kind": "CronJob",
            "metadata": {"name": "report", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-03-01T10:00:30Z"},
            "spec": {"schedule": "*/5 * * * *", "jobTemplate": {
                "metadata": {"labels": {"app": "report"}},
                "spec": {"template": {"spec": {"containers": []}}},
            }},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        object
    }

    fn look(object: &mut Value, jobs: &[&Value], time: &str) -> Step {
        let workload = Workload {
            object,
            jobs,
            fate: InjectedFault::Well,
            since: at("10:00:30"),
            now: at(time),
        };
        let step = workload.step();
        if let Some(status) = step.status.clone() {
            object["status"] = status;
        }
        step
    }

    fn finished(name: &str, kind: &str, minute: u32) -> Value {
        json!({
            "metadata": {"name": name},
            "status": {"startTime": format!("2026-03-01T10:{minute:02}:00Z"),
                "completionTime": format!("2026-03-01T10:{minute:02}:02Z"),
                "conditions": [{"type": kind, "status": "True"}]},
        })
    }

    fn running(name: &str) -> Value {
        json!({"metadata": {"name": name, "uid": "j"}, "status": {"active": 1}})
    }

    #[test]
    fn a_schedule_that_is_due_makes_a_job_once() {
        let mut object = cron(json!({}));
        let early = look(&mut object, &[], "10:01:00");
        assert_eq!((early.create, early.again), (None, Some(at("10:05:00"))));
        let step = look(&mut object, &[], "10:05:00");
        let job = step.create.unwrap();
        assert_eq!(
            job["metadata"]["name"],
            format!("report-{}", at("10:05:00").as_second() / 60)
        );
        assert_eq!(job["metadata"]["namespace"], "shop");
        assert_eq!(job["metadata"]["labels"]["app"], "report");
        assert_eq!(job["metadata"]["annotations"][SCHEDULED], "2026-03-01T10:05:00Z");
        assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(object["status"]["lastScheduleTime"], "2026-03-01T10:05:00Z");
        assert_eq!(look(&mut object, &[], "10:05:01").create, None);
        assert_eq!(step.again, Some(at("10:10:00")));
    }

    #[test]
    fn a_deadline_longer_than_all_time_is_none() {
        for deadline in [i64::MAX, 1_000_000_000_000] {
            let mut object = cron(json!({"startingDeadlineSeconds": deadline}));
            assert!(look(&mut object, &[], "10:05:00").create.is_some(), "{deadline}");
        }
    }

    #[test]
    fn of_several_times_that_were_missed_the_latest_counts() {
        let mut object = cron(json!({}));
        look(&mut object, &[], "14:03:00");
        assert_eq!(object["status"]["lastScheduleTime"], "2026-03-01T14:00:00Z");
        let mut object = cron(json!({"startingDeadlineSeconds": 60}));
        assert_eq!(look(&mut object, &[], "14:03:00").create, None, "it is too late");
    }

    #[test]
    fn a_suspended_one_makes_no_job_and_one_with_a_zone_goes_by_it() {
        let mut object = cron(json!({"suspend": true}));
        let step = look(&mut object, &[], "10:05:00");
        assert_eq!((step.create, step.again), (None, None));
        let mut object = cron(json!({"schedule": "0 12 * * *", "timeZone": "Asia/Tokyo"}));
        let next: Timestamp = "2026-03-02T03:00:00Z".parse().unwrap();
        assert_eq!(look(&mut object, &[], "10:05:00").again, Some(next));
    }

    #[test]
    fn a_running_job_is_listed_waited_for_or_replaced_as_the_policy_says() {
        let job = running("report-1");
        let mut object = cron(json!({"concurrencyPolicy": "Allow"}));
        let step = look(&mut object, &[&job], "10:05:00");
        assert!(step.create.is_some() && step.delete.is_empty());
        assert_eq!(object["status"]["active"][0]["name"], "report-1");
        let mut object = cron(json!({"concurrencyPolicy": "Forbid"}));
        assert_eq!(look(&mut object, &[&job], "10:05:00").create, None);
        assert!(
            look(&mut object, &[], "10:06:00").create.is_some(),
            "it starts when the other is done"
        );
        let mut object = cron(json!({"concurrencyPolicy": "Replace"}));
        let step = look(&mut object, &[&job], "10:05:00");
        assert!(step.create.is_some());
        assert_eq!(step.delete, ["report-1"]);
        assert_eq!(object["status"].get("active"), None);
    }

    #[test]
    fn finished_jobs_beyond_the_limits_are_deleted_oldest_first() {
        let jobs: Vec<Value> = (0..5)
            .map(|n| finished(&format!("good-{n}"), "Complete", n))
            .chain((5..8).map(|n| finished(&format!("bad-{n}"), "Failed", n)))
            .collect();
        let jobs: Vec<&Value> = jobs.iter().rev().collect();
        let mut object = cron(json!({}));
        let step = look(&mut object, &jobs, "10:01:00");
        assert_eq!(step.delete, ["good-0", "good-1", "bad-5", "bad-6"]);
        let mut object = cron(json!({"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 9}));
        assert_eq!(look(&mut object, &jobs, "10:01:00").delete.len(), 5);
    }

    #[test]
    fn words_for_schedules_are_known_and_what_is_not_understood_is_never_due() {
        let mut object = cron(json!({"schedule": "@hourly"}));
        assert_eq!(look(&mut object, &[], "10:01:00").again, Some(at("11:00:00")));
        for schedule in ["@every 5m", "never", "61 * * * *"] {
            let mut object = cron(json!({"schedule": schedule}));
            assert_eq!(look(&mut object, &[], "10:05:00"), Step::default(), "{schedule}");
        }
    }
}
