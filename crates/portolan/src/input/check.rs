//! One object: checked against everything its kind says, then read into its type.

use portolan_api::semantic::{self, Rule, Severity};
use portolan_api::structural::Kind;
use portolan_api::{FieldError, spelling};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::manifests::{Key, Object};
use super::place::Place;
use super::problem::{Notes, Problem, Problems, bounded};
use super::{finding, kind, normal, rules, works, written};

/// The one text that the definition limits and the engine judges: on a hub whose definition accepts more, a bad one makes
/// the placement `Misconfigured`.
const GROUP_SIZE: &str = "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup";

/// Key and typed object of a value, unless something is wrong with it, which is then reported completely.
pub(super) fn object(
    place: &Place,
    mut value: Value,
    notes: &mut Notes,
    problems: &mut Problems,
) -> Option<(Key, Object)> {
    let kind = match kind::known(&value) {
        Ok(kind) => kind,
        Err(error) => {
            problems.push(Problem::of_field(place, "", &error));
            return None;
        }
    };
    normal::normalise(kind, &mut value);
    let stray = stray_namespace(kind, &mut value);
    let key = Key::of(kind, &value);
    let subject = key.to_string();
    if let Some(error) = stray {
        note(place, &subject, finding::Severity::Warning, &error, notes);
    }
    let mut errors = errors(kind, &value, place, &subject, notes);
    if errors.is_empty() {
        // Before defaults are filled in: people know what they wrote.
        errors = findings(&value, place, &subject, notes);
        kind.schema.apply_defaults(&mut value);
    }
    // A server has run the rules on what it has.
    if errors.is_empty() && !place.is_live() {
        errors = rules::violations(kind, &value);
    }
    if !errors.is_empty() {
        errors
            .iter()
            .for_each(|error| problems.push(Problem::of_field(place, &subject, error)));
        return None;
    }
    match typed(&key, value) {
        Ok(object) => Some((key, object)),
        Err(error) => {
            problems.push(Problem::of_field(place, &subject, &error));
            None
        }
    }
}

/// Takes away a namespace that objects of the kind cannot have. A server does the same, and kubectl says nothing.
fn stray_namespace(kind: &Kind, value: &mut Value) -> Option<FieldError> {
    let metadata = value.get_mut("metadata")?.as_object_mut()?;
    if kind.namespaced || !metadata.get("namespace")?.is_string() {
        return None;
    }
    let namespace = metadata.remove("namespace")?;
    let problem = "objects of this kind live outside of namespaces, so that this has no effect";
    (namespace != "").then(|| FieldError::new("metadata.namespace", &namespace, problem, "no namespace"))
}

/// What spelling and definition find wrong. Fields that nobody knows are noted: an API server drops them.
fn errors(kind: &Kind, value: &Value, place: &Place, subject: &str, notes: &mut Notes) -> Vec<FieldError> {
    // What a server has accepted is judged by what it does, not by what it looks like.
    let misspellings = if place.is_live() {
        Vec::new()
    } else {
        spelling::misspellings(&kind.kind, value)
    };
    let (spelling, operators): (Vec<_>, Vec<_>) = misspellings
        .into_iter()
        .partition(|error| !is_verdict_on_operator(error));
    for error in operators {
        let message = format!(
            "{subject}: {} = {}: did you mean {}?",
            error.path,
            error.value,
            meant(&error)
        );
        notes.add_field(place, subject, finding::Severity::Warning, &error, message);
    }
    for unknown in kind.schema.unknown_fields(value) {
        if spelling.iter().any(|error| error.path == unknown.path) {
            continue;
        }
        let meant = spelling::did_you_mean(&unknown.name, unknown.siblings.iter().map(String::as_str));
        // A field may stand one level too high.
        let meant = meant
            .map(str::to_owned)
            .or_else(|| kind.schema.place_of(&unknown.name));
        let error = FieldError {
            path: unknown.path.clone(),
            value: String::new(),
            problem: "there is no such field; kubectl refuses it, and a server drops it".to_owned(),
            accepted: meant.clone().unwrap_or_default(),
        };
        let meant = meant
            .map(|name| format!(", did you mean {name}?"))
            .unwrap_or_default();
        let message = format!("{subject}: ignored: {}{meant}", unknown.path);
        notes.add_unknown(place, subject, &error, message);
    }
    let structural = kind.validate(value).into_iter().filter(|error| {
        !is_left_to_the_engine(place, value, error)
            && !follows_from(error, &spelling)
            && !is_missing_owner_uid(error)
    });
    let structural = structural.map(FieldError::with_word_about_booleans);
    let mut errors: Vec<FieldError> = structural.map(written::corrected).collect();
    if key_is_generated(value) {
        errors.push(FieldError::missing(
            "metadata.name",
            "a name; generateName is for servers",
        ));
    }
    spelling.into_iter().chain(errors).collect()
}

