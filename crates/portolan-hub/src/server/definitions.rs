//! Keeps the served kinds in step with the stored CustomResourceDefinitions.

use std::sync::Arc;

use serde_json::Value;

use super::Core;
use crate::kinds::{Registry, definition, naming};
use crate::store::{Change, Expect, Key, Write, WriteError};

impl Core {
    /// Gives a definition its status and serves it, or stops serving it. Those that wait for a name get another chance:
    /// it may be free now.
    pub(crate) async fn establish(&self, key: &Key) {
        let _naming = self.naming.lock().await;
        self.settle(key).await;
        for other in self
            .definitions()
            .iter()
            .filter(|other| naming::is_waiting(other))
        {
            let name = other.pointer("/metadata/name").and_then(Value::as_str);
            let other = Key::new(
                definition::GROUP,
                definition::PLURAL,
                "",
                name.unwrap_or_default(),
            );
            if other != *key {
                self.settle(&other).await;
            }
        }
        self.serve_definitions();
    }

    async fn settle(&self, key: &Key) {
        while let Some(stored) = self.store.get(key) {
            let mut object = stored.value();
            let status = naming::status(&object, &self.definitions(), &self.clock.stamp());
            if object.get("status") == Some(&status) {
                return;
            }
            object["status"] = status;
            let write = Write {
                key: key.clone(),
                expect: Expect::Revision(stored.revision()),
                change: Change::Put(object),
            };
            if !matches!(
                self.store.write(write).await,
                Err(WriteError::Conflict { .. }) | Ok(_)
            ) {
                return;
            }
        }
    }

    fn definitions(&self) -> Vec<Value> {
        let prefix = Key::prefix(definition::GROUP, definition::PLURAL, None);
        let stored = self.store.range(&prefix).objects;
        stored.iter().map(|stored| stored.value()).collect()
    }

    /// Builds the registry from what is stored.
    pub(crate) fn serve_definitions(&self) {
        let before = self.registry();
        let mut registry = Registry::builtin();
        let prefix = Key::prefix(definition::GROUP, definition::PLURAL, None);
        for stored in self.store.range(&prefix).objects {
            let (name, revision) = (stored.key().name(), stored.revision());
            // Only a definition that has changed is compiled again.
            let resources = before.compiled(name, revision).unwrap_or_else(|| {
                let object = stored.value();
                match naming::is_established(&object) {
                    true => definition::resources(&object).into_iter().map(Arc::new).collect(),
                    false => Vec::new(),
                }
            });
            registry.define(name, revision, resources);
        }
        self.replace_registry(registry);
    }
}
