//! How many writes a second may be spent on refreshing nothing but scores.

use jiff::{SignedDuration, Timestamp};

/// A bucket that fills at a constant rate and holds one second's worth.
#[derive(Debug)]
pub(crate) struct Budget {
    per_second: f64,
    left: f64,
    filled_at: Timestamp,
}

impl Budget {
    pub(crate) fn new(per_second: f64, now: Timestamp) -> Budget {
        let per_second = per_second.max(0.001);
        Budget {
            per_second,
            left: per_second.max(1.0),
            filled_at: now,
        }
    }

    /// Spends `writes` if there is anything left, going into debt for a large one; else tells when to ask again.
    pub(crate) fn spend(&mut self, writes: usize, now: Timestamp) -> Result<(), Timestamp> {
        let elapsed = now.duration_since(self.filled_at).as_secs_f64().max(0.0);
        self.left = (self.left + elapsed * self.per_second).min(self.per_second.max(1.0));
        self.filled_at = self.filled_at.max(now);
        if self.left >= 1.0 {
            self.left -= writes as f64;
            return Ok(());
        }
        let wait = ((1.0 - self.left) / self.per_second).min(86_400.0);
        let wait = SignedDuration::try_from_secs_f64(wait).unwrap_or(SignedDuration::from_secs(1));
        Err(now
            .checked_add(wait)
            .unwrap_or(now)
            .max(now + SignedDuration::from_millis(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn the_budget_lets_a_burst_through_and_then_the_rate() {
        let mut budget = Budget::new(5.0, at(0));
        assert!((0..5).all(|_| budget.spend(1, at(0)).is_ok()));
        let again = budget.spend(1, at(0)).unwrap_err();
        assert_eq!(again, at(200));
        assert!(budget.spend(1, again).is_ok());
    }

    #[test]
    fn a_large_refresh_goes_through_and_is_paid_off_afterwards() {
        let mut budget = Budget::new(5.0, at(0));
        assert!(budget.spend(40, at(0)).is_ok());
        assert_eq!(budget.spend(1, at(0)).unwrap_err(), at(7_200));
    }
}
