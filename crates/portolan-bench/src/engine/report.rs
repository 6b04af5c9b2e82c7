//! The figures, for programs and for people.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::ChangeFigures;
use super::full::KindFigures;
use super::{Args, memory};
use crate::figures::rounded;

/// Everything that was measured. Field names are a contract.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    clusters: u32,
    placements: u32,
    changes: u32,
    seed: u64,
    ratios: Ratios,
    /// Memory of the engine with its clusters, less that without, per cluster.
    bytes_per_cluster: u64,
    /// Full evaluation of all placements, per pair of placement and cluster.
    ns_per_pair: f64,
    /// One label change: index, concerned placements, evaluation, layout and write plan.
    change_ns: u64,
    /// Resident set with the engine loaded and evaluated, before anything else is measured.
    rss_mb: f64,
    /// OCM objects written per change.
    ocm_objects_rewritten: f64,
    /// KEP slices written per change.
    kep_slices_rewritten: f64,
    /// Median number of placements that a change made due.
    placements_per_change: u64,
    /// Changes that concerned 1 to 10 placements: those that count.
    changes_counted: usize,
    /// Full evaluation of all placements by the engine.
    full_ns: u64,
    /// By kind of placement.
    kinds: BTreeMap<&'static str, KindReport>,
    memory_measured_by: &'static str,
    /// The smaller fleet that a floor compares with, measured in the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_with: Option<ComparedWith>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedWith {
    clusters: u32,
    change_ns: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Ratios {
    full: BTreeMap<&'static str, f64>,
    change: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KindReport {
    placements: usize,
    engine_ns_per_placement: u64,
    /// Placements that the plain evaluator was given, with the outcome that the engine has.
    plain_sampled: usize,
    plain_ns_per_placement: u64,
}

impl Report {
    pub(super) fn new(
        args: &Args,
        kinds: &[KindFigures],
        change: &ChangeFigures,
        bytes_per_cluster: u64,
        resident: u64,
    ) -> Report {
        let full_ns = change.full_ns;
        let pairs = f64::from(args.clusters) * f64::from(args.placements);
        let kind_report = |kind: &KindFigures| KindReport {
            placements: kind.placements,
            engine_ns_per_placement: kind.engine_ns / kind.placements.max(1) as u64,
            plain_sampled: kind.sampled,
            plain_ns_per_placement: kind.plain_sampled_ns / kind.sampled.max(1) as u64,
        };
        Report {
            clusters: args.clusters,
            placements: args.placements,
            changes: args.changes,
            seed: args.seed,
            ratios: Ratios {
                full: kinds
                    .iter()
                    .map(|kind| (kind.kind.name(), rounded(kind.ratio())))
                    .collect(),
                change: change.ratio,
            },
            bytes_per_cluster,
            ns_per_pair: rounded(full_ns as f64 / pairs),
            change_ns: change.ns,
            rss_mb: rounded(resident as f64 / (1024.0 * 1024.0)),
            ocm_objects_rewritten: rounded(change.ocm_objects),
            kep_slices_rewritten: rounded(change.kep_slices),
            placements_per_change: change.concerned,
            changes_counted: change.counted,
            full_ns,
            kinds: kinds
                .iter()
                .map(|kind| (kind.kind.name(), kind_report(kind)))
                .collect(),
            memory_measured_by: memory::METHOD,
            compared_with: None,
        }
    }

    pub(super) fn compare_with(&mut self, smaller: &Report) {
        self.compared_with = Some(ComparedWith {
            clusters: smaller.clusters,
            change_ns: smaller.change_ns,
        });
    }

    pub(super) fn table(&self) -> String {
        let mut lines = vec![
            format!(
                "{} clusters, {} placements, {} changes, seed {}",
                self.clusters, self.placements, self.changes, self.seed
            ),
            String::new(),
            format!(
                "{:<7} {:>11} {:>13} {:>13} {:>9}",
                "kind", "placements", "engine", "plain", "ratio"
            ),
        ];
        for (name, kind) in &self.kinds {
            lines.push(format!(
                "{name:<7} {:>11} {:>13} {:>13} {:>9}",
                kind.placements,
                time(kind.engine_ns_per_placement),
                time(kind.plain_ns_per_placement),
                format!("{:.1}", self.ratios.full.get(name).copied().unwrap_or(0.0)),
            ));
        }
        lines.extend([
            String::new(),
            format!(
                "all placements       {} ({} ns per pair)",
                time(self.full_ns),
                self.ns_per_pair
            ),
            format!(
                "one label change     {} ({} times less; {} placements, {} KEP slices, {} OCM objects)",
                time(self.change_ns),
                self.ratios.change,
                self.placements_per_change,
                self.kep_slices_rewritten,
                self.ocm_objects_rewritten,
            ),
            format!(
                "memory               {} bytes per cluster, {} MB resident",
                self.bytes_per_cluster, self.rss_mb
            ),
            String::new(),
        ]);
        if let Some(smaller) = &self.compared_with {
            let change = time(smaller.change_ns);
            lines.insert(
                lines.len() - 1,
                format!("at {} clusters    one label change {change}", smaller.clusters),
            );
        }
        lines.join("\n")
    }
}

fn time(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        _ => format!("{:.1} ms", nanoseconds as f64 / 1e6),
    }
}
