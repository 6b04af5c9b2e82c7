//! `portolan get`: placements, decisions and clusters as a person wants to see them, both decision kinds taken together.

mod clusters;
mod decisions;
mod placements;

use std::process::ExitCode;

use clap::ValueEnum;
use portolan_engine::fleet;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use crate::command_input::{self, CommandInput};
use crate::completions::names;
use crate::input::{Manifests, Notes, Problem, Problems};
use crate::live::{Extent, Namespaces};
use crate::object_name::{self, ObjectName};
use crate::output::Format;
use crate::output::table::Table;
use crate::{clock, decided, output};

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

    /// Only this one: NAMESPACE/NAME, or NAME; a ManagedCluster has no namespace
    #[arg(value_name = "NAME", value_parser = object_name::parse, add = names::listed())]
    name: Option<ObjectName>,

    #[command(flatten)]
    input: command_input::InputArgs,

    /// Only this namespace [default: all; for NAME that of the kubeconfig's context, or default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,

    /// All namespaces, which is the default without NAME
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// How many clusters each placement asks for and has, in how many groups and objects
    #[value(alias = "placement")]
    Placements,
    /// The clusters of each placement, with groups and scores
    #[value(alias = "decision", alias = "placementdecisions")]
    Decisions,
    /// Sets, health and taints of each cluster, and how many placements chose it
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

