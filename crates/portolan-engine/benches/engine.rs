//! `cargo bench -p portolan-engine`: what the steps of an evaluation take, on a generated fleet.
//!
//! For a quick look while changing the engine, and for profilers. The figures that must hold, and the comparison with
//! the plain evaluator, are those of `portolan-bench engine --check`. `CLUSTERS`, `PLACEMENTS` and `CHANGES` set the size.

use std::hint::black_box;
use std::time::{Duration, Instant};

use portolan_engine::decide;
use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::generate::{Generator, Kind};
use portolan_engine::layout::{Desired, Layout, PublishScores, ScorePolicy, layout_slices};
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Observed, plan};

fn main() {
    // `cargo test` runs benches too, to see that they still work; a small fleet will do for that.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let fleet = Generator {
        seed: 1,
        clusters: number("CLUSTERS", if quick { 200 } else { 10_000 }),
        placements: number("PLACEMENTS", if quick { 40 } else { 1_000 }),
    };
    println!("{} clusters, {} placements", fleet.clusters, fleet.placements);
    let mut engine = report("load", 1, || load(&fleet));
    report("first evaluation of everything", 1, || {
        while let Some((key, outcome)) = engine.evaluate_next(fleet.now()) {
            engine.complete(&key);
            drop(black_box(outcome));
        }
    });
    for kind in Kind::ALL {
        let placements = (0..fleet.placements).filter(|index| fleet.kind(*index) == kind);
        let keys: Vec<PlacementKey> = placements
            .map(|index| PlacementKey::of(&fleet.placement(index)))
            .collect();
        report(
            &format!("evaluate one placement: {}", kind.name()),
            keys.len(),
            || {
                keys.iter()
                    .for_each(|key| drop(black_box(engine.evaluate(key, fleet.now()))));
            },
        );
    }
    changes(
        &mut engine,
        &fleet,
        number("CHANGES", if quick { 10 } else { 300 }),
    );
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn load(fleet: &Generator) -> Engine {
    let mut engine = Engine::new(Inventory::ManagedClusters);
    fleet.sets().iter().for_each(|set| engine.apply_set(set));
    fleet
        .bindings()
        .iter()
        .for_each(|binding| engine.apply_binding(binding));
    (0..fleet.placements).for_each(|index| engine.apply_placement(&fleet.placement(index)));
    for index in 0..fleet.clusters {
        engine.apply_cluster(&fleet.cluster(index));
        engine.apply_score(&fleet.score(index));
    }
    engine
}

/// One cluster after the other goes over to another team.
fn changes(engine: &mut Engine, fleet: &Generator, changes: usize) {
    let mut stored: std::collections::HashMap<PlacementKey, Observed> = std::collections::HashMap::new();
    for key in engine
        .placements()
        .filter(|key| key.name.starts_with("label"))
        .cloned()
        .collect::<Vec<_>>()
    {
        if let Some(outcome) = engine.evaluate(&key, fleet.now()) {
            let layout = slices(engine, fleet, &key, &outcome, &Observed::default());
            stored.insert(
                key,
                Observed {
                    slices: layout.slices.unwrap_or_default(),
                    ..Observed::default()
                },
            );
        }
    }
    let [mut apply, mut evaluate, mut lay_out, mut write] = [Duration::ZERO; 4];
    let mut concerned = 0;
    for change in 0..changes {
        let cluster = fleet.moved(change);
        add(&mut apply, || engine.apply_cluster(&cluster));
        let outcomes = add(&mut evaluate, || engine.evaluate_due(fleet.now()));
        concerned += outcomes.len();
        for (key, outcome) in outcomes {
            engine.complete(&key);
            let observed = stored.remove(&key).unwrap_or_default();
            let layout = add(&mut lay_out, || slices(engine, fleet, &key, &outcome, &observed));
            let strategy = engine
                .placement(&key)
                .map(decide::update_strategy)
                .unwrap_or_default();
            let writes = add(&mut write, || plan(&observed, &layout, strategy, None));
            drop(black_box(writes));
            stored.insert(
                key,
                Observed {
                    slices: layout.slices.unwrap_or_default(),
                    ..Observed::default()
                },
            );
        }
    }
    println!(
        "placements concerned by one change: {:.1}",
        concerned as f64 / changes as f64
    );
    let steps = [
        ("index", apply),
        ("evaluate", evaluate),
        ("lay out slices", lay_out),
        ("plan writes", write),
    ];
    for (step, took) in steps {
        println!(
            "{:<40} {:>12.1} µs",
            format!("one change: {step}"),
            took.as_secs_f64() * 1e6 / changes as f64
        );
    }
}

fn slices(
    engine: &Engine,
    fleet: &Generator,
    key: &PlacementKey,
    outcome: &Outcome,
    observed: &Observed,
) -> Layout {
    let placement = engine.placement(key).expect("the placement was evaluated");
    let groups = outcome.named_groups(engine.fleet());
    let desired = Desired {
        placement,
        groups: &groups,
        grouped: decide::has_groups(placement),
        ordered: false,
        profile_namespace: &key.namespace,
    };
    let policy = ScorePolicy {
        publish: PublishScores::Never,
        in_decisions: true,
        now: fleet.now(),
    };
    let (slices, scores_due) = layout_slices(desired, &observed.slices, policy);
    Layout {
        decisions: Vec::new(),
        slices,
        decision_groups: Vec::new(),
        scores_due,
        writes_decision_status: false,
        ordered: false,
    }
}

/// Prints what `work` takes for each of `parts`.
fn report<T>(what: &str, parts: usize, work: impl FnOnce() -> T) -> T {
    let mut took = Duration::ZERO;
    let result = add(&mut took, work);
    println!(
        "{what:<40} {:>12.1} µs",
        took.as_secs_f64() * 1e6 / parts.max(1) as f64
    );
    result
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn add<T>(sum: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *sum += start.elapsed();
    result
}
