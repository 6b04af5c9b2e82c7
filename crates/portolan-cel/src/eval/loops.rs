//! The iterating macros. Each iteration costs one unit on top of its body.

use std::borrow::Cow;

use super::{Context, LIST_COST};
use crate::error::{EvalError, Failure};
use crate::library::Outcome;
use crate::node::{Loop, LoopBody, Node};
use crate::value::Val;

impl<'v> Context<'v, '_> {
    pub(super) fn run_loop(&mut self, node: &'v Loop) -> Outcome {
        let range = self.eval(&node.range)?;
        let result = match range {
            Cow::Borrowed(Val::List(list)) => self.run_over(node, list.iter().map(Cow::Borrowed)),
            Cow::Owned(Val::List(list)) => self.run_over(node, list.iter().cloned().map(Cow::Owned)),
            other => match other.as_ref() {
                Val::Map(map) => self.run_over(
                    node,
                    map.entries().iter().map(|(key, _)| Cow::Owned(key.to_val())),
                ),
                other => Err(EvalError::no_such_overload("iteration", &[other])),
            },
        };
        self.locals.truncate(node.slot);
        result
    }

    fn run_over(&mut self, node: &'v Loop, elements: impl Iterator<Item = Cow<'v, Val>>) -> Outcome {
        match &node.body {
            LoopBody::All(body) => self.quantify(node.slot, elements, body, false),
            LoopBody::Exists(body) => self.quantify(node.slot, elements, body, true),
            LoopBody::ExistsOne(body) => {
                let mut count = 0_usize;
                for element in elements {
                    count += usize::from(self.condition(node.slot, element, body)?);
                }
                Ok(Val::Bool(count == 1))
            }
            LoopBody::Filter(body) => {
                self.meter.charge(LIST_COST)?;
                let mut kept = Vec::new();
                for element in elements {
                    if self.condition(node.slot, element.clone(), body)? {
                        kept.push(element.into_owned());
                    }
                }
                Ok(Val::list(kept))
            }
            LoopBody::Map { filter, transform } => {
                self.meter.charge(LIST_COST)?;
                let mut mapped = Vec::new();
                for element in elements {
                    let kept = match filter {
                        Some(filter) => self.condition(node.slot, element.clone(), filter)?,
                        None => true,
                    };
                    if kept {
                        self.bind(node.slot, element)?;
                        mapped.push(self.eval(transform)?.into_owned());
                    }
                }
                Ok(Val::list(mapped))
            }
        }
    }

    /// `all` stops at the first false, `exists` at the first true; either hides errors of other elements.
    fn quantify(
        &mut self,
        slot: usize,
        elements: impl Iterator<Item = Cow<'v, Val>>,
        body: &'v Node,
        decisive: bool,
    ) -> Outcome {
        let mut failure = None;
        for element in elements {
            match self.condition(slot, element, body) {
                Ok(value) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(_) => {}
                Err(error) if error.is_overrun() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn condition(&mut self, slot: usize, element: Cow<'v, Val>, body: &'v Node) -> Result<bool, Failure> {
        self.bind(slot, element)?;
        self.boolean("condition", body)
    }

    fn bind(&mut self, slot: usize, element: Cow<'v, Val>) -> Result<(), Failure> {
        self.meter.charge(1)?;
        // An error in an inner loop may have left its variable behind.
        self.locals.truncate(slot);
        self.locals.push(element);
        Ok(())
    }
}
