//! Which kind an object is of: lists taken apart, other people's kinds put aside, references on the command line.

use portolan_api::structural::{self, Kind};
use portolan_api::{FieldError, cluster, multicluster, spelling, work};
use serde_json::Value;

use super::finding::Severity;
use super::place::Place;
use super::problem::{Notes, Problem, Problems};

/// The API groups whose kinds we know, all of them.
const GROUPS: [&str; 3] = [cluster::GROUP, multicluster::GROUP, work::GROUP];

/// The objects in a value: itself, or the items of a list. Other people's kinds are left out with a note.
pub(super) fn take_lists_apart(
    place: Place,
    value: Value,
    notes: &mut Notes,
    problems: &mut Problems,
) -> Vec<(Place, Value)> {
    let mut objects = Vec::new();
    let mut open = vec![(place, value)];
    while let Some((place, mut value)) = open.pop() {
        let (api_version, kind) = match envelope(&value) {
            Ok(envelope) => envelope,
            Err(error) => {
                problems.push(Problem::of_field(&place, "", &error));
                continue;
            }
        };
        match list_of(&api_version, &kind) {
            Some(item) => match items(&mut value) {
                Ok(items) => {
                    let items = items.into_iter().enumerate();
                    let items =
                        items.map(|(position, value)| (place.item(position), fill_in(value, item.as_ref())));
                    // The last one is taken first.
                    open.extend(items.collect::<Vec<_>>().into_iter().rev());
                }
                Err(error) => problems.push(Problem::of_field(&place, &kind, &error)),
            },
            None if is_ours(&api_version) => objects.push((place, value)),
            None => ignore(&place, &api_version, &kind, &value, notes),
        }
    }
    objects
}

/// The kind that OCM had before Placement.
const PLACEMENT_RULE: (&str, &str) = ("apps.open-cluster-management.io", "PlacementRule");

/// Other people's objects are none of our business; one whose group is misspelled, or whose kind is ours, is most likely
/// ours.
fn ignore(place: &Place, api_version: &str, kind: &str, value: &Value, notes: &mut Notes) {
    if (api_version, kind) == ("v1", "Namespace")
        && let Some(name) = value.pointer("/metadata/name").and_then(Value::as_str)
    {
        notes.add_namespace(name);
    }
    let ignored =
        format!("ignored: {kind} of {api_version} plays no part in a placement, and is not checked");
    let group = api_version.split('/').next().unwrap_or_default();
    if (group, kind) == PLACEMENT_RULE {
        let error = FieldError::of_text(
            "kind",
            kind,
            "an older API of Open Cluster Management that no scheduler reads any more; the object is ignored",
            meant_by_kind("v1", "Placement")
                .map_or_else(String::new, |version| format!("Placement of {version}")),
        );
        let message = format!("{ignored}; use {}", error.accepted);
        let subject = subject_of(kind, value);
        return notes.add_field(place, subject.trim_end(), Severity::Warning, &error, message);
    }
    let by_group = spelling::did_you_mean(group, GROUPS).map(str::to_owned);
    let is_group = by_group.is_some();
    let Some(meant) = by_group.or_else(|| meant_by_kind(api_version, kind)) else {
        return notes.add(place, ignored);
    };
    let subject = subject_of(kind, value);
    let error = FieldError::of_text(
        "apiVersion",
        api_version,
        format!("no kind of ours is in this group, and the object is ignored; did you mean {meant}?"),
        match is_group {
            true => format!("a version of {meant}"),
            false => meant.clone(),
        },
    );
    let subject = subject.trim_end();
    let message = format!("{subject}: {ignored}; did you mean {meant}?");
    // Groups of others may be spelled like ours, but hardly with a kind of ours in them.
    let is_our_kind = structural::kinds().iter().any(|ours| ours.kind == kind);
    let severity = match is_group && is_our_kind {
        true => Severity::Error,
        false => Severity::Warning,
    };
    notes.add_field(place, subject, severity, &error, message);
}

