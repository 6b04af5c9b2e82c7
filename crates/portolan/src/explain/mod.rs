//! `portolan explain`: why a cluster is in a decision, or why not, and what would change that.

mod summary;
mod table;

use std::collections::BTreeSet;
use std::process::ExitCode;

use jiff::Timestamp;
use portolan_engine::explain::{self, Explanation, Flip};
use portolan_engine::placement::{PlacementKey, owns_decision};
use serde::Serialize;

use crate::command_input::{self, CommandInput};
use crate::completions::names;
use crate::input::{Notes, Problem, Problems};
use crate::live::{Event, Extent, Namespaces, Session};
use crate::output::{self, Format};
use crate::set_names::SetNames;
use crate::world::{self, World};
use crate::{cli, clock, decided};
use summary::Summary;

/// Say why each cluster is in a placement's decision or not
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    placement: cli::PlacementArgs,

    #[command(flatten)]
    input: command_input::InputArgs,

    /// Explain this cluster in full, with the smallest change that would turn its verdict round
    #[arg(long, value_name = "NAME", add = names::clusters())]
    cluster: Option<String>,

    /// Show every cluster, not only the selected ones and the first twenty of the others
    #[arg(long, conflicts_with = "cluster")]
    all: bool,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  # The selected clusters, the first of the others, and why others were lost
  portolan explain ml/training -f examples/gpu-training

  # Every cluster and its verdict
  portolan explain ml/training -f examples/gpu-training --all

  # Why not this one, and what would it take?
  portolan explain ml/training -f examples/gpu-training --cluster edge-1

  # The live hub, with what was said about the placement
  portolan explain ml/training --kubeconfig hub.kubeconfig

  # For programs
  portolan explain ml/training -f fleet.yaml --cluster edge-1 -o json";

/// How many clusters that are not selected are listed without `--all`.
const LISTED_OTHERS: usize = 20;

