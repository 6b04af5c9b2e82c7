//! An embedded hub in the test's own process, and objects on it.

use std::path::{Path, PathBuf};

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use portolan_api::structural;
use portolan_hub::Hub;
use serde_json::{Value, json};

/// A hub with a kubeconfig, on a runtime of its own, so that the binary can be run and waited for beside it.
pub(crate) struct Live {
    runtime: tokio::runtime::Runtime,
    hub: Hub,
    client: Client,
    pub(crate) kubeconfig: PathBuf,
}

impl Live {
    /// A hub without any of our kinds.
    pub(crate) fn bare(folder: &Path) -> Live {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let (hub, client) = runtime.block_on(async {
            let address = "127.0.0.1:0".parse().expect("an address");
            let hub = Hub::builder()
                .listen(address)
                .start()
                .await
                .expect("a hub starts");
            let client = Client::new(hub.service(), "default");
            (hub, client)
        });
        let kubeconfig = folder.join("kubeconfig");
        hub.write_kubeconfig(&kubeconfig)
            .expect("a kubeconfig can be written");
        Live {
            runtime,
            hub,
            client,
            kubeconfig,
        }
    }

    /// A hub with our kinds.
    pub(crate) fn new(folder: &Path) -> Live {
        let live = Live::bare(folder);
        for definition in portolan_api::crd_values() {
            live.apply(definition);
        }
        live
    }

    /// The kubeconfig as an argument.
    pub(crate) fn argument(&self) -> &str {
        self.kubeconfig.to_str().expect("a path in UTF-8")
    }

    /// A kubeconfig for a user who may do nothing.
    pub(crate) fn kubeconfig_of_nobody(&self, folder: &Path) -> PathBuf {
        self.kubeconfig_of(folder, "nobody")
    }

    /// A kubeconfig for a user of this name, who may do what roles allow.
    pub(crate) fn kubeconfig_of(&self, folder: &Path, user: &str) -> PathBuf {
        self.hub.add_token(user, user, &[]);
        let config = std::fs::read_to_string(&self.kubeconfig).expect("the kubeconfig can be read");
        let mut config: Value = serde_saphyr::from_str(&config).expect("the kubeconfig is YAML");
        config["users"][0]["user"] = json!({ "token": user });
        let path = folder.join(format!("{user}.kubeconfig"));
        std::fs::write(&path, config.to_string()).expect("a kubeconfig can be written");
        path
    }

    /// Creates an object, with its status, or brings it to what is given. Its namespace is made when it is missing.
    pub(crate) fn apply(&self, mut object: Value) {
        self.runtime.block_on(async {
            if let Some(namespace) = object.pointer("/metadata/namespace").and_then(Value::as_str) {
                let namespace =
                    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
                // Most of the time it is there.
                let _ = self
                    .api(&namespace)
                    .create(&PostParams::default(), &typed(&namespace))
                    .await;
            }
            let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
            let api = self.api(&object);
            let how = PatchParams::apply("test").force();
            let name = typed(&object).name_any();
            api.patch(&name, &how, &Patch::Apply(&object))
                .await
                .expect("an object can be applied");
            if let Some(status) = status {
                let status = Patch::Merge(json!({ "status": status }));
                api.patch_status(&name, &PatchParams::default(), &status)
                    .await
                    .expect("a status can be written");
            }
        });
    }

    /// All objects of a directory of manifests.
    pub(crate) fn apply_files(&self, folder: &Path) {
        for entry in std::fs::read_dir(folder).expect("a directory of manifests") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let text = std::fs::read_to_string(&path).expect("a manifest can be read");
                let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("manifests are YAML");
                for mut object in objects {
                    match object.get_mut("items").map(Value::take) {
                        Some(Value::Array(items)) => {
                            let kind = object["kind"]
                                .as_str()
                                .unwrap_or_default()
                                .trim_end_matches("List");
                            for mut item in items {
                                if item.get("kind").is_none() {
                                    item["kind"] = kind.into();
                                    item["apiVersion"] = object["apiVersion"].clone();
                                }
                                self.apply(item);
                            }
                        }
                        _ => self.apply(object),
                    }
                }
            }
        }
    }

    pub(crate) fn delete(&self, object: &Value) {
        let name = typed(object).name_any();
        let delete = async {
            self.api(object)
                .delete(&name, &kube::api::DeleteParams::default())
                .await
        };
        self.runtime.block_on(delete).expect("an object can be deleted");
    }

    pub(crate) fn stop(self) {
        drop(self.client);
        self.runtime.block_on(self.hub.stop());
    }

    fn api(&self, object: &Value) -> Api<DynamicObject> {
        let text = |field: &str| object[field].as_str().expect("a manifest says what it is");
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = match structural::find(api_version, &kind.kind) {
            Some(ours) => ApiResource::from_gvk_with_plural(&kind, &ours.plural),
            None => ApiResource::from_gvk(&kind),
        };
        match object.pointer("/metadata/namespace").and_then(Value::as_str) {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

fn typed(object: &Value) -> DynamicObject {
    serde_json::from_value(object.clone()).expect("an object has metadata")
}
