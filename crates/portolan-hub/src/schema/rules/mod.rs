//! `x-kubernetes-validations`: CEL rules at any node of a schema, compiled with it and evaluated on every write.
//!
//! A rule sees `self`, the value at its node, and `oldSelf`, the value before the write, where there is one that
//! corresponds. What a rule may spend is bounded, for each and for all of an object.

mod compile;
mod correlate;
mod cost;
mod escape;
mod evaluate;
mod field_path;
#[cfg(test)]
mod tests;
mod types;
mod values;

use portolan_cel::Program;

pub(crate) use compile::PatternBudget;
pub(super) use compile::attach;
pub(super) use correlate::{Items, same};
pub(crate) use cost::check_costs;
pub(crate) use evaluate::evaluate;

use super::Cause;

/// The places of the variables in a rule's environment.
const SELF: usize = 0;
const OLD_SELF: usize = 1;

/// One rule, ready to run.
#[derive(Debug)]
pub(super) struct Rule {
    program: Program,
    message: Option<String>,
    message_expression: Option<Program>,
    cause: Cause,
    /// Where the violation is reported, relative to the node; empty for the node itself.
    field_path: String,
    /// `oldSelf` is an optional, and the rule runs without an old value too.
    optional_old_self: bool,
    /// The rule stands in an `allOf` of its node. Kubernetes does not forgive those for being unchanged themselves.
    in_all_of: bool,
}

impl Rule {
    fn uses_old_self(&self) -> bool {
        self.program.uses(OLD_SELF)
    }

    /// The rule as errors name it: by its message, or else by itself.
    fn name(&self) -> &str {
        self.message
            .as_deref()
            .unwrap_or_else(|| self.program.source().trim())
    }
}