/// A selector operator that cannot be evaluated is the engine's to report; only the spelling that a design document
/// taught people is an error here.
fn is_verdict_on_operator(error: &FieldError) -> bool {
    error.path.ends_with(".operator") && error.value != "\"Exist\""
}

fn meant(error: &FieldError) -> &str {
    error.accepted.split(',').next().unwrap_or_default()
}

fn is_left_to_the_engine(place: &Place, value: &Value, error: &FieldError) -> bool {
    place.is_live()
        && error.path == GROUP_SIZE
        && value
            .pointer("/spec/decisionStrategy/groupStrategy/clustersPerDecisionGroup")
            .is_some_and(Value::is_string)
}

/// Objects in files have owners that no server has given a uid yet. The decisions of a simulation are such objects.
fn is_missing_owner_uid(error: &FieldError) -> bool {
    error.path.starts_with("metadata.ownerReferences[") && error.path.ends_with("].uid")
}

/// Whether an error says nothing that a misspelling has not said: about the same field, or about a field that is
/// missing beside one.
fn follows_from(error: &FieldError, spelling: &[FieldError]) -> bool {
    let parent = |path: &str| {
        path.rfind('.')
            .map_or(String::new(), |dot| path[..dot].to_owned())
    };
    spelling.iter().any(|wrong| {
        wrong.path == error.path || (error.value == "(missing)" && parent(&wrong.path) == parent(&error.path))
    })
}

fn key_is_generated(value: &Value) -> bool {
    let metadata = value.get("metadata").and_then(Value::as_object);
    metadata.is_some_and(|metadata| !metadata.contains_key("name") && metadata.contains_key("generateName"))
}

/// What no definition can express. A manifest that a hub's definitions accept is accepted here, so most of it is
/// noted; what cannot be read at all is an error.
fn findings(value: &Value, place: &Place, subject: &str, notes: &mut Notes) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for finding in semantic::findings(value) {
        if finding.severity == Severity::Error && finding.rule == Rule::Duration && !place.is_live() {
            errors.push(finding.error);
        } else {
            note(place, subject, severity(&finding), &finding.error, notes);
        }
    }
    for error in works::mistakes(value) {
        note(place, subject, finding::Severity::Error, &error, notes);
    }
    errors
}

/// Works that cannot do what they say are refused by the hub or the agent, and replica sets by their controller.
pub(crate) fn severity(finding: &semantic::Finding) -> finding::Severity {
    let is_refused = [
        Rule::Workload,
        Rule::ManifestName,
        Rule::ManifestRepeated,
        Rule::ConditionRule,
    ];
    match finding.severity {
        _ if finding.rule == Rule::Executor => finding::Severity::Error,
        Severity::Error if is_refused.contains(&finding.rule) => finding::Severity::Error,
        _ => finding::Severity::Warning,
    }
}

fn note(place: &Place, subject: &str, severity: finding::Severity, error: &FieldError, notes: &mut Notes) {
    let FieldError {
        path,
        value,
        problem,
        accepted,
    } = error;
    let message = format!("{subject}: {path} = {value}: {problem}; better: {accepted}");
    notes.add_field(place, subject, severity, error, message);
}

fn typed(key: &Key, value: Value) -> Result<Object, FieldError> {
    use portolan_api::{cluster, multicluster, work};
    Ok(match (key.group, key.kind) {
        (cluster::GROUP, "Placement") => Object::Placement(read(value)?),
        (cluster::GROUP, "PlacementDecision") => Object::Decision(read(value)?),
        (cluster::GROUP, "ManagedCluster") => Object::Cluster(read(value)?),
        (cluster::GROUP, "ManagedClusterSet") => Object::ClusterSet(read(value)?),
        (cluster::GROUP, "ManagedClusterSetBinding") => Object::Binding(read(value)?),
        (cluster::GROUP, "AddOnPlacementScore") => Object::Score(read(value)?),
        (multicluster::GROUP, "PlacementDecision") => Object::Slice(read(value)?),
        (multicluster::GROUP, "ClusterProfile") => Object::Profile(read(value)?),
        (work::GROUP, "ManifestWorkReplicaSet") => Object::ReplicaSet(read(value)?),
        (work::GROUP, "ManifestWork") => Object::ManifestWork(read(value)?),
        (multicluster::GROUP, "Work") => Object::Work(read(value)?),
        _ => Object::Other,
    })
}

fn read<T: DeserializeOwned>(value: Value) -> Result<Box<T>, FieldError> {
    let read = serde_path_to_error::deserialize::<_, T>(&value);
    read.map(Box::new).map_err(|error| {
        let path = error.path().to_string();
        let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        let found = value.pointer(&pointer).unwrap_or(&Value::Null);
        FieldError::new(
            &path,
            found,
            bounded(&portolan_api::reading::in_words(&error.inner().to_string())),
            "a value of the right type",
        )
    })
}
