//! The figures, as JSON and as a table.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::Args;
use super::load::{Kind, Sample};
use crate::figures::rounded;

/// What was seen of one server.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    version: String,
    writes: BTreeMap<(Kind, usize), Sample>,
    /// Per round, the time of each event.
    pub(super) fan_out: Vec<Vec<Duration>>,
    pub(super) resident: u64,
}

impl Measured {
    pub(super) fn of(version: String) -> Measured {
        Measured {
            version,
            writes: BTreeMap::new(),
            fan_out: Vec::new(),
            resident: 0,
        }
    }

    pub(super) fn add(&mut self, kind: Kind, round: usize, sample: Sample) {
        let total = self.writes.entry((kind, round)).or_default();
        total.writes += sample.writes;
        total.took += sample.took;
        total.cpu += sample.cpu;
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Sample> {
        self.writes
            .iter()
            .filter(move |((of, _), _)| *of == kind)
            .map(|(_, sample)| sample)
    }

    /// All writes of each round.
    fn rounds(&self) -> Vec<Sample> {
        let mut rounds: BTreeMap<usize, Sample> = BTreeMap::new();
        for ((_, round), sample) in &self.writes {
            let total = rounds.entry(*round).or_default();
            total.writes += sample.writes;
            total.took += sample.took;
            total.cpu += sample.cpu;
        }
        rounds.into_values().collect()
    }

    fn total_writes(&self) -> usize {
        self.writes.values().map(|sample| sample.writes).sum()
    }

    fn fan_out_of(&self, round: usize) -> f64 {
        median(self.fan_out[round].iter().map(Duration::as_secs_f64)) * 1e3
    }
}

/// The figures, with the keys that `--help` lists.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    objects: u32,
    object_bytes: usize,
    patches: u32,
    rounds: u32,
    concurrency: u32,
    watchers: u32,
    events: u32,
    hub: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratios: Option<BTreeMap<&'static str, f64>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    version: String,
    #[serde(flatten)]
    writes: BTreeMap<&'static str, Writes>,
    cpu_micros_per_write: f64,
    fan_out_ms: f64,
    rss_mb: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    own: Option<Own>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Writes {
    per_second: f64,
    cpu_micros: f64,
}

/// What is only measured of the hub.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Own {
    bytes_per_object: u64,
    writes_per_commit: f64,
    start_ms: f64,
    restart_ms: f64,
}

/// What the report needs beside the servers' samples.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) starts: Vec<Duration>,
    pub(super) restart: Duration,
    /// What the hub's memory grew by.
    pub(super) grown: u64,
    pub(super) commits: u64,
    pub(super) object_bytes: usize,
}

impl Report {
    pub(super) fn new(args: &Args, hub: &Measured, other: Option<&Measured>, around: &Around) -> Report {
        let own = Own {
            bytes_per_object: around.grown / u64::from(args.objects.max(1)),
            writes_per_commit: rounded(hub.total_writes() as f64 / around.commits.max(1) as f64),
            start_ms: rounded(median(around.starts.iter().map(Duration::as_secs_f64)) * 1e3),
            restart_ms: rounded(around.restart.as_secs_f64() * 1e3),
        };
        Report {
            objects: args.objects,
            object_bytes: around.object_bytes,
            patches: args.patches,
            rounds: args.rounds,
            concurrency: args.concurrency,
            watchers: args.watchers,
            events: args.events,
            hub: Figures {
                own: Some(own),
                ..Figures::of(hub)
            },
            against: other.map(Figures::of),
            ratios: other.map(|other| ratios(hub, other)),
        }
    }

