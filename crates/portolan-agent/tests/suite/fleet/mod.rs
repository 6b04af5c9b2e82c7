//! A hub with controllers and several members with agents: everything between a replica set and objects on members, any
//! part of which may die at any moment.

mod chaos;
mod hub;
mod partition;
mod recorder;
mod restored;
mod script;
mod state;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use portolan_agent::{Agent, Settings};
use portolan_controllers::{Clock, Controllers};
use portolan_hub::Hub;
use portolan_testserver::TestServer;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::network::Faults;
use crate::world::{install, settings};
use hub::Server;
use recorder::Recorder;

/// The namespace of all objects on members.
const OBJECTS: &str = "default";

type Api = kube::Api<DynamicObject>;

/// Controllers of two tests would each schedule the placements of both where they share a server.
static TURN: Mutex<()> = Mutex::const_new(());

/// A hub, its controllers, and members with their agents.
struct Fleet {
    hub: Server,
    controllers: Option<(Controllers, Faults)>,
    members: Vec<Member>,
    /// Of placements and replica sets.
    namespace: String,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// A member cluster. It is never killed: it is what must not suffer.
struct Member {
    name: String,
    server: Hub,
    recorder: Arc<Recorder>,
    agent: Option<(Agent, Faults)>,
    settings: Settings,
}

impl Fleet {
    /// Embedded members, whatever the hub is. Nobody runs yet.
    async fn new(hub: Server, members: usize) -> Fleet {
        let turn = match TestServer::would_be_real() {
            true => Some(TURN.lock().await),
            false => None,
        };
        let namespace = hub.namespace().unwrap_or("shop").to_owned();
        let client = hub.way.client();
        install(&client).await;
        let mut fleet = Fleet {
            hub,
            controllers: None,
            members: Vec::new(),
            namespace,
            _turn: turn,
        };
        if fleet.hub.can_be_killed() {
            create(&fleet.hub, "Namespace", "", &fleet.namespace, json!({})).await;
        }
        let labels = json!({ "fleet": fleet.namespace });
        let selector = json!({ "selectorType": "LabelSelector", "labelSelector": { "matchLabels": labels } });
        let set = json!({ "spec": { "clusterSelector": selector } });
        let name = fleet.namespace.clone();
        create(&fleet.hub, "ManagedClusterSet", "", &name, set).await;
        let binding = json!({ "spec": { "clusterSet": name } });
        create(&fleet.hub, "ManagedClusterSetBinding", &name, &name, binding).await;
        for number in 0..members {
            let server = Hub::builder().start().await.unwrap();
            let client = Client::new(server.service(), OBJECTS);
            install(&client).await;
            let name = format!("{}-m{number}", fleet.namespace);
            create(&fleet.hub, "Namespace", "", &name, json!({})).await;
            let cluster = json!({
                "metadata": { "labels": { "fleet": fleet.namespace, "chosen": "yes", "ring": format!("r{number}") } },
                "spec": { "hubAcceptsClient": true },
            });
            create(&fleet.hub, "ManagedCluster", "", &name, cluster).await;
            fleet.members.push(Member {
                recorder: Recorder::start(client, OBJECTS),
                settings: settings(&name),
                name,
                server,
                agent: None,
            });
        }
        fleet
    }

    fn api(&self, kind: &str, namespace: &str) -> Api {
        api(self.hub.way.client(), kind, namespace)
    }

    /// Starts whoever does not run.
    fn start(&mut self) {
        self.start_with(false);
    }

    /// The same, with controllers that notice silent members.
    fn start_registering(&mut self) {
        self.start_with(true);
    }

    fn start_with(&mut self, registration: bool) {
        if self.controllers.is_none() {
            let faults = Faults::default();
            #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
            let mut settings = portolan_controllers::Settings::new(Clock::new(Timestamp::now));
            settings.longest_backoff = Duration::from_secs(1);
            // The definitions are new, and here that means nothing.
            settings.restore_grace = Duration::ZERO;
            settings.registration = registration;
            let client = faults.over(&self.hub.way);
            self.controllers = Some((Controllers::start(client, settings), faults));
        }
        for member in &mut self.members {
            member.start(&self.hub);
        }
    }

