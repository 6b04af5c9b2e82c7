//! What is done next when a write failed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_runtime::watch::{Delta, Key};
use serde_json::{Value, json};

use crate::moment::Since;
use crate::moment::tests::{instant, wall};
use crate::reconcile::fake::{object, second};
use crate::reconcile::{Failure, Reconciler};
use crate::replicasets::key::SetKey;
use crate::replicasets::message::{Ending, Input, Job, SetWrite, WorkEnding, WorkWrite};
use crate::replicasets::refusals::{Cause, Refusal};
use crate::replicasets::state::{MOST_REFUSALS, State};

fn work(cluster: &str) -> ManifestWork {
    object(json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": "ns.app", "namespace": cluster, "uid": cluster, "resourceVersion": "5", "generation": 1,
            "labels": {
                "work.open-cluster-management.io/manifestworkreplicaset": "ns.app",
                "work.open-cluster-management.io/placementname": "p",
            },
        },
        "spec": template(),
    }))
}

fn template() -> Value {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    json!({"workload": {"manifests": [map]}})
}

/// A replica set for clusters `a` and `b`; everything is known, and `works` are there.
fn state(works: &[&str]) -> State {
    state_with(works, json!([]))
}

/// The same, with conditions of the replica set from before.
fn state_with(works: &[&str], conditions: Value) -> State {
    let mut state = State::new(Duration::from_secs(30), false);
    let set: ManifestWorkReplicaSet = object(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {
            "name": "app", "namespace": "ns", "generation": 1, "resourceVersion": "3",
            "finalizers": ["work.open-cluster-management.io/manifest-work-cleanup"],
        },
        "spec": {"manifestWorkTemplate": template(), "placementRefs": [{"name": "p"}]},
        "status": {"conditions": conditions},
    }));
    let off = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    let placement: Placement = object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p", "namespace": "ns", "annotations": {off: "true"}}, "spec": {},
    }));
    state.handle(Input::Set(Delta::Applied(Arc::new(set))));
    state.handle(Input::Placement(Delta::Applied(Arc::new(placement))));
    decide(&mut state, &["a", "b"]);
    for cluster in works {
        state.handle(Input::Work(Delta::Applied(Arc::new(work(cluster)))));
    }
    state.handle(Input::Set(Delta::Synced));
    state.handle(Input::Placement(Delta::Synced));
    state.handle(Input::Decision(Delta::Synced));
    state.handle(Input::Work(Delta::Synced));
    state
}

/// The placement chooses these.
fn decide(state: &mut State, clusters: &[&str]) {
    let decisions: Vec<Value> = clusters
        .iter()
        .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
        .collect();
    let decision: PlacementDecision = object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {"name": "p-decision-1", "namespace": "ns", "labels": {
            "cluster.open-cluster-management.io/placement": "p",
            "cluster.open-cluster-management.io/decision-group-index": "0",
        }},
        "status": {"decisions": decisions},
    }));
    state.handle(Input::Decision(Delta::Applied(Arc::new(decision))));
}

fn due(state: &mut State, now: Timestamp) -> Option<Job> {
    let mut jobs = state.due(now.into(), 10);
    assert!(jobs.len() <= 1, "one job for a replica set at a time");
    jobs.pop()
}

/// Ends a job: works of clusters that are listed fail, all others succeed.
fn end(state: &mut State, job: Job, now: Timestamp, failing: &[(&str, Failure)]) {
    let works = job.works.iter().map(|write| {
        let key = write.key();
        let failure = failing.iter().find(|(cluster, _)| *cluster == key.cluster);
        let result = match (failure, write) {
            (Some((_, failure)), _) => Err(*failure),
            (None, WorkWrite::Delete { .. }) => Ok(None),
            (None, _) => Ok(Some(Arc::new(work(&key.cluster)))),
        };
        WorkEnding {
            kind: write.kind(),
            key,
            result,
        }
    });
    let ending = Ending {
        set: job.set.clone(),
        at: instant(now),
        works: works.collect(),
        template: job.template,
        object: None,
    };
    state.handle(Input::Ended(Box::new(ending)));
}

fn clusters(job: &Job) -> Vec<String> {
    job.works.iter().map(|write| write.key().cluster).collect()
}

#[test]
fn a_cluster_that_refuses_waits_alone_and_the_status_is_told_meanwhile() {
    // Its namespace is missing, or somebody else's work has the name.
    for failure in [Failure::Missing, Failure::Conflict] {
        let mut state = state(&[]);
        let job = due(&mut state, second(0)).unwrap();
        assert_eq!(clusters(&job), ["a", "b"]);
        end(&mut state, job, second(0), &[("b", failure)]);
        let job = due(&mut state, second(0)).unwrap();
        assert!(matches!(job.object, Some(SetWrite::Status { .. })), "{job:?}");
        end(&mut state, job, second(0), &[]);
        let job = due(&mut state, second(60)).unwrap();
        assert_eq!(clusters(&job), ["b"], "{failure:?}");
    }
}