    pub(super) fn table(&self) -> String {
        let mut lines = vec![
            format!(
                "{} objects of {} bytes, {} patches of each kind, {} writers, {} events to {} watchers, {} rounds",
                self.objects,
                self.object_bytes,
                self.patches,
                self.concurrency,
                self.events,
                self.watchers,
                self.rounds
            ),
            String::new(),
        ];
        let mut row = |what: &str, hub: String, against: Option<String>, ratio: Option<&str>| {
            let ratio = ratio.and_then(|name| self.ratios.as_ref()?.get(name));
            let ratio = ratio.map(|ratio| format!("{ratio:.1}×")).unwrap_or_default();
            let line = format!("{what:<28}{hub:>14}{:>14}{ratio:>9}", against.unwrap_or_default());
            lines.push(line.trim_end().to_owned());
        };
        let other = self.against.as_ref();
        row("", "hub".into(), other.map(|other| other.version.clone()), None);
        for (kind, title) in [
            (Kind::Create, "creates"),
            (Kind::Status, "status patches"),
            (Kind::Label, "label patches"),
        ] {
            let show = |figures: &Figures| format!("{:.0}/s", figures.writes[kind.name()].per_second);
            row(title, show(&self.hub), other.map(show), Some(kind.name()));
        }
        let cpu = |figures: &Figures| format!("{:.0} µs", figures.cpu_micros_per_write);
        row(
            "server CPU per write",
            cpu(&self.hub),
            other.map(cpu),
            Some("cpuPerWrite"),
        );
        let fan_out = |figures: &Figures| format!("{:.2} ms", figures.fan_out_ms);
        row(
            "event to the last watcher",
            fan_out(&self.hub),
            other.map(fan_out),
            Some("fanOut"),
        );
        let memory = |figures: &Figures| format!("{:.1} MB", figures.rss_mb);
        row(
            "memory with all objects",
            memory(&self.hub),
            other.map(memory),
            Some("memory"),
        );
        if let Some(own) = &self.hub.own {
            row(
                "memory per object",
                format!("{} bytes", own.bytes_per_object),
                None,
                None,
            );
            row(
                "writes per sync",
                format!("{:.1}", own.writes_per_commit),
                None,
                None,
            );
            row("start to ready", format!("{:.0} ms", own.start_ms), None, None);
            row(
                "the same with all objects",
                format!("{:.0} ms", own.restart_ms),
                None,
                None,
            );
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl Figures {
    fn of(measured: &Measured) -> Figures {
        let writes = Kind::ALL.map(|kind| {
            let figures = Writes {
                per_second: rounded(median(measured.of_kind(kind).map(Sample::per_second))),
                cpu_micros: rounded(median(measured.of_kind(kind).map(Sample::cpu_micros))),
            };
            (kind.name(), figures)
        });
        let fan_out = measured.fan_out.iter().flatten().map(Duration::as_secs_f64);
        Figures {
            version: measured.version.clone(),
            writes: writes.into(),
            cpu_micros_per_write: rounded(median(measured.rounds().iter().map(Sample::cpu_micros))),
            fan_out_ms: rounded(median(fan_out) * 1e3),
            rss_mb: rounded(measured.resident as f64 / (1024.0 * 1024.0)),
            own: None,
        }
    }
}

/// How many times better the hub is: round by round, since what else the machine does then slows both.
fn ratios(hub: &Measured, other: &Measured) -> BTreeMap<&'static str, f64> {
    let mut ratios: BTreeMap<_, _> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let pairs = hub.of_kind(kind).zip(other.of_kind(kind));
            let ratio = median(pairs.map(|(hub, other)| hub.per_second() / other.per_second()));
            (kind.name(), rounded(ratio))
        })
        .collect();
    let rounds = hub.rounds().into_iter().zip(other.rounds());
    let cpu = median(rounds.map(|(hub, other)| other.cpu_micros() / hub.cpu_micros()));
    let both = 0..hub.fan_out.len().min(other.fan_out.len());
    let fan_out = median(both.map(|round| other.fan_out_of(round) / hub.fan_out_of(round)));
    let memory = other.resident as f64 / hub.resident.max(1) as f64;
    ratios.extend(
        [("cpuPerWrite", cpu), ("fanOut", fan_out), ("memory", memory)]
            .map(|(name, ratio)| (name, rounded(ratio))),
    );
    ratios
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(millis: u64) -> Measured {
        let mut measured = Measured::of("v1".into());
        for kind in Kind::ALL {
            for round in 0..3 {
                let took = Duration::from_millis(millis * (round as u64 + 1));
                let (writes, cpu) = (100, took / 2);
                measured.add(kind, round, Sample { writes, took, cpu });
            }
        }
        measured.fan_out = vec![vec![Duration::from_millis(millis)]; 3];
        measured.resident = millis << 20;
        measured
    }

    #[test]
    fn a_ratio_says_how_many_times_better_the_hub_is() {
        let ratios = ratios(&measured(10), &measured(40));
        for figure in [
            "creates",
            "statusPatches",
            "labelPatches",
            "cpuPerWrite",
            "fanOut",
            "memory",
        ] {
            assert_eq!(ratios[figure], 4.0, "{figure}");
        }
    }

    #[test]
    fn rates_are_medians_over_the_rounds() {
        let figures = Figures::of(&measured(100));
        assert_eq!(figures.writes["creates"].per_second, 500.0);
        assert_eq!(figures.writes["creates"].cpu_micros, 1000.0);
    }
}
