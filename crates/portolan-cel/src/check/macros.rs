//! Macros: `has`, the iterating macros, `optMap` and `optFlatMap`.

use super::{BOOL, Checked, Checker};
use crate::error::CompileError;
use crate::node::{Access, Loop, LoopBody, Node, OptionalMap, Variables};
use crate::scope::Scope;
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
    TransformList,
    TransformMap,
    TransformMapEntry,
    OptionalMap,
    OptionalFlatMap,
}

/// The macro with this name and number of arguments; other calls of the name are calls of a function.
pub(super) fn recognise(name: &str, arguments: usize, scope: Scope) -> Option<(Macro, Variables)> {
    let one = match (name, arguments) {
        ("all", 2) => Some(Macro::All),
        ("exists", 2) => Some(Macro::Exists),
        ("exists_one" | "existsOne", 2) => Some(Macro::ExistsOne),
        ("filter", 2) => Some(Macro::Filter),
        ("map", 2 | 3) => Some(Macro::Map),
        ("optMap", 2) => Some(Macro::OptionalMap),
        ("optFlatMap", 2) => Some(Macro::OptionalFlatMap),
        _ => None,
    };
    let two = match (name, arguments) {
        ("all", 3) => Some(Macro::All),
        ("exists", 3) => Some(Macro::Exists),
        ("exists_one" | "existsOne", 3) => Some(Macro::ExistsOne),
        ("transformList", 3 | 4) => Some(Macro::TransformList),
        ("transformMap", 3 | 4) => Some(Macro::TransformMap),
        ("transformMapEntry", 3 | 4) => Some(Macro::TransformMapEntry),
        _ => None,
    };
    let one = one.map(|name| (name, Variables::One));
    let two = two
        .filter(|_| scope.is_strict())
        .map(|name| (name, Variables::Two));
    one.or(two)
}

impl Macro {
    fn name(self) -> &'static str {
        match self {
            Macro::All => "all",
            Macro::Exists => "exists",
            Macro::ExistsOne => "exists_one",
            Macro::Filter => "filter",
            Macro::Map => "map",
            Macro::TransformList => "transformList",
            Macro::TransformMap => "transformMap",
            Macro::TransformMapEntry => "transformMapEntry",
            Macro::OptionalMap => "optMap",
            Macro::OptionalFlatMap => "optFlatMap",
        }
    }

    /// Whether the last argument is what elements become, not a condition.
    fn transforms(self) -> bool {
        matches!(
            self,
            Macro::Map | Macro::TransformList | Macro::TransformMap | Macro::TransformMapEntry
        )
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
        self.field_type(argument.at, &known, &field)?;
        Ok((
            Node::Field {
                operand: Box::new(operand),
                name: field.into(),
                access: Access::Test,
            },
            BOOL,
        ))
    }

    /// A macro on a target; the first arguments name the variables.
    pub(super) fn expand(
        &mut self,
        at: u32,
        (name, variables): (Macro, Variables),
        target: Expr,
        arguments: Vec<Expr>,
    ) -> Checked {
        let mut arguments = arguments.into_iter();
        let mut names = Vec::new();
        for _ in 0..if variables == Variables::Two { 2 } else { 1 } {
            let Some(ExprKind::Ident(variable)) = arguments.next().map(|argument| *argument.kind) else {
                let reason = match variables {
                    Variables::One => "the first argument must be a simple name",
                    Variables::Two => "the first two arguments must be simple names",
                };
                return Err(self.invalid_macro(at, name.name(), reason));
            };
            names.push(variable);
        }
        let (range, range_type) = self.expr(target)?;
        let (first, second) = self.element_types(at, name, &range_type)?;
        let element = match variables {
            Variables::One => first.clone(),
            Variables::Two => self.place_type(&range_type),
        };
        let slot = self.locals.len();
        let bound = match variables {
            Variables::One => vec![first],
            Variables::Two => vec![element.clone(), second],
        };
        self.locals.extend(names.into_iter().zip(bound));
        let bodies = arguments.map(|argument| Ok((argument.at, self.expr(argument)?)));
        let bodies = bodies.collect::<Checked<Vec<_>>>()?;
        self.locals.truncate(slot);
        let parts = Parts {
            name,
            variables,
            range,
            slot,
            element,
        };
        self.assemble(at, parts, bodies)
    }

    fn assemble(&self, at: u32, parts: Parts, mut bodies: Vec<(u32, (Node, Type))>) -> Checked {
        let Parts {
            name,
            variables,
            range,
            slot,
            element,
        } = parts;
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
            None if name.transforms() => None,
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
                self.transformation(name, body_at, element, filter, body, body_type)?
            }
        };
        Ok((
            Node::Loop(Box::new(Loop {
                range,
                slot,
                variables,
                body,
            })),
            result,
        ))
    }

    fn transformation(
        &self,
        name: Macro,
        at: u32,
        key: Type,
        filter: Option<Node>,
        transform: Node,
        known: Type,
    ) -> Checked<(LoopBody, Type)> {
        Ok(match (name, known) {
            (Macro::TransformMap, known) => (LoopBody::Values { filter, transform }, Type::map(key, known)),
            (Macro::TransformMapEntry, known @ (Type::Map(..) | Type::Dyn)) => {
                (LoopBody::Entries { filter, transform }, known)
            }
            (Macro::TransformMapEntry, known) => {
                return Err(self.no_overload(at, name.name(), None, &[known]));
            }
            (_, known) => (LoopBody::Map { filter, transform }, Type::list(known)),
        })
    }

    /// The types of an element and of what stands beside it, for a target of this type.
    fn element_types(&self, at: u32, name: Macro, range: &Type) -> Checked<(Type, Type)> {
        let optional = matches!(name, Macro::OptionalMap | Macro::OptionalFlatMap);
        match range {
            Type::Dyn => Ok((Type::Dyn, Type::Dyn)),
            Type::Optional(inner) if optional => Ok((inner.as_ref().clone(), Type::Dyn)),
            Type::List(element) if !optional => Ok((element.as_ref().clone(), element.as_ref().clone())),
            Type::Map(key, value) if !optional => Ok((key.as_ref().clone(), value.as_ref().clone())),
            _ if optional => Err(self.no_members(at, range, "optMap and optFlatMap")),
            _ => Err(self.no_members(at, range, "iteration (it must be a list or a map)")),
        }
    }

    /// The type of an index or key.
    fn place_type(&self, range: &Type) -> Type {
        match range {
            Type::List(_) => Type::Known(Kind::Int),
            Type::Map(key, _) => key.as_ref().clone(),
            _ => Type::Dyn,
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

/// What is known of an iterating macro before its bodies.
struct Parts {
    name: Macro,
    variables: Variables,
    range: Node,
    slot: usize,
    /// The type of the first variable.
    element: Type,
}
