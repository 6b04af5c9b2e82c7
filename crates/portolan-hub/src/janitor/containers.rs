//! Namespaces and definitions go last: first everything in them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::pace::{PORTION, about_all};
use super::remaining::Remaining;
use super::{Janitor, Settled, Unchanged};
use crate::kinds::{definition, naming};
use crate::server::{MOST_AT_ONCE, apart_always};
use crate::store::{Key, Stored};

/// The name that Kubernetes gives the ConfigMap with the certificate of the server's authority.
const AUTHORITY_MAP: &str = "kube-root-ca.crt";

impl Janitor {
    /// Every namespace has a service account that pods run as unless told otherwise, and the certificate of the authority
    /// that they are to trust. If they cannot be written now, the next change of the namespace brings us back.
    pub(super) async fn furnish(&self, namespace: &Key) {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": namespace.name()},
        });
        let Some(authority) = &self.authority else {
            let _ = self.core.ensure(vec![account]).await;
            return;
        };
        let trusted = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": AUTHORITY_MAP, "namespace": namespace.name()},
            "data": {"ca.crt": authority},
        });
        let _ = self.core.ensure(vec![account, trusted]).await;
        // The authority is a new one where the keys of an older hub were removed.
        let key = Key::new("", "configmaps", namespace.name(), AUTHORITY_MAP);
        let there = self.core.store.get(&key);
        if there.is_some_and(|there| there.value().pointer("/data/ca.crt") != Some(&json!(authority))) {
            self.edit(&key, |map| map["data"]["ca.crt"] = json!(authority))
                .await;
        }
    }

    /// Deletes what is in a namespace, and says in the namespace what is left; when nothing is, lets the namespace go.
    pub(super) async fn empty_namespace(&self, key: &Key) -> Settled {
        let mut remaining = Remaining::default();
        let registry = self.core.registry();
        for resource in registry.stored().filter(|resource| resource.namespaced) {
            let prefix = Key::prefix(&resource.storage_group, &resource.plural, Some(key.name()));
            let Some(held) = self.empty(&prefix).await else {
                return Settled::InPart;
            };
            about_all(&held, || held.iter().for_each(|object| remaining.add(object)));
        }
        let now = self.core.clock.stamp();
        self.edit(key, |namespace| {
            remaining.describe(namespace, &now);
            if remaining.is_empty() {
                namespace["spec"]["finalizers"] = Value::Array(Vec::new());
            }
        })
        .await;
        Settled::Done
    }

    /// The same for the objects of a definition.
    pub(super) async fn empty_definition(&self, stored: &Stored) -> Settled {
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
        match self.empty(&prefix).await {
            None => return Settled::InPart,
            Some(held) if !held.is_empty() => return Settled::Done,
            Some(_) => {}
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
        Settled::Done
    }

    /// Deletes what is under a prefix. Returns what is held and stays for now, or nothing if there was more than a portion.
    async fn empty(&self, prefix: &str) -> Option<Vec<Arc<Stored>>> {
        let objects = self.objects_under(prefix);
        let objects: Vec<Arc<Stored>> = about_all(&objects, || {
            // What is not served cannot be deleted, and would be here for ever.
            let is_to_go = |object: &&Arc<Stored>| {
                object.meta().deletion_timestamp.is_none() && self.resource(object.key()).is_some()
            };
            objects
                .iter()
                .filter(is_to_go)
                .take(PORTION + 1)
                .cloned()
                .collect()
        });
        let portion = objects.iter().take(PORTION);
        self.each(portion, |object| self.delete(object, None, Unchanged::Uid))
            .await;
        (objects.len() <= PORTION).then(|| self.objects_under(prefix))
    }

    fn objects_under(&self, prefix: &str) -> Vec<Arc<Stored>> {
        let store = &self.core.store;
        let few = store.range_up_to(prefix, MOST_AT_ONCE);
        few.unwrap_or_else(|| apart_always(|| store.range(prefix)))
            .objects
    }
}
