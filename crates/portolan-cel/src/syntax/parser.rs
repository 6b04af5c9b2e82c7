//! Operator-precedence parser. Recursion and tree height share one limit.

use super::ast::{Expr, ExprKind, Logic, Operator};
use super::lexer::Lexer;
use super::token::{Flaw, Token};
use crate::error::{CompileError, Position, cut};
use crate::program::MAX_NESTING;
use crate::value::Val;

pub(crate) fn parse(source: &str) -> Parsed {
    let mut parser = Parser {
        source,
        lexer: Lexer::new(source),
        at: 0,
        token: Token::End,
        depth: 0,
    };
    parser.advance()?;
    let expr = parser.expression()?;
    match parser.token {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected("end of expression")),
    }
}

pub(super) struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    /// Offset of `token`.
    pub(super) at: usize,
    pub(super) token: Token<'s>,
    depth: usize,
}

/// Errors are boxed to keep the frames of the recursive functions small.
pub(super) type Parsed<T = Expr> = Result<T, Box<CompileError>>;

impl<'s> Parser<'s> {
    pub(super) fn expression(&mut self) -> Parsed {
        self.enter()?;
        let condition = self.binary(0)?;
        let at = self.at;
        let expr = if self.take("?")? {
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            let height = condition.height.max(then.height).max(otherwise.height);
            let kind = ExprKind::Conditional {
                condition: Box::new(condition),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            };
            self.node(at, height, kind)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn binary(&mut self, lowest: u8) -> Parsed {
        let mut left = self.unary()?;
        while let Some((precedence, infix)) = self.infix() {
            if precedence < lowest {
                break;
            }
            let at = self.at;
            self.advance()?;
            let right = self.binary(precedence + 1)?;
            left = match infix {
                Infix::Operator(operator) => {
                    let height = left.height.max(right.height);
                    let (left, right) = (Box::new(left), Box::new(right));
                    self.node(
                        at,
                        height,
                        ExprKind::Binary {
                            operator,
                            left,
                            right,
                        },
                    )?
                }
                Infix::Logic(logic) => self.chain(at, logic, left, right)?,
            };
        }
        Ok(left)
    }

    fn infix(&self) -> Option<(u8, Infix)> {
        let symbol = match self.token {
            Token::Symbol(symbol) => symbol,
            Token::Ident("in") => "in",
            _ => return None,
        };
        let infix = match symbol {
            "||" => (0, Infix::Logic(Logic::Or)),
            "&&" => (1, Infix::Logic(Logic::And)),
            "==" => (2, Infix::Operator(Operator::Equal)),
            "!=" => (2, Infix::Operator(Operator::NotEqual)),
            "<" => (2, Infix::Operator(Operator::Less)),
            "<=" => (2, Infix::Operator(Operator::LessOrEqual)),
            ">" => (2, Infix::Operator(Operator::Greater)),
            ">=" => (2, Infix::Operator(Operator::GreaterOrEqual)),
            "in" => (2, Infix::Operator(Operator::In)),
            "+" => (3, Infix::Operator(Operator::Add)),
            "-" => (3, Infix::Operator(Operator::Subtract)),
            "*" => (4, Infix::Operator(Operator::Multiply)),
            "/" => (4, Infix::Operator(Operator::Divide)),
            "%" => (4, Infix::Operator(Operator::Modulo)),
            _ => return None,
        };
        Some(infix)
    }

    /// `a && b && c` becomes one node with three operands.
    fn chain(&self, at: usize, logic: Logic, mut left: Expr, right: Expr) -> Parsed {
        if let ExprKind::Logic {
            logic: same,
            operands,
        } = &mut *left.kind
            && *same == logic
        {
            left.height = left.height.max(right.height + 1);
            operands.push(right);
            return if left.height > MAX_NESTING {
                Err(self.too_deep(at))
            } else {
                Ok(left)
            };
        }
        let height = left.height.max(right.height);
        self.node(
            at,
            height,
            ExprKind::Logic {
                logic,
                operands: vec![left, right],
            },
        )
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at;
        if self.take("!")? {
            self.enter()?;
            let operand = self.unary()?;
            self.depth -= 1;
            return self.node(at, operand.height, ExprKind::Not(Box::new(operand)));
        }
        if self.take("-")? {
            if let Some(literal) = self.negative_literal()? {
                let literal = self.node(at, 0, ExprKind::Literal(literal))?;
                return self.members(literal);
            }
            self.enter()?;
            let operand = self.unary()?;
            self.depth -= 1;
            return self.node(at, operand.height, ExprKind::Negate(Box::new(operand)));
        }
        let primary = self.primary()?;
        self.members(primary)
    }

    /// The smallest int has no positive counterpart, so the sign belongs to the literal.
    fn negative_literal(&mut self) -> Parsed<Option<Val>> {
        let literal = match self.token {
            Token::Int(magnitude) => match 0_i64.checked_sub_unsigned(magnitude) {
                Some(value) => Val::Int(value),
                None => return Err(self.flaw(Flaw::new(self.at, "number literal out of range"))),
            },
            Token::Double(value) => Val::Double(-value),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(literal))
    }

    fn members(&mut self, mut operand: Expr) -> Parsed {
        loop {
            if self.take(".")? {
                operand = self.field_or_call(operand)?;
            } else if self.take("[")? {
                let at = self.at;
                let optional = self.take("?")?;
                let index = self.expression()?;
                self.expect("]")?;
                let height = operand.height.max(index.height);
                let (operand_box, index) = (Box::new(operand), Box::new(index));
                operand = self.node(
                    at,
                    height,
                    ExprKind::Index {
                        operand: operand_box,
                        index,
                        optional,
                    },
                )?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn field_or_call(&mut self, operand: Expr) -> Parsed {
        let optional = self.take("?")?;
        let at = self.at;
        let field = match self.token {
            Token::Ident(name) if !super::words::KEYWORDS.contains(&name) => name.to_owned(),
            _ => return Err(self.unexpected("a field name")),
        };
        self.advance()?;
        if !optional && self.take("(")? {
            let arguments = self.arguments()?;
            let height = arguments
                .iter()
                .map(|argument| argument.height)
                .max()
                .unwrap_or(0)
                .max(operand.height);
            let target = Some(Box::new(operand));
            return self.node(
                at,
                height,
                ExprKind::Call {
                    target,
                    name: field,
                    arguments,
                },
            );
        }
        let height = operand.height;
        self.node(
            at,
            height,
            ExprKind::Select {
                operand: Box::new(operand),
                field,
                optional,
            },
        )
    }

    /// A node whose highest child has the given height.
    pub(super) fn node(&self, at: usize, below: usize, kind: ExprKind) -> Parsed {
        let height = below + 1;
        if height > MAX_NESTING {
            return Err(self.too_deep(at));
        }
        Ok(Expr {
            at: offset(at),
            height,
            kind: Box::new(kind),
        })
    }

    /// Counts one level of recursion; the caller takes it back when it returns successfully.
    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            Err(self.too_deep(self.at))
        } else {
            Ok(())
        }
    }

    pub(super) fn advance(&mut self) -> Parsed<()> {
        match self.lexer.next() {
            Ok((at, token)) => {
                self.at = at;
                self.token = token;
                Ok(())
            }
            Err(flaw) => Err(self.flaw(flaw)),
        }
    }

    pub(super) fn take(&mut self, symbol: &'static str) -> Parsed<bool> {
        let found = self.token == Token::Symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, symbol: &'static str) -> Parsed<()> {
        if self.take(symbol)? {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{symbol}'")))
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Box<CompileError> {
        let found = match &self.token {
            Token::End => "end of expression".to_owned(),
            Token::Symbol(symbol) => format!("'{symbol}'"),
            Token::Ident(name) => format!("'{}'", cut(name)),
            Token::String(text) => format!("string \"{}\"", cut(text)),
            Token::Bytes(_) => "bytes literal".to_owned(),
            Token::Int(_) | Token::Uint(_) | Token::Double(_) => "number".to_owned(),
        };
        self.flaw(Flaw::new(self.at, format!("found {found}, expected {wanted}")))
    }

    pub(super) fn flaw(&self, flaw: Flaw) -> Box<CompileError> {
        let position = Position::of(self.source, offset(flaw.at));
        Box::new(CompileError::Syntax {
            position,
            message: flaw.message,
        })
    }

    fn too_deep(&self, at: usize) -> Box<CompileError> {
        let position = Position::of(self.source, offset(at));
        Box::new(CompileError::TooDeep {
            position,
            limit: MAX_NESTING,
        })
    }
}

enum Infix {
    Operator(Operator),
    Logic(Logic),
}

/// Sources are bounded far below 4 GiB.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
