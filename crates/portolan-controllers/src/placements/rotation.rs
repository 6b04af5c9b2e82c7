//! Which of the placements that are due comes next. No I/O, no clock.
//!
//! Placements that become due together are evaluated in the order of their keys. A namespace with very many of them, or with
//! some that are expensive, would keep all others waiting, for ever if they become due again meanwhile. So a namespace has a
//! turn of limited length while others wait, and goes on where it stopped when its next turn comes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use portolan_engine::placement::PlacementKey;

/// Placements that are evaluated for one namespace in a row while others wait. More, and the others wait longer; less, and
/// the order of evaluation differs from that of the keys for smaller namespaces. An expensive placement counts as several.
pub(super) const TURN: u64 = 1000;

/// Whose turn it is, and where each namespace stopped.
#[derive(Debug)]
pub(crate) struct Rotation {
    length: u64,
    current: Option<Arc<str>>,
    /// What the namespace whose turn it is has used of it.
    used: u64,
    /// The placement that was last evaluated, by namespace.
    stopped_at: BTreeMap<Arc<str>, PlacementKey>,
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation::with_turns_of(TURN)
    }
}

impl Rotation {
    fn with_turns_of(length: u64) -> Rotation {
        Rotation {
            length,
            current: None,
            used: 0,
            stopped_at: BTreeMap::new(),
        }
    }

    /// The next placement of those that are due and `ready`. When there is none, the order starts anew.
    pub(crate) fn next(
        &mut self,
        due: &BTreeSet<PlacementKey>,
        ready: impl Fn(&PlacementKey) -> bool,
    ) -> Option<PlacementKey> {
        let is_ready = |key: &&PlacementKey| ready(key);
        let next = match &self.current {
            None => due.iter().find(is_ready),
            Some(current) => {
                let end = end_of(current);
                let has_time = self.used < self.length;
                let rest = || self.rest_of(current, due, &ready);
                let others = || {
                    let later = due.range(&end..).find(is_ready);
                    // Those before the current namespace, and at last itself.
                    later.or_else(|| due.range(..&end).find(is_ready))
                };
                has_time.then(rest).flatten().or_else(|| {
                    let first = others()?;
                    Some(self.rest_of(&first.namespace, due, &ready).unwrap_or(first))
                })
            }
        };
        let next = next.cloned();
        if next.is_none() {
            *self = Rotation::with_turns_of(self.length);
        }
        next
    }

    /// What is due of a namespace after where it stopped.
    fn rest_of<'a>(
        &self,
        namespace: &Arc<str>,
        due: &'a BTreeSet<PlacementKey>,
        ready: impl Fn(&PlacementKey) -> bool,
    ) -> Option<&'a PlacementKey> {
        let stopped_at = self.stopped_at.get(namespace)?;
        let end = end_of(namespace);
        let mut rest = due.range((Bound::Excluded(stopped_at), Bound::Excluded(&end)));
        rest.find(|key| ready(key))
    }

    /// A placement was evaluated. `cost` is what that counts, 1 for one that is cheap.
    pub(crate) fn took(&mut self, key: &PlacementKey, cost: u64) {
        if self.current.as_ref() != Some(&key.namespace) {
            self.current = Some(key.namespace.clone());
            self.used = 0;
        }
        self.used = self.used.saturating_add(cost.max(1));
        self.stopped_at.insert(key.namespace.clone(), key.clone());
    }
}

