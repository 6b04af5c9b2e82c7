//! Options of a work that have no effect, and workloads that a rollout takes for successful as soon as they exist.
//!
//! The resource of a kind is known for the groups of Kubernetes itself. For other groups only their server has it, so that
//! every resource is taken as right that is not the kind itself.

use std::borrow::Cow;

use serde_json::Value;

use super::well_known::CLUSTER_SCOPED;
use super::{Findings, Rule};
use crate::field::FieldError;
use crate::labels::conditions::{APPLIED, COMPLETE, DEGRADED, PROGRESSING, WORK_AVAILABLE};
use crate::spelling::did_you_mean;
use crate::work::{
    ConditionRule, ConditionRuleType, DeleteOption, FeedbackRule, FeedbackType, ManifestConfigOption,
    ManifestWorkSpec, ResourceIdentifier, well_known_conditions,
};

/// The condition that the agent gives about values that it reads back.
const FEEDBACK_SYNCED: &str = "StatusFeedbackSynced";

/// A manifest and its place on a member cluster.
#[derive(Clone, Debug)]
pub struct ManifestPlace<'m> {
    /// Group of the kind.
    pub group: &'m str,
    /// The kind.
    pub kind: &'m str,
    /// The resource of the kind: its plural in lower case.
    pub resource: Cow<'m, str>,
    /// Empty for kinds without.
    pub namespace: &'m str,
    /// The name.
    pub name: &'m str,
    /// Whether the resource, and that there is a namespace, is known and not only likely.
    pub is_certain: bool,
}

type Place<'m> = ManifestPlace<'m>;

