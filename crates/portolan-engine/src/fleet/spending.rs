//! What expressions cost, and how much they may.

use portolan_cel::Budget;

/// Units that the expressions of one placement may cost over all clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance(pub(crate) u64);

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance(Budget::PER_PLACEMENT)
    }
}

/// An account with a limit. Costs are added in any order and never taken back, so a part of them that is beyond the limit
/// tells that all of them together are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    units: u64,
    limit: u64,
}

impl Spending {
    pub(crate) fn with_limit(limit: u64) -> Spending {
        Spending { units: 0, limit }
    }

    pub(crate) fn add(&mut self, units: u64) {
        self.units = self.units.saturating_add(units);
    }

    pub(crate) fn is_beyond(&self) -> bool {
        self.units > self.limit
    }

    /// What was spent as a part of the limit, in units of which the limit has so many.
    pub(crate) fn share_of(&self, whole: u64) -> u64 {
        let share = u128::from(self.units) * u128::from(whole) / u128::from(self.limit.max(1));
        u64::try_from(share).unwrap_or(u64::MAX).min(whole)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }
}
