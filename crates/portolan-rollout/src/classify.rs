//! What becomes of one cluster that has the workload: still rolling out, timed out, or settled.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Cluster, Status};
use crate::strategy::Strategy;

/// The times that a cluster is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) now: Timestamp,
    /// `minSuccessTime`.
    pub(crate) soak: Duration,
    /// `progressDeadline`; `None` is no limit.
    pub(crate) deadline: Option<Duration>,
}

impl Times {
    pub(crate) fn of(strategy: &Strategy, now: Timestamp) -> Times {
        Times {
            now,
            soak: strategy.soak_time(),
            deadline: strategy.deadline,
        }
    }
}

/// Where a cluster goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is waited for, and takes a slot.
    RollingOut(Cluster),
    /// Its time is up.
    TimedOut(Cluster),
    /// Nothing is to be done for it. Its status may be a failure all the same.
    Settled(Cluster),
}

impl Verdict {
    pub(crate) fn status(&self) -> Status {
        match self {
            Verdict::RollingOut(cluster) | Verdict::TimedOut(cluster) | Verdict::Settled(cluster) => {
                cluster.status
            }
        }
    }
}

/// Judges one cluster. One that was given the workload and has not taken it up is measured like one on its way, once it
/// has a time to be measured from.
pub(crate) fn classify(mut cluster: Cluster, times: &Times) -> Verdict {
    match cluster.status {
        Status::TimeOut | Status::Skip => Verdict::Settled(cluster),
        Status::Succeeded => {
            let end = end_of(&cluster, times.soak, times.now);
            if times.now >= end {
                return Verdict::Settled(cluster);
            }
            let last = last_end(&cluster, times).map_or(end, |last| last.min(end));
            cluster.recheck_time = Some(last);
            if times.now < last {
                Verdict::RollingOut(cluster)
            } else {
                // It has succeeded again and again, and never for as long as it should.
                cluster.status = Status::TimeOut;
                Verdict::TimedOut(cluster)
            }
        }
        Status::ToApply if !cluster.is_started() => Verdict::RollingOut(cluster),
        Status::ToApply | Status::Progressing | Status::Failed | Status::Unknown => {
            let Some(deadline) = times.deadline else {
                return Verdict::RollingOut(cluster);
            };
            let end = end_of(&cluster, deadline, times.now);
            let end = last_end(&cluster, times).map_or(end, |last| last.min(end));
            cluster.recheck_time = Some(end);
            if times.now < end {
                Verdict::RollingOut(cluster)
            } else {
                cluster.status = Status::TimeOut;
                Verdict::TimedOut(cluster)
            }
        }
    }
}

/// When the time of a cluster ends that has reported on the workload, whichever states it went through: it may be on its way
/// until the deadline, and has to succeed for the time of the soak.
fn last_end(cluster: &Cluster, times: &Times) -> Option<Timestamp> {
    let length = times.deadline?.checked_add(times.soak)?;
    Some(later(cluster.first_report_time?, length))
}

/// When a time that runs since the last transition ends. Without one it starts now, each time anew. Times past the end
/// of the calendar end there.
fn end_of(cluster: &Cluster, length: Duration, now: Timestamp) -> Timestamp {
    later(cluster.last_transition_time.unwrap_or(now), length)
}

