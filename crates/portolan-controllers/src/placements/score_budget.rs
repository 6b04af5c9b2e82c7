//! How many writes a second may be spent on refreshing nothing but scores.

use std::time::Duration;

use tokio::time::Instant;

/// A bucket that fills at a constant rate and holds one second's worth.
#[derive(Debug)]
pub(crate) struct Budget {
    per_second: f64,
    left: f64,
    filled_at: Instant,
    /// The last time that was given to someone who was refused.
    booked: Option<Instant>,
}

impl Budget {
    pub(crate) fn new(per_second: f64, now: Instant) -> Budget {
        let per_second = per_second.max(0.001);
        Budget {
            per_second,
            left: per_second.max(1.0),
            filled_at: now,
            booked: None,
        }
    }

    /// Spends `writes` if there is anything left, going into debt for a large one; else tells when to ask again. Everyone
    /// is given a time of their own: who asks in vain was evaluated in vain, and all of a hub may be waiting.
    pub(crate) fn spend(&mut self, writes: usize, now: Instant) -> Result<(), Instant> {
        let elapsed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.left = (self.left + elapsed * self.per_second).min(self.per_second.max(1.0));
        self.filled_at = self.filled_at.max(now);
        if self.left >= 1.0 {
            self.left -= writes as f64;
            return Ok(());
        }
        let paid = now + seconds((1.0 - self.left) / self.per_second);
        let next = self.booked.map(|booked| booked + seconds(1.0 / self.per_second));
        let at = next.map_or(paid, |next| paid.max(next));
        let booked = at.max(now + Duration::from_millis(1));
        self.booked = Some(booked);
        Err(booked)
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.min(86_400.0)).unwrap_or(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn at(milliseconds: u64) -> Instant {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        *START + Duration::from_millis(milliseconds)
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

    #[test]
    fn those_who_are_refused_together_are_not_told_to_come_back_together() {
        let mut budget = Budget::new(5.0, at(0));
        assert!(budget.spend(5, at(0)).is_ok());
        let times: Vec<_> = (0..3).map(|_| budget.spend(1, at(0)).unwrap_err()).collect();
        assert_eq!(times, [at(200), at(400), at(600)]);
        assert!(times.into_iter().all(|time| budget.spend(1, time).is_ok()));
    }
}
