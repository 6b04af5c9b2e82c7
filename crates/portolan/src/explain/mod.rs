//! `portolan explain`: why a cluster is in a decision, or why not, and what would change that.

mod table;

use std::process::ExitCode;

use clap::ValueEnum;
use jiff::Timestamp;
use portolan_api::spelling;
use portolan_engine::explain::{self, Explanation, Flip};
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use crate::given::{self, Given};
use crate::input::{Notes, Problem, Problems};
use crate::live::{Event, Extent, Session};
use crate::output;
use crate::world::{self, World};
use crate::{cli, clock};

/// Say why each cluster is in a placement's decision or not
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: cli::InputArgs,

    /// The placement to explain
    #[arg(long, value_name = "NS/NAME", value_parser = cli::parse_placement)]
    placement: PlacementKey,

    /// Explain this cluster in full, with the smallest change that would turn its verdict round
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table or a report for people
    #[default]
    Table,
    /// JSON for programs
    Json,
}

const EXAMPLES: &str = "\
Examples:
  # Every cluster and its verdict
  portolan explain -f examples/gpu-training --placement ml/training

  # Why not this one, and what would it take?
  portolan explain -f examples/gpu-training --placement ml/training --cluster edge-1

  # The live hub, with what was said about the placement
  portolan explain --kubeconfig hub.kubeconfig --placement ml/training

  # For programs
  portolan explain -f fleet.yaml --placement ml/training --cluster edge-1 -o json";

/// The answer about all clusters.
#[derive(Debug, Serialize)]
struct Explained {
    #[serde(flatten)]
    explanation: Explanation,
    /// What controllers said about the placement; only a live hub knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<Event>>,
}

/// The answer about one cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterExplanation {
    #[serde(flatten)]
    explanation: Explanation,
    /// Null when no small change helps.
    smallest_change: Option<Flip>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut notes = Notes::default();
    let Given { before, applied, hub } = given::read(&args.input, Extent::Placing, &mut notes)?;
    let manifests = applied.unwrap_or(before);
    world::note_gaps(&manifests, args.input.inventory, &mut notes);
    let now = clock::now_or(args.input.now);
    let mut world = World::new(&manifests, args.input.inventory);
    let key = world.find(&args.placement).map_err(Problems::from)?;
    let text = match &args.cluster {
        None => {
            let explanation = explain(&mut world, &key, now)?;
            let events = events(hub.as_ref(), &key, &mut notes);
            match args.output {
                Format::Table => table::all(&explanation) + &table::events(events.as_deref(), now),
                Format::Json => output::json(&Explained { explanation, events })?,
            }
        }
        Some(cluster) => {
            let explained = explain_cluster(&mut world, &key, cluster, now)?;
            match args.output {
                Format::Table => table::one(&explained.explanation, explained.smallest_change.as_ref()),
                Format::Json => output::json(&explained)?,
            }
        }
    };
    output::remark(&notes.to_string());
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Events are an extra: without them the explanation is as good as any.
fn events(hub: Option<&Session>, key: &PlacementKey, notes: &mut Notes) -> Option<Vec<Event>> {
    match hub?.events(key) {
        Ok(events) => Some(events),
        Err(error) => {
            notes.remark(format!("events are left out: {error:#}"));
            None
        }
    }
}

fn explain(world: &mut World, key: &PlacementKey, now: Timestamp) -> anyhow::Result<Explanation> {
    explain::explain(&mut world.engine, key, now).ok_or_else(|| anyhow::anyhow!("{key} cannot be evaluated"))
}

fn explain_cluster(
    world: &mut World,
    key: &PlacementKey,
    cluster: &str,
    now: Timestamp,
) -> anyhow::Result<ClusterExplanation> {
    match explain::explain_cluster(&mut world.engine, key, cluster, now) {
        Some((explanation, smallest_change)) => Ok(ClusterExplanation {
            explanation,
            smallest_change,
        }),
        None => {
            let explanation = explain(world, key, now)?;
            let names: Vec<&str> = explanation
                .clusters
                .iter()
                .map(|verdict| verdict.cluster.as_str())
                .collect();
            Err(Problems::from(no_such_cluster(cluster, &names)).into())
        }
    }
}

fn no_such_cluster(wanted: &str, names: &[&str]) -> Problem {
    let there = match (spelling::did_you_mean(wanted, names.iter().copied()), names) {
        (Some(meant), _) => format!("did you mean {meant}?"),
        (None, []) => "there is no cluster in it".to_owned(),
        (None, names) if names.len() > 10 => format!(
            "accepted: {} and {} more",
            names[..10].join(", "),
            names.len() - 10
        ),
        (None, names) => format!("accepted: {}", names.join(", ")),
    };
    Problem::of_arguments(format!("--cluster {wanted} is not in the input; {there}"))
}
