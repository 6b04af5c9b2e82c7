//! What is wrong with the input, and what is merely worth knowing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use portolan_api::FieldError;
use portolan_api::count::counted;

use super::finding::{Finding, Severity};
use super::place::Place;

/// How many problems are listed one by one, and how many are kept for programs.
const LISTED_PROBLEMS: usize = 20;
const KEPT_PROBLEMS: usize = 1000;
/// How many notes are listed one by one.
const LISTED_NOTES: usize = 10;
/// How much of a message of others is repeated. Ours are short by construction.
const MAX_MESSAGE: usize = 300;
/// How much is repeated of a message about a field, which may hold an option to paste.
const MAX_FIELD: usize = 1000;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    text: String,
    /// The same for programs. A source that cannot be read has none: nothing was found in it.
    finding: Option<Box<Finding>>,
}

impl Problem {
    /// Something about a whole source, such as a file that cannot be read.
    pub(super) fn of_source(source: &str, what: impl fmt::Display) -> Problem {
        Problem {
            text: format!("{source}: {}", bounded(&what.to_string())),
            finding: None,
        }
    }

    /// Something about the bytes of a source that was read: a finding about the file, as one about a document is.
    pub(super) fn of_content(source: &str, what: impl fmt::Display) -> Problem {
        let what = bounded(&what.to_string());
        let finding = Finding {
            file: source.to_owned(),
            ..Finding::new(Severity::Error, None, "", &what)
        };
        Problem {
            text: format!("{source}: {what}"),
            finding: Some(Box::new(finding)),
        }
    }

    /// Something about a document that could not be read at all.
    pub(super) fn of_document(place: &Place, what: impl fmt::Display) -> Problem {
        let what = bounded(&what.to_string());
        Problem {
            text: format!("{place}: {what}"),
            finding: Some(Box::new(Finding::new(Severity::Error, Some(place), "", &what))),
        }
    }

    /// Something about one field. `subject` names the object as far as it is known.
    pub(super) fn of_field(place: &Place, subject: &str, error: &FieldError) -> Problem {
        let mut error = error.clone();
        let document = place.of_document();
        error.path = place.path(&error.path);
        if error.path.is_empty() {
            error.path = "the document".to_owned();
        }
        let finding = Finding::of_field(Severity::Error, place, subject, &error);
        let subject = if subject.is_empty() {
            String::new()
        } else {
            format!("{subject}: ")
        };
        Problem {
            // The name of an object may have what a terminal would obey.
            text: format!("{document}: {subject}{error}").replace(char::is_control, " "),
            finding: Some(Box::new(finding)),
        }
    }

