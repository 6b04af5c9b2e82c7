//! A state and a fake server that it writes to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::Delta;
use serde_json::{Value, json};

use crate::health::Outputs;
use crate::moment::tests::instant;
use crate::profiles::content::Content;
use crate::profiles::message::{Input, Key, Outcome, Write};
use crate::profiles::published_profiles::Profiles;
use crate::profiles::state::State;
use crate::reconcile::fake::{Event, Part, Server, object};
use crate::reconcile::{Failure, Reconciler, Version};

pub(super) const RESTORE_GRACE: Duration = Duration::from_secs(300);

pub(super) struct Hub {
    pub(super) server: Server,
    pub(super) state: State,
    pub(super) published_profiles: Profiles,
    pub(super) shared: Option<&'static str>,
    /// Profiles that slices refer to.
    pub(super) referenced: BTreeSet<(String, String)>,
}

impl Hub {
    /// Sets `prod` and `dev`; namespace `team` with `prod` bound and a Placement.
    pub(super) fn new() -> Hub {
        Hub::with(None)
    }

    pub(super) fn with(shared: Option<&'static str>) -> Hub {
        let mut hub = Hub::empty(shared);
        hub.server.put(&set("prod", json!({})));
        hub.server.put(&set("dev", json!({})));
        hub.server.put(&binding("team", "prod"));
        hub.server.put(&placement("team", "web"));
        hub
    }

    /// A state that has seen all of an empty server.
    pub(super) fn empty(shared: Option<&'static str>) -> Hub {
        let published_profiles = Profiles::new();
        let mut state = State::new(
            shared,
            Duration::from_secs(30),
            RESTORE_GRACE,
            published_profiles.clone(),
            Outputs::default(),
        );
        synced(&mut state);
        Hub {
            server: Server::default(),
            state,
            published_profiles,
            shared,
            referenced: BTreeSet::new(),
        }
    }

    /// A state that starts with what the server has.
    pub(super) fn restarted(&self) -> State {
        self.continued(self.fresh())
    }

    /// A state that has heard nothing.
    pub(super) fn fresh(&self) -> State {
        State::new(
            self.shared,
            Duration::from_secs(30),
            RESTORE_GRACE,
            Profiles::new(),
            Outputs::default(),
        )
    }

    /// A state that hears what the server has.
    pub(super) fn continued(&self, mut state: State) -> State {
        for profile in self.server.list::<ClusterProfile>() {
            state.handle(Input::Profile(Delta::Applied(profile.into())));
        }
        for placement in self.server.list::<Placement>() {
            state.handle(Input::Placement(Delta::Applied(placement.into())));
        }
        for cluster in self.server.list::<ManagedCluster>() {
            state.handle(Input::Cluster(Delta::Applied(cluster.into())));
        }
        for binding in self.server.list::<ManagedClusterSetBinding>() {
            state.handle(Input::Binding(Delta::Applied(binding.into())));
        }
        for set in self.server.list::<ManagedClusterSet>() {
            state.handle(Input::Set(Delta::Applied(set.into())));
        }
        synced(&mut state);
        state
    }

    pub(super) fn deliver(&mut self) {
        while self.deliver_one() {}
    }

    pub(super) fn deliver_one(&mut self) -> bool {
        let Some(event) = self.server.events.pop_front() else {
            return false;
        };
        self.state.handle(input(&event));
        true
    }

    /// Carries out what is due, and says what that was.
    pub(super) fn write(&mut self, now: Timestamp) -> Vec<Write> {
        let writes = self.state.due(now.into(), usize::MAX);
        for write in &writes {
            let endings = self.carry_out(write);
            self.state.handle(Input::Ended {
                at: instant(now),
                endings,
            });
        }
        writes
    }

    /// Delivers and writes until nothing is due. How many requests changed something on the server.
    pub(super) fn settle(&mut self, now: Timestamp) -> usize {
        let before = self.server.writes;
        for _ in 0..1_000 {
            self.deliver();
            if self.write(now).is_empty() && self.server.events.is_empty() {
                return self.server.writes - before;
            }
        }
        panic!("it does not settle");
    }

