//! A hub with the cluster's namespace, a member cluster, and agents between them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use portolan_agent::{Agent, Clock, Settings};
use portolan_api::multicluster::{AppliedWork, Work};
use portolan_api::work::{AppliedManifestWork, ManifestWork};
use portolan_testserver::TestServer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long to wait for something that is to happen. Nothing is said about how fast it is.
const EVENTUALLY_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) hub: TestServer,
    pub(crate) spoke: TestServer,
    /// Name of the cluster, and of its namespace on the hub.
    pub(crate) cluster: String,
    /// A namespace of the member cluster.
    pub(crate) namespace: String,
    /// The hub's address as the agent's kubeconfig has it. Records are named after it.
    pub(crate) hub_server: String,
}

impl World {
    pub(crate) async fn new() -> World {
        let (hub, spoke) = (TestServer::start().await, TestServer::start().await);
        install(&hub.client()).await;
        install(&spoke.client()).await;
        World {
            hub_server: settings(hub.namespace()).hub_server,
            cluster: hub.namespace().to_owned(),
            namespace: spoke.namespace().to_owned(),
            hub,
            spoke,
        }
    }

    /// Settings that look often.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = settings(&self.cluster);
        settings.hub_server.clone_from(&self.hub_server);
        settings
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::start(self.hub.client(), self.spoke.client(), self.settings())
    }

    pub(crate) fn manifest_works(&self) -> Api<ManifestWork> {
        Api::namespaced(self.hub.client(), &self.cluster)
    }

    pub(crate) fn works(&self) -> Api<Work> {
        Api::namespaced(self.hub.client(), &self.cluster)
    }

    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.spoke.client(), &self.namespace)
    }

    /// A manifest of a ConfigMap.
    pub(crate) fn config_map(&self, name: &str, value: &str) -> Value {
        config_map(&self.namespace, name, value)
    }

    pub(crate) async fn create_work(&self, name: &str, manifests: &[Value]) {
        self.create_work_with(name, manifests, json!({})).await;
    }

    /// A ManifestWork with more than manifests in its spec.
    pub(crate) async fn create_work_with(&self, name: &str, manifests: &[Value], mut spec: Value) {
        spec["workload"] = json!({ "manifests": manifests });
        let work = json!({ "metadata": { "name": name }, "spec": spec });
        let work: ManifestWork = serde_json::from_value(work).unwrap();
        self.manifest_works()
            .create(&PostParams::default(), &work)
            .await
            .unwrap();
    }

    pub(crate) async fn set_manifests(&self, name: &str, manifests: &[Value]) {
        self.patch_work(
            name,
            json!({ "spec": { "workload": { "manifests": manifests } } }),
        )
        .await;
    }

    pub(crate) async fn patch_work(&self, name: &str, patch: Value) {
        let api = self.manifest_works();
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub(crate) async fn delete_work(&self, name: &str) {
        let _ = self
            .manifest_works()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// The values of the ConfigMaps whose names start with `prefix`.
    pub(crate) async fn values(&self, prefix: &str) -> Vec<(String, String)> {
        let all = self.config_maps().list(&ListParams::default()).await.unwrap();
        let mut values: Vec<_> = all
            .into_iter()
            .map(|map| {
                let value = map
                    .data
                    .and_then(|data| data.get("k").cloned())
                    .unwrap_or_default();
                (map.metadata.name.unwrap_or_default(), value)
            })
            .filter(|(name, _)| name.starts_with(prefix))
            .collect();
        values.sort();
        values
    }

    pub(crate) async fn until_values(&self, prefix: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        eventually(
            &format!("the ConfigMaps {prefix}* are {expected:?}"),
            async || self.values(prefix).await == expected,
        )
        .await;
    }

    /// Waits until the condition of the ManifestWork, for its present generation, has this status and reason.
    pub(crate) async fn until_condition(
        &self,
        work: &str,
        r#type: &str,
        status: &str,
        reason: &str,
    ) -> ManifestWork {
        let api = self.manifest_works();
        let last = Arc::new(std::sync::Mutex::new(String::new()));
        let seen = last.clone();
        eventually_or(
            async || {
                let work = api.get_opt(work).await.unwrap()?;
                *seen.lock().unwrap() = format!("{:?}", work.status);
                let conditions = work.status.clone().unwrap_or_default().conditions;
                let found = conditions.iter().any(|condition| {
                    condition.type_ == r#type
                        && condition.status == status
                        && condition.reason == reason
                        && condition.observed_generation == work.metadata.generation
                });
                found.then_some(work)
            },
            || {
                format!(
                    "{work} has {type}={status} {reason}; last: {}",
                    last.lock().unwrap()
                )
            },
        )
        .await
    }

    pub(crate) async fn until_applied(&self, work: &str) -> ManifestWork {
        self.until_condition(work, "Applied", "True", "AppliedManifestWorkComplete")
            .await
    }

    pub(crate) async fn until_gone(&self, work: &str) {
        eventually(&format!("{work} is gone"), async || {
            self.manifest_works().get_opt(work).await.unwrap().is_none()
        })
        .await;
    }

    /// Names of the objects in the records of this cluster's works.
    pub(crate) async fn recorded(&self) -> Vec<String> {
        let list = ListParams::default();
        let mut names = Vec::new();
        for record in Api::<AppliedManifestWork>::all(self.spoke.client())
            .list(&list)
            .await
            .unwrap()
        {
            for resource in record.status.unwrap_or_default().applied_resources {
                if resource.identifier.namespace == self.namespace {
                    names.push(resource.identifier.name);
                }
            }
        }
        for record in Api::<AppliedWork>::all(self.spoke.client())
            .list(&list)
            .await
            .unwrap()
        {
            for resource in record.status.unwrap_or_default().applied_resources {
                if resource.identifier.namespace.as_deref() == Some(&self.namespace) {
                    names.push(resource.identifier.name.unwrap_or_default());
                }
            }
        }
        names.sort();
        names
    }
}

pub(crate) fn settings(cluster: &str) -> Settings {
    #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
    let mut settings = Settings::new(cluster, Clock::new(Timestamp::now));
    // A real server is shared: the records of each test are those of a hub of its own.
    settings.hub_server = format!("https://{cluster}.example.com");
    settings.poll = Duration::from_millis(500);
    settings.longest_backoff = Duration::from_secs(1);
    settings.deletion_patience = Duration::from_millis(200);
    settings
}

pub(crate) fn config_map(namespace: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace },
        "data": { "k": value },
    })
}

