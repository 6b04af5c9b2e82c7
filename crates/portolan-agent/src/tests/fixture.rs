//! A hub and a member in process, and an agent that looks when it is told to: nothing here depends on time, and
//! everything runs on the thread whose rules are broken.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use portolan_api::multicluster;
use portolan_api::work::{AppliedManifestWork, ManifestWork};
use portolan_hub::{Hub, Service};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::Clock;
use crate::monitor::Monitor;
use crate::settings::Settings;
use crate::work::{Distributed, Untyped, Work, WorkKey, WorkKind, read};
use crate::works::{Input, Outcome, Watches, WorkReconciler};

pub(super) const CLUSTER: &str = "east";
pub(super) const NAMESPACE: &str = "default";

/// Runs to the end on this thread.
pub(super) fn run<T>(scene: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(scene)
}

pub(super) fn settings() -> Settings {
    let mut settings = Settings::new(CLUSTER, Clock::new(|| Timestamp::UNIX_EPOCH));
    // The clock stands, so nothing would ever have been known for longer.
    settings.deletion_patience = Duration::ZERO;
    settings
}

/// A hub and a member.
pub(super) struct World {
    pub(super) hub: Hub,
    spoke: Hub,
}

impl World {
    pub(super) async fn new() -> World {
        let world = World {
            hub: Hub::builder().start().await.unwrap(),
            spoke: Hub::builder().start().await.unwrap(),
        };
        for (hub, kinds) in [
            (&world.hub, ["ManifestWork", "Work"]),
            (&world.spoke, ["AppliedManifestWork", "AppliedWork"]),
        ] {
            let api = Api::<CustomResourceDefinition>::all(client(hub));
            let wanted = |crd: &CustomResourceDefinition| kinds.contains(&crd.spec.names.kind.as_str());
            for crd in portolan_api::crds().into_iter().filter(wanted) {
                api.create(&PostParams::default(), &crd).await.unwrap();
            }
        }
        for namespace in [CLUSTER, "west"] {
            let namespace: Namespace =
                serde_json::from_value(json!({ "metadata": { "name": namespace } })).unwrap();
            let api = Api::all(client(&world.hub));
            api.create(&PostParams::default(), &namespace).await.unwrap();
        }
        world
    }

    pub(super) fn spoke(&self) -> Client {
        client(&self.spoke)
    }

    /// An agent that has just started and knows nothing.
    pub(super) fn agent(&self) -> Agent {
        self.agent_with(self.spoke())
    }

    /// An agent whose requests to the member are looked at first, and wait for ever if they must not be made.
    pub(super) fn agent_through(
        &self,
        may_go: impl Fn(&Request<Body>) -> bool + Send + Sync + 'static,
    ) -> Agent {
        self.agent_with(through(self.spoke.service(), may_go))
    }

    /// An agent that reaches the hub through this client, and evicts the objects of lost works at the second look.
    pub(super) fn agent_that_evicts(&self, hub: Client) -> Agent {
        let mut settings = settings();
        settings.eviction_grace = Some(Duration::ZERO);
        self.agent_of(hub, self.spoke(), &settings)
    }

    fn agent_with(&self, spoke: Client) -> Agent {
        self.agent_of(client(&self.hub), spoke, &settings())
    }

    fn agent_of(&self, hub: Client, spoke: Client, settings: &Settings) -> Agent {
        let monitor = Monitor::new();
        // The events are not read: these works ask for no watches.
        let watches = Watches::new(
            spoke.clone(),
            mpsc::channel(1).0,
            monitor.spoke.clone(),
            monitor.tasks.clone(),
        );
        Agent {
            hub: client(&self.hub),
            reconciler: WorkReconciler::new(hub, spoke, watches, settings, monitor.clone()),
            monitor,
        }
    }

    /// Lets an agent look at everything once, and die at the write to the member after so many. Whether it came to that.
    pub(super) async fn die_after(&self, writes: usize) -> bool {
        let (made, dead) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let (died, service) = (dead.clone(), self.spoke.service());
        let spoke = through(service, move |request| {
            let write = request.method() != Method::GET;
            if write && made.fetch_add(1, Ordering::SeqCst) >= writes {
                dead.notify_one();
                return false;
            }
            true
        });
        let mut agent = self.agent_with(spoke);
        tokio::select! {
            () = agent.look() => false,
            () = died.notified() => true,
        }
    }

