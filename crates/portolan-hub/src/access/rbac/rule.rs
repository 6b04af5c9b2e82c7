//! One rule of a role.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::request::Target;
use crate::sabotage;

/// What a rule grants: verbs on resources, or verbs on paths that are no resources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct PolicyRule {
    /// Verbs; `*` is all of them.
    pub(crate) verbs: Vec<String>,
    /// API groups of the resources; `*` is all of them.
    pub(crate) api_groups: Vec<String>,
    /// `resource`, `resource/subresource`, `*/subresource` or `*`.
    pub(crate) resources: Vec<String>,
    /// Names of objects; none is all of them.
    pub(crate) resource_names: Vec<String>,
    /// Paths; one that ends in `*` covers what starts so.
    pub(crate) non_resource_urls: Vec<String>,
}

impl PolicyRule {
    /// The rules of a Role or a ClusterRole.
    pub(super) fn all_of(role: &Value) -> Arc<[PolicyRule]> {
        let rules = role
            .get("rules")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        rules.iter().map(PolicyRule::from_json).collect()
    }

    /// Reads a rule from its JSON; what is no list of strings counts as empty and so grants nothing.
    pub(crate) fn from_json(rule: &Value) -> Self {
        Self {
            verbs: strings(rule, "verbs"),
            api_groups: strings(rule, "apiGroups"),
            resources: strings(rule, "resources"),
            resource_names: strings(rule, "resourceNames"),
            non_resource_urls: strings(rule, "nonResourceURLs"),
        }
    }

    /// The rule as JSON, without empty lists.
    pub(crate) fn to_json(&self) -> Value {
        let mut rule = Map::new();
        for (key, values) in [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ] {
            if !values.is_empty() {
                rule.insert(key.to_owned(), Value::from(values.clone()));
            }
        }
        Value::Object(rule)
    }

    /// About what the rule takes as JSON.
    pub(crate) fn text_bytes(&self) -> usize {
        let lists = [
            &self.verbs,
            &self.api_groups,
            &self.resources,
            &self.resource_names,
            &self.non_resource_urls,
        ];
        let quoted = |entry: &String| entry.len() + r#""","#.len();
        lists.into_iter().flatten().map(quoted).sum()
    }

    /// Whether the rule grants `verb` on `target`. Namespaces are not its business: a binding has them.
    pub(crate) fn allows(&self, verb: &str, target: &Target<'_>) -> bool {
        if !has(&self.verbs, verb) {
            return false;
        }
        match target {
            Target::Path(path) => self.non_resource_urls.iter().any(|url| path_covers(url, path)),
            Target::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has(&self.api_groups, group)
                    && self
                        .resources
                        .iter()
                        .any(|granted| grants(granted, resource, subresource))
                    && (self.resource_names.is_empty()
                        || self.resource_names.iter().any(|only| only == name)
                        || sabotage::sabotaged(sabotage::Rule::NamesCount))
            }
        }
    }
}

/// Kubernetes' short form in messages: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`.
impl fmt::Display for PolicyRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "{";
        for (name, values) in [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ] {
            if !values.is_empty() {
                write!(formatter, "{separator}{name}:{}", quoted(values))?;
                separator = ", ";
            }
        }
        formatter.write_str(if separator == "{" { "{}" } else { "}" })
    }
}

/// A list as Go prints it: `["a" "b"]`.
pub(super) fn quoted(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", values.join(" "))
}

/// Whether a path of a rule covers another one, which may itself end in `*`.
pub(super) fn path_covers(granted: &str, path: &str) -> bool {
    granted == path
        || granted
            .strip_suffix('*')
            .is_some_and(|start| path.starts_with(start.trim_end_matches('*')))
}

fn grants(granted: &str, resource: &str, subresource: &str) -> bool {
    if granted == "*" {
        return true;
    }
    if subresource.is_empty() {
        return granted == resource;
    }
    // `pods/*` is no wildcard in Kubernetes, only `*/scale` is.
    let granted = granted
        .strip_suffix(subresource)
        .and_then(|left| left.strip_suffix('/'));
    granted.is_some_and(|granted| granted == "*" || granted == resource)
}

fn has(values: &[String], value: &str) -> bool {
    values.iter().any(|other| other == "*" || other == value)
}

fn strings(rule: &Value, key: &str) -> Vec<String> {
    let list = rule
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