/// Kind, namespace and name of an object.
fn subject_of(kind: &str, value: &Value) -> String {
    let name = value.pointer("/metadata/name").and_then(Value::as_str);
    let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str);
    let subject: Vec<String> = [namespace, name].into_iter().flatten().map(short).collect();
    format!("{} {}", short(kind), subject.join("/"))
}

/// The group and version of ours that has a kind of this name, or of one that is spelled like it.
fn meant_by_kind(api_version: &str, kind: &str) -> Option<String> {
    let ours = structural::kinds();
    let names = || ours.iter().map(|kind| kind.kind.as_str());
    let name = match names().any(|name| name == kind) {
        true => kind,
        // Groups of others may have kinds that are spelled like ours.
        false if api_version.contains('/') => return None,
        false => spelling::did_you_mean(kind, names())?,
    };
    let found = ours.iter().find(|kind| kind.kind == name)?;
    Some(match name == kind {
        true => found.api_version(),
        false => format!("{name} of {}", found.api_version()),
    })
}

/// The longest name that an object can have. A shorter limit would give one object two names in what is said about it.
pub(super) const LONGEST_NAME: usize = 253;

/// Names that nobody has checked may be of any length.
fn short(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

/// `apiVersion` and `kind` of a value.
fn envelope(value: &Value) -> Result<(String, String), FieldError> {
    if !value.is_object() {
        return Err(FieldError::new(
            "",
            value,
            "not an object",
            "an object with apiVersion, kind and metadata",
        ));
    }
    let text = |field: &str| match value.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        None | Some(Value::Null) => Err(FieldError::missing(
            field,
            "a string, as in every Kubernetes manifest",
        )),
        Some(other) => Err(FieldError::new(
            field,
            other,
            "not a name",
            "a string that is not empty",
        )),
    };
    Ok((text("apiVersion")?, text("kind")?))
}

fn is_ours(api_version: &str) -> bool {
    let group = api_version.split('/').next().unwrap_or_default();
    GROUPS.contains(&group)
}

/// What a list holds: `None` when it is no list, `Some(None)` when its items say for themselves.
fn list_of(api_version: &str, kind: &str) -> Option<Option<(String, String)>> {
    if api_version == "v1" && kind == "List" {
        return Some(None);
    }
    let item = kind.strip_suffix("List")?;
    structural::find(api_version, item)?;
    Some(Some((api_version.to_owned(), item.to_owned())))
}

fn items(list: &mut Value) -> Result<Vec<Value>, FieldError> {
    match list.get_mut("items").map(Value::take) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(FieldError::new(
            "items",
            &other,
            "not a list",
            "a list of objects",
        )),
    }
}

/// The items of a typed list may leave out what they are.
fn fill_in(mut value: Value, envelope: Option<&(String, String)>) -> Value {
    if let (Some((api_version, kind)), Some(fields)) = (envelope, value.as_object_mut()) {
        fields
            .entry("apiVersion")
            .or_insert_with(|| api_version.as_str().into());
        fields.entry("kind").or_insert_with(|| kind.as_str().into());
    }
    value
}

/// Our kind of an object, or why it is none. The names in the error are those of the group it says it is in.
pub(super) fn known(value: &Value) -> Result<&'static Kind, FieldError> {
    let error = match structural::kind_of(value) {
        Ok(kind) => return Ok(kind),
        Err(error) => error,
    };
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    let in_group = || structural::kinds().iter().filter(|kind| kind.group == group);
    if error.path != "kind" {
        let versions: Vec<String> = in_group()
            .filter(|kind| kind.kind == text("kind"))
            .map(Kind::api_version)
            .collect();
        let accepted = if versions.is_empty() {
            error.accepted.clone()
        } else {
            versions.join(", ")
        };
        return Err(FieldError { accepted, ..error });
    }
    let mut names: Vec<&str> = in_group().map(|kind| kind.kind.as_str()).collect();
    names.dedup();
    let accepted = match spelling::did_you_mean(text("kind"), names.iter().copied()) {
        Some(meant) => format!("{meant}, the right spelling"),
        None => names.join(", "),
    };
    Err(FieldError { accepted, ..error })
}

