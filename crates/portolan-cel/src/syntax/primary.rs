//! Literals, names, lists and maps: what operators are applied to.

use super::ast::{Element, Entry, Expr, ExprKind};
use super::parser::{Parsed, Parser};
use super::token::{Flaw, Token};
use super::words::{KEYWORDS, RESERVED};
use crate::value::Val;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed {
        let at = self.at;
        let literal = match std::mem::replace(&mut self.token, Token::End) {
            Token::Int(magnitude) => match i64::try_from(magnitude) {
                Ok(value) => Val::Int(value),
                Err(_) => return Err(self.flaw(Flaw::new(at, "number literal out of range"))),
            },
            Token::Uint(value) => Val::Uint(value),
            Token::Double(value) => Val::Double(value),
            Token::String(text) => Val::string(text),
            Token::Bytes(bytes) => Val::Bytes(bytes.into()),
            Token::Ident("true") => Val::Bool(true),
            Token::Ident("false") => Val::Bool(false),
            Token::Ident("null") => Val::Null,
            Token::Symbol("(") => {
                self.advance()?;
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol("[") => return self.list(at),
            Token::Symbol("{") => return self.map(at),
            // A leading dot only says that the name is meant from the root, where all names are.
            Token::Symbol(".") => {
                self.advance()?;
                return self.name();
            }
            token => {
                self.token = token;
                return self.name();
            }
        };
        self.advance()?;
        self.node(at, 0, ExprKind::Literal(literal))
    }

    fn name(&mut self) -> Parsed {
        let at = self.at;
        let name = match self.token {
            Token::Ident(name) if RESERVED.contains(&name) => {
                return Err(self.flaw(Flaw::new(at, format!("reserved identifier: {name}"))));
            }
            Token::Ident(name) if !KEYWORDS.contains(&name) => name.to_owned(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance()?;
        if self.take("(")? {
            let arguments = self.arguments()?;
            let height = arguments
                .iter()
                .map(|argument| argument.height)
                .max()
                .unwrap_or(0);
            return self.node(
                at,
                height,
                ExprKind::Call {
                    target: None,
                    name,
                    arguments,
                },
            );
        }
        self.node(at, 0, ExprKind::Ident(name))
    }

    /// The opening parenthesis is already taken; a trailing comma is not allowed here.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        if self.take(")")? {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if !self.take(",")? {
                self.expect(")")?;
                return Ok(arguments);
            }
        }
    }

    fn list(&mut self, at: usize) -> Parsed {
        self.advance()?;
        let mut elements = Vec::new();
        while !self.take("]")? {
            let optional = self.take("?")?;
            let value = self.expression()?;
            elements.push(Element { value, optional });
            if !self.take(",")? {
                self.expect("]")?;
                break;
            }
        }
        let height = elements
            .iter()
            .map(|element| element.value.height)
            .max()
            .unwrap_or(0);
        self.node(at, height, ExprKind::List(elements))
    }

    fn map(&mut self, at: usize) -> Parsed {
        self.advance()?;
        let mut entries = Vec::new();
        while !self.take("}")? {
            let optional = self.take("?")?;
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            entries.push(Entry { key, value, optional });
            if !self.take(",")? {
                self.expect("}")?;
                break;
            }
        }
        let height = entries
            .iter()
            .map(|entry| entry.key.height.max(entry.value.height))
            .max()
            .unwrap_or(0);
        self.node(at, height, ExprKind::Map(entries))
    }
}