    /// The hub for somebody whose requests are written down.
    pub(super) fn watched_hub(&self, asked: Arc<Mutex<BTreeSet<String>>>) -> Client {
        through(self.hub.service(), move |request| {
            asked.lock().unwrap().insert(request.uri().path().to_owned());
            true
        })
    }

    /// The hub for an agent, on which this happens after the answer to each read of a ManifestWork.
    pub(super) fn hub_then<F: Future<Output = ()> + Send>(
        &self,
        happens: impl Fn() -> F + Clone + Send + Sync + 'static,
    ) -> Client {
        let service = self.hub.service();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (mut service, happens) = (service.clone(), happens.clone());
            async move {
                let is_read =
                    request.method() == Method::GET && request.uri().path().contains("/manifestworks/");
                let answer = tower::Service::call(&mut service, request).await;
                if is_read {
                    happens().await;
                }
                answer
            }
        });
        Client::new(service, NAMESPACE)
    }

    pub(super) fn works(&self) -> Api<ManifestWork> {
        Api::namespaced(client(&self.hub), CLUSTER)
    }

    /// A ManifestWork that asks for ConfigMaps of these names.
    pub(super) async fn put(&self, name: &str, objects: &[&str]) {
        self.put_with(name, objects, json!([])).await;
    }

    /// The same with settings for its manifests.
    pub(super) async fn put_with(&self, name: &str, objects: &[&str], configs: Value) {
        let (mut spec, works) = (spec(objects), self.works());
        spec["manifestConfigs"] = configs;
        if works.get_opt(name).await.unwrap().is_some() {
            let patch = Patch::Merge(json!({ "spec": spec }));
            works.patch(name, &PatchParams::default(), &patch).await.unwrap();
            return;
        }
        let work = serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        works.create(&PostParams::default(), &work).await.unwrap();
    }

    /// A ManifestWork that asks for a namespace.
    pub(super) async fn put_namespace(&self, name: &str, namespace: &str) {
        let manifest = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        self.put_manifest(name, manifest).await;
    }

    /// A ManifestWork that asks for a ConfigMap in a namespace.
    pub(super) async fn put_in(&self, name: &str, namespace: &str, object: &str) {
        let mut manifest = manifest(object);
        manifest["metadata"]["namespace"] = namespace.into();
        self.put_manifest(name, manifest).await;
    }

    async fn put_manifest(&self, name: &str, manifest: Value) {
        self.put_spec(name, json!({ "workload": { "manifests": [manifest] } }))
            .await;
    }

    /// A ManifestWork with this content.
    pub(super) async fn put_spec(&self, name: &str, spec: Value) {
        let work = json!({ "metadata": { "name": name }, "spec": spec });
        let work = serde_json::from_value(work).unwrap();
        self.works().create(&PostParams::default(), &work).await.unwrap();
    }

    /// Changes a part of a ManifestWork.
    pub(super) async fn patch(&self, name: &str, patch: Value) {
        let how = PatchParams::default();
        self.works()
            .patch(name, &how, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// A client of the member cluster applies an object as this field manager.
    pub(super) async fn apply_as(&self, manager: &str, name: &str, value: &str) {
        let mut map = manifest(name);
        map["data"] = json!({ "k": value });
        let how = PatchParams::apply(manager).force();
        self.maps().patch(name, &how, &Patch::Apply(map)).await.unwrap();
    }

    /// Lets a service account of the member do this to ConfigMaps.
    pub(super) async fn allow(&self, account: &str, verbs: &[&str]) {
        let how = PatchParams::apply("test").force();
        let group = "rbac.authorization.k8s.io";
        let role = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": { "name": account },
            "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }],
        });
        let roles = Api::<Role>::namespaced(self.spoke(), NAMESPACE);
        roles.patch(account, &how, &Patch::Apply(role)).await.unwrap();
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": { "name": account },
            "roleRef": { "apiGroup": group, "kind": "Role", "name": account },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": NAMESPACE }],
        });
        let bindings = Api::<RoleBinding>::namespaced(self.spoke(), NAMESPACE);
        bindings
            .patch(account, &how, &Patch::Apply(binding))
            .await
            .unwrap();
    }

    /// Owners that an object on the member names; `None` if it is not there.
    pub(super) async fn owners(&self, name: &str) -> Option<Vec<OwnerReference>> {
        let map = self.maps().get_opt(name).await.unwrap()?;
        Some(map.metadata.owner_references.unwrap_or_default())
    }

    pub(super) async fn delete(&self, name: &str) {
        self.works().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(super) async fn has_namespace(&self, name: &str) -> bool {
        let api = Api::<Namespace>::all(self.spoke());
        api.get_opt(name).await.unwrap().is_some()
    }

    /// A Work that asks for ConfigMaps of these names.
    pub(super) async fn put_work(&self, name: &str, objects: &[&str]) {
        let work = json!({ "metadata": { "name": name }, "spec": spec(objects) });
        let api = Api::<multicluster::Work>::namespaced(client(&self.hub), CLUSTER);
        let work = serde_json::from_value(work).unwrap();
        api.create(&PostParams::default(), &work).await.unwrap();
    }

    pub(super) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.spoke(), NAMESPACE)
    }

    /// Names of the objects on the member.
    pub(super) async fn objects(&self) -> Vec<String> {
        self.objects_in(NAMESPACE).await
    }

    /// The same in another namespace.
    pub(super) async fn objects_in(&self, namespace: &str) -> Vec<String> {
        let maps = Api::<ConfigMap>::namespaced(self.spoke(), namespace);
        let maps = maps.list(&ListParams::default()).await.unwrap();
        maps.into_iter().filter_map(|map| map.metadata.name).collect()
    }

    /// Makes the deletion of an object take a while.
    pub(super) async fn hold_in(&self, namespace: &str, name: &str) {
        let maps = Api::<ConfigMap>::namespaced(self.spoke(), namespace);
        let held = Patch::Merge(json!({ "metadata": { "finalizers": ["example.com/slow"] } }));
        maps.patch(name, &PatchParams::default(), &held).await.unwrap();
    }

    /// A client of the member cluster deletes a namespace.
    pub(super) async fn delete_namespace(&self, name: &str) {
        let namespaces = Api::<Namespace>::all(self.spoke());
        namespaces.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// A client of the member cluster deletes an object and creates it again.
    pub(super) async fn replace(&self, name: &str) {
        self.maps().delete(name, &DeleteParams::default()).await.unwrap();
        let map = serde_json::from_value(manifest(name)).unwrap();
        self.maps().create(&PostParams::default(), &map).await.unwrap();
    }

    /// How many records there are.
    pub(super) async fn records(&self) -> usize {
        let records = Api::<AppliedManifestWork>::all(self.spoke());
        records.list(&ListParams::default()).await.unwrap().items.len()
    }

    /// The record of a work.
    pub(super) async fn record(&self, work: &str) -> AppliedManifestWork {
        let records = Api::<AppliedManifestWork>::all(self.spoke());
        let listed = records.list(&ListParams::default()).await.unwrap();
        let mut listed = listed.into_iter();
        let is_its = |record: &AppliedManifestWork| record.spec.manifest_work_name.as_deref() == Some(work);
        listed.find(is_its).unwrap()
    }

    /// Makes a record say that it is of another work.
    pub(super) async fn rename_work_in(&self, record: &str, work: &str) {
        let records = Api::<AppliedManifestWork>::all(self.spoke());
        let patch = Patch::Merge(json!({ "spec": { "manifestWorkName": work } }));
        records
            .patch(record, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Makes the record of a work say that it is of another hub.
    pub(super) async fn move_to_another_hub(&self, work: &str) {
        let records = Api::<AppliedManifestWork>::all(self.spoke());
        let record = self.record(work).await.name_any();
        let patch = Patch::Merge(json!({ "spec": { "hubHash": "0123" } }));
        let how = PatchParams::default();
        records.patch(&record, &how, &patch).await.unwrap();
    }

    /// Adds an object to the record of a work and makes the record one of another agent.
    pub(super) async fn list_as_another_agent(&self, work: &str, name: &str) {
        let records = Api::<AppliedManifestWork>::all(self.spoke());
        let record = self.record(work).await;
        let (key, how) = (record.name_any(), PatchParams::default());
        let theirs = json!({ "metadata": { "annotations": null }, "spec": { "agentID": "klusterlet" } });
        records.patch(&key, &how, &Patch::Merge(theirs)).await.unwrap();
        let object = self.maps().get(name).await.unwrap();
        let mut status = serde_json::to_value(record.status).unwrap();
        let resources = status["appliedResources"].as_array_mut().unwrap();
        resources.push(json!({
            "group": "", "version": "v1", "resource": "configmaps", "namespace": NAMESPACE, "name": name,
            "uid": object.uid(),
        }));
        let status = Patch::Merge(json!({ "status": status }));
        records.patch_status(&key, &how, &status).await.unwrap();
    }

    /// A work goes without waiting for this agent.
    pub(super) async fn lose(&self, name: &str) {
        self.patch(name, json!({ "metadata": { "finalizers": null } }))
            .await;
        self.delete(name).await;
    }

    /// Names of the objects that records know of.
    pub(super) async fn recorded(&self) -> Vec<String> {
        let records = Api::<AppliedManifestWork>::all(self.spoke());
        let records = records.list(&ListParams::default()).await.unwrap();
        let resources = records
            .into_iter()
            .flat_map(|record| record.status.unwrap_or_default().applied_resources);
        resources.map(|resource| resource.identifier.name).collect()
    }
}

fn client(hub: &Hub) -> Client {
    Client::new(hub.service(), NAMESPACE)
}

/// A client whose requests are looked at first, and not sent if they must not be.
fn through(service: Service, may_go: impl Fn(&Request<Body>) -> bool + Send + Sync + 'static) -> Client {
    let may_go = Arc::new(may_go);
    let service = tower::service_fn(move |request| {
        let (mut service, may_go) = (service.clone(), may_go.clone());
        async move {
            if !may_go(&request) {
                return std::future::pending().await;
            }
            tower::Service::call(&mut service, request).await
        }
    });
    Client::new(service, NAMESPACE)
}

pub(super) fn manifest(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": NAMESPACE } })
}

pub(super) fn spec(objects: &[&str]) -> Value {
    let manifests: Vec<Value> = objects.iter().map(|name| manifest(name)).collect();
    json!({ "workload": { "manifests": manifests } })
}

/// The parts of an agent that know and do, without those that wait.
pub(super) struct Agent {
    hub: Client,
    reconciler: WorkReconciler,
    pub(super) monitor: Monitor,
}

impl Agent {
    pub(super) fn hear(&mut self, input: Input) {
        crate::works::hear(&self.reconciler, input, &settings());
    }

    /// Hears what the hub has of a kind.
    pub(super) async fn list(&mut self, kind: WorkKind) {
        let works = match kind {
            WorkKind::ManifestWork => listed::<ManifestWork>(&self.hub).await,
            WorkKind::Work => listed::<multicluster::Work>(&self.hub).await,
        };
        self.hear(Input::Listing(kind));
        for work in works {
            self.hear(Input::Work(Box::new(work)));
        }
        self.hear(Input::Complete(kind));
    }

    /// Deals with a ManifestWork.
    pub(super) async fn pass(&self, name: &str) -> Outcome {
        self.reconciler.pass(&key(name)).await
    }

    /// Hears of everything and deals with it.
    pub(super) async fn look(&mut self) {
        self.list(WorkKind::ManifestWork).await;
        self.list(WorkKind::Work).await;
        let keys: Vec<WorkKey> = self.reconciler.queue().works().keys().cloned().collect();
        for key in keys {
            self.reconciler.pass(&key).await;
        }
    }

    /// Deals with records whose works are not on the hub.
    pub(super) async fn sweep(&mut self) {
        self.reconciler.sweep(WorkKind::ManifestWork).await;
    }

    /// The work as the hub has it now.
    pub(super) fn known(&self, name: &str) -> Work {
        (*self.reconciler.queue().works()[&key(name)]).clone()
    }
}

pub(super) fn key(name: &str) -> WorkKey {
    WorkKey {
        kind: WorkKind::ManifestWork,
        name: name.to_owned(),
    }
}

async fn listed<K: Distributed>(hub: &Client) -> Vec<Work> {
    let api: Api<Untyped<K>> = Api::namespaced(hub.clone(), CLUSTER);
    let list = api.list(&ListParams::default()).await.unwrap();
    let works = list.into_iter();
    works
        .map(|object| read(K::KIND, &object.metadata, &object.spec, &object.status))
        .collect()
}
