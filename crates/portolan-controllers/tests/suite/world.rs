//! A server with the CRDs, a fleet, and the controllers. On a real server, which is shared, tests take turns and each
//! begins with an empty hub.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ClusterResourceScope, NamespaceResourceScope, ObjectList};
use kube::{Api, Client, Resource};
use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use portolan_api::multicluster::{self, ClusterProfile};
use portolan_api::reading::Received;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_controllers::{Clock, Controllers, Settings};
use portolan_testserver::TestServer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

/// How long to wait for something that is to happen. Nothing is said about how fast it is.
const EVENTUALLY_TIMEOUT: Duration = Duration::from_secs(60);

static TURN: Mutex<()> = Mutex::const_new(());

/// Where the objects of a definition are listed, for each version that is served.
fn lists(crd: &CustomResourceDefinition) -> impl Iterator<Item = String> {
    let served = crd.spec.versions.iter().filter(|version| version.served);
    served.map(|version| {
        format!(
            "/apis/{}/{}/{}?limit=1",
            crd.spec.group, version.name, crd.spec.names.plural
        )
    })
}

pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) controllers: Option<Controllers>,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl World {
    /// A server with the CRDs; no controller runs yet. The set `all` holds every cluster and is bound to the test's
    /// namespace.
    pub(crate) async fn new() -> World {
        log();
        let turn = match TestServer::would_be_real() {
            true => Some(TURN.lock().await),
            false => None,
        };
        let server = TestServer::start().await;
        let world = World {
            client: server.client(),
            namespace: server.namespace().to_owned(),
            server,
            controllers: None,
            _turn: turn,
        };
        world.install(portolan_api::crds()).await;
        world.clean().await;
        world.all().await;
        world.bind("all").await;
        world
    }

    /// The set of all clusters.
    pub(crate) async fn all(&self) {
        self.create::<ManagedClusterSet>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": "all"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        }))
        .await;
    }

    pub(crate) async fn install(&self, crds: Vec<CustomResourceDefinition>) {
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        let lists: Vec<String> = crds.iter().flat_map(lists).collect();
        for mut crd in crds {
            let name = crd.metadata.name.clone().unwrap();
            match api.create(&PostParams::default(), &crd).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let known = api.get(&name).await.unwrap();
                    crd.metadata.resource_version = known.metadata.resource_version;
                    api.replace(&name, &PostParams::default(), &crd).await.unwrap();
                }
                created => drop(created.unwrap()),
            }
        }
        eventually("every CRD is established", async || {
            let crds = api.list(&ListParams::default()).await.unwrap();
            crds.iter().all(|crd| {
                let mut conditions = crd
                    .status
                    .iter()
                    .flat_map(|status| status.conditions.iter().flatten());
                conditions.any(|condition| condition.type_ == "Established" && condition.status == "True")
            })
        })
        .await;
        // A newer server answers 429 for a moment after a definition was established: it fills its cache.
        for list in lists {
            eventually(&format!("{list} is listed"), async || {
                let request = http::Request::get(&list).body(Vec::new()).unwrap();
                self.client.request_text(request).await.is_ok()
            })
            .await;
        }
    }

    pub(crate) async fn clean(&self) {
        self.free_and_delete::<ManifestWorkReplicaSet>().await;
        self.free_and_delete::<ManifestWork>().await;
        self.clean_namespaced::<Placement>().await;
        self.clean_namespaced::<PlacementDecision>().await;
        self.clean_namespaced::<multicluster::PlacementDecision>().await;
        self.clean_namespaced::<ClusterProfile>().await;
        self.clean_namespaced::<multicluster::Work>().await;
        self.clean_namespaced::<AddOnPlacementScore>().await;
        self.clean_namespaced::<ManagedClusterSetBinding>().await;
        self.clean_scoped::<ManagedCluster>().await;
        self.clean_scoped::<ManagedClusterSet>().await;
    }

    /// Deletes objects that may wait for somebody who is gone.
    async fn free_and_delete<K>(&self)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + 'static,
    {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        for object in Api::<Received<K>>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .unwrap()
        {
            let (namespace, name) = (
                object.meta().namespace.as_deref().unwrap(),
                object.meta().name.as_deref().unwrap(),
            );
            let api = Api::<Received<K>>::namespaced(self.client.clone(), namespace);
            let _ = api.patch(name, &PatchParams::default(), &free).await;
            let _ = api.delete(name, &DeleteParams::default()).await;
        }
    }

    async fn clean_namespaced<K>(&self)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + 'static,
    {
        for namespace in Api::<Namespace>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .unwrap()
        {
            let api = Api::<Received<K>>::namespaced(self.client.clone(), &namespace.metadata.name.unwrap());
            let _ = api
                .delete_collection(&DeleteParams::default(), &ListParams::default())
                .await
                .unwrap();
        }
    }

    async fn clean_scoped<K>(&self)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + 'static,
    {
        let api = Api::<Received<K>>::all(self.client.clone());
        let _ = api
            .delete_collection(&DeleteParams::default(), &ListParams::default())
            .await
            .unwrap();
    }

    /// The usual settings.
    pub(crate) fn settings() -> Settings {
        #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
        Settings::new(Clock::new(Timestamp::now))
    }

    /// Starts the controllers with the usual settings and waits until they have decided once.
    pub(crate) async fn start(&mut self) {
        self.start_with(World::settings()).await;
    }

    pub(crate) async fn start_with(&mut self, settings: Settings) {
        let controllers = Controllers::start(self.client.clone(), settings);
        let health = controllers.health();
        eventually("the controllers are ready", async || health.is_ready()).await;
        self.controllers = Some(controllers);
    }

    pub(crate) async fn stop(&mut self) {
        if let Some(controllers) = self.controllers.take() {
            controllers.stop().await;
        }
    }

    /// The value of a metric that has exactly these labels; 0 when there is none.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.controllers.as_ref().unwrap().metrics().text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
    {
        let typed: K = serde_json::from_value(object).unwrap();
        let url = K::url_path(&(), typed.meta().namespace.as_deref());
        let request = kube::core::Request::new(url)
            .create(&PostParams::default(), serde_json::to_vec(&typed).unwrap())
            .unwrap();
        self.client.request(request).await.unwrap()
    }

    pub(crate) async fn bind(&self, set: &str) {
        self.create::<ManagedClusterSetBinding>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set, "namespace": self.namespace},
            "spec": {"clusterSet": set},
        }))
        .await;
    }

    pub(crate) async fn cluster(&self, name: &str, labels: &[(&str, &str)]) {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        self.create::<ManagedCluster>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
            "spec": {"hubAcceptsClient": true},
        }))
        .await;
    }

    /// Clusters `c001` and so on.
    pub(crate) async fn clusters(&self, numbers: std::ops::RangeInclusive<usize>, labels: &[(&str, &str)]) {
        let names: Vec<String> = numbers.map(|number| format!("c{number:03}")).collect();
        futures::future::join_all(names.iter().map(|name| self.cluster(name, labels))).await;
    }

    pub(crate) async fn label(&self, cluster: &str, key: &str, value: Option<&str>) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {key: value}}}));
        let api = Api::<ManagedCluster>::all(self.client.clone());
        api.patch(cluster, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn placement(&self, name: &str, spec: Value) -> Placement {
        self.create(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }))
        .await
    }

    pub(crate) async fn patch_placement(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let api = self.api::<Placement>();
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// The API of one of the kinds that are cluster-scoped.
    pub(crate) fn scoped<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        Api::all(self.client.clone())
    }

    /// Takes a definition away, with every object of its kind, and waits until it is gone.
    pub(crate) async fn remove_crd(&self, name: &str) {
        let crds = self.scoped::<CustomResourceDefinition>();
        crds.delete(name, &DeleteParams::default()).await.unwrap();
        eventually(&format!("{name} is gone"), async || {
            crds.get_opt(name).await.unwrap().is_none()
        })
        .await;
    }

    /// Brings a definition back.
    pub(crate) async fn install_crd(&self, name: &str) {
        let mut crds = portolan_api::crds();
        crds.retain(|crd| crd.metadata.name.as_deref() == Some(name));
        assert_eq!(crds.len(), 1, "{name} is one of ours");
        self.install(crds).await;
    }

    /// Reports scores for a cluster, in the namespace that has its name.
    pub(crate) async fn score(&self, cluster: &str, resource: &str, scores: &[(&str, i32)]) {
        self.score_in(cluster, resource, scores).await;
    }

    /// Reports scores in a namespace.
    pub(crate) async fn score_in(&self, namespace: &str, resource: &str, scores: &[(&str, i32)]) {
        let namespaces = self.scoped::<Namespace>();
        if namespaces.get_opt(namespace).await.unwrap().is_none() {
            self.create::<Namespace>(json!({"metadata": {"name": namespace}}))
                .await;
        }
        let api = Api::<AddOnPlacementScore>::namespaced(self.client.clone(), namespace);
        if api.get_opt(resource).await.unwrap().is_none() {
            self.create::<AddOnPlacementScore>(json!({
                "apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "AddOnPlacementScore",
                "metadata": {"name": resource, "namespace": namespace},
            }))
            .await;
        }
        let scores: Vec<Value> = scores
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        let patch = Patch::Merge(json!({"status": {"scores": scores}}));
        api.patch_status(resource, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Reasons of the events on a placement.
    pub(crate) async fn reasons(&self, placement: &str) -> Vec<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        let about = events.items.into_iter().filter(|event| {
            let regarding = event.regarding.as_ref();
            regarding.and_then(|regarding| regarding.name.as_deref()) == Some(placement)
        });
        about.filter_map(|event| event.reason).collect()
    }

    /// Waits until a condition of a placement has this status and reason, and returns its message.
    pub(crate) async fn until_condition(&self, placement: &str, type_: &str, is: (&str, &str)) -> String {
        let mut message = String::new();
        eventually(&format!("{type_} of {placement} is {is:?}"), async || {
            let Some((status, reason, text)) = self.condition(placement, type_).await else {
                return false;
            };
            message = text;
            (status.as_str(), reason.as_str()) == is
        })
        .await;
        message
    }

    /// Waits until a placement has no condition of a type.
    pub(crate) async fn until_no_condition(&self, placement: &str, type_: &str) {
        eventually(&format!("{type_} of {placement} is gone"), async || {
            self.condition(placement, type_).await.is_none()
        })
        .await;
    }

    /// Waits until the controllers have nothing to do.
    pub(crate) async fn until_idle(&self) {
        let mut calm = 0;
        eventually("the controllers come to rest", async || {
            let busy = self.metric("portolan_queue_depth") > 0.0;
            calm = if busy { 0 } else { calm + 1 };
            calm > 12
        })
        .await;
    }

    /// The OCM decisions of a placement, by name.
    pub(crate) async fn decisions(&self, placement: &str) -> Vec<PlacementDecision> {
        let label = format!("cluster.open-cluster-management.io/placement={placement}");
        let api = self.api::<PlacementDecision>();
        listed(api.list(&ListParams::default().labels(&label)).await)
    }

    /// The slices of a placement, by name.
    pub(crate) async fn slices(&self, placement: &str) -> Vec<multicluster::PlacementDecision> {
        let label = format!("multicluster.x-k8s.io/decision-key={placement}");
        let api = self.api::<multicluster::PlacementDecision>();
        listed(api.list(&ListParams::default().labels(&label)).await)
    }

    /// The clusters in the OCM decisions of a placement, sorted.
    pub(crate) async fn decided(&self, placement: &str) -> Vec<String> {
        let decisions = self.decisions(placement).await;
        let entries = decisions.iter().flat_map(|decision| &decision.status);
        let mut names: Vec<String> = entries
            .flat_map(|status| &status.decisions)
            .map(|entry| entry.cluster_name.clone())
            .collect();
        names.sort();
        names
    }

    /// The clusters in the slices of a placement, sorted.
    pub(crate) async fn sliced(&self, placement: &str) -> Vec<String> {
        let slices = self.slices(placement).await;
        let entries = slices.iter().flat_map(|slice| &slice.decisions);
        let mut names: Vec<String> = entries
            .map(|entry| entry.cluster_profile_ref.as_ref().unwrap().name.clone())
            .collect();
        names.sort();
        names
    }

    /// Waits until both kinds hold exactly these clusters.
    pub(crate) async fn until_decided(&self, placement: &str, clusters: &[&str]) {
        eventually(&format!("{placement} holds {clusters:?}"), async || {
            self.decided(placement).await == clusters && self.sliced(placement).await == clusters
        })
        .await;
    }

    /// Status and reason of a condition of a placement.
    pub(crate) async fn condition(&self, placement: &str, type_: &str) -> Option<(String, String, String)> {
        let placement = self.api::<Placement>().get(placement).await.unwrap();
        let status = placement.status?;
        let condition = status
            .conditions
            .into_iter()
            .find(|condition| condition.type_ == type_)?;
        Some((condition.status, condition.reason, condition.message))
    }
}

/// Waits until something is true.
pub(crate) async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(EVENTUALLY_TIMEOUT, waiting).await.is_err() {
        panic!("waited in vain: {what}");
    }
}

/// `RUST_LOG` shows what the controllers say.
fn log() {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_test_writer()
        .try_init();
}

/// The objects of a list. A kind that is not served, or not served yet, has none.
fn listed<K: Clone>(list: kube::Result<ObjectList<K>>) -> Vec<K> {
    match list {
        Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
        list => list.unwrap().items,
    }
}
