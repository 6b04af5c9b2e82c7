//! When a failure is worth a line. Pure: the time is an argument.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Pauses between two lines about the same cause; the last one repeats. Shorter ones would fill the log, longer ones
/// would hide whether the cause lasts.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(300),
    Duration::from_secs(600),
];
/// Subjects of a cause that get a line of their own when they fail first.
const NAMED: usize = 3;
/// Subjects of a cause that are remembered, so that it is known when the last of them works again.
const REMEMBERED: usize = 1000;
/// A subject that has not failed for this long is taken for one that is not tried any more, as an object that is gone.
const STALE: Duration = Duration::from_secs(120);
/// A cause without a failure for this long is forgotten, so that its next failure is news.
const MEMORY: Duration = Duration::from_secs(1200);

/// What is worth saying about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It fails for the first time, or for a subject for the first time.
    Begins,
    /// It has failed so many times since the last line, and fails since then. `longest` is how long one and the same subject
    /// has failed: many that fail once each are no failure that lasts.
    Continues {
        times: u64,
        lasting: Duration,
        longest: Duration,
    },
}

/// What is worth saying about a cause that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recovery<C> {
    pub(super) cause: C,
    pub(super) times: u64,
    pub(super) lasting: Duration,
}

/// The failures of each cause, and when the next line about it may come.
#[derive(Debug)]
pub(super) struct Limiter<C> {
    causes: BTreeMap<C, History>,
}

impl<C> Default for Limiter<C> {
    fn default() -> Self {
        Limiter {
            causes: BTreeMap::new(),
        }
    }
}

#[derive(Debug)]
struct History {
    /// When the failures began that no success has ended; none while it works.
    since: Option<Instant>,
    /// Failures since `since`.
    times: u64,
    /// Failures since the last line.
    unsaid: u64,
    /// When the next line may come.
    next: Instant,
    /// How many pauses there were.
    pauses: usize,
    last: Instant,
    /// Whether the last line said that it fails.
    is_open: bool,
    /// The subjects that fail, and when each did first and last.
    subjects: BTreeMap<String, (Instant, Instant)>,
    /// How many subjects had a line of their own.
    named: usize,
}

impl<C: Ord + Clone> Limiter<C> {
    /// Whether nothing fails: the usual case, in which a success needs no further thought.
    pub(super) fn is_quiet(&self) -> bool {
        self.causes.values().all(|history| history.since.is_none())
    }

    /// Counts a failure and says whether it is worth a line.
    pub(super) fn failed(&mut self, cause: &C, subject: &str, now: Instant) -> Option<Line> {
        self.causes
            .retain(|_, history| now.duration_since(history.last) < MEMORY);
        let Some(history) = self.causes.get_mut(cause) else {
            self.causes.insert(cause.clone(), History::begin(subject, now));
            return Some(Line::Begins);
        };
        history.drop_stale(now);
        let is_new = history.remember(subject, now);
        if history.since.is_none() {
            // It had worked again: what lasts from now on is said in time, whatever there was before.
            history.pauses = 1;
            history.next = history.next.min(now + PAUSES[0]);
        }
        let since = *history.since.get_or_insert(now);
        history.times += 1;
        history.unsaid += 1;
        history.last = now;
        if now >= history.next {
            let times = std::mem::take(&mut history.unsaid);
            history.next = now + PAUSES[history.pauses.min(PAUSES.len() - 1)];
            history.pauses += 1;
            history.is_open = true;
            let lasting = now.duration_since(since);
            let longest = history.longest();
            return Some(Line::Continues {
                times,
                lasting,
                longest,
            });
        }
        if is_new && history.named < NAMED {
            history.named += 1;
            history.unsaid -= 1;
            history.is_open = true;
            return Some(Line::Begins);
        }
        None
    }

    /// Ends causes by a success. `ends` says whether the success ends the cause for all subjects, for the one with this
    /// name, or not at all.
    pub(super) fn succeeded(&mut self, ends: impl Fn(&C) -> Ends, now: Instant) -> Vec<Recovery<C>> {
        let mut recovered = Vec::new();
        for (cause, history) in &mut self.causes {
            history.drop_stale(now);
            let Some(since) = history.since else { continue };
            match ends(cause) {
                Ends::All => history.subjects.clear(),
                Ends::Subject(subject) => drop(history.subjects.remove(&subject)),
                Ends::Nothing => continue,
            }
            if !history.subjects.is_empty() {
                continue;
            }
            history.since = None;
            let times = std::mem::take(&mut history.times);
            // A recovery is said only after a failure was: two lines for each pause at most.
            if std::mem::take(&mut history.is_open) {
                history.unsaid = 0;
                recovered.push(Recovery {
                    cause: cause.clone(),
                    times,
                    lasting: now.duration_since(since),
                });
            }
        }
        recovered
    }
}

/// What a success says about a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Nothing,
    Subject(String),
    All,
}

