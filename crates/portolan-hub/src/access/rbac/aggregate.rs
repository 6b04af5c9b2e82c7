//! ClusterRoles that gather the rules of others by label (`aggregationRule`).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;
use serde_json::Value;

use super::rule::PolicyRule;
use crate::kinds::label_selector::{LabelSelector, string_map};

/// A ClusterRole with what aggregation needs of it.
#[derive(Debug, Clone)]
pub(super) struct ClusterRole {
    labels: BTreeMap<String, String>,
    own: Arc<[PolicyRule]>,
    /// `None`: the role has its own rules. Otherwise its stored rules are what was gathered last, and do not count.
    selectors: Option<Vec<LabelSelector>>,
    /// The rules that apply.
    pub(super) effective: Arc<[PolicyRule]>,
}

impl ClusterRole {
    pub(super) fn from_json(object: &Value) -> Self {
        let own = PolicyRule::all_of(object);
        let selectors = object
            .pointer("/aggregationRule/clusterRoleSelectors")
            .and_then(Value::as_array);
        let selectors = selectors.filter(|selectors| !selectors.is_empty());
        Self {
            labels: string_map(object.pointer("/metadata/labels")),
            effective: Arc::clone(&own),
            own,
            selectors: selectors.map(|selectors| selectors.iter().map(LabelSelector::from_json).collect()),
        }
    }

    pub(super) fn is_aggregated(&self) -> bool {
        self.selectors.is_some()
    }
}

/// The rules a role has after aggregation: those of every role it reaches, in the order of their names, each rule once.
/// Gathering roles can gather each other (`admin` takes `edit`, which takes `view`), also in circles.
pub(super) fn effective(name: &str, roles: &RedBlackTreeMapSync<String, ClusterRole>) -> Arc<[PolicyRule]> {
    let mut reached = BTreeSet::from([name]);
    let mut pending = vec![name];
    while let Some(current) = pending.pop() {
        let Some(selectors) = roles.get(current).and_then(|role| role.selectors.as_ref()) else {
            continue;
        };
        for (other, role) in roles {
            if selectors.iter().any(|selector| selector.matches(&role.labels)) && reached.insert(other) {
                pending.push(other);
            }
        }
    }
    let gathered = reached.iter().filter_map(|name| roles.get(*name));
    let gathered = gathered.filter(|role| !role.is_aggregated());
    let mut seen = HashSet::new();
    gathered
        .flat_map(|role| role.own.iter())
        .filter(|rule| seen.insert(*rule))
        .cloned()
        .collect()
}
