//! How far a rollout is, for people.

use std::collections::BTreeMap;

use jiff::Timestamp;
use portolan_api::count::part;
use portolan_controllers::overview::{
    ClusterOverview, GroupOverview, Overview, OverviewState, PlacementOverview,
};
use portolan_rollout::Status;
use portolan_runtime::failure::says;

use crate::output::age;
use crate::output::table::{Cell, Column, Table, Tone};

/// Clusters of a kind that are named one by one.
const LISTED: usize = 10;

const WHEN_STOPPED: &str = "it goes on by itself when you correct the template, repair the clusters that failed, or raise maxFailures";
const WHEN_MANDATORY: &str =
    "it goes on by itself when you correct the template or repair the clusters of the group that failed";

/// The whole state.
pub(super) fn render(
    overview: &Overview,
    misconfigured: &[String],
    now: Timestamp,
    width: Option<usize>,
) -> String {
    let gist = gist(overview, misconfigured);
    let mut text = format!("{}/{}: {gist}\n", overview.namespace, overview.name);
    for mistake in &overview.mistakes {
        text.push_str(&format!("{}\n", Tone::Bad.paint(mistake)));
    }
    for placement in &overview.placements {
        // What is wrong was said above.
        if overview.state == OverviewState::Invalid
            && placement.problem.is_none()
            && placement.groups.is_empty()
        {
            continue;
        }
        text.push_str(&format!("\n{} ({})\n", placement.name, placement.strategy));
        match &placement.problem {
            Some(problem) => text.push_str(&format!("  {}\n", Tone::Doubtful.paint(problem))),
            None if placement.groups.is_empty() => {}
            None => text.push_str(&groups(placement).render(width)),
        }
        for warning in &placement.warnings {
            text.push_str(&format!("  {}\n", Tone::Doubtful.paint(&plain(warning))));
        }
        if !overview.aborted {
            text.push_str(&listed("next", placement.starting.iter().cloned()));
        }
        text.push_str(&soaking(&placement.soaking));
        if let Some(next) = when_stopped(overview, placement) {
            text.push_str(&format!("  {next}\n"));
        }
        text.push_str(&listed("offline", placement.offline.iter().cloned()));
        text.push_str(&listed("kept, cannot be reached", placement.kept.iter().cloned()));
        text.push_str(&troubles(placement, now, width));
    }
    if let Some(next) = when_aborted(overview) {
        text.push_str(&format!("\n{next}\n"));
    }
    text
}

/// How a rollout goes on that is aborted, or that a Placement has stopped: a line each.
pub(super) fn next_steps(overview: &Overview) -> Vec<String> {
    let placements = overview.placements.iter();
    let stopped = placements.filter_map(|placement| when_stopped(overview, placement));
    let stopped = stopped.map(|next| format!("  {next}"));
    let aborted = when_aborted(overview).map(|next| format!("  {next}"));
    let mut steps: Vec<String> = stopped.chain(aborted).collect();
    steps.dedup();
    steps
}

fn when_stopped(overview: &Overview, placement: &PlacementOverview) -> Option<&'static str> {
    let next = match failed_mandatory(placement) {
        Some(_) => WHEN_MANDATORY,
        None => WHEN_STOPPED,
    };
    (placement.max_failure_breach && !overview.aborted).then_some(next)
}

fn when_aborted(overview: &Overview) -> Option<String> {
    (overview.aborted && !overview.is_complete()).then(|| {
        format!(
            "nothing more is started; `portolan rollout resume {}/{}` goes on, and a new template rolls out",
            overview.namespace, overview.name
        )
    })
}

/// A mandatory group with a cluster that failed. It tolerates no failure, whatever maxFailures says.
fn failed_mandatory(placement: &PlacementOverview) -> Option<&GroupOverview> {
    let mut groups = placement.groups.iter();
    groups.find(|group| group.mandatory && group.failed > 0)
}

