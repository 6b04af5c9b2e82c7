//! The table of who may do what, and what it says of one request of one user.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// All rules and all requests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// What every user with a credential may do.
    everybody: Vec<String>,
    pub(crate) requests: Vec<Asked>,
    pub(crate) rules: Vec<Rule>,
}

/// Requests that ask for the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) asks: String,
    pub(crate) then: Option<String>,
    pub(crate) requests: Vec<Sent>,
}

/// One request, and the code for users who may.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent {
    pub(crate) send: String,
    #[serde(rename = "as", default = "json")]
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: String,
    pub(crate) answer: u16,
    /// What the hub answers where it differs on purpose.
    pub(crate) hub: Option<u16>,
}

fn json() -> String {
    "json".to_owned()
}

/// A user with the rights of one rule, in whichever way they are given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) user: String,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    /// The user is this service account.
    pub(crate) account: Option<String>,
    /// Whom the bindings name; the user if it is empty.
    #[serde(default)]
    pub(crate) subjects: Vec<Value>,
    /// Rules of a Role in the namespace of the test, and of one in the other namespace.
    pub(crate) role: Option<Value>,
    pub(crate) elsewhere: Option<Value>,
    /// Rules of a ClusterRole that a ClusterRoleBinding gives, that a RoleBinding gives, that another ClusterRole gathers.
    pub(crate) cluster: Option<Value>,
    pub(crate) bound: Option<Value>,
    pub(crate) aggregated: Option<Value>,
    /// What a RoleBinding refers to, without a role of its own.
    pub(crate) refers: Option<Value>,
    pub(crate) allows: Vec<String>,
    /// The user may list ConfigMaps in the namespace of the test.
    #[serde(default)]
    pub(crate) lists: bool,
}

impl Table {
    /// The table with the names that this test uses.
    pub(crate) fn read(names: &Names) -> Self {
        let text = names.fill(include_str!("table.yaml"));
        match serde_saphyr::from_str(&text) {
            Ok(table) => table,
            Err(error) => panic!("table.yaml: {error}"),
        }
    }

    /// Whether a rule allows something.
    pub(crate) fn allows(&self, rule: &Rule, asks: &str) -> bool {
        let everybody = self.everybody.iter().filter(|_| !rule.is_anonymous());
        everybody.chain(&rule.allows).any(|pattern| covers(pattern, asks))
    }

    /// Patterns that cover nothing at all are mistakes.
    pub(crate) fn idle_patterns(&self) -> Vec<&str> {
        let asked = || {
            let then = self.requests.iter().filter_map(|asked| asked.then.as_deref());
            self.requests.iter().map(|asked| asked.asks.as_str()).chain(then)
        };
        let patterns = self.rules.iter().flat_map(|rule| &rule.allows);
        patterns
            .filter(|pattern| !asked().any(|asks| covers(pattern, asks)))
            .map(String::as_str)
            .collect()
    }
}

impl Rule {
    pub(crate) fn is_anonymous(&self) -> bool {
        self.user == "anonymous"
    }

    pub(crate) fn user(&self, names: &Names) -> String {
        match &self.account {
            Some(account) => format!("system:serviceaccount:{}:{account}", names.namespace),
            None if self.is_anonymous() => "system:anonymous".to_owned(),
            None => names.own(&self.user),
        }
    }
}

/// Whether a pattern covers what is asked.
pub(crate) fn covers(pattern: &str, asks: &str) -> bool {
    let (pattern, asks): (Vec<_>, Vec<_>) = (pattern.split(' ').collect(), asks.split(' ').collect());
    let word = |(pattern, word): (&&str, &&str)| pattern.split('|').any(|one| one == "*" || one == *word);
    pattern.len() == asks.len() && pattern.iter().zip(&asks).all(word)
}

/// What differs from one run of the table to the next.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) namespace: String,
    pub(crate) group: String,
}

impl Names {
    pub(crate) fn elsewhere(&self) -> String {
        self.own("elsewhere")
    }

    pub(crate) fn own(&self, name: &str) -> String {
        format!("{}-{name}", self.namespace)
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        let text = text.replace('~', &format!("/api/v1/namespaces/{}", self.namespace));
        let text = text
            .replace("HERE", &self.namespace)
            .replace("ELSE", &self.elsewhere());
        text.replace("GROUP", &self.group)
    }
}

/// What a request asks for, in the attributes of authorization.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Attributes<'a> {
    Resource {
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    Path {
        verb: &'a str,
        path: &'a str,
    },
}

impl<'a> Attributes<'a> {
    pub(crate) fn parse(asks: &'a str) -> Self {
        let words: Vec<&str> = asks
            .split(' ')
            .map(|word| if matches!(word, "-" | "_") { "" } else { word })
            .collect();
        match words[..] {
            [verb, "path", path] => Self::Path { verb, path },
            [verb, what, namespace, name] => {
                let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
                let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
                let resource = if resource == "_" { "" } else { resource };
                Self::Resource {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                }
            }
            _ => panic!("{asks:?} is neither `verb resource namespace name` nor `verb path PATH`"),
        }
    }

    /// The words of a refusal.
    pub(crate) fn refusal(&self, user: &str) -> String {
        match *self {
            Self::Path { verb, path } => {
                format!("forbidden: User {user:?} cannot {verb} path {path:?}")
            }
            Self::Resource {
                verb,
                group,
                resource,
                subresource,
                namespace,
                name,
            } => {
                let dot = if group.is_empty() { "" } else { "." };
                let slash = if subresource.is_empty() { "" } else { "/" };
                let named = match name {
                    "" => String::new(),
                    name => format!(" {name:?}"),
                };
                let scope = match namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                // Of an empty resource it is not said what is forbidden.
                let about = match resource {
                    "" => "forbidden".to_owned(),
                    resource => format!("{resource}{dot}{group}{named} is forbidden"),
                };
                format!(
                    "{about}: User {user:?} cannot {verb} resource \"{resource}{slash}{subresource}\" in API group \
                     {group:?} {scope}"
                )
            }
        }
    }

    /// The `spec` of a review that asks whether it is allowed.
    pub(crate) fn review(&self) -> Value {
        match *self {
            Self::Path { verb, path } => {
                serde_json::json!({"nonResourceAttributes": {"verb": verb, "path": path}})
            }
            Self::Resource {
                verb,
                group,
                resource,
                subresource,
                namespace,
                name,
            } => serde_json::json!({"resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace, "name": name,
            }}),
        }
    }
}
