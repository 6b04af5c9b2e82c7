//! Checks of ManifestWorks, ManifestWorkReplicaSets and Works that a schema cannot express.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::comparing::incomparable_options;
use super::{Findings, Rule, Severity, list, options, text, well_known};
use crate::duration::{self, DurationError};
use crate::field::FieldError;
use crate::structural::{CONDITION_TYPE, is_condition_type};
use crate::work::{
    MAX_MANIFESTS_BYTES, MAX_OPTIONS_BYTES, ManifestWorkSpec, RolloutType,
    without_effect as settings_without_effect,
};

pub(super) fn manifest_work(object: &Value, findings: &mut Findings) {
    let comparable = workload(object, "spec", findings);
    if comparable
        && findings.takes_warnings()
        && let Some(spec) = read(object, "/spec")
    {
        options::check(&spec, "spec", findings);
    }
}

pub(super) fn replica_set(object: &Value, findings: &mut Findings) {
    let comparable = workload(object, "spec.manifestWorkTemplate", findings);
    if comparable
        && findings.takes_warnings()
        && let Some(template) = read(object, "/spec/manifestWorkTemplate")
    {
        options::check(&template, "spec.manifestWorkTemplate", findings);
        let in_steps = |(_, reference): (usize, &Value)| {
            let r#type = text(reference, "/rolloutStrategy/type");
            matches!(r#type, Some("Progressive" | "ProgressivePerGroup"))
        };
        if list(object, "/spec/placementRefs").any(in_steps) {
            options::check_success(&template, "spec.manifestWorkTemplate", findings);
        }
    }
    for (position, reference) in list(object, "/spec/placementRefs") {
        if let Some(strategy) = reference.get("rolloutStrategy") {
            rollout(
                strategy,
                &format!("spec.placementRefs[{position}].rolloutStrategy"),
                findings,
            );
        }
    }
}

/// What cannot be read is not judged: the definition refuses it.
fn read(object: &Value, pointer: &str) -> Option<ManifestWorkSpec> {
    ManifestWorkSpec::deserialize(object.pointer(pointer)?).ok()
}

/// A rule written in CEL says which condition it sets, and every rule names one that a status can have.
fn condition_rules(object: &Value, spec: &str, findings: &mut Findings) {
    let pointer = format!("/{}/manifestConfigs", spec.replace('.', "/"));
    for (position, config) in list(object, &pointer) {
        for (rule_position, rule) in list(config, "/conditionRules") {
            let named = text(rule, "/condition").unwrap_or_default();
            let path =
                || format!("{spec}.manifestConfigs[{position}].conditionRules[{rule_position}].condition");
            if named.is_empty() {
                if text(rule, "/type") == Some("CEL") {
                    let error = FieldError::missing(path(), "the type of the condition that the rule sets");
                    findings.error(Rule::ConditionRule, error);
                }
            } else if !is_condition_type(named) {
                let problem = "no condition can have this type";
                let error = FieldError::of_text(path(), named, problem, CONDITION_TYPE);
                findings.error(Rule::ConditionRule, error);
            }
        }
    }
}

/// What is wrong with the objects of a `Work`. The kind itself accepts them, so that a work which is only stored is none
/// of anybody's business; whoever hands one out asks.
pub fn errors_in_work(object: &Value) -> Vec<FieldError> {
    let mut findings = Findings {
        found: Vec::new(),
        least: Severity::Error,
    };
    manifests(object, "spec", &mut findings);
    findings.found.into_iter().map(|finding| finding.error).collect()
}

/// Whether its options can be compared with its manifests.
fn workload(object: &Value, spec: &str, findings: &mut Findings) -> bool {
    condition_rules(object, spec, findings);
    executor(object, spec, findings);
    manifests(object, spec, findings);
    let Some(content) = object.pointer(&format!("/{}", spec.replace('.', "/"))) else {
        return true;
    };
    options_size(content, spec, findings);
    let error = incomparable_options(content, spec);
    let comparable = error.is_none();
    error
        .into_iter()
        .for_each(|error| findings.error(Rule::ManifestOption, error));
    comparable
}

/// An agent applies nothing in the name of an executor that is not whole. The definition accepts one.
fn executor(object: &Value, spec: &str, findings: &mut Findings) {
    let pointer = format!("/{}/executor", spec.replace('.', "/"));
    let Some(executor) = object.pointer(&pointer).filter(|executor| !executor.is_null()) else {
        return;
    };
    let is_there = |pointer: &str| executor.pointer(pointer).is_some_and(|value| !value.is_null());
    let missing = match (is_there("/subject"), is_there("/subject/serviceAccount")) {
        (false, _) => "subject",
        (true, false) => "subject.serviceAccount",
        (true, true) => return,
    };
    let error = FieldError::missing(
        format!("{spec}.executor.{missing}"),
        "namespace and name of a service account of the member cluster under subject.serviceAccount; without it no agent \
         applies the work",
    );
    findings.warning(Rule::Executor, error);
}

/// All that a spec has beside its manifests fits into one request as well.
fn options_size(spec: &Value, path: &str, findings: &mut Findings) {
    let fields = spec.as_object().into_iter().flatten();
    let mut size = Size(0);
    for (_, value) in fields.filter(|(name, _)| *name != "workload") {
        // Serialising into a counter cannot fail.
        let _ = serde_json::to_writer(&mut size, value);
    }
    if size.0 > MAX_OPTIONS_BYTES {
        let error = FieldError {
            path: path.to_owned(),
            value: "an object".to_owned(),
            problem: format!("{} bytes beside the manifests", size.0),
            accepted: format!("at most {MAX_OPTIONS_BYTES} bytes"),
        };
        findings.error(Rule::Workload, error);
    }
}

/// A work has objects, they fit into one request, and each has a name of its own.
fn manifests(object: &Value, spec: &str, findings: &mut Findings) {
    let path = format!("{spec}.workload.manifests");
    let pointer = format!("/{}", path.replace('.', "/"));
    let manifests = match object.pointer(&pointer) {
        Some(Value::Array(manifests)) if !manifests.is_empty() => manifests,
        Some(empty @ Value::Array(_)) => {
            let error = FieldError::new(&path, empty, "there is no object in it", "at least one object");
            return findings.error(Rule::Workload, error);
        }
        Some(other) if !other.is_null() => return,
        _ => return findings.error(Rule::Workload, FieldError::missing(&path, "at least one object")),
    };
    repeated(manifests, &path, findings);
    let mut size = Size(0);
    for (position, manifest) in manifests.iter().enumerate() {
        let name_path = || format!("{path}[{position}].metadata.name");
        match manifest.pointer("/metadata/name") {
            Some(Value::String(name)) if !name.is_empty() => {}
            None | Some(Value::Null | Value::String(_)) => {
                findings.error(Rule::ManifestName, FieldError::missing(name_path(), "a name"));
            }
            Some(other) => {
                let error = FieldError::new(name_path(), other, "not a string", "a name in quotes");
                findings.error(Rule::ManifestName, error.with_word_about_booleans());
            }
        }
        if let Some(prefix) = manifest
            .pointer("/metadata/generateName")
            .filter(|prefix| **prefix != "")
        {
            let path = format!("{path}[{position}].metadata.generateName");
            let error = FieldError::new(path, prefix, "the object would get a new name each time", "name");
            findings.error(Rule::ManifestName, error);
        }
        if findings.takes_warnings() {
            well_known::check(manifest, &format!("{path}[{position}]"), findings);
        }
        // Serialising into a counter cannot fail, and takes no memory however large the object is.
        let _ = serde_json::to_writer(&mut size, manifest);
    }
    if size.0 > MAX_MANIFESTS_BYTES {
        let error = FieldError {
            path,
            value: format!(
                "a list with {}",
                crate::count::counted(manifests.len() as u64, "entry")
            ),
            problem: format!("{} bytes of objects", size.0),
            accepted: format!("at most {MAX_MANIFESTS_BYTES} bytes"),
        };
        findings.error(Rule::Workload, error);
    }
}

/// Manifests of one object: an agent could only apply one of them. The version makes no difference.
fn repeated(manifests: &[Value], path: &str, findings: &mut Findings) {
    let mut first = HashMap::new();
    for (position, manifest) in manifests.iter().enumerate() {
        let part = |pointer: &str| text(manifest, pointer).unwrap_or_default();
        let group = part("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let [kind, namespace, name] = ["/kind", "/metadata/namespace", "/metadata/name"].map(part);
        if name.is_empty() {
            continue;
        }
        if let Some(first) = first.insert((group, kind, namespace, name), position) {
            let place = match namespace {
                "" => name.to_owned(),
                namespace => format!("{namespace}/{name}"),
            };
            let error = FieldError::of_text(
                format!("{path}[{position}]"),
                &format!("{kind} {place}"),
                format!("manifests[{first}] is the same object"),
                "each object once",
            );
            findings.error(Rule::ManifestRepeated, error);
        }
    }
}

struct Size(usize);

impl std::io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn rollout(strategy: &Value, path: &str, findings: &mut Findings) {
    let kind = match text(strategy, "/type").unwrap_or("All") {
        "Progressive" => RolloutType::Progressive,
        "ProgressivePerGroup" => RolloutType::ProgressivePerGroup,
        _ => RolloutType::All,
    };
    for of in [
        RolloutType::All,
        RolloutType::Progressive,
        RolloutType::ProgressivePerGroup,
    ] {
        let name = of.settings();
        let Some(settings) = strategy.get(name) else {
            continue;
        };
        if of != kind {
            let error = settings_without_effect(path, of, settings, kind);
            findings.warning(Rule::RolloutSettings, error);
        }
        let path = format!("{path}.{name}");
        if of == RolloutType::All && kind == RolloutType::All {
            without_effect(settings, &path, findings);
        }
        for (position, group) in list(settings, "/mandatoryDecisionGroups") {
            let is_set = |field: &str| {
                group
                    .get(field)
                    .is_some_and(|value| !value.is_null() && *value != "")
            };
            if group.is_object() && !is_set("groupName") && !is_set("groupIndex") {
                let path = format!("{path}.mandatoryDecisionGroups[{position}]");
                let problem = "it names no group, and stands for the group at position 0";
                let error = FieldError::new(path, group, problem, "groupName or groupIndex");
                findings.warning(Rule::RolloutSettings, error);
            }
        }
        for field in ["progressDeadline", "timeout"] {
            let parse = |text: &str| duration::parse_deadline(text).map(|_| ());
            let accepted = format!("{}, or None for no limit", duration::DURATION);
            check_duration(settings, &path, field, parse, &accepted, findings);
        }
        let parse = |text: &str| duration::parse(text).map(|_| ());
        check_duration(
            settings,
            &path,
            "minSuccessTime",
            parse,
            duration::DURATION,
            findings,
        );
    }
}

/// All starts every cluster at once: no failure and no wait comes before another cluster.
fn without_effect(settings: &Value, path: &str, findings: &mut Findings) {
    for field in ["maxFailures", "minSuccessTime"] {
        let Some(value) = settings.get(field) else {
            continue;
        };
        let digits = value
            .as_str()
            .map(|text| text.trim_end_matches(|c: char| !c.is_ascii_digit()));
        if value.is_null() || *value == 0 || digits.is_some_and(|digits| digits.chars().all(|c| c == '0')) {
            continue;
        }
        let problem = "it has no effect in a rollout of type All";
        let accepted = "type Progressive or ProgressivePerGroup, or leave it out";
        let error = FieldError::new(format!("{path}.{field}"), value, problem, accepted);
        findings.warning(Rule::RolloutSettings, error);
    }
}

fn check_duration(
    settings: &Value,
    path: &str,
    field: &str,
    parse: impl Fn(&str) -> Result<(), DurationError>,
    accepted: &str,
    findings: &mut Findings,
) {
    let Some(value) = settings.get(field) else { return };
    if let Some(Err(error)) = value.as_str().map(parse) {
        let error = FieldError::new(format!("{path}.{field}"), value, error.to_string(), accepted);
        findings.error(Rule::Duration, error);
    }
}
