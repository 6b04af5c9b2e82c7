//! A state and a fake server that it writes to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::multicluster::{ClusterProfile, PlacementDecision, Work};
use portolan_runtime::watch::Delta;
use serde_json::{Value, json};

use crate::events::EventDraft;
use crate::moment::tests::instant;
use crate::reconcile::fake::{Part, Server, object, second};
use crate::reconcile::{Failure, Reconciler};
use crate::syncer::message::{Input, Outcome, Write};
use crate::syncer::reach::Reach;
use crate::syncer::state::State;

pub(super) const HOME: &str = "shop";

pub(super) struct Hub {
    pub(super) server: Server,
    pub(super) state: State,
    pub(super) now: Timestamp,
    /// Namespaces that works can be in.
    pub(super) namespaces: BTreeSet<String>,
    /// Which watch of decisions runs in which namespace.
    pub(super) watched: BTreeMap<String, u64>,
    pub(super) profiles_watched: bool,
    /// A field of manifests that the server does not keep.
    pub(super) drops: Option<&'static str>,
    pub(super) notes: Vec<(String, EventDraft)>,
}

impl Hub {
    /// Three clusters with profiles in the namespace `shop`.
    pub(super) fn new() -> Hub {
        let mut hub = Hub {
            server: Server::default(),
            state: State::new(Duration::from_secs(30), Reach::default()),
            now: second(0),
            namespaces: ["a", "b", "c"].map(str::to_owned).into(),
            watched: BTreeMap::new(),
            profiles_watched: false,
            drops: None,
            notes: Vec::new(),
        };
        for name in ["a", "b", "c"] {
            hub.server.put(&profile(HOME, name, json!({})));
        }
        hub.state.handle(Input::Work(Delta::Synced));
        hub
    }

    /// With the template `web` for the workload `app`.
    pub(super) fn with_template() -> Hub {
        let mut hub = Hub::new();
        hub.server.put(&template("web", json!([manifest("web")])));
        hub
    }

    /// Starts anew with what the server has; nothing is delivered yet but that.
    pub(super) fn restart(&mut self) {
        self.state = State::new(Duration::from_secs(30), Reach::default());
        self.server.events.clear();
        self.watched.clear();
        self.profiles_watched = false;
        self.state.handle(Input::Work(Delta::ListStarted));
        for work in self.server.list::<Work>() {
            self.state.handle(Input::Work(Delta::Applied(Arc::new(work))));
        }
        self.state.handle(Input::Work(Delta::Synced));
    }

    pub(super) fn decide(&mut self, slice: &PlacementDecision) {
        self.server.put(slice);
    }

    /// Delivers one event to whoever watches its kind.
    pub(super) fn deliver_one(&mut self) -> bool {
        let Some(event) = self.server.events.pop_front() else {
            return false;
        };
        match event.kind.as_str() {
            "Work" => self.state.handle(Input::Work(event.delta())),
            "ClusterProfile" if self.profiles_watched => self.state.handle(Input::Profile(event.delta())),
            "PlacementDecision" => {
                let namespace = event.object["metadata"]["namespace"].as_str().unwrap().to_owned();
                if let Some(watch) = self.watched.get(&namespace).copied() {
                    let delta = event.delta();
                    self.slice(&namespace, watch, delta);
                }
            }
            _ => {}
        }
        true
    }

    pub(super) fn slice(&mut self, namespace: &str, watch: u64, delta: Delta<PlacementDecision>) {
        self.state.handle(Input::Slice {
            namespace: namespace.to_owned(),
            watch,
            delta,
        });
    }

    /// Tells the watch of the home namespace something.
    pub(super) fn tell(&mut self, delta: Delta<PlacementDecision>) {
        let watch = self.watched[HOME];
        self.slice(HOME, watch, delta);
    }

    pub(super) fn write(&mut self) -> Vec<Write> {
        let writes = self.state.due(self.now.into(), usize::MAX);
        for write in &writes {
            let outcome = self.carry_out(write);
            self.state.handle(Input::Ended {
                at: instant(self.now),
                item: write.item(),
                outcome,
            });
        }
        writes
    }

    /// Delivers and writes until nothing happens any more. How many requests changed something.
    pub(super) fn settle(&mut self) -> usize {
        let before = self.server.writes;
        for _ in 0..1000 {
            while self.deliver_one() {}
            if self.write().is_empty() && self.server.events.is_empty() {
                return self.server.writes - before;
            }
        }
        panic!("it never comes to rest");
    }

    pub(super) fn wait(&mut self, seconds: i64) -> usize {
        self.now += jiff::SignedDuration::from_secs(seconds);
        self.settle()
    }

