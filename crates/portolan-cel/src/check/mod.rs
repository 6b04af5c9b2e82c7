//! Resolves names and checks types, turning syntax into nodes. Types are known for literals, for what functions give
//! back and for what the environment declares; everything else is `dyn` and checked while evaluating.

mod calls;
mod macros;
mod operators;

use crate::environment::Environment;
use crate::error::{CompileError, Position, cut};
use crate::function::{MAX_PARAMETERS, Style};
use crate::node::{Access, Node};
use crate::syntax::ast::{Element, Entry, Expr, ExprKind, Logic, Operator};
use crate::types::{Kind, Type};
use crate::value::Val;

/// A checked expression and what is known about its value; errors are boxed to keep recursive frames small.
type Checked<T = (Node, Type)> = Result<T, Box<CompileError>>;

/// A whole expression, checked.
pub(crate) struct Outcome {
    pub(crate) root: Node,
    pub(crate) result: Type,
    /// Which variables of the environment it names, by place.
    pub(crate) uses: Vec<bool>,
    pub(crate) uses_scores: bool,
}

/// Checks a whole expression. Adds to `patterns` what compiling its patterns cost, also if the expression is refused.
pub(crate) fn check(
    source: &str,
    expr: Expr,
    environment: &Environment,
    patterns: &mut u64,
) -> Checked<Outcome> {
    let mut checker = Checker {
        source,
        patterns,
        environment,
        locals: Vec::new(),
        uses: vec![false; environment.variables.len()],
        uses_scores: false,
    };
    let (root, result) = checker.expr(expr)?;
    Ok(Outcome {
        root,
        result,
        uses: checker.uses,
        uses_scores: checker.uses_scores,
    })
}

struct Checker<'s> {
    source: &'s str,
    /// What compiling the patterns has cost.
    patterns: &'s mut u64,
    environment: &'s Environment,
    /// Macro variables in scope, innermost last.
    locals: Vec<(String, Type)>,
    uses: Vec<bool>,
    uses_scores: bool,
}

const BOOL: Type = Type::Known(Kind::Bool);

