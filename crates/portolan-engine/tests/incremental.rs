//! Incremental equals from scratch: after any edit the engine evaluates what is concerned and nothing that it leaves
//! alone has become wrong. The plain evaluator says what is right.

mod support;

use std::collections::BTreeMap;

use portolan_api::cluster::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, ManagedClusterSpec, Placement,
    PlacementDecision, PlacementSpec, SortBy, Taint, TaintEffect, Toleration,
};
use portolan_api::labels::ocm;
use portolan_cel::Budget;
use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::PlacementKey;
use portolan_reference::{PlainOutcome, Usage};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use support::edits::{self, Edit, Step};
use support::placements;
use support::world::World;

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/incremental.regressions",
        ))),
        max_shrink_iters: 20_000,
        ..ProptestConfig::with_cases(
            std::env::var("PROPTEST_CASES")
                .ok()
                .and_then(|n| n.parse().ok())
                .unwrap_or(96),
        )
    }
}

/// What a placement decided when it was evaluated last, and what it knew then besides the fleet.
struct Seen {
    usage: Usage,
    own: Vec<PlacementDecision>,
    visible: PlainOutcome,
}

struct Checked {
    world: World,
    engine: Engine,
    seen: BTreeMap<PlacementKey, Seen>,
}

impl Checked {
    fn new() -> Checked {
        Checked::with_expression_budget(Budget::PER_PLACEMENT)
    }

    fn with_expression_budget(units: u64) -> Checked {
        Checked {
            world: World {
                expression_budget: units,
                ..World::new()
            },
            engine: Engine::new(Inventory::ManagedClusters).with_expression_budget(units),
            seen: BTreeMap::new(),
        }
    }

    fn apply(&mut self, edit: &Edit) {
        self.world.apply(edit, &mut self.engine);
        self.seen.retain(|key, _| self.world.placements.contains_key(key));
    }

    /// Evaluates what is due and compares all placements, due or not.
    fn evaluate(&mut self, complete: bool) {
        let now = self.world.now;
        let outcomes = self.engine.evaluate_due(now);
        let keys: Vec<PlacementKey> = outcomes.iter().map(|(key, _)| key.clone()).collect();
        assert!(
            keys.is_sorted(),
            "evaluated in the order of namespace and name: {keys:?}"
        );
        for (key, outcome) in outcomes {
            let given = PlainOutcome::of(&outcome, self.engine.fleet());
            let own = World::own(&self.world.prior, &key).to_vec();
            let usage = self.world.usage(&key);
            let right = self.world.plain(&key, &own, &usage);
            assert_eq!(given, right, "{key} was evaluated");
            self.world.fold(&key, &right);
            self.seen.insert(
                key,
                Seen {
                    usage,
                    own,
                    visible: right.visible(),
                },
            );
        }
        for (key, seen) in &self.seen {
            let right = self.world.plain(key, &seen.own, &seen.usage).visible();
            assert_eq!(seen.visible, right, "{key} was left alone");
        }
        assert_eq!(
            self.seen.len(),
            self.world.placements.len(),
            "every placement was evaluated once at least"
        );
        if complete {
            for key in self.world.counted.keys().cloned().collect::<Vec<_>>() {
                self.engine.complete(&key);
                self.world.complete(&key);
            }
        }
    }

    /// The engine with its history and one without agree on every placement, whatever is due.
    fn compare_with_fresh_engine(&mut self, salt: usize) {
        let mut fresh = self.world.fresh_engine(salt);
        for key in self.world.placements.keys() {
            let usage = self.world.usage(key);
            for (who, engine, decisions) in [
                ("live", &mut self.engine, &self.world.prior),
                ("fresh", &mut fresh, &self.world.counted),
            ] {
                let outcome = engine
                    .evaluate(key, self.world.now)
                    .expect("the engine holds the placement");
                let given = PlainOutcome::of(&outcome, engine.fleet());
                let right = self.world.plain(key, World::own(decisions, key), &usage);
                assert_eq!(given, right, "{key} in the {who} engine");
            }
        }
    }
}

fn run(mut checked: Checked, initial: &[Edit], steps: &[Step]) {
    initial.iter().for_each(|edit| checked.apply(edit));
    checked.evaluate(true);
    for (salt, step) in steps.iter().enumerate() {
        step.edits.iter().for_each(|edit| checked.apply(edit));
        checked.evaluate(step.complete);
        checked.compare_with_fresh_engine(salt);
    }
}

/// Placements with expressions that choose from all clusters.
fn costly_placements() -> Vec<Edit> {
    let set = serde_json::json!({
        "metadata": {"name": "everything"},
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
    });
    let mut edits = vec![
        Edit::Set(serde_json::from_value(set).expect("a set")),
        Edit::Binding(ManagedClusterSetBinding {
            metadata: support::metadata("one", "everything"),
            ..Default::default()
        }),
    ];
    let costly = placements::COSTLY_FOR_SOME;
    let never = format!("{costly} && false");
    for (index, expressions) in [vec![costly], vec![&never], vec![costly, &never]]
        .iter()
        .enumerate()
    {
        let predicates: Vec<serde_json::Value> = expressions
            .iter()
            .map(|expression| {
                serde_json::json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}})
            })
            .collect();
        let placement = serde_json::json!({
            "metadata": {"name": format!("costly{index}"), "namespace": "one"},
            "spec": {"predicates": predicates},
        });
        edits.push(Edit::Placement(
            serde_json::from_value(placement).expect("a placement"),
        ));
    }
    edits
}

