//! Label selectors inside objects, as `matchLabels` and `matchExpressions`.

use std::collections::BTreeMap;

use serde_json::Value;

/// A label selector. One that cannot be read selects nothing, so that a mistake in a ClusterRole never grants.
#[derive(Debug, Clone)]
pub(crate) struct LabelSelector {
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

impl LabelSelector {
    pub(crate) fn from_json(selector: &Value) -> Self {
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

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
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

/// The entries of an object of strings; others are left out.
pub(crate) fn string_map(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
