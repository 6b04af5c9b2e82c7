//! Random histories of a scheduler that moves clusters between slices, seen by a consumer in every order there is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const CLUSTERS: usize = 8;
const SLICES: usize = 3;

/// Where each cluster is after a transition: a slice, or nowhere.
type Layout = Vec<Option<usize>>;

/// How the writes of a transition reach the consumer.
#[derive(Clone, Debug)]
struct Transition {
    layout: Layout,
    /// Which of the writes that are left comes next.
    order: Vec<Index>,
    /// After which write the watch breaks and lists anew, if it does.
    relist: Option<Index>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheduler {
    /// Writes slices under a new revision each time.
    Revised,
    /// Writes new objects for each revision, and deletes the old ones when all are there.
    Replacing,
    /// Knows no revisions, and takes a cluster away before or after it puts it elsewhere.
    Plain,
}

fn transition() -> impl Strategy<Value = Transition> {
    let place = prop_oneof![1 => Just(None), 3 => (0..SLICES).prop_map(Some)];
    (
        prop::collection::vec(place, CLUSTERS),
        prop::collection::vec(any::<Index>(), 2 * SLICES),
        prop::option::of(any::<Index>()),
    )
        .prop_map(|(layout, order, relist)| Transition {
            layout,
            order,
            relist,
        })
}

fn history() -> impl Strategy<Value = Vec<Transition>> {
    prop::collection::vec(transition(), 1..6)
}

fn name(cluster: usize) -> String {
    format!("c{cluster}")
}

fn selected(layout: &Layout) -> BTreeSet<String> {
    let chosen = layout.iter().enumerate().filter(|(_, place)| place.is_some());
    chosen.map(|(cluster, _)| name(cluster)).collect()
}

#[derive(Clone)]
enum Write {
    Put(Made),
    Delete(String),
}

/// What the scheduler writes, and which writes have to wait for all the others.
fn writes(scheduler: Scheduler, revision: u64, layout: &Layout) -> (Vec<Write>, Vec<Write>) {
    let put = |index: usize| {
        let listed: Vec<String> = (0..CLUSTERS)
            .filter(|cluster| layout[*cluster] == Some(index))
            .map(name)
            .collect();
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        Write::Put(match scheduler {
            Scheduler::Plain => slice(index, &listed),
            Scheduler::Revised => revised(revision, SLICES, index, &listed),
            Scheduler::Replacing => {
                revised(revision, SLICES, index, &listed).named(&format!("web-{revision}-{index}"))
            }
        })
    };
    let puts = (0..SLICES).map(put).collect();
    let deletes = match scheduler {
        Scheduler::Replacing if revision > 0 => (0..SLICES)
            .map(|index| Write::Delete(format!("web-{}-{index}", revision - 1)))
            .collect(),
        _ => Vec::new(),
    };
    (puts, deletes)
}

/// What went wrong: clusters that stayed and were told to be removed, and states that were not reached.
fn watched(scheduler: Scheduler, history: &[Transition], options: Options) -> Vec<String> {
    let mut consumer = Consumer::with(options);
    let mut server: BTreeMap<String, Made> = BTreeMap::new();
    let mut held: BTreeSet<String> = BTreeSet::new();
    let (mut wrong, mut before) = (Vec::new(), BTreeSet::new());
    consumer.list(&[]);
    for (revision, transition) in history.iter().enumerate() {
        let after = selected(&transition.layout);
        let (mut first, mut last) = writes(scheduler, revision as u64, &transition.layout);
        let breaks = transition.relist.map(|at| at.index(first.len() + last.len()));
        let mut order = transition.order.iter();
        let mut written = 0;
        while !(first.is_empty() && last.is_empty()) {
            let left = if first.is_empty() { &mut last } else { &mut first };
            let next = order.next().map_or(0, |index| index.index(left.len()));
            let write = left.remove(next);
            match &write {
                Write::Put(slice) => {
                    server.insert(slice.read().name, slice.clone());
                }
                Write::Delete(name) => {
                    server.remove(name);
                }
            }
            let said = if breaks == Some(written) {
                consumer.list(&server.values().cloned().collect::<Vec<_>>())
            } else {
                match write {
                    Write::Put(slice) => consumer.apply(slice),
                    Write::Delete(name) => consumer.delete(&name),
                }
            };
            written += 1;
            note(&said, &mut held, &before, &after, &mut wrong);
        }
        let said = consumer.settle();
        note(&said, &mut held, &before, &after, &mut wrong);
        let told: BTreeSet<String> = consumer.told().into_iter().map(str::to_owned).collect();
        if told != after || held != after {
            wrong.push(format!("{after:?} was decided, {told:?} told, {held:?} held"));
        }
        before = after;
    }
    wrong
}

/// Does what a consumer would do, and takes note of what it should not have been told.
fn note(
    said: &[String],
    held: &mut BTreeSet<String>,
    before: &BTreeSet<String>,
    after: &BTreeSet<String>,
    wrong: &mut Vec<String>,
) {
    for word in said {
        if let Some(cluster) = word.strip_prefix('+') {
            if !held.insert(cluster.to_owned()) {
                wrong.push(format!("{cluster} was added twice"));
            }
        } else if let Some(cluster) = word.strip_prefix('-') {
            if !held.remove(cluster) {
                wrong.push(format!("{cluster} was removed and never added"));
            }
            if before.contains(cluster) && after.contains(cluster) {
                wrong.push(format!("{cluster} stayed and was removed"));
            }
        }
    }
}

fn all() -> Options {
    Options::new(Discovery::All)
}

proptest! {
    #[test]
    fn a_cluster_that_stays_is_never_removed_whatever_the_order_of_writes(
        history in history(),
        scheduler in prop::sample::select(vec![Scheduler::Revised, Scheduler::Replacing, Scheduler::Plain]),
    ) {
        let wrong = watched(scheduler, &history, all());
        prop_assert!(wrong.is_empty(), "{scheduler:?}: {wrong:?}");
    }

    #[test]
    fn with_revisions_no_time_has_to_pass(history in history()) {
        let options = Options { settle: Duration::ZERO, ..all() };
        for scheduler in [Scheduler::Revised, Scheduler::Replacing] {
            let wrong = watched(scheduler, &history, options.clone());
            prop_assert!(wrong.is_empty(), "{scheduler:?}: {wrong:?}");
        }
    }

    #[test]
    fn what_is_told_in_the_end_does_not_depend_on_the_order_of_events(
        layout in transition(),
        orders in prop::collection::vec(Just((0..SLICES).collect::<Vec<_>>()).prop_shuffle(), 2),
        scheduler in prop::sample::select(vec![Scheduler::Revised, Scheduler::Plain]),
    ) {
        let (puts, _) = writes(scheduler, 1, &layout.layout);
        let mut ends = Vec::new();
        for order in orders {
            let mut consumer = Consumer::ordered();
            consumer.list(&[]);
            for place in order {
                if let Write::Put(slice) = &puts[place] {
                    consumer.apply(slice.clone());
                }
            }
            consumer.settle();
            ends.push(consumer.decisions.told(&web()).cloned());
        }
        prop_assert_eq!(&ends[0], &ends[1]);
    }

    #[test]
    fn no_object_can_make_reading_fail(body in "\\PC{0,80}", label in "\\PC{0,12}") {
        let body = serde_json::from_str(&body).unwrap_or(json!({ "decisions": [body] }));
        let metadata = serde_json::from_value(json!({
            "labels": { labels::DECISION_INDEX: label, labels::DECISION_SLICE_COUNT: label, labels::DECISION_REVISION: label },
            "annotations": { "portolan.dev/scores": label },
        })).unwrap();
        let slice = Slice::read(&metadata, &body);
        let _ = crate::assemble([&slice]);
    }
}

fn moved_by_taking_first() -> Vec<Transition> {
    // Without an order given the first write that is left comes next.
    let at = |layout: Layout| Transition {
        layout,
        order: Vec::new(),
        relist: None,
    };
    let mut from = vec![None; CLUSTERS];
    (from[0], from[1]) = (Some(0), Some(1));
    let mut to = from.clone();
    to[0] = Some(1);
    vec![at(from), at(to)]
}

#[test]
fn who_neither_waits_nor_knows_revisions_removes_a_cluster_that_stays() {
    let history = moved_by_taking_first();
    let hasty = Options {
        settle: Duration::ZERO,
        ..all()
    };
    assert_eq!(
        watched(Scheduler::Plain, &history, hasty),
        ["c0 stayed and was removed"],
        "the check sees what it is there for"
    );
    assert!(watched(Scheduler::Plain, &history, all()).is_empty());
}
