//! The parser. It reads characters, never panics, and bounds length and nesting.

use serde_json::{Number, Value};

use super::{End, Filter, Operand, Operator, Path, Slice, Step};

/// Longer than any column anybody wrote; bounds the work of one expression.
const MAX_LENGTH: usize = 4096;

/// Filters inside filters. Kubernetes sets no bound, but its expressions have one level.
const MAX_NESTING: usize = 8;

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// Something is open at the end of the text.
    #[error("unterminated {0}")]
    Unterminated(&'static str),
    /// A character that starts nothing.
    #[error("unrecognized character in action: {0:?}")]
    Character(char),
    /// What stands between brackets is neither index, slice, key nor filter.
    #[error("invalid array index {0}")]
    Index(String),
    /// A word without a leading dot.
    #[error("unrecognized identifier {0}")]
    Identifier(String),
    /// `....`
    #[error("invalid multiple recursive descent")]
    Descent,
    /// Something like `=~` between the sides of a filter.
    #[error("unrecognized filter operator {0}")]
    Operator(String),
    /// Too long, or filters nested too deep.
    #[error("the expression is too long or too deeply nested")]
    TooLarge,
}

pub(super) fn path(text: &str) -> Result<Path, ParseError> {
    if text.len() > MAX_LENGTH {
        return Err(ParseError::TooLarge);
    }
    let trimmed = text.trim();
    let inner = match trimmed.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or(ParseError::Unterminated("action"))?,
        None => trimmed,
    };
    let mut parser = Parser {
        rest: inner,
        nesting: 0,
    };
    parser.steps()
}

struct Parser<'t> {
    rest: &'t str,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn steps(&mut self) -> Result<Path, ParseError> {
        let mut steps = Vec::new();
        loop {
            if self.eat("[?(") {
                steps.push(self.filter()?);
            } else if self.eat("..") {
                if steps.last() == Some(&Step::Descend) {
                    return Err(ParseError::Descent);
                }
                steps.push(Step::Descend);
                if self.peek().is_some_and(|next| is_word(next) || next == '*') {
                    steps.push(self.field()?);
                }
            } else if self.eat("[") {
                steps.extend(self.bracket()?);
            } else {
                match self.next() {
                    None => return Ok(Path { steps }),
                    Some(' ' | '@' | '$') => {}
                    // A lone dot is the object itself.
                    Some('.') if self.peek().is_none_or(is_terminator) => {}
                    Some('.') => steps.push(self.field()?),
                    Some(other) if is_word(other) => {
                        let rest = self.rest.split(is_terminator).next().unwrap_or_default();
                        return Err(ParseError::Identifier(format!("{other}{rest}")));
                    }
                    Some(other) => return Err(ParseError::Character(other)),
                }
            }
        }
    }

    /// A field name up to the next character that ends one; a backslash takes any character into the name.
    fn field(&mut self) -> Result<Step, ParseError> {
        let (mut name, mut escaped) = (String::new(), false);
        while let Some(next) = self.peek() {
            if next == '\\' {
                self.next();
                escaped = true;
                name.push(self.next().ok_or(ParseError::Unterminated("escape"))?);
            } else if is_terminator(next) {
                break;
            } else {
                self.next();
                name.push(next);
            }
        }
        Ok(if name == "*" && !escaped {
            Step::Wildcard
        } else {
            Step::Field(name)
        })
    }

    /// What stands after `[`: index, slice, `*`, quoted key, or several of them.
    fn bracket(&mut self) -> Result<Vec<Step>, ParseError> {
        let (text, rest) = self
            .rest
            .split_once(']')
            .ok_or(ParseError::Unterminated("array"))?;
        self.rest = rest;
        if !text.contains(',') {
            return self.choice(text);
        }
        let choices = text.split(',').map(|choice| {
            Ok(Path {
                steps: self.choice(choice.trim_matches(' '))?,
            })
        });
        Ok(vec![Step::Union(choices.collect::<Result<_, _>>()?)])
    }

    fn choice(&self, text: &str) -> Result<Vec<Step>, ParseError> {
        let key = text
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''))
            .filter(|key| !key.contains('\''));
        match key {
            // Kubernetes reads a quoted key like a path, so the dots of a label have to be escaped here too.
            Some(key) => Ok(self.inner(&format!(".{key}")).steps()?.steps),
            None => slice(text).map(|slice| vec![Step::Slice(slice)]),
        }
    }

    /// A quoted text up to `quote`, which was already read.
    fn quoted(&mut self, quote: char) -> Result<String, ParseError> {
        let mut text = String::new();
        loop {
            match self.next().ok_or(ParseError::Unterminated("quoted string"))? {
                '\\' => text.push(
                    match self.next().ok_or(ParseError::Unterminated("quoted string"))? {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        other => other,
                    },
                ),
                next if next == quote => return Ok(text),
                next => text.push(next),
            }
        }
    }

    /// What stands after `[?(`, up to `)]`.
    fn filter(&mut self) -> Result<Step, ParseError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(ParseError::TooLarge);
        }
        let text = self.filter_text()?;
        let filter = match operator_in(text) {
            None => Filter::Exists(self.inner(text).steps()?),
            Some((left, operator, right)) => Filter::Compare {
                left: self.inner(left).operand()?,
                operator: operator_of(operator)?,
                right: self.inner(right).operand()?,
            },
        };
        self.nesting -= 1;
        Ok(Step::Filter(Box::new(filter)))
    }

    fn inner<'i>(&self, text: &'i str) -> Parser<'i> {
        Parser {
            rest: text.trim(),
            nesting: self.nesting,
        }
    }

    /// Cuts the text of a filter off, minding quotes and inner filters.
    fn filter_text(&mut self) -> Result<&'t str, ParseError> {
        let mut depth = 0usize;
        let mut quote = None;
        let mut escaped = false;
        for (at, next) in self.rest.char_indices() {
            match (next, quote) {
                _ if escaped => escaped = false,
                ('\\', _) => escaped = true,
                ('"' | '\'', None) => quote = Some(next),
                (_, Some(open)) if open == next => quote = None,
                (_, Some(_)) => {}
                ('(', None) => depth += 1,
                (')', None) if depth == 0 => {
                    let text = &self.rest[..at];
                    self.rest = &self.rest[at + 1..];
                    return match self.eat("]") {
                        true => Ok(text),
                        false => Err(ParseError::Unterminated("array")),
                    };
                }
                (')', None) => depth -= 1,
                _ => {}
            }
        }
        Err(ParseError::Unterminated("filter"))
    }

    fn operand(&mut self) -> Result<Operand, ParseError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.next();
                let text = self.quoted(quote)?;
                self.end()?;
                Ok(Operand::Literal(Value::String(text)))
            }
            Some(first) if first.is_ascii_digit() || first == '-' || first == '+' => {
                let digits = self.rest.trim_start_matches('+');
                let number = match digits.parse::<i64>() {
                    Ok(integer) => Some(Number::from(integer)),
                    Err(_) => digits.parse::<f64>().ok().and_then(Number::from_f64),
                };
                number
                    .map(|number| Operand::Literal(Value::Number(number)))
                    .ok_or_else(|| ParseError::Identifier(self.rest.to_owned()))
            }
            _ => match self.rest {
                "true" => Ok(Operand::Literal(Value::Bool(true))),
                "false" => Ok(Operand::Literal(Value::Bool(false))),
                _ => Ok(Operand::Path(self.steps()?)),
            },
        }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn end(&mut self) -> Result<(), ParseError> {
        self.skip_spaces();
        self.peek()
            .map_or(Ok(()), |other| Err(ParseError::Character(other)))
    }
}

