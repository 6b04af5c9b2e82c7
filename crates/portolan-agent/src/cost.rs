//! What the paths and expressions of one work may cost, all together: JSONPaths, expressions of jq and of CEL, for fields that
//! are ignored, values that are read back and conditions. One of them is limited by itself, but who writes a work says how
//! many there are.
//!
//! Counted in units of CEL, so that the answer does not depend on the machine or on what else it does.

use std::collections::BTreeMap;
use std::fmt;

use portolan_cel::{Budget, EvalError};

/// What all of one object may cost; Kubernetes has the same limit for the validation rules of an object.
pub(crate) const PER_OBJECT: u64 = 10_000_000;
/// What all of one work may cost: less than a second.
pub(crate) const PER_WORK: u64 = 20_000_000;
/// What a step through an object costs: it takes about as long as ten units of CEL.
const STEP: u64 = 10;
/// Most bytes of values and messages that come of the rules of one work.
pub(crate) const MOST_WORDS: usize = 256 * 1024;

/// How much may still be spent for a work.
#[derive(Debug)]
pub(crate) struct Cost {
    left: u64,
    /// What was spent for each manifest, by its number.
    spent: BTreeMap<usize, u64>,
    /// The manifest that is being paid for.
    manifest: usize,
    words: usize,
}

/// Nothing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    Object,
    Work,
}

impl fmt::Display for Spent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whose, limit) = match self {
            Spent::Object => ("object", PER_OBJECT),
            Spent::Work => ("work", PER_WORK),
        };
        write!(
            formatter,
            "the paths and expressions of one {whose} cost more than {limit} units; accepted: fewer, or ones that visit less"
        )
    }
}

impl Cost {
    /// For one look at a work.
    pub(crate) fn of_work() -> Cost {
        Cost {
            left: PER_WORK,
            spent: BTreeMap::new(),
            manifest: 0,
            words: MOST_WORDS,
        }
    }

    /// What is spent from now on is spent for the manifest of this number.
    pub(crate) fn enter(&mut self, manifest: usize) {
        self.manifest = manifest;
    }

    /// Takes units, or takes what is left and fails.
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), Spent> {
        let spent = self.spent.entry(self.manifest).or_default();
        let of_object = PER_OBJECT.saturating_sub(*spent);
        let taken = units.min(of_object).min(self.left);
        *spent += taken;
        self.left -= taken;
        match taken == units {
            true => Ok(()),
            false if of_object < units => Err(Spent::Object),
            false => Err(Spent::Work),
        }
    }

    /// Takes steps through an object.
    pub(crate) fn step(&mut self, steps: usize) -> Result<(), Spent> {
        self.spend(u64::try_from(steps).unwrap_or(u64::MAX).saturating_mul(STEP))
    }

    /// Evaluates an expression of CEL with what is left.
    pub(crate) fn evaluate<T>(
        &mut self,
        expression: impl FnOnce(&mut Budget) -> Result<T, EvalError>,
    ) -> Result<T, String> {
        let spent = self.spent.get(&self.manifest).copied().unwrap_or_default();
        let left = PER_OBJECT.saturating_sub(spent).min(self.left);
        let mut budget = Budget::of(left);
        let answer = expression(&mut budget);
        let paid = self.spend(budget.spent());
        match answer {
            // Nothing was left of what all of them may cost. Where there was, the expression is too expensive by itself.
            Err(EvalError::CostExceeded { limit }) if limit < Budget::PER_EXPRESSION => {
                let spent = paid.and_then(|()| self.spend(1)).err();
                Err(spent.unwrap_or(Spent::Work).to_string())
            }
            answer => answer.map_err(|error| error.to_string()),
        }
    }

    #[cfg(test)]
    pub(crate) fn spent_in_all(&self) -> u64 {
        PER_WORK - self.left
    }

    /// Takes room for some words; `false` if there is none.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        match self.words.checked_sub(bytes) {
            Some(left) => {
                self.words = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_gets_its_limit_and_all_objects_share_that_of_the_work() {
        let mut cost = Cost::of_work();
        assert_eq!(cost.spend(PER_OBJECT), Ok(()));
        assert_eq!(cost.spend(1), Err(Spent::Object));
        cost.enter(1);
        assert_eq!(cost.spend(PER_OBJECT - 1), Ok(()));
        cost.enter(2);
        assert_eq!(cost.spend(1), Ok(()));
        assert_eq!(cost.spend(1), Err(Spent::Work));
        cost.enter(0);
        assert_eq!(cost.spend(1), Err(Spent::Object), "what was spent stays spent");
    }

    #[test]
    fn an_expression_ends_with_what_all_may_cost_and_is_told_so() {
        let mut cost = Cost::of_work();
        cost.spend(PER_OBJECT - 10).unwrap();
        let program = portolan_cel::Program::compile_in(
            &portolan_cel::Environment::condition_rules(),
            "[1, 2, 3, 4, 5, 6, 7, 8].all(x, [1, 2, 3, 4, 5].all(y, x + y > 0))",
        )
        .unwrap();
        let answer = cost.evaluate(|budget| program.run(&[], budget).map(|_| ()));
        assert!(answer.unwrap_err().contains("10000000 units"));
        cost.enter(1);
        assert_eq!(
            cost.evaluate(|budget| program.run(&[], budget).map(|_| ())),
            Ok(())
        );
    }
}