    fn carry_out(&mut self, write: &Write) -> Outcome {
        let failed = |result: Result<Outcome, Failure>| result.unwrap_or_else(Outcome::Failed);
        match write {
            Write::WatchProfiles => {
                self.profiles_watched = true;
                self.state.handle(Input::Profile(Delta::ListStarted));
                for profile in self.server.list::<ClusterProfile>() {
                    self.state
                        .handle(Input::Profile(Delta::Applied(Arc::new(profile))));
                }
                self.state.handle(Input::Profile(Delta::Synced));
                Outcome::Done
            }
            Write::WatchDecisions { namespace, watch } => {
                self.watched.insert(namespace.clone(), *watch);
                self.slice(namespace, *watch, Delta::ListStarted);
                for slice in self.server.list::<PlacementDecision>() {
                    if slice.metadata.namespace.as_ref() == Some(namespace) {
                        self.slice(namespace, *watch, Delta::Applied(Arc::new(slice)));
                    }
                }
                self.slice(namespace, *watch, Delta::Synced);
                Outcome::Done
            }
            Write::EndDecisions { namespace } => {
                self.watched.remove(namespace);
                Outcome::Done
            }
            Write::Create { target, content } => {
                if !self.namespaces.contains(&target.cluster) {
                    return Outcome::Failed(Failure::Missing);
                }
                let work: Work = object(self.kept(content.work(&target.cluster)));
                failed(
                    self.server
                        .create(&work)
                        .map(|work| Outcome::Shown(work, content.clone())),
                )
            }
            Write::Update {
                target,
                version,
                content,
            } => {
                let patch = self.kept(content.patch(Some(version)));
                let patched = self
                    .server
                    .patch(&target.cluster, content.name(), Part::Main, &patch);
                failed(patched.map(|work| Outcome::Shown(work, content.clone())))
            }
            Write::Delete { target, name, .. } => {
                self.server.delete::<Work>(&target.cluster, name);
                Outcome::Removed
            }
            Write::Status {
                template,
                version,
                conditions,
                notes,
            } => {
                let patch = json!({
                    "metadata": { "resourceVersion": version.as_str() },
                    "status": { "conditions": conditions },
                });
                let patched = self
                    .server
                    .patch::<Work>(&template.0, &template.1, Part::Status, &patch);
                for (object, note) in notes {
                    let kind = object.kind.clone().unwrap_or_default();
                    self.notes.push((kind, note.clone()));
                }
                failed(patched.map(|_| Outcome::Done))
            }
        }
    }

    fn kept(&self, mut work: Value) -> Value {
        let manifests = work["spec"]["workload"]["manifests"].as_array_mut().unwrap();
        for manifest in manifests {
            let fields = manifest.as_object_mut().unwrap();
            self.drops.map(|field| fields.remove(field));
        }
        work
    }

    /// Namespaces of the works that were made, sorted.
    pub(super) fn made(&self) -> Vec<String> {
        let works = self.server.list::<Work>();
        let made = works.into_iter().filter(|work| {
            let labels = work.metadata.labels.as_ref();
            labels.is_some_and(|labels| labels.contains_key("portolan.dev/synced-by"))
        });
        let mut namespaces: Vec<String> = made.filter_map(|work| work.metadata.namespace).collect();
        namespaces.sort();
        namespaces
    }

    /// Status, reason and message of the template's condition.
    pub(super) fn condition(&self, name: &str) -> (String, String, String) {
        let work = self.server.get::<Work>(HOME, name).unwrap();
        let conditions = work.status.as_ref().map(|status| status.conditions.clone());
        let synced = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition.type_ == "Synced");
        synced.map_or_else(Default::default, |synced| {
            (synced.status, synced.reason, synced.message)
        })
    }
}

pub(super) fn manifest(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

/// A template in the home namespace for the workload `app`.
pub(super) fn template(name: &str, manifests: Value) -> Work {
    object(json!({
        "metadata": {
            "namespace": HOME, "name": name, "labels": { "multicluster.x-k8s.io/placement-key": "app" },
        },
        "spec": { "workload": { "manifests": manifests } },
    }))
}

pub(super) fn profile(namespace: &str, name: &str, labels: Value) -> ClusterProfile {
    object(json!({
        "metadata": { "namespace": namespace, "name": name, "labels": labels },
        "spec": { "clusterManager": { "name": "test" } },
    }))
}

/// One slice for the workload `app`, all of the decision `web`.
pub(super) fn slice(clusters: &[&str]) -> PlacementDecision {
    part(0, None, clusters)
}

/// Slice `index` of the decision `web`, of a revision with a number of slices.
pub(super) fn part(index: usize, revision: Option<(usize, usize)>, clusters: &[&str]) -> PlacementDecision {
    let entry = |name: &&str| json!({ "clusterProfileRef": { "name": name } });
    let mut labels = json!({
        "multicluster.x-k8s.io/decision-key": "web",
        "multicluster.x-k8s.io/placement-key": "app",
        "multicluster.x-k8s.io/decision-index": index.to_string(),
    });
    if let Some((revision, count)) = revision {
        labels["multicluster.x-k8s.io/decision-revision"] = revision.to_string().into();
        labels["multicluster.x-k8s.io/decision-slice-count"] = count.to_string().into();
    }
    object(json!({
        "metadata": { "namespace": HOME, "name": format!("web-{index}"), "labels": labels },
        "decisions": clusters.iter().map(entry).collect::<Vec<_>>(),
    }))
}
