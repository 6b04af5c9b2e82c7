//! ClusterRoles that gather the rules of others by label (`aggregationRule`).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::rule::PolicyRule;

/// A ClusterRole with what aggregation needs of it.
#[derive(Debug, Clone)]
pub(super) struct ClusterRole {
    labels: BTreeMap<String, String>,
    own: Arc<[PolicyRule]>,
    /// `None`: the role has its own rules. Otherwise its stored rules are what was gathered last, and do not count.
    selectors: Option<Vec<Selector>>,
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
            selectors: selectors.map(|selectors| selectors.iter().map(Selector::from_json).collect()),
        }
    }

    pub(super) fn is_aggregated(&self) -> bool {
        self.selectors.is_some()
    }
}

/// The rules a role has after aggregation: those of every role it reaches, in the order of their names, each rule once.
/// Gathering roles can gather each other (`admin` takes `edit`, which takes `view`), also in circles.
pub(super) fn effective(name: &str, roles: &BTreeMap<String, ClusterRole>) -> Arc<[PolicyRule]> {
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

/// A label selector. One that cannot be read selects nothing, so that a mistake never grants.
#[derive(Debug, Clone)]
struct Selector {
    requirements: Option<Vec<Requirement>>,
}

#[derive(Debug, Clone)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Selector {
    fn from_json(selector: &Value) -> Self {
        let mut requirements: Option<Vec<Requirement>> = Some(
            string_map(selector.get("matchLabels"))
                .into_iter()
                .map(|(key, value)| Requirement {
                    key,
                    operator: Operator::In,
                    values: vec![value],
                })
                .collect(),
        );
        for expression in selector
            .get("matchExpressions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            match Requirement::from_json(expression) {
                Some(requirement) => requirements
                    .iter_mut()
                    .for_each(|all| all.push(requirement.clone())),
                None => requirements = None,
            }
        }
        Self { requirements }
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements
            .as_ref()
            .is_some_and(|all| all.iter().all(|one| one.matches(labels)))
    }
}

impl Requirement {
    fn from_json(expression: &Value) -> Option<Self> {
        let values = expression
            .get("values")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        Some(Self {
            key: expression.get("key")?.as_str()?.to_owned(),
            operator: match expression.get("operator")?.as_str()? {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return None,
            },
            values: values
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        })
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

fn string_map(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
