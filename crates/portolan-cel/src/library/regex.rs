//! The Kubernetes functions over regular expressions, and `matches`.

use super::pattern::Pattern;
use super::{BOOL, Function, INT, Outcome, Run, STRING, Style, mismatch};
use crate::context::Context;
use crate::types::Shape;
use crate::value::Val;

const STRINGS: Shape = Shape::List(&STRING);

type Find = fn(&mut Context<'_, '_>, &Pattern, &[Val]) -> Outcome;

pub(super) const FUNCTIONS: &[Function] = &[
    pattern("matches", Style::Member, &[STRING, STRING], BOOL, matches),
    pattern("matches", Style::Global, &[STRING, STRING], BOOL, matches),
    pattern("find", Style::Member, &[STRING, STRING], STRING, find),
    pattern("findAll", Style::Member, &[STRING, STRING], STRINGS, find_all),
    pattern(
        "findAll",
        Style::Member,
        &[STRING, STRING, INT],
        STRINGS,
        find_all,
    ),
];

const fn pattern(
    name: &'static str,
    style: Style,
    parameters: &'static [Shape],
    result: Shape,
    run: Find,
) -> Function {
    Function {
        name,
        style,
        parameters,
        result,
        run: Run::Pattern(run),
    }
}

fn matches(context: &mut Context<'_, '_>, pattern: &Pattern, arguments: &[Val]) -> Outcome {
    let [Val::String(text), _] = arguments else {
        return Err(mismatch("matches", arguments));
    };
    context.meter.charge(pattern.cost(text))?;
    Ok(Val::Bool(pattern.regex().is_match(text)))
}

fn find(context: &mut Context<'_, '_>, pattern: &Pattern, arguments: &[Val]) -> Outcome {
    let [Val::String(text), _] = arguments else {
        return Err(mismatch("find", arguments));
    };
    context.meter.charge(pattern.cost(text))?;
    Ok(Val::string(
        pattern.regex().find(text).map_or("", |found| found.as_str()),
    ))
}

fn find_all(context: &mut Context<'_, '_>, pattern: &Pattern, arguments: &[Val]) -> Outcome {
    let (text, most) = match arguments {
        [Val::String(text), _] => (text, -1),
        [Val::String(text), _, Val::Int(most)] => (text, *most),
        _ => return Err(mismatch("findAll", arguments)),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut pieces = Vec::new();
    let mut rest = pattern.regex().find_iter(text).take(most);
    loop {
        // A search that finds little may read on to the end of the text before it knows, so each one is paid for
        // by what is left to read.
        let read = pieces.last().map_or(0, |piece: &regex::Match<'_>| piece.end());
        context.meter.charge(pattern.cost(&text[read..]))?;
        match rest.next() {
            Some(piece) => pieces.push(piece),
            None => break,
        }
    }
    Ok(Val::list(
        pieces
            .into_iter()
            .map(|piece| Val::string(piece.as_str()))
            .collect(),
    ))
}
