//! Random histories: what a placement wants over time, carried out by a writer that crashes, as a watch would see it.

use std::collections::BTreeSet;

use portolan_api::cluster::{DecisionStrategy, Placement, SortBy, UpdateStrategy, UpdateStrategyType};
use portolan_check::{Cluster, DecisionId, Event, Object, Recording, State};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    layout::fixture::{NAMESPACE, World, chosen, name},
    model::Group,
    plan::{Plan, Write},
};

/// Clusters that may ever be selected.
const UNIVERSE: usize = 260;

/// What changes before the next evaluation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Another selection of this size.
    Select(usize, u64),
    /// A few clusters leave and a few join.
    Few { leave: usize, join: usize, seed: u64 },
    /// One cluster leaves.
    Leave(u64),
    /// One cluster joins.
    Join(u64),
    /// Other scores, and with them another order.
    Rank(u64),
    /// Groups of another size, 0 for a single one, behind a named group of every n-th cluster.
    Cut { size: usize, named: Option<usize> },
    /// Order begins or ceases to matter.
    Order(bool),
}

/// One evaluation, and after how many writes each attempt to carry it out crashes.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) change: Change,
    pub(super) crashes: Vec<u8>,
    pub(super) shuffle: u64,
}

pub(super) fn steps(changes: impl Strategy<Value = Change>) -> impl Strategy<Value = Vec<Step>> {
    let step = (changes, vec(any::<u8>(), 0..3), any::<u64>());
    vec(
        step.prop_map(|(change, crashes, shuffle)| Step {
            change,
            crashes,
            shuffle,
        }),
        1..6,
    )
}

pub(super) fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (select(vec![0, 1, 2, 50, 99, 100, 101, 150, 199, 200, 201, 250]), any::<u64>())
            .prop_map(|(size, seed)| Change::Select(size, seed)),
        4 => (0..6usize, 0..6usize, any::<u64>()).prop_map(|(leave, join, seed)| Change::Few { leave, join, seed }),
        2 => one_cluster(),
        2 => any::<u64>().prop_map(Change::Rank),
        2 => (select(vec![0, 0, 30, 90, 100, 120]), proptest::option::of(2..9usize))
            .prop_map(|(size, named)| Change::Cut { size, named }),
        1 => any::<bool>().prop_map(Change::Order),
    ]
}

pub(super) fn one_cluster() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<u64>().prop_map(Change::Leave),
        any::<u64>().prop_map(Change::Join)
    ]
}

/// A placement whose wishes change, and the watch of a reader.
pub(super) struct History {
    pub(super) world: World,
    pub(super) recording: Recording,
    selected: BTreeSet<usize>,
    rank: u64,
    size: usize,
    named: Option<usize>,
}