/// One line that changes when something does.
pub(super) fn line(overview: &Overview, misconfigured: &[String]) -> String {
    let mut parts = vec![gist(overview, misconfigured)];
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

/// Why the clusters failed that stopped a rollout: a line each, and how many more there are.
pub(super) fn failures(overview: &Overview) -> Vec<String> {
    let all: Vec<&ClusterOverview> = overview
        .placements
        .iter()
        .flat_map(|placement| &placement.failures)
        .collect();
    let shown = all.iter().take(LISTED).map(|cluster| {
        let why = Some(why(cluster)).filter(|why| !why.is_empty());
        let why = why.unwrap_or_else(|| "its agent says no reason".to_owned());
        format!("  {} {}: {}", cluster.cluster, what_failed(cluster), plain(&why))
    });
    let more = match all.len().saturating_sub(LISTED) {
        0 => None,
        more => Some(format!(
            "  … and {more} more; `portolan rollout status {}/{} -o json` lists all",
            overview.namespace, overview.name
        )),
    };
    shown.chain(more).collect()
}

/// The state of a rollout that has no clusters to count. `misconfigured` are the Placements that select nothing for that
/// reason.
fn without_clusters(overview: &Overview, misconfigured: &[String]) -> Option<String> {
    let held = match (overview.aborted, overview.paused) {
        (true, _) => "; aborted",
        (_, true) => "; paused",
        _ => "",
    };
    match overview.state {
        OverviewState::NoClusters => Some(match misconfigured.first() {
            Some(name) => format!("no clusters: the placement {name} is misconfigured"),
            None => "no clusters: the placement selects none".to_owned(),
        }),
        // What is wrong follows.
        OverviewState::Invalid => Some(format!("invalid, so that its works stay as they are{held}")),
        OverviewState::PlacementUnknown if overview.clusters == 0 => Some(format!(
            "it is not known which clusters are selected, so that its works stay as they are{held}"
        )),
        _ => None,
    }
}

fn gist(overview: &Overview, misconfigured: &[String]) -> String {
    if let Some(state) = without_clusters(overview, misconfigured) {
        return state;
    }
    let mut text = format!("{} done", part(overview.done, overview.clusters, "cluster"));
    if overview.is_complete() {
        text.push_str(", complete");
        if overview.paused {
            text.push_str("; paused, so the next change of the template waits");
        }
    } else if overview.aborted {
        text.push_str(", aborted");
    } else if overview.paused {
        text.push_str(", paused");
    } else if let Some(stopped) = overview
        .placements
        .iter()
        .find(|placement| placement.max_failure_breach)
    {
        text.push_str(&match failed_mandatory(stopped) {
            Some(group) => format!(
                ", stopped: a cluster of the mandatory group {} failed, and mandatory groups tolerate no failure",
                match group.group_name.as_str() {
                    "" => group.group_index.to_string(),
                    name => name.to_owned(),
                }
            ),
            None => ", stopped: more failed than maxFailures allows".to_owned(),
        });
    } else if overview.is_left_to_failures() {
        text.push_str(", the others failed, and maxFailures allows that");
    } else if let Some(left) = overview
        .placements
        .iter()
        .filter_map(|placement| placement.estimate)
        .max()
        .filter(|left| *left > 0)
    {
        // The estimate comes from times in the annotations of works, which an agent can write.
        let end = Timestamp::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(left));
        let end = end.unwrap_or(Timestamp::MAX);
        text.push_str(&format!(", about {} left", age(Timestamp::UNIX_EPOCH, end)));
    }
    text
}