impl Checker<'_> {
    fn expr(&mut self, expr: Expr) -> Checked {
        let at = expr.at;
        match *expr.kind {
            ExprKind::Literal(value) => {
                let known = Type::Known(Kind::of(&value));
                Ok((Node::Literal(value), known))
            }
            ExprKind::Ident(name) => self.variable(at, &name),
            ExprKind::Select {
                operand,
                field,
                optional,
            } => self.select(at, *operand, field, optional),
            ExprKind::Index {
                operand,
                index,
                optional,
            } => self.index(at, *operand, *index, optional),
            ExprKind::Call {
                target,
                name,
                arguments,
            } => self.call(at, target, name, arguments),
            ExprKind::Not(operand) => self.not(*operand),
            ExprKind::Negate(operand) => self.negate(at, *operand),
            ExprKind::Binary {
                operator,
                left,
                right,
            } => self.binary(at, operator, *left, *right),
            ExprKind::Logic { logic, operands } => self.logic(logic, operands),
            ExprKind::Conditional {
                condition,
                then,
                otherwise,
            } => self.conditional(at, *condition, *then, *otherwise),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
        }
    }

    fn variable(&mut self, at: u32, name: &str) -> Checked {
        if let Some(slot) = self.locals.iter().rposition(|(local, _)| local == name) {
            return Ok((Node::Local(slot), self.locals[slot].1.clone()));
        }
        let mut variables = self.environment.variables.iter();
        if let Some(place) = variables.position(|(variable, _)| variable == name) {
            self.uses[place] = true;
            let known = self.environment.variables[place].1.clone();
            return Ok((Node::Variable(place), known));
        }
        match Kind::named(name) {
            Some(kind) => Ok((Node::Literal(Val::Type(kind)), Type::Known(Kind::Type))),
            None => Err(self.undeclared(at, name)),
        }
    }

    fn select(&mut self, at: u32, operand: Expr, field: String, optional: bool) -> Checked {
        if let Some(qualifier) = self.qualifier(&operand)
            && let Some(kind) = Kind::named(&format!("{qualifier}.{field}"))
        {
            return Ok((Node::Literal(Val::Type(kind)), Type::Known(Kind::Type)));
        }
        let (operand, operand_type) = self.expr(operand)?;
        let access = if optional { Access::Optional } else { Access::Plain };
        let field_type = self.field_type(at, &operand_type, &field)?;
        let result = match (optional, &operand_type) {
            (true, Type::Map(..) | Type::Object(_) | Type::Dyn) => Type::optional(field_type),
            _ => field_type,
        };
        Ok((
            Node::Field {
                operand: Box::new(operand),
                name: field.into(),
                access,
            },
            result,
        ))
    }

    /// The type of a field of this operand; fields of an optional are optional again.
    fn field_type(&self, at: u32, operand: &Type, field: &str) -> Checked<Type> {
        match operand {
            Type::Dyn => Ok(Type::Dyn),
            Type::Map(_, value) => Ok(value.as_ref().clone()),
            Type::Object(fields) => match fields.get(field) {
                Some(known) => Ok(known.clone()),
                None => Err(Box::new(CompileError::UndefinedField {
                    position: self.position(at),
                    field: cut(field),
                })),
            },
            Type::Optional(inner) => match self.field_type(at, inner, field)? {
                field @ Type::Optional(_) => Ok(field),
                field => Ok(Type::optional(field)),
            },
            _ => Err(self.no_members(at, operand, "field selection")),
        }
    }

    fn index(&mut self, at: u32, operand: Expr, index: Expr, optional: bool) -> Checked {
        let (operand, operand_type) = self.expr(operand)?;
        let (index, index_type) = self.expr(index)?;
        let (inner, through_optional) = match &operand_type {
            Type::Optional(inner) => (inner.as_ref().clone(), true),
            other => (other.clone(), false),
        };
        let element = match &inner {
            Type::Dyn => Type::Dyn,
            Type::List(element) if matches!(index_type, Type::Dyn | Type::Known(Kind::Int)) => {
                element.as_ref().clone()
            }
            Type::Map(key, value) if key.unify(&index_type).is_some() => value.as_ref().clone(),
            Type::List(_) | Type::Map(..) => {
                return Err(self.no_overload(at, "_[_]", None, &[operand_type, index_type]));
            }
            _ => return Err(self.no_members(at, &operand_type, "indexing")),
        };
        let result = if optional || through_optional {
            Type::optional(element)
        } else {
            element
        };
        Ok((
            Node::Index {
                operand: Box::new(operand),
                index: Box::new(index),
                optional,
            },
            result,
        ))
    }

    fn binary(&mut self, at: u32, operator: Operator, left: Expr, right: Expr) -> Checked {
        let (left, left_type) = self.expr(left)?;
        let (right, right_type) = self.expr(right)?;
        let result = operators::result_type(operator, &left_type, &right_type)
            .ok_or_else(|| self.no_overload(at, operator.name(), None, &[left_type, right_type]))?;
        Ok((
            Node::Binary {
                operator,
                left: Box::new(left),
                right: Box::new(right),
            },
            result,
        ))
    }

    fn not(&mut self, operand: Expr) -> Checked {
        let operand = self.boolean("!_", operand)?;
        Ok((Node::Not(Box::new(operand)), BOOL))
    }

    fn negate(&mut self, at: u32, operand: Expr) -> Checked {
        let (operand, known) = self.expr(operand)?;
        match known {
            Type::Dyn | Type::Known(Kind::Int | Kind::Double) => Ok((Node::Negate(Box::new(operand)), known)),
            _ => Err(self.no_overload(at, "-_", None, &[known])),
        }
    }

    fn logic(&mut self, logic: Logic, operands: Vec<Expr>) -> Checked {
        let name = match logic {
            Logic::And => "_&&_",
            Logic::Or => "_||_",
        };
        let operands = operands.into_iter().map(|operand| self.boolean(name, operand));
        Ok((
            Node::Logic {
                logic,
                operands: operands.collect::<Result<_, _>>()?,
            },
            BOOL,
        ))
    }

    fn conditional(&mut self, at: u32, condition: Expr, then: Expr, otherwise: Expr) -> Checked {
        let condition = self.boolean("_?_:_", condition)?;
        let (then, then_type) = self.expr(then)?;
        let (otherwise, otherwise_type) = self.expr(otherwise)?;
        let Some(result) = then_type.unify(&otherwise_type) else {
            return Err(self.no_overload(at, "_?_:_", None, &[BOOL, then_type, otherwise_type]));
        };
        Ok((Node::Conditional(Box::new([condition, then, otherwise])), result))
    }

    /// An operand that must be a bool as far as its type is known.
    fn boolean(&mut self, function: &str, operand: Expr) -> Checked<Node> {
        let at = operand.at;
        let (node, known) = self.expr(operand)?;
        match known {
            Type::Dyn | BOOL => Ok(node),
            _ => Err(self.no_overload(at, function, None, &[known])),
        }
    }

    fn list(&mut self, elements: Vec<Element>) -> Checked {
        let mut nodes = Vec::with_capacity(elements.len());
        let mut common: Option<Type> = None;
        for element in elements {
            let at = element.value.at;
            let (node, known) = self.expr_or_optional(element.value, element.optional)?;
            common = Some(self.agree(at, common, known)?);
            nodes.push((node, element.optional));
        }
        Ok((Node::List(nodes), Type::list(common.unwrap_or(Type::Dyn))))
    }

    fn map(&mut self, entries: Vec<Entry>) -> Checked {
        let mut nodes = Vec::with_capacity(entries.len());
        let mut common: Option<(Type, Type)> = None;
        for entry in entries {
            let (key_at, value_at) = (entry.key.at, entry.value.at);
            let (key, key_type) = self.expr(entry.key)?;
            let (value, value_type) = self.expr_or_optional(entry.value, entry.optional)?;
            let key_type = if matches!(key_type, Type::Known(_)) {
                key_type
            } else {
                Type::Dyn
            };
            let (keys, values) = common.map_or((None, None), |(keys, values)| (Some(keys), Some(values)));
            common = Some((
                self.agree(key_at, keys, key_type)?,
                self.agree(value_at, values, value_type)?,
            ));
            nodes.push((key, value, entry.optional));
        }
        let (keys, values) = common.unwrap_or((Type::Dyn, Type::Dyn));
        Ok((Node::Map(nodes), Type::map(keys, values)))
    }

    /// The type that elements so far and the next one have in common. In rules they must have one.
    fn agree(&self, at: u32, common: Option<Type>, next: Type) -> Checked<Type> {
        match common {
            None => Ok(next),
            Some(common) if self.environment.scope.is_strict() => common.unify(&next).ok_or_else(|| {
                Box::new(CompileError::Mixed {
                    position: self.position(at),
                    expected: cut(&common.to_string()),
                    found: cut(&next.to_string()),
                })
            }),
            Some(common) => Ok(common.join(&next)),
        }
    }

    /// A container element; for an optional one the type is that of the value inside.
    fn expr_or_optional(&mut self, value: Expr, optional: bool) -> Checked {
        let at = value.at;
        let (node, known) = self.expr(value)?;
        match known {
            known if !optional => Ok((node, known)),
            Type::Dyn => Ok((node, Type::Dyn)),
            Type::Optional(inner) => Ok((node, inner.as_ref().clone())),
            known => Err(self.no_overload(at, "optional element", None, &[known])),
        }
    }

    /// The dotted name an expression spells, when it cannot be a variable.
    fn qualifier(&self, expr: &Expr) -> Option<String> {
        match &*expr.kind {
            ExprKind::Ident(name) => {
                let mut known = self.environment.variables.iter().chain(&self.locals);
                let variable = known.any(|(known, _)| known == name);
                (!variable).then(|| name.clone())
            }
            ExprKind::Select {
                operand,
                field,
                optional: false,
            } => Some(format!("{}.{field}", self.qualifier(operand)?)),
            _ => None,
        }
    }

    fn position(&self, at: u32) -> Position {
        Position::of(self.source, at)
    }

    fn undeclared(&self, at: u32, name: &str) -> Box<CompileError> {
        Box::new(CompileError::Undeclared {
            position: self.position(at),
            name: cut(name),
        })
    }

    fn no_members(&self, at: u32, operand: &Type, access: &'static str) -> Box<CompileError> {
        let operand = cut(&operand.to_string());
        Box::new(CompileError::NoMembers {
            position: self.position(at),
            operand,
            access,
        })
    }

    fn no_overload(
        &self,
        at: u32,
        function: &str,
        style: Option<Style>,
        types: &[Type],
    ) -> Box<CompileError> {
        let names: Vec<String> = types
            .iter()
            .take(MAX_PARAMETERS + 1)
            .map(|known| cut(&known.to_string()))
            .collect();
        let operands = match (style, names.as_slice()) {
            (Some(Style::Member), [receiver, rest @ ..]) => format!("{receiver}.({})", rest.join(", ")),
            _ => format!("({})", names.join(", ")),
        };
        let position = self.position(at);
        Box::new(CompileError::NoMatchingOverload {
            position,
            function: cut(function),
            operands,
        })
    }
}
