//! Keeps the served kinds in step with the stored CustomResourceDefinitions.

use super::{Core, metadata};
use crate::kinds::{Registry, definition};
use crate::store::{Change, Expect, Key, Write, WriteError};

impl Core {
    /// Gives a definition its status and serves it, or stops serving it.
    pub(crate) async fn establish(&self, key: &Key) {
        while let Some(stored) = self.store.get(key) {
            let mut object = stored.value();
            if !metadata::text(&object, "deletionTimestamp").is_empty() {
                break;
            }
            let status = definition::status(&object, &self.registry(), &self.clock.stamp());
            if object.get("status") == Some(&status) {
                break;
            }
            object["status"] = status;
            let change = Change::Put(object);
            let write = Write {
                key: key.clone(),
                expect: Expect::Revision(stored.revision()),
                change,
            };
            if !matches!(
                self.store.write(write).await,
                Err(WriteError::Conflict { .. }) | Ok(_)
            ) {
                break;
            }
        }
        self.serve_definitions();
    }

    /// Builds the registry from what is stored.
    pub(crate) fn serve_definitions(&self) {
        let mut registry = Registry::builtin();
        let prefix = Key::prefix(definition::GROUP, definition::PLURAL, None);
        for stored in self.store.range(&prefix).objects {
            let object = stored.value();
            if definition::is_established(&object) {
                for resource in definition::resources(&object) {
                    registry.add(resource.into());
                }
            }
        }
        self.replace_registry(registry);
    }
}
