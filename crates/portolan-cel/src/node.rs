//! The checked form of an expression: names are resolved, literal patterns are compiled, macros are loops.

use std::sync::Arc;

use crate::function::Function;
use crate::library::pattern::Pattern;
use crate::syntax::ast::{Logic, Operator};
use crate::value::Val;

#[derive(Debug)]
pub(crate) enum Node {
    Literal(Val),
    /// A variable of the environment, by its place there.
    Variable(usize),
    /// A macro variable, by its place on the stack of locals.
    Local(usize),
    Field {
        operand: Box<Node>,
        name: Arc<str>,
        access: Access,
    },
    Index {
        operand: Box<Node>,
        index: Box<Node>,
        optional: bool,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
    },
    Logic {
        logic: Logic,
        operands: Vec<Node>,
    },
    /// Condition, then, otherwise.
    Conditional(Box<[Node; 3]>),
    /// Elements; the flag marks `[?x]`.
    List(Vec<(Node, bool)>),
    /// Keys and values; the flag marks `{?k: v}`.
    Map(Vec<(Node, Node, bool)>),
    Call(Box<Call>),
    Loop(Box<Loop>),
    OptionalMap(Box<OptionalMap>),
    OptionalOr(Box<OptionalOr>),
}

/// How a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// `a.b`
    Plain,
    /// `a.?b`
    Optional,
    /// `has(a.b)`
    Test,
}

/// A function call; `candidates` are the overloads that the static types leave open.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) candidates: Vec<&'static Function>,
    /// Receiver first.
    pub(crate) arguments: Vec<Node>,
    /// The pattern when it is a literal.
    pub(crate) pattern: Option<Pattern>,
}

/// One of the iterating macros; the variable lives in the local `slot`.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) range: Node,
    pub(crate) slot: usize,
    pub(crate) variables: Variables,
    pub(crate) body: LoopBody,
}

/// What an iterating macro binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    /// The element of a list, the key of a map.
    One,
    /// The index or key in `slot`, the element or value in the slot after it.
    Two,
}

#[derive(Debug)]
pub(crate) enum LoopBody {
    All(Node),
    Exists(Node),
    ExistsOne(Node),
    Filter(Node),
    Map {
        filter: Option<Node>,
        transform: Node,
    },
    /// `transformMap`: the keys stay.
    Values {
        filter: Option<Node>,
        transform: Node,
    },
    /// `transformMapEntry`: every element becomes a map of one entry.
    Entries {
        filter: Option<Node>,
        transform: Node,
    },
}

/// `target.optMap(v, body)` and `target.optFlatMap(v, body)`.
#[derive(Debug)]
pub(crate) struct OptionalMap {
    pub(crate) target: Node,
    pub(crate) slot: usize,
    pub(crate) body: Node,
    pub(crate) flat: bool,
}

/// `left.or(right)` and `left.orValue(right)`; the right side is evaluated only when needed.
#[derive(Debug)]
pub(crate) struct OptionalOr {
    pub(crate) left: Node,
    pub(crate) right: Node,
    pub(crate) unwrap: bool,
}