#[test]
fn a_cluster_that_was_refused_before_a_restart_counts_as_failed_at_once() {
    let refused = json!([{
        "type": "WorksRefused", "status": "True", "reason": "NamespaceMissing", "observedGeneration": 1,
        "message": "the hub has no namespace for: b", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let mut state = state_with(&["a"], refused.clone());
    let job = due(&mut state, second(0)).unwrap();
    assert_eq!(clusters(&job), ["b"]);
    end(&mut state, job, second(0), &[("b", Failure::Missing)]);
    let job = due(&mut state, second(0)).unwrap();
    let Some(SetWrite::Status { status, .. }) = job.object else {
        panic!("{job:?}")
    };
    let kept = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "WorksRefused");
    assert_eq!(serde_json::to_value(kept).unwrap(), refused[0]);
}

#[test]
fn a_deletion_that_is_refused_is_repeated_with_pauses() {
    let mut state = state(&["a", "b", "gone"]);
    let mut now = second(0);
    for _ in 0..3 {
        let job = due(&mut state, now).unwrap();
        assert_eq!(clusters(&job), ["gone"]);
        end(&mut state, job, now, &[("gone", Failure::Forbidden)]);
        assert!(due(&mut state, now).is_none(), "not at once");
        now = wall(state.next_due().unwrap());
    }
}

#[test]
fn a_refusal_that_there_is_no_room_for_is_repeated_with_pauses() {
    let mut state = state(&["a"]);
    let refusal = Refusal {
        cause: Cause::of(Failure::Missing).unwrap(),
        times: 1,
        first: Since::at(instant(second(0))),
        until: instant(second(0)),
    };
    let others = (0..MOST_REFUSALS).map(|index| (format!("cluster-{index}"), refusal));
    state
        .refusals
        .insert(SetKey::new("ns", "other"), others.collect());
    let mut now = second(0);
    for _ in 0..3 {
        let job = due(&mut state, now).unwrap();
        assert_eq!(clusters(&job), ["b"]);
        end(&mut state, job, now, &[("b", Failure::Missing)]);
        assert!(due(&mut state, now).is_none(), "not at once");
        now = wall(state.next_due().unwrap());
    }
}

#[test]
fn a_deletion_that_was_acknowledged_is_not_repeated() {
    let mut state = state(&["a", "b", "gone"]);
    let job = due(&mut state, second(0)).unwrap();
    end(&mut state, job, second(0), &[]);
    let job = due(&mut state, second(0)).unwrap();
    assert!(job.works.is_empty(), "{job:?}");
}

#[test]
fn a_cluster_whose_work_was_gone_before_its_deletion_was_answered_gets_a_new_one() {
    let mut state = state(&["a"]);
    let job = due(&mut state, second(0)).unwrap();
    end(&mut state, job, second(0), &[]);
    decide(&mut state, &["a"]);
    let job = due(&mut state, second(1)).unwrap();
    assert_eq!(clusters(&job), ["b"]);
    // The agent lets it go while others are still being deleted; the answer is from before.
    state.handle(Input::Work(Delta::Deleted(Key::of(&work("b").metadata))));
    let mut leaving = work("b");
    leaving.metadata.deletion_timestamp = Some(Time(second(1)));
    let ending = Ending {
        set: job.set.clone(),
        at: instant(second(1)),
        works: vec![WorkEnding {
            kind: job.works[0].kind(),
            key: job.works[0].key(),
            result: Ok(Some(Arc::new(leaving))),
        }],
        template: job.template,
        object: None,
    };
    state.handle(Input::Ended(Box::new(ending)));
    decide(&mut state, &["a", "b"]);
    let job = due(&mut state, second(2)).unwrap();
    assert_eq!(clusters(&job), ["b"], "{job:?}");
}

#[test]
fn nothing_is_written_before_everything_is_known() {
    let mut state = state(&["gone"]);
    state.handle(Input::Decision(Delta::ListStarted));
    assert!(due(&mut state, second(0)).is_none());
    state.handle(Input::Decision(Delta::Synced));
    state.handle(Input::Work(Delta::NotServed));
    assert!(due(&mut state, second(0)).is_none());
    state.handle(Input::Work(Delta::Synced));
    assert!(due(&mut state, second(0)).is_some());
}
