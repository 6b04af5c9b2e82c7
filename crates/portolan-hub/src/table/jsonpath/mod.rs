//! Kubernetes' dialect of JSONPath, as printer columns use it: fields, escaped dots, indexes and slices, wildcards,
//! unions, recursive descent and filters, with or without `{…}` around it.
//!
//! Not here: text between expressions, `range`/`end` and several expressions in one template. Those belong to
//! `kubectl -o jsonpath`, which evaluates on its own side.

mod compare;
mod evaluate;
mod parse;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use evaluate::{Budget, EvaluationError};
pub(crate) use parse::ParseError;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    steps: Vec<Step>,
}

impl Path {
    /// Parses an expression such as `.status.conditions[?(@.type=="Ready")].status`.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        parse::path(text)
    }

    /// Everything the expression selects, in order. A missing field selects nothing; an index out of bounds, an index
    /// into something that is no list and a comparison of different types are errors, as they are in Kubernetes.
    /// What is visited is paid from the budget of the table.
    pub(crate) fn find<'a>(
        &self,
        root: &'a Value,
        budget: &mut Budget,
    ) -> Result<Vec<&'a Value>, EvaluationError> {
        evaluate::find(self, root, budget)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// `*`: all elements or all values.
    Wildcard,
    /// `..`: the value and everything inside it that holds something.
    Descend,
    Slice(Slice),
    Union(Vec<Path>),
    Filter(Box<Filter>),
}

/// `[start:end:step]`; a plain index is the slice of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// `[3]`: the one element at the start.
    AfterStart,
    /// `[1:]`: to the end of the list.
    Length,
    At(i64),
}

#[derive(Debug, Clone, PartialEq)]
enum Filter {
    Exists(Path),
    Compare {
        left: Operand,
        operator: Operator,
        right: Operand,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Path),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
