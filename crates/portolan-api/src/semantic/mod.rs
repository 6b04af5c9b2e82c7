//! What a definition cannot say about one object: that two of its fields agree, that a text is a duration, that a
//! label is a number.
//!
//! A finding is an error when the object cannot do what it says, and a warning when it can but hardly means to. What
//! only the engine can judge is not looked at: selector operators, built-in score names, prioritizer modes, CEL and
//! group sizes are accepted here and become `Misconfigured` verdicts there.

mod cluster;
mod comparing;
mod completion;
mod multicluster;
mod options;
mod well_known;
mod work;

use std::fmt;

use serde_json::Value;

pub use comparing::incomparable_options;
pub use completion::is_complete;
pub use options::{
    ManifestOption, ManifestPlace, UnruledWorkload, options_without_effect, workloads_without_rule,
};
pub use work::errors_in_work;

use crate::field::FieldError;
use crate::structural;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The object works, but hardly as meant.
    Warning,
    /// The object cannot do what it says.
    Error,
}

/// The rule a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A binding is named like its cluster set.
    BindingName,
    /// A cluster is named so that a namespace can have its name.
    ClusterName,
    /// A cluster is reached over https.
    ClientUrl,
    /// A cluster set has a selector when it goes by selector, and none otherwise.
    SetSelector,
    /// A text is a duration.
    Duration,
    /// A label is a decimal number in its range.
    DecimalLabel,
    /// A label says what the object says.
    LabelAgreement,
    /// A cluster is listed once.
    DuplicateCluster,
    /// A reference points at a ClusterProfile.
    ReferenceKind,
    /// A work has objects, and they fit.
    Workload,
    /// Objects of a work have names.
    ManifestName,
    /// An object of a work is of a version that its kind has, and in a namespace if its kind is.
    ManifestKind,
    /// The settings of a rollout are those of its type.
    RolloutSettings,
    /// Each object is in a work once.
    ManifestRepeated,
    /// A condition rule written in CEL names its condition, and every rule gives one.
    ConditionRule,
    /// An option of a work means one of its manifests.
    ManifestOption,
    /// A workload that is rolled out in steps has a rule for its success.
    SuccessRule,
    /// The executor of a work names a service account.
    Executor,
    /// An address of a cluster or proxy can be used.
    AccessUrl,
}

/// One thing found in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// How much it weighs.
    pub severity: Severity,
    /// The field, its value, and what would be accepted.
    pub error: FieldError,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: {}", self.error)
    }
}

/// Everything found in an object. Objects of kinds that are not ours have no findings, and neither have fields of the
/// wrong type: those are for [`structural::validate`].
pub fn findings(object: &Value) -> Vec<Finding> {
    found(object, Severity::Warning)
}

/// Only the errors among the findings, for callers that accept or refuse. Warnings are not looked for: a work of many
/// options takes longer to warn about than to refuse.
pub fn errors(object: &Value) -> Vec<FieldError> {
    let errors = found(object, Severity::Error).into_iter();
    errors.map(|finding| finding.error).collect()
}

fn found(object: &Value, least: Severity) -> Vec<Finding> {
    let Ok(kind) = structural::kind_of(object) else {
        return Vec::new();
    };
    let mut findings = Findings {
        found: Vec::new(),
        least,
    };
    match (kind.group.as_str(), kind.kind.as_str()) {
        (crate::cluster::GROUP, "Placement") => cluster::placement(object, &mut findings),
        (crate::cluster::GROUP, "PlacementDecision") => cluster::decision(object, &mut findings),
        (crate::cluster::GROUP, "ManagedCluster") => cluster::managed_cluster(object, &mut findings),
        (crate::cluster::GROUP, "ManagedClusterSet") => cluster::cluster_set(object, &mut findings),
        (crate::cluster::GROUP, "ManagedClusterSetBinding") => cluster::binding(object, &mut findings),
        (crate::multicluster::GROUP, "PlacementDecision") => multicluster::decision(object, &mut findings),
        (crate::multicluster::GROUP, "ClusterProfile") => multicluster::profile(object, &mut findings),
        (crate::work::GROUP, "ManifestWork") => work::manifest_work(object, &mut findings),
        (crate::work::GROUP, "ManifestWorkReplicaSet") => work::replica_set(object, &mut findings),
        _ => {}
    }
    findings.found.truncate(structural::MAX_ERRORS);
    findings.found
}

struct Findings {
    found: Vec<Finding>,
    /// What weighs less is not looked for.
    least: Severity,
}

impl Findings {
    fn push(&mut self, rule: Rule, severity: Severity, error: FieldError) {
        if severity >= self.least {
            self.found.push(Finding {
                rule,
                severity,
                error,
            });
        }
    }

    fn error(&mut self, rule: Rule, error: FieldError) {
        self.push(rule, Severity::Error, error);
    }

    fn warning(&mut self, rule: Rule, error: FieldError) {
        self.push(rule, Severity::Warning, error);
    }

    /// Whether warnings are looked for.
    fn takes_warnings(&self) -> bool {
        self.least <= Severity::Warning
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get("metadata")?.get("labels")?.get(key)
}

fn label_path(key: &str) -> String {
    format!("metadata.labels[{key:?}]")
}

/// The number in a label that has to be plain decimal: digits without sign and without leading zeros.
fn decimal_label(object: &Value, key: &str, findings: &mut Findings) -> Option<u64> {
    let value = label(object, key)?;
    let digits = value.as_str().unwrap_or_default();
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let number = if plain { digits.parse().ok() } else { None };
    if number.is_none() {
        let error = FieldError::new(
            label_path(key),
            value,
            "not a decimal number",
            "a string of digits without leading zeros, such as \"0\" or \"12\"",
        );
        findings.error(Rule::DecimalLabel, error);
    }
    number
}
