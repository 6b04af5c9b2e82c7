//! A cluster has so long for a template and no longer, whatever its member makes of its work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_runtime::watch::Delta;
use serde_json::{Value, json};

use crate::moment::tests::instant;
use crate::reconcile::Reconciler;
use crate::reconcile::fake::{object, second};
use crate::replicasets::attempts::Attempts;
use crate::replicasets::key::{SetKey, WorkKey};
use crate::replicasets::message::{Ending, Input, SetWrite, WorkEnding, WorkWrite};
use crate::replicasets::set::Set;
use crate::replicasets::state::State;
use crate::replicasets::works::Work;

const SOAK: Duration = Duration::from_secs(60);

fn template(version: &str) -> Value {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"version": version}});
    json!({"workload": {"manifests": [map]}})
}

/// A replica set that rolls out to one cluster at a time, and waits for a minute for each.
fn set(version: &str) -> ManifestWorkReplicaSet {
    let strategy = json!({"type": "Progressive", "progressive": {
        "maxConcurrency": 1, "progressDeadline": "60s", "minSuccessTime": "60s", "maxFailures": "100%",
    }});
    object(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {
            "name": "app", "namespace": "ns", "generation": 1, "resourceVersion": "3",
            "finalizers": ["work.open-cluster-management.io/manifest-work-cleanup"],
        },
        "spec": {
            "manifestWorkTemplate": template(version),
            "placementRefs": [{"name": "p", "rolloutStrategy": strategy}],
        },
    }))
}

/// A replica set that waits for no success of the clusters of `p`, and for ten minutes for one of the clusters of `other`.
fn set_with_two_references() -> ManifestWorkReplicaSet {
    let mut set = set("2");
    let strategy = |soak: &str| {
        json!({"type": "Progressive", "progressive": {
            "maxConcurrency": 1, "progressDeadline": "60s", "minSuccessTime": soak, "maxFailures": "100%",
        }})
    };
    let references = json!([
        {"name": "p", "rolloutStrategy": strategy("0s")},
        {"name": "other", "rolloutStrategy": strategy("10m")},
    ]);
    set.spec.placement_refs = serde_json::from_value(references).unwrap();
    set
}

/// A hub with the clusters `a` and `b`, whose works a controller writes.
struct Hub {
    state: State,
    set: ManifestWorkReplicaSet,
    works: BTreeMap<String, ManifestWork>,
    version: u32,
}

impl Hub {
    fn new(works: Vec<ManifestWork>) -> Hub {
        Hub::of(set("2"), &["a", "b"], works)
    }

    fn of(set: ManifestWorkReplicaSet, clusters: &[&str], works: Vec<ManifestWork>) -> Hub {
        let mut state = State::new(Duration::from_secs(30), false);
        let off = "cluster.open-cluster-management.io/experimental-scheduling-disable";
        let placement: Placement = object(json!({
            "metadata": {"name": "p", "namespace": "ns", "annotations": {off: "true"}}, "spec": {},
        }));
        let entry = |cluster: &&str| json!({"clusterName": cluster, "reason": ""});
        let decisions: Vec<Value> = clusters.iter().map(entry).collect();
        let decision: PlacementDecision = object(json!({
            "metadata": {"name": "p-decision-1", "namespace": "ns", "labels": {
                "cluster.open-cluster-management.io/placement": "p",
                "cluster.open-cluster-management.io/decision-group-index": "0",
            }},
            "status": {"decisions": decisions},
        }));
        state.handle(Input::Set(Delta::Applied(Arc::new(set.clone()))));
        state.handle(Input::Placement(Delta::Applied(Arc::new(placement))));
        state.handle(Input::Decision(Delta::Applied(Arc::new(decision))));
        let mut hub = Hub {
            state,
            set,
            works: BTreeMap::new(),
            version: 10,
        };
        works.into_iter().for_each(|work| hub.write(work));
        hub.state.handle(Input::Set(Delta::Synced));
        hub.state.handle(Input::Placement(Delta::Synced));
        hub.state.handle(Input::Decision(Delta::Synced));
        hub.state.handle(Input::Work(Delta::Synced));
        hub
    }

