//! Works of clusters that no set bound to the namespace of the replica set has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_runtime::watch::{Delta, Key};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::moment::tests::instant;
use crate::reconcile::Reconciler;
use crate::reconcile::fake::{cannot_be_read, object, second};
use crate::replicasets::key::SetKey;
use crate::replicasets::message::{Ending, Input, SetWrite, WorkEnding, WorkWrite};
use crate::replicasets::state::State;
use crate::sabotage::{Rule, with_sabotaged};

/// A replica set in `ns` whose decision, written by hand, names `mine` and `theirs`. `mine` is in the set `ours`, which is
/// bound to `ns`; `theirs` is in the set `others`, which is not.
struct World {
    state: State,
    set: ManifestWorkReplicaSet,
    version: u32,
    now: i64,
    /// Clusters that have a work.
    works: BTreeSet<String>,
}

fn applied<K: DeserializeOwned>(value: Value) -> Delta<K> {
    Delta::Applied(Arc::new(object(value)))
}

fn gone<K>(namespace: &str, name: &str) -> Delta<K> {
    Delta::Deleted(Key {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    })
}

fn binding(set: &str) -> Input {
    Input::Binding(applied(json!({
        "metadata": {"namespace": "ns", "name": set}, "spec": {"clusterSet": set},
    })))
}

impl World {
    fn new(state: State) -> World {
        let mut world = World {
            state,
            set: object(json!({
                "metadata": {
                    "name": "app", "namespace": "ns", "generation": 1, "resourceVersion": "3",
                    "finalizers": ["work.open-cluster-management.io/manifest-work-cleanup"],
                },
                "spec": {"manifestWorkTemplate": template("1"), "placementRefs": [{"name": "p"}]},
            })),
            version: 10,
            now: 0,
            works: BTreeSet::new(),
        };
        world.hear_set();
        let state = &mut world.state;
        state.handle(Input::Placement(applied(json!({
            "metadata": {"name": "p", "namespace": "ns", "annotations": {
                "cluster.open-cluster-management.io/experimental-scheduling-disable": "true",
            }},
            "spec": {},
        }))));
        let decided = ["mine", "theirs"].map(|name| json!({"clusterName": name, "reason": ""}));
        state.handle(Input::Decision(applied(json!({
            "metadata": {"name": "p-decision-1", "namespace": "ns", "labels": {
                "cluster.open-cluster-management.io/placement": "p",
                "cluster.open-cluster-management.io/decision-group-index": "0",
            }},
            "status": {"decisions": decided},
        }))));
        for (cluster, set) in [("mine", "ours"), ("theirs", "others")] {
            let labels = json!({"cluster.open-cluster-management.io/clusterset": set});
            state.handle(Input::Cluster(applied(json!({
                "metadata": {"name": cluster, "labels": labels}, "spec": {"hubAcceptsClient": true},
            }))));
            let set = applied(json!({"metadata": {"name": set}, "spec": {}}));
            state.handle(Input::ClusterSet(set));
        }
        state.handle(binding("ours"));
        state.handle(Input::Set(Delta::Synced));
        state.handle(Input::Placement(Delta::Synced));
        state.handle(Input::Decision(Delta::Synced));
        state.handle(Input::Work(Delta::Synced));
        state.handle(Input::Cluster(Delta::Synced));
        state.handle(Input::ClusterSet(Delta::Synced));
        world
    }

    /// One that asks for bindings and knows all of them.
    fn requiring() -> World {
        let mut world = World::new(State::new(Duration::from_secs(30), true).requiring_bindings());
        world.state.handle(Input::Binding(Delta::Synced));
        world
    }

    fn hear_set(&mut self) {
        let set = Arc::new(self.set.clone());
        self.state.handle(Input::Set(Delta::Applied(set)));
    }

    fn change_template(&mut self, value: &str) {
        self.set.spec.manifest_work_template = object(template(value));
        self.set.metadata.generation = self.set.metadata.generation.map(|generation| generation + 1);
        self.set.metadata.resource_version = Some(self.next_version());
        self.hear_set();
    }

    fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    /// The writes of works, as `verb cluster`, until nothing is due.
    fn writes(&mut self) -> Vec<String> {
        self.now += 60;
        let now = second(self.now);
        let mut all = Vec::new();
        for _ in 0..10 {
            let jobs = self.state.due(now.into(), usize::MAX);
            if jobs.is_empty() {
                break;
            }
            for job in jobs {
                let mut endings = Vec::new();
                for write in &job.works {
                    let (key, kind) = (write.key(), write.kind());
                    let verb = match write {
                        WorkWrite::Create(_) => "create",
                        WorkWrite::Replace { .. } => "replace",
                        WorkWrite::Delete { .. } => "delete",
                        WorkWrite::Labels { .. } => "label",
                    };
                    all.push(format!("{verb} {}", key.cluster));
                    let written = match write {
                        WorkWrite::Create(work) | WorkWrite::Replace { work, .. } => {
                            let mut work = ManifestWork::clone(work);
                            work.metadata.uid = Some(key.cluster.clone());
                            work.metadata.resource_version = Some(self.next_version());
                            self.works.insert(key.cluster.clone());
                            Some(Arc::new(work))
                        }
                        _ => None,
                    };
                    let result = Ok(written);
                    endings.push(WorkEnding { key, kind, result });
                }
                if let Some(SetWrite::Status { status, .. }) = job.object.clone() {
                    self.set.metadata.resource_version = Some(self.next_version());
                    self.set.status = Some(*status);
                }
                self.state.handle(Input::Ended(Box::new(Ending {
                    set: job.set,
                    at: instant(now),
                    works: endings,
                    template: job.template,
                    object: job.object.map(|_| Ok(Some(Arc::new(self.set.clone())))),
                })));
            }
        }
        all
    }

