//! Bindings to sets that do not exist. The conditions of every Placement in the namespace of such a binding say so; a command
//! that shows many Placements says it once.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::count::counted;
use portolan_engine::warnings::dangling;

use crate::input::Manifests;

/// What stands between the parts of the message of a condition.
const SEPARATOR: &str = "; ";

/// The bindings to sets that do not exist.
#[derive(Debug, Default)]
pub(crate) struct StrayBindings {
    /// What conditions say about a binding, by namespace and name.
    words: BTreeMap<(String, String), String>,
}

impl StrayBindings {
    pub(crate) fn of(manifests: &Manifests) -> StrayBindings {
        let sets = manifests.cluster_sets();
        let sets: BTreeSet<&str> = sets.filter_map(|set| set.metadata.name.as_deref()).collect();
        let stray = manifests.bindings().filter_map(|binding| {
            let namespace = binding.metadata.namespace.as_deref().unwrap_or_default();
            let name = binding.metadata.name.as_deref()?;
            let key = (namespace.to_owned(), name.to_owned());
            let cluster_set = Some(binding.spec.cluster_set.as_str()).filter(|set| *set != name);
            (!sets.contains(name)).then(|| (key, dangling(namespace, name, cluster_set)))
        });
        StrayBindings {
            words: stray.collect(),
        }
    }

    /// Namespace, name and words of each binding.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let all = self.words.iter();
        all.map(|((namespace, name), words)| (namespace.as_str(), name.as_str(), words.as_str()))
    }

    /// The message of a condition without its words about these bindings, and those words.
    pub(crate) fn split(&self, message: &str) -> (String, BTreeSet<&str>) {
        let mut said = BTreeSet::new();
        let kept = message.split(SEPARATOR).filter(|part| {
            let words = self.words.values().find(|words| words == part);
            said.extend(words.map(String::as_str));
            words.is_none()
        });
        let kept: Vec<&str> = kept.collect();
        (kept.join(SEPARATOR), said)
    }

    /// The bindings that several of these Placements are told about.
    pub(crate) fn repeated<'m>(&self, messages: impl Iterator<Item = &'m str>) -> StrayBindings {
        let counts = self.counts(messages);
        let words = self.words.iter();
        let words = words.filter(|(_, words)| counts.get(words.as_str()).is_some_and(|count| *count > 1));
        StrayBindings {
            words: words.map(|(key, words)| (key.clone(), words.clone())).collect(),
        }
    }

    /// A line for each binding with the number of Placements that it concerns, out of the messages of all.
    pub(crate) fn lines<'m>(&self, messages: impl Iterator<Item = &'m str>) -> Vec<String> {
        let counts = self.counts(messages);
        let lines = counts.into_iter();
        lines.map(|(words, count)| concerning(words, count)).collect()
    }

    fn counts<'m>(&self, messages: impl Iterator<Item = &'m str>) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for words in messages.flat_map(|message| self.split(message).1) {
            *counts.entry(words).or_default() += 1;
        }
        counts
    }
}

/// The words about a binding with the number of Placements that it concerns.
pub(crate) fn concerning(words: &str, placements: usize) -> String {
    match placements {
        0 => words.to_owned(),
        number => format!("{words}{SEPARATOR}it concerns {}", counted(number, "Placement")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WORDS: &str =
        "ManagedClusterSetBinding bank/ghost has no effect: there is no ManagedClusterSet \"ghost\"";

    fn stray() -> StrayBindings {
        let binding = json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding", "metadata": { "name": "ghost", "namespace": "bank" },
            "spec": { "clusterSet": "ghost" } });
        let manifests = crate::input::read_bytes("hub.json", binding.to_string().into_bytes());
        StrayBindings::of(&manifests.unwrap())
    }

    #[test]
    fn the_words_about_a_binding_are_taken_out_of_a_message_wherever_they_stand() {
        let stray = stray();
        for (message, kept) in [
            (WORDS.to_owned(), ""),
            (format!("a; {WORDS}; b"), "a; b"),
            (format!("{WORDS}; b"), "b"),
        ] {
            assert_eq!(stray.split(&message), (kept.to_owned(), BTreeSet::from([WORDS])));
        }
        assert_eq!(stray.split("a; b"), ("a; b".to_owned(), BTreeSet::new()));
    }

    #[test]
    fn a_binding_is_repeated_when_two_placements_are_told_about_it() {
        let messages = [WORDS, "a", WORDS];
        let stray = stray();
        assert!(
            stray
                .repeated(messages[..2].iter().copied())
                .lines(messages.into_iter())
                .is_empty()
        );
        let repeated = stray.repeated(messages.into_iter());
        assert_eq!(
            repeated.lines(messages.into_iter()),
            [format!("{WORDS}; it concerns 2 Placements")]
        );
    }
}
