//! Calls: which function is meant, and which of its overloads the arguments leave open.

use super::{Checked, Checker, macros};
use crate::error::{CompileError, cut};
use crate::function::{Function, Run, Style};
use crate::library;
use crate::library::pattern::{MOST_WRITTEN_OUT, Pattern};
use crate::library::time::{Duration, Timestamp};
use crate::node::{Call, Node, OptionalOr};
use crate::syntax::ast::Expr;
use crate::types::{Bindings, Type};
use crate::value::Val;

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        at: u32,
        target: Option<Box<Expr>>,
        name: String,
        mut arguments: Vec<Expr>,
    ) -> Checked {
        let Some(target) = target else {
            if name == "has" && arguments.len() == 1 {
                return self.has(at, arguments.remove(0));
            }
            return self.function(at, &name, Style::Global, arguments);
        };
        if let Some(qualifier) = self.qualifier(&target) {
            let qualified = format!("{qualifier}.{name}");
            if !library::overloads(&qualified, self.environment.scope).is_empty() {
                return self.function(at, &qualified, Style::Global, arguments);
            }
        }
        if let Some(name) = macros::recognise(&name, arguments.len(), self.environment.scope) {
            return self.expand(at, name, *target, arguments);
        }
        if matches!(name.as_str(), "or" | "orValue") && arguments.len() == 1 {
            return self.optional_or(at, &name, *target, arguments.remove(0));
        }
        arguments.insert(0, *target);
        self.function(at, &name, Style::Member, arguments)
    }

    fn optional_or(&mut self, at: u32, name: &str, target: Expr, argument: Expr) -> Checked {
        let (left, left_type) = self.expr(target)?;
        let (right, right_type) = self.expr(argument)?;
        let unwrap = name == "orValue";
        let expected = if unwrap {
            Type::optional(right_type.clone())
        } else {
            right_type.clone()
        };
        let is_optional = |known: &Type| matches!(known, Type::Dyn | Type::Optional(_));
        let unified = left_type
            .unify(&expected)
            .filter(|_| is_optional(&left_type) && is_optional(&expected));
        let Some(unified) = unified else {
            return Err(self.no_overload(at, name, Some(Style::Member), &[left_type, right_type]));
        };
        let result = match unified {
            Type::Optional(inner) if unwrap => inner.as_ref().clone(),
            Type::Optional(_) => unified,
            _ if unwrap => Type::Dyn,
            _ => Type::optional(Type::Dyn),
        };
        Ok((
            Node::OptionalOr(Box::new(OptionalOr { left, right, unwrap })),
            result,
        ))
    }

    /// A call of a library function; for members the receiver is the first argument.
    fn function(&mut self, at: u32, name: &str, style: Style, arguments: Vec<Expr>) -> Checked {
        let overloads = library::overloads(name, self.environment.scope);
        if overloads.is_empty() {
            return Err(self.undeclared(at, name));
        }
        let (mut nodes, mut types) = (Vec::new(), Vec::new());
        for argument in arguments {
            let (node, known) = self.expr(argument)?;
            nodes.push(node);
            types.push(known);
        }
        let mut candidates = Vec::new();
        let mut result: Option<Type> = None;
        for function in overloads.iter().filter(|function| function.style == style) {
            if let Some(known) = apply(function, &types) {
                candidates.push(*function);
                result = Some(match result {
                    None => known,
                    Some(result) => result.join(&known),
                });
            }
        }
        let Some(result) = result else {
            return Err(self.no_overload(at, name, Some(style), &types));
        };
        self.check_literal_time(at, name, &nodes)?;
        let pattern = self.literal_pattern(at, &candidates, &nodes)?;
        self.uses_scores |= name == "scores";
        Ok((
            Node::Call(Box::new(Call {
                candidates,
                arguments: nodes,
                pattern,
            })),
            result,
        ))
    }

    /// In rules a time that is written out must be one; in selectors it fails for every cluster, as in OCM.
    fn check_literal_time(&self, at: u32, name: &str, nodes: &[Node]) -> Checked<()> {
        let [Node::Literal(Val::String(text))] = nodes else {
            return Ok(());
        };
        let function = match name {
            "timestamp" if Timestamp::parse(text).is_none() => "timestamp",
            "duration" if Duration::parse(text).is_none() => "duration",
            _ => return Ok(()),
        };
        if !self.environment.scope.is_strict() {
            return Ok(());
        }
        Err(Box::new(CompileError::InvalidLiteral {
            position: self.position(at),
            function,
        }))
    }

    fn literal_pattern(
        &mut self,
        at: u32,
        candidates: &[&Function],
        nodes: &[Node],
    ) -> Checked<Option<Pattern>> {
        let takes_pattern = candidates
            .iter()
            .any(|function| matches!(function.run, Run::Pattern(_)));
        match nodes.get(1) {
            Some(Node::Literal(Val::String(pattern))) if takes_pattern => {
                let compiled = Pattern::compile(pattern, |units| {
                    *self.patterns = self.patterns.saturating_add(units);
                    match *self.patterns > MOST_WRITTEN_OUT {
                        true => Err("the patterns are too large together".to_owned()),
                        false => Ok(()),
                    }
                });
                compiled
                    .and_then(|compiled| compiled)
                    .map(Some)
                    .map_err(|reason| {
                        let position = self.position(at);
                        Box::new(CompileError::InvalidRegex {
                            position,
                            pattern: cut(pattern),
                            reason: cut(&reason),
                        })
                    })
            }
            _ => Ok(None),
        }
    }
}

/// The result type when the arguments fit the signature.
fn apply(function: &Function, arguments: &[Type]) -> Option<Type> {
    if function.parameters.len() != arguments.len() {
        return None;
    }
    let mut bindings = Bindings::default();
    let mut pairs = function.parameters.iter().zip(arguments);
    pairs
        .all(|(parameter, argument)| bindings.accept(parameter, argument))
        .then(|| bindings.instantiate(&function.result))
}