impl History {
    pub(super) fn new(ordered: bool, update: UpdateStrategyType) -> Self {
        let mut world = World {
            update,
            ..World::new()
        };
        world.placement.spec.decision_strategy = Some(DecisionStrategy {
            update_strategy: Some(UpdateStrategy { r#type: Some(update) }),
            ..DecisionStrategy::default()
        });
        let recording = Recording::starting_at(State::of([world.placement.clone()]));
        let mut history = Self {
            world,
            recording,
            selected: BTreeSet::new(),
            rank: 0,
            size: 0,
            named: None,
        };
        history.change(Change::Order(ordered));
        history
    }

    pub(super) fn change(&mut self, change: Change) {
        match change {
            Change::Select(size, seed) => {
                self.selected = shuffled(0..UNIVERSE, seed).into_iter().take(size).collect();
            }
            Change::Few { leave, join, seed } => {
                for number in shuffled(self.selected.iter().copied(), seed)
                    .into_iter()
                    .take(leave)
                {
                    self.selected.remove(&number);
                }
                let others = (0..UNIVERSE).filter(|number| !self.selected.contains(number));
                let joining = shuffled(others, seed ^ 1);
                self.selected.extend(joining.into_iter().take(join));
            }
            Change::Leave(seed) => self.change(Change::Few {
                leave: 1,
                join: 0,
                seed,
            }),
            Change::Join(seed) => self.change(Change::Few {
                leave: 0,
                join: 1,
                seed,
            }),
            Change::Rank(seed) => self.rank = seed,
            Change::Cut { size, named } => {
                (self.size, self.named) = (size, named);
                self.world.grouped = size > 0 || named.is_some();
            }
            Change::Order(ordered) if ordered == self.world.ordered => {}
            Change::Order(ordered) => {
                self.world.ordered = ordered;
                self.world.placement.spec.sort_by = ordered.then_some(SortBy::Score);
                self.recording
                    .events
                    .push(Event::Modified(self.placement().into()));
            }
        }
    }

    /// What the placement wants now.
    pub(super) fn groups(&self) -> Vec<Group> {
        let named = |number: &usize| self.named.is_some_and(|every| number.is_multiple_of(every));
        let (first, rest): (Vec<usize>, Vec<usize>) = self.selected.iter().copied().partition(named);
        let mut groups = self.cut("first", first);
        groups.extend(self.cut("", rest));
        if groups.is_empty() {
            groups.push(Group::default());
        }
        groups
    }

    fn cut(&self, name: &str, mut numbers: Vec<usize>) -> Vec<Group> {
        let score = |number: usize| i64::try_from(mix(self.rank ^ number as u64) % 7).unwrap();
        if self.world.ordered {
            numbers.sort_by_key(|number| (-score(*number), *number));
        }
        let size = if self.size == 0 { UNIVERSE } else { self.size };
        let group = |numbers: &[usize]| Group {
            name: name.to_owned(),
            clusters: numbers
                .iter()
                .map(|number| chosen(*number, score(*number)))
                .collect(),
        };
        numbers.chunks(size).map(group).collect()
    }

    /// Clusters the placement wants now, as the KEP and as OCM name them.
    pub(super) fn answer(&self) -> [BTreeSet<Cluster>; 2] {
        let names = || self.selected.iter().map(|number| name(*number));
        [
            names().map(|name| Cluster::profile(NAMESPACE, name)).collect(),
            names().map(Cluster::managed).collect(),
        ]
    }

    /// Plans, and does as many writes as `limit` says, those of one phase in any order. Whether that was all of them.
    pub(super) fn attempt(&mut self, limit: usize, shuffle: u64) -> (Plan, bool) {
        let plan = self.world.plan_with_status(&self.groups());
        let mut done = 0;
        for phase in &plan.phases {
            for write in shuffled(phase.writes.iter(), shuffle ^ done as u64) {
                if done == limit {
                    return (plan, false);
                }
                self.write(write);
                done += 1;
            }
        }
        (plan, true)
    }

    pub(super) fn settle(&mut self, shuffle: u64) -> Plan {
        let (plan, _) = self.attempt(usize::MAX, shuffle);
        self.recording.events.push(Event::Settled);
        plan
    }

    fn write(&mut self, write: &Write) {
        let before = self.target(write);
        write.apply(&mut self.world.observed);
        let event = match (before, self.target(write)) {
            (None, Some(object)) => Event::Added(object),
            (Some(_), Some(object)) => Event::Modified(object),
            (Some(object), None) => Event::Deleted(object),
            (None, None) => panic!("a write to nothing: {write:?}"),
        };
        self.recording.events.push(event);
    }

    /// The object that a write is for, as it is.
    fn target(&self, write: &Write) -> Option<Object> {
        let decision = |name: Option<&str>| {
            let mut decisions = self.world.observed.decisions.iter();
            decisions
                .find(|object| object.metadata.name.as_deref() == name)
                .cloned()
                .map(Object::from)
        };
        let slice = |name: Option<&str>| {
            let mut slices = self.world.observed.slices.iter();
            slices
                .find(|object| object.metadata.name.as_deref() == name)
                .cloned()
                .map(Object::from)
        };
        match write {
            Write::CreateDecision(object) => decision(object.metadata.name.as_deref()),
            Write::DecisionMetadata(metadata) => decision(metadata.name.as_deref()),
            Write::DecisionStatus { object, .. } | Write::DeleteDecision(object) => {
                decision(Some(&object.name))
            }
            Write::CreateSlice(object) | Write::ReplaceSlice(object) => {
                slice(object.metadata.name.as_deref())
            }
            Write::DeleteSlice(object) => slice(Some(&object.name)),
            Write::PlacementStatus(_) => Some(self.placement().into()),
        }
    }

    fn placement(&self) -> Placement {
        let status = self.world.observed.status.clone();
        Placement {
            status,
            ..self.world.placement.clone()
        }
    }

    pub(super) fn state(&self) -> State {
        let mut state = State::of([self.placement()]);
        for slice in &self.world.observed.slices {
            state.put(slice.clone());
        }
        for decision in &self.world.observed.decisions {
            state.put(decision.clone());
        }
        state
    }
}

pub(super) fn kep() -> DecisionId {
    DecisionId::kep(NAMESPACE, "web")
}

pub(super) fn ocm() -> DecisionId {
    DecisionId::ocm(NAMESPACE, "web")
}

/// The same items in an order that only the seed decides.
pub(super) fn shuffled<T>(items: impl IntoIterator<Item = T>, seed: u64) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().enumerate().collect();
    items.sort_by_key(|(place, _)| mix(seed.wrapping_add(*place as u64)));
    items.into_iter().map(|(_, item)| item).collect()
}

/// SplitMix64.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