impl Filter<'_> {
    fn namespace(&self, namespace: Option<&str>) -> bool {
        self.namespace.is_none_or(|wanted| namespace == Some(wanted))
    }

    fn name(&self, name: Option<&str>) -> bool {
        self.name.is_none_or(|wanted| name == Some(wanted))
    }

    /// The one Placement that is asked for, if no controller has evaluated it.
    fn undecided(&self, manifests: &Manifests) -> Option<PlacementKey> {
        let key = PlacementKey::new(self.namespace?, self.name?);
        decided::is_undecided(manifests, &key).then_some(key)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Before a hub is asked.
    let namespace = args.namespace().map_err(Problems::from)?;
    let mut notes = Notes::default();
    let given = command_input::read(&args.input, args.extent(), args.namespaces(namespace), &mut notes)?;
    let place = given.place();
    let usual = given.namespace().to_owned();
    let CommandInput { before, applied, hub } = given;
    let manifests = applied.unwrap_or(before);
    args.refuse_namespace(&manifests).map_err(Problems::from)?;
    let filter = Filter {
        namespace: match &args.name {
            Some(_) if !args.all_namespaces && !args.is_of_no_namespace(&manifests) => {
                namespace.or(Some(&usual))
            }
            _ => namespace,
        },
        name: args.name.as_ref().map(ObjectName::name),
    };
    args.check_name(&manifests, &filter, &place)
        .map_err(Problems::from)?;
    if let Some(namespace) = filter.namespace.filter(|_| args.is_of_no_namespace(&manifests)) {
        let listed = match filter.name {
            Some(_) => "",
            None => ", and all are listed",
        };
        notes.remark(format!(
            "clusters live outside of namespaces{listed}; DECISIONS counts only placements of the namespace {namespace}"
        ));
    }
    output::remark(&notes.to_string());
    let text = args.render(&manifests, &filter)?;
    match text {
        Some(text) => output::print(&text)?,
        None => {
            let hint = match filter.undecided(&manifests).filter(|_| hub.is_some()) {
                Some(key) => format!("; {}", decided::no_decision_yet(&key)),
                None => args.hint(&filter),
            };
            output::remark(&format!("nothing found{hint}\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// The namespace that was typed.
    fn namespace(&self) -> Result<Option<&str>, Problem> {
        let flag = self.namespace.as_deref();
        match &self.name {
            Some(name) => name.namespace(flag),
            None => Ok(flag),
        }
    }

    /// Whether the objects live outside of namespaces.
    fn is_of_no_namespace(&self, manifests: &Manifests) -> bool {
        let inventory = self.input.inventory.resolve(manifests);
        self.what == What::Clusters && inventory == fleet::Inventory::ManagedClusters
    }

    /// A namespace before the name of a cluster that has none.
    fn refuse_namespace(&self, manifests: &Manifests) -> Result<(), Problem> {
        let Some(name) = &self.name else { return Ok(()) };
        match name
            .namespace(None)?
            .filter(|_| self.is_of_no_namespace(manifests))
        {
            Some(namespace) => Err(Problem::of_arguments(format!(
                "{namespace}/{name} names the namespace {namespace}, and a ManagedCluster lives outside of namespaces; \
                 accepted: `portolan get clusters {name}`",
                name = name.name()
            ))),
            None => Ok(()),
        }
    }

    /// The namespaces that the answer is about. The decisions of all namespaces count for a cluster.
    fn namespaces<'a>(&self, typed: Option<&'a str>) -> Namespaces<'a> {
        match typed {
            _ if self.what == What::Clusters || self.all_namespaces => Namespaces::All,
            Some(namespace) => Namespaces::One(namespace),
            None if self.name.is_some() => Namespaces::OfContext,
            None => Namespaces::All,
        }
    }

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
        let inventory = self.input.inventory.resolve(manifests);
        let everything = Filter::default();
        let (kind, is_there) = match self.what {
            What::Placements => ("Placement", !placements::rows(manifests, filter).is_empty()),
            What::Decisions => {
                let is_decided = !decisions::rows(manifests, filter).is_empty();
                (
                    "Placement",
                    is_decided || !placements::rows(manifests, filter).is_empty(),
                )
            }
            What::Clusters => {
                let kind = match inventory {
                    fleet::Inventory::ManagedClusters => "ManagedCluster",
                    fleet::Inventory::ClusterProfiles => "ClusterProfile",
                };
                (kind, !clusters::rows(manifests, inventory, filter).is_empty())
            }
        };
        if is_there {
            return Ok(());
        }
        let is_meant = |place: &str| match (filter.namespace, place.split_once('/')) {
            (Some(namespace), Some(there)) => there == (namespace, name),
            (None, Some((_, there))) => there == name,
            (_, None) => place == name,
        };
        if let Some((there, why)) = manifests.unreadable(kind).find(|(there, _)| is_meant(there)) {
            return Err(Problem::of_arguments(format!(
                "the {kind} {there} {place} cannot be read: {why}"
            )));
        }
        let there: Vec<(String, String)> = match self.what {
            What::Placements | What::Decisions => manifests
                .placements()
                .map(PlacementKey::of)
                .map(|key| (key.namespace.to_string(), key.name.to_string()))
                .collect(),
            What::Clusters => clusters::rows(manifests, inventory, &everything)
                .into_iter()
                .map(|row| (row.namespace.unwrap_or_default(), row.name))
                .collect(),
        };
        Err(
            match filter.namespace.filter(|_| !self.is_of_no_namespace(manifests)) {
                Some(namespace) => {
                    let there = there
                        .iter()
                        .map(|(namespace, name)| PlacementKey::new(namespace, name));
                    object_name::missing(kind, &PlacementKey::new(namespace, name), place, there)
                }
                None => command_input::missing(kind, name, place, there.into_iter().map(|(_, name)| name)),
            },
        )
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

    fn text<R: Serialize>(&self, rows: &[R], table: impl Fn() -> Table) -> anyhow::Result<String> {
        self.output.render(&rows, |width| match rows.is_empty() {
            true => String::new(),
            false => table().render(width),
        })
    }

    fn hint(&self, filter: &Filter<'_>) -> String {
        match (self.what, filter.name) {
            (_, None) if self.namespace.is_some() => {
                "; without --namespace all namespaces are listed".to_owned()
            }
            (What::Decisions, Some(name)) => {
                let namespace = filter
                    .namespace
                    .map(|namespace| format!("{namespace}/"))
                    .unwrap_or_default();
                format!(
                    "; the placement selects no cluster, or is not decided yet: `portolan explain {namespace}{name}` says why"
                )
            }
            (What::Decisions, None) => {
                "; decisions are written by `portolan controller` and `portolan up`".to_owned()
            }
            _ => String::new(),
        }
    }
}