    /// Reason and message of a condition of the replica set.
    fn said(&self, type_: &str) -> Option<(String, String)> {
        let mut conditions = self.set.status.iter().flat_map(|status| &status.conditions);
        let said = conditions.find(|condition| condition.type_ == type_)?;
        Some((said.reason.clone(), said.message.clone()))
    }
}

fn template(value: &str) -> Value {
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value}});
    json!({"workload": {"manifests": [map]}})
}

#[test]
fn a_decision_that_somebody_wrote_reaches_no_cluster_that_is_not_bound() {
    let writes = || World::requiring().writes();
    assert_eq!(writes(), ["create mine"]);
    let broken = with_sabotaged(Rule::BoundClustersOnly, writes);
    assert_eq!(broken, ["create mine", "create theirs"]);
}

#[test]
fn without_the_setting_every_cluster_of_a_decision_is_reached() {
    let mut world = World::new(State::new(Duration::from_secs(30), true));
    assert_eq!(world.writes(), ["create mine", "create theirs"]);
}

#[test]
fn a_cluster_that_is_not_bound_is_named_and_gets_its_work_when_it_is() {
    let mut world = World::requiring();
    world.writes();
    assert_eq!(world.said("WorksRefused"), None, "its binding may be on its way");
    world.writes();
    let (reason, message) = world.said("WorksRefused").unwrap();
    assert_eq!(reason, "ClusterSetNotBound");
    assert!(
        message.ends_with("ManagedClusterSetBinding for a set of: theirs"),
        "{message}"
    );
    world.state.handle(binding("others"));
    assert_eq!(world.writes(), ["create theirs"]);
    world.writes();
    assert_eq!(world.said("WorksRefused"), None);
}

#[test]
fn a_binding_that_goes_or_cannot_be_read_takes_no_work_away() {
    let mut world = World::requiring();
    world.writes();
    let unreadable = cannot_be_read("ns", "ours");
    world.state.handle(Input::Binding(Delta::Unreadable(unreadable)));
    assert_eq!(world.writes(), [""; 0]);
    world.change_template("2");
    assert_eq!(
        world.writes(),
        ["replace mine"],
        "the binding is there as far as is known"
    );
    for delta in [
        Delta::ListStarted,
        gone("ns", "ours"),
        Delta::Synced,
        Delta::NotServed,
    ] {
        world.state.handle(Input::Binding(delta));
        assert_eq!(world.writes(), [""; 0]);
    }
    for delta in [gone("", "ours"), Delta::NotServed] {
        world.state.handle(Input::ClusterSet(delta));
        assert_eq!(world.writes(), [""; 0]);
    }
}

#[test]
fn a_work_of_a_cluster_that_is_not_bound_any_more_stays_as_it_is() {
    let change = || {
        let mut world = World::requiring();
        world.writes();
        world.state.handle(Input::Binding(gone("ns", "ours")));
        world.change_template("2");
        let writes = world.writes();
        (world, writes)
    };
    let (mut world, writes) = change();
    assert_eq!(writes, [""; 0]);
    world.writes();
    let (reason, message) = world.said("WorksRefused").unwrap();
    assert_eq!(reason, "ClusterSetNotBound");
    assert!(message.contains("mine"), "{message}");
    world.state.handle(binding("ours"));
    assert_eq!(world.writes(), ["replace mine"]);
    let (_, writes) = with_sabotaged(Rule::BoundClustersOnly, change);
    assert!(writes.contains(&"replace mine".to_owned()), "{writes:?}");
}

#[test]
fn nothing_new_is_made_before_all_bindings_are_known_and_the_status_says_so() {
    let mut world = World::new(State::new(Duration::from_secs(30), true).requiring_bindings());
    assert_eq!(world.writes(), [""; 0]);
    assert_eq!(world.writes(), [""; 0]);
    let (reason, message) = world.said("PlacementVerified").unwrap();
    assert_eq!(reason, "PlacementDecisionUnsettled");
    assert!(message.contains("which clusters are bound"), "{message}");
    world.state.handle(Input::Binding(Delta::Synced));
    assert_eq!(world.writes(), ["create mine"]);
}

#[test]
fn an_evaluation_costs_as_many_visits_as_its_placements_have_clusters() {
    let mut world = World::new(State::new(Duration::from_secs(1), true));
    let key = SetKey::new("ns", "app");
    let before = world.state.cost(&key);
    let decided: Vec<Value> = (0..5_000)
        .map(|number| json!({"clusterName": format!("c{number}"), "reason": ""}))
        .collect();
    world.state.handle(Input::Decision(applied(json!({
        "metadata": {"name": "p-decision-2", "namespace": "ns", "labels": {
            "cluster.open-cluster-management.io/placement": "p",
            "cluster.open-cluster-management.io/decision-group-index": "0",
        }},
        "status": {"decisions": decided},
    }))));
    assert_eq!(world.state.cost(&key), before + 5_000);
}