fn groups(placement: &PlacementOverview) -> Table {
    // Where there is too little room, columns without a number go first.
    let dropped = |column: Column, count: fn(&GroupOverview) -> usize, order: u8| match placement
        .groups
        .iter()
        .all(|group| count(group) == 0)
    {
        true => column.drop(order),
        false => column,
    };
    let mut table = Table::new([
        Column::text("GROUP", 16),
        Column::new("CLUSTERS"),
        Column::new("DONE"),
        dropped(Column::new("SOAKING"), |group| group.soaking, 3),
        Column::new("IN PROGRESS"),
        dropped(Column::new("FAILED"), |group| group.failed, 2),
        dropped(Column::new("OFFLINE"), |group| group.offline, 1),
        Column::new("WAITING"),
    ])
    .indented(2);
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

/// The clusters whose success has to last longer, by when that is over. Times are said once.
fn soaking(clusters: &[ClusterOverview]) -> String {
    let mut by_end: BTreeMap<Option<Timestamp>, Vec<&str>> = BTreeMap::new();
    for cluster in clusters.iter().take(LISTED) {
        by_end.entry(cluster.until).or_default().push(&cluster.cluster);
    }
    let ends = by_end.into_iter().map(|(end, names)| match end {
        Some(end) => format!("{} until {end}", names.join(", ")),
        None => names.join(", "),
    });
    let more = match clusters.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match clusters {
        [] => String::new(),
        _ => format!("  soaking: {}{more}\n", ends.collect::<Vec<_>>().join("; ")),
    }
}

/// The clusters that failed, and those in progress that say why they are not done.
fn troubles(placement: &PlacementOverview, now: Timestamp, width: Option<usize>) -> String {
    let in_progress = placement
        .in_progress
        .iter()
        .filter(|cluster| cluster.reason.is_some());
    let all: Vec<(&ClusterOverview, Cell)> = placement
        .failures
        .iter()
        .map(|cluster| (cluster, Cell::toned(what_failed(cluster), Tone::Bad)))
        .chain(in_progress.map(|cluster| (cluster, "in progress".into())))
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        Column::name("CLUSTER"),
        Column::new("STATE"),
        Column::new("SINCE").drop(1),
        Column::prose("REASON", 30).told_once(),
    ])
    .indented(2);
    let more = all.len().saturating_sub(LISTED);
    for (cluster, state) in all.into_iter().take(LISTED) {
        table.row([
            cluster.cluster.as_str().into(),
            state,
            cluster.since.map_or("-".into(), |since| age(since, now).into()),
            why(cluster).into(),
        ]);
    }
    let more = match more {
        0 => String::new(),
        more => format!("  … and {more} more; -o json lists all\n"),
    };
    format!("\n{}{more}", table.render(width))
}

fn what_failed(cluster: &ClusterOverview) -> &'static str {
    match cluster.status {
        Status::TimeOut => "out of time",
        _ => "failed",
    }
}

/// What the work of the cluster says: reason and message, or the message alone where it says the reason.
fn why(cluster: &ClusterOverview) -> String {
    let message = cluster.message.as_deref();
    let reason = cluster.reason.as_deref();
    let parts = [
        reason.filter(|reason| !message.is_some_and(|message| says(message, reason))),
        message,
    ];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(": ")
}

