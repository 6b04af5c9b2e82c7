//! The evaluator.

use serde_json::Value;

use super::compare::holds;
use super::{End, Filter, Operand, Path, Slice, Step};

/// `..` and wildcards multiply; past this an expression selects nothing a column could show.
const MAX_RESULTS: usize = 100_000;

/// Most values that are visited for the columns of one object.
const PER_OBJECT: usize = 100_000;
/// Most values that are visited for the columns of all objects of one table.
const PER_TABLE: usize = 5_000_000;

/// Bytes of text that cost as much as a value that is visited. With it the cells of a table have 320 MB at most.
const TEXT_PER_VALUE: usize = 64;

/// What may still be visited for a table. Who declares columns says how much they visit, and everybody who lists waits for it.
#[derive(Debug)]
pub(crate) struct Budget {
    table: usize,
    object: usize,
}

impl Budget {
    pub(crate) fn of_table() -> Budget {
        Budget {
            table: PER_TABLE,
            object: 0,
        }
    }

    /// The next object begins.
    pub(crate) fn next_object(&mut self) {
        self.object = PER_OBJECT.min(self.table);
    }

    /// Pays for the text of a cell; `false` if there is nothing left for it.
    pub(crate) fn pays_for(&mut self, bytes: usize) -> bool {
        self.spend(bytes / TEXT_PER_VALUE).is_ok()
    }

    fn spend(&mut self, values: usize) -> Result<(), EvaluationError> {
        let spent = values.min(self.object);
        self.object -= spent;
        self.table -= spent;
        match spent == values {
            true => Ok(()),
            false => Err(EvaluationError::TooMany),
        }
    }
}

/// Why an expression selects nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EvaluationError {
    /// An index or a filter on something that is no list.
    #[error("the value is not an array")]
    NotAnArray,
    /// No such element.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The element asked for.
        index: i64,
        /// How many there are.
        length: usize,
    },
    /// A slice that runs backwards or does not move.
    #[error("the slice runs backwards")]
    Backwards,
    /// The sides of a comparison have different types.
    #[error("incompatible types for comparison")]
    Incomparable,
    /// A side of a comparison selects several values.
    #[error("can only compare one element at a time")]
    SeveralElements,
    /// The expression selects too much.
    #[error("the expression selects too many values")]
    TooMany,
}

pub(super) fn find<'a>(
    path: &Path,
    root: &'a Value,
    budget: &mut Budget,
) -> Result<Vec<&'a Value>, EvaluationError> {
    let mut found = vec![root];
    for step in &path.steps {
        let mut next = Vec::new();
        for value in found {
            take(step, value, &mut next, budget)?;
        }
        found = next;
    }
    Ok(found)
}

fn take<'a>(
    step: &Step,
    value: &'a Value,
    found: &mut Vec<&'a Value>,
    budget: &mut Budget,
) -> Result<(), EvaluationError> {
    budget.spend(1)?;
    match step {
        Step::Field(name) => found.extend(value.get(name.as_str())),
        Step::Wildcard => {
            for child in children(value) {
                budget.spend(1)?;
                found.push(child);
            }
        }
        Step::Descend => descend(value, found, budget)?,
        Step::Union(choices) => {
            for choice in choices {
                found.extend(find(choice, value, budget)?);
            }
        }
        Step::Slice(_) if value.is_null() => {}
        Step::Slice(slice) => {
            let before = found.len();
            cut(slice, value.as_array().ok_or(EvaluationError::NotAnArray)?, found)?;
            budget.spend(found.len() - before)?;
        }
        Step::Filter(filter) => {
            for element in value.as_array().ok_or(EvaluationError::NotAnArray)? {
                if passes(filter, element, budget)? {
                    found.push(element);
                }
            }
        }
    }
    match found.len() > MAX_RESULTS {
        true => Err(EvaluationError::TooMany),
        false => Ok(()),
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// The value and everything below it that holds something. JSON that was parsed is at most 128 levels deep, which
/// bounds the recursion.
fn descend<'a>(
    value: &'a Value,
    found: &mut Vec<&'a Value>,
    budget: &mut Budget,
) -> Result<(), EvaluationError> {
    budget.spend(1)?;
    if children(value).next().is_none() {
        return Ok(());
    }
    if found.len() > MAX_RESULTS {
        return Err(EvaluationError::TooMany);
    }
    found.push(value);
    children(value).try_for_each(|child| descend(child, found, budget))
}

fn cut<'a>(slice: &Slice, list: &'a [Value], found: &mut Vec<&'a Value>) -> Result<(), EvaluationError> {
    let length = list.len() as i64;
    let from_end = |index: i64| {
        if index < 0 {
            index.saturating_add(length)
        } else {
            index
        }
    };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        End::AfterStart => start.saturating_add(1),
        End::Length => length,
        End::At(index) => from_end(index),
    };
    if start == end {
        return Ok(());
    }
    let out_of_bounds = |index| EvaluationError::OutOfBounds {
        index,
        length: list.len(),
    };
    if start < 0 || start >= length {
        return Err(out_of_bounds(start));
    }
    if end < 0 || end > length {
        return Err(out_of_bounds(end - 1));
    }
    let step = slice.step.unwrap_or(1);
    if start > end || step <= 0 {
        return Err(EvaluationError::Backwards);
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    found.extend(list[start as usize..end as usize].iter().step_by(step));
    Ok(())
}

fn passes(filter: &Filter, element: &Value, budget: &mut Budget) -> Result<bool, EvaluationError> {
    budget.spend(1)?;
    match filter {
        Filter::Exists(path) => match find(path, element, budget) {
            Err(EvaluationError::TooMany) => Err(EvaluationError::TooMany),
            // Any other error on the way means that it does not exist.
            found => Ok(found.is_ok_and(|found| !found.is_empty())),
        },
        Filter::Compare {
            left,
            operator,
            right,
        } => match (one(left, element, budget)?, one(right, element, budget)?) {
            (Some(left), Some(right)) => {
                if let (Value::String(left), Value::String(right)) = (left, right) {
                    budget.spend(left.len().min(right.len()) / TEXT_PER_VALUE)?;
                }
                holds(left, *operator, right)
            }
            _ => Ok(false),
        },
    }
}

fn one<'a>(
    operand: &'a Operand,
    element: &'a Value,
    budget: &mut Budget,
) -> Result<Option<&'a Value>, EvaluationError> {
    match operand {
        Operand::Literal(value) => Ok(Some(value)),
        Operand::Path(path) => match find(path, element, budget)?[..] {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            _ => Err(EvaluationError::SeveralElements),
        },
    }
}
