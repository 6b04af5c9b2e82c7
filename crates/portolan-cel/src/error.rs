//! What can go wrong, at compile time and at run time. Every text is bounded: operands are cut before they are
//! stored.

use std::fmt::{self, Display, Formatter};

use crate::types::Kind;
use crate::value::Val;

/// Where in the source something was found; both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset; an offset past the end is the end.
    pub(crate) fn of(source: &str, offset: u32) -> Position {
        let offset = offset as usize;
        let (mut line, mut column) = (1, 1);
        for (at, character) in source.char_indices() {
            if at >= offset {
                break;
            }
            if character == '\n' {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        Position { line, column }
    }
}

impl Display for Position {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why an expression does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The source is longer than any selector needs to be.
    #[error("compilation failed: expression has {length} bytes, at most {limit} are accepted")]
    TooLong {
        /// Length of the source in bytes.
        length: usize,
        /// The accepted maximum.
        limit: usize,
    },
    /// Brackets, operators or calls are nested beyond what the evaluator's stack allows.
    #[error("compilation failed: {position}: expression nests deeper than {limit} levels")]
    TooDeep {
        /// Where the limit was passed.
        position: Position,
        /// The accepted maximum.
        limit: usize,
    },
    /// The source is not CEL.
    #[error("compilation failed: {position}: Syntax error: {message}")]
    Syntax {
        /// Where the parser stopped.
        position: Position,
        /// What was found and what was expected.
        message: String,
    },
    /// A variable, function or type that does not exist.
    #[error("compilation failed: {position}: undeclared reference to '{name}'")]
    Undeclared {
        /// Where it is used.
        position: Position,
        /// The name as written.
        name: String,
    },
    /// The function or operator exists, but not for these operands.
    #[error(
        "compilation failed: {position}: found no matching overload for '{function}' applied to '{operands}'"
    )]
    NoMatchingOverload {
        /// Where it is applied.
        position: Position,
        /// Function or operator.
        function: String,
        /// Static operand types, receiver first.
        operands: String,
    },
    /// A macro such as `has` or `map` with arguments it cannot take.
    #[error("compilation failed: {position}: invalid use of macro {name}: {reason}")]
    InvalidMacro {
        /// Where the macro is used.
        position: Position,
        /// Name of the macro.
        name: String,
        /// What it needs.
        reason: &'static str,
    },
    /// A field that the object does not have.
    #[error("compilation failed: {position}: undefined field '{field}'")]
    UndefinedField {
        /// Where the access is.
        position: Position,
        /// The field as written.
        field: String,
    },
    /// A literal that is no time or no span of time, where one is converted.
    #[error("compilation failed: {position}: invalid {function} argument")]
    InvalidLiteral {
        /// Where the conversion is.
        position: Position,
        /// `timestamp` or `duration`.
        function: &'static str,
    },
    /// Elements of a list or map literal that must agree and do not.
    #[error("compilation failed: {position}: expected type '{expected}' but found '{found}'")]
    Mixed {
        /// Where the element is.
        position: Position,
        /// Type of the elements before it.
        expected: String,
        /// Its own type.
        found: String,
    },
    /// Field selection or indexing on a type that has no members.
    #[error("compilation failed: {position}: type '{operand}' does not support {access}")]
    NoMembers {
        /// Where the access is.
        position: Position,
        /// Static type of the operand.
        operand: String,
        /// Which access was tried.
        access: &'static str,
    },
    /// A literal pattern that is not a regular expression, or one that is too large.
    #[error("compilation failed: {position}: invalid regular expression '{pattern}': {reason}")]
    InvalidRegex {
        /// Where the pattern is used.
        position: Position,
        /// The pattern, cut if long.
        pattern: String,
        /// What the regular-expression compiler said, cut if long.
        reason: String,
    },
}

impl CompileError {
    /// Where in the source it was found, unless it is about the source as a whole.
    pub fn position(&self) -> Option<Position> {
        match self {
            CompileError::TooLong { .. } => None,
            CompileError::TooDeep { position, .. }
            | CompileError::Syntax { position, .. }
            | CompileError::Undeclared { position, .. }
            | CompileError::NoMatchingOverload { position, .. }
            | CompileError::InvalidMacro { position, .. }
            | CompileError::UndefinedField { position, .. }
            | CompileError::InvalidLiteral { position, .. }
            | CompileError::Mixed { position, .. }
            | CompileError::NoMembers { position, .. }
            | CompileError::InvalidRegex { position, .. } => Some(*position),
        }
    }

