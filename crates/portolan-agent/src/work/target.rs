//! From a manifest to a place on the member cluster, and what the work says about that place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use portolan_api::semantic::ManifestOption;
use portolan_api::work::{
    ConditionRule, FeedbackRule, FeedbackScrapeType, IgnoreField, ManifestConfigOption, ResourceIdentifier,
    UpdateStrategy, UpdateStrategyType,
};

use super::{InvalidManifest, Manifest};
use sha2::{Digest, Sha256};

/// The field manager of a work that names no other. The name is the API's default.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Knows nothing of an `apiVersion` any more.
    pub(crate) fn forget(&mut self, api_version: &str) {
        self.0.remove(api_version);
    }

    /// Whether these are known to be all kinds of an `apiVersion`.
    pub(crate) fn has(&self, api_version: &str, kinds: &BTreeMap<String, Resource>) -> bool {
        self.0.get(api_version) == Some(kinds)
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
    /// Shared, as all lists of a setting: one setting may be about every object of a work.
    pub(crate) feedback: Arc<[FeedbackRule]>,
    pub(crate) rules: Arc<[ConditionRule]>,
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
        ignored: Ignored,
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
            ignored: Ignored::default(),
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
                    ignored: Ignored::of(settings.ignore_fields),
                    finalizers_once: false,
                }
            }
        }
    }
}

/// Fields that are left as they are. Its text for debugging is short, and another one for other fields.
#[derive(Clone, PartialEq)]
pub(crate) struct Ignored {
    fields: Arc<[IgnoreField]>,
    digest: Arc<str>,
}

impl Default for Ignored {
    fn default() -> Ignored {
        Ignored::of(Vec::new())
    }
}

impl Ignored {
    fn of(fields: Vec<IgnoreField>) -> Ignored {
        let digest = match fields.is_empty() {
            true => String::new(),
            false => Sha256::digest(format!("{fields:?}"))
                .iter()
                .take(10)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        };
        Ignored {
            fields: fields.into(),
            digest: digest.into(),
        }
    }

    pub(crate) fn fields(&self) -> &[IgnoreField] {
        &self.fields
    }
}

impl fmt::Debug for Ignored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Ignored({})", self.digest)
    }
}

/// What a work says about some of its objects.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    identifier: ResourceIdentifier,
    strategy: Option<Strategy>,
    feedback: Arc<[FeedbackRule]>,
    rules: Arc<[ConditionRule]>,
    scraped: Option<FeedbackScrapeType>,
}

impl Setting {
    /// What may have no effect.
    pub(crate) fn option(&self) -> ManifestOption<'_> {
        ManifestOption {
            identifier: &self.identifier,
            feedback_rules: &self.feedback,
            condition_rules: &self.rules,
        }
    }
}

impl From<ManifestConfigOption> for Setting {
    fn from(option: ManifestConfigOption) -> Setting {
        Setting {
            strategy: option.update_strategy.as_ref().map(Strategy::of),
            identifier: option.resource_identifier,
            feedback: option.feedback_rules.into(),
            rules: option.condition_rules.into(),
            scraped: option.feedback_scrape_type,
        }
    }
}

/// The place of a manifest and the settings for it. `None` while the member cluster serves no such kind.
pub(crate) fn resolve(
    manifest: &Manifest,
    settings: &[Setting],
    kinds: &Kinds,
) -> Option<Result<Target, InvalidManifest>> {
    let id = match place(manifest, kinds)? {
        Ok(id) => id,
        Err(fault) => return Some(Err(fault)),
    };
    let mut manifest = manifest.clone();
    if id.namespace.is_empty() {
        // Charts give a namespace to everything.
        manifest.drop_namespace();
    }
    Some(Ok(Target {
        config: config(&id, settings),
        id,
        version: manifest.version.clone(),
        kind: manifest.kind.clone(),
        manifest,
    }))
}

/// The place of a manifest alone. `None` while the member cluster serves no such kind.
pub(crate) fn place(manifest: &Manifest, kinds: &Kinds) -> Option<Result<ObjectId, InvalidManifest>> {
    let resource = kinds.find(manifest)?;
    if resource.namespaced && manifest.namespace.is_empty() {
        return Some(Err(InvalidManifest(format!(
            "the manifest has no metadata.namespace, and a {} lives in one; accepted: the name of a namespace",
            manifest.kind
        ))));
    }
    Some(Ok(ObjectId {
        group: manifest.group.clone(),
        resource: resource.plural.clone(),
        namespace: match resource.namespaced {
            true => manifest.namespace.clone(),
            false => String::new(),
        },
        name: manifest.name.clone(),
    }))
}

/// How an object is brought up to date.
pub(crate) fn strategy(id: &ObjectId, settings: &[Setting]) -> Strategy {
    config(id, settings).strategy
}

/// Of all settings that name the object, the first that says something about a part counts for this part.
fn config(id: &ObjectId, settings: &[Setting]) -> Config {
    let (mut strategy, mut feedback, mut rules, mut scraped) = (None, None, None, None);
    for setting in settings {
        let says = (strategy.is_none() && setting.strategy.is_some())
            || (feedback.is_none() && !setting.feedback.is_empty())
            || (rules.is_none() && !setting.rules.is_empty())
            || (scraped.is_none() && setting.scraped.is_some());
        if !says || !id.is_meant_by(&setting.identifier) {
            continue;
        }
        strategy = strategy.or(setting.strategy.as_ref());
        feedback = feedback.or(Some(&setting.feedback).filter(|rules| !rules.is_empty()));
        rules = rules.or(Some(&setting.rules).filter(|rules| !rules.is_empty()));
        scraped = scraped.or(setting.scraped);
    }
    Config {
        strategy: strategy.cloned().unwrap_or_default(),
        feedback: feedback.cloned().unwrap_or_default(),
        rules: rules.cloned().unwrap_or_default(),
        watched: scraped == Some(FeedbackScrapeType::Watch),
    }
}

impl ObjectId {
    /// Whether the identifier names this object. Name and namespace may have `*` in them.
    pub(crate) fn is_meant_by(&self, identifier: &ResourceIdentifier) -> bool {
        identifier.names(&self.group, &self.resource, &self.namespace, &self.name)
    }
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
        let target = resolve(&manifest("ConfigMap", "shop"), &[option.into()], &kinds())
            .unwrap()
            .unwrap();
        assert_eq!(target.id.to_string(), "configmaps shop/a");
        assert_eq!(
            target.config.strategy,
            Strategy::Apply {
                manager: "work-agent-x".to_owned(),
                force: false,
                ignored: Ignored::default(),
                finalizers_once: false,
            }
        );
    }

    #[test]
    fn each_setting_comes_from_the_first_option_that_has_it() {
        let option = |name: &str, mut option: serde_json::Value| -> Setting {
            option["resourceIdentifier"] =
                json!({ "group": "", "resource": "configmaps", "namespace": "shop", "name": name });
            let option: ManifestConfigOption = serde_json::from_value(option).unwrap();
            option.into()
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
        let InvalidManifest(why) = resolve(&manifest("ConfigMap", ""), &[], &kinds())
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
}
