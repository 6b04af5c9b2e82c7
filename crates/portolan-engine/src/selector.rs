//! Label and claim selectors, checked the way Kubernetes checks label selectors.
//!
//! Claims use the same language as labels, and OCM applies the label rules to claim values too.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use portolan_api::cluster::ClusterClaimSelector;
use portolan_api::structural::MAX_ERRORS;
use portolan_api::{FieldError, spelling};
use serde_json::json;

/// All requirements must hold; none at all matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    pub requirements: Vec<Requirement>,
}

/// One test on one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    pub key: Arc<str>,
    pub operator: Operator,
    /// Sorted and unique, so that equal selectors compare equal.
    pub values: Vec<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Operator {
    pub fn parse(text: &str) -> Option<Operator> {
        Some(match text {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        })
    }
}

impl Selector {
    /// Compiles a label selector that stands at `path` of a manifest; the error is the first one and names the field below it.
    pub fn from_labels(selector: Option<&LabelSelector>, path: &str) -> Result<Selector, FieldError> {
        first_error(Selector::check_labels(selector, path))
    }

    /// Compiles a claim selector that stands at `path` of a manifest; the error is the first one.
    pub fn from_claims(selector: Option<&ClusterClaimSelector>, path: &str) -> Result<Selector, FieldError> {
        first_error(Selector::check_claims(selector, path))
    }

    /// The selector, and everything that is wrong with it.
    pub(crate) fn check_labels(selector: Option<&LabelSelector>, path: &str) -> (Selector, Vec<FieldError>) {
        let (mut requirements, mut errors) = (Vec::new(), Vec::new());
        let Some(selector) = selector else {
            return (Selector::default(), errors);
        };
        for (key, value) in selector.match_labels.iter().flatten() {
            let path = format!("{path}.matchLabels");
            errors.extend(check_key(&path, key));
            errors.extend(check_value(&format!("{path}[{key}]"), value));
            requirements.push(Requirement {
                key: key.as_str().into(),
                operator: Operator::In,
                values: vec![value.as_str().into()],
            });
        }
        let expressions = selector.match_expressions.as_deref().unwrap_or_default();
        compile_expressions(expressions, path, &mut requirements, &mut errors);
        (Selector { requirements }, errors)
    }

    /// The selector, and everything that is wrong with it.
    pub(crate) fn check_claims(
        selector: Option<&ClusterClaimSelector>,
        path: &str,
    ) -> (Selector, Vec<FieldError>) {
        let (mut requirements, mut errors) = (Vec::new(), Vec::new());
        let expressions = selector.map(|selector| selector.match_expressions.as_slice());
        compile_expressions(
            expressions.unwrap_or_default(),
            path,
            &mut requirements,
            &mut errors,
        );
        (Selector { requirements }, errors)
    }

    /// Whether `lookup`, which gives the value of a key, satisfies every requirement.
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(lookup(&requirement.key)))
    }
}

impl Requirement {
    pub fn one_of(key: &str, values: &[String]) -> Requirement {
        let mut values: Vec<Arc<str>> = values.iter().map(|value| value.as_str().into()).collect();
        values.sort_unstable();
        values.dedup();
        Requirement {
            key: key.into(),
            operator: Operator::In,
            values,
        }
    }

    pub fn matches(&self, observed: Option<&str>) -> bool {
        match self.operator {
            Operator::In => observed.is_some_and(|value| self.lists(value)),
            Operator::NotIn => !observed.is_some_and(|value| self.lists(value)),
            Operator::Exists => observed.is_some(),
            Operator::DoesNotExist => observed.is_none(),
        }
    }

    fn lists(&self, value: &str) -> bool {
        self.values
            .binary_search_by(|listed| (**listed).cmp(value))
            .is_ok()
    }
}

/// The expression as a person writes it on a command line.
impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = list(self.values.iter().map(|value| &**value), ", ");
        match (self.operator, self.values.as_slice()) {
            (Operator::In, [value]) => write!(f, "{} = {value}", self.key),
            (Operator::NotIn, [value]) => write!(f, "{} != {value}", self.key),
            (Operator::In, _) => write!(f, "{} in ({values})", self.key),
            (Operator::NotIn, _) => write!(f, "{} notin ({values})", self.key),
            (Operator::Exists, _) => write!(f, "{} exists", self.key),
            (Operator::DoesNotExist, _) => write!(f, "{} does not exist", self.key),
        }
    }
}

fn first_error((selector, errors): (Selector, Vec<FieldError>)) -> Result<Selector, FieldError> {
    match errors.into_iter().next() {
        None => Ok(selector),
        Some(error) => Err(error),
    }
}

fn compile_expressions(
    expressions: &[LabelSelectorRequirement],
    path: &str,
    requirements: &mut Vec<Requirement>,
    errors: &mut Vec<FieldError>,
) {
    for (index, expression) in expressions.iter().enumerate() {
        if errors.len() >= MAX_ERRORS {
            return;
        }
        let path = format!("{path}.matchExpressions[{index}]");
        errors.extend(check_key(&format!("{path}.key"), &expression.key));
        let Some(operator) = Operator::parse(&expression.operator) else {
            let path = format!("{path}.operator");
            let accepted = spelling::accepted_operator(&expression.operator, &path);
            errors.push(FieldError::of_text(path, &expression.operator, "", accepted));
            continue;
        };
        let path = format!("{path}.values");
        let values = expression.values.as_deref().unwrap_or_default();
        match check_number(&path, operator, expression) {
            Some(error) => errors.push(error),
            None => errors.extend(wrong_values(&path, values)),
        }
        requirements.push(Requirement {
            operator,
            ..Requirement::one_of(&expression.key, values)
        });
    }
}