    /// Keeps a work as an API server would, and lets the controller know.
    fn write(&mut self, mut work: ManifestWork) {
        let cluster = work.metadata.namespace.clone().unwrap();
        self.version += 1;
        let before = self.works.get(&cluster);
        let generation = match before {
            Some(before) if before.spec == work.spec => before.metadata.generation,
            Some(before) => before.metadata.generation.map(|generation| generation + 1),
            None => Some(1),
        };
        work.status = work
            .status
            .or_else(|| before.and_then(|before| before.status.clone()));
        work.metadata.uid = Some(cluster.clone());
        work.metadata.generation = generation;
        work.metadata.resource_version = Some(self.version.to_string());
        self.works.insert(cluster, work.clone());
        self.state.handle(Input::Work(Delta::Applied(Arc::new(work))));
    }

    /// A member edits its own work.
    fn edit(&mut self, cluster: &str, now: i64) {
        let mut work = self.works[cluster].clone();
        work.spec.workload.manifests[0]["data"]["version"] = json!(format!("of {now}"));
        self.write(work);
    }

    /// An agent reports that it has applied the work, and whether the workload is available.
    fn report(&mut self, cluster: &str, is_available: bool, now: i64) {
        let mut work = self.works[cluster].clone();
        let condition = |type_: &str, is_true: bool| {
            json!({
                "type": type_, "status": if is_true { "True" } else { "False" }, "reason": "R", "message": "",
                "observedGeneration": work.metadata.generation, "lastTransitionTime": second(now).to_string(),
            })
        };
        let conditions = [condition("Applied", true), condition("Available", is_available)];
        work.status = Some(serde_json::from_value(json!({"conditions": conditions})).unwrap());
        self.write(work);
    }

    /// Lets the controller do what it has to do at this second.
    fn settle(&mut self, now: i64) {
        for _ in 0..10 {
            let Some(job) = self.state.due(second(now).into(), 10).pop() else {
                return;
            };
            let works = job.works.iter().map(|write| {
                let work = match write {
                    WorkWrite::Create(work) | WorkWrite::Replace { work, .. } => (**work).clone(),
                    other => panic!("nobody asked for {other:?}"),
                };
                self.write(work);
                let key = write.key();
                let kept = self.works[&key.cluster].clone();
                WorkEnding {
                    kind: write.kind(),
                    result: Ok(Some(Arc::new(kept))),
                    key,
                }
            });
            let works = works.collect();
            let told = job.object.map(|write| match write {
                SetWrite::Status { status, .. } => {
                    self.version += 1;
                    self.set.status = Some(*status);
                    self.set.metadata.resource_version = Some(self.version.to_string());
                    Ok(Some(Arc::new(self.set.clone())))
                }
                other => panic!("nobody asked for {other:?}"),
            });
            self.state.handle(Input::Ended(Box::new(Ending {
                set: SetKey::new("ns", "app"),
                at: instant(second(now)),
                works,
                template: job.template,
                object: told,
            })));
        }
        panic!("the controller does not come to rest at second {now}");
    }

    /// When `b` gets its work, if `member` does something to `a` at every second.
    fn start_of_b(&mut self, member: impl FnMut(&mut Hub, i64)) -> Option<i64> {
        self.start_of("b", member)
    }

    fn start_of(&mut self, cluster: &str, mut member: impl FnMut(&mut Hub, i64)) -> Option<i64> {
        (0..1_000).find(|now| {
            self.settle(*now);
            if self.works.contains_key(cluster) {
                return true;
            }
            member(self, *now);
            self.settle(*now);
            false
        })
    }
}

#[test]
fn a_member_that_edits_its_work_again_and_again_runs_out_of_time() {
    let silent = Hub::new(vec![]).start_of_b(|_, _| {});
    assert_eq!(silent, Some(60));
    for pause in [1, 7, 59] {
        let edits = Hub::new(vec![]).start_of_b(|hub, now| {
            if now > 0 && now % pause == 0 {
                hub.edit("a", now);
            }
        });
        assert_eq!(edits, Some(60), "an edit in {pause} seconds");
    }
}

#[test]
fn a_member_that_reports_and_edits_its_work_again_and_again_runs_out_of_time() {
    for is_available in [false, true] {
        let start = Hub::new(vec![]).start_of_b(|hub, now| match now % 20 {
            5 => hub.report("a", is_available, now),
            15 => hub.edit("a", now),
            _ => {}
        });
        // The first report is at second 5; until then it had not applied the work, and it has to succeed for a minute.
        assert!(start.is_some_and(|start| start <= 5 + 60 + 60), "{start:?}");
    }
}

