//! From a text to its documents.
//!
//! A YAML text is cut at its `---` lines before it is parsed: the marker is one wherever it stands at the beginning
//! of a line. So a document that cannot be read does not hide what is wrong with the next one, and numbers are those
//! that a reader counts.

use std::fmt;

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::place::Place;
use super::problem::Problem;
use super::tree::{self, Budget};

/// How deep values may be nested. Manifests need about ten levels; the walkers recurse.
const MAX_DEPTH: usize = 64;

/// One document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// Every document of a text that is not empty.
pub(super) fn parse(name: &str, text: &str) -> Vec<Result<Document, Problem>> {
    if text.trim_start().starts_with(['{', '[']) {
        let (documents, complete) = parse_json(name, text);
        // What is not JSON may still be YAML in flow style, unless the file says what it is.
        if complete || name.ends_with(".json") {
            return documents;
        }
    }
    parse_yaml(name, text)
}

/// JSON values one after the other, up to the first that cannot be read.
fn parse_json(name: &str, text: &str) -> (Vec<Result<Document, Problem>>, bool) {
    let budget = Budget::for_text(text.len());
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut documents = Vec::new();
    while reader.end().is_err() {
        let place = Place::document(name, documents.len() + 1);
        match budget.read(&mut reader) {
            Ok(value) => documents.push(Ok(Document { place, value })),
            Err(error) => {
                documents.push(Err(Problem::of_document(
                    &place,
                    format!("cannot be read as JSON: {}", json_in_our_words(&error)),
                )));
                return (documents, false);
            }
        }
    }
    (documents, true)
}

fn parse_yaml(name: &str, text: &str) -> Vec<Result<Document, Problem>> {
    let mut documents = Vec::new();
    for (number, chunk) in chunks(text).into_iter().enumerate() {
        let place = Place::document(name, number + 1);
        match parse_chunk(&chunk) {
            Ok(Value::Null) => {}
            Ok(value) => documents.push(Ok(Document { place, value })),
            Err(error) => {
                let what = format!("{error}{}", about_template(chunk.text));
                documents.push(Err(Problem::of_document(&place, what)));
            }
        }
    }
    documents
}

/// What to do about a text that is no YAML because it is a template of Helm.
fn about_template(text: &str) -> &'static str {
    match text.contains("{{") {
        true => "; the braces {{ look like a Helm template: render it first with `helm template`",
        false => "",
    }
}

/// Part of a text, from a document marker up to the next.
struct Chunk<'a> {
    text: &'a str,
    /// Number of the lines before it.
    lines_before: u64,
}

fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let (mut start, mut first_line, mut at, mut line) = (0, 0, 0, 0);
    for piece in text.split_inclusive('\n') {
        // What comes before the first marker is a document only if there is something in it.
        if is_marker(piece) && (start > 0 || has_content(&text[..at])) {
            chunks.push(Chunk {
                text: &text[start..at],
                lines_before: first_line,
            });
        }
        if is_marker(piece) {
            (start, first_line) = (at, line);
        }
        at += piece.len();
        line += 1;
    }
    chunks.push(Chunk {
        text: &text[start..],
        lines_before: first_line,
    });
    chunks
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether there is more than comments and directives.
fn has_content(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .any(|line| !line.is_empty() && !line.starts_with(['#', '%']))
}

/// Why a chunk cannot be read.
struct YamlError {
    line: Option<u64>,
    message: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: cannot be read as YAML: {}", self.message),
            None => write!(f, "cannot be read as YAML: {}", self.message),
        }
    }
}

fn parse_chunk(chunk: &Chunk<'_>) -> Result<Value, YamlError> {
    // A leading marker and a comment are all there is in an empty document.
    let body = chunk.text.strip_prefix("---").unwrap_or(chunk.text);
    if !has_content(body) {
        return Ok(Value::Null);
    }
    let budget = Budget::for_text(chunk.text.len());
    let read = serde_saphyr::with_deserializer_from_str_with_options(chunk.text, options(), |reader| {
        budget.read(reader)
    });
    read.map_err(|error| {
        let line = error
            .location()
            .map(|location| location.line())
            .filter(|line| *line > 0);
        let message = error
            .without_snippet()
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        YamlError {
            line: line.map(|line| line + chunk.lines_before),
            message: in_our_words(message),
        }
    })
}

/// What serde_json says with the position, and what is accepted where its own limit is the reason.
fn json_in_our_words(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.contains("recursion limit") {
        true => format!("line {}: {}", error.line(), in_our_words(message)),
        false => message,
    }
}

