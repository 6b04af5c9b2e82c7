//! Compiled expressions and what they are evaluated with.

use crate::budget::Budget;
use crate::check::check;
use crate::environment::{Environment, ValueType};
use crate::error::{CompileError, EvalError};
use crate::eval::Evaluation;
use crate::node::Node;
use crate::scores::{NoScores, Scores};
use crate::syntax::parse;
use crate::types::{Kind, Type};
use crate::value::{Val, Value};

/// Longest accepted source. Selectors are lines, not programs; this leaves room for generated lists of names.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024;

/// Deepest accepted nesting of brackets, calls and operators. Chains of `&&` or `||` count as one level. It keeps
/// every recursion of this crate within a fraction of the smallest thread stack we run on (2 MiB).
pub const MAX_NESTING: usize = 128;

/// A compiled expression. Compile once, evaluate as often as needed; it can be shared between threads.
#[derive(Debug)]
pub struct Program {
    source: String,
    root: Node,
    result: Type,
    uses: Vec<bool>,
    uses_scores: bool,
}

impl Program {
    /// Parses and type-checks a cluster selector.
    pub fn compile(source: &str) -> Result<Program, CompileError> {
        Program::compile_in(Environment::selectors(), source)
    }

    /// The same for one of several selectors, whose patterns are counted together as by [`Program::compile_counted`].
    pub fn compile_selector(source: &str, patterns: &mut u64) -> Result<Program, CompileError> {
        Program::compile_counted(Environment::selectors(), source, patterns)
    }

    /// Parses and type-checks an expression that may name what the environment declares.
    pub fn compile_in(environment: &Environment, source: &str) -> Result<Program, CompileError> {
        Program::compile_counted(environment, source, &mut 0)
    }

    /// The same, and adds to `patterns` the units that it took to compile the patterns that are written out in the expression, also
    /// if it is refused. They do not follow from its length: a pattern of a few bytes can take milliseconds. Expressions that share
    /// a count share its limit.
    pub fn compile_counted(
        environment: &Environment,
        source: &str,
        patterns: &mut u64,
    ) -> Result<Program, CompileError> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(CompileError::TooLong {
                length: source.len(),
                limit: MAX_SOURCE_BYTES,
            });
        }
        let checked = parse(source)
            .and_then(|expr| check(source, expr, environment, patterns))
            .map_err(|error| *error)?;
        Ok(Program {
            source: source.to_owned(),
            root: checked.root,
            result: checked.result,
            uses: checked.uses,
            uses_scores: checked.uses_scores,
        })
    }

    /// The text this was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What the expression evaluates to, as far as that is known.
    pub fn result(&self) -> ValueType {
        ValueType(self.result.clone())
    }

    /// Whether the expression names the variable at this place of its environment.
    pub fn uses(&self, place: usize) -> bool {
        self.uses.get(place).copied().unwrap_or(false)
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
        let variables = [Some(&cluster.0)];
        let mut evaluation = Evaluation::new(&variables, scores, budget.meter());
        match evaluation.eval(&self.root).map_err(|failure| *failure)?.as_ref() {
            Val::Bool(answer) => Ok(*answer),
            other => Err(EvalError::NotBoolean {
                found: Kind::of(other).name(),
                value: other.brief(),
            }),
        }
    }

    /// Evaluates the expression with the variables of its environment, in its order. To read one without a value is an
    /// error.
    pub fn run(&self, variables: &[Option<&Value>], budget: &mut Budget) -> Result<Value, EvalError> {
        let variables: Vec<Option<&Val>> = variables
            .iter()
            .map(|value| value.map(|value| &value.0))
            .collect();
        let mut evaluation = Evaluation::new(&variables, &NoScores, budget.meter());
        let value = evaluation.eval(&self.root).map_err(|failure| *failure)?;
        Ok(Value(value.into_owned()))
    }
}
