//! A plan for people.

use jiff::Timestamp;
use portolan_rollout::{Cluster, GroupKey, Plan, Status};

use crate::output::table::{Cell, Column, Table, Tone};
use crate::output::{age, whole_second};

/// A sentence on what happens, then every cluster that something happens to.
pub(super) fn plan(plan: &Plan, now: Timestamp, width: Option<usize>) -> String {
    let mut table = Table::new([
        Column::name("CLUSTER"),
        Column::name("GROUP"),
        Column::new("STEP"),
        Column::new("SINCE"),
        Column::new("UNTIL").drop(1),
    ]);
    for cluster in &plan.clusters_to_rollout {
        let (step, tone) = step(cluster);
        row(&mut table, cluster, step, tone, now);
    }
    for cluster in &plan.clusters_time_out {
        row(&mut table, cluster, "timed out", Tone::Bad, now);
    }
    for cluster in &plan.clusters_removed {
        row(&mut table, cluster, "removed", Tone::Faint, now);
    }
    for name in &plan.clusters_skipped {
        let skipped = Cell::toned("skipped: offline, caught up later", Tone::Doubtful);
        table.row([name.into(), "-".into(), skipped, "-".into(), "-".into()]);
    }
    let rows = if table.is_empty() {
        String::new()
    } else {
        format!("\n{}", table.render(width))
    };
    format!("{}{rows}", summary(plan))
}

fn summary(plan: &Plan) -> String {
    let started = |cluster: &&Cluster| step(cluster).0 == START;
    let start = plan.clusters_to_rollout.iter().filter(started).count();
    let counts = [
        (start, "to start"),
        (plan.clusters_to_rollout.len() - start, "waited for"),
        (plan.clusters_time_out.len(), "timed out"),
        (plan.clusters_removed.len(), "removed"),
        (plan.clusters_skipped.len(), "skipped"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let mut text = match counts.as_slice() {
        [] => "nothing to do\n".to_owned(),
        counts => format!("{}\n", counts.join(", ")),
    };
    if plan.max_failure_breach {
        text.push_str(&Tone::Bad.paint("more clusters failed than may: no further ones are started"));
        text.push('\n');
    }
    if let Some(after) = plan.recheck_after {
        // Rounded up: to look too early is of no use.
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        text.push_str(&format!("look again in {seconds}s\n"));
    }
    text
}

const START: &str = "start";

fn step(cluster: &Cluster) -> (&'static str, Tone) {
    match cluster.status {
        Status::ToApply if cluster.last_transition_time.is_none() => (START, Tone::Good),
        Status::ToApply => ("given, not taken up", Tone::Doubtful),
        Status::Progressing => ("in progress", Tone::Plain),
        Status::Succeeded => ("soaking", Tone::Good),
        Status::Failed => ("failed, may recover", Tone::Bad),
        Status::TimeOut => ("timed out", Tone::Bad),
        Status::Skip => ("left alone", Tone::Faint),
        Status::Unknown => ("unknown", Tone::Doubtful),
    }
}

fn row(table: &mut Table, cluster: &Cluster, step: &str, tone: Tone, now: Timestamp) {
    let since = cluster
        .last_transition_time
        .map_or_else(|| "-".to_owned(), |then| age(then, now));
    let until = cluster
        .recheck_time
        .map_or_else(|| "-".to_owned(), |end| whole_second(end).to_string());
    table.row([
        (&cluster.cluster_name).into(),
        group(&cluster.group_key).into(),
        Cell::toned(step, tone),
        since.into(),
        until.into(),
    ]);
}

fn group(key: &GroupKey) -> String {
    match key.group_name.as_str() {
        "" => key.group_index.to_string(),
        name => format!("{} {name}", key.group_index),
    }
}
