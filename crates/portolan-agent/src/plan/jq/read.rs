//! Parses a jq expression of `ignoreFields`.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::ops::Cmp;
use jaq_core::path::{self, Opt};
use portolan_api::count::counted;
use serde_json::Value;

use super::{Comparison, Expression, Function, Part, Relation};

/// Deepest tree: the walk calls itself for each level.
const DEEPEST: usize = 128;
/// Largest automaton of a regular expression, in bytes.
const LARGEST_PATTERN: usize = 1 << 14;

/// Most classes of characters in a regular expression that ignores case. The engine takes milliseconds for each that has more
/// characters than ASCII has; a larger number would let the expressions of a work keep the agent busy for minutes.
const MOST_FOLDED: usize = 4;

/// Turns the text into what is accepted of the language, or names the construct that is not.
pub(super) fn read(text: &str) -> Result<Expression, String> {
    let term = jaq_core::load::parse(text, |parser| parser.term());
    let term = term.ok_or_else(|| "the text is no jq".to_owned())?;
    place(&term, 0)
}

fn deeper(depth: usize) -> Result<usize, String> {
    match depth < DEEPEST {
        true => Ok(depth + 1),
        false => Err(format!("more than {DEEPEST} levels")),
    }
}

/// An expression that names places.
fn place(term: &Term<&str>, depth: usize) -> Result<Expression, String> {
    let depth = deeper(depth)?;
    let boxed = |term: &Term<&str>| place(term, depth).map(Box::new);
    match term {
        Term::Id => Ok(Expression::Identity),
        Term::Recurse => Ok(Expression::Recurse),
        Term::Path(base, path) => parts(place(base, depth)?, path),
        Term::BinOp(left, BinaryOp::Pipe(None), right) => {
            let left = boxed(left)?;
            if ends_with_slice(&left) {
                return Err("a slice before |".to_owned());
            }
            Ok(Expression::Pipe(left, boxed(right)?))
        }
        Term::BinOp(left, BinaryOp::Comma, right) => Ok(Expression::Comma(boxed(left)?, boxed(right)?)),
        Term::TryCatch(inner, None) => Ok(Expression::Try(boxed(inner)?)),
        Term::Call("select", arguments) => match arguments.as_slice() {
            [condition] => Ok(Expression::Select(Box::new(value(condition, depth)?))),
            _ => Err("select without exactly one condition".to_owned()),
        },
        Term::Call("first", arguments) => match arguments.as_slice() {
            [inner] => Ok(Expression::First(boxed(inner)?)),
            _ => Err("first without exactly one expression".to_owned()),
        },
        other => Err(refused(other)),
    }
}

fn ends_with_slice(expression: &Expression) -> bool {
    match expression {
        Expression::Part(_, Part::Slice(..), _) => true,
        Expression::Pipe(_, last) | Expression::Try(last) | Expression::First(last) => ends_with_slice(last),
        Expression::Comma(left, right) => ends_with_slice(left) || ends_with_slice(right),
        _ => false,
    }
}

fn parts(base: Expression, path: &path::Path<Term<&str>>) -> Result<Expression, String> {
    let mut expression = base;
    for (part, optional) in &path.0 {
        let part = match part {
            path::Part::Index(index) => match literal(index) {
                Some(Value::String(name)) => Part::Name(name),
                Some(number) => Part::Index(number.as_i64().ok_or("an index that is no whole number")?),
                None => return Err("an index that is computed".to_owned()),
            },
            path::Part::Range(None, None) => Part::Every,
            path::Part::Range(from, to) => {
                let bound = |bound: &Option<Term<&str>>| match bound {
                    None => Ok(None),
                    Some(term) => {
                        let number = literal(term).and_then(|number| number.as_i64());
                        number.map(Some).ok_or("a bound that is no whole number")
                    }
                };
                Part::Slice(bound(from)?, bound(to)?)
            }
        };
        if ends_with_slice(&expression) {
            match part {
                // A slice names its elements already.
                Part::Every => continue,
                _ => return Err("something other than [] after a slice".to_owned()),
            }
        }
        expression = Expression::Part(Box::new(expression), part, matches!(optional, Opt::Optional));
    }
    Ok(expression)
}

/// An expression whose values are looked at.
fn value(term: &Term<&str>, depth: usize) -> Result<Expression, String> {
    let depth = deeper(depth)?;
    if let Some(literal) = literal(term) {
        return Ok(Expression::Literal(literal));
    }
    let boxed = |term: &Term<&str>| value(term, depth).map(Box::new);
    let expression = match term {
        Term::BinOp(left, BinaryOp::Cmp(comparison), right) => {
            Expression::Compare(boxed(left)?, compared(*comparison), boxed(right)?)
        }
        Term::BinOp(left, BinaryOp::And, right) => Expression::And(boxed(left)?, boxed(right)?),
        Term::BinOp(left, BinaryOp::Or, right) => Expression::Or(boxed(left)?, boxed(right)?),
        Term::BinOp(left, BinaryOp::Pipe(None), right) => Expression::Pipe(boxed(left)?, boxed(right)?),
        Term::BinOp(left, BinaryOp::Comma, right) => Expression::Comma(boxed(left)?, boxed(right)?),
        Term::TryCatch(inner, None) => Expression::Try(boxed(inner)?),
        Term::Path(base, path) => {
            let expression = parts(value(base, depth)?, path)?;
            if ends_with_slice(&expression) {
                return Err("a slice in a condition".to_owned());
            }
            expression
        }
        Term::Call(name, arguments) => return call(name, arguments, depth),
        other => return place(other, depth),
    };
    Ok(expression)
}