/// Whether any bound set exists is part of a placement's conditions, also of one that asks for another set.
#[test]
fn a_bound_set_going_away_concerns_placements_that_ask_for_another() {
    let mut checked = Checked::new();
    checked.apply(&Edit::Set(ManagedClusterSet::new("blue", Default::default())));
    checked.apply(&Edit::Binding(ManagedClusterSetBinding {
        metadata: support::metadata("one", "blue"),
        ..Default::default()
    }));
    let spec = PlacementSpec {
        cluster_sets: vec!["green".to_owned()],
        ..Default::default()
    };
    checked.apply(&Edit::Placement(Placement {
        metadata: support::metadata("one", "p0"),
        spec,
        status: None,
    }));
    checked.evaluate(true);
    checked.apply(&Edit::RemoveSet("blue".to_owned()));
    checked.evaluate(true);
}

/// PreferNoSelect orders the choice; a decision sorted by score is by score, then by name.
#[test]
fn equal_scores_are_sorted_by_name_whatever_the_taints() {
    let mut checked = Checked::new();
    checked.apply(&Edit::Set(ManagedClusterSet::new("blue", Default::default())));
    checked.apply(&Edit::Binding(ManagedClusterSetBinding {
        metadata: support::metadata("one", "blue"),
        ..Default::default()
    }));
    for (name, effect) in [("a", TaintEffect::PreferNoSelect), ("b", TaintEffect::NoSelect)] {
        let taint = Taint {
            key: "k".to_owned(),
            effect,
            ..Default::default()
        };
        let spec = ManagedClusterSpec {
            taints: vec![taint],
            ..Default::default()
        };
        let mut cluster = ManagedCluster::new(name, spec);
        cluster.metadata.labels = Some([(ocm::CLUSTER_SET.to_owned(), "blue".to_owned())].into());
        checked.apply(&Edit::Cluster(cluster));
    }
    let tolerated = Toleration {
        operator: Some("Exists".to_owned()),
        effect: Some(TaintEffect::NoSelect),
        ..Default::default()
    };
    let spec = PlacementSpec {
        tolerations: vec![Toleration {
            key: Some("k".to_owned()),
            ..tolerated
        }],
        sort_by: Some(SortBy::Score),
        ..Default::default()
    };
    checked.apply(&Edit::Placement(Placement {
        metadata: support::metadata("one", "p0"),
        spec,
        status: None,
    }));
    checked.evaluate(true);
    let decided = &checked.seen[&PlacementKey::new("one", "p0")].visible;
    assert_eq!(decided.selected, ["b", "a"]);
    assert_eq!(decided.groups[0].1, ["a", "b"]);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn incremental_equals_from_scratch(
        initial in edits::initial(),
        steps in prop::collection::vec(edits::step(), 1..12),
    ) {
        run(Checked::new(), &initial, &steps);
    }

    /// With a budget that is beyond for some placements and not for others, and changes with every edit.
    #[test]
    fn incremental_equals_from_scratch_where_expressions_may_cost_too_much(
        units in 0u64..2_000,
        initial in edits::initial(),
        steps in prop::collection::vec(edits::step(), 1..12),
    ) {
        let initial = [costly_placements(), initial].concat();
        run(Checked::with_expression_budget(units), &initial, &steps);
    }

    #[test]
    fn the_order_in_which_objects_arrive_does_not_matter(initial in edits::initial(), salt in any::<usize>()) {
        let mut world = World::new();
        initial.iter().for_each(|edit| world.apply(edit, &mut Engine::default()));
        let answers = |salt: usize| -> Vec<(PlacementKey, PlainOutcome)> {
            let mut engine = world.fresh_engine(salt);
            let outcomes = engine.evaluate_due(world.now);
            outcomes.into_iter().map(|(key, outcome)| (key, PlainOutcome::of(&outcome, engine.fleet()))).collect()
        };
        prop_assert_eq!(answers(0), answers(salt));
    }

    /// Default policies, everything evaluated again and again, each outcome written: the selections stand still.
    #[test]
    fn the_fleet_goes_quiet(initial in edits::initial(), specs in prop::collection::vec(placements::spec(), 1..7)) {
        let mut world = World::new();
        let mut engine = Engine::new(Inventory::ManagedClusters);
        for edit in initial.iter().filter(|edit| !matches!(edit, Edit::Placement(_))) {
            world.apply(edit, &mut engine);
        }
        for (index, spec) in specs.iter().enumerate() {
            let spec = PlacementSpec { prioritizer_policy: None, ..spec.clone() };
            let placement =
                Placement { metadata: support::metadata("one", &format!("p{index}")), spec, status: None };
            world.apply(&Edit::Placement(placement), &mut engine);
        }
        let keys: Vec<PlacementKey> = engine.placements().cloned().collect();
        let mut last: Vec<Vec<(String, Vec<String>)>> = Vec::new();
        let mut quiet_rounds = 0;
        for _ in 0..12 {
            keys.iter().for_each(|key| engine.reconsider(key));
            let outcomes = engine.evaluate_due(world.now);
            let groups: Vec<_> =
                outcomes.iter().map(|(_, outcome)| PlainOutcome::of(outcome, engine.fleet()).groups).collect();
            keys.iter().for_each(|key| engine.complete(key));
            prop_assert_eq!(groups.len(), keys.len());
            quiet_rounds = if groups == last { quiet_rounds + 1 } else { 0 };
            last = groups;
        }
        prop_assert!(quiet_rounds >= 3, "still moving after twelve rounds");
    }
}