    pub(super) fn carry_out(&mut self, write: &Write) -> Vec<(Key, Outcome)> {
        match write {
            Write::Create { key, content } => {
                let outcome = match self.server.create(&content.profile(&key.0)) {
                    Ok(created) => self.patch_status(content, created),
                    Err(failure) => Outcome::Failed(failure),
                };
                vec![(key.clone(), outcome)]
            }
            Write::Metadata {
                key,
                version,
                content,
            } => {
                let patch = content.metadata_patch(version);
                let outcome = match self.server.patch(&key.0, &key.1, Part::Main, &patch) {
                    Ok(profile) => Outcome::Shown(profile),
                    Err(failure) => Outcome::Failed(failure),
                };
                vec![(key.clone(), outcome)]
            }
            Write::Status { key, content } => {
                let outcome = match self.server.get(&key.0, &key.1) {
                    Some(profile) => self.patch_status(content, profile),
                    None => Outcome::Failed(Failure::Missing),
                };
                vec![(key.clone(), outcome)]
            }
            Write::Remove { namespace, profiles } => {
                let mut endings = Vec::new();
                for profile in profiles {
                    let id = (namespace.to_string(), profile.name.to_string());
                    let there = self.server.get::<ClusterProfile>(&id.0, &id.1);
                    let outcome = match there.map(|there| Version::of(&there.metadata)) {
                        _ if !profile.unconditional && self.referenced.contains(&id) => Outcome::Held,
                        Some(version) if version != profile.version => Outcome::Failed(Failure::Conflict),
                        _ => {
                            self.server.delete::<ClusterProfile>(&id.0, &id.1);
                            Outcome::Removed
                        }
                    };
                    endings.push(((namespace.clone(), profile.name.clone()), outcome));
                }
                endings
            }
        }
    }

    fn patch_status(&mut self, content: &Content, profile: Arc<ClusterProfile>) -> Outcome {
        let Some(patch) = content.status_patch(&profile) else {
            return Outcome::Shown(profile);
        };
        let (namespace, name) = (
            profile.metadata.namespace.clone().unwrap(),
            profile.metadata.name.clone().unwrap(),
        );
        match self.server.patch(&namespace, &name, Part::Status, &patch) {
            Ok(profile) => Outcome::Shown(profile),
            Err(failure) => Outcome::Begun(profile, failure),
        }
    }

    pub(super) fn profile(&self, namespace: &str, name: &str) -> ClusterProfile {
        self.server
            .get::<ClusterProfile>(namespace, name)
            .unwrap()
            .as_ref()
            .clone()
    }

    /// `namespace/name` of all profiles.
    pub(super) fn profiles(&self) -> Vec<String> {
        let profiles = self.server.list::<ClusterProfile>().into_iter();
        profiles
            .map(|profile| {
                format!(
                    "{}/{}",
                    profile.metadata.namespace.unwrap(),
                    profile.metadata.name.unwrap()
                )
            })
            .collect()
    }
}

pub(super) fn synced(state: &mut State) {
    state.handle(Input::Cluster(Delta::Synced));
    state.handle(Input::Set(Delta::Synced));
    state.handle(Input::Binding(Delta::Synced));
    state.handle(Input::Placement(Delta::Synced));
    state.handle(Input::Profile(Delta::Synced));
}

fn input(event: &Event) -> Input {
    match event.kind.as_str() {
        "ManagedCluster" => Input::Cluster(event.delta()),
        "ManagedClusterSet" => Input::Set(event.delta()),
        "ManagedClusterSetBinding" => Input::Binding(event.delta()),
        "Placement" => Input::Placement(event.delta()),
        "ClusterProfile" => Input::Profile(event.delta()),
        other => panic!("{other}"),
    }
}

/// An available cluster in a set.
pub(super) fn cluster(name: &str, set: &str) -> ManagedCluster {
    object(json!({
        "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": set}},
        "spec": {},
        "status": {
            "version": {"kubernetes": "v1.33.1"},
            "clusterClaims": [{"name": "region", "value": "eu"}, {"name": "gpu", "value": "8"}],
            "conditions": [condition("ManagedClusterConditionAvailable", "True"), condition("ManagedClusterJoined", "True")],
        },
    }))
}

pub(super) fn condition(type_: &str, status: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": "Said", "message": "so",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

pub(super) fn set(name: &str, selector: Value) -> ManagedClusterSet {
    object(json!({"metadata": {"name": name}, "spec": {"clusterSelector": selector}}))
}

pub(super) fn binding(namespace: &str, name: &str) -> ManagedClusterSetBinding {
    object(json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"clusterSet": name}}))
}

pub(super) fn placement(namespace: &str, name: &str) -> Placement {
    object(json!({"metadata": {"namespace": namespace, "name": name}, "spec": {}}))
}

/// A profile that somebody else published.
pub(super) fn foreign(namespace: &str, name: &str) -> ClusterProfile {
    object(json!({
        "metadata": {"namespace": namespace, "name": name, "labels": {"x-k8s.io/cluster-manager": "open-cluster-management"}},
        "spec": {"clusterManager": {"name": "open-cluster-management"}},
    }))
}
