//! How far a rollout is, for people.

use jiff::Timestamp;
use portolan_controllers::overview::{ClusterOverview, GroupOverview, Overview, PlacementOverview};
use portolan_rollout::Status;

use crate::output::age;
use crate::output::table::{Cell, Table, Tone};

/// Clusters of a kind that are named one by one.
const LISTED: usize = 10;

/// The whole state.
pub(super) fn render(overview: &Overview, now: Timestamp) -> String {
    let mut text = format!("{}/{}: {}\n", overview.namespace, overview.name, gist(overview));
    for mistake in &overview.mistakes {
        text.push_str(&format!("{}\n", Tone::Bad.paint(mistake)));
    }
    for placement in &overview.placements {
        text.push_str(&format!("\n{} ({})\n", placement.name, placement.strategy));
        match &placement.problem {
            Some(problem) => text.push_str(&format!("  {}\n", Tone::Doubtful.paint(problem))),
            None => text.push_str(&groups(placement).render()),
        }
        text.push_str(&listed("next", placement.starting.iter().cloned()));
        text.push_str(&listed("soaking", placement.soaking.iter().map(soaking)));
        text.push_str(&listed(
            "failed",
            placement.failures.iter().map(|cluster| failed(cluster, now)),
        ));
        text.push_str(&listed("offline", placement.offline.iter().cloned()));
    }
    text
}

/// One line that changes when something does.
pub(super) fn line(overview: &Overview) -> String {
    let mut parts = vec![gist(overview)];
    for placement in &overview.placements {
        if let Some(problem) = &placement.problem {
            parts.push(format!("{}: {problem}", placement.name));
        }
        let open = |group: &&GroupOverview| group.done < group.clusters && group.waiting < group.clusters;
        for group in placement.groups.iter().filter(open) {
            let counts = counts(group);
            parts.push(format!("{} group {}: {counts}", placement.name, name(group)));
        }
    }
    parts.extend(overview.mistakes.iter().cloned());
    parts.join("; ")
}

fn gist(overview: &Overview) -> String {
    let mut text = format!("{} of {} clusters done", overview.done, overview.clusters);
    if overview.is_complete() {
        text.push_str(", complete");
    } else if overview.aborted {
        text.push_str(", aborted");
    } else if overview.paused {
        text.push_str(", paused");
    } else if overview
        .placements
        .iter()
        .any(|placement| placement.max_failure_breach)
    {
        text.push_str(", stopped: more failed than maxFailures allows");
    } else if let Some(left) = overview
        .placements
        .iter()
        .filter_map(|placement| placement.estimate)
        .max()
        .filter(|left| *left > 0)
    {
        let left = Timestamp::UNIX_EPOCH + std::time::Duration::from_secs(left);
        text.push_str(&format!(", about {} left", age(Timestamp::UNIX_EPOCH, left)));
    }
    text
}

fn groups(placement: &PlacementOverview) -> Table {
    let header = [
        "GROUP",
        "CLUSTERS",
        "DONE",
        "SOAKING",
        "IN PROGRESS",
        "FAILED",
        "OFFLINE",
        "WAITING",
    ];
    let mut table = Table::new(&header).indented(2);
    for group in &placement.groups {
        let count = |count: usize, tone: Tone| match count {
            0 => Cell::toned("-", Tone::Faint),
            count => Cell::toned(count.to_string(), tone),
        };
        table.row([
            name(group).into(),
            group.clusters.into(),
            count(group.done, Tone::Good),
            count(group.soaking, Tone::Plain),
            count(group.in_progress, Tone::Plain),
            count(group.failed, Tone::Bad),
            count(group.offline, Tone::Doubtful),
            count(group.waiting, Tone::Faint),
        ]);
    }
    table
}

fn name(group: &GroupOverview) -> String {
    let mandatory = if group.mandatory { " (mandatory)" } else { "" };
    match group.group_name.as_str() {
        "" => format!("{}{mandatory}", group.group_index),
        name => format!("{} {name}{mandatory}", group.group_index),
    }
}

fn counts(group: &GroupOverview) -> String {
    let counts = [
        (group.done, "done"),
        (group.soaking, "soaking"),
        (group.in_progress, "in progress"),
        (group.failed, "failed"),
        (group.offline, "offline"),
        (group.waiting, "waiting"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts
        .map(|(count, what)| format!("{count} {what}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn soaking(cluster: &ClusterOverview) -> String {
    match cluster.until {
        Some(until) => format!("{} until {until}", cluster.cluster),
        None => cluster.cluster.clone(),
    }
}

fn failed(cluster: &ClusterOverview, now: Timestamp) -> String {
    let what = match cluster.status {
        Status::TimeOut => "out of time",
        _ => "in bad health",
    };
    match cluster.since {
        Some(since) => format!("{} ({what}, since {})", cluster.cluster, age(since, now)),
        None => format!("{} ({what})", cluster.cluster),
    }
}

fn listed(what: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.len() {
        0 => String::new(),
        count if count > LISTED => {
            format!(
                "  {what}: {} and {} more\n",
                items[..LISTED].join(", "),
                count - LISTED
            )
        }
        _ => format!("  {what}: {}\n", items.join(", ")),
    }
}
