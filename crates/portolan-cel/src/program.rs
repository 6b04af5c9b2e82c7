//! Compiled expressions and what they are evaluated with.

use crate::budget::Budget;
use crate::check::check;
use crate::error::{CompileError, EvalError};
use crate::eval::Context;
use crate::node::Node;
use crate::syntax::parse;
use crate::types::Kind;
use crate::value::{Val, Value};

/// Longest accepted source. Selectors are lines, not programs; this leaves room for generated lists of names.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024;

/// Deepest accepted nesting of brackets, calls and operators. Chains of `&&` or `||` count as one level. It keeps
/// every recursion of this crate within a fraction of the smallest thread stack we run on (2 MiB).
pub const MAX_NESTING: usize = 128;

/// The scores an expression can ask for with `managedCluster.scores(name)`.
pub trait Scores {
    /// Names and values of the cluster's `AddOnPlacementScore` of that name, in its order; `None` when there is no
    /// such object, which is an evaluation error.
    fn scores(&self, resource_name: &str) -> Option<Vec<(String, i64)>>;
}

/// A cluster without any `AddOnPlacementScore`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScores;

impl Scores for NoScores {
    fn scores(&self, _resource_name: &str) -> Option<Vec<(String, i64)>> {
        None
    }
}

/// A compiled expression. Compile once, evaluate for every cluster; it can be shared between threads.
#[derive(Debug)]
pub struct Program {
    source: String,
    root: Node,
    uses_scores: bool,
}

impl Program {
    /// Parses and type-checks an expression.
    pub fn compile(source: &str) -> Result<Program, CompileError> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(CompileError::TooLong {
                length: source.len(),
                limit: MAX_SOURCE_BYTES,
            });
        }
        let (root, uses_scores) = parse(source)
            .and_then(|expr| check(source, expr))
            .map_err(|error| *error)?;
        Ok(Program {
            source: source.to_owned(),
            root,
            uses_scores,
        })
    }

    /// The text this was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the expression asks for scores anywhere, so that its answer depends on more than the cluster.
    pub fn uses_scores(&self) -> bool {
        self.uses_scores
    }

    /// Whether the cluster matches. An error means that there is no answer, and the cluster does not match.
    pub fn evaluate(
        &self,
        cluster: &Value,
        scores: &dyn Scores,
        budget: &mut Budget,
    ) -> Result<bool, EvalError> {
        let mut context = Context::new(&cluster.0, scores, budget.meter());
        match context.eval(&self.root).map_err(|failure| *failure)?.as_ref() {
            Val::Bool(answer) => Ok(*answer),
            other => Err(EvalError::NotBoolean {
                found: Kind::of(other).name(),
                value: other.brief(),
            }),
        }
    }
}
