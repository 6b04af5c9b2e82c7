//! `portolan get`: placements, decisions and clusters as a person wants to see them, both decision kinds taken together.

mod clusters;
mod decisions;
mod placements;

use std::process::ExitCode;

use clap::ValueEnum;
use portolan_engine::fleet;
use serde::Serialize;

use crate::completions::names;
use crate::given::{self, Given};
use crate::input::{Manifests, Notes, Problem, Problems};
use crate::live::Extent;
use crate::output::Format;
use crate::output::table::Table;
use crate::{cli, clock, output};

const EXAMPLES: &str = "\
Examples:
  # Every placement of the hub, and every cluster
  portolan get placements
  portolan get clusters

  # The clusters of one placement, with groups and scores
  portolan get decisions ml/training

  # One namespace, for programs
  portolan get decisions -n ml -o json

  # Manifests instead of a hub
  portolan get clusters -f examples/gpu-training";

/// List placements, decisions or clusters of a hub
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to list
    #[arg(value_enum)]
    what: What,

    /// Only this one: NAME, or NAMESPACE/NAME
    #[arg(value_name = "NAME", add = names::listed())]
    name: Option<String>,

    #[command(flatten)]
    input: cli::InputArgs,

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Placements: how many clusters were asked for and selected, in how many groups and objects
    #[value(alias = "placement")]
    Placements,
    /// Decisions: the clusters of each placement with groups and scores
    #[value(alias = "decision", alias = "placementdecisions")]
    Decisions,
    /// Clusters: sets, health, taints and how many placements chose them
    #[value(alias = "cluster", alias = "managedclusters", alias = "clusterprofiles")]
    Clusters,
}

impl What {
    fn extent(self) -> Extent {
        match self {
            What::Placements => Extent::Placements,
            What::Decisions => Extent::Decisions,
            What::Clusters => Extent::Clusters,
        }
    }
}

/// What is left out.
#[derive(Debug, Default)]
struct Filter<'a> {
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

