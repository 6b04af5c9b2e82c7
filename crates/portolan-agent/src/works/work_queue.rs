//! The works that the agent knows, and the time at which each is reconciled next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Input;
use crate::sabotage::{Rule, sabotaged};
use crate::settings::Settings;
use crate::work::{Work, WorkKey, WorkKind};

/// The first wait after a change or an error.
const SHORTEST: Duration = Duration::from_millis(250);

/// What came of dealing with a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is as it was.
    Quiet,
    /// Something was written or has changed, so that more may follow soon.
    Changed,
    /// Something failed and is tried again.
    Failed,
    /// There is nothing more to do until the hub says something.
    Done,
    /// There is nothing to do before this moment.
    Until(Instant),
}

/// Works by their names. Shared, so that all of them can be looked at without holding anybody up.
pub(crate) type Works = BTreeMap<WorkKey, Arc<Work>>;

/// The works that are known, and when each is to be looked at. All times are of the monotonic clock: a wall clock that is
/// set back must not make a wait longer.
#[derive(Debug)]
pub(crate) struct WorkQueue {
    works: Works,
    /// Rises when a work comes or goes, or asks for something else.
    version: u64,
    complete: BTreeMap<WorkKind, bool>,
    due: BTreeMap<WorkKey, Instant>,
    /// The works that are being dealt with.
    under_way: BTreeSet<WorkKey>,
    /// How long to wait before the next look at each work.
    waits: BTreeMap<WorkKey, Duration>,
    /// When the deletion of a work was first heard of, and of which one of that name.
    deletions: BTreeMap<WorkKey, (String, Instant)>,
    poll: Duration,
    longest_backoff: Duration,
}

impl WorkQueue {
    pub(crate) fn new(settings: &Settings) -> WorkQueue {
        WorkQueue {
            works: BTreeMap::new(),
            version: 0,
            complete: BTreeMap::from([(WorkKind::ManifestWork, false), (WorkKind::Work, false)]),
            due: BTreeMap::new(),
            under_way: BTreeSet::new(),
            waits: BTreeMap::new(),
            deletions: BTreeMap::new(),
            poll: settings.poll,
            longest_backoff: settings.longest_backoff,
        }
    }

    /// All works that are known.
    pub(crate) fn works(&self) -> &Works {
        &self.works
    }