/// Messages of others may hold anything.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(state: OverviewState) -> Overview {
        Overview {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            paused: false,
            aborted: false,
            state,
            clusters: 0,
            done: 0,
            mistakes: Vec::new(),
            placements: vec![PlacementOverview {
                name: "fleet".to_owned(),
                strategy: "All",
                ..PlacementOverview::default()
            }],
        }
    }

    fn rendered(overview: &Overview) -> String {
        let text = render(overview, &[], Timestamp::UNIX_EPOCH, None);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn an_invalid_rollout_says_what_is_wrong_once_and_counts_nothing() {
        let mut invalid = overview(OverviewState::Invalid);
        invalid.mistakes.push("cannot accept spec.x".to_owned());
        assert_eq!(
            rendered(&invalid),
            "shop/web: invalid, so that its works stay as they are\ncannot accept spec.x\n"
        );
        assert_eq!(
            line(&invalid, &[]),
            "invalid, so that its works stay as they are; cannot accept spec.x"
        );
    }

    #[test]
    fn a_rollout_to_an_unknown_placement_says_so_once_and_counts_nothing() {
        let mut unknown = overview(OverviewState::PlacementUnknown);
        unknown.paused = true;
        unknown.placements[0].problem = Some("nothing is decided yet".to_owned());
        let gist = "it is not known which clusters are selected, so that its works stay as they are; paused";
        assert_eq!(
            rendered(&unknown),
            format!("shop/web: {gist}\n\nfleet (All)\n  nothing is decided yet\n")
        );
        assert_eq!(
            line(&unknown, &[]),
            format!("{gist}; fleet: nothing is decided yet")
        );
    }

    #[test]
    fn a_rollout_without_clusters_says_which_placement_is_misconfigured() {
        let none = overview(OverviewState::NoClusters);
        assert_eq!(line(&none, &[]), "no clusters: the placement selects none");
        let fleet = ["fleet".to_owned()];
        assert_eq!(
            line(&none, &fleet),
            "no clusters: the placement fleet is misconfigured"
        );
    }

    #[test]
    fn a_rollout_that_ended_early_says_how_it_goes_on() {
        let mut ended = overview(OverviewState::MaxFailuresExceeded);
        ended.clusters = 1;
        ended.placements[0].max_failure_breach = true;
        let stopped = next_steps(&ended);
        assert_eq!(stopped, [format!("  {WHEN_STOPPED}")]);
        assert!(rendered(&ended).contains(&stopped[0]));
        ended.aborted = true;
        let aborted = next_steps(&ended);
        assert_eq!(aborted.len(), 1, "{aborted:?}");
        assert!(
            aborted[0].contains("`portolan rollout resume shop/web`"),
            "{aborted:?}"
        );
    }

    #[test]
    fn the_end_of_a_soak_time_is_said_once_for_all_its_clusters() {
        let mut overview = overview(OverviewState::Progressing);
        let cluster = |name: &str, second: i64| ClusterOverview {
            cluster: name.to_owned(),
            status: Status::Succeeded,
            since: None,
            until: Some(Timestamp::from_second(second).unwrap()),
            reason: None,
            message: None,
        };
        overview.placements[0].soaking = vec![cluster("a", 60), cluster("b", 120), cluster("c", 60)];
        let text = rendered(&overview);
        let expected = "  soaking: a, c until 1970-01-01T00:01:00Z; b until 1970-01-01T00:02:00Z\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_clusters_that_stopped_a_rollout_are_listed_with_what_their_agents_say() {
        let failed = |name: &str, message: Option<&str>| ClusterOverview {
            cluster: name.to_owned(),
            status: Status::Failed,
            since: None,
            until: None,
            reason: message.map(|_| "AppliedManifestFailed".to_owned()),
            message: message.map(str::to_owned),
        };
        let mut overview = overview(OverviewState::MaxFailuresExceeded);
        overview.placements[0].failures = vec![failed("a", Some("no quota")), failed("b", None)];
        assert_eq!(
            failures(&overview),
            [
                "  a failed: AppliedManifestFailed: no quota",
                "  b failed: its agent says no reason"
            ]
        );
        overview.placements[0].failures = vec![failed("c", Some("applied manifest failed: no quota"))];
        assert_eq!(
            failures(&overview),
            ["  c failed: applied manifest failed: no quota"]
        );
        overview.placements[0].failures = (0..12).map(|number| failed(&number.to_string(), None)).collect();
        let lines = failures(&overview);
        assert_eq!(lines.len(), LISTED + 1);
        assert!(lines[LISTED].contains("and 2 more; `portolan rollout status shop/web -o json`"));
    }

    #[test]
    fn a_rollout_that_only_tolerated_failures_keep_from_its_end_says_so() {
        let failed = |status| ClusterOverview {
            cluster: "a".to_owned(),
            status,
            since: None,
            until: None,
            reason: None,
            message: None,
        };
        let mut overview = overview(OverviewState::Progressing);
        (overview.clusters, overview.done) = (3, 2);
        overview.placements[0].groups = vec![GroupOverview {
            clusters: 3,
            done: 2,
            failed: 1,
            ..GroupOverview::default()
        }];
        overview.placements[0].failures = vec![failed(Status::TimeOut)];
        assert!(overview.is_left_to_failures());
        let text = line(&overview, &[]);
        assert!(
            text.starts_with("2 of 3 clusters done, the others failed, and maxFailures allows that"),
            "{text}"
        );
        overview.placements[0].failures = vec![failed(Status::Failed)];
        assert!(!overview.is_left_to_failures(), "it may still recover in time");
        overview.placements[0].failures = vec![failed(Status::TimeOut)];
        overview.placements[0].groups[0].clusters = 4;
        assert!(!overview.is_left_to_failures(), "a cluster waits");
    }

    #[test]
    fn one_cluster_is_no_clusters() {
        let mut one = overview(OverviewState::Progressing);
        one.clusters = 1;
        assert_eq!(line(&one, &[]), "0 of 1 cluster done");
    }
}
