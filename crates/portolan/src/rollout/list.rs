//! `portolan rollout list`: every ManifestWorkReplicaSet of a hub in a line.

use std::process::ExitCode;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::work::ManifestWorkReplicaSet;
use portolan_controllers::overview::{GroupOverview, Objects, Overview, OverviewState, overview};
use serde::Serialize;

use super::hub::{self, All};
use crate::input::{Problem, Problems};
use crate::output::table::{Cell, Column, Table, Tone};
use crate::output::{self, Format};
use crate::{clock, live};

const EXAMPLES: &str = "\
Examples:
  # Every rollout of the hub, with its state
  portolan rollout list

  # Those of one namespace, for programs
  portolan rollout list -n shop -o json";

/// List the rollouts of a hub: state, clusters done and failed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    connect: live::ConnectArgs,

    /// Taken to say which command shows one rollout.
    #[arg(value_name = "NAME", hide = true)]
    stray: Option<String>,

    /// Only this namespace
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,

    /// All namespaces, which is the default
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    state: OverviewState,
    /// Whether nothing is started, also of the next template of a rollout that is complete.
    paused: bool,
    /// Clusters that the placements select.
    clusters: usize,
    done: usize,
    failed: usize,
    offline: usize,
    created: Option<Timestamp>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(stray) = &args.stray {
        let what = format!(
            "rollout list takes no name, and {stray:?} is one; accepted: `portolan rollout status {stray}` for one rollout, or \
             `portolan rollout list --namespace NS` for those of a namespace"
        );
        return Err(Problems::from(Problem::of_arguments(what)).into());
    }
    let now = clock::now();
    let all = live::block_on(async {
        let server = args.connect.connect().await?;
        hub::read_all(&server, args.namespace.as_deref()).await
    })?;
    let rows = rows(&all, now);
    let text = args.output.render(&rows, |width| match rows.is_empty() {
        true => String::new(),
        false => table(&rows, now).render(width),
    })?;
    match text.is_empty() {
        true => output::remark(&match &args.namespace {
            Some(namespace) => format!(
                "there is no ManifestWorkReplicaSet in the namespace {namespace}; without --namespace all namespaces are \
                 listed\n"
            ),
            None => "there is no ManifestWorkReplicaSet\n".to_owned(),
        }),
        false => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(all: &All, now: Timestamp) -> Vec<Row> {
    let mut rows: Vec<Row> = all
        .sets
        .iter()
        .map(|set| row(&set.metadata, &overview(objects(all, set), now)))
        .collect();
    rows.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    rows
}

/// What belongs to one replica set.
fn objects(all: &All, set: &ManifestWorkReplicaSet) -> Objects {
    let namespace = set.metadata.namespace.as_deref();
    let is_near = |metadata: &ObjectMeta| metadata.namespace.as_deref() == namespace;
    let owner = hub::owner_label(
        namespace.unwrap_or_default(),
        set.metadata.name.as_deref().unwrap_or_default(),
    );
    Objects {
        works: all
            .works
            .iter()
            .filter(|work| hub::is_owned(work, &owner))
            .cloned()
            .collect(),
        placements: all
            .placements
            .iter()
            .filter(|object| is_near(&object.metadata))
            .cloned()
            .collect(),
        decisions: all
            .decisions
            .iter()
            .filter(|object| is_near(&object.metadata))
            .cloned()
            .collect(),
        clusters: all.clusters.clone(),
        set: set.clone(),
    }
}

fn row(metadata: &ObjectMeta, overview: &Overview) -> Row {
    let sum = |count: fn(&GroupOverview) -> usize| {
        let groups = overview.placements.iter().flat_map(|placement| &placement.groups);
        groups.map(count).sum()
    };
    Row {
        namespace: overview.namespace.clone(),
        name: overview.name.clone(),
        state: overview.state,
        paused: overview.paused,
        clusters: overview.clusters,
        done: overview.done,
        failed: sum(|group| group.failed),
        offline: sum(|group| group.offline),
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
    }
}

fn table(rows: &[Row], now: Timestamp) -> Table {
    let mut table = Table::new([
        Column::name("NAMESPACE"),
        Column::name("NAME"),
        Column::new("STATE"),
        Column::new("DONE"),
        Column::new("CLUSTERS"),
        Column::new("FAILED"),
        Column::new("OFFLINE").drop(2),
        Column::new("AGE").drop(1),
    ]);
    for row in rows {
        let count = |count: usize, tone: Tone| match count {
            0 => Cell::toned("-", Tone::Faint),
            count => Cell::toned(count.to_string(), tone),
        };
        // A rollout that cannot be followed has no clusters that could be counted.
        let is_known = row.clusters > 0
            || !matches!(
                row.state,
                OverviewState::Invalid | OverviewState::PlacementUnknown
            );
        let known = |count: usize| match is_known {
            true => count.into(),
            false => Cell::toned("-", Tone::Faint),
        };
        table.row([
            row.namespace.as_str().into(),
            row.name.as_str().into(),
            state(row),
            known(row.done),
            known(row.clusters),
            count(row.failed, Tone::Bad),
            count(row.offline, Tone::Doubtful),
            row.created
                .map_or("-".into(), |time| output::age(time, now).into()),
        ]);
    }
    table
}

/// The state in one word, and the pause where the word is another: the pause holds the next template.
fn state(row: &Row) -> Cell {
    let state = row.state;
    let tone = match state {
        _ if row.paused => Tone::Doubtful,
        OverviewState::Complete => Tone::Good,
        OverviewState::Progressing => Tone::Plain,
        OverviewState::Invalid | OverviewState::MaxFailuresExceeded => Tone::Bad,
        OverviewState::PlacementUnknown
        | OverviewState::NoClusters
        | OverviewState::Aborted
        | OverviewState::Paused => Tone::Doubtful,
    };
    match row.paused && state != OverviewState::Paused {
        true => Cell::toned(format!("{state:?}, paused"), tone),
        false => Cell::toned(format!("{state:?}"), tone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_rollout_that_is_complete_is_listed_as_both_in_80_columns() {
        let row = |state: OverviewState, paused: bool| Row {
            namespace: "payments-of-the-shop".to_owned(),
            name: "web".to_owned(),
            state,
            paused,
            clusters: 1_000,
            done: 1_000,
            failed: 100,
            offline: 100,
            created: None,
        };
        let rows = [
            row(OverviewState::Complete, true),
            row(OverviewState::PlacementUnknown, true),
            row(OverviewState::Paused, true),
            row(OverviewState::Complete, false),
        ];
        let text = table(&rows, clock::now()).render(Some(80));
        let text = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(lines[1].contains("Complete, paused"), "{text}");
        assert!(lines[2].contains("PlacementUnknown, paused"), "{text}");
        assert!(!lines[3].contains("Paused, paused"), "{text}");
        assert!(!lines[4].contains("paused"), "{text}");
        let json = serde_json::to_value(&rows[0]).unwrap();
        assert_eq!(json["paused"], true);
    }
}
