//! Which clusters may get works because of decisions in a namespace: those of the sets that are bound to it.
//!
//! A decision is an object like any other, and its writer may be somebody who was given no cluster. Bindings are what gives a
//! namespace its clusters. What is known here only ever keeps a *new* work from being made: a binding that goes, or cannot be
//! read, takes no work away.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::Delta;

use crate::reconcile::{Labels, Membership};

/// Whether a cluster may get a new work because of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// One of its sets is bound to the namespace, or nobody asks.
    Granted,
    /// None is.
    Missing,
    /// Sets, bindings or clusters were never completely known.
    Unknown,
}

/// Clusters, sets and bindings, as far as they say who may reach whom.
#[derive(Debug)]
pub(crate) struct Bound {
    is_asked: bool,
    clusters: BTreeMap<String, Labels>,
    /// Clusters that are there and could never be read.
    unread: BTreeSet<String>,
    sets: BTreeMap<String, Membership>,
    /// Names of the bound sets, by namespace.
    bindings: BTreeMap<String, BTreeSet<String>>,
    /// Of clusters, sets and bindings: whether all of them were ever known.
    known: [bool; 3],
}

impl Bound {
    /// Every cluster may get works, whoever decided it.
    pub(crate) fn everywhere() -> Bound {
        Bound {
            is_asked: false,
            ..Bound::by_bindings()
        }
    }

    /// Clusters of bound sets alone.
    pub(crate) fn by_bindings() -> Bound {
        Bound {
            is_asked: true,
            clusters: BTreeMap::new(),
            unread: BTreeSet::new(),
            sets: BTreeMap::new(),
            bindings: BTreeMap::new(),
            known: Default::default(),
        }
    }

    /// Whether bindings count.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether a cluster may get a new work because of a decision in the namespace. One that is no ManagedCluster gets none: a
    /// cluster may join under the name later, and would apply what was put there before anybody gave it to anybody.
    pub(crate) fn right(&self, namespace: &str, cluster: &str) -> Right {
        if !self.is_asked {
            return Right::Granted;
        }
        if self.known.contains(&false) {
            return Right::Unknown;
        }
        let bound = self.bindings.get(namespace).into_iter().flatten();
        let mut sets = bound.filter_map(|name| self.sets.get(name));
        match self.clusters.get(cluster) {
            None if self.unread.contains(cluster) => Right::Unknown,
            None => Right::Missing,
            Some(labels) if sets.any(|set| set.has(labels)) => Right::Granted,
            Some(_) => Right::Missing,
        }
    }

    /// Whether there is a ManagedCluster of this name.
    pub(crate) fn is_cluster(&self, name: &str) -> bool {
        self.clusters.contains_key(name) || self.unread.contains(name)
    }

    /// Takes note of a cluster. Whether somebody's right may be another one now.
    pub(crate) fn hear_cluster(&mut self, delta: &Delta<ManagedCluster>) -> bool {
        let is_news = match delta {
            Delta::Applied(cluster) => {
                let labels = Labels::new(cluster.metadata.labels.as_ref());
                let name = name_of(&cluster.metadata);
                let is_news = self.clusters.get(name) != Some(&labels);
                if is_news {
                    self.clusters.insert(name.to_owned(), labels);
                }
                self.unread.remove(name);
                is_news
            }
            Delta::Deleted(key) => self.unread.remove(&key.name) | self.clusters.remove(&key.name).is_some(),
            Delta::Unreadable(cluster) if !self.clusters.contains_key(name_of(&cluster.metadata)) => {
                self.unread.insert(name_of(&cluster.metadata).to_owned())
            }
            // What was last read of one that cannot be read stands.
            _ => false,
        };
        self.learn(Kind::Clusters, delta) || is_news
    }

    /// The same of a set.
    pub(crate) fn hear_set(&mut self, delta: &Delta<ManagedClusterSet>) -> bool {
        let is_news = match delta {
            Delta::Applied(set) => {
                let membership = Membership::of(set);
                let name = name_of(&set.metadata);
                let is_news = self.sets.get(name) != Some(&membership);
                if is_news {
                    self.sets.insert(name.to_owned(), membership);
                }
                is_news
            }
            Delta::Deleted(key) => self.sets.remove(&key.name).is_some(),
            _ => false,
        };
        self.learn(Kind::Sets, delta) || is_news
    }

    /// The same of a binding, which has the name of its set.
    pub(crate) fn hear_binding(&mut self, delta: &Delta<ManagedClusterSetBinding>) -> bool {
        let is_news = match delta {
            Delta::Applied(binding) => {
                let namespace = binding.metadata.namespace.clone().unwrap_or_default();
                let bound = self.bindings.entry(namespace).or_default();
                bound.insert(name_of(&binding.metadata).to_owned())
            }
            Delta::Deleted(key) => {
                let bound = self.bindings.get_mut(&key.namespace);
                bound.is_some_and(|bound| bound.remove(&key.name))
            }
            _ => false,
        };
        self.learn(Kind::Bindings, delta) || is_news
    }

