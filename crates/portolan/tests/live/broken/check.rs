//! What a person may expect of every line that a program prints about a failure.

use std::collections::BTreeMap;

/// Renderings of Rust structures. A person cannot read them, and they hide the one word that matters.
const STRUCTURES: [&str; 8] = [
    "Status {",
    "Some(",
    "ListMeta",
    "ErrorResponse",
    "ApiError",
    "ServiceError",
    "HyperError",
    "Error {",
];
/// Characters of a line: longer ones wrap several times on any terminal.
const LONGEST: usize = 500;
/// Lines a minute about the same cause.
const MOST: usize = 10;

/// What is wrong with the lines of a program.
pub(super) fn problems(lines: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines.lines() {
        for word in STRUCTURES.iter().filter(|word| line.contains(**word)) {
            problems.push(format!("{word:?} in: {line}"));
        }
        if has_word(line, "None") {
            problems.push(format!("\"None\" in: {line}"));
        }
        if line.chars().count() > LONGEST {
            problems.push(format!("more than {LONGEST} characters: {line}"));
        }
        let text = line.trim_end();
        if text.ends_with(':') || text.ends_with(": ()") || text.ends_with("\"\"") {
            problems.push(format!("an error without a text: {line}"));
        }
        *causes.entry(cause(line)).or_default() += 1;
    }
    for (cause, lines) in causes.into_iter().filter(|(_, lines)| *lines > MOST) {
        problems.push(format!("{lines} lines about one cause: {cause}"));
    }
    problems
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|letter: char| !letter.is_alphanumeric())
        .any(|part| part == word)
}

/// The line without its time and without what differs from one time to the next: numbers, and what is in brackets.
fn cause(line: &str) -> String {
    let text = line.split_once("portolan").map_or(line, |(_, text)| text);
    let text = text.split(" (").next().unwrap_or(text);
    let mut cause: String = text.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    cause.truncate(cause.char_indices().nth(200).map_or(cause.len(), |(end, _)| end));
    cause
}

#[test]
fn lines_that_nobody_can_read_are_noticed() {
    for bad in [
        "WARN the watch failed error=ApiError: no: Forbidden (Status { status: Some(Failure), code: 403 })",
        "metadata: ListMeta { continue_: x }",
        "the answer was None",
        "error: cannot list placements: ",
        "error: cannot list placements: the server answered:",
        &"x".repeat(501),
        &"cannot list placements: 403 Forbidden (5 times)\n".repeat(11),
    ] {
        assert!(!problems(bad).is_empty(), "not noticed: {bad}");
    }
    let good = "WARN portolan_controllers: cannot list placements: 403 Forbidden: no\n".repeat(10);
    assert_eq!(problems(&good), Vec::<String>::new());
    assert_eq!(problems("ready after 1.0s: NoneSuch"), Vec::<String>::new());
}
