//! The syntax tree. Every node knows where it starts and how high the tree below it is, so that nothing later has
//! to recurse further than was checked here.

use crate::value::Val;

/// An expression and its place in the source.
#[derive(Debug)]
pub(crate) struct Expr {
    /// Byte offset of the token that names the operation.
    pub(crate) at: u32,
    /// Levels of nodes in this tree, itself included.
    pub(crate) height: usize,
    /// Boxed to keep the frames of the recursive functions small.
    pub(crate) kind: Box<ExprKind>,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Literal(Val),
    Ident(String),
    Select {
        operand: Box<Expr>,
        field: String,
        optional: bool,
    },
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    Call {
        target: Option<Box<Expr>>,
        name: String,
        arguments: Vec<Expr>,
    },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary {
        operator: Operator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// A whole chain of one logical operator; flat, so that long chains are not deep.
    Logic {
        logic: Logic,
        operands: Vec<Expr>,
    },
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    List(Vec<Element>),
    Map(Vec<Entry>),
}

/// An element of a list literal; `[?x]` is optional.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// An entry of a map literal; `{?k: v}` is optional.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    /// The name of the operator in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operator::Add => "_+_",
            Operator::Subtract => "_-_",
            Operator::Multiply => "_*_",
            Operator::Divide => "_/_",
            Operator::Modulo => "_%_",
            Operator::Equal => "_==_",
            Operator::NotEqual => "_!=_",
            Operator::Less => "_<_",
            Operator::LessOrEqual => "_<=_",
            Operator::Greater => "_>_",
            Operator::GreaterOrEqual => "_>=_",
            Operator::In => "@in",
        }
    }
}