fn call(name: &str, arguments: &[Term<&str>], depth: usize) -> Result<Expression, String> {
    let boxed = |term: &Term<&str>| value(term, depth).map(Box::new);
    Ok(match (name, arguments) {
        ("not", []) => Expression::Function(Function::Not),
        ("type", []) => Expression::Function(Function::Type),
        ("length", []) => Expression::Function(Function::Length),
        ("any", [condition]) => Expression::Any(boxed(condition)?),
        ("all", [condition]) => Expression::All(boxed(condition)?),
        ("has", [key]) => Expression::Of(Relation::Has, boxed(key)?),
        ("contains", [part]) => Expression::Of(Relation::Contains, boxed(part)?),
        ("startswith", [text]) => Expression::Of(Relation::StartsWith, boxed(text)?),
        ("endswith", [text]) => Expression::Of(Relation::EndsWith, boxed(text)?),
        ("test", [pattern]) => match literal(pattern) {
            Some(Value::String(pattern)) => {
                if portolan_cel::has_verbose_flag(&pattern) {
                    return Err(format!("a pattern of test: {}", portolan_cel::VERBOSE));
                }
                let classes = portolan_cel::case_folds(&pattern);
                if classes > 0 && classes + pattern.matches('[').count() > MOST_FOLDED {
                    return Err(format!(
                        "a pattern of test that ignores case and has more than {MOST_FOLDED} classes of characters"
                    ));
                }
                let mut pattern = regex::RegexBuilder::new(&pattern);
                let pattern = pattern.size_limit(LARGEST_PATTERN).build();
                Expression::Test(pattern.map_err(|why| format!("the pattern of test: {why}"))?)
            }
            _ => return Err("a pattern of test that is computed".to_owned()),
        },
        ("select", [condition]) => Expression::Select(boxed(condition)?),
        ("first", [inner]) => Expression::First(boxed(inner)?),
        _ => return Err(format!("{name} with {}", counted(arguments.len(), "argument"))),
    })
}

fn compared(comparison: Cmp) -> Comparison {
    match comparison {
        Cmp::Lt => Comparison::Less,
        Cmp::Le => Comparison::AtMost,
        Cmp::Gt => Comparison::Greater,
        Cmp::Ge => Comparison::AtLeast,
        Cmp::Eq => Comparison::Equal,
        Cmp::Ne => Comparison::Unequal,
    }
}

/// A text, a number, true, false or null.
fn literal(term: &Term<&str>) -> Option<Value> {
    match term {
        Term::Str(None, parts) => {
            let mut text = String::new();
            for part in parts {
                match part {
                    StrPart::Str(part) => text.push_str(part),
                    StrPart::Char(character) => text.push(*character),
                    StrPart::Term(_) => return None,
                }
            }
            Some(Value::String(text))
        }
        Term::Num(number) => serde_json::from_str(number).ok(),
        Term::Neg(inner) => match inner.as_ref() {
            Term::Num(number) => serde_json::from_str(&format!("-{number}")).ok(),
            _ => None,
        },
        Term::Call("null", arguments) if arguments.is_empty() => Some(Value::Null),
        Term::Call("true", arguments) if arguments.is_empty() => Some(true.into()),
        Term::Call("false", arguments) if arguments.is_empty() => Some(false.into()),
        _ => None,
    }
}

/// The name of a construct that is not accepted.
fn refused(term: &Term<&str>) -> String {
    match term {
        Term::Num(_) => "a number".to_owned(),
        Term::Str(..) => "a text, or one with an interpolation".to_owned(),
        Term::Arr(_) | Term::Obj(_) => "a construction with [] or {}".to_owned(),
        Term::Neg(_) => "arithmetic".to_owned(),
        Term::BinOp(_, BinaryOp::Pipe(Some(_)), _) | Term::Var(_) => "a variable".to_owned(),
        Term::BinOp(_, BinaryOp::Alt, _) => "the operator //".to_owned(),
        Term::BinOp(_, BinaryOp::Math(_), _) => "arithmetic".to_owned(),
        Term::BinOp(_, BinaryOp::Cmp(_) | BinaryOp::And | BinaryOp::Or, _) => {
            "a comparison outside of select".to_owned()
        }
        Term::BinOp(..) => "an assignment".to_owned(),
        Term::Label(..) | Term::Break(_) => "label".to_owned(),
        Term::Fold(name, ..) => (*name).to_owned(),
        Term::TryCatch(..) => "catch".to_owned(),
        Term::IfThenElse(..) => "if".to_owned(),
        Term::Def(..) => "def".to_owned(),
        Term::Call(name, arguments) => format!("{name} with {}", counted(arguments.len(), "argument")),
        Term::Id | Term::Recurse | Term::Path(..) => "this".to_owned(),
    }
}
