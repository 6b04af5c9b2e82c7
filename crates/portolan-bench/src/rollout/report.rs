//! The figures, for programs and for people.

use std::collections::BTreeMap;

use serde::Serialize;

use super::agents::Seen;
use crate::figures::rounded;

/// One rollout.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    clusters: u32,
    max_concurrency: usize,
    seconds: f64,
    writes: u64,
    writes_per_cluster: f64,
    writes_by_resource: BTreeMap<String, u64>,
    step_ms: Steps,
}

/// From the status that freed a slot to the work that takes it.
#[derive(Clone, Debug, Default, Serialize)]
struct Steps {
    p50: f64,
    p99: f64,
    max: f64,
}

/// Everything that was measured. Field names are a contract.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// Whether the hub is in the same process.
    embedded: bool,
    #[serde(flatten)]
    whole: Run,
    /// The same for half as many clusters.
    half: Run,
    /// Writes of the whole divided by those of the half.
    growth: f64,
}

impl Run {
    pub(super) fn new(
        clusters: u32,
        slots: usize,
        seconds: f64,
        seen: &Seen,
        before: &BTreeMap<String, u64>,
        after: &BTreeMap<String, u64>,
    ) -> Run {
        let by_resource: BTreeMap<String, u64> = after
            .iter()
            .map(|(resource, count)| {
                (
                    resource.clone(),
                    count - before.get(resource).copied().unwrap_or_default(),
                )
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        let writes = by_resource.values().sum();
        Run {
            clusters,
            max_concurrency: slots,
            seconds: rounded(seconds),
            writes,
            writes_per_cluster: rounded(writes as f64 / f64::from(clusters)),
            writes_by_resource: by_resource,
            step_ms: steps(seen, slots),
        }
    }
}

/// The first works fill the slots; each after them takes the slot that a success freed, in order.
fn steps(seen: &Seen, slots: usize) -> Steps {
    let taken = seen.works.iter().skip(slots);
    let mut waits: Vec<u64> = taken
        .zip(&seen.successes)
        .map(|(work, success)| work.saturating_sub(*success))
        .collect();
    waits.sort_unstable();
    let at = |share: f64| {
        let position = ((waits.len().saturating_sub(1)) as f64 * share) as usize;
        rounded(waits.get(position).copied().unwrap_or_default() as f64 / 1e6)
    };
    Steps {
        p50: at(0.5),
        p99: at(0.99),
        max: at(1.0),
    }
}

/// Writes that succeeded, by resource, from the controllers' own metrics. Reads are not writes.
pub(super) fn writes(metrics: &str) -> BTreeMap<String, u64> {
    let mut writes = BTreeMap::new();
    for line in metrics.lines() {
        let Some((labels, value)) = line
            .strip_prefix("portolan_writes_total{")
            .and_then(|line| line.split_once("} "))
        else {
            continue;
        };
        let label = |name: &str| {
            let rest = labels.split_once(&format!("{name}=\""))?.1;
            rest.split_once('"').map(|(value, _)| value)
        };
        if label("verb") == Some("get") || label("result") != Some("ok") {
            continue;
        }
        let count: u64 = value.trim().parse().unwrap_or_default();
        *writes
            .entry(label("resource").unwrap_or_default().to_owned())
            .or_default() += count;
    }
    writes
}

impl Report {
    pub(super) fn new(embedded: bool, whole: Run, half: Run) -> Report {
        let growth = rounded(whole.writes as f64 / (half.writes.max(1)) as f64);
        Report {
            embedded,
            whole,
            half,
            growth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_time_from_the_success_that_freed_a_slot_to_the_work_that_takes_it() {
        let seen = Seen {
            works: vec![0, 0, 30_000_000, 45_000_000],
            successes: vec![10_000_000, 40_000_000, 50_000_000, 60_000_000],
        };
        let steps = steps(&seen, 2);
        assert_eq!((steps.p50, steps.max), (5.0, 20.0));
    }

    #[test]
    fn writes_are_counted_by_resource_and_reads_and_errors_are_not() {
        let text = "portolan_writes_total{resource=\"a\",verb=\"create\",result=\"ok\"} 3\n\
                    portolan_writes_total{resource=\"a\",verb=\"patch\",result=\"ok\"} 2\n\
                    portolan_writes_total{resource=\"a\",verb=\"get\",result=\"ok\"} 9\n\
                    portolan_writes_total{resource=\"b\",verb=\"patch\",result=\"conflict\"} 1\n";
        assert_eq!(writes(text), BTreeMap::from([("a".to_owned(), 5)]));
    }
}
