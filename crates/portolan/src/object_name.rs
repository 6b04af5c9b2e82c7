//! How every command reads the name of an object that has a namespace, and what it says when there is no such object.
//!
//! NAMESPACE/NAME names both. NAME alone is looked for in the namespace of `--namespace`, or else in that of the
//! kubeconfig's context, or else in `default`, as kubectl does. Files alone have no context: there it is `default`.

use std::collections::BTreeSet;

use portolan_api::spelling;
use portolan_engine::placement::PlacementKey;

use crate::input::Problem;

/// The namespace of a name where nothing else says which.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
/// How many names a message lists.
const LISTED: usize = 10;
/// How many namespaces a message suggests for a name.
const SUGGESTED: usize = 3;

/// A name as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectName {
    namespace: Option<String>,
    name: String,
}

/// Reads `NAMESPACE/NAME` or `NAME`.
pub(crate) fn parse(text: &str) -> Result<ObjectName, String> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, text),
    };
    let is_name = |part: &str| !part.is_empty() && !part.contains('/');
    match namespace.as_deref().is_none_or(is_name) && is_name(name) {
        true => Ok(ObjectName {
            namespace,
            name: name.to_owned(),
        }),
        false => Err("accepted: NAMESPACE/NAME, such as shop/web, or NAME".to_owned()),
    }
}

impl ObjectName {
    /// The namespace that the name brings, or that `--namespace` names. None when neither does.
    pub(crate) fn namespace<'a>(&'a self, flag: Option<&'a str>) -> Result<Option<&'a str>, Problem> {
        match (self.namespace.as_deref(), flag) {
            (Some(one), Some(other)) if one != other => Err(Problem::of_arguments(format!(
                "--namespace {other} and {one}/… name two namespaces; accepted: one of both"
            ))),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// The name without its namespace.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Namespace and name. `usual` is the namespace of the kubeconfig's context.
    pub(crate) fn key(&self, flag: Option<&str>, usual: &str) -> Result<PlacementKey, Problem> {
        let namespace = self.namespace(flag)?.unwrap_or(usual);
        Ok(PlacementKey::new(namespace, &self.name))
    }
}

/// The error about an object that does not exist. `place` completes the sentence: `in the input`, `on https://…`. It names
/// the objects that may be meant, and a few of those that the namespace has.
pub(crate) fn missing(
    kind: &str,
    asked: &PlacementKey,
    place: &str,
    there: impl IntoIterator<Item = PlacementKey>,
) -> Problem {
    let mut there: Vec<PlacementKey> = there.into_iter().collect();
    there.sort();
    Problem::of_arguments(format!(
        "there is no {kind} {asked} {place}; {}",
        hint(kind, asked, &there)
    ))
}

fn hint(kind: &str, asked: &PlacementKey, there: &[PlacementKey]) -> String {
    if there.is_empty() {
        return format!("there is no {kind} at all");
    }
    let meant = meant(asked, there);
    let near: Vec<String> = there
        .iter()
        .filter(|key| key.namespace == asked.namespace)
        .map(ToString::to_string)
        .collect();
    let suggestion = match meant.is_empty() {
        true => String::new(),
        false => format!("did you mean {}? ", meant.join(" or ")),
    };
    let list = match near.as_slice() {
        // The only one of the namespace has been suggested.
        [only] if meant.contains(only) => String::new(),
        [] if meant.is_empty() => {
            let all: Vec<String> = there.iter().map(ToString::to_string).collect();
            format!(
                "the namespace {} has none; there are: {}",
                asked.namespace,
                listed(&all)
            )
        }
        [] => String::new(),
        near if meant.is_empty() => format!("the namespace {} has: {}", asked.namespace, listed(near)),
        near => format!("The namespace {} has: {}", asked.namespace, listed(near)),
    };
    format!("{suggestion}{list}").trim_end().to_owned()
}

/// The objects that may be meant: those of the same name in other namespaces, or one that is spelt alike.
pub(crate) fn meant(asked: &PlacementKey, there: &[PlacementKey]) -> Vec<String> {
    let alike: BTreeSet<&PlacementKey> = there.iter().filter(|key| key.name == asked.name).collect();
    let alike = alike.into_iter().take(SUGGESTED);
    let alike: Vec<String> = alike.map(ToString::to_string).collect();
    if !alike.is_empty() {
        return alike;
    }
    let names: Vec<String> = there.iter().map(ToString::to_string).collect();
    let close = spelling::did_you_mean(&asked.to_string(), names.iter().map(String::as_str));
    close.map(str::to_owned).into_iter().collect()
}

/// The first names, and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    match names.len().saturating_sub(LISTED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> PlacementKey {
        let (namespace, name) = text.split_once('/').unwrap();
        PlacementKey::new(namespace, name)
    }

    fn said(asked: &str, there: &[&str]) -> String {
        let there = there.iter().map(|text| key(text));
        missing("Placement", &key(asked), "on the hub", there).to_string()
    }

    #[test]
    fn a_name_alone_is_of_the_flag_then_of_the_context() {
        let resolved = |text: &str, flag: Option<&str>| {
            let key = parse(text).unwrap().key(flag, "team");
            key.map(|key| key.to_string())
                .map_err(|problem| problem.to_string())
        };
        assert_eq!(resolved("web", None).unwrap(), "team/web");
        assert_eq!(resolved("web", Some("shop")).unwrap(), "shop/web");
        assert_eq!(resolved("shop/web", None).unwrap(), "shop/web");
        assert_eq!(resolved("shop/web", Some("shop")).unwrap(), "shop/web");
        assert!(
            resolved("shop/web", Some("ml"))
                .unwrap_err()
                .contains("two namespaces")
        );
        for odd in ["", "/", "/web", "shop/", "a/b/c"] {
            assert!(parse(odd).unwrap_err().contains("NAMESPACE/NAME"), "{odd}");
        }
    }

    #[test]
    fn a_missing_object_is_looked_for_in_other_namespaces() {
        let said = said("default/web", &["stage/web", "shop/web", "shop/api"]);
        assert!(
            said.contains("default/web on the hub; did you mean shop/web or stage/web?"),
            "{said}"
        );
    }

    #[test]
    fn a_missing_object_names_those_of_its_namespace_sorted() {
        let said = said("shop/zebra", &["ml/x", "shop/web", "shop/api"]);
        assert!(
            said.contains("; the namespace shop has: shop/api, shop/web"),
            "{said}"
        );
    }

    #[test]
    fn a_missing_object_that_is_misspelt_names_the_others_of_its_namespace_too() {
        let names: Vec<String> = (10..25).map(|number| format!("shop/web-{number}")).collect();
        let mut there: Vec<&str> = names.iter().map(String::as_str).collect();
        there.push("shop/frontend");
        let said = said("shop/frontned", &there);
        assert!(
            said.contains("did you mean shop/frontend? The namespace shop has: shop/frontend, shop/web-10"),
            "{said}"
        );
        assert!(said.contains("shop/web-18 and 6 more"), "{said}");
    }

    #[test]
    fn a_missing_object_of_an_empty_namespace_names_those_of_others() {
        assert!(said("a/zebra", &["ml/x"]).contains("the namespace a has none; there are: ml/x"));
        assert!(said("a/zebra", &[]).contains("there is no Placement at all"));
    }
}
