//! The strings extension of cel-go. Positions count code points; results are paid for before they are built.

use super::text::{index_of_offset, length, position, position_or_end};
use super::{Function, INT, Outcome, STRING, format_string, global, member, mismatch};
use crate::context::Context;
use crate::error::EvalError;
use crate::types::Shape;
use crate::value::Val;

const STRINGS: Shape = Shape::List(&STRING);
const ANYTHING: Shape = Shape::List(&Shape::Any);

pub(super) const FUNCTIONS: &[Function] = &[
    member("charAt", &[STRING, INT], STRING, char_at),
    member("format", &[STRING, ANYTHING], STRING, format_string::format),
    member("indexOf", &[STRING, STRING], INT, index_of),
    member("indexOf", &[STRING, STRING, INT], INT, index_of),
    member("lastIndexOf", &[STRING, STRING], INT, last_index_of),
    member("lastIndexOf", &[STRING, STRING, INT], INT, last_index_of),
    member("join", &[STRINGS], STRING, join),
    member("join", &[STRINGS, STRING], STRING, join),
    member("lowerAscii", &[STRING], STRING, lower_ascii),
    member("upperAscii", &[STRING], STRING, upper_ascii),
    global("strings.quote", &[STRING], STRING, quote),
    member("replace", &[STRING, STRING, STRING], STRING, replace),
    member("replace", &[STRING, STRING, STRING, INT], STRING, replace),
    member("split", &[STRING, STRING], STRINGS, split),
    member("split", &[STRING, STRING, INT], STRINGS, split),
    member("substring", &[STRING, INT], STRING, substring),
    member("substring", &[STRING, INT, INT], STRING, substring),
    member("trim", &[STRING], STRING, trim),
    member("reverse", &[STRING], STRING, reverse),
];

fn char_at(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text), Val::Int(index)] = arguments else {
        return Err(mismatch("charAt", arguments));
    };
    context.meter.charge_text(text.len())?;
    let at = position("charAt", text, *index)?;
    let end = text[at..]
        .chars()
        .next()
        .map_or(at, |character| at + character.len_utf8());
    Ok(Val::string(&text[at..end]))
}

fn index_of(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (text, part, from) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, 0),
        [Val::String(text), Val::String(part), Val::Int(from)] => (text, part, *from),
        _ => return Err(mismatch("indexOf", arguments)),
    };
    context.meter.charge_text(text.len() + part.len())?;
    let start = position_or_end("indexOf", text, from)?;
    Ok(match text[start..].find(part.as_ref()) {
        Some(found) => index_of_offset(text, start + found),
        None => Val::Int(-1),
    })
}

fn last_index_of(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (text, part, upto) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, None),
        [Val::String(text), Val::String(part), Val::Int(upto)] => (text, part, Some(*upto)),
        _ => return Err(mismatch("lastIndexOf", arguments)),
    };
    context.meter.charge_text(text.len() + part.len())?;
    let end = match upto {
        // The match may start at the given index, so it may end that much later, and no later: behind the index there may be
        // characters of other lengths.
        Some(upto) => {
            let start = position_or_end("lastIndexOf", text, upto)?;
            if start == text.len() && !part.is_empty() {
                return Ok(Val::Int(-1));
            }
            text.floor_char_boundary(start + part.len())
        }
        None => text.len(),
    };
    Ok(match text[..end].rfind(part.as_ref()) {
        Some(found) => index_of_offset(text, found),
        None => Val::Int(-1),
    })
}

fn join(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (parts, separator) = match arguments {
        [Val::List(parts)] => (parts, ""),
        [Val::List(parts), Val::String(separator)] => (parts, separator.as_ref()),
        _ => return Err(mismatch("join", arguments)),
    };
    context.meter.charge_elements(parts.len())?;
    context
        .meter
        .charge_text(separator.len().saturating_mul(parts.len()))?;
    let mut joined = String::new();
    for (place, part) in parts.iter().enumerate() {
        let Val::String(part) = part else {
            return Err(EvalError::no_such_overload("join", &[part]));
        };
        context.meter.charge_text(part.len())?;
        if place > 0 {
            joined.push_str(separator);
        }
        joined.push_str(part);
    }
    Ok(Val::string(joined))
}

fn lower_ascii(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("lowerAscii", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::string(text.to_ascii_lowercase()))
}

fn upper_ascii(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("upperAscii", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::string(text.to_ascii_uppercase()))
}

fn quote(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("strings.quote", arguments));
    };
    context.meter.charge_text(text.len())?;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        let escape = match character {
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{b}' => "\\v",
            '\\' => "\\\\",
            '"' => "\\\"",
            _ => {
                quoted.push(character);
                continue;
            }
        };
        quoted.push_str(escape);
    }
    quoted.push('"');
    Ok(Val::string(quoted))
}

fn replace(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (text, old, new, most) = match arguments {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [
            Val::String(text),
            Val::String(old),
            Val::String(new),
            Val::Int(most),
        ] => (text, old, new, *most),
        _ => return Err(mismatch("replace", arguments)),
    };
    context.meter.charge_text(text.len() + old.len())?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let count = text.matches(old.as_ref()).take(most).count();
    context
        .meter
        .charge_text(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Val::string(text.replacen(old.as_ref(), new, count)))
}

fn split(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (text, separator, most) = match arguments {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(most)] => (text, separator, *most),
        _ => return Err(mismatch("split", arguments)),
    };
    context.meter.charge_text(text.len() + separator.len())?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if separator.is_empty() {
        return split_characters(context, text, most);
    }
    let mut parts = Vec::new();
    for part in text.splitn(most, separator.as_ref()) {
        context.meter.charge(1)?;
        parts.push(Val::string(part));
    }
    Ok(Val::list(parts))
}

/// An empty separator splits between code points; the last part takes the rest.
fn split_characters(context: &mut Context<'_, '_>, text: &str, most: usize) -> Outcome {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if parts.len() == most {
            break;
        }
        let end = if parts.len() + 1 == most {
            rest.len()
        } else {
            character.len_utf8()
        };
        context.meter.charge(1)?;
        parts.push(Val::string(&rest[..end]));
        rest = &rest[end..];
    }
    Ok(Val::list(parts))
}

fn substring(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (text, start, end) = match arguments {
        [Val::String(text), Val::Int(start)] => (text, *start, None),
        [Val::String(text), Val::Int(start), Val::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(mismatch("substring", arguments)),
    };
    context.meter.charge_text(text.len())?;
    let from = position("substring", text, start)?;
    let to = match end {
        Some(end) => position("substring", text, end)?,
        None => text.len(),
    };
    let part = text.get(from..to).ok_or_else(|| {
        let reason = format!("the end lies before the start, in a text of {}", length(text));
        EvalError::invalid_value(
            "substring",
            format!("{start}, {}", end.unwrap_or_default()),
            reason,
        )
    })?;
    Ok(Val::string(part))
}

fn trim(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("trim", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::string(text.trim()))
}

fn reverse(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("reverse", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::string(text.chars().rev().collect::<String>()))
}