impl History {
    fn begin(subject: &str, now: Instant) -> History {
        History {
            since: Some(now),
            times: 1,
            unsaid: 0,
            next: now + PAUSES[0],
            pauses: 1,
            last: now,
            is_open: true,
            subjects: BTreeMap::from([(subject.to_owned(), (now, now))]),
            named: 1,
        }
    }

    /// Whether the subject did not fail before.
    fn remember(&mut self, subject: &str, now: Instant) -> bool {
        if let Some((_, last)) = self.subjects.get_mut(subject) {
            *last = now;
            return false;
        }
        let has_room = self.subjects.len() < REMEMBERED;
        if has_room {
            self.subjects.insert(subject.to_owned(), (now, now));
        }
        has_room
    }

    fn longest(&self) -> Duration {
        let spans = self.subjects.values();
        spans
            .map(|(first, last)| last.duration_since(*first))
            .max()
            .unwrap_or_default()
    }

    /// Forgets subjects that are not tried any more. Without one left, the next failure begins anew.
    fn drop_stale(&mut self, now: Instant) {
        self.subjects
            .retain(|_, (_, last)| now.duration_since(*last) < STALE);
        if self.subjects.is_empty() {
            (self.since, self.times) = (None, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines about one cause that fails every `period` for `seconds`.
    fn lines(period: Duration, seconds: u64, subject: impl Fn(u64) -> String) -> Vec<Duration> {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        let mut lines = Vec::new();
        let (mut at, mut number) = (Duration::ZERO, 0);
        while at < Duration::from_secs(seconds) {
            if limiter.failed(&"list", &subject(number), start + at).is_some() {
                lines.push(at);
            }
            at += period;
            number += 1;
        }
        lines
    }

    #[test]
    fn a_failure_is_said_at_once_and_then_with_growing_pauses() {
        let said = lines(Duration::from_millis(250), 2000, |_| String::new());
        let seconds: Vec<u64> = said.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [0, 30, 90, 390, 990, 1590]);
    }

    #[test]
    fn a_line_counts_what_happened_since_the_last_one() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        for second in 0..30 {
            limiter.failed(&"list", "", start + Duration::from_secs(second));
        }
        let line = limiter.failed(&"list", "", start + Duration::from_secs(30));
        let lasting = Duration::from_secs(30);
        let longest = lasting;
        assert_eq!(
            line,
            Some(Line::Continues {
                times: 30,
                lasting,
                longest
            })
        );
    }

    #[test]
    fn subjects_that_fail_once_each_are_no_failure_that_lasts() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        let mut line = None;
        for second in 0..=30 {
            let subject = second.to_string();
            line = limiter.failed(&"patch", &subject, start + Duration::from_secs(second));
        }
        assert_eq!(
            line,
            Some(Line::Continues {
                times: 28,
                lasting: Duration::from_secs(30),
                longest: Duration::ZERO
            })
        );
    }

    #[test]
    fn many_subjects_of_one_cause_stay_below_ten_lines_a_minute() {
        let said = lines(Duration::from_millis(10), 60, |number| number.to_string());
        assert_eq!(said.len(), NAMED + 1);
    }

    #[test]
    fn a_cause_that_comes_and_goes_stays_below_ten_lines_a_minute() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        let mut lines = 0;
        for tenth in 0..600 {
            let now = start + Duration::from_millis(100 * tenth);
            lines += usize::from(limiter.failed(&"list", "", now).is_some());
            lines += limiter.succeeded(|_| Ends::All, now).len();
        }
        assert!((2..10).contains(&lines), "{lines}");
    }

    #[test]
    fn a_recovery_is_said_once_when_the_last_subject_works() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        limiter.failed(&"patch", "a", start);
        limiter.failed(&"patch", "b", start);
        let later = start + Duration::from_secs(5);
        let ends = |subject: &'static str| move |_: &&str| Ends::Subject(subject.to_owned());
        assert_eq!(limiter.succeeded(ends("a"), later), []);
        assert!(!limiter.is_quiet());
        let recovered = limiter.succeeded(ends("b"), later);
        assert_eq!(
            recovered,
            [Recovery {
                cause: "patch",
                times: 2,
                lasting: Duration::from_secs(5)
            }]
        );
        assert!(limiter.is_quiet());
        assert_eq!(limiter.succeeded(ends("b"), later), []);
    }

    #[test]
    fn an_object_that_is_not_tried_any_more_does_not_make_a_cause_last() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        limiter.failed(&"patch", "gone", start);
        let line = limiter.failed(&"patch", "other", start + STALE);
        let lasting = Duration::ZERO;
        let longest = lasting;
        assert_eq!(
            line,
            Some(Line::Continues {
                times: 1,
                lasting,
                longest
            })
        );
    }

    #[test]
    fn a_cause_that_was_over_for_long_is_news_again() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        limiter.failed(&"list", "", start);
        limiter.succeeded(|_| Ends::All, start);
        assert_eq!(limiter.failed(&"list", "", start + MEMORY), Some(Line::Begins));
    }
}