#[test]
fn a_short_success_gives_no_new_time_where_another_reference_asks_for_a_longer_one() {
    let mut hub = Hub::of(set_with_two_references(), &["a", "b", "c"], vec![]);
    let start = hub.start_of("c", |hub, now| {
        if now == 1 {
            hub.report("a", true, now);
        } else if now > 1 && now % 2 == 0 {
            hub.edit("a", now);
        }
        if hub.works.contains_key("b") && now == 10 {
            hub.report("b", true, now);
        }
    });
    assert!(start.is_some_and(|start| start <= 1 + 60 + 60), "{start:?}");
}

#[test]
fn a_controller_that_starts_goes_on_with_the_time_of_the_last_one() {
    let mut before = Hub::new(vec![]);
    for now in 0..50 {
        before.settle(now);
        if now % 10 == 9 {
            before.edit("a", now);
        }
    }
    before.settle(50);
    let mut after = Hub::new(before.works.into_values().collect());
    for now in 50..60 {
        after.settle(now);
    }
    assert!(!after.works.contains_key("b"));
    after.settle(60);
    assert!(after.works.contains_key("b"));
}

#[test]
fn a_member_that_does_not_let_its_former_work_go_runs_out_of_time() {
    let mut leaving = ManifestWork::new("ns.app", set("1").spec.manifest_work_template);
    leaving.metadata.namespace = Some("a".to_owned());
    leaving.metadata.labels = Some(BTreeMap::from(
        [
            ("work.open-cluster-management.io/manifestworkreplicaset", "ns.app"),
            ("work.open-cluster-management.io/placementname", "p"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    ));
    leaving.metadata.deletion_timestamp = Some(Time(second(0)));
    assert_eq!(Hub::new(vec![leaving]).start_of_b(|_, _| {}), Some(60));
}

/// What a controller knows of the attempts of a cluster when it has heard of these works: the version of the template that the work
/// has, and whether the workload is available, at seconds.
fn observed(works: &[(i64, &str, bool)]) -> Attempts {
    let set = Set::new(Arc::new(set("2")), None);
    let key = WorkKey {
        cluster: "a".to_owned(),
        name: "ns.app".to_owned(),
    };
    let mut attempts = Attempts::at(set.template);
    let mut known: BTreeMap<WorkKey, Work> = BTreeMap::new();
    for (generation, (now, version, is_available)) in (1..).zip(works) {
        let condition = |type_: &str, is_true: bool| {
            json!({
                "type": type_, "status": if is_true { "True" } else { "False" }, "reason": "R", "message": "",
                "observedGeneration": generation, "lastTransitionTime": second(*now).to_string(),
            })
        };
        let object: ManifestWork = object(json!({
            "metadata": {"name": "ns.app", "namespace": "a", "uid": "u", "generation": generation},
            "spec": template(version),
            "status": {"conditions": [condition("Applied", true), condition("Available", *is_available)]},
        }));
        let mut work = Work::of(&object, false);
        if let Some(before) = known.get(&key) {
            work.follow(before);
        }
        known.insert(key.clone(), work);
        attempts.observe(&set, &mut known, second(*now).into());
    }
    attempts
}

#[test]
fn the_first_report_on_a_template_stays_the_first_whatever_follows() {
    let first_report = |works: &[(i64, &str, bool)]| {
        let attempts = observed(works);
        attempts.clusters["a"].first_report(second(1_000).into())
    };
    let briefly = [
        (10, "2", false),
        (20, "2", true),
        (30, "1", true),
        (40, "2", false),
    ];
    assert_eq!(first_report(&briefly), Some(second(10)));
    let soaked = [(10, "2", false), (20, "2", true), (80, "2", false)];
    assert_eq!(
        first_report(&soaked),
        Some(second(80)),
        "another attempt has begun"
    );
}

#[test]
fn a_success_with_a_former_template_ends_no_attempt() {
    let attempts = observed(&[(0, "2", false), (10, "1", true), (500, "2", false)]);
    assert!(!attempts.clusters["a"].has_soaked(SOAK));
    let attempts = observed(&[(0, "2", true), (500, "1", true)]);
    assert!(attempts.clusters["a"].has_soaked(SOAK));
}

#[test]
fn attempts_at_a_former_template_and_of_clusters_that_nobody_selects_are_forgotten() {
    let mut attempts = observed(&[(0, "2", false)]);
    attempts.keep(&["b".to_owned()].into());
    assert!(attempts.clusters.is_empty());
    let mut attempts = observed(&[(0, "2", false)]);
    let next = Set::new(Arc::new(set("3")), None);
    attempts.observe(&next, &mut BTreeMap::new(), second(10).into());
    assert!(attempts.clusters.is_empty());
}
