//! `portolan rollout status` and `watch`: groups, progress, failures, soak and an estimate.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use portolan_controllers::overview::{Overview, OverviewState};
use portolan_engine::placement::PlacementKey;

use super::hub::{self, Target};
use super::seen::Seen;
use super::status_table;
use crate::live::{self, Server, connection};
use crate::output::{prose, terminal};
use crate::stop::Stop;
use crate::{clock, output, shell};

const STATUS_EXAMPLES: &str = "\
Examples:
  portolan rollout status shop/web
  portolan rollout status web -n shop --kubeconfig hub.kubeconfig -o json

  # In a pipeline: fail while it is not complete
  portolan rollout status shop/web --check

A rollout without clusters is not complete: --check exits with 1, unless
--allow-no-clusters says that this is meant.

Exit codes: 0 fine, 1 not complete (with --check), 2 bad input,
3 the hub cannot be reached or refuses.";

/// Show how far the rollouts of a ManifestWorkReplicaSet are
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    target: Target,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: output::Format,

    /// Exit with 1 when not every cluster is done, or when there is none
    #[arg(long)]
    check: bool,

    /// Count a rollout without clusters as complete
    #[arg(long, requires = "check")]
    allow_no_clusters: bool,
}

const WATCH_EXAMPLES: &str = "\
Examples:
  # A line for each change, until every cluster is done or the rollout stops
  portolan rollout watch shop/web

  # In a script: ten minutes at most, then 1 if it is not complete
  portolan rollout watch shop/web --for 10m

Exit codes: 0 complete, 1 ended before that, 2 bad input or deleted,
3 the hub refuses, or cannot be reached at the start.";

/// Follow a rollout until every cluster is done, or until it stops
///
/// It stops when more clusters failed than maxFailures allows, when it is aborted, or when the replica set is invalid. A pause and a placement without
/// clusters do not end it, and neither does a hub that restarts: it says that the hub is lost, and goes on when the hub is
/// back.
#[derive(Debug, clap::Args)]
#[command(after_help = WATCH_EXAMPLES)]
pub(super) struct WatchArgs {
    #[command(flatten)]
    target: Target,

    /// End after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = clock::parse_duration)]
    after: Option<Duration>,

    /// Time between two looks
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = clock::parse_duration)]
    every: Duration,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// `-o` of an answer that has no end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for people
    #[default]
    #[value(alias = "table")]
    Text,
    /// One JSON object a line for programs
    Json,
}

pub(super) fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let seen = live::block_on(async {
        let (server, key) = args.target.connect().await?;
        let found = hub::read(&server, &key).await?;
        live::note(&found.left_out);
        Ok(Seen::of(found.objects))
    })?;
    let Seen {
        overview,
        misconfigured,
    } = seen;
    let text = args.output.render(&overview, |width| {
        status_table::render(&overview, &misconfigured, clock::now(), width)
    })?;
    output::print(&text)?;
    let is_fine = match overview.state {
        OverviewState::Complete => true,
        OverviewState::NoClusters => args.allow_no_clusters,
        _ => false,
    };
    Ok(if args.check && !is_fine {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

pub(super) fn watch(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let complete = live::block_on(async {
        let mut stop = Stop::new()?;
        let (server, key) = args.target.connect().await?;
        let end = async {
            match args.after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = follow(&server, &key, args) => ended,
            () = output::closed() => Ok(false),
            () = end => Ok(false),
            () = stop.requested() => Ok(false),
        }
    })?;
    Ok(if complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// Prints what changed until all is done or nothing goes on. Whether all is done.
async fn follow(server: &Server, key: &PlacementKey, args: &WatchArgs) -> anyhow::Result<bool> {
    let mut found = Some(hub::read(server, key).await?);
    let mut last = None;
    let mut noted = BTreeSet::new();
    loop {
        if let Some(found) = found.take() {
            let mut left_out = found.left_out;
            left_out.retain(|object| noted.insert(object.to_string()));
            live::note(&left_out);
            let seen = Seen::of(found.objects);
            let is_read = show(&seen, args, &mut last)?;
            let now = seen.overview;
            if !is_read {
                return Ok(now.is_complete());
            }
            match now.state {
                OverviewState::Complete => return Ok(true),
                // Nothing goes on before the replica set is changed.
                OverviewState::MaxFailuresExceeded | OverviewState::Aborted | OverviewState::Invalid => {
                    show_failures(&now, args)?;
                    return Ok(false);
                }
                OverviewState::Progressing if now.is_left_to_failures() => {
                    show_failures(&now, args)?;
                    return Ok(false);
                }
                _ => {}
            }
        } else if hub::serves_replica_sets(server).await {
            anyhow::bail!("the ManifestWorkReplicaSet {key} on {} was deleted", server.url);
        }
        // Never without a pause, whatever was asked for.
        tokio::time::sleep(args.every.max(Duration::from_millis(100))).await;
        let read = async || hub::read_if_there(server, key).await;
        found = connection::outlasting(&server.client, read).await?;
    }
}

/// Prints why clusters failed and how the rollout goes on, for people: JSON has it in every line.
fn show_failures(now: &Overview, args: &WatchArgs) -> anyhow::Result<()> {
    if args.output == Format::Text {
        let steps = status_table::next_steps(now).into_iter();
        for line in status_table::failures(now).into_iter().chain(steps) {
            let line = shell::as_called(&line);
            output::print_line(&prose::wrapped(&line, terminal::columns()))?;
        }
    }
    Ok(())
}

/// Prints a line when it differs from the last one. Whether anybody still reads.
fn show(seen: &Seen, args: &WatchArgs, last: &mut Option<String>) -> anyhow::Result<bool> {
    let line = match args.output {
        Format::Text => status_table::line(&seen.overview, &seen.misconfigured),
        Format::Json => output::json_line(&seen.overview)?,
    };
    if last.as_ref() == Some(&line) {
        return Ok(true);
    }
    let shown = match args.output {
        Format::Text => {
            let line = format!("{}  {line}", clock::of_day(clock::now()));
            prose::wrapped(&line, terminal::columns())
        }
        Format::Json => line.clone(),
    };
    *last = Some(line);
    output::print_line(&shown)
}
