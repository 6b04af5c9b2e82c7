//! Works of clusters that left a decision because they could not be reached.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_runtime::watch::Delta;
use serde_json::{Value, json};

use crate::moment::tests::instant;
use crate::reconcile::Reconciler;
use crate::reconcile::fake::{object, second};
use crate::replicasets::message::{Ending, Input, SetWrite, WorkEnding, WorkWrite};
use crate::replicasets::state::State;
use crate::sabotage::{Rule, with_sabotaged};

fn template() -> Value {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    json!({"workload": {"manifests": [map]}})
}

/// A replica set on clusters `a` and `b`, which are available, for a placement with so many clusters.
struct World {
    state: State,
    set: ManifestWorkReplicaSet,
    wanted: Option<i32>,
    version: u32,
}

impl World {
    fn new(wanted: Option<i32>) -> World {
        let set: ManifestWorkReplicaSet = object(json!({
            "metadata": {
                "name": "app", "namespace": "ns", "generation": 1, "resourceVersion": "3",
                "finalizers": ["work.open-cluster-management.io/manifest-work-cleanup"],
            },
            "spec": {"manifestWorkTemplate": template(), "placementRefs": [{"name": "p"}]},
        }));
        let mut world = World {
            state: State::new(Duration::from_secs(30), true),
            set: set.clone(),
            wanted,
            version: 10,
        };
        world.state.handle(Input::Set(Delta::Applied(Arc::new(set))));
        world.decide(&["a", "b"]);
        for cluster in ["a", "b"] {
            world.cluster(cluster, "True", false);
            world.work(cluster);
        }
        let state = &mut world.state;
        state.handle(Input::Set(Delta::Synced));
        state.handle(Input::Placement(Delta::Synced));
        state.handle(Input::Decision(Delta::Synced));
        state.handle(Input::Work(Delta::Synced));
        state.handle(Input::Cluster(Delta::Synced));
        world
    }

    fn decide(&mut self, clusters: &[&str]) {
        let groups = json!([{"decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["p-decision-1"],
            "clusterCount": clusters.len()}]);
        let placement: Placement = object(json!({
            "metadata": {"name": "p", "namespace": "ns"}, "spec": {"numberOfClusters": self.wanted},
            "status": {"numberOfSelectedClusters": clusters.len(), "decisionGroups": groups},
        }));
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
            .collect();
        let decision: PlacementDecision = object(json!({
            "metadata": {"name": "p-decision-1", "namespace": "ns", "labels": {
                "cluster.open-cluster-management.io/placement": "p",
                "cluster.open-cluster-management.io/decision-group-index": "0",
            }},
            "status": {"decisions": decisions},
        }));
        let state = &mut self.state;
        state.handle(Input::Decision(Delta::Applied(Arc::new(decision))));
        state.handle(Input::Placement(Delta::Applied(Arc::new(placement))));
    }

