//! The queue of a reconciler: each key once, with a back-off after failures.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use tokio::time::Instant;

const SHORTEST_BACKOFF: Duration = Duration::from_millis(100);

/// What is to be looked at: each thing once, not while it is under way, and later after a failure. Its times are of the
/// monotonic clock.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// By group. Without groups there is one, which has no name.
    ready: BTreeMap<String, BTreeSet<T>>,
    /// Whose turn it is besides that of others, such as the namespace of an object.
    group: fn(&T) -> &str,
    later: BTreeSet<(Instant, T)>,
    /// The one time in `later` of each thing. The time of one deadline differs by nanoseconds each time that it is computed, and
    /// each would be one more entry until the deadline.
    at: BTreeMap<T, Instant>,
    /// Whether the object was reported gone meanwhile, so that what the answer shows may be gone as well.
    under_way: BTreeMap<T, bool>,
    failures: BTreeMap<T, Failed>,
    longest_backoff: Duration,
    /// What one look may cost.
    most_cost: usize,
    /// The group that had its turn last, where looks are limited.
    last_group: Option<String>,
    /// The thing of each group with ready things that was looked at last, where looks are limited.
    last: BTreeMap<String, T>,
    /// When the last look ended before everything that is ready was looked at.
    is_cut_short: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Failed {
    times: u32,
    until: Instant,
}

/// What came of looking at a thing.
#[derive(Debug, PartialEq)]
pub(crate) enum Action<W> {
    /// It is as it should be.
    AwaitChange,
    /// It is to be looked at again then.
    RequeueAt(Instant),
    /// This is to be written, and the thing is under way from now on.
    Write(W),
}

impl<T: Ord + Clone> Queue<T> {
    pub(crate) fn new(longest_backoff: Duration) -> Queue<T> {
        Queue {
            ready: BTreeMap::new(),
            group: |_| "",
            later: BTreeSet::new(),
            at: BTreeMap::new(),
            under_way: BTreeMap::new(),
            failures: BTreeMap::new(),
            longest_backoff,
            most_cost: usize::MAX,
            last_group: None,
            last: BTreeMap::new(),
            is_cut_short: None,
        }
    }

    /// The same with things that cost much to look at: a look ends when they have cost so much, and goes on in the next turn.
    /// Groups have their turns one after the other, so that many things of one group do not hold up another.
    pub(crate) fn limited(longest_backoff: Duration, most_cost: usize, group: fn(&T) -> &str) -> Queue<T> {
        Queue {
            most_cost,
            group,
            ..Queue::new(longest_backoff)
        }
    }

    /// The thing is to be looked at. One that is under way is looked at when that ends in any case.
    pub(crate) fn enqueue(&mut self, thing: T) {
        if !self.under_way.contains_key(&thing) {
            self.insert(thing);
        }
    }

    fn insert(&mut self, thing: T) {
        let group = (self.group)(&thing);
        match self.ready.get_mut(group) {
            Some(things) => drop(things.insert(thing)),
            None => drop(self.ready.insert(group.to_owned(), BTreeSet::from([thing]))),
        }
    }

    /// The thing is to be looked at, and its object was reported gone.
    pub(crate) fn gone(&mut self, thing: T) {
        if let Some(void) = self.under_way.get_mut(&thing) {
            *void = true;
        }
        self.enqueue(thing);
    }

    /// Looks at what is due until `room` writes came of it. Each thing costs as much as any other.
    pub(crate) fn poll<W>(
        &mut self,
        now: Instant,
        room: usize,
        mut decide: impl FnMut(&T) -> Action<W>,
    ) -> Vec<W> {
        self.poll_weighed(now, room, |thing| (1, decide(thing)))
    }