/// An object named on the command line: `KIND[/NS]/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The kinds it may be of. `PlacementDecision` is in two groups.
    pub(crate) kinds: Vec<(&'static str, &'static str)>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    text: String,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads `KIND[/NS]/NAME`. The kind may be singular, plural or short, in any case, with or without its group.
pub(crate) fn parse_reference(text: &str) -> Result<Reference, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (kind, namespace, name) = match parts.as_slice() {
        [kind, name] => (*kind, "", *name),
        [kind, namespace, name] => (*kind, *namespace, *name),
        _ => {
            return Err(format!(
                "{text:?} is not of the form KIND/NAME or KIND/NAMESPACE/NAME; accepted: such as managedcluster/{}",
                short(parts.last().filter(|name| !name.is_empty()).unwrap_or(&"NAME"))
            ));
        }
    };
    if name.is_empty() {
        return Err(format!(
            "{text:?} has no name; accepted: KIND/NAME or KIND/NAMESPACE/NAME"
        ));
    }
    let found = kinds_named(kind);
    let Some(first) = found.first() else {
        let mut names: Vec<&str> = structural::kinds()
            .iter()
            .map(|kind| kind.kind.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        return Err(format!(
            "{kind:?} is not one of our kinds; accepted: {}",
            names.join(", ")
        ));
    };
    if !first.namespaced && !namespace.is_empty() {
        return Err(format!(
            "a {} lives outside of namespaces; accepted: {kind}/{name}",
            first.kind
        ));
    }
    let namespace = if first.namespaced && namespace.is_empty() {
        "default"
    } else {
        namespace
    };
    let mut kinds: Vec<_> = found
        .iter()
        .map(|kind| (kind.group.as_str(), kind.kind.as_str()))
        .collect();
    kinds.dedup();
    Ok(Reference {
        kinds,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
    })
}