fn later(start: Timestamp, length: Duration) -> Timestamp {
    SignedDuration::try_from(length)
        .ok()
        .and_then(|length| start.checked_add(length).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::GroupKey;

    const NOW: i64 = 1_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn judged(
        status: Status,
        since: Option<i64>,
        soak: u64,
        deadline: Option<u64>,
    ) -> (&'static str, Option<i64>) {
        let times = Times {
            now: at(NOW),
            soak: Duration::from_secs(soak),
            deadline: deadline.map(Duration::from_secs),
        };
        let cluster = Cluster {
            status,
            last_transition_time: since.map(at),
            ..Cluster::new("c", &GroupKey::default())
        };
        let recheck = |cluster: Cluster| cluster.recheck_time.map(Timestamp::as_second);
        match classify(cluster, &times) {
            Verdict::RollingOut(cluster) => ("rolling out", recheck(cluster)),
            Verdict::TimedOut(cluster) => {
                assert_eq!(cluster.status, Status::TimeOut);
                ("timed out", recheck(cluster))
            }
            Verdict::Settled(cluster) => ("settled", recheck(cluster)),
        }
    }

    #[test]
    fn success_soaks_until_its_time_is_over() {
        assert_eq!(
            judged(Status::Succeeded, Some(900), 200, None),
            ("rolling out", Some(1_100))
        );
        assert_eq!(judged(Status::Succeeded, Some(900), 100, None), ("settled", None));
        assert_eq!(judged(Status::Succeeded, Some(900), 0, None), ("settled", None));
        // Without a time it soaks anew each time it is looked at.
        assert_eq!(
            judged(Status::Succeeded, None, 10, None),
            ("rolling out", Some(1_010))
        );
        assert_eq!(judged(Status::Succeeded, None, 0, None), ("settled", None));
    }

    #[test]
    fn what_is_under_way_times_out_at_its_deadline() {
        for status in [Status::Progressing, Status::Failed, Status::Unknown] {
            assert_eq!(judged(status, Some(0), 0, None), ("rolling out", None));
            assert_eq!(
                judged(status, Some(950), 0, Some(90)),
                ("rolling out", Some(1_040))
            );
            assert_eq!(judged(status, Some(910), 0, Some(90)), ("timed out", Some(1_000)));
            assert_eq!(judged(status, None, 0, Some(90)), ("rolling out", Some(1_090)));
            assert_eq!(judged(status, None, 0, Some(0)), ("timed out", Some(1_000)));
        }
    }

    #[test]
    fn what_was_given_and_not_taken_up_times_out_too_once_it_has_a_time() {
        assert_eq!(
            judged(Status::ToApply, Some(910), 0, Some(90)),
            ("timed out", Some(1_000))
        );
        assert_eq!(
            judged(Status::ToApply, Some(950), 0, Some(90)),
            ("rolling out", Some(1_040))
        );
        assert_eq!(judged(Status::ToApply, Some(0), 0, None), ("rolling out", None));
        assert_eq!(judged(Status::ToApply, None, 0, Some(0)), ("rolling out", None));
    }

    #[test]
    fn what_is_settled_stays_so() {
        assert_eq!(
            judged(Status::TimeOut, Some(999), 90, Some(90)),
            ("settled", None)
        );
        assert_eq!(judged(Status::Skip, Some(999), 90, Some(90)), ("settled", None));
    }

    #[test]
    fn a_clock_that_jumps_moves_ends_and_breaks_nothing() {
        // Back: what was observed lies in the future. Soak and deadline end later, and both end.
        assert_eq!(
            judged(Status::Succeeded, Some(5_000), 0, None),
            ("rolling out", Some(5_000))
        );
        assert_eq!(
            judged(Status::Progressing, Some(5_000), 0, Some(90)),
            ("rolling out", Some(5_090))
        );
        // To the end of the calendar.
        let (verdict, recheck) = judged(Status::Progressing, Some(0), 0, Some(u64::MAX));
        assert_eq!(
            (verdict, recheck),
            ("rolling out", Some(Timestamp::MAX.as_second()))
        );
    }

    #[test]
    fn a_cluster_that_goes_to_and_fro_has_no_more_time_than_one_that_does_not() {
        let judged = |status, since: i64, first: i64| {
            let times = Times {
                now: at(NOW),
                soak: Duration::from_secs(60),
                deadline: Some(Duration::from_secs(100)),
            };
            let cluster = Cluster {
                status,
                last_transition_time: Some(at(since)),
                first_report_time: Some(at(first)),
                ..Cluster::new("c", &GroupKey::default())
            };
            match classify(cluster, &times) {
                Verdict::RollingOut(cluster) => cluster.recheck_time.map(Timestamp::as_second),
                Verdict::TimedOut(_) => None,
                Verdict::Settled(_) => Some(NOW),
            }
        };
        for status in [Status::Succeeded, Status::Progressing, Status::Failed] {
            assert_eq!(judged(status, NOW - 10, NOW - 160), None, "{status:?}");
            assert_eq!(judged(status, NOW - 10, NOW - 159), Some(NOW + 1), "{status:?}");
        }
        // However long it took, a success that lasts is one.
        assert_eq!(judged(Status::Succeeded, NOW - 60, NOW - 900), Some(NOW));
    }
}