    /// The same with things that do not cost the same. `decide` says what looking at a thing has cost.
    pub(crate) fn poll_weighed<W>(
        &mut self,
        now: Instant,
        room: usize,
        mut decide: impl FnMut(&T) -> (usize, Action<W>),
    ) -> Vec<W> {
        let mut writes = Vec::new();
        while self.later.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, thing)) = self.later.pop_first() {
                self.at.remove(&thing);
                self.insert(thing);
            }
        }
        let mut spent: usize = 0;
        self.is_cut_short = None;
        while writes.len() < room
            && let Some(thing) = self.following()
        {
            if spent >= self.most_cost {
                self.is_cut_short = Some(now);
                break;
            }
            self.take(&thing);
            if let Some(failed) = self.failures.get(&thing)
                && failed.until > now
            {
                self.postpone(failed.until, thing);
                spent += 1;
                continue;
            }
            let (cost, decision) = decide(&thing);
            spent = spent.saturating_add(cost.max(1));
            match decision {
                Action::AwaitChange => {
                    self.failures.remove(&thing);
                }
                Action::RequeueAt(at) => {
                    self.postpone(at, thing);
                }
                Action::Write(write) => {
                    self.under_way.insert(thing, false);
                    writes.push(write);
                }
            }
        }
        writes
    }

    /// The thing is to be looked at then, and no more when that was said before: what was decided last counts.
    fn postpone(&mut self, at: Instant, thing: T) {
        if let Some(before) = self.at.insert(thing.clone(), at) {
            self.later.remove(&(before, thing.clone()));
        }
        self.later.insert((at, thing));
    }

    /// The next thing that is ready. In turns, of groups and of the things of a group: those with early names would otherwise
    /// come first each time that a look is cut short.
    fn following(&self) -> Option<T> {
        let after = self.last_group.as_ref().and_then(|last| {
            let after = (Bound::Excluded(last.as_str()), Bound::Unbounded);
            self.ready.range::<str, _>(after).next()
        });
        let (group, things) = after.or(self.ready.first_key_value())?;
        let after = self.last.get(group).and_then(|last| {
            let mut after = things.range((Bound::Excluded(last), Bound::Unbounded));
            after.next()
        });
        after.or(things.first()).cloned()
    }

    /// Takes a thing that is ready: it had its turn.
    fn take(&mut self, thing: &T) {
        let group = (self.group)(thing);
        let is_limited = self.most_cost < usize::MAX;
        if is_limited && self.last_group.as_deref() != Some(group) {
            self.last_group = Some(group.to_owned());
        }
        let Some(things) = self.ready.get_mut(group) else {
            return;
        };
        things.remove(thing);
        if things.is_empty() {
            self.ready.remove(group);
            self.last.remove(group);
        } else if is_limited {
            self.last.insert(group.to_owned(), thing.clone());
        }
    }

    /// A write succeeded; the thing is looked at once more. Whether its answer still shows what is there.
    pub(crate) fn succeeded(&mut self, thing: &T) -> bool {
        self.failures.remove(thing);
        let void = self.under_way.remove(thing).unwrap_or_default();
        self.insert(thing.clone());
        !void
    }

    /// A write failed; the thing is looked at again after a while that doubles each time. Whether what an answer may
    /// have shown is still there.
    pub(crate) fn failed(&mut self, thing: &T, now: Instant) -> bool {
        let void = self.under_way.remove(thing).unwrap_or_default();
        let times = self.failures.get(thing).map_or(0, |failed| failed.times) + 1;
        let until = now + backoff(times, self.longest_backoff);
        self.failures.insert(thing.clone(), Failed { times, until });
        self.postpone(until, thing.clone());
        !void
    }

    /// What is ready, in order.
    #[cfg(test)]
    pub(crate) fn ready(&self) -> impl Iterator<Item = &T> {
        self.ready.values().flatten()
    }

    /// When something becomes due by itself. Things that are ready are due now, and meant only when a look was cut short.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.is_cut_short.or(self.later.first().map(|(at, _)| *at))
    }
}

