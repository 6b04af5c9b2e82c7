//! How much an expression may do for one object, and why a walk over the object ends.

use crate::cost::Cost;

/// Most steps for one object. A step is a value that is visited, or 64 bytes that are compared.
const MOST_STEPS: usize = 1_000_000;

/// How much may still be done for one object, whatever the number of its expressions.
#[derive(Debug)]
pub(in crate::plan) struct Steps<'c> {
    left: usize,
    cost: &'c mut Cost,
}

impl<'c> Steps<'c> {
    pub(in crate::plan) fn new(cost: &'c mut Cost) -> Steps<'c> {
        Steps {
            left: MOST_STEPS,
            cost,
        }
    }

    /// For what is not of jq.
    pub(in crate::plan) fn cost(&mut self) -> &mut Cost {
        self.cost
    }
}

/// Why a walk ended.
pub(super) enum End {
    /// The expression has no answer for the value, as `.a` of a number.
    Error(String),
    /// There is too much to do.
    Bound(String),
}

pub(super) type Found<T> = Result<T, End>;

impl Steps<'_> {
    pub(super) fn take(&mut self, number: usize) -> Found<()> {
        match self.left.checked_sub(number) {
            Some(left) => self.left = left,
            None => {
                let why = format!("more than {MOST_STEPS} steps; accepted: an expression that does less");
                return Err(End::Bound(why));
            }
        }
        self.cost
            .step(number)
            .map_err(|spent| End::Bound(spent.to_string()))
    }
}
