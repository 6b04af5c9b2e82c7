//! The iterating macros. Each iteration costs one unit on top of its body.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Evaluation, LIST_COST, MAP_COST};
use crate::error::{EvalError, Failure};
use crate::function::Outcome;
use crate::node::{Loop, LoopBody, Node, Variables};
use crate::value::{Key, Map, Val};

/// What one turn binds: the element, or the index or key followed by the element.
type Turn<'v> = (Cow<'v, Val>, Option<Cow<'v, Val>>);

impl<'v> Evaluation<'v, '_> {
    pub(super) fn run_loop(&mut self, node: &'v Loop) -> Outcome {
        let range = self.eval(&node.range)?;
        let two = node.variables == Variables::Two;
        let result = match range {
            Cow::Borrowed(Val::List(list)) => {
                let turns = list.iter().enumerate();
                self.run_over(
                    node,
                    turns.map(|(place, element)| turn(two, place, Cow::Borrowed(element))),
                )
            }
            Cow::Owned(Val::List(list)) => {
                let turns = list.iter().cloned().enumerate();
                self.run_over(
                    node,
                    turns.map(|(place, element)| turn(two, place, Cow::Owned(element))),
                )
            }
            other => match other.as_ref() {
                Val::Map(map) => self.run_over(
                    node,
                    map.entries().iter().map(|(key, value)| {
                        (Cow::Owned(key.to_val()), two.then(|| Cow::Owned(value.clone())))
                    }),
                ),
                other => Err(EvalError::no_such_overload("iteration", &[other])),
            },
        };
        self.locals.truncate(node.slot);
        result
    }

    fn run_over(&mut self, node: &'v Loop, turns: impl Iterator<Item = Turn<'v>>) -> Outcome {
        let slot = node.slot;
        match &node.body {
            LoopBody::All(body) => self.quantify(slot, turns, body, false),
            LoopBody::Exists(body) => self.quantify(slot, turns, body, true),
            LoopBody::ExistsOne(body) => {
                let mut count = 0_usize;
                for turn in turns {
                    count += usize::from(self.condition(slot, turn, body)?);
                }
                Ok(Val::Bool(count == 1))
            }
            LoopBody::Filter(body) => {
                self.context.meter.charge(LIST_COST)?;
                let mut kept = Vec::new();
                for turn in turns {
                    let element = turn.0.clone();
                    if self.condition(slot, turn, body)? {
                        kept.push(element.into_owned());
                    }
                }
                Ok(Val::list(kept))
            }
            LoopBody::Map { filter, transform } => {
                self.context.meter.charge(LIST_COST)?;
                let mut mapped = Vec::new();
                for turn in turns {
                    if let Some(value) = self.transform(slot, turn, filter.as_ref(), transform)? {
                        mapped.push(value);
                    }
                }
                Ok(Val::list(mapped))
            }
            LoopBody::Values { filter, transform } => {
                self.context.meter.charge(MAP_COST)?;
                let mut entries = Vec::new();
                for turn in turns {
                    let key = key_of(&turn.0)?;
                    self.charge_key(&key)?;
                    if let Some(value) = self.transform(slot, turn, filter.as_ref(), transform)? {
                        entries.push((key, value));
                    }
                }
                map_of(entries)
            }
            LoopBody::Entries { filter, transform } => {
                self.context.meter.charge(MAP_COST)?;
                let mut entries = Vec::new();
                for turn in turns {
                    match self.transform(slot, turn, filter.as_ref(), transform)? {
                        Some(Val::Map(map)) => {
                            self.context.meter.charge_elements(map.len())?;
                            map.entries()
                                .iter()
                                .try_for_each(|(key, _)| self.charge_key(key))?;
                            entries.extend(map.entries().iter().cloned());
                        }
                        Some(other) => {
                            return Err(EvalError::no_such_overload("transformMapEntry", &[&other]));
                        }
                        None => {}
                    }
                }
                map_of(entries)
            }
        }
    }

    /// `all` stops at the first false, `exists` at the first true; either hides errors of other elements.
    fn quantify(
        &mut self,
        slot: usize,
        turns: impl Iterator<Item = Turn<'v>>,
        body: &'v Node,
        decisive: bool,
    ) -> Outcome {
        let mut failure = None;
        for turn in turns {
            match self.condition(slot, turn, body) {
                Ok(value) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(_) => {}
                Err(error) if error.is_overrun() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    /// The value a turn becomes, unless the filter leaves it out.
    fn transform(
        &mut self,
        slot: usize,
        turn: Turn<'v>,
        filter: Option<&'v Node>,
        transform: &'v Node,
    ) -> Outcome<Option<Val>> {
        if let Some(filter) = filter
            && !self.condition(slot, turn.clone(), filter)?
        {
            return Ok(None);
        }
        self.bind(slot, turn)?;
        Ok(Some(self.eval(transform)?.into_owned()))
    }

    fn condition(&mut self, slot: usize, turn: Turn<'v>, body: &'v Node) -> Result<bool, Failure> {
        self.bind(slot, turn)?;
        self.boolean("condition", body)
    }

    /// Keys are compared to put them in order, and are as long as the author of an object likes.
    fn charge_key(&mut self, key: &Key) -> Result<(), Failure> {
        match key {
            Key::String(text) => self.context.meter.charge_text(text.len()),
            _ => Ok(()),
        }
    }

    fn bind(&mut self, slot: usize, (first, second): Turn<'v>) -> Result<(), Failure> {
        self.context.meter.charge(1)?;
        // An error in an inner loop may have left its variable behind.
        self.locals.truncate(slot);
        self.locals.push(first);
        self.locals.extend(second);
        Ok(())
    }
}

fn turn<'v>(two: bool, place: usize, element: Cow<'v, Val>) -> Turn<'v> {
    if two {
        let place = Val::Int(i64::try_from(place).unwrap_or(i64::MAX));
        (Cow::Owned(place), Some(element))
    } else {
        (element, None)
    }
}

fn key_of(value: &Val) -> Outcome<Key> {
    Key::from_val(value).ok_or_else(|| EvalError::no_such_overload("transformMap", &[value]))
}

fn map_of(entries: Vec<(Key, Val)>) -> Outcome {
    let map = Map::new(entries).map_err(|key| {
        let key = key.to_val().brief();
        Box::new(EvalError::DuplicateKey { key })
    })?;
    Ok(Val::Map(Arc::new(map)))
}