/// How long to wait after the given number of failures in a row.
pub(crate) fn backoff(times: u32, longest: Duration) -> Duration {
    SHORTEST_BACKOFF
        .saturating_mul(2u32.saturating_pow(times.saturating_sub(1)))
        .min(longest)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::moment::Moment;

    fn at(millis: i64) -> Instant {
        Moment::from(Timestamp::from_millisecond(millis).unwrap()).instant
    }

    fn take(queue: &mut Queue<&'static str>, now: i64) -> Vec<&'static str> {
        queue.poll(at(now), usize::MAX, |thing| Action::Write(*thing))
    }

    #[test]
    fn a_thing_is_under_way_once_however_often_it_is_touched() {
        let mut queue = Queue::new(Duration::from_secs(1));
        queue.enqueue("a");
        queue.enqueue("a");
        assert_eq!(take(&mut queue, 0), ["a"]);
        queue.enqueue("a");
        assert!(take(&mut queue, 0).is_empty());
        assert!(queue.succeeded(&"a"));
        assert_eq!(take(&mut queue, 0), ["a"]);
    }

    #[test]
    fn a_thing_waits_for_one_time_however_often_it_is_looked_at() {
        let mut queue = Queue::new(Duration::from_secs(1));
        for nanosecond in 0..1000 {
            queue.enqueue("a");
            let deadline = at(5000) - Duration::from_nanos(nanosecond);
            let writes: Vec<()> = queue.poll(at(0), usize::MAX, |_| Action::RequeueAt(deadline));
            assert!(writes.is_empty());
        }
        assert_eq!((queue.later.len(), queue.at.len()), (1, 1));
        let last = at(5000) - Duration::from_nanos(999);
        assert_eq!(queue.next(), Some(last), "what was decided last");
        queue.poll(at(5000), usize::MAX, |_| Action::<()>::AwaitChange);
        assert_eq!((queue.later.len(), queue.at.len()), (0, 0));
    }

    #[test]
    fn each_failure_doubles_the_wait_up_to_the_longest_and_touching_does_not_shorten_it() {
        let mut queue = Queue::new(Duration::from_millis(300));
        queue.enqueue("a");
        let mut now = 0;
        for wait in [100, 200, 300, 300] {
            assert_eq!(take(&mut queue, now), ["a"]);
            queue.failed(&"a", at(now));
            queue.enqueue("a");
            assert!(take(&mut queue, now + wait - 1).is_empty());
            assert_eq!(queue.next(), Some(at(now + wait)));
            now += wait;
        }
        assert_eq!(take(&mut queue, now), ["a"]);
        queue.succeeded(&"a");
        assert_eq!(take(&mut queue, now), ["a"]);
        queue.failed(&"a", at(now));
        assert_eq!(queue.next(), Some(at(now + 100)), "a success ends the series");
    }

    #[test]
    fn an_answer_is_void_when_the_object_was_reported_gone_meanwhile() {
        let mut queue = Queue::new(Duration::from_secs(1));
        queue.enqueue("a");
        take(&mut queue, 0);
        queue.gone("a");
        assert!(!queue.succeeded(&"a"));
        take(&mut queue, 0);
        assert!(queue.succeeded(&"a"));
    }

    #[test]
    fn no_more_than_there_is_room_for_is_taken() {
        let mut queue = Queue::new(Duration::from_secs(1));
        for thing in ["a", "b", "c"] {
            queue.enqueue(thing);
        }
        let some = queue.poll(at(0), 2, |thing| Action::Write(*thing));
        assert_eq!(some, ["a", "b"]);
        assert_eq!(take(&mut queue, 0), ["c"]);
    }

    #[test]
    fn a_limited_look_goes_on_in_turns() {
        let mut queue = Queue::limited(Duration::from_secs(1), 2, |_| "");
        let now = Instant::now();
        let mut looked = Vec::new();
        for turn in 0..3 {
            for name in ["a", "b", "c", "d"] {
                // The first two are touched again and again.
                if turn == 0 || name < "c" {
                    queue.enqueue(name);
                }
            }
            queue.poll(now, 8, |name| {
                looked.push(*name);
                Action::<()>::AwaitChange
            });
            assert_eq!(queue.next(), (turn < 2).then_some(now), "turn {turn}");
        }
        assert_eq!(looked, ["a", "b", "c", "d", "a", "b"]);
    }

    #[test]
    fn groups_have_turns_and_what_costs_much_ends_a_look() {
        let mut queue = Queue::limited(Duration::from_secs(1), 10, |name: &&str| &name[..1]);
        ["a1", "a2", "a3", "b1", "c1"]
            .into_iter()
            .for_each(|name| queue.enqueue(name));
        let now = Instant::now();
        let mut turns = Vec::new();
        for _ in 0..4 {
            let mut looked = Vec::new();
            queue.poll_weighed(now, 8, |name| {
                looked.push(*name);
                let cost = if *name == "a1" { 100 } else { 5 };
                (cost, Action::<()>::AwaitChange)
            });
            turns.push(looked.join(" "));
        }
        assert_eq!(turns, ["a1", "b1 c1", "a2 a3", ""]);
    }
}
