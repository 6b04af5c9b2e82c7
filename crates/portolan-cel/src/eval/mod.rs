//! Walks the nodes. Values are borrowed from the variables and the program as long as possible, so reading a label
//! neither allocates nor touches a reference count. Recursion is bounded by the height the parser allows.

mod access;
mod loops;
mod operators;

use std::borrow::Cow;
use std::sync::Arc;

use crate::budget::Meter;
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::function::{MAX_PARAMETERS, Outcome, Run};
use crate::library::pattern::Pattern;
use crate::node::{Access, Call, Node, OptionalMap, OptionalOr};
use crate::scores::Scores;
use crate::syntax::ast::{Logic, Operator};
use crate::value::{Key, Map, Val};

/// What building a list costs before its elements; the numbers are those of cel-go.
const LIST_COST: u64 = 10;
/// What building a map costs before its entries.
const MAP_COST: u64 = 30;

/// One evaluation of a program.
pub(crate) struct Evaluation<'v, 'b> {
    context: Context<'v, 'b>,
    /// Macro variables, outermost first.
    locals: Vec<Cow<'v, Val>>,
    /// The last pattern that was not a literal: in loops it is usually the same one again.
    last_pattern: Option<(Arc<str>, Pattern)>,
}

/// A value that may still belong to a variable or the program.
type Evaluated<'v> = Result<Cow<'v, Val>, Failure>;

