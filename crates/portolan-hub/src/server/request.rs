//! What a request asks for: the path and the query, parsed once.

use std::collections::HashMap;

use http::{Method, Uri};

use super::selector;
use super::status::{Answer, Failure};
use crate::kinds::names::Rule;
use crate::sabotage;

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
    /// The path is one of the old forms with a verb in it.
    pub(crate) prefix: Option<Prefix>,
    /// The path goes on after the subresource. Nothing is served there, but the request is authorized as if it did not.
    pub(crate) goes_on: bool,
}

/// A verb in a path: `/api/v1/watch/…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    Watch,
    Proxy,
}

/// Parses a path, as Kubernetes does for authorization: it is decoded first, so that an encoded slash separates as any
/// other, and nothing is left out of it, neither `..` nor what is empty. Paths below `/api` and `/apis` that are too short for
/// a resource are discovery.
pub(crate) fn target(path: &str) -> Answer<Target> {
    let path = decode(path)?;
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if sabotage::sabotaged(sabotage::Rule::PathsAreWhole) {
        parts.retain(|part| !part.is_empty());
    }
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Ok(Target::Other(path)),
    };
    let (prefix, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (Some(Prefix::Watch), rest),
        ["proxy", rest @ ..] if !rest.is_empty() => (Some(Prefix::Proxy), rest),
        rest => (None, rest),
    };
    let (namespace, rest) = match rest {
        // Below a namespace there are its own subresources and the resources in it.
        ["namespaces", namespace, rest @ ..]
            if rest
                .first()
                .is_some_and(|third| !matches!(*third, "status" | "finalize")) =>
        {
            (Some(*namespace), rest)
        }
        rest => (None, rest),
    };
    let part = |at: usize| rest.get(at).map(|part| (*part).to_owned());
    Ok(Target::Resource(Place {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: part(0).unwrap_or_default(),
        namespace: namespace.map(str::to_owned),
        name: part(1),
        subresource: part(2).filter(|_| prefix != Some(Prefix::Proxy)),
        prefix,
        goes_on: rest.len() > 3,
    }))
}

/// The query, with names and values decoded. Of a name given twice the first counts.
#[derive(Debug, Default, Clone)]
pub(crate) struct Query {
    pairs: HashMap<String, String>,
    /// A part that cannot be decoded.
    broken: Option<Failure>,
}

impl Query {
    /// Whether a parameter is given, with a value or without.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.pairs.contains_key(name)
    }

    pub(crate) fn parse(uri: &Uri) -> Self {
        let mut query = Self::default();
        let pairs = uri.query().unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (decode(&name.replace('+', " ")), decode(&value.replace('+', " "))) {
                (Ok(name), Ok(value)) => {
                    query.pairs.entry(name).or_insert(value);
                }
                (Err(failure), _) | (_, Err(failure)) => query.broken = Some(failure),
            }
        }
        query
    }

    /// Refuses a query that could not be read as a whole. Kubernetes leaves such a part out; but without its selector a
    /// request would delete a whole collection.
    pub(crate) fn check(&self) -> Answer<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The one name that the field selector asks for, if it does.
    pub(crate) fn selected_name(&self) -> Option<String> {
        // The parser that selects the objects: if the two disagreed, one name would be authorized and others shown.
        let terms = selector::field_terms(self.get("fieldSelector")?).ok()?;
        let named = terms
            .into_iter()
            .find(|term| term.equal && term.path == "metadata.name");
        named
            .map(|term| term.value)
            .filter(|name| Rule::PathSegment.check(name).is_empty())
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.pairs.insert(name.to_owned(), value);
    }

    /// Whether a flag is set, as Kubernetes reads it: anything but `false` and `0` sets it.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let value = self.pairs.get(name);
        value.is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0")
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

/// What a request does: what it is authorized as, and what is served, if anything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The verb in the words of authorization; empty for methods that have none.
    pub(crate) authorized: &'static str,
    /// `None` where the method is not allowed on the path.
    pub(crate) served: Option<Verb>,
}

impl Asked {
    pub(crate) fn of(method: &Method, place: &Place, query: &Query) -> Self {
        let named = place.name.as_deref().is_some_and(|name| !name.is_empty());
        let get = *method == Method::GET;
        let serve = |verb: Verb, served: bool| Self {
            authorized: verb.name(),
            served: served.then_some(verb),
        };
        match *method {
            _ if place.prefix == Some(Prefix::Watch) => serve(Verb::Watch, get),
            _ if place.prefix == Some(Prefix::Proxy) => Self {
                authorized: "proxy",
                served: None,
            },
            // With a name it is no watch, whatever the query says.
            Method::GET | Method::HEAD if named => serve(Verb::Get, get),
            Method::GET if query.flag("watch") && sabotage::sabotaged(sabotage::Rule::WatchIsAVerb) => Self {
                authorized: Verb::List.name(),
                served: Some(Verb::Watch),
            },
            Method::GET | Method::HEAD if query.flag("watch") => serve(Verb::Watch, get),
            Method::GET | Method::HEAD => serve(Verb::List, get),
            Method::POST => serve(Verb::Create, !named || place.subresource.is_some()),
            Method::PUT => serve(Verb::Update, named),
            Method::PATCH => serve(Verb::Patch, named),
            Method::DELETE if named => serve(Verb::Delete, true),
            Method::DELETE => serve(Verb::DeleteCollection, true),
            _ => Self {
                authorized: "",
                served: None,
            },
        }
    }

    /// The name that the request is authorized for.
    pub(crate) fn name(&self, place: &Place, query: &Query) -> String {
        let named = place.name.clone().filter(|name| !name.is_empty());
        // A role for one name allows a list or a watch of that name. For every other verb the field selector has no say: the
        // name in the body of a `create` is not the selected one.
        let selected = || match (self.authorized, place.prefix) {
            ("list" | "watch", None) => query.selected_name(),
            _ if sabotage::sabotaged(sabotage::Rule::SelectorsNameLists) => query.selected_name(),
            _ => None,
        };
        named.or_else(selected).unwrap_or_default()
    }
}

impl Verb {
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
pub(crate) fn decode(text: &str) -> Answer<String> {
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
        let watched = place("/api/v1/watch/namespaces/default/configmaps");
        assert_eq!(watched.prefix, Some(Prefix::Watch));
        assert_eq!(
            target("/apis/apps/v1/").unwrap(),
            Target::Other("/apis/apps/v1/".into())
        );
        assert!(target("/api/v1/a/%zz").is_err());
    }
}