    /// What is wrong, without the position and the words every message starts with.
    pub fn reason(&self) -> String {
        let text = self.to_string();
        let text = text.strip_prefix("compilation failed: ").unwrap_or(&text);
        let position = self.position().map(|position| format!("{position}: "));
        position
            .and_then(|position| text.strip_prefix(&position))
            .unwrap_or(text)
            .to_owned()
    }
}

/// Why an expression has no answer. A cluster that has none does not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The expression used up its budget, or the budget of the whole predicate was used up.
    #[error("cost limit of {limit} exceeded")]
    CostExceeded {
        /// The limit that was hit.
        limit: u64,
    },
    /// A variable of the environment that was given no value.
    #[error("no such attribute: variable {place} is not set")]
    Unset {
        /// Its place in the environment.
        place: usize,
    },
    /// A map has no such key.
    #[error("no such key: {key}")]
    NoSuchKey {
        /// The key, cut if long.
        key: String,
    },
    /// A list has no such element.
    #[error("index out of bounds: {index} in a list of {size}")]
    IndexOutOfBounds {
        /// The index as written, cut if long.
        index: String,
        /// Elements in the list.
        size: usize,
    },
    /// The operands have types the operation is not defined for.
    #[error("no such overload: {function}({operands})")]
    NoSuchOverload {
        /// Function or operator.
        function: String,
        /// Run-time operand types, receiver first.
        operands: String,
    },
    /// Arithmetic left the range of its type.
    #[error("{operation} overflow: {operands}")]
    Overflow {
        /// The operation.
        operation: &'static str,
        /// The operands, cut if long.
        operands: String,
    },
    /// Division or modulus by zero.
    #[error("{operation} by zero")]
    DivisionByZero {
        /// `division` or `modulus`.
        operation: &'static str,
    },
    /// The operation is defined for these types, but not for this value.
    #[error("{function}: invalid argument {value}: {reason}")]
    InvalidArgument {
        /// Function or operator.
        function: &'static str,
        /// The value, cut if long.
        value: String,
        /// What would be accepted.
        reason: String,
    },
    /// `value()` of an empty optional.
    #[error("optional.none() dereference")]
    OptionalNone,
    /// A map literal names a key twice.
    #[error("duplicate key in map literal: {key}")]
    DuplicateKey {
        /// The key, cut if long.
        key: String,
    },
    /// `scores(name)` for which the cluster has no `AddOnPlacementScore`.
    #[error("failed to get score: AddOnPlacementScore {name} not found")]
    ScoresNotFound {
        /// The resource name asked for, cut if long.
        name: String,
    },
    /// The expression has an answer that is not true or false.
    #[error("not boolean: the expression evaluates to {found} {value}")]
    NotBoolean {
        /// Type of the result.
        found: &'static str,
        /// The result, cut if long.
        value: String,
    },
}

/// An error on its way out; boxed, because results of every node carry one and most carry none.
pub(crate) type Failure = Box<EvalError>;

impl EvalError {
    pub(crate) fn no_such_overload(function: impl Into<String>, operands: &[&Val]) -> Failure {
        let kinds: Vec<&str> = operands.iter().map(|operand| Kind::of(operand).name()).collect();
        Box::new(EvalError::NoSuchOverload {
            function: function.into(),
            operands: kinds.join(", "),
        })
    }

    pub(crate) fn invalid(function: &'static str, value: &str, reason: impl Display) -> Failure {
        EvalError::invalid_value(function, format!("\"{}\"", cut(value)), cut(&reason.to_string()))
    }

    pub(crate) fn invalid_value(function: &'static str, value: String, reason: String) -> Failure {
        Box::new(EvalError::InvalidArgument {
            function,
            value,
            reason,
        })
    }

    pub(crate) fn overflow(operation: &'static str, left: &Val, right: &Val) -> Failure {
        Box::new(EvalError::Overflow {
            operation,
            operands: format!("{}, {}", left.brief(), right.brief()),
        })
    }

    /// Whether the budget ran out. No operator may absorb that.
    pub(crate) fn is_overrun(&self) -> bool {
        matches!(self, EvalError::CostExceeded { .. })
    }
}

/// Longest piece of user text that an error repeats, in characters.
const EXCERPT: usize = 80;

/// The text, or its beginning followed by an ellipsis.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
