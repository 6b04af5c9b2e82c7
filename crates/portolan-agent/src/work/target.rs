//! From a manifest to a place on the member cluster, and what the work says about that place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use portolan_api::work::{
    ConditionRule, FeedbackRule, FeedbackScrapeType, IgnoreField, ManifestConfigOption, ResourceIdentifier,
    UpdateStrategy, UpdateStrategyType,
};

use super::{Fault, Manifest};

/// Who we are in `managedFields` where a work says nothing else. The name is the API's default.
pub(crate) const FIELD_MANAGER: &str = "work-agent";

/// An object of the member cluster, by what tells it from all others there.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId {
    pub(crate) group: String,
    pub(crate) resource: String,
    /// Empty for kinds without.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind(), self.place())
    }
}

impl ObjectId {
    /// `deployments.apps`.
    pub(crate) fn kind(&self) -> String {
        match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        }
    }

    /// `shop/web`, or `web` for kinds without a namespace.
    pub(crate) fn place(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

/// The kinds that the member cluster serves, as far as they were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds(BTreeMap<String, BTreeMap<String, Resource>>);

/// How a kind is called in paths, and whether its objects have a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

impl Kinds {
    /// All kinds of an `apiVersion`.
    pub(crate) fn learn(&mut self, api_version: &str, kinds: BTreeMap<String, Resource>) {
        self.0.insert(api_version.to_owned(), kinds);
    }

    /// The `apiVersion`s to be asked for: those of manifests whose kind is not known.
    pub(crate) fn unknown<'m>(&self, manifests: impl Iterator<Item = &'m Manifest>) -> BTreeSet<String> {
        manifests
            .filter(|manifest| self.find(manifest).is_none())
            .map(Manifest::api_version)
            .collect()
    }

    pub(crate) fn find(&self, manifest: &Manifest) -> Option<&Resource> {
        self.0.get(&manifest.api_version())?.get(&manifest.kind)
    }
}

/// A manifest with its place on the member cluster.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) id: ObjectId,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) manifest: Manifest,
    pub(crate) config: Config,
}

/// What a work says about one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Config {
    pub(crate) strategy: Strategy,
    pub(crate) feedback: Vec<FeedbackRule>,
    pub(crate) rules: Vec<ConditionRule>,
    /// Whether it is looked at as it changes.
    pub(crate) watched: bool,
}

/// How an object is brought up to date.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Strategy {
    /// By server-side apply.
    Apply {
        manager: String,
        /// Fields of other managers are taken over.
        force: bool,
        ignored: Vec<IgnoreField>,
        /// Finalizers of the manifest count when the object is made, and are not put back.
        finalizers_once: bool,
    },
    /// Not at all once it exists.
    CreateOnly,
    /// Never written.
    ReadOnly,
}

impl Default for Strategy {
    /// `Update`: what the work says counts, whoever said otherwise.
    fn default() -> Strategy {
        Strategy::Apply {
            manager: FIELD_MANAGER.to_owned(),
            force: true,
            ignored: Vec::new(),
            finalizers_once: true,
        }
    }
}

impl Strategy {
    fn of(strategy: &UpdateStrategy) -> Strategy {
        match strategy.r#type.unwrap_or_default() {
            UpdateStrategyType::Update => Strategy::default(),
            UpdateStrategyType::CreateOnly => Strategy::CreateOnly,
            UpdateStrategyType::ReadOnly => Strategy::ReadOnly,
            UpdateStrategyType::ServerSideApply => {
                let settings = strategy.server_side_apply.clone().unwrap_or_default();
                Strategy::Apply {
                    manager: settings.field_manager.unwrap_or_else(|| FIELD_MANAGER.to_owned()),
                    force: settings.force,
                    ignored: settings.ignore_fields,
                    finalizers_once: false,
                }
            }
        }
    }
}

/// The place of a manifest and the settings for it. `None` while the member cluster serves no such kind.
pub(crate) fn resolve(
    manifest: &Manifest,
    configs: &[ManifestConfigOption],
    kinds: &Kinds,
) -> Option<Result<Target, Fault>> {
    let resource = kinds.find(manifest)?;
    let plural = &resource.plural;
    let mut manifest = manifest.clone();
    if !resource.namespaced {
        // Charts give a namespace to everything.
        manifest.drop_namespace();
    }
    let namespace = manifest.namespace.as_str();
    if resource.namespaced && namespace.is_empty() {
        return Some(Err(Fault(format!(
            "the manifest has no metadata.namespace, and a {} lives in one; accepted: the name of a namespace",
            manifest.kind
        ))));
    }
    let id = ObjectId {
        group: manifest.group.clone(),
        resource: plural.clone(),
        namespace: namespace.to_owned(),
        name: manifest.name.clone(),
    };
    Some(Ok(Target {
        config: config(&id, configs),
        id,
        version: manifest.version.clone(),
        kind: manifest.kind.clone(),
        manifest,
    }))
}

