//! The functions, one library per file. Each file lists its overloads with their types in one table; this module
//! only finds them by name.

mod cidr;
mod conditions;
mod convert;
mod format;
mod format_string;
mod ip;
mod lists;
mod optional;
mod parse_json;
pub(crate) mod pattern;
mod quantity;
mod regex;
mod scores;
mod semver;
mod sets;
mod standard;
mod strings;
pub(crate) mod text;
pub(crate) mod time;
mod time_functions;
mod urls;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::function::{Function, Outcome, Run, Style};
use crate::scope::Scope;
use crate::types::{Kind, Shape};
use crate::value::Val;

/// All overloads of a name where expressions of this scope are written; none when there is no such function there.
pub(crate) fn overloads(name: &str, scope: Scope) -> &'static [&'static Function] {
    type ByName = BTreeMap<&'static str, Vec<&'static Function>>;
    fn by_name(libraries: &[&'static [Function]]) -> ByName {
        let mut by_name = ByName::new();
        for function in COMMON.iter().chain(libraries).copied().flatten() {
            by_name.entry(function.name).or_default().push(function);
        }
        by_name
    }
    static SELECTORS: LazyLock<ByName> = LazyLock::new(|| by_name(SELECTORS_ONLY));
    static RULES: LazyLock<ByName> = LazyLock::new(|| by_name(RULES_ONLY));
    static CONDITIONS: LazyLock<ByName> = LazyLock::new(|| by_name(CONDITIONS_ONLY));
    let known = match scope {
        Scope::Selectors => &SELECTORS,
        Scope::Rules => &RULES,
        Scope::Conditions => &CONDITIONS,
    };
    known.get(name).map_or(&[], Vec::as_slice)
}

const COMMON: &[&[Function]] = &[
    standard::FUNCTIONS,
    convert::FUNCTIONS,
    time_functions::FUNCTIONS,
    strings::FUNCTIONS,
    lists::FUNCTIONS,
    regex::FUNCTIONS,
    urls::FUNCTIONS,
    quantity::FUNCTIONS,
    ip::FUNCTIONS,
    cidr::FUNCTIONS,
    format::FUNCTIONS,
    semver::FUNCTIONS,
    optional::FUNCTIONS,
];
const SELECTORS_ONLY: &[&[Function]] = &[parse_json::FUNCTIONS, scores::FUNCTIONS];
const RULES_ONLY: &[&[Function]] = &[sets::FUNCTIONS];
const CONDITIONS_ONLY: &[&[Function]] = &[sets::FUNCTIONS, conditions::FUNCTIONS];

const BOOL: Shape = Shape::Is(Kind::Bool);
const INT: Shape = Shape::Is(Kind::Int);
const UINT: Shape = Shape::Is(Kind::Uint);
const DOUBLE: Shape = Shape::Is(Kind::Double);
const STRING: Shape = Shape::Is(Kind::String);
const BYTES: Shape = Shape::Is(Kind::Bytes);
const TIMESTAMP: Shape = Shape::Is(Kind::Timestamp);
const DURATION: Shape = Shape::Is(Kind::Duration);

type Plain = fn(&mut Context<'_, '_>, &[Val]) -> Outcome;

const fn member(name: &'static str, parameters: &'static [Shape], result: Shape, run: Plain) -> Function {
    Function {
        name,
        style: Style::Member,
        parameters,
        result,
        run: Run::Plain(run),
    }
}

const fn global(name: &'static str, parameters: &'static [Shape], result: Shape, run: Plain) -> Function {
    Function {
        name,
        style: Style::Global,
        parameters,
        result,
        run: Run::Plain(run),
    }
}

/// The error of a function that was given operands it has no code for.
fn mismatch(function: &'static str, arguments: &[Val]) -> Failure {
    EvalError::no_such_overload(function, &arguments.iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::MAX_PARAMETERS;

    fn all() -> impl Iterator<Item = &'static Function> {
        COMMON
            .iter()
            .chain(SELECTORS_ONLY)
            .chain(RULES_ONLY)
            .chain(CONDITIONS_ONLY)
            .copied()
            .flatten()
    }

    #[test]
    fn no_signature_has_more_parameters_than_the_evaluator_keeps() {
        for function in all() {
            assert!(function.parameters.len() <= MAX_PARAMETERS, "{function:?}");
        }
    }

    #[test]
    fn every_member_function_has_a_receiver() {
        for function in all() {
            assert!(
                function.style == Style::Global || !function.parameters.is_empty(),
                "{function:?}"
            );
        }
    }
}
