//! The members of a ManagedClusterSet.

use std::collections::BTreeMap;

use kube::core::{Expression, Selector};
use portolan_api::cluster::ManagedClusterSet;
use portolan_api::labels;
use portolan_engine::fleet::set_mistake;

/// The labels of a cluster in one piece of memory: a fleet has many, and each is only looked at when a set changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(Box<str>);

/// Neither a label key nor a value may contain it.
const END: char = '\0';

impl Labels {
    pub(crate) fn new(labels: Option<&BTreeMap<String, String>>) -> Labels {
        let mut text = String::new();
        for (key, value) in labels.into_iter().flatten() {
            text.extend([key.as_str(), "\0", value.as_str(), "\0"]);
        }
        Labels(text.into())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let mut parts = self.0.split_terminator(END);
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            if name == key {
                return Some(value);
            }
        }
        None
    }
}

/// How the members of a set are found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Membership {
    /// All expressions must hold; none at all matches everything.
    Expressions(Vec<Expression>),
    /// A label selector that is not there selects nothing, unlike an empty one.
    Nobody,
    /// It cannot be told who belongs to the set.
    Invalid(String),
}

impl Membership {
    pub(crate) fn of(set: &ManagedClusterSet) -> Membership {
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let selector = &set.spec.cluster_selector;
        // The same words as in the condition of a Placement that uses the set.
        if let Some(mistake) = set_mistake(set) {
            return Membership::Invalid(mistake.statement());
        }
        match selector.selector_type.as_deref().unwrap_or_default() {
            "" | "ExclusiveClusterSetLabel" => Membership::Expressions(vec![Expression::Equal(
                labels::ocm::CLUSTER_SET.to_owned(),
                name.to_owned(),
            )]),
            "LabelSelector" => match &selector.label_selector {
                None => Membership::Nobody,
                Some(labels) => match Selector::try_from(labels.clone()) {
                    Ok(selector) => Membership::Expressions(selector.into_iter().collect()),
                    Err(error) => Membership::Invalid(format!("spec.clusterSelector.labelSelector: {error}")),
                },
            },
            other => Membership::Invalid(format!(
                "spec.clusterSelector.selectorType {other:?} is unknown; accepted: ExclusiveClusterSetLabel, LabelSelector"
            )),
        }
    }

    pub(crate) fn has(&self, cluster: &Labels) -> bool {
        match self {
            Membership::Expressions(expressions) => {
                expressions.iter().all(|expression| holds(expression, cluster))
            }
            Membership::Nobody | Membership::Invalid(_) => false,
        }
    }

    pub(crate) fn is_invalid(&self) -> bool {
        matches!(self, Membership::Invalid(_))
    }
}

fn holds(expression: &Expression, cluster: &Labels) -> bool {
    match expression {
        Expression::In(key, values) => cluster.get(key).is_some_and(|value| values.contains(value)),
        Expression::NotIn(key, values) => !cluster.get(key).is_some_and(|value| values.contains(value)),
        Expression::Exists(key) => cluster.get(key).is_some(),
        Expression::DoesNotExist(key) => cluster.get(key).is_none(),
        Expression::Equal(key, value) => cluster.get(key) == Some(value),
        Expression::NotEqual(key, value) => cluster.get(key) != Some(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let map = pairs
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        Labels::new(Some(&map))
    }

    fn set(selector: Value) -> Membership {
        let object = json!({"metadata": {"name": "prod"}, "spec": {"clusterSelector": selector}});
        Membership::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn an_exclusive_set_goes_by_the_label_with_its_name() {
        for selector in [json!({}), json!({"selectorType": "ExclusiveClusterSetLabel"})] {
            let set = set(selector);
            assert!(set.has(&labels(&[
                ("a", ""),
                (labels::ocm::CLUSTER_SET, "prod"),
                ("z", "1")
            ])));
            assert!(!set.has(&labels(&[(labels::ocm::CLUSTER_SET, "dev")])));
            assert!(!set.has(&labels(&[("prod", labels::ocm::CLUSTER_SET)])));
        }
    }

    #[test]
    fn an_empty_selector_has_everybody_and_an_absent_one_nobody() {
        assert!(set(json!({"selectorType": "LabelSelector", "labelSelector": {}})).has(&labels(&[])));
        assert!(!set(json!({"selectorType": "LabelSelector"})).has(&labels(&[("a", "b")])));
    }

    #[test]
    fn every_operator_means_what_it_means_in_kubernetes() {
        let with = |operator: &str, values: Value| {
            set(json!({"selectorType": "LabelSelector", "labelSelector": {
                "matchExpressions": [{"key": "env", "operator": operator, "values": values}]
            }}))
        };
        let (prod, dev, none) = (labels(&[("env", "prod")]), labels(&[("env", "dev")]), labels(&[]));
        let verdicts = |set: Membership| [set.has(&prod), set.has(&dev), set.has(&none)];
        assert_eq!(verdicts(with("In", json!(["prod"]))), [true, false, false]);
        assert_eq!(verdicts(with("NotIn", json!(["prod"]))), [false, true, true]);
        assert_eq!(verdicts(with("Exists", json!(null))), [true, true, false]);
        assert_eq!(verdicts(with("DoesNotExist", json!(null))), [false, false, true]);
        for invalid in [
            with("In", json!([])),
            with("NotIn", json!(null)),
            with("Near", json!(["prod"])),
        ] {
            assert!(invalid.is_invalid(), "{invalid:?}");
        }
        let selector = "spec.clusterSelector.labelSelector.matchExpressions[0]";
        let words = format!("{selector}.operator is \"Near\"; use In, NotIn, Exists or DoesNotExist");
        assert_eq!(with("Near", json!(["prod"])), Membership::Invalid(words));
    }
}