impl<'v, 'b> Evaluation<'v, 'b> {
    pub(crate) fn new(
        variables: &'v [Option<&'v Val>],
        scores: &'v dyn Scores,
        meter: Meter<'b>,
    ) -> Evaluation<'v, 'b> {
        Evaluation {
            context: Context {
                variables,
                scores,
                meter,
            },
            locals: Vec::new(),
            last_pattern: None,
        }
    }

    pub(crate) fn eval(&mut self, node: &'v Node) -> Evaluated<'v> {
        if let Node::Literal(value) = node {
            return Ok(Cow::Borrowed(value));
        }
        self.context.meter.charge(1)?;
        match node {
            Node::Literal(value) => Ok(Cow::Borrowed(value)),
            Node::Variable(place) => self.variable(*place),
            Node::Local(slot) => Ok(self.local(*slot)),
            Node::Field {
                operand,
                name,
                access,
            } => self.field(operand, name, *access),
            Node::Index {
                operand,
                index,
                optional,
            } => self.index(operand, index, *optional),
            Node::Not(operand) => self.boolean("!_", operand).map(|value| owned(Val::Bool(!value))),
            Node::Negate(operand) => self.negate(operand),
            Node::Binary {
                operator,
                left,
                right,
            } => self.binary(*operator, left, right),
            Node::Logic { logic, operands } => {
                self.logic(*logic, operands).map(|value| owned(Val::Bool(value)))
            }
            Node::Conditional(branches) => self.conditional(branches),
            Node::List(elements) => self.list(elements).map(owned),
            Node::Map(entries) => self.map(entries).map(owned),
            Node::Call(call) => self.call(call).map(owned),
            Node::Loop(node) => self.run_loop(node).map(owned),
            Node::OptionalMap(node) => self.optional_map(node).map(owned),
            Node::OptionalOr(node) => self.optional_or(node),
        }
    }

    fn variable(&self, place: usize) -> Evaluated<'v> {
        let value = self.context.variables.get(place).copied().flatten();
        value
            .map(Cow::Borrowed)
            .ok_or_else(|| Box::new(EvalError::Unset { place }))
    }

    fn local(&self, slot: usize) -> Cow<'v, Val> {
        // The checker hands out slots in the order the loops push them, so the slot is always there.
        self.locals.get(slot).cloned().unwrap_or(Cow::Owned(Val::Null))
    }

    fn field(&mut self, operand: &'v Node, name: &str, access: Access) -> Evaluated<'v> {
        access::field(self.eval(operand)?, name, access)
    }

    fn index(&mut self, operand: &'v Node, index: &'v Node, optional: bool) -> Evaluated<'v> {
        let operand = self.eval(operand)?;
        let index = self.eval(index)?;
        if let Val::String(name) = index.as_ref() {
            self.context.meter.charge_text(name.len())?;
        }
        access::index(operand, &index, optional)
    }

    fn negate(&mut self, operand: &'v Node) -> Evaluated<'v> {
        let operand = self.eval(operand)?;
        operators::negate(&operand).map(owned)
    }

    fn binary(&mut self, operator: Operator, left: &'v Node, right: &'v Node) -> Evaluated<'v> {
        let left = self.eval(left)?;
        let right = self.eval(right)?;
        operators::binary(operator, &left, &right, &mut self.context.meter).map(owned)
    }

    fn conditional(&mut self, branches: &'v [Node; 3]) -> Evaluated<'v> {
        let [condition, then, otherwise] = branches;
        let condition = self.boolean("_?_:_", condition)?;
        self.eval(if condition { then } else { otherwise })
    }

    fn boolean(&mut self, function: &'static str, node: &'v Node) -> Result<bool, Failure> {
        match self.eval(node)?.as_ref() {
            Val::Bool(value) => Ok(*value),
            other => Err(EvalError::no_such_overload(function, &[other])),
        }
    }

    /// An operand that decides the result hides errors of the other operands, on either side.
    fn logic(&mut self, logic: Logic, operands: &'v [Node]) -> Result<bool, Failure> {
        let (decisive, name) = match logic {
            Logic::And => (false, "_&&_"),
            Logic::Or => (true, "_||_"),
        };
        let mut failure = None;
        for operand in operands {
            // Literals are free elsewhere; a long chain of them is not.
            self.context.meter.charge(1)?;
            match self.boolean(name, operand) {
                Ok(value) if value == decisive => return Ok(decisive),
                Ok(_) => {}
                Err(error) if error.is_overrun() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(!decisive), Err)
    }

    fn list(&mut self, elements: &'v [(Node, bool)]) -> Outcome {
        self.context.meter.charge(LIST_COST + elements.len() as u64)?;
        let mut values = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            let value = self.eval(element)?.into_owned();
            if let Some(value) = present(value, *optional)? {
                values.push(value);
            }
        }
        Ok(Val::list(values))
    }

    fn map(&mut self, entries: &'v [(Node, Node, bool)]) -> Outcome {
        self.context.meter.charge(MAP_COST + entries.len() as u64)?;
        let mut pairs = Vec::with_capacity(entries.len());
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let key = Key::from_val(&key).ok_or_else(|| {
                let reason = "keys must be bool, int, uint or string".to_owned();
                EvalError::invalid_value("map literal", key.brief(), reason)
            })?;
            if let Key::String(name) = &key {
                self.context.meter.charge_text(name.len())?;
            }
            let value = self.eval(value)?.into_owned();
            if let Some(value) = present(value, *optional)? {
                pairs.push((key, value));
            }
        }
        let map = Map::new(pairs).map_err(|key| EvalError::DuplicateKey {
            key: key.to_val().brief(),
        })?;
        Ok(Val::Map(Arc::new(map)))
    }

    fn call(&mut self, call: &'v Call) -> Outcome {
        let mut arguments = [const { Val::Null }; MAX_PARAMETERS];
        for (place, argument) in arguments.iter_mut().zip(&call.arguments) {
            *place = self.eval(argument)?.into_owned();
        }
        let arguments = &arguments[..call.arguments.len().min(MAX_PARAMETERS)];
        let fitting = call.candidates.iter().find(|function| {
            function
                .parameters
                .iter()
                .zip(arguments)
                .all(|(parameter, argument)| parameter.accepts(argument))
        });
        let Some(function) = fitting else {
            let name = call.candidates.first().map_or("call", |function| function.name);
            return Err(EvalError::no_such_overload(
                name,
                &arguments.iter().collect::<Vec<_>>(),
            ));
        };
        match function.run {
            Run::Plain(run) => run(&mut self.context, arguments),
            Run::Pattern(run) => match &call.pattern {
                Some(pattern) => run(&mut self.context, pattern, arguments),
                None => {
                    let pattern = self.pattern(function.name, arguments)?;
                    run(&mut self.context, &pattern, arguments)
                }
            },
        }
    }

    /// Compiles a pattern that is only known now, and charges for that.
    fn pattern(&mut self, function: &'static str, arguments: &[Val]) -> Outcome<Pattern> {
        let Some(Val::String(source)) = arguments.get(1) else {
            return Err(EvalError::no_such_overload(
                function,
                &arguments.iter().collect::<Vec<_>>(),
            ));
        };
        if let Some((last, pattern)) = &self.last_pattern
            && last == source
        {
            return Ok(pattern.clone());
        }
        let pattern = Pattern::compile(source, |units| self.context.meter.charge(units))?
            .map_err(|reason| EvalError::invalid(function, source, reason))?;
        self.last_pattern = Some((Arc::clone(source), pattern.clone()));
        Ok(pattern)
    }

    fn optional_map(&mut self, node: &'v OptionalMap) -> Outcome {
        let name = if node.flat { "optFlatMap" } else { "optMap" };
        let inner = match self.eval(&node.target)?.as_ref() {
            Val::Optional(Some(inner)) => inner.as_ref().clone(),
            Val::Optional(None) => return Ok(Val::NONE),
            other => return Err(EvalError::no_such_overload(name, &[other])),
        };
        self.locals.truncate(node.slot);
        self.locals.push(Cow::Owned(inner));
        let result = self.eval(&node.body).map(Cow::into_owned);
        self.locals.truncate(node.slot);
        match result? {
            value if !node.flat => Ok(Val::some(value)),
            value @ Val::Optional(_) => Ok(value),
            other => Err(EvalError::no_such_overload(name, &[&other])),
        }
    }

    fn optional_or(&mut self, node: &'v OptionalOr) -> Evaluated<'v> {
        let name = if node.unwrap { "orValue" } else { "or" };
        let left = self.eval(&node.left)?;
        match left.as_ref() {
            Val::Optional(Some(inner)) if node.unwrap => Ok(Cow::Owned(inner.as_ref().clone())),
            Val::Optional(Some(_)) => Ok(left),
            Val::Optional(None) => match self.eval(&node.right)? {
                right if node.unwrap || matches!(right.as_ref(), Val::Optional(_)) => Ok(right),
                right => Err(EvalError::no_such_overload(
                    name,
                    &[left.as_ref(), right.as_ref()],
                )),
            },
            other => Err(EvalError::no_such_overload(name, &[other])),
        }
    }
}

fn owned<'v>(value: Val) -> Cow<'v, Val> {
    Cow::Owned(value)
}

/// The value to put into a container; an optional element that is empty is left out.
fn present(value: Val, optional: bool) -> Result<Option<Val>, Failure> {
    match value {
        value if !optional => Ok(Some(value)),
        Val::Optional(None) => Ok(None),
        Val::Optional(Some(inner)) => Ok(Some(inner.as_ref().clone())),
        other => Err(EvalError::no_such_overload("optional element", &[&other])),
    }
}
