//! The engine under test, fed one object at a time.

use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::PlacementKey;
use portolan_generate::{Generator, Kind};

/// An engine with sets, bindings and placements, with or without the clusters and their scores. Objects are dropped as
/// soon as the engine has seen them: what stays in memory is the engine's own.
pub(super) fn load(fleet: &Generator, with_clusters: bool) -> Engine {
    let mut engine = Engine::new(Inventory::ManagedClusters);
    fleet.sets().iter().for_each(|set| engine.apply_set(set));
    fleet
        .bindings()
        .iter()
        .for_each(|binding| engine.apply_binding(binding));
    (0..fleet.placements).for_each(|index| engine.apply_placement(&fleet.placement(index)));
    if with_clusters {
        for index in 0..fleet.clusters {
            engine.apply_cluster(&fleet.cluster(index));
            engine.apply_score(&fleet.score(index));
        }
    }
    engine
}

/// Evaluates everything that is due, one by one, and takes each outcome as written.
pub(super) fn settle(
    engine: &mut Engine,
    fleet: &Generator,
    mut see: impl FnMut(&Engine, &PlacementKey, &Outcome),
) {
    let now = fleet.now();
    engine.wake(now);
    while let Some((key, outcome)) = engine.evaluate_next(now) {
        engine.complete(&key);
        see(engine, &key, &outcome);
    }
}

/// The placements of one kind, as the generator numbers them.
pub(super) fn of_kind(fleet: &Generator, kind: Kind) -> Vec<PlacementKey> {
    let indexes = (0..fleet.placements).filter(|index| fleet.kind(*index) == kind);
    indexes
        .map(|index| PlacementKey::of(&fleet.placement(index)))
        .collect()
}
