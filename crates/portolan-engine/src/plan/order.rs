//! In which order objects are written when each is written once.

use std::collections::{BTreeMap, BTreeSet};

/// Divides `objects` into batches. `clusters` has, for each cluster that changes objects, the object it goes to and
/// those it leaves: it must be written where it goes before it is taken from where it was.
///
/// Where clusters go round in a circle there is no such order. Then the object goes first whose clusters have least
/// to lose, the one with the lowest number among equals.
pub(super) fn batches(
    objects: impl IntoIterator<Item = usize>,
    clusters: &[(usize, Vec<usize>)],
) -> Vec<BTreeSet<usize>> {
    // For each object that waits: how many of its clusters wait for which other object.
    let mut waiting: BTreeMap<usize, BTreeMap<usize, usize>> = objects
        .into_iter()
        .map(|object| (object, BTreeMap::new()))
        .collect();
    for (to, from) in clusters {
        for object in from.iter().filter(|object| *object != to) {
            if let Some(others) = waiting.get_mut(object) {
                *others.entry(*to).or_default() += 1;
            }
        }
    }
    let mut batches = Vec::new();
    while !waiting.is_empty() {
        let free = waiting
            .iter()
            .filter(|(_, others)| others.is_empty())
            .map(|(object, _)| *object);
        let mut batch: BTreeSet<usize> = free.collect();
        if batch.is_empty() {
            batch.extend(least_to_lose(&waiting));
        }
        waiting.retain(|object, _| !batch.contains(object));
        for others in waiting.values_mut() {
            others.retain(|object, _| !batch.contains(object));
        }
        batches.push(batch);
    }
    batches
}

fn least_to_lose(waiting: &BTreeMap<usize, BTreeMap<usize, usize>>) -> Option<usize> {
    let loss = |others: &BTreeMap<usize, usize>| others.values().sum::<usize>();
    waiting
        .iter()
        .min_by_key(|(object, others)| (loss(others), **object))
        .map(|(object, _)| *object)
}
