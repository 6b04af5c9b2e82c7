//! Namespaces and definitions go last: first everything in them.

use serde_json::{Value, json};

use super::Janitor;
use crate::kinds::{definition, naming};
use crate::store::{Key, Stored};

impl Janitor {
    /// Every namespace has a service account that pods run as unless told otherwise.
    pub(super) async fn ensure_account(&self, namespace: &Key) {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": namespace.name()},
        });
        // If it cannot be written now, the next change of the namespace brings us back.
        let _ = self.core.ensure(vec![account]).await;
    }

    /// Deletes what is in a namespace; when nothing is left, lets the namespace go.
    pub(super) async fn empty_namespace(&self, key: &Key) {
        let mut left = false;
        let registry = self.core.registry();
        for resource in registry.stored().filter(|resource| resource.namespaced) {
            let prefix = Key::prefix(&resource.storage_group, &resource.plural, Some(key.name()));
            left |= self.empty(&prefix).await;
        }
        if !left {
            self.edit(key, |namespace| {
                namespace["spec"]["finalizers"] = Value::Array(Vec::new())
            })
            .await;
        }
    }

    /// The same for the objects of a definition.
    pub(super) async fn empty_definition(&self, stored: &Stored) {
        // Discovery says that the kind is going before the first object goes: an agent tells by that whether somebody
        // deleted its work.
        self.core.establish(stored.key()).await;
        let object = stored.value();
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let prefix = Key::prefix(text("/spec/group"), text("/spec/names/plural"), None);
        if self.empty(&prefix).await {
            return;
        }
        let now = self.core.clock.stamp();
        self.edit(stored.key(), |object| {
            naming::set_emptied(object, &now);
            if let Some(list) = object
                .pointer_mut("/metadata/finalizers")
                .and_then(Value::as_array_mut)
            {
                list.retain(|finalizer| finalizer != definition::FINALIZER);
            }
        })
        .await;
    }

    /// Deletes everything under a prefix. True if something is held and stays for now.
    async fn empty(&self, prefix: &str) -> bool {
        for object in self.core.store.range(prefix).objects {
            if object.meta().deletion_timestamp.is_none() {
                self.delete(object.key(), None).await;
            }
        }
        !self.core.store.range(prefix).objects.is_empty()
    }
}