    /// Something about the command line.
    pub(crate) fn of_arguments(what: impl fmt::Display) -> Problem {
        Problem {
            text: bounded(&what.to_string()),
            finding: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Everything that is wrong, in the order in which it was read. Only the first ones are kept word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    listed: Vec<Problem>,
    more: usize,
}

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        if self.listed.len() < KEPT_PROBLEMS {
            self.listed.push(problem);
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The object that the problems are about and the first problem with it, where an object could be told.
    pub(super) fn of_object(&self) -> Option<(&str, String)> {
        let finding = self.listed.first()?.finding.as_deref()?;
        let words = [&finding.field, &finding.problem].map(String::as_str);
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        (!finding.object.is_empty()).then(|| (finding.object.as_str(), words.join(": ")))
    }

    /// What is listed, one by one.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.listed.iter()
    }

    /// The problems for programs. `None` when one of them is about something that could not be read at all.
    pub(crate) fn findings(&self) -> Option<Vec<Finding>> {
        self.listed
            .iter()
            .map(|problem| problem.finding.as_deref().cloned())
            .collect()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems {
            listed: vec![problem],
            more: 0,
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in self.listed.iter().take(LISTED_PROBLEMS) {
            writeln!(f, "error: {problem}")?;
        }
        match self.listed.len().saturating_sub(LISTED_PROBLEMS) + self.more {
            0 => Ok(()),
            more => writeln!(f, "error: and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Remarks for standard error. Equal ones are counted instead of repeated.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// By message, in the order of the messages.
    notes: BTreeMap<String, Note>,
    /// Objects of a hub that cannot be read, by kind, namespace and name.
    unreadable: BTreeMap<String, Unreadable>,
    /// Namespaces that the files make.
    namespaces: BTreeSet<String>,
}

/// A remark at its first place.
#[derive(Clone, Debug)]
struct Note {
    place: String,
    /// How many places have it.
    count: usize,
    finding: Finding,
}

/// Why an object of a hub cannot be read.
#[derive(Clone, Debug)]
struct Unreadable {
    why: String,
    /// Every mistake in it, with its field.
    findings: Vec<Finding>,
}

impl Notes {
    /// Remembers a remark about a place.
    pub(super) fn add(&mut self, place: &Place, message: impl fmt::Display) {
        let message = bounded(&message.to_string());
        let finding = Finding::new(Severity::Info, Some(place), "", &message);
        self.insert(place.to_string(), message, finding);
    }

    /// The files have the manifest of a namespace.
    pub(super) fn add_namespace(&mut self, name: &str) {
        self.namespaces.insert(name.to_owned());
    }

    /// Whether the files have the manifest of this namespace.
    pub(crate) fn makes_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }

    /// Remembers a remark about a field that is most likely not what is meant, or refused elsewhere.
    pub(super) fn add_field(
        &mut self,
        place: &Place,
        subject: &str,
        severity: Severity,
        error: &FieldError,
        message: impl fmt::Display,
    ) {
        let finding = Finding::of_field(severity, place, subject, error);
        self.insert(
            place.to_string(),
            bounded_to(MAX_FIELD, &message.to_string()),
            finding,
        );
    }

    /// Remembers a field that no definition has: left out here, and refused by kubectl.
    pub(super) fn add_unknown(
        &mut self,
        place: &Place,
        subject: &str,
        error: &FieldError,
        message: impl fmt::Display,
    ) {
        let finding = Finding::of_field(Severity::Error, place, subject, error);
        self.insert(place.to_string(), bounded(&message.to_string()), finding);
    }

    /// Remembers a file without an object.
    pub(super) fn add_empty(&mut self, source: &str) {
        let message = format!("{source}: there is no object in it");
        let finding = Finding {
            file: source.to_owned(),
            ..Finding::new(Severity::Warning, None, "", "there is no object in it")
        };
        self.insert(String::new(), message, finding);
    }

    /// Remembers an object of a hub that cannot be read: kind, namespace and name, why, and the mistakes in it.
    pub(crate) fn add_unreadable(&mut self, object: String, why: impl fmt::Display, findings: Vec<Finding>) {
        let why = bounded(&why.to_string());
        self.remark(left_out(&object, &why));
        self.unreadable.insert(object, Unreadable { why, findings });
    }

    /// Makes errors of the objects of a hub that cannot be read: where the hub itself is judged, they are no objects of others.
    pub(crate) fn refuse_unreadable(&mut self) {
        for (object, Unreadable { why, findings }) in std::mem::take(&mut self.unreadable) {
            self.notes.remove(&bounded(&left_out(&object, &why)));
            for finding in findings {
                let message = format!("{object}: {}: {}", finding.field, finding.problem);
                self.insert(String::new(), message, finding);
            }
        }
    }

    /// Forgets that an object of a hub cannot be read, because a manifest takes its place.
    pub(super) fn replace_unreadable(&mut self, object: &str) {
        if let Some(Unreadable { why, .. }) = self.unreadable.remove(object) {
            self.notes.remove(&bounded(&left_out(object, &why)));
        }
    }

    /// Why an object of the hub cannot be read: kind, namespace and name.
    pub(super) fn unreadable(&self) -> BTreeMap<String, String> {
        let objects = self.unreadable.iter();
        objects
            .map(|(object, unreadable)| (object.clone(), unreadable.why.clone()))
            .collect()
    }

    /// Remembers a remark about the whole input.
    pub(crate) fn remark(&mut self, message: impl fmt::Display) {
        self.without_object(Severity::Info, &message);
    }

    /// The same of what most likely is not meant.
    pub(crate) fn warn(&mut self, message: impl fmt::Display) {
        self.without_object(Severity::Warning, &message);
    }

    fn without_object(&mut self, severity: Severity, message: &dyn fmt::Display) {
        let message = bounded(&message.to_string());
        let finding = Finding::new(severity, None, "", &message);
        self.insert(String::new(), message, finding);
    }

    fn insert(&mut self, place: String, message: String, finding: Finding) {
        let note = self.notes.entry(message).or_insert(Note {
            place,
            count: 0,
            finding,
        });
        note.count += 1;
    }

    /// Whether something that selects is left out, so that more is selected than is meant, or an object of ours as a whole.
    /// kubectl refuses both.
    pub(crate) fn loses_a_selection(&self) -> bool {
        let mut errors = self
            .notes
            .values()
            .map(|note| &note.finding)
            .filter(|finding| finding.severity == Severity::Error);
        errors.any(|error| {
            let field = error.field.as_str();
            field == "apiVersion" || field.starts_with("spec.predicates") || field.contains("Selector")
        })
    }

    /// The remarks for programs.
    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding> {
        self.notes.values().map(|note| note.finding.clone())
    }
}

impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (message, Note { place, count, .. }) in self.notes.iter().take(LISTED_NOTES) {
            let place = if place.is_empty() {
                String::new()
            } else {
                format!("{place}: ")
            };
            match count {
                1 => writeln!(f, "note: {place}{message}")?,
                more => writeln!(f, "note: {place}{message} (and {} more like it)", more - 1)?,
            }
        }
        match self.notes.len().saturating_sub(LISTED_NOTES) {
            0 => Ok(()),
            more => writeln!(f, "note: and {}", counted(more, "more note")),
        }
    }
}

fn left_out(object: &str, why: &str) -> String {
    format!("{object} cannot be read and is left out: {why}")
}

/// Cuts a text that may repeat input of any size, and takes from it what a terminal would obey.
pub(super) fn bounded(text: &str) -> String {
    bounded_to(MAX_MESSAGE, text)
}

fn bounded_to(most: usize, text: &str) -> String {
    let text = &text.replace(char::is_control, " ");
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_object_cannot_command_a_terminal() {
        let place = Place::document("evil.yaml", 1);
        let error = FieldError::of_text("metadata.name", "a", "not a name", "a name");
        let problem = Problem::of_field(&place, "ManagedCluster c1\u{1b}]0;x\u{7}", &error);
        assert!(!problem.to_string().contains(char::is_control), "{problem:?}");
    }

    #[test]
    fn only_the_first_problems_are_listed_and_the_rest_is_counted() {
        let mut problems = Problems::default();
        (0..25).for_each(|n| problems.push(Problem::of_arguments(n)));
        let text = problems.to_string();
        assert_eq!(text.lines().count(), 21);
        assert!(text.ends_with("error: and 5 more\n"), "{text}");
    }

    #[test]
    fn an_unreadable_object_of_the_hub_that_a_manifest_replaces_is_not_noted() {
        let placement = serde_json::json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "web", "namespace": "shop" }, "spec": { "numberOfClusters": "two" },
        });
        let mut notes = Notes::default();
        crate::input::read_live("https://hub", [placement], &mut notes);
        notes.replace_unreadable("Placement shop/api");
        assert_eq!(notes.findings().count(), 1, "{notes}");
        notes.replace_unreadable("Placement shop/web");
        assert_eq!(notes.findings().count(), 0, "{notes}");
    }

    #[test]
    fn an_unreadable_object_of_a_judged_hub_is_an_error_with_object_and_field() {
        let manifest =
            serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": true } });
        let set = serde_json::json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
            "metadata": { "name": "web", "namespace": "shop" },
            "spec": { "manifestWorkTemplate": { "workload": { "manifests": [manifest] } },
                      "placementRefs": [{ "name": "web" }] },
        });
        let mut notes = Notes::default();
        crate::input::read_live("https://hub", [set], &mut notes);
        let is_error = |found: &Finding| found.severity == Severity::Error;
        assert!(!notes.findings().any(|found| is_error(&found)), "{notes}");
        notes.refuse_unreadable();
        let found: Vec<Finding> = notes.findings().collect();
        assert!(
            matches!(found.as_slice(), [found] if is_error(found)),
            "{found:?}"
        );
        assert_eq!(found[0].object, "ManifestWorkReplicaSet shop/web");
        assert_eq!(
            found[0].field,
            "spec.manifestWorkTemplate.workload.manifests[0].metadata.name"
        );
        assert_eq!(found[0].value, "true");
        assert!(!found[0].accepted.is_empty(), "{found:?}");
    }

    #[test]
    fn equal_notes_are_counted() {
        let mut notes = Notes::default();
        for document in 1..=3 {
            notes.add(&Place::document("a.yaml", document), "ignored");
        }
        assert_eq!(
            notes.to_string(),
            "note: a.yaml: document 1: ignored (and 2 more like it)\n"
        );
    }

    #[test]
    fn a_field_inside_a_list_is_named_with_its_position() {
        let place = Place::document("a.yaml", 2).item(3);
        let error = FieldError::missing("spec", "an object");
        let text = Problem::of_field(&place, "Placement ns/p", &error).to_string();
        assert!(
            text.starts_with("a.yaml: document 2: Placement ns/p: cannot accept items[3].spec"),
            "{text}"
        );
    }
}
