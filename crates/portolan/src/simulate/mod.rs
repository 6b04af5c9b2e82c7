//! `portolan simulate`: where do the placements of some manifests go, and what would a change change.

mod change;
mod diff;
mod diff_table;
mod evaluate;
pub(crate) mod report;
mod stored;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use jiff::Timestamp;
use portolan_api::cluster;
use portolan_engine::layout;
use portolan_engine::placement::PlacementKey;

use crate::command_input::{self, CommandInput};
use crate::completions::names;
use crate::input::{self, Manifests, Notes, Problems, Reference};
use crate::live::{Extent, Namespaces};
use crate::output::{self, Format};
use crate::progress::Progress;
use crate::set_names::SetNames;
use crate::stray_bindings::StrayBindings;
use crate::world::{self, World};
use crate::{cli, clock};
use report::Report;

/// Evaluate placements against manifests or the live fleet; nothing is written
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    placement: cli::PlacementArgs,

    #[command(flatten)]
    input: command_input::InputArgs,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,

    /// When decisions carry scores
    #[arg(long, value_enum, default_value_t)]
    publish_scores: PublishScores,

    /// Show what changes when the objects in this file are added or replaced (repeatable)
    #[arg(long, value_name = "CHANGE.yaml")]
    what_if: Vec<PathBuf>,

    /// Show what changes when this object is removed (repeatable)
    #[arg(long, value_name = "KIND[/NS]/NAME", value_parser = input::parse_reference, add = names::removable())]
    remove: Vec<Reference>,

    /// Exit with 1 when a placement is unsatisfied or misconfigured, a selector has a field that does not exist, or there is
    /// no Placement; a PlacementWarning alone does not fail it. With files over a hub, placements that were unsatisfied before
    /// and are not in the files do not fail it
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Where do all placements of a directory go?
  portolan simulate -f examples/gpu-training

  # The live fleet, one placement, as JSON
  portolan simulate ml/training --kubeconfig hub.kubeconfig -o json

  # What would these manifests change if they were applied to it?
  portolan simulate --kubeconfig hub.kubeconfig -f manifests/

  # What happens if a cluster goes away, and if a label changes?
  portolan simulate -f fleet.yaml --remove managedcluster/gpu-west
  portolan simulate -f fleet.yaml --what-if relabelled-cluster.yaml

  # In a pipeline: fail when something cannot be placed
  portolan simulate -f manifests/ --check

Exit codes: 0 fine, 1 a placement is unsatisfied or misconfigured, a selector
has a field that does not exist, or there is no Placement (with --check),
2 bad input, 3 the hub cannot be reached or refuses.";

/// `--publish-scores`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PublishScores {
    /// In every decision
    #[default]
    Always,
    /// In decisions that are sorted by score
    Sorted,
    /// In no decision
    Never,
}

/// Evaluates every placement, for `portolan lint`.
pub(crate) fn check(
    manifests: &Manifests,
    inventory: world::Inventory,
    now: Timestamp,
) -> Vec<report::PlacementReport> {
    let mut world = World::new(manifests, inventory);
    let keys = world.placements();
    let publish = layout::PublishScores::Always;
    keys.iter()
        .filter_map(|key| evaluate::placement(&mut world, key, publish, now))
        .collect()
}

impl From<PublishScores> for layout::PublishScores {
    fn from(publish: PublishScores) -> layout::PublishScores {
        match publish {
            PublishScores::Always => layout::PublishScores::Always,
            PublishScores::Sorted => layout::PublishScores::Sorted,
            PublishScores::Never => layout::PublishScores::Never,
        }
    }
}

