//! Notices when another writer keeps changing our decisions.
//!
//! Two schedulers that both think they own a placement would overwrite each other for ever, and every reader of the
//! decision would see clusters come and go. One of them has to stop.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use portolan_engine::placement::PlacementKey;

/// How often our objects may be changed by others within [`WINDOW`] before we stop.
const LIMIT: usize = 5;
const WINDOW: SignedDuration = SignedDuration::from_mins(1);
/// How long we keep away before trying again.
const TRUCE: SignedDuration = SignedDuration::from_mins(5);

/// The placements that others have written to.
#[derive(Debug, Default)]
pub(crate) struct Contests {
    placements: HashMap<PlacementKey, Contest>,
}

#[derive(Debug, Default)]
struct Contest {
    overwritten: VecDeque<Timestamp>,
    truce_until: Option<Timestamp>,
}

impl Contests {
    /// We are about to write over what another writer wrote. Tells whether we still should.
    pub(crate) fn overwrite(&mut self, key: &PlacementKey, now: Timestamp) -> bool {
        let contest = self.placements.entry(key.clone()).or_default();
        let oldest = now.checked_sub(WINDOW).unwrap_or(Timestamp::MIN);
        contest.overwritten.retain(|at| *at > oldest);
        contest.overwritten.push_back(now);
        if contest.overwritten.len() > LIMIT {
            contest.overwritten.clear();
            contest.truce_until = now.checked_add(TRUCE).ok();
        }
        contest.truce_until.is_none()
    }

    /// Until when we keep away from the decisions of a placement.
    pub(crate) fn truce(&mut self, key: &PlacementKey, now: Timestamp) -> Option<Timestamp> {
        let contest = self.placements.get_mut(key)?;
        contest.truce_until = contest.truce_until.filter(|until| *until > now);
        contest.truce_until
    }

    /// The placement is gone, or was handed to someone else.
    pub(crate) fn forget(&mut self, key: &PlacementKey) {
        self.placements.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_few_changes_by_others_are_mended_and_many_in_a_minute_are_not() {
        let (mut contests, key) = (Contests::default(), PlacementKey::new("n", "p"));
        assert!((0..5).all(|second| contests.overwrite(&key, at(second))));
        assert!(!contests.overwrite(&key, at(6)));
        assert_eq!(contests.truce(&key, at(7)), Some(at(306)));
        assert_eq!(contests.truce(&key, at(306)), None);
        assert!(contests.overwrite(&key, at(307)));
    }

    #[test]
    fn changes_that_are_far_apart_are_no_contest() {
        let (mut contests, key) = (Contests::default(), PlacementKey::new("n", "p"));
        assert!((0..50).all(|round| contests.overwrite(&key, at(round * 20))));
    }
}
