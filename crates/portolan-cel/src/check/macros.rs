//! Macros: `has`, the iterating macros, `optMap` and `optFlatMap`.

use super::{BOOL, Checked, Checker};
use crate::error::CompileError;
use crate::node::{Access, Loop, LoopBody, Node, OptionalMap};
use crate::syntax::ast::{Expr, ExprKind};
use crate::types::{Kind, Type};

/// A macro called on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    OptionalMap,
    OptionalFlatMap,
}

/// The macro with this name and number of arguments; other calls of the name are calls of a function.
pub(super) fn recognise(name: &str, arguments: usize) -> Option<Macro> {
    match (name, arguments) {
        ("all", 2) => Some(Macro::All),
        ("exists", 2) => Some(Macro::Exists),
        ("exists_one" | "existsOne", 2) => Some(Macro::ExistsOne),
        ("filter", 2) => Some(Macro::Filter),
        ("map", 2 | 3) => Some(Macro::Map),
        ("optMap", 2) => Some(Macro::OptionalMap),
        ("optFlatMap", 2) => Some(Macro::OptionalFlatMap),
        _ => None,
    }
}

impl Macro {
    fn name(self) -> &'static str {
        match self {
            Macro::All => "all",
            Macro::Exists => "exists",
            Macro::ExistsOne => "exists_one",
            Macro::Filter => "filter",
            Macro::Map => "map",
            Macro::OptionalMap => "optMap",
            Macro::OptionalFlatMap => "optFlatMap",
        }
    }
}

impl Checker<'_> {
    /// `has(a.b)`
    pub(super) fn has(&mut self, at: u32, argument: Expr) -> Checked {
        let ExprKind::Select {
            operand,
            field,
            optional: false,
        } = *argument.kind
        else {
            return Err(self.invalid_macro(at, "has", "the argument must be a field selection such as a.b"));
        };
        let (operand, known) = self.expr(*operand)?;
        self.field_type(argument.at, &known)?;
        Ok((
            Node::Field {
                operand: Box::new(operand),
                name: field.into(),
                access: Access::Test,
            },
            BOOL,
        ))
    }

    /// A macro on a target; the first argument names the variable.
    pub(super) fn expand(&mut self, at: u32, name: Macro, target: Expr, arguments: Vec<Expr>) -> Checked {
        let mut arguments = arguments.into_iter();
        let Some(ExprKind::Ident(variable)) = arguments.next().map(|argument| *argument.kind) else {
            return Err(self.invalid_macro(at, name.name(), "the first argument must be a simple name"));
        };
        let (range, range_type) = self.expr(target)?;
        let element = self.element_type(at, name, &range_type)?;
        let slot = self.locals.len();
        self.locals.push((variable, element.clone()));
        let bodies = arguments.map(|argument| Ok((argument.at, self.expr(argument)?)));
        let bodies = bodies.collect::<Checked<Vec<_>>>()?;
        self.locals.truncate(slot);
        self.assemble(at, name, range, slot, element, bodies)
    }

    fn assemble(
        &self,
        at: u32,
        name: Macro,
        range: Node,
        slot: usize,
        element: Type,
        mut bodies: Vec<(u32, (Node, Type))>,
    ) -> Checked {
        let Some((body_at, (body, body_type))) = bodies.pop() else {
            return Err(self.invalid_macro(at, name.name(), "a body is missing"));
        };
        if matches!(name, Macro::OptionalMap | Macro::OptionalFlatMap) {
            let flat = name == Macro::OptionalFlatMap;
            let result = match body_type {
                body_type if !flat => Type::optional(body_type),
                Type::Dyn => Type::optional(Type::Dyn),
                Type::Optional(_) => body_type,
                _ => return Err(self.no_overload(body_at, "optFlatMap", None, &[body_type])),
            };
            return Ok((
                Node::OptionalMap(Box::new(OptionalMap {
                    target: range,
                    slot,
                    body,
                    flat,
                })),
                result,
            ));
        }
        let filter = bodies.pop();
        let condition = match &filter {
            Some((at, (_, known))) => Some((*at, known)),
            None if name == Macro::Map => None,
            None => Some((body_at, &body_type)),
        };
        if let Some((at, known)) = condition
            && !matches!(known, Type::Dyn | Type::Known(Kind::Bool))
        {
            return Err(self.no_overload(at, name.name(), None, std::slice::from_ref(known)));
        }
        let (body, result) = match name {
            Macro::All => (LoopBody::All(body), BOOL),
            Macro::Exists => (LoopBody::Exists(body), BOOL),
            Macro::ExistsOne => (LoopBody::ExistsOne(body), BOOL),
            Macro::Filter => (LoopBody::Filter(body), Type::list(element)),
            _ => {
                let filter = filter.map(|(_, (node, _))| node);
                (
                    LoopBody::Map {
                        filter,
                        transform: body,
                    },
                    Type::list(body_type),
                )
            }
        };
        Ok((Node::Loop(Box::new(Loop { range, slot, body })), result))
    }

    /// The type of the variable for a target of this type.
    fn element_type(&self, at: u32, name: Macro, range: &Type) -> Checked<Type> {
        let optional = matches!(name, Macro::OptionalMap | Macro::OptionalFlatMap);
        match range {
            Type::Dyn => Ok(Type::Dyn),
            Type::Optional(inner) if optional => Ok(inner.as_ref().clone()),
            Type::List(element) if !optional => Ok(element.as_ref().clone()),
            Type::Map(key, _) if !optional => Ok(key.as_ref().clone()),
            _ if optional => Err(self.no_members(at, range, "optMap and optFlatMap")),
            _ => Err(self.no_members(at, range, "iteration (it must be a list or a map)")),
        }
    }

    fn invalid_macro(&self, at: u32, name: &str, reason: &'static str) -> Box<CompileError> {
        Box::new(CompileError::InvalidMacro {
            position: self.position(at),
            name: name.to_owned(),
            reason,
        })
    }
}