    fn kill_controllers(&mut self) {
        if let Some((controllers, _)) = self.controllers.take() {
            controllers.kill();
        }
    }

    /// The network between the controllers and the hub.
    fn controllers_line(&self) -> &Faults {
        &self.controllers.as_ref().expect("the controllers run").1
    }

    async fn patch(&self, kind: &str, namespace: &str, name: &str, patch: Value) {
        let api = self.api(kind, namespace);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }
}

impl Drop for Fleet {
    /// Ends everybody, as they are.
    fn drop(&mut self) {
        self.kill_controllers();
        self.members.iter_mut().for_each(Member::kill);
    }
}

impl Member {
    fn start(&mut self, hub: &Server) {
        if self.agent.is_none() {
            let faults = Faults::default();
            let agent = Agent::start(faults.over(&hub.way), self.client(), self.settings.clone());
            self.agent = Some((agent, faults));
        }
    }

    fn client(&self) -> Client {
        Client::new(self.server.service(), OBJECTS)
    }

    /// The network between the agent and the hub.
    fn line(&self) -> &Faults {
        &self.agent.as_ref().expect("the agent runs").1
    }

    fn kill(&mut self) {
        if let Some((agent, _)) = self.agent.take() {
            agent.kill();
        }
    }

    /// UID of one of its ConfigMaps.
    async fn uid(&self, name: &str) -> Option<String> {
        let api = api(self.client(), "ConfigMap", OBJECTS);
        api.get(name).await.unwrap().metadata.uid
    }

    /// Names and values of its ConfigMaps that agents made.
    async fn values(&self) -> Vec<(String, String)> {
        let api = api(self.client(), "ConfigMap", OBJECTS);
        let list = api.list(&ListParams::default()).await.unwrap();
        let mut values: Vec<(String, String)> = list
            .into_iter()
            .map(|map| {
                let value = map.data.pointer("/data/k").and_then(Value::as_str);
                (
                    map.metadata.name.unwrap_or_default(),
                    value.unwrap_or_default().to_owned(),
                )
            })
            .collect();
        values.sort();
        values
    }
}

/// Makes an object on the hub; one of the whole cluster without a namespace.
async fn create(hub: &Server, kind: &str, namespace: &str, name: &str, mut object: Value) {
    object["apiVersion"] = resource(kind).api_version.into();
    object["kind"] = kind.into();
    object["metadata"]["name"] = name.into();
    let object = serde_json::from_value(object).unwrap();
    let api = api(hub.way.client(), kind, namespace);
    api.create(&PostParams::default(), &object).await.unwrap();
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "Namespace" | "ConfigMap" => ("", "v1"),
        "ManagedCluster" => ("cluster.open-cluster-management.io", "v1"),
        "ManagedClusterSet" | "ManagedClusterSetBinding" => ("cluster.open-cluster-management.io", "v1beta2"),
        "Placement" | "PlacementDecision" => ("cluster.open-cluster-management.io", "v1beta1"),
        "ManifestWorkReplicaSet" => ("work.open-cluster-management.io", "v1alpha1"),
        "ManifestWork" | "AppliedManifestWork" => ("work.open-cluster-management.io", "v1"),
        "Work" | "AppliedWork" => ("multicluster.x-k8s.io", "v1alpha1"),
        other => panic!("{other} is no kind of a fleet"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Objects of a kind; those of the whole cluster without a namespace.
fn api(client: Client, kind: &str, namespace: &str) -> Api {
    match namespace {
        "" => Api::all_with(client, &resource(kind)),
        namespace => Api::namespaced_with(client, namespace, &resource(kind)),
    }
}
