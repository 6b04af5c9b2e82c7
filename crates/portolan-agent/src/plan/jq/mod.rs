//! The part of jq that names places in an object: `.spec.containers[] | select(.name == "web") | .image`.
//!
//! A crate parses the text. Its interpreter is not used, since an expression of a tenant could run for ever or exhaust
//! the stack: what is accepted of the language is turned into a tree of our own ([`read`]) and walked over the object
//! ([`walk`]), where every step is counted and nothing is built but the list of places.

mod read;
mod steps;
mod values;
mod walk;

use serde_json::Value;

use crate::report::Key;

pub(super) use steps::Steps;
pub(super) use values::weight;

/// Longest expression, in bytes.
const LONGEST: usize = 1024;
/// Deepest nesting of brackets: the parser calls itself for each.
const DEEPEST: usize = 32;

/// Most signs that join expressions or stand before one: the parser calls itself for each.
const MOST_LINKS: usize = 64;
/// Words that begin something which is not accepted. They can follow one another, and the parser calls itself for each.
const REFUSED_WORDS: &[&str] = &[
    "try", "if", "elif", "def", "reduce", "foreach", "label", "import", "include",
];

/// What of the language is accepted, in words.
const ACCEPTED: &str = "., .name, .[\"name\"], .[0], .[1:3], .[], .., ?, |, the comma, parentheses, select, first, and in \
                        select also comparisons, and, or, not, has, type, length, contains, startswith, endswith, any, all \
                        and test";

/// An expression that names places.
#[derive(Clone, Debug)]
pub(super) struct Jq(Expression);

/// What is accepted of the language. Each gives any number of values for one.
#[derive(Clone, Debug)]
enum Expression {
    Identity,
    /// The value and everything in it.
    Recurse,
    Literal(Value),
    Part(Box<Expression>, Part, Optional),
    Pipe(Box<Expression>, Box<Expression>),
    Comma(Box<Expression>, Box<Expression>),
    /// Nothing where there would be an error.
    Try(Box<Expression>),
    Select(Box<Expression>),
    First(Box<Expression>),
    Compare(Box<Expression>, Comparison, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Function(Function),
    Any(Box<Expression>),
    All(Box<Expression>),
    Test(regex::Regex),
    Of(Relation, Box<Expression>),
}

/// Whether an error of a part is nothing.
type Optional = bool;

#[derive(Clone, Debug)]
enum Part {
    Name(String),
    Index(i64),
    Every,
    Slice(Option<i64>, Option<i64>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Not,
    Type,
    Length,
}

/// A question about the value and another one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Has,
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
}

impl Jq {
    /// Reads an expression.
    pub(super) fn parse(text: &str) -> Result<Jq, String> {
        let refuse = |why: String| format!("{why}; accepted: {ACCEPTED}");
        if text.len() > LONGEST {
            return Err(refuse(format!(
                "{} bytes, and at most {LONGEST} are read",
                text.len()
            )));
        }
        if depth(text) > DEEPEST {
            return Err(refuse(format!("more than {DEEPEST} levels of brackets")));
        }
        if text.contains("\\(") {
            return Err(refuse("an interpolation".to_owned()));
        }
        let links = text.matches(['|', ',', '-']).count();
        if links > MOST_LINKS {
            return Err(refuse(format!("more than {MOST_LINKS} of |, the comma and -")));
        }
        if let Some(word) = words(text).find(|word| REFUSED_WORDS.contains(word)) {
            return Err(refuse(word.to_owned()));
        }
        read::read(text).map(Jq).map_err(refuse)
    }

    /// The places in the object that it names, in any order. Those that are not there are left out.
    pub(super) fn places(&self, object: &Value, steps: &mut Steps<'_>) -> Result<Vec<Vec<Key>>, String> {
        walk::places(&self.0, object, steps)
    }
}

/// The words that are neither in quotes nor names of fields.
fn words(text: &str) -> impl Iterator<Item = &str> {
    // A quote that is escaped ends nothing.
    let mut in_quotes = false;
    let mut is_escaped = false;
    let is_word = move |character: char| {
        match character {
            '\\' if in_quotes => is_escaped = !is_escaped,
            '"' if !is_escaped => in_quotes = !in_quotes,
            _ => is_escaped = false,
        }
        !in_quotes && (character.is_alphanumeric() || matches!(character, '_' | '.' | '$' | '@'))
    };
    let mut is_word = is_word;
    text.split(move |character| !is_word(character))
}

/// How deep brackets are nested. Those in strings count, too, which refuses no expression that anybody would write.
fn depth(text: &str) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => now += 1,
            ')' | ']' | '}' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