/// Installs the definitions, as several tests may do at the same time on one server.
pub(crate) async fn install(client: &Client) {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for crd in portolan_api::crds() {
        match api.create(&PostParams::default(), &crd).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            created => drop(created.unwrap()),
        }
    }
    served::<ManifestWork>(client).await;
    served::<Work>(client).await;
    for name in [
        "appliedmanifestworks.work.open-cluster-management.io",
        "appliedworks.multicluster.x-k8s.io",
    ] {
        eventually("the records are served", async || {
            let crd = api.get(name).await.unwrap();
            let conditions = crd
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            conditions
                .iter()
                .any(|condition| condition.type_ == "Established" && condition.status == "True")
        })
        .await;
    }
}

async fn served<K>(client: &Client)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api = Api::<K>::namespaced(client.clone(), "default");
    eventually("the kind is served", async || {
        api.list(&ListParams::default()).await.is_ok()
    })
    .await;
}

pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    eventually_or(async || holds().await.then_some(()), || what.to_owned()).await;
}

pub(crate) async fn eventually_or<T>(
    mut found: impl AsyncFnMut() -> Option<T>,
    what: impl Fn() -> String,
) -> T {
    let waited = tokio::time::timeout(EVENTUALLY_TIMEOUT, async {
        loop {
            if let Some(found) = found().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    match waited.await {
        Ok(found) => found,
        Err(_) => panic!("not after {EVENTUALLY_TIMEOUT:?}: {}", what()),
    }
}

/// Of every object of the member cluster and the hub that the agent writes: its version.
pub(crate) async fn versions(world: &World) -> Vec<String> {
    let list = ListParams::default();
    let mut versions = Vec::new();
    let mut add = |objects: Vec<DynamicObject>| {
        versions.extend(objects.into_iter().map(|object| {
            format!(
                "{} {}",
                object.metadata.name.unwrap_or_default(),
                object.metadata.resource_version.unwrap_or_default()
            )
        }));
    };
    let resource = |group: &str, version: &str, kind: &str| {
        kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(group, version, kind))
    };
    let maps = Api::<DynamicObject>::namespaced_with(
        world.spoke.client(),
        &world.namespace,
        &resource("", "v1", "ConfigMap"),
    );
    add(maps.list(&list).await.unwrap().items);
    let works = Api::<DynamicObject>::namespaced_with(
        world.hub.client(),
        &world.cluster,
        &resource("work.open-cluster-management.io", "v1", "ManifestWork"),
    );
    add(works.list(&list).await.unwrap().items);
    versions
}
