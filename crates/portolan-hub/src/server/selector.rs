//! Label and field selectors of list, watch and deletecollection.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::status::{Answer, Failure};
use crate::kinds::Resource;
use crate::kinds::names::{is_label_value, is_qualified};
use crate::store::Stored;

/// A selector longer than this is refused.
const LONGEST: usize = 64 << 10;
/// Most requirements of a selector: each object of a list, and each event of a watch, is compared with all of them. Larger, and
/// one request could keep a thread busy for seconds; smaller, and selectors that tools generate would be refused.
const MOST_REQUIREMENTS: usize = 100;

/// What a requirement of labels counts for, in bytes: to compare it with an object takes as long as to read so many.
const REQUIREMENT: usize = 32;

/// Which objects of a collection are asked for.
#[derive(Debug, Default, Clone)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldTerm>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    In(HashSet<String>),
    NotIn(HashSet<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl Selector {
    pub(crate) fn parse(resource: &Resource, labels: Option<&str>, fields: Option<&str>) -> Answer<Self> {
        let refuse = |why: String| Failure::bad_request(format!("unable to parse requirement: {why}"));
        if labels.map_or(0, str::len) + fields.map_or(0, str::len) > LONGEST {
            return Err(refuse(format!("selectors are limited to {LONGEST} bytes")));
        }
        let labels = parse_labels(labels.unwrap_or_default()).map_err(refuse)?;
        let fields = parse_fields(resource, fields.unwrap_or_default())?;
        let requirements = labels.len() + fields.len();
        if requirements > MOST_REQUIREMENTS {
            return Err(refuse(format!(
                "selectors are limited to {MOST_REQUIREMENTS} requirements, and these have {requirements}; use `in (…)` for many \
                 values of one key"
            )));
        }
        Ok(Self { labels, fields })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels_match(object) && self.fields_match(object)
    }

    fn labels_match(&self, object: &Stored) -> bool {
        if self.labels.is_empty() {
            return true;
        }
        let labels = object.labels();
        self.labels.iter().all(|requirement| requirement.matches(&labels))
    }

    fn fields_match(&self, object: &Stored) -> bool {
        self.fields.iter().all(|requirement| {
            let equal = match requirement.path.as_str() {
                "metadata.name" => object.key().name() == requirement.value,
                "metadata.namespace" => object.key().namespace() == requirement.value,
                path => text_of(object.field(path)) == requirement.value,
            };
            equal == requirement.equal
        })
    }

    /// What it takes to compare an object, in bytes that are read: its labels where there are requirements of them, and the whole
    /// object once for each field that is not part of its key.
    pub(crate) fn weight(&self, object: &Stored) -> usize {
        let labels = match self.labels.len() {
            0 => 0,
            requirements => object.labels_size() + REQUIREMENT * requirements,
        };
        let is_read =
            |term: &&FieldTerm| !matches!(term.path.as_str(), "metadata.name" | "metadata.namespace");
        let fields = self.fields.iter().filter(is_read).count();
        labels + fields * object.bytes().len()
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
            Operator::Greater(limit) => number().is_some_and(|number| number > *limit),
            Operator::Less(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

fn text_of(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        None | Some(Value::Null) => String::new(),
        // `source` of an event selects by its component.
        Some(Value::Object(map)) => map
            .get("component")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        Some(other) => other.to_string(),
    }
}

/// One term of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldTerm {
    pub(crate) path: String,
    pub(crate) value: String,
    pub(crate) equal: bool,
}

/// Splits a field selector into its terms. A backslash takes the meaning from a comma, an equals sign or a backslash of a
/// value, and from nothing else.
pub(crate) fn field_terms(text: &str) -> Result<Vec<FieldTerm>, String> {
    let mut escaped = false;
    let ends = |c: char| {
        let ends = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    };
    let terms = text.split(ends).filter(|term| !term.is_empty());
    terms.map(|term| field_term(text, term)).collect()
}

fn field_term(text: &str, term: &str) -> Result<FieldTerm, String> {
    let refuse = || format!("invalid selector: {text:?}; can't understand {term:?}");
    let at = term.find('=').ok_or_else(refuse)?;
    let (path, equal) = match term[..at].strip_suffix('!') {
        Some(path) => (path, false),
        None => (&term[..at], true),
    };
    let rest = &term[at + 1..];
    let rest = match equal {
        true => rest.strip_prefix('=').unwrap_or(rest),
        false => rest,
    };
    let mut value = String::new();
    let mut characters = rest.chars();
    while let Some(c) = characters.next() {
        value.push(match c {
            '=' => return Err(refuse()),
            '\\' => characters
                .next()
                .filter(|c| matches!(c, '\\' | ',' | '='))
                .ok_or_else(refuse)?,
            c => c,
        });
    }
    Ok(FieldTerm {
        path: path.to_owned(),
        value,
        equal,
    })
}

fn parse_fields(resource: &Resource, text: &str) -> Answer<Vec<FieldTerm>> {
    let terms = field_terms(text).map_err(Failure::bad_request)?;
    terms
        .into_iter()
        .map(|term| {
            let path = resource.renames.iter().fold(term.path, |path, (served, stored)| {
                match path.strip_prefix(served) {
                    Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{stored}{rest}"),
                    _ => path,
                }
            });
            let known = matches!(path.as_str(), "metadata.name" | "metadata.namespace")
                || resource.selectable.contains(&path);
            match known {
                true => Ok(FieldTerm { path, ..term }),
                false => Err(Failure::bad_request(format!("field label not supported: {path}"))),
            }
        })
        .collect()
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    split_terms(text)
        .into_iter()
        .map(|term| requirement(&term))
        .collect()
}

/// Splits at commas that are not inside parentheses.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                terms.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(term) = terms.last_mut() {
            term.push(c);
        }
    }
    terms
        .into_iter()
        .map(|term| term.trim().to_owned())
        .filter(|term| !term.is_empty())
        .collect()
}