/// The parser speaks of its own limits and options; a reader wants to know what is accepted.
fn in_our_words(message: String) -> String {
    let twice = message
        .strip_prefix("duplicate mapping key: ")
        .and_then(|rest| rest.rsplit_once(", set DuplicateKeyPolicy"));
    if let Some((key, _)) = twice {
        return tree::twice(key);
    }
    if message.contains("Depth {") || message.contains("recursion limit") {
        return format!("nested too deeply; accepted: at most {MAX_DEPTH} levels");
    }
    match message.rsplit_once(" at line ") {
        // The position is given in front, counted from the top of the file.
        Some((what, _)) => what.to_owned(),
        None => message,
    }
}

/// Events and nodes are as many as the text has room for, and texts are bounded where they are read; what aliases add
/// is bounded by the budget of the tree.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
            max_buffered_comment_events: 100_000,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        // As for kubectl: `yes`, `on` and `y` without quotes are booleans wherever they stand, and `010` is 8.
        strict_booleans: false,
        legacy_octal_numbers: true,
        with_snippet: false,
        emit_comments: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<String> {
        let document = |document: Result<Document, Problem>| match document {
            Ok(document) => format!("{} = {}", document.place, document.value),
            Err(problem) => problem.to_string(),
        };
        parse("f", text).into_iter().map(document).collect()
    }

    #[test]
    fn a_template_of_helm_that_is_not_rendered_is_said_to_be_one() {
        let template = numbers("metadata:\n  name: {{ .Release.Name }}\n").concat();
        assert!(template.contains("`helm template`"), "{template}");
        let other = numbers("metadata: [\n").concat();
        assert!(!other.contains("helm"), "{other}");
    }

    #[test]
    fn documents_are_counted_the_way_a_reader_counts_them() {
        assert_eq!(
            numbers("---\na: 1\n---\n---\nb: 2\n"),
            ["f: document 1 = {\"a\":1}", "f: document 3 = {\"b\":2}"]
        );
        assert_eq!(numbers("# licence\n---\na: 1\n"), ["f: document 1 = {\"a\":1}"]);
        assert_eq!(
            numbers("%YAML 1.2\n---\na: 1\n...\n"),
            ["f: document 1 = {\"a\":1}"]
        );
        assert_eq!(
            numbers("a: 1\n--- # two\nb: 2\n"),
            ["f: document 1 = {\"a\":1}", "f: document 2 = {\"b\":2}"]
        );
    }

    #[test]
    fn a_broken_document_hides_no_other_and_its_line_counts_from_the_top_of_the_file() {
        let found = numbers("a: 1\n---\nb: [1\n---\nc: 3\n");
        assert_eq!(found.len(), 3);
        assert!(found[1].starts_with("f: document 2: line "), "{found:?}");
        assert_eq!(found[2], "f: document 3 = {\"c\":3}");
    }

    #[test]
    fn words_and_numbers_without_quotes_are_what_they_are_to_kubectl() {
        assert_eq!(
            numbers("hubAcceptsClient: yes\nforce: Off\nnamespace: n\n"),
            [r#"f: document 1 = {"force":false,"hubAcceptsClient":true,"namespace":false}"#]
        );
        assert_eq!(
            numbers("a: [{hubAcceptsClient: \"yes\", controller: on, y: 'n'}]\n"),
            [r#"f: document 1 = {"a":[{"controller":true,"hubAcceptsClient":"yes","y":"n"}]}"#]
        );
        assert_eq!(
            numbers("a: 010\nb: 0\nc: \"010\"\nd: 08\ne: -010\n"),
            [r#"f: document 1 = {"a":8,"b":0,"c":"010","d":8.0,"e":-8}"#]
        );
    }

    #[test]
    fn json_values_may_follow_each_other() {
        assert_eq!(
            numbers("{\"a\":1}\n{\"b\":2}"),
            ["f: document 1 = {\"a\":1}", "f: document 2 = {\"b\":2}"]
        );
    }

    #[test]
    fn flow_style_yaml_is_not_mistaken_for_json() {
        assert_eq!(numbers("{a: 1}"), ["f: document 1 = {\"a\":1}"]);
    }

    #[test]
    fn a_key_that_is_there_twice_is_an_error_in_yaml_and_json() {
        assert_eq!(
            numbers("a: 1\na: 2"),
            ["f: document 1: line 2: cannot be read as YAML: the key \"a\" is there twice"]
        );
        assert!(parse("f.json", "{\"a\":1,\"a\":2}")[0].is_err());
        assert!(parse("f", "a: 1\na: 2")[0].is_err());
    }

    #[test]
    fn aliases_that_multiply_are_refused_before_they_take_memory() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..10 {
            let names = vec![format!("*a{}", level - 1); 10].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{names}]\n"));
        }
        assert!(parse("f", &bomb)[0].is_err());
        let text = format!(
            "a: &a {}\nb: [{}]\n",
            "x".repeat(1 << 20),
            vec!["*a"; 2000].join(",")
        );
        assert!(parse("f", &text)[0].is_err());
    }

    #[test]
    fn deep_nesting_is_refused() {
        for text in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000)] {
            assert!(parse("f", &text)[0].is_err());
        }
    }
}
