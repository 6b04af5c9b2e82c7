//! The measurement as a whole.

use std::hint::black_box;

use portolan_generate::Generator;

use super::full::Decided;
use super::report::Report;
use super::{Args, change, full, memory, subject};
use crate::note::note;

pub(super) fn measure(args: &Args) -> anyhow::Result<Report> {
    let fleet = Generator {
        seed: args.seed,
        clusters: args.clusters as usize,
        placements: args.placements as usize,
    };

    note("loading the fleet");
    // The same without clusters first: what it leaves in the heap, the engine with clusters uses again.
    let mut empty = subject::load(&fleet, false);
    subject::settle(&mut empty, &fleet, |_, _, _| ());
    let resident_empty = memory::resident_bytes()?;
    drop(black_box(empty));

    let mut engine = subject::load(&fleet, true);
    subject::settle(&mut engine, &fleet, |_, _, _| ());
    let resident = memory::resident_bytes()?;
    let bytes_per_cluster = resident.saturating_sub(resident_empty) / fleet.clusters.max(1) as u64;

    // What was decided is gathered in a second evaluation, so that it is not in the memory measured above.
    let mut decided = Decided::new(&fleet);
    for key in engine.placements().cloned().collect::<Vec<_>>() {
        engine.reconsider(&key);
    }
    subject::settle(&mut engine, &fleet, |engine, key, outcome| {
        decided.see(engine, key, outcome)
    });

    note("evaluating all placements with the engine and with the plain evaluator");
    let kinds = full::measure(&mut engine, &fleet, &decided)?;
    drop(decided);
    note("changing labels");
    let change = change::measure(&mut engine, &fleet, args.changes as usize);
    Ok(Report::new(args, &kinds, &change, bytes_per_cluster, resident))
}