/// Of all options that name the object, the first that says something about a setting counts for this setting.
fn config(id: &ObjectId, configs: &[ManifestConfigOption]) -> Config {
    let meant = || {
        let options = configs.iter();
        options.filter(|option| id.is_meant_by(&option.resource_identifier))
    };
    let strategy = meant().find_map(|option| option.update_strategy.as_ref());
    let feedback = meant()
        .map(|option| &option.feedback_rules)
        .find(|rules| !rules.is_empty());
    let rules = meant()
        .map(|option| &option.condition_rules)
        .find(|rules| !rules.is_empty());
    let scraped = meant().find_map(|option| option.feedback_scrape_type);
    Config {
        strategy: strategy.map(Strategy::of).unwrap_or_default(),
        feedback: feedback.cloned().unwrap_or_default(),
        rules: rules.cloned().unwrap_or_default(),
        watched: scraped == Some(FeedbackScrapeType::Watch),
    }
}

impl ObjectId {
    /// Whether the identifier names this object. Name and namespace may have `*` in them.
    pub(crate) fn is_meant_by(&self, identifier: &ResourceIdentifier) -> bool {
        self.group == identifier.group
            && self.resource == identifier.resource
            && fits(&identifier.name, &self.name)
            && fits(&identifier.namespace, &self.namespace)
    }
}

/// Whether the text has the parts of the pattern in order, with anything where it has a `*`.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds() -> Kinds {
        let mut kinds = Kinds::default();
        let resource = |plural: &str, namespaced| Resource {
            plural: plural.to_owned(),
            namespaced,
        };
        kinds.learn(
            "v1",
            BTreeMap::from([
                ("ConfigMap".to_owned(), resource("configmaps", true)),
                ("Namespace".to_owned(), resource("namespaces", false)),
            ]),
        );
        kinds
    }

    fn manifest(kind: &str, namespace: &str) -> Manifest {
        Manifest::read(&json!({
            "apiVersion": "v1", "kind": kind, "metadata": { "name": "a", "namespace": namespace },
        }))
        .unwrap()
    }

    #[test]
    fn a_manifest_finds_its_place_and_its_settings() {
        let option: ManifestConfigOption = serde_json::from_value(json!({
            "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": "shop", "name": "*" },
            "updateStrategy": { "type": "ServerSideApply", "serverSideApply": { "fieldManager": "work-agent-x" } },
        }))
        .unwrap();
        let target = resolve(&manifest("ConfigMap", "shop"), &[option], &kinds())
            .unwrap()
            .unwrap();
        assert_eq!(target.id.to_string(), "configmaps shop/a");
        assert_eq!(
            target.config.strategy,
            Strategy::Apply {
                manager: "work-agent-x".to_owned(),
                force: false,
                ignored: Vec::new(),
                finalizers_once: false,
            }
        );
    }

    #[test]
    fn each_setting_comes_from_the_first_option_that_has_it() {
        let option = |name: &str, mut option: serde_json::Value| -> ManifestConfigOption {
            option["resourceIdentifier"] =
                json!({ "group": "", "resource": "configmaps", "namespace": "shop", "name": name });
            serde_json::from_value(option).unwrap()
        };
        let feedback = |name: &str| json!({ "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": [{ "name": name, "path": ".data.k" }] }] });
        let options = [
            option("b", json!({ "updateStrategy": { "type": "ReadOnly" } })),
            option("a", feedback("first")),
            option(
                "*",
                json!({ "updateStrategy": { "type": "CreateOnly" }, "feedbackScrapeType": "Watch" }),
            ),
            option(
                "a",
                json!({ "updateStrategy": { "type": "ReadOnly" }, "feedbackScrapeType": "Poll" }),
            ),
            option("a", feedback("second")),
        ];
        let target = resolve(&manifest("ConfigMap", "shop"), &options, &kinds());
        let config = target.unwrap().unwrap().config;
        assert_eq!(config.strategy, Strategy::CreateOnly);
        assert_eq!(config.feedback[0].json_paths[0].name, "first");
        assert!(config.watched && config.rules.is_empty());
    }

    #[test]
    fn a_namespace_is_refused_where_it_is_missing_and_dropped_where_the_kind_has_none() {
        let Fault(why) = resolve(&manifest("ConfigMap", ""), &[], &kinds())
            .unwrap()
            .unwrap_err();
        assert!(
            why.contains("metadata.namespace") && why.contains("ConfigMap"),
            "{why}"
        );
        let target = resolve(&manifest("Namespace", "shop"), &[], &kinds())
            .unwrap()
            .unwrap();
        assert_eq!(target.id.to_string(), "namespaces a");
        assert!(target.manifest.body["metadata"].get("namespace").is_none());
    }

    #[test]
    fn a_kind_that_is_not_served_has_no_place() {
        assert!(resolve(&manifest("Widget", "shop"), &[], &kinds()).is_none());
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("web", "web", true),
            ("web", "web-1", false),
            ("*", "", true),
            ("web-*", "web-1", true),
            ("*-a-*", "x-a-b", true),
            ("a*a", "a", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