pub(crate) fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    let wanted = args.placement.take(&mut args.input.file);
    let mut notes = Notes::default();
    let given = command_input::read(&args.input, Extent::Placing, Namespaces::All, &mut notes)?;
    let place = given.place();
    let wanted = wanted.map(|named| args.placement.key(&named, &given)).transpose();
    let wanted = wanted.map_err(Problems::from)?;
    let wanted = wanted.as_ref().map(|key| Wanted { key, place: &place });
    let CommandInput { before, applied, hub } = given;
    let there = applied.as_ref().unwrap_or(&before);
    let changed = change::apply(there, &args.what_if, &args.remove, &place, &mut notes)?;
    let (manifests, changed) = (before, changed.or(applied));
    world::note_gaps(changed.as_ref().unwrap_or(&manifests), &mut notes);
    output::remark(&notes.to_string());
    // A change that removes the last Placement is an answer, too.
    let has_placements = [Some(&manifests), changed.as_ref()]
        .into_iter()
        .flatten()
        .any(|manifests| manifests.placements().next().is_some());
    let now = clock::now_or(args.input.now);
    let (text, after) = match changed {
        None => {
            let report = args.evaluate(&manifests, wanted, now)?;
            (args.render(&report, &manifests)?, report)
        }
        Some(changed) => {
            let (before, mut after) = args.evaluate_both(&manifests, &changed, wanted, hub.is_some(), now)?;
            let is_asked =
                |placement: &report::PlacementReport| hub.is_none() || is_in_files(placement, &changed);
            let difference = diff::difference(&before, &after, is_asked);
            let text = args.render_difference(&difference, &SetNames::of(&changed))?;
            if hub.is_some() && wanted.is_none() {
                let satisfied = before.satisfied();
                after.placements.retain(|placement| {
                    satisfied.contains(&placement.key()) || is_in_files(placement, &changed)
                });
            }
            (text, after)
        }
    };
    output::print(&text)?;
    let is_fine = after.is_satisfied() && has_placements && !notes.loses_a_selection();
    Ok(if args.check && !is_fine {
        output::remark(&failed(&after, has_placements));
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// Whether the files that are applied to a hub have this placement. `--check` looks at these and at those that were satisfied
/// before: what others have on the hub is not what the files are checked for.
fn is_in_files(placement: &report::PlacementReport, changed: &Manifests) -> bool {
    changed
        .place_of(cluster::GROUP, "Placement", &placement.namespace, &placement.name)
        .is_some_and(|place| !place.is_live())
}

/// Why `--check` fails, for a log that shows nothing else. What is wrong with a file has been said before.
fn failed(report: &Report, has_placements: bool) -> String {
    const NAMED: usize = 10;
    let failed: Vec<String> = report
        .placements
        .iter()
        .filter(|placement| !placement.is_satisfied())
        .map(|placement| {
            format!(
                "{}/{} ({})",
                placement.namespace,
                placement.name,
                placement.verdict()
            )
        })
        .collect();
    match failed.len() {
        0 if !has_placements => "check failed: there is no Placement\n".to_owned(),
        0 => "check failed: a part of the input is ignored, as said above\n".to_owned(),
        number if number > NAMED => format!(
            "check failed: {} and {} more\n",
            failed[..NAMED].join(", "),
            number - NAMED
        ),
        _ => format!("check failed: {}\n", failed.join(", ")),
    }
}

/// The one placement that is asked for, and where it is to be found.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    key: &'a PlacementKey,
    place: &'a str,
}

impl Args {
    fn evaluate(
        &self,
        manifests: &Manifests,
        wanted: Option<Wanted<'_>>,
        now: Timestamp,
    ) -> Result<Report, Problems> {
        let mut world = World::new(manifests, self.input.inventory);
        let keys = match wanted {
            Some(wanted) => vec![world.find(wanted.key, wanted.place)?],
            None => world.placements(),
        };
        Ok(self.evaluate_keys(&mut world, &keys, now))
    }

    /// A change may add or remove the placement that is asked for: it has to be on one side only.
    fn evaluate_both(
        &self,
        before: &Manifests,
        after: &Manifests,
        wanted: Option<Wanted<'_>>,
        on_hub: bool,
        now: Timestamp,
    ) -> Result<(Report, Report), Problems> {
        let mut sides = [before, after].map(|manifests| World::new(manifests, self.input.inventory));
        if let Some(Wanted { key, place }) = wanted {
            let [before, after] = &sides;
            before
                .find(key, place)
                .or_else(|problem| after.find(key, place).map_err(|_| problem))?;
        }
        let mut evaluate = |side: usize| {
            let mut keys = sides[side].placements();
            keys.retain(|key| wanted.is_none_or(|wanted| wanted.key == key));
            self.evaluate_keys(&mut sides[side], &keys, now)
        };
        let (mut before, after) = (evaluate(0), evaluate(1));
        if on_hub {
            stored::start_from_stored(&mut before, &after, &sides);
        }
        Ok((before, after))
    }

    fn evaluate_keys(&self, world: &mut World, keys: &[PlacementKey], now: Timestamp) -> Report {
        let mut progress = Progress::new("placements evaluated", keys.len());
        let mut placements = Vec::with_capacity(keys.len());
        for key in keys {
            placements.extend(evaluate::placement(world, key, self.publish_scores.into(), now));
            progress.advance();
        }
        Report { placements }
    }

    fn render(&self, report: &Report, manifests: &Manifests) -> anyhow::Result<String> {
        let (sets, stray) = (SetNames::of(manifests), StrayBindings::of(manifests));
        let render = |width| sets.proposed(table::render(report, &stray, width));
        self.output.render(report, render)
    }

    fn render_difference(&self, difference: &diff::Difference, sets: &SetNames) -> anyhow::Result<String> {
        let render = |width| sets.proposed(diff_table::render(difference, width));
        self.output.render(difference, render)
    }
}
