//! A state and a fake server that it writes to.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::Delta;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

use crate::moment::tests::instant;
use crate::reconcile::fake::{Event, Part, Server, object, second};
use crate::reconcile::{Failure, Reconciler, Version};
use crate::registration::heartbeat;
use crate::registration::message::Write;
use crate::registration::state::{Answer, Input, State};

pub(super) struct Hub {
    pub(super) server: Server,
    pub(super) state: State,
}

impl Hub {
    /// An empty server and a state that has seen all of it.
    pub(super) fn new() -> Hub {
        let mut hub = Hub::unsynced();
        hub.sync();
        hub
    }

    pub(super) fn unsynced() -> Hub {
        Hub {
            server: Server::default(),
            state: State::new(Duration::from_secs(30)),
        }
    }

    /// A state that starts with what the server has.
    pub(super) fn restarted(&self) -> State {
        let mut state = State::new(Duration::from_secs(30));
        for cluster in self.server.list::<ManagedCluster>() {
            state.handle(Input::Cluster(Delta::Applied(cluster.into())));
        }
        for set in self.server.list::<ManagedClusterSet>() {
            state.handle(Input::Set(Delta::Applied(set.into())));
        }
        for binding in self.server.list::<ManagedClusterSetBinding>() {
            state.handle(Input::Binding(Delta::Applied(binding.into())));
        }
        for lease in self.server.list::<Lease>() {
            state.handle(Input::Lease(Delta::Applied(lease.into())));
        }
        synced(&mut state);
        state
    }

    pub(super) fn sync(&mut self) {
        self.deliver();
        synced(&mut self.state);
    }

    /// Delivers every event that watches hold back.
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
            let result = carry_out(&mut self.server, write);
            self.state.handle(Input::Ended {
                target: write.target(),
                at: instant(now),
                result,
            });
        }
        writes
    }

    /// Delivers and writes until nothing is due.
    pub(super) fn settle(&mut self, now: Timestamp) -> Vec<Write> {
        let mut all = Vec::new();
        loop {
            self.deliver();
            let writes = self.write(now);
            if writes.is_empty() && self.server.events.is_empty() {
                return all;
            }
            all.extend(writes);
            assert!(all.len() < 10_000, "it does not settle: {:?}", &all[9_990..]);
        }
    }

    pub(super) fn cluster(&self, name: &str) -> ManagedCluster {
        self.server
            .get::<ManagedCluster>("", name)
            .unwrap()
            .as_ref()
            .clone()
    }

    pub(super) fn set(&self, name: &str) -> ManagedClusterSet {
        self.server
            .get::<ManagedClusterSet>("", name)
            .unwrap()
            .as_ref()
            .clone()
    }

    /// Status, reason and message of a set's condition.
    pub(super) fn emptiness(&self, set: &str) -> (String, String, String) {
        let status = self.set(set).status.unwrap();
        let [condition] = status.conditions.as_slice() else {
            panic!("{status:?}")
        };
        assert_eq!(condition.type_, "ClusterSetEmpty");
        (
            condition.status.clone(),
            condition.reason.clone(),
            condition.message.clone(),
        )
    }
}

pub(super) fn synced(state: &mut State) {
    state.handle(Input::Cluster(Delta::Synced));
    state.handle(Input::Set(Delta::Synced));
    state.handle(Input::Binding(Delta::Synced));
    state.handle(Input::Lease(Delta::Synced));
}

fn input(event: &Event) -> Input {
    match event.kind.as_str() {
        "ManagedCluster" => Input::Cluster(event.delta()),
        "ManagedClusterSet" => Input::Set(event.delta()),
        "ManagedClusterSetBinding" => Input::Binding(event.delta()),
        "Lease" => Input::Lease(event.delta()),
        other => panic!("{other}"),
    }
}

pub(super) fn carry_out(server: &mut Server, write: &Write) -> Result<Answer, Failure> {
    let patch = write.patch();
    match write {
        Write::CreateSet { name } => server
            .create(&ManagedClusterSet::built_in(name).unwrap())
            .map(Answer::Set),
        Write::RepairSet { name, .. } => server.patch("", name, Part::Main, &patch).map(Answer::Set),
        Write::SetStatus { name, .. } => server.patch("", name, Part::Status, &patch).map(Answer::Set),
        Write::BindingStatus { namespace, name, .. } => server
            .patch(namespace, name, Part::Status, &patch)
            .map(Answer::Binding),
        Write::Cluster { name, .. } => server.patch("", name, Part::Main, &patch).map(Answer::Cluster),
        Write::Silent { name, lease, at, .. } => {
            let found: Arc<Lease> = server.get(name, heartbeat::LEASE).ok_or(Failure::Missing)?;
            if Version::of(&found.metadata) != *lease {
                return Ok(Answer::Lease(found));
            }
            let cluster: Arc<ManagedCluster> = server.get("", name).ok_or(Failure::Missing)?;
            match heartbeat::silenced(&cluster, *at) {
                Some(patch) => server.patch("", name, Part::Status, &patch).map(Answer::Cluster),
                None => Ok(Answer::Cluster(cluster)),
            }
        }
    }
}

/// The heartbeat of a cluster at some second of its own clock.
pub(super) fn lease(cluster: &str, renewed: i64) -> Lease {
    object(json!({
        "metadata": {"namespace": cluster, "name": heartbeat::LEASE},
        "spec": {"renewTime": format!("{:.6}", second(renewed))},
    }))
}

/// A cluster in set `default` whose Available condition has this status, if any.
pub(super) fn cluster(name: &str, available: &str) -> ManagedCluster {
    labelled(
        name,
        available,
        json!({"cluster.open-cluster-management.io/clusterset": "default"}),
    )
}

pub(super) fn labelled(name: &str, available: &str, labels: Value) -> ManagedCluster {
    let conditions = match available {
        "" => json!([]),
        status => json!([{
            "type": "ManagedClusterConditionAvailable", "status": status, "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]),
    };
    object(
        json!({"metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true}, "status": {"conditions": conditions}}),
    )
}

pub(super) fn set(name: &str, selector: Value) -> ManagedClusterSet {
    object(json!({"metadata": {"name": name}, "spec": {"clusterSelector": selector}}))
}

pub(super) fn binding(namespace: &str, name: &str) -> ManagedClusterSetBinding {
    object(json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"clusterSet": name}}))
}