    /// Whether all of a kind is known for the first time. A list that begins anew makes nothing unknown.
    fn learn<T>(&mut self, kind: Kind, delta: &Delta<T>) -> bool {
        let is_answered = matches!(delta, Delta::Synced | Delta::NotServed);
        is_answered && !std::mem::replace(&mut self.known[kind as usize], true)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Clusters,
    Sets,
    Bindings,
}

/// Passes on what is said of a cluster whose labels changed. A fleet's heartbeats say nothing else of it.
pub(crate) fn label_changes() -> impl Fn(&Delta<ManagedCluster>) -> bool {
    let known: Mutex<HashMap<String, Labels>> = Mutex::new(HashMap::new());
    move |delta| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Applied(cluster) => {
                let labels = Labels::new(cluster.metadata.labels.as_ref());
                known.insert(name_of(&cluster.metadata).to_owned(), labels.clone()) != Some(labels)
            }
            Delta::Deleted(key) => known.remove(&key.name).is_some(),
            _ => true,
        }
    }
}

fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portolan_runtime::watch::Key;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn applied<K: DeserializeOwned>(object: Value) -> Delta<K> {
        Delta::Applied(Arc::new(serde_json::from_value(object).unwrap()))
    }

    fn gone<K>(namespace: &str, name: &str) -> Delta<K> {
        Delta::Deleted(Key {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        })
    }

    fn cluster(name: &str, set: &str) -> Delta<ManagedCluster> {
        let labels = json!({ "cluster.open-cluster-management.io/clusterset": set });
        applied(json!({ "metadata": { "name": name, "labels": labels }, "spec": {} }))
    }

    fn set(name: &str) -> Delta<ManagedClusterSet> {
        applied(json!({ "metadata": { "name": name }, "spec": {} }))
    }

    fn binding(namespace: &str, set: &str) -> Delta<ManagedClusterSetBinding> {
        applied(json!({ "metadata": { "namespace": namespace, "name": set }, "spec": { "clusterSet": set } }))
    }

    /// `east` is in the set `prod`, which is bound to `shop`; `west` is in `dev`, which is bound to nobody.
    fn world() -> Bound {
        let mut bound = Bound::by_bindings();
        bound.hear_cluster(&cluster("east", "prod"));
        bound.hear_cluster(&cluster("west", "dev"));
        bound.hear_set(&set("prod"));
        bound.hear_set(&set("dev"));
        bound.hear_binding(&binding("shop", "prod"));
        assert_eq!(bound.right("shop", "east"), Right::Unknown, "not all is known");
        assert!(bound.hear_cluster(&Delta::Synced) && bound.hear_set(&Delta::Synced));
        assert!(bound.hear_binding(&Delta::Synced));
        bound
    }

    #[test]
    fn a_namespace_reaches_the_clusters_of_the_sets_that_are_bound_to_it() {
        let bound = world();
        assert_eq!(bound.right("shop", "east"), Right::Granted);
        assert_eq!(bound.right("shop", "west"), Right::Missing);
        assert_eq!(bound.right("other", "east"), Right::Missing);
        assert_eq!(
            bound.right("shop", "nowhere"),
            Right::Missing,
            "a cluster may join under the name later"
        );
        assert_eq!(Bound::everywhere().right("other", "west"), Right::Granted);
    }

    #[test]
    fn a_binding_a_set_or_a_label_that_goes_takes_the_right_away_and_each_is_news_once() {
        let mut bound = world();
        assert!(!bound.hear_cluster(&cluster("east", "prod")), "it was so before");
        assert!(bound.hear_cluster(&cluster("east", "dev")));
        assert_eq!(bound.right("shop", "east"), Right::Missing);
        assert!(bound.hear_binding(&binding("shop", "dev")));
        assert_eq!(bound.right("shop", "east"), Right::Granted);
        assert!(bound.hear_binding(&gone("shop", "dev")) && !bound.hear_binding(&gone("shop", "dev")));
        assert_eq!(bound.right("shop", "east"), Right::Missing);
        bound.hear_cluster(&cluster("east", "prod"));
        assert!(bound.hear_set(&gone("", "prod")));
        assert_eq!(bound.right("shop", "east"), Right::Missing);
    }

    #[test]
    fn a_list_that_begins_anew_makes_nothing_unknown() {
        let mut bound = world();
        assert!(!bound.hear_binding(&Delta::ListStarted));
        assert_eq!(bound.right("shop", "east"), Right::Granted);
        assert!(!bound.hear_binding(&Delta::Synced));
    }
}
