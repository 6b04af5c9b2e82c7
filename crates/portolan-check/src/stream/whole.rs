//! Everything that a recording decides by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Event, Prefix, Recording,
    groups::{self, Shown},
    no_gaps,
    sound::{Seen, Soundness, judge},
};
use crate::{
    CheckId, DecisionId, DecisionKind, Object, Report, State,
    decision::Keys,
    pair, revision,
    state::{instant_kep, rest, rest_kep, rest_ocm},
};

/// All checks that need no more than the recording: [`no_gaps`], the checks of every moment, no writes that change
/// nothing, rising and sound revisions, groups and status; and at each [`Event::Settled`] the checks of a state at rest
/// and of the transition that ends there. Between two marks one answer is carried out; a recording in which a second one
/// overtakes it needs [`super::revisions_sound`] with all of them. What happens after the last mark is only checked for what holds at every
/// moment, since a crash may have cut it.
pub fn check(recording: &Recording) -> Report {
    let mut report = rest(&recording.initial);
    report.extend(no_gaps(recording));
    let mut walk = Walk {
        settled: recording.initial.clone(),
        ..Walk::default()
    };
    recording.replay(|prefix| match prefix.event {
        None => {}
        Some(Event::Settled) => walk.settle(prefix.state, &mut report),
        Some(_) => walk.follow(&prefix, &mut report),
    });
    report
}

/// A slice that was deleted while no newer revision was complete and valid.
#[derive(Debug)]
struct EarlyDelete {
    event: usize,
    slice: String,
    revision: u64,
}

/// What happened since the last settled state.
#[derive(Debug, Default)]
struct Walk {
    settled: State,
    touched: BTreeSet<DecisionId>,
    highest: BTreeMap<DecisionId, Option<u64>>,
    seen: BTreeMap<DecisionId, Vec<Seen>>,
    early: BTreeMap<DecisionId, Vec<EarlyDelete>>,
    shown: Shown,
}

impl Walk {
    fn follow(&mut self, prefix: &Prefix<'_>, report: &mut Report) {
        if let (Some(event @ Event::Modified(written)), Some(replaced)) = (prefix.event, prefix.replaced)
            && !matches!(written, Object::Profile(_))
            && written.content() == replaced.content()
        {
            let message = format!("event {} ({event}) changes nothing", prefix.length);
            report.add(CheckId::Rule3, written.key(), message);
        }
        self.shown.follow(prefix);
        groups::status_last(prefix, report);
        let keys = Keys::of(prefix.state.slices.values().map(|slice| &slice.metadata));
        let involved = [prefix.event.and_then(Event::object), prefix.replaced]
            .into_iter()
            .flatten();
        let involved: BTreeSet<DecisionId> = involved.filter_map(|object| keys.id(object)).collect();
        for id in &involved {
            if id.kind == DecisionKind::Kep {
                self.follow_kep(id, prefix, report);
            }
        }
        self.touched.extend(involved);
    }

    fn follow_kep(&mut self, id: &DecisionId, prefix: &Prefix<'_>, report: &mut Report) {
        let before = self.highest.remove(id).unwrap_or_else(|| {
            self.settled
                .decision(id)
                .as_ref()
                .and_then(revision::highest_seen)
        });
        let Some(decision) = prefix.state.decision(id) else {
            self.highest.insert(id.clone(), None);
            self.early_delete(id, prefix, None);
            return;
        };
        instant_kep(prefix.state, &decision, report);
        pair::rises(&decision, before, prefix.length, report);
        self.highest.insert(id.clone(), revision::highest_seen(&decision));
        let complete = revision::complete_revisions(&decision);
        let valid = complete
            .iter()
            .filter(|revision| revision.is_valid())
            .map(|revision| revision.number)
            .max();
        self.early_delete(id, prefix, valid);
        if let Some(revision) = complete.into_iter().next_back() {
            let seen = self.seen.entry(id.clone()).or_default();
            let now = Seen::new(prefix.length, revision);
            if seen.last().is_none_or(|last| last.clusters != now.clusters) {
                seen.push(now);
            }
        }
    }

    fn early_delete(&mut self, id: &DecisionId, prefix: &Prefix<'_>, newest_valid: Option<u64>) {
        let (Some(Event::Deleted(_)), Some(Object::Slice(slice))) = (prefix.event, prefix.replaced) else {
            return;
        };
        let deleted = crate::Slice::of_kep(slice);
        if let Some(revision) = deleted.revision()
            && newest_valid.is_none_or(|newest| newest <= revision)
        {
            let slice = deleted.name().to_owned();
            self.early.entry(id.clone()).or_default().push(EarlyDelete {
                event: prefix.length,
                slice,
                revision,
            });
        }
    }

    fn settle(&mut self, state: &State, report: &mut Report) {
        for id in std::mem::take(&mut self.touched) {
            match (id.kind, state.decision(&id)) {
                (DecisionKind::Kep, Some(decision)) => rest_kep(state, &decision, report),
                (DecisionKind::Ocm, Some(decision)) => rest_ocm(state, &decision, report),
                (_, None) => {}
            }
            if id.kind == DecisionKind::Kep {
                self.settle_kep(&id, state, report);
            } else {
                report.extend(pair::content_follows(&self.settled, state, &id));
            }
        }
        self.shown.settle(&self.settled, state, report);
        self.highest.clear();
        self.settled = state.clone();
    }

    fn settle_kep(&mut self, id: &DecisionId, state: &State, report: &mut Report) {
        let sides = [self.settled.decision(id), state.decision(id)];
        let answers: Vec<_> = sides
            .iter()
            .flatten()
            .map(|decision| decision.clusters())
            .collect();
        for seen in self.seen.remove(id).unwrap_or_default() {
            judge(id, &seen, &answers, Soundness::Between, report);
        }
        for early in self.early.remove(id).unwrap_or_default() {
            // A decision that is no longer required goes away slice by slice, with nothing newer to wait for.
            if sides[1].is_some() {
                let EarlyDelete {
                    event,
                    slice,
                    revision,
                } = early;
                let message = format!(
                    "event {event} deletes {slice} of revision {revision} before a newer one is usable"
                );
                report.add(CheckId::D5, id, message);
            }
        }
        report.extend(pair::key_stable(&self.settled, state));
        report.extend(pair::one_revision(&self.settled, state, id));
        if state.placement_of(id).is_some() {
            report.extend(pair::few_slices(&self.settled, state, id));
        }
    }
}
