//! A function as the checker and the evaluator see it: its signature, and the code to run.

use std::fmt::{self, Debug, Formatter};

use crate::context::Context;
use crate::error::Failure;
use crate::library::pattern::Pattern;
use crate::types::Shape;
use crate::value::Val;

/// What an operation gives.
pub(crate) type Outcome<T = Val> = Result<T, Failure>;

/// Whether a function is called as `f(x)` or as `x.f()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Global,
    Member,
}

/// The code of a function. Arguments fit the shapes of the signature on their outermost level.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    Plain(fn(&mut Context<'_, '_>, &[Val]) -> Outcome),
    /// The second argument is a pattern, given compiled.
    Pattern(fn(&mut Context<'_, '_>, &Pattern, &[Val]) -> Outcome),
}

/// One overload of a function.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) style: Style,
    /// Receiver first.
    pub(crate) parameters: &'static [Shape],
    pub(crate) result: Shape,
    pub(crate) run: Run,
}

impl Debug for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name, self.parameters)
    }
}

/// The most parameters any function has, receiver included; arguments are kept in an array of this size.
pub(crate) const MAX_PARAMETERS: usize = 4;
