//! What is left in a namespace that is being deleted, as conditions of the namespace: in Kubernetes' words, which people
//! search for when a namespace does not end.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kinds::naming::set_condition;
use crate::store::Stored;

/// Finalizers that the condition names. A tenant can write any number of them, and the message has to fit into the namespace.
const MOST_NAMED: usize = 100;

/// Objects by resource, and by the finalizers that hold them.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// By `plural.group`; a core resource has nothing behind the dot.
    resources: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Remaining {
    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    pub(super) fn add(&mut self, object: &Stored) {
        let key = object.key();
        *self
            .resources
            .entry(format!("{}.{}", key.plural(), key.group()))
            .or_default() += 1;
        for finalizer in &object.meta().finalizers {
            let is_room = self.finalizers.len() < MOST_NAMED;
            match self.finalizers.get_mut(finalizer) {
                Some(number) => *number += 1,
                None if is_room => drop(self.finalizers.insert(finalizer.clone(), 1)),
                None => {}
            }
        }
    }

    /// Writes the conditions into a namespace. Discovery and deletion do not fail in one process.
    pub(super) fn describe(&self, namespace: &mut Value, now: &str) {
        let conditions = namespace.pointer_mut("/status/conditions").map(Value::take);
        let mut conditions = match conditions {
            Some(Value::Array(conditions)) => conditions,
            _ => Vec::new(),
        };
        let mut set = |kind: &str, status: &str, reason: &str, message: &str| {
            set_condition(&mut conditions, kind, status, reason, message, now);
        };
        for (kind, reason, message) in [
            (
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ] {
            set(kind, "False", reason, message);
        }
        match counted(&self.resources, "has") {
            Some(list) => set(
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                &format!("Some resources are remaining: {list}"),
            ),
            None => set(
                "NamespaceContentRemaining",
                "False",
                "ContentRemoved",
                "All content successfully removed",
            ),
        }
        match counted(&self.finalizers, "in") {
            Some(list) => set(
                "NamespaceFinalizersRemaining",
                "True",
                "SomeFinalizersRemain",
                &format!("Some content in the namespace has finalizers remaining: {list}"),
            ),
            None => set(
                "NamespaceFinalizersRemaining",
                "False",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        }
        namespace["status"]["conditions"] = conditions.into();
    }
}

/// The message sorts by its lines, not by its keys.
fn counted(numbers: &BTreeMap<String, usize>, word: &str) -> Option<String> {
    let mut lines: Vec<String> = numbers
        .iter()
        .map(|(name, number)| format!("{name} {word} {number} resource instances"))
        .collect();
    lines.sort();
    (!lines.is_empty()).then(|| lines.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{Change, Expect, Key, Store, Write};

    #[tokio::test]
    async fn very_many_finalizers_are_not_all_named() {
        let store = Store::in_memory(crate::hub::HISTORY);
        let finalizers: Vec<String> = (0..500).map(|number| format!("example.com/f{number}")).collect();
        let write = Write {
            key: Key::new("", "configmaps", "default", "a"),
            expect: Expect::Absent,
            change: Change::Put(json!({"metadata": {"name": "a", "finalizers": finalizers}})),
        };
        let held = store.write(write).await.unwrap();
        let mut remaining = Remaining::default();
        remaining.add(&held);
        remaining.add(&held);
        assert_eq!(remaining.finalizers.len(), MOST_NAMED);
        assert!(remaining.finalizers.values().all(|number| *number == 2));
    }
}