impl<'m> ManifestPlace<'m> {
    /// As far as it can be told without asking the member cluster.
    pub(super) fn of(manifest: &'m Value) -> Place<'m> {
        let text = |pointer: &str| {
            manifest
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let kind = text("/kind");
        let built_in = is_built_in(group);
        let has_namespace = !(built_in && CLUSTER_SCOPED.contains(&kind));
        Place {
            group,
            kind,
            resource: resource(kind).into(),
            namespace: if has_namespace {
                text("/metadata/namespace")
            } else {
                ""
            },
            name: text("/metadata/name"),
            is_certain: built_in,
        }
    }

    /// What an option has to say to mean this manifest.
    fn identifier(&self) -> ResourceIdentifier {
        ResourceIdentifier {
            group: self.group.to_owned(),
            resource: self.resource.to_string(),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
        }
    }

    /// Whether the identifier names it, or may.
    pub(super) fn is_meant_by(&self, identifier: &ResourceIdentifier) -> bool {
        let wanted = identifier.resource.as_str();
        let is_kind = wanted == self.kind || wanted == self.kind.to_lowercase();
        let resource = match self.is_certain || is_kind {
            true => &self.resource,
            false => wanted,
        };
        let names = |namespace: &str| identifier.names(self.group, resource, namespace, self.name);
        names(self.namespace) || !self.is_certain && names("")
    }

    /// How many parts of its identifier are as the other has them.
    fn likeness(&self, other: &ResourceIdentifier) -> usize {
        let own = self.identifier();
        let equal = [
            own.group == other.group,
            own.resource == other.resource,
            own.namespace == other.namespace,
            own.name == other.name,
        ];
        equal.into_iter().filter(|equal| *equal).count()
    }

    /// `Deployment default/web`.
    fn title(&self) -> String {
        match self.namespace {
            "" => format!("{} {}", self.kind, self.name),
            namespace => format!("{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// Whether a group is one of Kubernetes itself, whose resources are named after their kinds by one rule.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io")
}

/// The resource of a kind: its plural in lower case.
fn resource(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y') {
        _ if kind == "endpoints" => kind,
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// Warns of options that mean no manifest, and of rules that give nothing.
pub(super) fn check(spec: &ManifestWorkSpec, path: &str, findings: &mut Findings) {
    let delete_option = spec.delete_option.as_ref();
    let options: Vec<_> = spec.manifest_configs.iter().map(ManifestOption::from).collect();
    let found = options_without_effect(&options, delete_option, &places(spec), path);
    found
        .into_iter()
        .for_each(|error| findings.warning(Rule::ManifestOption, error));
}

/// What an option of a work says that may have no effect.
#[derive(Clone, Copy, Debug)]
pub struct ManifestOption<'a> {
    /// Which manifests are meant.
    pub identifier: &'a ResourceIdentifier,
    /// What is read back.
    pub feedback_rules: &'a [FeedbackRule],
    /// Conditions that follow from the object.
    pub condition_rules: &'a [ConditionRule],
}

impl<'a> From<&'a ManifestConfigOption> for ManifestOption<'a> {
    fn from(option: &'a ManifestConfigOption) -> Self {
        ManifestOption {
            identifier: &option.resource_identifier,
            feedback_rules: &option.feedback_rules,
            condition_rules: &option.condition_rules,
        }
    }
}

/// The options of a work that mean none of its manifests, and the rules that give nothing. `path` is where they stand.
pub fn options_without_effect(
    options: &[ManifestOption<'_>],
    delete_option: Option<&DeleteOption>,
    places: &[ManifestPlace<'_>],
    path: &str,
) -> Vec<FieldError> {
    let mut found = Vec::new();
    for (position, option) in options.iter().enumerate() {
        let path = format!("{path}.manifestConfigs[{position}]");
        let problem = "this names no manifest of the work, so that the option has no effect";
        let meant = meant(option.identifier, places);
        if meant.is_empty() {
            let path = format!("{path}.resourceIdentifier");
            found.push(unmatched(path, option.identifier, places, problem));
        } else {
            rules(option, &path, &meant, &mut found);
        }
    }
    let selectively = delete_option.and_then(|option| option.selectively_orphans.as_ref());
    let orphans = selectively.map(|orphans| orphans.orphaning_rules.as_slice());
    for (position, identifier) in orphans.unwrap_or_default().iter().enumerate() {
        if meant(identifier, places).is_empty() {
            let path = format!("{path}.deleteOption.selectivelyOrphans.orphaningRules[{position}]");
            let problem =
                "this names no manifest of the work, so that no object outlives the work by this rule";
            found.push(unmatched(path, identifier, places, problem));
        }
    }
    found
}

fn places(spec: &ManifestWorkSpec) -> Vec<Place<'_>> {
    spec.workload.manifests.iter().map(Place::of).collect()
}

fn meant<'p, 'm>(identifier: &ResourceIdentifier, places: &'p [Place<'m>]) -> Vec<&'p Place<'m>> {
    let places = places.iter();
    places.filter(|place| place.is_meant_by(identifier)).collect()
}

fn unmatched(path: String, found: &ResourceIdentifier, places: &[Place<'_>], problem: &str) -> FieldError {
    let closest = places.iter().rev().max_by_key(|place| place.likeness(found));
    let accepted = "group, resource (the plural), namespace and name of a manifest";
    FieldError {
        path,
        value: cut(found.to_string()),
        problem: problem.to_owned(),
        accepted: match closest {
            Some(place) => format!("{accepted}, such as {}", cut(place.identifier().to_string())),
            None => accepted.to_owned(),
        },
    }
}

/// Longer identifiers are cut: those of real objects are shorter.
const SHOWN: usize = 600;

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Rules that give no condition, and values of kinds without any.
fn rules(option: &ManifestOption<'_>, path: &str, meant: &[&Place<'_>], found: &mut Vec<FieldError>) {
    for (position, rule) in option.condition_rules.iter().enumerate() {
        let path = format!("{path}.conditionRules[{position}]");
        found.extend(rule_without_effect(rule, &path, meant));
    }
    let reads_nothing = |place: &&Place<'_>| well_known_conditions(place.group, place.kind).is_empty();
    for (position, rule) in option.feedback_rules.iter().enumerate() {
        if rule.r#type == FeedbackType::WellKnownStatus
            && let Some(place) = meant.first().filter(|_| meant.iter().all(reads_nothing))
        {
            found.push(FieldError::of_text(
                format!("{path}.feedbackRules[{position}].type"),
                "WellKnownStatus",
                format!(
                    "nothing is well known about the kind {}, so that nothing is read back",
                    place.kind
                ),
                "JSONPaths, with jsonPaths",
            ));
        }
    }
}

fn rule_without_effect(rule: &ConditionRule, path: &str, meant: &[&Place<'_>]) -> Option<FieldError> {
    let named = rule.named();
    let field = format!("{path}.condition");
    if let Some(named) = named.filter(|named| [APPLIED, FEEDBACK_SYNCED].contains(named)) {
        let problem = "the agent gives this condition itself, so that the rule has no effect";
        return Some(FieldError::of_text(
            field,
            named,
            problem,
            "any other type of condition",
        ));
    }
    if rule.r#type == ConditionRuleType::Cel {
        let read = [PROGRESSING, DEGRADED, WORK_AVAILABLE, COMPLETE];
        let named = named.filter(|named| !read.contains(named))?;
        let right = did_you_mean(named, read)?;
        let problem =
            format!("a condition of this type is written, but only {right} is read by rollouts and agents");
        return Some(FieldError::of_text(field, named, problem, right));
    }
    let first = meant.first()?;
    let known = |place: &&Place<'_>| well_known_conditions(place.group, place.kind);
    if meant.iter().all(|place| known(place).is_empty()) {
        let problem = format!(
            "nothing is well known about the kind {}, so that the rule has no effect",
            first.kind
        );
        let accepted = "CEL, with celExpressions";
        return Some(FieldError::of_text(
            format!("{path}.type"),
            "WellKnownConditions",
            problem,
            accepted,
        ));
    }
    let named = named.filter(|named| !meant.iter().any(|place| known(place).contains(named)))?;
    let kinds = meant.iter().find(|place| !known(place).is_empty())?;
    let problem = format!(
        "a rule of type WellKnownConditions gives no such condition for the kind {}, so that it has no effect",
        kinds.kind
    );
    let accepted = format!("{}, or \"\" for all of these", known(kinds).join(", "));
    Some(FieldError::of_text(field, named, problem, accepted))
}

/// The workloads of a template that no rule says the success of, each with the option that would: a rollout takes them for
/// successful as soon as they exist.
pub fn workloads_without_rule(spec: &ManifestWorkSpec) -> Vec<UnruledWorkload> {
    let places = places(spec);
    let workloads = places
        .iter()
        .enumerate()
        .filter(|(_, place)| well_known_conditions(place.group, place.kind).contains(&PROGRESSING));
    workloads
        .filter(|(_, place)| !has_success_rule(place, &spec.manifest_configs))
        .map(|(position, place)| UnruledWorkload {
            position,
            title: place.title(),
            option: success_option(place),
        })
        .collect()
}

/// A workload of a template without a rule for its success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnruledWorkload {
    /// Position in the list of manifests.
    pub position: usize,
    /// Kind, namespace and name.
    pub title: String,
    /// The entry of `manifestConfigs` that gives it a rule, as YAML in one line.
    pub option: String,
}

/// Of all options that mean an object, the first one with rules counts.
fn has_success_rule(place: &Place<'_>, options: &[ManifestConfigOption]) -> bool {
    let meant = options
        .iter()
        .filter(|option| place.is_meant_by(&option.resource_identifier));
    let rules = meant
        .map(|option| &option.condition_rules)
        .find(|rules| !rules.is_empty());
    rules.is_some_and(|rules| {
        rules.iter().any(|rule| {
            // What is well known of these kinds includes Progressing and does not include Available.
            rule.can_give(PROGRESSING, || true) || rule.can_give(WORK_AVAILABLE, || false)
        })
    })
}

/// `Complete` is left out for what runs once: with it the agent would never touch the object again.
fn success_option(place: &Place<'_>) -> String {
    let rules = match well_known_conditions(place.group, place.kind).contains(&COMPLETE) {
        true => [PROGRESSING, DEGRADED]
            .map(|condition| format!("{{type: WellKnownConditions, condition: {condition}}}"))
            .join(", "),
        false => "{type: WellKnownConditions, condition: \"\"}".to_owned(),
    };
    format!(
        "[{{resourceIdentifier: {}, conditionRules: [{rules}]}}]",
        cut(place.identifier().to_string())
    )
}

/// Warns of workloads that a rollout in steps takes for successful as soon as they exist.
pub(super) fn check_success(spec: &ManifestWorkSpec, path: &str, findings: &mut Findings) {
    for workload in workloads_without_rule(spec) {
        let error = FieldError {
            path: format!("{path}.workload.manifests[{}]", workload.position),
            value: cut(workload.title),
            problem: "the rollout goes on as soon as this object exists, whether it works or not: no condition rule says \
                      when it does"
                .to_owned(),
            accepted: format!("with a rule, in {path}.manifestConfigs: {}", workload.option),
        };
        findings.warning(Rule::SuccessRule, error);
    }
}