fn requirement(term: &str) -> Result<Requirement, String> {
    if let Some(key) = term.strip_prefix('!') {
        return make(key, Operator::Absent);
    }
    for (symbol, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = term.split_once(symbol) {
            let values = HashSet::from([label_value(value)?]);
            return make(
                key,
                if equal {
                    Operator::In(values)
                } else {
                    Operator::NotIn(values)
                },
            );
        }
    }
    for (symbol, greater) in [('>', true), ('<', false)] {
        if let Some((key, value)) = term.split_once(symbol) {
            let value = value.trim();
            let number = value
                .parse()
                .map_err(|_| format!("values[0]: {value:?} must be an integer"))?;
            return make(
                key,
                if greater {
                    Operator::Greater(number)
                } else {
                    Operator::Less(number)
                },
            );
        }
    }
    let Some((head, values)) = term.split_once('(') else {
        return make(term, Operator::Exists);
    };
    let values = values
        .strip_suffix(')')
        .ok_or_else(|| format!("found {term:?}, expected: ')'"))?;
    let values = values.split(',').map(label_value).collect::<Result<_, _>>()?;
    let mut words = head.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(key), Some("in"), None) => make(key, Operator::In(values)),
        (Some(key), Some("notin"), None) => make(key, Operator::NotIn(values)),
        _ => Err(format!("found {term:?}, expected: in, notin, =, ==, !=, gt, lt")),
    }
}

fn make(key: &str, operator: Operator) -> Result<Requirement, String> {
    let key = key.trim();
    if !is_qualified(key) {
        return Err(format!(
            "key: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.'"
        ));
    }
    Ok(Requirement {
        key: key.to_owned(),
        operator,
    })
}

fn label_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    if !is_label_value(value) {
        return Err(format!(
            "values[0]: Invalid value: {value:?}: a valid label must be an empty string or consist of up to 63 alphanumeric \
             characters, '-', '_' or '.'"
        ));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_selectors_are_split_at_what_is_not_escaped() {
        let terms = |text: &str| -> Vec<(String, bool, String)> {
            let terms = field_terms(text).unwrap().into_iter();
            terms.map(|term| (term.path, term.equal, term.value)).collect()
        };
        let term = |path: &str, equal: bool, value: &str| (path.to_owned(), equal, value.to_owned());
        assert_eq!(
            terms("a=b,c==d,e!=f,"),
            [term("a", true, "b"), term("c", true, "d"), term("e", false, "f")]
        );
        assert_eq!(
            terms(r"a!=x\,b\=c\\,d="),
            [term("a", false, r"x,b=c\"), term("d", true, "")]
        );
        for text in ["a", "a=b=c", r"a=\b", r"a=b\", "a=b,c", r"a!=x\,b=c"] {
            assert!(field_terms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_selector_has_a_limited_number_of_requirements() {
        let registry = crate::kinds::Registry::builtin();
        let maps = registry.find("", "v1", "configmaps").unwrap();
        let selector = |number: usize| vec!["a!=x"; number].join(",");
        assert!(Selector::parse(maps, Some(&selector(MOST_REQUIREMENTS)), None).is_ok());
        let refused = Selector::parse(maps, Some(&selector(MOST_REQUIREMENTS + 1)), None).unwrap_err();
        assert!(
            format!("{refused:?}").contains("limited to 100 requirements"),
            "{refused:?}"
        );
        let many = format!("a in ({})", vec!["y"; 20_000].join(","));
        assert!(
            Selector::parse(maps, Some(&many), None).is_ok(),
            "many values are fine"
        );
    }

    #[test]
    fn label_selectors_select() {
        let labels = BTreeMap::from([
            ("app".to_owned(), "web".to_owned()),
            ("n".to_owned(), "5".to_owned()),
        ]);
        let cases = [
            ("app=web", true),
            ("app==web,n", true),
            ("app!=web", false),
            ("other!=x", true),
            ("!other", true),
            ("app in (a, web)", true),
            ("app notin (a,web), n", false),
            ("n>4,n<6", true),
            ("n>5", false),
        ];
        for (text, expected) in cases {
            let requirements = parse_labels(text).unwrap();
            assert_eq!(
                requirements.iter().all(|r| r.matches(&labels)),
                expected,
                "{text}"
            );
        }
        for text in ["a b", "app in web", "-a=b", "a=b c", "n>x", "a in (b"] {
            assert!(parse_labels(text).is_err(), "{text}");
        }
    }
}