fn kinds_named(word: &str) -> Vec<&'static Kind> {
    let word = word.to_ascii_lowercase();
    let (name, group) = word.split_once('.').unwrap_or((&word, ""));
    let fits = |kind: &&Kind| {
        let mut short_names = kind.short_names.iter();
        (kind.kind.eq_ignore_ascii_case(name)
            || kind.plural == name
            || short_names.any(|short| short == name))
            && (group.is_empty() || kind.group == group)
    };
    structural::kinds().iter().filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn apart(value: Value) -> (Vec<String>, String, String) {
        let (mut notes, mut problems) = (Notes::default(), Problems::default());
        let objects = take_lists_apart(Place::document("f", 1), value, &mut notes, &mut problems);
        let names = objects
            .iter()
            .map(|(place, value)| format!("{place}: {}", value["kind"]))
            .collect();
        (names, notes.to_string(), problems.to_string())
    }

    const CLUSTER: &str = "cluster.open-cluster-management.io";

    #[test]
    fn items_of_a_typed_list_need_not_say_what_they_are() {
        let list = json!({ "apiVersion": format!("{CLUSTER}/v1"), "kind": "ManagedClusterList",
            "items": [{ "metadata": { "name": "a" } }, { "metadata": { "name": "b" } }] });
        let expected = [
            "f: document 1, items[0]: \"ManagedCluster\"",
            "f: document 1, items[1]: \"ManagedCluster\"",
        ];
        assert_eq!(apart(list).0, expected);
    }

    #[test]
    fn kinds_of_other_groups_are_ignored_with_a_note() {
        let (objects, notes, problems) = apart(json!({ "apiVersion": "apps/v1", "kind": "Deployment" }));
        assert_eq!((objects.len(), problems.as_str()), (0, ""));
        assert!(notes.contains("Deployment of apps/v1"), "{notes}");
    }

    #[test]
    fn a_group_that_is_misspelled_is_ignored_with_a_warning() {
        let (objects, notes, _) = apart(json!({
            "apiVersion": "cluster.open-cluster-managment.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "p", "namespace": "ns" },
        }));
        assert_eq!(objects.len(), 0);
        assert!(
            notes.contains("did you mean cluster.open-cluster-management.io?"),
            "{notes}"
        );
    }

    #[test]
    fn a_kind_of_ours_in_the_group_of_others_is_ignored_with_a_warning() {
        for (api_version, kind, meant) in [
            (
                "v1",
                "Placement",
                "did you mean cluster.open-cluster-management.io/v1beta1?",
            ),
            (
                "v1",
                "Placment",
                "did you mean Placement of cluster.open-cluster-management.io/v1beta1?",
            ),
            (
                "v1",
                "ManagedClusterset",
                "did you mean ManagedClusterSet of cluster",
            ),
        ] {
            let (objects, notes, _) = apart(json!({ "apiVersion": api_version, "kind": kind }));
            assert_eq!(objects.len(), 0);
            assert!(notes.contains(meant), "{notes}");
        }
        for kind in [
            "Deployment",
            "StatefulSet",
            "DaemonSet",
            "ReplicaSet",
            "Service",
            "Namespace",
            "ConfigMap",
            "Secret",
            "Job",
            "CronJob",
            "Pod",
            "Node",
            "Role",
            "RoleBinding",
            "ClusterRole",
            "ClusterRoleBinding",
            "Ingress",
            "Lease",
            "Event",
            "Workload",
            "Cluster",
            "ClusterSet",
            "Deployments",
            "Replacement",
            "ServiceAccount",
        ] {
            let (_, notes, _) = apart(json!({ "apiVersion": "example.com/v1", "kind": kind }));
            assert!(
                notes.contains("is not checked") && !notes.contains("did you mean"),
                "{notes}"
            );
        }
    }

    #[test]
    fn an_object_that_does_not_say_what_it_is_is_an_error() {
        for value in [
            json!({ "kind": "Placement" }),
            json!({ "apiVersion": "v1" }),
            json!([1]),
            json!("text"),
        ] {
            assert!(!apart(value).2.is_empty());
        }
    }

    #[test]
    fn an_unknown_kind_in_our_group_names_the_kinds_of_the_group() {
        let value = json!({ "apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Plaement" });
        assert!(known(&value).unwrap_err().accepted.starts_with("Placement,"));
        let value = json!({ "apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Zebra" });
        let accepted = known(&value).unwrap_err().accepted;
        assert!(
            accepted.contains("ManagedCluster") && !accepted.contains("ManifestWork"),
            "{accepted}"
        );
        let value = json!({ "apiVersion": format!("{CLUSTER}/v1"), "kind": "PlacementDecision" });
        assert_eq!(known(&value).unwrap_err().accepted, format!("{CLUSTER}/v1beta1"));
    }

    #[test]
    fn references_take_plural_short_and_grouped_kinds_in_any_case() {
        for text in [
            "mcl/c1",
            "ManagedClusters/c1",
            "managedcluster/c1",
            "MANAGEDCLUSTER/c1",
        ] {
            let reference = parse_reference(text).unwrap();
            assert_eq!(
                (reference.kinds, reference.name.as_str()),
                (vec![(CLUSTER, "ManagedCluster")], "c1")
            );
        }
        for short in ["mclsetbinding", "mclsetbindings"] {
            let binding = parse_reference(&format!("{short}/ns/global")).unwrap();
            assert_eq!(binding.kinds, [(CLUSTER, "ManagedClusterSetBinding")]);
        }
        assert_eq!(parse_reference("placement/web").unwrap().namespace, "default");
        assert_eq!(parse_reference("placementdecision/ns/d").unwrap().kinds.len(), 2);
        assert_eq!(
            parse_reference("placementdecisions.multicluster.x-k8s.io/ns/d")
                .unwrap()
                .kinds
                .len(),
            1
        );
        for text in ["c1", "mcl/", "zebra/x", "mcl/ns/c1", "a/b/c/d"] {
            assert!(parse_reference(text).is_err(), "{text}");
        }
    }
}
