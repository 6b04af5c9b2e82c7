//! Cost accounting. Work is charged before it is done, so an expression that would exceed the budget never gets to
//! allocate what it cannot pay for.

use crate::error::{EvalError, Failure};

/// Cost units that all expressions of one predicate may spend on one cluster, or all rules on one object.
///
/// A unit is roughly one node of the expression tree; string work costs a tenth of a unit per byte, building
/// lists and maps and walking them costs per element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    spent: u64,
    limit: u64,
}

impl Budget {
    /// What one evaluation of one expression may spend; the limit OCM sets per expression.
    pub const PER_EXPRESSION: u64 = 1_000_000;
    /// What all expressions of one predicate may spend on one cluster; the limit OCM sets.
    pub const PER_CLUSTER: u64 = 10_000_000;
    /// What the expressions of all predicates of one placement may spend on all clusters together.
    ///
    /// OCM sets no such limit, so that predicates times clusters multiply what one placement takes from all others. A
    /// hundred million units are a few seconds: ten times what one cluster may take, and 10,000 units for each cluster of
    /// a fleet of 10,000, where a usual expression takes less than a hundred.
    pub const PER_PLACEMENT: u64 = 100_000_000;

    /// A fresh budget for one predicate and one cluster.
    pub fn per_cluster() -> Budget {
        Budget {
            spent: 0,
            limit: Budget::PER_CLUSTER,
        }
    }

    /// A fresh budget for all validation rules of one object; Kubernetes sets the same limits there.
    pub fn per_object() -> Budget {
        Budget::per_cluster()
    }

    /// A fresh budget of so many units, where something else says how many these are. One expression still gets no more
    /// than [`Budget::PER_EXPRESSION`].
    pub fn of(limit: u64) -> Budget {
        Budget { spent: 0, limit }
    }

    /// Units spent so far; never more than the limit.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Opens the account of one evaluation.
    pub(crate) fn meter(&mut self) -> Meter<'_> {
        let rest = self.limit.saturating_sub(self.spent);
        if rest < Budget::PER_EXPRESSION {
            Meter {
                left: rest,
                allowed: rest,
                limit: self.limit,
                budget: self,
            }
        } else {
            let allowed = Budget::PER_EXPRESSION;
            Meter {
                left: allowed,
                allowed,
                limit: allowed,
                budget: self,
            }
        }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::per_cluster()
    }
}

/// The account of one evaluation; settles with its [`Budget`] when dropped.
pub(crate) struct Meter<'b> {
    left: u64,
    allowed: u64,
    limit: u64,
    budget: &'b mut Budget,
}

impl Meter<'_> {
    /// Takes `units`, or takes what is left and fails.
    #[inline]
    pub(crate) fn charge(&mut self, units: u64) -> Result<(), Failure> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Box::new(EvalError::CostExceeded { limit: self.limit }))
            }
        }
    }

    /// The cost of walking or copying `bytes` bytes of text.
    pub(crate) fn charge_text(&mut self, bytes: usize) -> Result<(), Failure> {
        self.charge((bytes as u64).div_ceil(10))
    }

    /// The cost of walking or copying `count` list elements or map entries.
    pub(crate) fn charge_elements(&mut self, count: usize) -> Result<(), Failure> {
        self.charge(count as u64)
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.budget.spent = self.budget.spent.saturating_add(self.allowed - self.left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_stopped_at_its_own_limit_first() {
        let mut budget = Budget::per_cluster();
        let failure = budget.meter().charge(Budget::PER_EXPRESSION + 1);
        assert_eq!(
            failure,
            Err(Box::new(EvalError::CostExceeded {
                limit: Budget::PER_EXPRESSION
            }))
        );
        assert_eq!(budget.spent(), Budget::PER_EXPRESSION);
    }

    #[test]
    fn the_last_expression_is_stopped_at_the_limit_of_the_cluster() {
        let mut budget = Budget {
            spent: Budget::PER_CLUSTER - 5,
            limit: Budget::PER_CLUSTER,
        };
        let mut meter = budget.meter();
        assert_eq!(meter.charge(5), Ok(()));
        assert_eq!(
            meter.charge(1),
            Err(Box::new(EvalError::CostExceeded {
                limit: Budget::PER_CLUSTER
            }))
        );
        drop(meter);
        assert_eq!(budget.spent(), Budget::PER_CLUSTER);
    }

    #[test]
    fn text_costs_a_tenth_of_a_unit_per_byte_rounded_up() {
        let mut budget = Budget::per_cluster();
        budget.meter().charge_text(11).unwrap();
        assert_eq!(budget.spent(), 2);
    }
}
