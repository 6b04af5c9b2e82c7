//! What a request asks for: the path and the query, parsed once.

use std::collections::HashMap;

use http::{Method, Uri};

use super::status::{Answer, Failure};

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A resource, as a collection or one object, perhaps with a subresource.
    Resource(Place),
    /// Anything else: discovery, health, version.
    Other(String),
}

/// Group, version, resource and what of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The path is one of the old `…/watch/…` forms.
    pub(crate) watch: bool,
}

/// Parses a path. Paths below `/api` and `/apis` that are too short for a resource are discovery.
pub(crate) fn target(path: &str) -> Answer<Target> {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(decode)
        .collect::<Answer<_>>()?;
    let (group, version, rest) = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["api", version, _, ..] => ("", *version, &parts[2..]),
        ["apis", group, version, _, ..] => (*group, *version, &parts[3..]),
        _ => return Ok(Target::Other(path.trim_end_matches('/').to_owned())),
    };
    let (watch, rest) = match rest {
        [first, rest @ ..] if first == "watch" && !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        // Below a namespace there are its own subresources and the resources in it.
        [first, namespace, third, rest @ ..]
            if first == "namespaces"
                && !(rest.is_empty() && matches!(third.as_str(), "status" | "finalize")) =>
        {
            (
                Some(namespace.clone()),
                [std::slice::from_ref(third), rest].concat(),
            )
        }
        rest => (None, rest.to_vec()),
    };
    let mut rest = rest.into_iter();
    let place = Place {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: rest.next().unwrap_or_default(),
        namespace,
        name: rest.next(),
        subresource: rest.next(),
        watch,
    };
    if rest.next().is_some() {
        return Err(Failure::no_such_path());
    }
    Ok(Target::Resource(place))
}

/// The query, with names and values decoded. Of a name given twice the first counts.
#[derive(Debug, Default, Clone)]
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    pub(crate) fn parse(uri: &Uri) -> Answer<Self> {
        let mut pairs = HashMap::new();
        for pair in uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs
                .entry(decode(&name.replace('+', " "))?)
                .or_insert(decode(&value.replace('+', " "))?);
        }
        Ok(Self(pairs))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The one name that the field selector asks for, if it does.
    pub(crate) fn selected_name(&self) -> Option<&str> {
        let terms = self.get("fieldSelector")?.split(',').map(str::trim);
        terms
            .filter(|term| !term.contains("!="))
            .filter_map(|term| term.split_once("==").or_else(|| term.split_once('=')))
            .find(|(path, _)| path.trim() == "metadata.name")
            .map(|(_, name)| name.trim())
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(
            self.0.get(name).map(String::as_str),
            Some("true" | "1" | "True" | "")
        )
    }

    pub(crate) fn number(&self, name: &str) -> Answer<Option<u64>> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            Failure::bad_request(format!(
                "strconv.ParseInt: parsing {text:?}: invalid syntax: {name} is a number"
            ))
        })
    }
}

/// What is to be done, in the words of authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) fn of(method: &Method, place: &Place, query: &Query) -> Answer<Self> {
        let named = place.name.is_some();
        Ok(match *method {
            Method::GET | Method::HEAD
                if query.flag("watch") && query.get("watch").is_some() || place.watch =>
            {
                Verb::Watch
            }
            Method::GET | Method::HEAD if named => Verb::Get,
            Method::GET | Method::HEAD => Verb::List,
            Method::POST if !named || place.subresource.is_some() => Verb::Create,
            Method::PUT if named => Verb::Update,
            Method::PATCH if named => Verb::Patch,
            Method::DELETE if named => Verb::Delete,
            Method::DELETE => Verb::DeleteCollection,
            _ => return Err(Failure::method_not_allowed()),
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// Undoes percent encoding.
fn decode(text: &str) -> Answer<String> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: &u8| {
                    char::from(*byte)
                        .to_digit(16)
                        .and_then(|digit| u8::try_from(digit).ok())
                };
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    return Err(bad_escape(text));
                };
                bytes.push(high * 16 + low);
                rest = tail;
            }
            (b'%', _) => return Err(bad_escape(text)),
            (byte, tail) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| bad_escape(text))
}

fn bad_escape(text: &str) -> Failure {
    Failure::bad_request(format!("the URL holds an invalid escape: {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        match target(path).unwrap() {
            Target::Resource(place) => place,
            Target::Other(path) => panic!("{path} is no resource"),
        }
    }

    #[test]
    fn paths_name_resources() {
        let all = place("/apis/apps/v1/deployments");
        assert_eq!(
            (all.group.as_str(), all.plural.as_str(), all.namespace),
            ("apps", "deployments", None)
        );
        let one = place("/api/v1/namespaces/default/configmaps/a%2Eb/status");
        assert_eq!(one.namespace.as_deref(), Some("default"));
        assert_eq!(
            (one.name.as_deref(), one.subresource.as_deref()),
            (Some("a.b"), Some("status"))
        );
        let namespace = place("/api/v1/namespaces/default/finalize");
        assert_eq!(
            (namespace.plural.as_str(), namespace.name.as_deref()),
            ("namespaces", Some("default"))
        );
        assert_eq!(namespace.subresource.as_deref(), Some("finalize"));
        assert_eq!(
            place("/api/v1/namespaces/default").name.as_deref(),
            Some("default")
        );
        assert!(place("/api/v1/watch/namespaces/default/configmaps").watch);
        assert_eq!(
            target("/apis/apps/v1/").unwrap(),
            Target::Other("/apis/apps/v1".into())
        );
        assert!(target("/api/v1/a/%zz").is_err());
    }
}