impl<'a> Filter<'a> {
    /// `NAMESPACE/NAME` names a namespace too.
    fn new(namespace: Option<&'a str>, name: Option<&'a str>) -> anyhow::Result<Filter<'a>> {
        let (of_name, name) = match name.map(|name| name.split_once('/').unwrap_or(("", name))) {
            None => ("", None),
            Some((namespace, name)) => (namespace, Some(name)),
        };
        match namespace {
            Some(namespace) if !of_name.is_empty() && of_name != namespace => {
                anyhow::bail!(
                    "--namespace {namespace} and {of_name}/… name two namespaces; accepted: one of both"
                )
            }
            None if !of_name.is_empty() => Ok(Filter {
                namespace: Some(of_name),
                name,
            }),
            namespace => Ok(Filter { namespace, name }),
        }
    }

    fn namespace(&self, namespace: Option<&str>) -> bool {
        self.namespace.is_none_or(|wanted| namespace == Some(wanted))
    }

    fn name(&self, name: Option<&str>) -> bool {
        self.name.is_none_or(|wanted| name == Some(wanted))
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let filter = Filter::new(args.namespace.as_deref(), args.name.as_deref())?;
    let mut notes = Notes::default();
    let given = given::read(&args.input, args.extent(), &mut notes)?;
    let place = given.place();
    let Given { before, applied, .. } = given;
    let manifests = applied.unwrap_or(before);
    args.check_name(&manifests, &filter, &place)
        .map_err(Problems::from)?;
    output::remark(&notes.to_string());
    let text = args.render(&manifests, &filter)?;
    match text {
        Some(text) => output::print(&text)?,
        None => output::remark(&format!("nothing found{}\n", args.hint())),
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// A placement that is named may exist without decisions, so that both are read.
    fn extent(&self) -> Extent {
        match (self.what, &self.name) {
            (What::Decisions, Some(_)) => Extent::Placements,
            (what, _) => what.extent(),
        }
    }

    /// An object that is asked for by name has to exist.
    fn check_name(&self, manifests: &Manifests, filter: &Filter<'_>, place: &str) -> Result<(), Problem> {
        let Some(name) = filter.name else { return Ok(()) };
        let kind = match (self.what, self.input.inventory.resolve(manifests)) {
            (What::Placements | What::Decisions, _) => "Placement",
            (What::Clusters, fleet::Inventory::ManagedClusters) => "ManagedCluster",
            (What::Clusters, fleet::Inventory::ClusterProfiles) => "ClusterProfile",
        };
        let exists = match self.what {
            What::Placements => !placements::rows(manifests, filter).is_empty(),
            What::Decisions => {
                !placements::rows(manifests, filter).is_empty()
                    || !decisions::rows(manifests, filter).is_empty()
            }
            What::Clusters => {
                let inventory = self.input.inventory.resolve(manifests);
                !clusters::rows(manifests, inventory, filter).is_empty()
            }
        };
        let list = match self.what {
            What::Placements | What::Decisions => "placements",
            What::Clusters => "clusters",
        };
        let is_meant = |place: &str| match (filter.namespace, place.split_once('/')) {
            (Some(namespace), Some(there)) => there == (namespace, name),
            (None, Some((_, there))) => there == name,
            (_, None) => place == name,
        };
        if let Some((there, why)) = manifests.unreadable(kind).find(|(there, _)| is_meant(there))
            && !exists
        {
            return Err(Problem::of_arguments(format!(
                "the {kind} {there} {place} cannot be read: {why}"
            )));
        }
        match (exists, filter.namespace) {
            (true, _) => Ok(()),
            (false, Some(namespace)) => Err(Problem::of_arguments(format!(
                "there is no {kind} {namespace}/{name} {place}; `portolan get {list}` lists all"
            ))),
            (false, None) => Err(Problem::of_arguments(format!(
                "there is no {kind} {name} {place}; `portolan get {list}` lists all"
            ))),
        }
    }

    /// The answer, or nothing when people would see an empty table.
    fn render(&self, manifests: &Manifests, filter: &Filter<'_>) -> anyhow::Result<Option<String>> {
        let now = clock::now_or(self.input.now);
        let inventory = self.input.inventory.resolve(manifests);
        let text = match self.what {
            What::Placements => {
                let rows = placements::rows(manifests, filter);
                self.text(&rows, || placements::table(&rows, now))?
            }
            What::Decisions => {
                let rows = decisions::rows(manifests, filter);
                self.text(&rows, || decisions::table(&rows))?
            }
            What::Clusters => {
                let rows = clusters::rows(manifests, inventory, filter);
                self.text(&rows, || clusters::table(&rows, now))?
            }
        };
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn text<R: Serialize>(&self, rows: &[R], table: impl FnOnce() -> Table) -> anyhow::Result<String> {
        self.output.render(&rows, |width| match rows.is_empty() {
            true => String::new(),
            false => table().render(width),
        })
    }

    fn hint(&self) -> &'static str {
        match (self.namespace.is_some(), self.what) {
            (true, _) if self.name.is_none() => "; without --namespace all namespaces are listed",
            (_, What::Decisions) if self.name.is_some() => {
                "; the placement selects no cluster, or is not decided yet: `portolan explain NS/NAME` says why"
            }
            (_, What::Decisions) => "; decisions are written by `portolan controller` and `portolan up`",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_bring_its_namespace() {
        let filter = Filter::new(None, Some("ml/training")).unwrap();
        assert!(filter.namespace(Some("ml")) && filter.name(Some("training")));
        assert!(!filter.namespace(Some("web")) && !filter.name(Some("other")));
        assert!(Filter::new(Some("web"), Some("ml/training")).is_err());
        assert!(Filter::new(Some("ml"), Some("ml/training")).is_ok());
    }
}
