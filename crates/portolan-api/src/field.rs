//! One problem in one field, with what would be accepted instead.

use std::fmt;

use serde_json::{Number, Value};

use crate::count::counted;

/// How many characters of a value or of a path segment an error repeats.
const PREVIEW: usize = 64;

/// In place of a value that is not there.
const MISSING: &str = "(missing)";
/// What is wrong with a value that is not there.
const REQUIRED: &str = "the field is required";

/// A field with a value that cannot be accepted. All texts are short, whatever the size of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct FieldError {
    /// Where, as in `spec.tolerations[1].effect`.
    pub path: String,
    /// The offending value, shortened; `(missing)` when there is none.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be accepted.
    pub accepted: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            value,
            problem,
            accepted,
        } = self;
        write!(
            f,
            "cannot accept {path} = {value}: {problem}; accepted: {accepted}"
        )
    }
}

impl std::error::Error for FieldError {}

impl FieldError {
    /// An error about a value that is there.
    pub fn new(
        path: impl ToString,
        value: &Value,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_string(),
            value: preview(value),
            problem: problem.into(),
            accepted: accepted.into(),
        }
    }

    /// An error about a text that is there.
    pub fn of_text(
        path: impl ToString,
        text: &str,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_string(),
            value: quoted(text),
            problem: problem.into(),
            accepted: accepted.into(),
        }
    }

    /// The same as a statement about what is there, for conditions: `spec.prioritizerPolicy.mode is "Exakt"; use Additive
    /// or Exact`. Problem and accepted may be empty.
    pub fn statement(&self) -> String {
        let mut text = match self.value.as_str() {
            MISSING => format!("{} is missing", self.path),
            value => format!("{} is {value}", self.path),
        };
        if !self.problem.is_empty() && self.problem != REQUIRED {
            text.push_str(&format!(": {}", self.problem));
        }
        if !self.accepted.is_empty() {
            text.push_str(&format!("; use {}", self.accepted));
        }
        text
    }

    /// The error shows `true` where a manifest says `yes`: this says that YAML reads it so.
    pub fn with_word_about_booleans(mut self) -> Self {
        if self.problem == "not a string" && (self.value == "true" || self.value == "false") {
            self.problem.push_str(
                " (YAML reads true, false, yes, no, on, off, y and n without quotes as booleans; put it in quotes)",
            );
        }
        self
    }

    /// Whether the value is not there.
    pub fn is_missing(&self) -> bool {
        self.value == MISSING
    }

    /// An error about a value that is not there.
    pub fn missing(path: impl ToString, accepted: impl Into<String>) -> Self {
        Self {
            path: path.to_string(),
            value: MISSING.into(),
            problem: REQUIRED.into(),
            accepted: accepted.into(),
        }
    }
}

/// A value in at most about a hundred characters.
pub(crate) fn preview(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(items) => format!("a list with {}", counted(items.len() as u64, "entry")),
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(fields) => format!("an object with {}", counted(fields.len() as u64, "field")),
        Value::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

/// A number as a person writes it: a large one with all its digits instead of an exponent.
fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e30 => format!("{whole:.0}"),
        _ => number.to_string(),
    }
}

/// A text in quotes, cut with a note on its full size.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        None => format!("{text:?}"),
        Some((cut, _)) => format!("{:?}… ({} bytes)", &text[..cut], text.len()),
    }
}

/// A path that is built on the stack while walking and only rendered for an error.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Root,
    Field(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path {
        parent: None,
        segment: Segment::Root,
    };

    pub(crate) fn field<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            segment: Segment::Field(name),
        }
    }

    pub(crate) fn index<'b>(&'b self, position: usize) -> Path<'b> {
        Path {
            parent: Some(self),
            segment: Segment::Index(position),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else {
            return f.write_str("");
        };
        match self.segment {
            Segment::Root => Ok(()),
            Segment::Index(position) => write!(f, "{parent}[{position}]"),
            Segment::Field(name) if is_plain(name) => {
                let dot = if parent.parent.is_some() { "." } else { "" };
                write!(f, "{parent}{dot}{name}")
            }
            Segment::Field(name) => write!(f, "{parent}[{}]", quoted(name)),
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= PREVIEW
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_names_field_value_problem_and_what_is_accepted() {
        let error = FieldError::new(
            "spec.sortBy",
            &json!("Size"),
            "not an allowed value",
            "ClusterName, Score",
        );
        assert_eq!(
            error.to_string(),
            r#"cannot accept spec.sortBy = "Size": not an allowed value; accepted: ClusterName, Score"#
        );
    }

    #[test]
    fn a_statement_names_field_value_and_what_to_use() {
        let mode = FieldError::of_text("spec.mode", "Exakt", "", "Additive or Exact");
        assert_eq!(mode.statement(), r#"spec.mode is "Exakt"; use Additive or Exact"#);
        let missing = FieldError::missing("spec.name", "a name");
        assert_eq!(missing.statement(), "spec.name is missing; use a name");
        let failing = FieldError::of_text("spec.cel", "1/0", "it fails", "");
        assert_eq!(failing.statement(), r#"spec.cel is "1/0": it fails"#);
    }

    #[test]
    fn paths_read_like_the_manifest() {
        let spec = Path::ROOT.field("spec");
        let list = spec.field("tolerations");
        let entry = list.index(1);
        assert_eq!(entry.field("effect").to_string(), "spec.tolerations[1].effect");
        let labels = Path::ROOT.field("metadata");
        let labels = labels.field("labels");
        assert_eq!(labels.field("a.b/c").to_string(), r#"metadata.labels["a.b/c"]"#);
    }

    #[test]
    fn one_is_told_in_the_singular_and_a_large_number_with_its_digits() {
        assert_eq!(preview(&json!({"a": 1})), "an object with 1 field");
        assert_eq!(preview(&json!({})), "an empty object");
        assert_eq!(counted(1, "entry"), "1 entry");
        assert_eq!(counted(2, "entry"), "2 entries");
        assert_eq!(preview(&json!(1e20)), "100000000000000000000");
        assert_eq!(preview(&json!(1.5)), "1.5");
    }

    #[test]
    fn a_huge_value_gives_a_short_error() {
        let error = FieldError::new("spec", &json!("x".repeat(10 << 20)), "too long", "less");
        assert!(error.to_string().len() < 250);
    }
}