/// An index or a slice; nothing at all is the first element.
fn slice(text: &str) -> Result<Slice, ParseError> {
    let invalid = || ParseError::Index(text.to_owned());
    let part = |part: &str| match part {
        "" => Ok(None),
        digits if digits.starts_with('+') => Err(invalid()),
        digits => digits.parse::<i64>().map(Some).map_err(|_| invalid()),
    };
    let parts: Vec<&str> = text.split(':').collect();
    Ok(match parts[..] {
        ["*"] => Slice {
            start: None,
            end: End::Length,
            step: None,
        },
        [index] => Slice {
            start: part(index)?,
            end: End::AfterStart,
            step: None,
        },
        [start, end] => Slice {
            start: part(start)?,
            end: end_of(part(end)?),
            step: None,
        },
        [start, end, step] => Slice {
            start: part(start)?,
            end: end_of(part(end)?),
            step: part(step)?,
        },
        _ => return Err(invalid()),
    })
}

/// Splits `left op right` at the first operator outside quotes and brackets.
fn operator_in(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |next: char| matches!(next, '=' | '!' | '<' | '>');
    let mut quote = None;
    let mut depth = 0usize;
    for (at, next) in text.char_indices() {
        match (next, quote) {
            ('"' | '\'', None) => quote = Some(next),
            (_, Some(open)) if open == next => quote = None,
            (_, Some(_)) => {}
            ('[', None) => depth += 1,
            (']', None) => depth = depth.saturating_sub(1),
            (next, None) if depth == 0 && is_operator(next) => {
                let (left, rest) = text.split_at(at);
                let right = rest.trim_start_matches(is_operator);
                return Some((left, &rest[..rest.len() - right.len()], right));
            }
            _ => {}
        }
    }
    None
}

fn operator_of(text: &str) -> Result<Operator, ParseError> {
    Ok(match text {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        other => return Err(ParseError::Operator(other.to_owned())),
    })
}

fn end_of(end: Option<i64>) -> End {
    end.map_or(End::Length, End::At)
}

fn is_word(next: char) -> bool {
    next == '_' || next.is_alphanumeric()
}

fn is_terminator(next: char) -> bool {
    matches!(
        next,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}