/// The least key after all those of a namespace.
fn end_of(namespace: &str) -> PlacementKey {
    PlacementKey::new(&format!("{namespace}\0"), "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(namespace: usize, number: usize) -> PlacementKey {
        PlacementKey::new(&format!("n{namespace}"), &format!("p{number:05}"))
    }

    /// So many placements of each namespace.
    fn all(sizes: &[usize]) -> BTreeSet<PlacementKey> {
        let numbered = sizes.iter().enumerate();
        numbered
            .flat_map(|(namespace, size)| (0..*size).map(move |number| key(namespace, number)))
            .collect()
    }

    /// Evaluates what is due until nothing is, or for so many steps. `again` says what becomes due after a step.
    fn run(
        rotation: &mut Rotation,
        mut due: BTreeSet<PlacementKey>,
        steps: usize,
        cost: impl Fn(&PlacementKey) -> u64,
        again: impl Fn(&PlacementKey) -> bool,
    ) -> Vec<PlacementKey> {
        let mut order = Vec::new();
        while order.len() < steps
            && let Some(next) = rotation.next(&due, |_| true)
        {
            due.remove(&next);
            rotation.took(&next, cost(&next));
            if again(&next) {
                due.insert(next.clone());
            }
            order.push(next);
        }
        order
    }

    #[test]
    fn a_namespace_that_is_always_due_does_not_keep_another_from_its_turn() {
        let due = all(&[3000, 1]);
        let busy = |key: &PlacementKey| &*key.namespace == "n0";
        let order = run(&mut Rotation::default(), due, 3000, |_| 1, busy);
        let at = order.iter().position(|other| *other == key(1, 0));
        assert_eq!(at, Some(1000), "after one turn of the other");
    }

    #[test]
    fn one_expensive_placement_is_a_whole_turn() {
        let due = all(&[3000, 1]);
        let busy = |key: &PlacementKey| &*key.namespace == "n0";
        let order = run(&mut Rotation::default(), due, 10, |_| TURN, busy);
        assert_eq!(order[..2], [key(0, 0), key(1, 0)]);
    }

    #[test]
    fn what_is_not_ready_is_passed_over_and_stays() {
        let due = all(&[2, 1]);
        let mut rotation = Rotation::default();
        let next = rotation.next(&due, |other| *other != key(0, 0));
        assert_eq!(next, Some(key(0, 1)));
        rotation.took(&key(0, 1), 1);
        assert_eq!(rotation.next(&due, |_| false), None);
        assert_eq!(rotation.next(&due, |_| true), Some(key(0, 0)), "it starts anew");
    }

    proptest! {
        /// The order that explanations and simulations have.
        #[test]
        fn namespaces_within_their_turn_are_evaluated_in_the_order_of_keys(
            sizes in prop::collection::vec(0usize..=8, 1..6),
        ) {
            let due = all(&sizes);
            let order = run(&mut Rotation::with_turns_of(8), due.clone(), usize::MAX, |_| 1, |_| false);
            prop_assert_eq!(order, due.into_iter().collect::<Vec<_>>());
        }

        /// Placements of other namespaces may be due again at once. A placement still waits for only as many of their turns
        /// as its own namespace needs to reach it.
        #[test]
        fn nobody_waits_for_more_than_the_turns_of_the_others(
            sizes in prop::collection::vec(1usize..40, 1..6),
            costs in prop::collection::vec(1u64..=5, 7),
            busy in prop::collection::vec(any::<bool>(), 6),
            length in 1u64..8,
        ) {
            let due = all(&sizes);
            let place = |key: &PlacementKey| key.namespace[1..].parse::<usize>().unwrap_or_default();
            let number = |key: &PlacementKey| key.name[1..].parse::<usize>().unwrap_or_default();
            let cost = |key: &PlacementKey| costs[(place(key) + number(key)) % costs.len()];
            let steps = 6 * sizes.len() * 40 * 8;
            let order = run(&mut Rotation::with_turns_of(length), due.clone(), steps, cost, |key| busy[place(key)]);
            for waiting in &due {
                let at = order.iter().position(|key| key == waiting);
                prop_assert!(at.is_some(), "{waiting} never comes");
                let before = &order[..at.unwrap_or_default()];
                // Each of its own is evaluated once before it, and each of them may need a turn of its own.
                let own = before.iter().filter(|key| place(key) == place(waiting)).count();
                prop_assert!(own <= number(waiting));
                for other in (0..sizes.len()).filter(|other| *other != place(waiting)) {
                    let theirs: u64 = before.iter().filter(|key| place(key) == other).map(cost).sum();
                    // The last placement of a turn may go beyond it.
                    let longest = length + 4;
                    prop_assert!(theirs <= (own as u64 + 1) * longest, "{theirs} of n{other} before {waiting}");
                }
            }
        }
    }
}