    /// Says how a cluster is, as its agent and registration do.
    fn cluster(&mut self, name: &str, available: &str, tainted: bool) {
        let taints = match tainted {
            true => json!([{"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}]),
            false => json!([]),
        };
        let cluster: ManagedCluster = object(json!({
            "metadata": {"name": name}, "spec": {"hubAcceptsClient": true, "taints": taints},
            "status": {"conditions": [{
                "type": "ManagedClusterConditionAvailable", "status": available, "reason": "R", "message": "",
                "lastTransitionTime": "2020-01-01T00:00:00Z",
            }]},
        }));
        self.state
            .handle(Input::Cluster(Delta::Applied(Arc::new(cluster))));
    }

    fn work(&mut self, cluster: &str) {
        self.version += 1;
        let work: ManifestWork = object(json!({
            "metadata": {
                "name": "ns.app", "namespace": cluster, "uid": cluster, "generation": 1,
                "resourceVersion": self.version.to_string(),
                "labels": {
                    "work.open-cluster-management.io/manifestworkreplicaset": "ns.app",
                    "work.open-cluster-management.io/placementname": "p",
                },
            },
            "spec": template(),
        }));
        self.state.handle(Input::Work(Delta::Applied(Arc::new(work))));
    }

    /// The writes of works at some time, as `verb cluster`, until nothing is due. Deletions wait for an agent.
    fn writes(&mut self, now: Timestamp) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..10 {
            let jobs = self.state.due(now.into(), usize::MAX);
            if jobs.is_empty() {
                return all;
            }
            for job in jobs {
                let ended = |write: &WorkWrite| WorkEnding {
                    key: write.key(),
                    kind: write.kind(),
                    result: Ok(None),
                };
                all.extend(job.works.iter().map(|write| match write {
                    WorkWrite::Create(_) => format!("create {}", write.key().cluster),
                    WorkWrite::Delete { .. } => format!("delete {}", write.key().cluster),
                    other => format!("{other:?}"),
                }));
                if let Some(SetWrite::Status { status, .. }) = job.object.clone() {
                    self.version += 1;
                    self.set.metadata.resource_version = Some(self.version.to_string());
                    self.set.status = Some(*status);
                }
                let object = job.object.map(|_| Ok(Some(Arc::new(self.set.clone()))));
                let ending = Ending {
                    set: job.set.clone(),
                    at: instant(now),
                    works: job.works.iter().map(ended).collect(),
                    template: job.template,
                    object,
                };
                self.state.handle(Input::Ended(Box::new(ending)));
                for write in &job.works {
                    if let WorkWrite::Create(_) = write {
                        self.work(&write.key().cluster);
                    }
                }
            }
        }
        all
    }

    /// Cluster `b` falls silent and leaves the decision.
    fn silence(&mut self, now: Timestamp) {
        self.cluster("b", "Unknown", false);
        self.writes(now);
        self.cluster("b", "Unknown", true);
        self.decide(&["a"]);
    }
}

#[test]
fn a_silent_cluster_that_is_selected_again_finds_its_work_untouched() {
    let history = || {
        let mut world = World::new(None);
        let mut writes = world.writes(second(0));
        world.silence(second(10));
        writes.extend(world.writes(second(10)));
        writes.extend(world.writes(second(10_000)));
        // Its agent is heard, then the taint goes, then it is decided: each may take a while.
        world.cluster("b", "True", true);
        writes.extend(world.writes(second(10_100)));
        world.cluster("b", "True", false);
        writes.extend(world.writes(second(10_101)));
        writes.extend(world.writes(second(10_125)));
        world.decide(&["a", "b"]);
        writes.extend(world.writes(second(10_126)));
        writes.extend(world.writes(second(20_000)));
        writes
    };
    assert_eq!(history(), [""; 0]);
    let broken = with_sabotaged(Rule::SilentIsNotUnwanted, history);
    assert!(broken.contains(&"delete b".to_owned()), "{broken:?}");
}

#[test]
fn a_cluster_that_is_back_and_not_selected_loses_its_work_after_a_while() {
    let mut world = World::new(None);
    world.silence(second(10));
    assert_eq!(world.writes(second(10)), [""; 0]);
    world.cluster("b", "True", false);
    assert_eq!(world.writes(second(100)), [""; 0]);
    assert_eq!(world.state.next_due(), Some(instant(second(130))));
    assert_eq!(world.writes(second(129)), [""; 0]);
    assert_eq!(world.writes(second(130)), ["delete b"]);
}

#[test]
fn a_silent_cluster_whose_place_another_takes_loses_its_work_at_once() {
    let mut world = World::new(Some(2));
    world.silence(second(10));
    assert_eq!(world.writes(second(10)), [""; 0], "nobody has its place yet");
    world.cluster("c", "True", false);
    world.decide(&["a", "c"]);
    let mut writes = world.writes(second(20));
    writes.sort();
    assert_eq!(writes, ["create c", "delete b"]);
}

#[test]
fn a_cluster_that_answers_or_is_gone_or_leaves_loses_its_work_at_once() {
    let mut world = World::new(None);
    world.writes(second(0));
    world.decide(&["a"]);
    assert_eq!(world.writes(second(1)), ["delete b"]);

    let mut world = World::new(None);
    world.silence(second(10));
    world.writes(second(10));
    let gone = portolan_runtime::watch::Key {
        namespace: String::new(),
        name: "b".to_owned(),
        uid: String::new(),
    };
    world.state.handle(Input::Cluster(Delta::Deleted(gone)));
    assert_eq!(world.writes(second(20)), ["delete b"]);

    let mut world = World::new(None);
    world.writes(second(0));
    leave(&mut world, "b");
    assert_eq!(world.writes(second(1)), [""; 0], "a decision names it still");
    world.decide(&["a"]);
    assert_eq!(world.writes(second(2)), ["delete b"]);
}

#[test]
fn a_cluster_that_is_being_removed_gets_no_work() {
    let mut world = World::new(None);
    world.writes(second(0));
    leave(&mut world, "c");
    world.decide(&["a", "b", "c"]);
    assert_eq!(world.writes(second(1)), [""; 0]);
}

#[test]
fn after_a_restart_a_cluster_that_has_just_come_back_waits_for_its_decision() {
    let mut world = World::new(None);
    // Ten seconds before the restart, by the clock of the member.
    let since = second(90).to_string();
    let cluster: ManagedCluster = object(json!({
        "metadata": {"name": "c"}, "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{
            "type": "ManagedClusterConditionAvailable", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": since,
        }]},
    }));
    world
        .state
        .handle(Input::Cluster(Delta::Applied(Arc::new(cluster))));
    world.work("c");
    assert_eq!(world.writes(second(100)), [""; 0]);
    assert_eq!(world.writes(second(120)), ["delete c"]);
}

#[test]
fn what_is_kept_is_said_in_the_condition() {
    let mut world = World::new(None);
    world.silence(second(10));
    world.writes(second(20));
    let status = world.set.status.unwrap();
    let said = |type_: &str| {
        let condition = status
            .conditions
            .iter()
            .find(|condition| condition.type_ == type_);
        condition
            .map(|condition| condition.message.clone())
            .unwrap_or_default()
    };
    let rolled_out = said("PlacementRolledOut");
    assert!(
        rolled_out.contains("kept on clusters that cannot be reached: b"),
        "{rolled_out}"
    );
    assert_eq!(status.summary.total, 1);
}

fn leave(world: &mut World, name: &str) {
    let cluster: ManagedCluster = object(json!({
        "metadata": {"name": name, "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["portolan.dev/leave"]},
        "spec": {"hubAcceptsClient": true},
    }));
    let delta = Delta::Applied(Arc::new(cluster));
    world.state.handle(Input::Cluster(delta));
}

/// What is written for a cluster that left the decision and cannot be read.
fn writes_without_reading() -> Vec<String> {
    let mut world = World::new(None);
    world.writes(second(0));
    // Nothing is known of the cluster, as after a start.
    world.state.absences.forget("b");
    let unreadable = crate::reconcile::fake::cannot_be_read("", "b");
    world.state.handle(Input::Cluster(Delta::Unreadable(unreadable)));
    world.decide(&["a"]);
    world.writes(second(1000))
}

#[test]
fn a_cluster_that_cannot_be_read_keeps_its_work_and_taking_it_for_absent_is_noticed() {
    assert!(writes_without_reading().is_empty());
    let writes = with_sabotaged(Rule::UnreadableIsNotAbsent, writes_without_reading);
    assert_eq!(writes, ["delete b"]);
}