fn wrong_values(path: &str, values: &[String]) -> impl Iterator<Item = FieldError> {
    let wrong = values.iter().filter_map(move |value| check_value(path, value));
    wrong.take(MAX_ERRORS)
}

/// Operators that take values need one, and the others need none.
fn check_number(path: &str, operator: Operator, expression: &LabelSelectorRequirement) -> Option<FieldError> {
    let values = expression.values.as_deref().unwrap_or_default();
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            let accepted = format!("at least one value with the operator {}", expression.operator);
            Some(match &expression.values {
                Some(empty) => FieldError::new(path, &json!(empty), "there is no value in it", accepted),
                None => FieldError::missing(path, accepted),
            })
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            let problem = format!("the operator {} takes no values", expression.operator);
            let accepted = "no values, or the operator In or NotIn";
            Some(FieldError::of_text(path, &values.join(","), problem, accepted))
        }
        _ => None,
    }
}

fn check_key(path: &str, key: &str) -> Option<FieldError> {
    if is_qualified_name(key) {
        return None;
    }
    let accepted = format!("an optional DNS prefix and '/', then {LABEL_VALUE}");
    Some(FieldError::of_text(path, key, "not a label key", accepted))
}

fn check_value(path: &str, value: &str) -> Option<FieldError> {
    if is_label_value(value) {
        return None;
    }
    Some(FieldError::of_text(path, value, "not a label value", LABEL_VALUE))
}

const LABEL_VALUE: &str =
    "up to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit";

fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns_subdomain)
}

fn is_label_value(value: &str) -> bool {
    let bytes = value.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            bytes.len() <= 63
                && first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes.iter().all(inner)
        }
        _ => true,
    }
}

fn is_dns_subdomain(prefix: &str) -> bool {
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let alphanumeric = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        alphanumeric(bytes.first())
            && alphanumeric(bytes.last())
            && bytes
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
    };
    prefix.len() <= 253 && prefix.split('.').all(label)
}

/// Names in a message: all of them as long as a person would read them.
pub fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>, separator: &str) -> String {
    const LISTED: usize = 100;
    let more = names.len().saturating_sub(LISTED);
    let mut listed: Vec<String> = names.take(LISTED).map(preview).collect();
    if more > 0 {
        listed.push(format!("… and {more} more"));
    }
    listed.join(separator)
}

/// A bad value may be megabytes long; a message shows its beginning.
pub fn preview(value: &str) -> String {
    const SHOWN: usize = 80;
    match value.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}… ({} bytes)", &value[..cut], value.len()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: "env".into(),
                operator: operator.into(),
                values: Some(values.iter().map(|v| v.to_string()).collect()),
            }]),
            match_labels: None,
        }
    }

    #[test]
    fn not_in_also_matches_an_absent_key() {
        let selector = Selector::from_labels(Some(&expression("NotIn", &["prod"])), "s").unwrap();
        assert!(selector.matches(|_| None));
        assert!(selector.matches(|_| Some("dev")));
        assert!(!selector.matches(|_| Some("prod")));
    }

    #[test]
    fn an_empty_selector_matches_everything() {
        assert!(
            Selector::from_labels(Some(&LabelSelector::default()), "s")
                .unwrap()
                .matches(|_| None)
        );
        assert!(Selector::from_labels(None, "s").unwrap().matches(|_| None));
    }

    #[test]
    fn a_bad_value_is_named_with_the_key_that_has_it() {
        let selector = LabelSelector {
            match_labels: Some([("env".to_owned(), "a b".to_owned())].into()),
            match_expressions: None,
        };
        let error = Selector::from_labels(Some(&selector), "s")
            .unwrap_err()
            .statement();
        assert!(
            error.starts_with("s.matchLabels[env] is \"a b\": not a label value"),
            "{error}"
        );
    }

    #[test]
    fn a_bad_selector_names_the_field_the_value_and_what_is_accepted() {
        let long = "x".repeat(64);
        for (operator, values, expected) in [
            (
                "Exist",
                vec![],
                "s.matchExpressions[0].operator is \"Exist\"; use In, NotIn, Exists or DoesNotExist",
            ),
            (
                "In",
                vec![],
                "s.matchExpressions[0].values is an empty list: there is no value in it; use at least one value with the \
                 operator In",
            ),
            (
                "Exists",
                vec!["a"],
                "s.matchExpressions[0].values is \"a\": the operator Exists takes no values",
            ),
            ("In", vec![long.as_str()], "not a label value"),
            (
                "In",
                vec!["-a"],
                "values is \"-a\": not a label value; use up to 63 letters",
            ),
        ] {
            let error = Selector::from_labels(Some(&expression(operator, &values)), "s").unwrap_err();
            let error = error.statement();
            assert!(error.contains(expected), "{error}");
        }
    }
}