/// The answer about all clusters.
#[derive(Debug, Serialize)]
struct Explained {
    #[serde(flatten)]
    explanation: Explanation,
    /// How many clusters were lost to what.
    summary: Summary,
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

pub(crate) fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    let wanted = args.placement.take(&mut args.input.file);
    let mut notes = Notes::default();
    let given = command_input::read(&args.input, Extent::Placing, Namespaces::All, &mut notes)?;
    let place = given.place();
    let wanted = wanted.map(|named| args.placement.key(&named, &given)).transpose();
    let wanted = wanted.map_err(Problems::from)?;
    let CommandInput { before, applied, hub } = given;
    let is_applied = applied.is_some();
    let manifests = applied.unwrap_or(before);
    world::note_gaps(&manifests, &mut notes);
    let now = clock::now_or(args.input.now);
    let mut world = World::new(&manifests, args.input.inventory);
    let key = match wanted {
        Some(wanted) => world.find(&wanted, &place).map_err(Problems::from)?,
        None => {
            let files = args.input.file.iter().map(|file| file.display().to_string());
            let files: Vec<String> = files.collect();
            return Err(Problems::from(no_placement_named(&world, &place, &files)).into());
        }
    };
    let sets = SetNames::of(&manifests);
    let text = match &args.cluster {
        None => {
            let explanation = explain(&mut world, &key, now)?;
            let events = events(hub.as_ref(), &key, &mut notes);
            let summary = Summary::new(&explanation, args.input.inventory.resolve(&manifests));
            let explained = Explained {
                explanation,
                summary,
                events,
            };
            let others = if args.all { usize::MAX } else { LISTED_OTHERS };
            args.output.render(&explained, |width| {
                let clusters = table::all(&explained.explanation, &explained.summary, others, width);
                sets.proposed(clusters) + &table::events(explained.events.as_deref(), now, width)
            })?
        }
        Some(cluster) => {
            let explained = explain_cluster(&mut world, &key, cluster, &place, now)?;
            args.output.render(&explained, |width| {
                let flip = explained.smallest_change.as_ref();
                sets.proposed(table::one(&explained.explanation, flip, width))
            })?
        }
    };
    if hub.is_some() && !is_applied {
        if decided::is_undecided(&manifests, &key) {
            notes.remark(decided::no_decision_yet(&key));
        }
        note_stored(&mut world, &key, now, &mut notes)?;
    }
    output::remark(&notes.to_string());
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says so when the decision of the hub has other clusters than this evaluation.
fn note_stored(
    world: &mut World,
    key: &PlacementKey,
    now: Timestamp,
    notes: &mut Notes,
) -> anyhow::Result<()> {
    let mut stored = world.stored(key).decisions;
    stored.retain(|decision| owns_decision(key, decision));
    let entries = stored.iter().flat_map(|decision| &decision.status);
    let entries = entries.flat_map(|status| &status.decisions);
    let there: BTreeSet<String> = entries.map(|entry| entry.cluster_name.clone()).collect();
    let verdicts = explain(world, key, now)?.clusters.into_iter();
    let chosen: BTreeSet<String> = verdicts
        .filter(|verdict| verdict.selected)
        .map(|verdict| verdict.cluster)
        .collect();
    // Nothing is decided yet, or by a controller that writes slices alone.
    if stored.is_empty() || there == chosen {
        return Ok(());
    }
    notes.remark(format!(
        "this is an evaluation of now; the decision on the hub {}. A controller evaluates a placement again when the placement or \
         one of its clusters changes, and not when other placements decide",
        difference(&there, &chosen)
    ));
    Ok(())
}

/// How the clusters of a decision differ from those that were chosen now: `has a and lacks b`.
fn difference(there: &BTreeSet<String>, chosen: &BTreeSet<String>) -> String {
    let named = |clusters: &BTreeSet<String>, others: &BTreeSet<String>| {
        let names: Vec<&str> = clusters.difference(others).map(String::as_str).collect();
        match names.as_slice() {
            [] => None,
            [a, b, c, _, ..] => Some(format!("{a}, {b}, {c} and {} more", names.len() - 3)),
            names => Some(names.join(", ")),
        }
    };
    match (named(there, chosen), named(chosen, there)) {
        (Some(more), Some(less)) => format!("has {more} instead of {less}"),
        (Some(more), None) => format!("also has {more}"),
        (None, less) => format!("does not have {}", less.unwrap_or_default()),
    }
}

/// Events are an extra: without them the explanation is as good as any.
fn events(hub: Option<&Session>, key: &PlacementKey, notes: &mut Notes) -> Option<Vec<Event>> {
    match hub?.events(key) {
        Ok(events) => Some(events),
        Err(error) => {
            notes.remark(format!(
                "events are left out: {}",
                crate::live::describe(error.as_ref())
            ));
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
    place: &str,
    now: Timestamp,
) -> anyhow::Result<ClusterExplanation> {
    match explain::explain_cluster(&mut world.engine, key, cluster, now) {
        Some((explanation, smallest_change)) => Ok(ClusterExplanation {
            explanation,
            smallest_change,
        }),
        None => {
            let explanation = explain(world, key, now)?;
            let names = explanation.clusters.into_iter().map(|verdict| verdict.cluster);
            Err(Problems::from(command_input::missing("cluster", cluster, place, names)).into())
        }
    }
}

fn no_placement_named(world: &World, place: &str, files: &[String]) -> Problem {
    let mut names = world.placements().into_iter().map(|key| key.to_string());
    let files = match files {
        [] => String::new(),
        files => format!(" -f {}", files.join(" ")),
    };
    let there = match names.next() {
        Some(first) => format!("such as {first}; `portolan get placements{files}` lists all"),
        None => format!("but there is no Placement {place}"),
    };
    Problem::of_arguments(format!(
        "no placement is named; accepted: an argument NAMESPACE/NAME, {there}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_spread_passes_over_is_not_said_to_be_ranked_behind() {
        let group = "cluster.open-cluster-management.io";
        let cluster = |name: &str, zone: &str| {
            serde_json::json!({ "apiVersion": format!("{group}/v1"), "kind": "ManagedCluster",
                "metadata": { "name": name, "labels": { "zone": zone } }, "spec": { "hubAcceptsClient": true } })
        };
        let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSet", "metadata": { "name": "all" },
              "spec": { "clusterSelector": { "selectorType": "LabelSelector", "labelSelector": {} } } },
            { "apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSetBinding",
              "metadata": { "name": "all", "namespace": "ns" }, "spec": { "clusterSet": "all" } },
            cluster("a1", "a"), cluster("a2", "a"), cluster("a3", "a"), cluster("b1", "b"),
            { "apiVersion": format!("{group}/v1beta1"), "kind": "Placement", "metadata": { "name": "p", "namespace": "ns" },
              "spec": { "numberOfClusters": 3, "spreadPolicy": { "spreadConstraints": [
                { "topologyKey": "zone", "topologyKeyType": "Label", "whenUnsatisfiable": "ScheduleAnyway" }] } } }] });
        let manifests = crate::input::read_bytes("hub.json", list.to_string().into_bytes()).unwrap();
        let mut world = World::new(&manifests, world::Inventory::Auto);
        let explanation = explain(&mut world, &PlacementKey::new("ns", "p"), Timestamp::UNIX_EPOCH).unwrap();
        let summary = Summary::new(&explanation, world::Inventory::Auto.resolve(&manifests));
        let text = table::all(&explanation, &summary, 5, Some(80));
        assert!(text.contains("rank 3, spread takes another"), "{text}");
        assert!(!text.contains("numberOfClusters is 3"), "{text}");
        assert!(
            text.contains("not selected: 1 passed over for another domain (spread)"),
            "{text}"
        );
    }

    #[test]
    fn a_decision_that_differs_is_said_to_have_more_less_or_others() {
        let clusters = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        let difference = |there, chosen| difference(&clusters(there), &clusters(chosen));
        assert_eq!(difference("a b", "a"), "also has b");
        assert_eq!(difference("a", "a b c d e"), "does not have b, c, d and 1 more");
        assert_eq!(difference("a b", "a c"), "has b instead of c");
    }
}
