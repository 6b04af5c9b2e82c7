//! How much it means that an object is missing.
//!
//! A complete list that lacks an object says that it is gone, unless the kind itself has only just come (back): then the
//! objects may still be on their way, one by one, from a backup. A process that saw them before knows
//! (`portolan_runtime::watch` holds them back); one that has just started does not, and goes by the definition:
//!
//! * A kind that was not served when the process started, and is now, may lack anything.
//! * A definition that was created after an object that speaks of others (a decision, a profile) is not the one that
//!   those were of.
//! * Where the definition may not be read, a kind of which nothing at all is there may lack anything.
//!
//! After a while that is set, counted from when the kind was served or created, what is missing is gone.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use portolan_runtime::watch::Delta;
use tokio::time::Instant;

use crate::moment::Moment;

/// What is known of the age of one kind. Only what comes before the first complete list counts.
#[derive(Debug, Default)]
pub(crate) struct CrdAge {
    crd_creation: CrdCreation,
    served_late: bool,
    has_objects: bool,
    complete: bool,
    /// Since when it is complete, or known not to be served.
    since: Option<Timestamp>,
    /// When the time is over, once somebody asked.
    ends: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
enum CrdCreation {
    /// The age was not requested.
    #[default]
    Unasked,
    /// It may not be read.
    Untold,
    At(Timestamp),
}

/// The time in which something that is missing may still be on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestoreWindow {
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    /// The same on the monotonic clock, as it was seen when the time began.
    pub(crate) ends: Instant,
    /// It holds for what objects that are older than this speak of; for everything when there is no such time.
    older_than: Option<Timestamp>,
}

impl RestoreWindow {
    /// Whether what an object speaks of may be on its way.
    pub(crate) fn covers(&self, created: Option<Timestamp>) -> bool {
        match (self.older_than, created) {
            (Some(founded), Some(created)) => created < founded,
            _ => true,
        }
    }

    /// Whether it holds whatever an object's age.
    pub(crate) fn covers_everything(&self) -> bool {
        self.older_than.is_none()
    }
}

impl CrdAge {
    /// Takes note of what the watch says.
    pub(crate) fn hear<K>(&mut self, delta: &Delta<K>) {
        if self.complete {
            return;
        }
        match delta {
            Delta::CrdCreated(Some(at)) => self.crd_creation = CrdCreation::At(*at),
            Delta::CrdCreated(None) => self.crd_creation = CrdCreation::Untold,
            Delta::Applied(_) | Delta::Unreadable(_) => self.has_objects = true,
            Delta::NotServed => self.served_late = true,
            Delta::Synced => {
                self.complete = true;
                self.since = None;
                self.ends = None;
            }
            Delta::Deleted(_) | Delta::DeletionHeld(_) | Delta::ListStarted => {}
        }
    }

    /// Whether something that is missing may be on its way, and until when. To be asked as soon as the kind is complete:
    /// a process knows no earlier time.
    pub(crate) fn grace(&mut self, now: Moment, length: Duration) -> Option<RestoreWindow> {
        if !self.complete && !self.served_late {
            return None;
        }
        let seen = *self.since.get_or_insert(now.wall);
        let untold = matches!(self.crd_creation, CrdCreation::Untold) && !self.has_objects;
        let (since, older_than) = match self.crd_creation {
            _ if self.served_late || untold => (seen, None),
            CrdCreation::At(founded) => (founded, Some(founded)),
            _ => return None,
        };
        let length_or_far = length.min(Duration::from_secs(365 * 24 * 3600));
        let length = SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
        let until = since.checked_add(length).unwrap_or(Timestamp::MAX);
        // A clock that is behind the server's must not make the time longer than it is.
        let ends = *self
            .ends
            .get_or_insert(now.when(until).min(now.instant + length_or_far));
        (now.instant < ends).then_some(RestoreWindow {
            since,
            until,
            ends,
            older_than,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LENGTH: Duration = Duration::from_secs(100);

    /// A second on both clocks.
    fn on(second: i64) -> Moment {
        at(second).into()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn after(deltas: &[Delta<()>]) -> CrdAge {
        let mut crd_age = CrdAge::default();
        deltas.iter().for_each(|delta| crd_age.hear(delta));
        crd_age
    }

    #[test]
    fn a_kind_that_was_not_served_at_first_may_lack_anything_for_a_while() {
        let mut crd_age = after(&[
            Delta::NotServed,
            Delta::ListStarted,
            Delta::CrdCreated(None),
            Delta::Synced,
        ]);
        let grace = crd_age.grace(on(1000), LENGTH).unwrap();
        assert_eq!(grace.until, at(1100));
        assert!(grace.covers(Some(at(1050))) && grace.covers(None));
        assert!(crd_age.grace(on(1099), LENGTH).is_some());
        assert!(crd_age.grace(on(1100), LENGTH).is_none());
    }

    #[test]
    fn a_definition_is_not_the_one_that_older_objects_spoke_of() {
        let mut crd_age = after(&[
            Delta::ListStarted,
            Delta::CrdCreated(Some(at(1000))),
            Delta::Synced,
        ]);
        let grace = crd_age.grace(on(1050), LENGTH).unwrap();
        assert_eq!((grace.since, grace.until), (at(1000), at(1100)));
        assert!(grace.covers(Some(at(999))) && grace.covers(None));
        assert!(!grace.covers(Some(at(1000))), "it may have been written since");
        assert!(crd_age.grace(on(1100), LENGTH).is_none());
    }

    #[test]
    fn where_definitions_may_not_be_read_a_kind_without_objects_may_lack_anything() {
        let mut empty = after(&[Delta::ListStarted, Delta::CrdCreated(None), Delta::Synced]);
        assert!(empty.grace(on(1000), LENGTH).unwrap().covers(Some(at(1000))));
        let mut some = after(&[
            Delta::ListStarted,
            Delta::Applied(Arc::new(())),
            Delta::CrdCreated(None),
            Delta::Synced,
        ]);
        assert!(some.grace(on(1000), LENGTH).is_none());
    }

    #[test]
    fn what_happens_after_the_first_complete_list_is_for_others_to_judge() {
        let mut crd_age = after(&[Delta::ListStarted, Delta::CrdCreated(Some(at(1))), Delta::Synced]);
        crd_age.hear(&Delta::<()>::NotServed);
        crd_age.hear(&Delta::<()>::Synced);
        assert!(crd_age.grace(on(1000), LENGTH).is_none());
    }
}
