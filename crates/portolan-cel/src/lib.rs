//! CEL with the Kubernetes function libraries and a run-time cost budget: the language of cluster selectors, and of the
//! validation rules in CustomResourceDefinitions.
//!
//! [`Program::compile`] parses and type-checks a selector over one `ManagedCluster`; [`Program::evaluate`] answers it
//! for one cluster. The predicate filter of the engine calls it on the hot path; the CLI linter calls `compile` to show
//! errors early. [`Program::compile_in`] and [`Program::run`] are the same for any [`Environment`] of typed variables;
//! the hub validates objects with them.
//!
//! What this crate never does: no I/O, no clock, no randomness, no unsafe code, and no panic on any input. Source
//! length, nesting and cost are bounded, so an expression written by a tenant can neither exhaust the stack nor the
//! memory, nor run for long.
//!
//! Why an own evaluator: no CEL crate has a run-time cost budget. Why an own parser: the parsers of the `cel` crate
//! unfold macros into accumulator loops (a `map` becomes quadratic) and either drop source positions or bring in a
//! parser generator's runtime.
//!
//! # What is different from OCM on purpose
//!
//! - Expressions nested deeper than [`MAX_NESTING`] or longer than [`MAX_SOURCE_BYTES`] do not compile.
//! - A literal pattern that is no regular expression does not compile; there it fails for every cluster.
//! - `scores` can be asked only of `managedCluster` itself.
//! - Maps are walked in key order, so that the same input always gives the same answer.
//! - Named time zones are those of the tables that are compiled in, whatever the machine has.
//! - Message literals (`Type{..}`), backquoted field names and `cel.bind` do not exist; two-variable macros and `sets`
//!   exist in rules only.
//!
//! # Example
//!
//! ```
//! use portolan_cel::{Budget, NoScores, Program, Value};
//!
//! let cluster = Value::from(serde_json::json!({"metadata": {"labels": {"env": "prod"}}}));
//! let program = Program::compile(r#"managedCluster.metadata.labels["env"] == "prod""#)?;
//! assert!(program.evaluate(&cluster, &NoScores, &mut Budget::per_cluster())?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod budget;
mod check;
mod context;
mod environment;
mod error;
mod estimate;
mod eval;
mod function;
mod kubernetes;
mod library;
mod node;
mod program;
mod scope;
mod scores;
mod syntax;
mod types;
mod value;

pub use budget::Budget;
pub use environment::{Environment, ValueType};
pub use error::{CompileError, EvalError, Position};
pub use estimate::{Extent, estimate};
pub use kubernetes::quantity::Quantity;
pub use library::pattern::{VERBOSE, case_folds, has_verbose_flag};
pub use program::{MAX_NESTING, MAX_SOURCE_BYTES, Program};
pub use scores::{NoScores, Scores};
pub use syntax::is_reserved;
pub use value::Value;
