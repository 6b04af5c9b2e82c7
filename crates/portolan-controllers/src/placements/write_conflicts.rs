//! Notices when another writer keeps changing our decisions.
//!
//! Two schedulers that both think they own a placement would overwrite each other for ever, and every reader of the
//! decision would see clusters come and go. One of them has to stop.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use portolan_engine::placement::PlacementKey;
use tokio::time::Instant;

use crate::moment::Moment;

/// How often our objects may be changed by others within [`WINDOW`] before we stop.
const LIMIT: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// How long we keep away before trying again.
const SUSPENSION: Duration = Duration::from_secs(300);

/// The placements that others have written to.
#[derive(Debug, Default)]
pub(crate) struct WriteConflicts {
    placements: HashMap<PlacementKey, Conflicts>,
}

#[derive(Debug, Default)]
struct Conflicts {
    overwritten: VecDeque<Instant>,
    /// As it is said and as it is waited for.
    suspended_until: Option<Moment>,
}

impl WriteConflicts {
    /// We are about to write over what another writer wrote. Tells whether we still should.
    pub(crate) fn overwrite(&mut self, key: &PlacementKey, now: Moment) -> bool {
        let conflicts = self.placements.entry(key.clone()).or_default();
        let is_recent = |at: &Instant| now.instant.saturating_duration_since(*at) < WINDOW;
        conflicts.overwritten.retain(is_recent);
        conflicts.overwritten.push_back(now.instant);
        if conflicts.overwritten.len() > LIMIT {
            conflicts.overwritten.clear();
            conflicts.suspended_until = Some(Moment {
                wall: now.wall.saturating_add(SUSPENSION).unwrap_or(now.wall),
                instant: now.instant + SUSPENSION,
            });
        }
        conflicts.suspended_until.is_none()
    }

    /// Until when we keep away from the decisions of a placement.
    pub(crate) fn suspended_until(&mut self, key: &PlacementKey, now: Moment) -> Option<Moment> {
        let conflicts = self.placements.get_mut(key)?;
        conflicts.suspended_until = conflicts
            .suspended_until
            .filter(|until| until.instant > now.instant);
        conflicts.suspended_until
    }

    /// The placement is gone, or was handed to someone else.
    pub(crate) fn forget(&mut self, key: &PlacementKey) {
        self.placements.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn at(seconds: i64) -> Moment {
        Timestamp::from_second(seconds).unwrap().into()
    }

    #[test]
    fn a_few_changes_by_others_are_mended_and_many_in_a_minute_are_not() {
        let (mut write_conflicts, key) = (WriteConflicts::default(), PlacementKey::new("n", "p"));
        assert!((0..5).all(|second| write_conflicts.overwrite(&key, at(second))));
        assert!(!write_conflicts.overwrite(&key, at(6)));
        let until = write_conflicts.suspended_until(&key, at(7)).unwrap();
        assert_eq!((until.wall, until.instant), (at(306).wall, at(306).instant));
        assert!(write_conflicts.suspended_until(&key, at(306)).is_none());
        assert!(write_conflicts.overwrite(&key, at(307)));
    }

    #[test]
    fn changes_that_are_far_apart_are_no_contest() {
        let (mut write_conflicts, key) = (WriteConflicts::default(), PlacementKey::new("n", "p"));
        assert!((0..50).all(|round| write_conflicts.overwrite(&key, at(round * 20))));
    }
}