    /// Another number after works have come or gone, or ask for something else.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    fn keep(&mut self, work: Work) {
        let desired = |work: &Work| (work.uid.clone(), work.deleting, work.content.clone());
        let is_same = self
            .works
            .get(&work.key)
            .is_some_and(|known| desired(known) == desired(&work));
        self.version += u64::from(!is_same);
        self.works.insert(work.key.clone(), Arc::new(work));
    }

    /// Whether a work of this kind is known.
    pub(crate) fn has_any(&self, kind: WorkKind) -> bool {
        self.works.keys().any(|key| key.kind == kind)
    }

    /// Whether these are all works that there are. Only then can it be said that an object has no other owner.
    pub(crate) fn is_complete(&self) -> bool {
        self.incomplete().is_empty() || sabotaged(Rule::KnowAllFirst)
    }

    /// Kinds of which not all works are known.
    pub(crate) fn incomplete(&self) -> BTreeSet<WorkKind> {
        let unknown = self.complete.iter().filter(|(_, complete)| !**complete);
        unknown.map(|(kind, _)| *kind).collect()
    }

    /// Takes in what a watch says.
    pub(crate) fn hear(&mut self, input: Input, now: Instant) {
        match input {
            Input::Work(work) => self.see(*work, now),
            Input::Gone(key) if sabotaged(Rule::LostIsNotDeleted) => {
                if let Some(work) = self.works.get_mut(&key) {
                    Arc::make_mut(work).deleting = true;
                    self.version += 1;
                }
            }
            Input::Gone(key) => {
                // What it has left stays: a work that was deleted has waited for us, so this one was lost.
                self.works.remove(&key);
                self.version += 1;
                self.due.remove(&key);
                self.waits.remove(&key);
                self.deletions.remove(&key);
            }
            Input::Listing(kind) => {
                self.complete.insert(kind, false);
            }
            // It does not shorten the wait after an error.
            Input::ObjectChanged(key) => self.ask_for(&key, now),
            // A kind that the hub does not serve has no works.
            Input::Complete(kind) | Input::Unserved(kind) => {
                self.complete.insert(kind, true);
                if self.is_complete() {
                    // Removals have waited for this.
                    self.works.keys().for_each(|key| {
                        self.due.entry(key.clone()).or_insert(now);
                    });
                }
            }
        }
    }

    /// Takes in a work, from a watch or from the answer to a write. Our own status is no reason to look again.
    pub(crate) fn see(&mut self, work: Work, now: Instant) {
        let news = self.works.get(&work.key).is_none_or(|known| {
            (
                &known.uid,
                known.generation,
                known.deleting,
                &known.content,
                &known.finalizers,
                &known.labels,
                &known.status,
            ) != (
                &work.uid,
                work.generation,
                work.deleting,
                &work.content,
                &work.finalizers,
                &work.labels,
                &work.status,
            )
        });
        self.note_deletion(&work, now);
        if news {
            self.waits.remove(&work.key);
            self.due.insert(work.key.clone(), now);
        }
        self.keep(work);
    }

    fn note_deletion(&mut self, work: &Work, now: Instant) {
        let known = self.deletions.get(&work.key).map(|(uid, _)| uid);
        match work.deleting {
            false => drop(self.deletions.remove(&work.key)),
            true if known == Some(&work.uid) => {}
            true => drop(self.deletions.insert(work.key.clone(), (work.uid.clone(), now))),
        }
    }

    /// When it was first heard that the work is being deleted.
    pub(crate) fn heard_deleted(&self, work: &Work) -> Option<Instant> {
        let (uid, heard) = self.deletions.get(&work.key)?;
        (*uid == work.uid).then_some(*heard)
    }

    /// Keeps the answer to a write, which is what the watch will say as well. What the watch has said since the version
    /// that was written over is newer than the answer, or the same.
    pub(crate) fn answered(&mut self, before: &Work, work: Work, now: Instant) {
        let known = self.works.get(&before.key);
        if known.is_none_or(|known| known.version != before.version) {
            return;
        }
        self.note_deletion(&work, now);
        if work.deleting && self.works.get(&work.key).is_some_and(|known| !known.deleting) {
            // The watch will find nothing new in it.
            self.due.insert(work.key.clone(), now);
        }
        self.keep(work);
    }

    /// A work to be dealt with now. It is under way from now on, and not due before that has ended.
    pub(crate) fn due(&mut self, now: Instant) -> Option<WorkKey> {
        let key = self
            .due
            .iter()
            .filter(|(key, at)| **at <= now && !self.under_way.contains(*key))
            .min_by_key(|(_, at)| **at)?
            .0
            .clone();
        self.due.remove(&key);
        self.under_way.insert(key.clone());
        Some(key)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        let due = self.due.iter();
        due.filter(|(key, _)| !self.under_way.contains(*key))
            .map(|(_, at)| *at)
            .min()
    }

    /// A work was dealt with.
    pub(crate) fn dealt_with(&mut self, key: &WorkKey, outcome: Outcome, now: Instant) {
        self.under_way.remove(key);
        let longest = match outcome {
            Outcome::Done => {
                self.waits.remove(key);
                return;
            }
            Outcome::Until(at) => {
                self.ask_for(key, at);
                return;
            }
            Outcome::Failed => self.longest_backoff,
            Outcome::Quiet | Outcome::Changed => self.poll,
        };
        let wait = match (self.waits.get(key), outcome) {
            (None, _) | (_, Outcome::Changed) => SHORTEST.min(longest),
            (Some(wait), _) => (*wait * 2).min(longest),
        };
        self.waits.insert(key.clone(), wait);
        self.ask_for(key, now + wait);
    }

    fn ask_for(&mut self, key: &WorkKey, at: Instant) {
        if self.works.contains_key(key) {
            // A watch may have asked for it meanwhile.
            let due = self.due.entry(key.clone()).or_insert(at);
            *due = (*due).min(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;
    use crate::Clock;
    use crate::work::read;

    fn at(millis: u64) -> Instant {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        *START + Duration::from_millis(millis)
    }

    fn work(generation: i64) -> Work {
        let metadata = ObjectMeta {
            name: Some("web".to_owned()),
            generation: Some(generation),
            ..ObjectMeta::default()
        };
        read(WorkKind::ManifestWork, &metadata, &json!({}), &Value::Null)
    }

    fn queue() -> WorkQueue {
        WorkQueue::new(&Settings::new("east", Clock::new(|| Timestamp::UNIX_EPOCH)))
    }

    #[test]
    fn a_quiet_work_is_looked_at_less_and_less_often_and_a_change_starts_again() {
        let mut queue = queue();
        queue.see(work(1), at(0));
        let mut now = 0;
        for (outcome, wait) in [
            (Outcome::Changed, 250),
            (Outcome::Quiet, 500),
            (Outcome::Quiet, 1000),
            (Outcome::Quiet, 2000),
            (Outcome::Quiet, 4000),
            (Outcome::Quiet, 8000),
            (Outcome::Quiet, 10000),
            (Outcome::Quiet, 10000),
            (Outcome::Changed, 250),
        ] {
            let key = queue.due(at(now)).unwrap();
            queue.dealt_with(&key, outcome, at(now));
            assert!(queue.due(at(now + wait - 1)).is_none());
            now += wait;
            assert_eq!(queue.next(), Some(at(now)));
        }
    }

    #[test]
    fn a_work_is_looked_at_at_once_when_it_changes_but_not_when_it_is_said_again() {
        let mut queue = queue();
        queue.see(work(1), at(0));
        let key = queue.due(at(0)).unwrap();
        queue.dealt_with(&key, Outcome::Quiet, at(0));
        queue.see(work(1), at(1));
        assert!(queue.due(at(1)).is_none());
        queue.see(work(2), at(2));
        assert_eq!(queue.due(at(2)), Some(key));
    }

    #[test]
    fn an_answer_does_not_undo_what_the_watch_has_said_meanwhile() {
        let mut queue = queue();
        let version = |generation: i64| Work {
            version: generation.to_string(),
            ..work(generation)
        };
        queue.see(version(1), at(0));
        queue.answered(&version(1), version(2), at(0));
        queue.see(version(4), at(0));
        queue.answered(&version(2), version(3), at(0));
        let key = version(1).key;
        assert_eq!(queue.works()[&key].generation, 4);
        queue.hear(Input::Gone(key), at(0));
        queue.answered(&version(4), version(5), at(0));
        assert!(queue.works().is_empty());
    }

    #[test]
    fn a_work_is_dealt_with_once_at_a_time_and_again_if_it_changed_meanwhile() {
        let mut queue = queue();
        queue.see(work(1), at(0));
        let key = queue.due(at(0)).unwrap();
        queue.see(work(2), at(1));
        assert_eq!((queue.due(at(1)), queue.next()), (None, None));
        queue.dealt_with(&key, Outcome::Quiet, at(2));
        assert_eq!(queue.due(at(2)), Some(key));
    }

    #[test]
    fn nothing_is_certain_before_both_kinds_are_complete_and_while_one_is_listed_again() {
        let mut queue = queue();
        let now = at(0);
        queue.hear(Input::Complete(WorkKind::ManifestWork), now);
        assert!(!queue.is_complete());
        queue.hear(Input::Unserved(WorkKind::Work), now);
        assert!(queue.is_complete());
        queue.hear(Input::Listing(WorkKind::ManifestWork), now);
        assert!(!queue.is_complete());
    }

    #[test]
    fn a_work_whose_object_stirs_is_looked_at_and_still_waits_longer_after_each_error() {
        let (mut queue, work) = (queue(), work(1));
        queue.see(work.clone(), at(0));
        for wait in [250, 500] {
            assert_eq!(queue.due(at(0)), Some(work.key.clone()));
            queue.dealt_with(&work.key, Outcome::Failed, at(0));
            assert_eq!(queue.next(), Some(at(wait)));
            queue.hear(Input::ObjectChanged(work.key.clone()), at(0));
        }
    }
}
