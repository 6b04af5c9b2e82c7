//! `portolan watch`: decisions as they change, one kind at a time.

mod diff;
mod follow;
mod line;

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, ResourceExt};
use portolan_api::cluster::{self, Placement};
use portolan_api::labels::{multicluster as kep, ocm};
use portolan_api::{multicluster, shorten, spelling};
use portolan_engine::placement::PlacementKey;
use serde::de::DeserializeOwned;

use crate::completions::names;
use crate::input::Problems;
use crate::live::Server;
use crate::object_name::{self, ObjectName};
use crate::stop::Stop;
use crate::tracing_export::TraceArgs;
use crate::{clock, decided, live, logging, output};
use diff::Turn;

pub(crate) use follow::{Ends, follow};
pub(crate) use line::Columns;

const EXAMPLES: &str = "\
Examples:
  # Everything that is decided from now on, after what is decided already
  portolan watch

  # One placement, one JSON object for each change
  portolan watch ml/training -o json

  # In a script: until nothing has changed for ten seconds, five minutes at most
  portolan watch --until-quiet 10s --for 5m

A line names the placement, how many clusters it has now, and what became of
which: +added, -removed, `group 0→1` moved, `80→82` has a new score.
`(80)` is the score of a cluster; a score of 0 is not shown.";

/// Show decisions changing
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only this placement: NAMESPACE/NAME, or NAME
    #[arg(value_name = "NAME", value_parser = object_name::parse, add = names::placements())]
    placement: Option<ObjectName>,

    #[command(flatten)]
    connect: live::ConnectArgs,

    /// Only this namespace [default: all; for NAME that of the kubeconfig's context, or default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,

    /// Leave out what is decided already
    #[arg(long)]
    changes_only: bool,

    /// End after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = clock::parse_duration)]
    after: Option<Duration>,

    /// End when nothing has changed for this time. The time begins anew when a hub that was lost is back
    #[arg(long, value_name = "DURATION", value_parser = clock::parse_duration)]
    until_quiet: Option<Duration>,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One line for each placement that changed
    #[default]
    Text,
    /// One JSON object a line for each cluster
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _traces = logging::init(logging::Format::Text, "warn", &TraceArgs::default())?;
    live::block_on(async {
        let mut stop = Stop::new()?;
        let server = args.connect.connect().await?;
        let flag = args.namespace.as_deref();
        let named = args.placement.as_ref();
        let placement = named.map(|named| named.key(flag, &server.namespace)).transpose();
        let placement = placement.map_err(Problems::from)?;
        let namespace = placement.as_ref().map(|key| &*key.namespace).or(flag);
        follow::probe(&server, namespace).await?;
        let ends = Ends {
            after: args.after,
            quiet: args.until_quiet,
        };
        let mut columns = Columns::default();
        let wanted = placement.as_ref();
        let show = |turns: Vec<Turn>, at_start: bool| args.show(turns, wanted, at_start, &mut columns);
        let watched = async {
            match (wanted, namespace) {
                (Some(key), _) => say_placement_has_no_decision(&server, key).await,
                (None, Some(namespace)) => say_namespace_is_missing(&server, namespace).await,
                (None, None) => {}
            }
            follow(&server.client, namespace, ends, show).await
        };
        tokio::select! {
            ended = watched => ended,
            () = output::closed() => Ok(()),
            () = stop.requested() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A Placement that does not exist may be created, and one that no controller has evaluated may be evaluated; until then a
/// user who mistyped the name, or whose hub has no controller, would wait in silence.
async fn say_placement_has_no_decision(server: &Server, key: &PlacementKey) {
    let api: Api<Placement> = Api::namespaced(server.client.clone(), &key.namespace);
    // Without the right to read Placements their decisions can still be watched.
    match api.get_opt(&key.name).await {
        Ok(None) => say_placement_is_missing(server, key, &api).await,
        Ok(Some(placement)) if decided::has_no_condition(&placement) => {
            let name = shorten::label_value(&key.name);
            let client = &server.client;
            let of_ocm = has_any::<cluster::PlacementDecision>(client, key, ocm::PLACEMENT, &name).await;
            let of_kep =
                has_any::<multicluster::PlacementDecision>(client, key, kep::DECISION_KEY, &name).await;
            if !of_ocm && !of_kep {
                output::remark(&format!("{}\n", decided::no_decision_yet(key)));
            }
        }
        _ => {}
    }
}

/// Whether the namespace of a Placement has an object with this label. An object that cannot be read may be there.
async fn has_any<K>(client: &Client, key: &PlacementKey, label: &str, value: &str) -> bool
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), &key.namespace);
    let parameters = ListParams::default().labels(&format!("{label}={value}")).limit(1);
    match api.list_metadata(&parameters).await {
        Ok(list) => !list.items.is_empty(),
        Err(error) => !live::is_unserved(&error),
    }
}

async fn say_placement_is_missing(server: &Server, key: &PlacementKey, api: &Api<Placement>) {
    let others = api.list_metadata(&ListParams::default()).await;
    let others = others.map(|list| list.items).unwrap_or_default();
    let others: Vec<String> = others.iter().map(ResourceExt::name_any).collect();
    let meant = spelling::did_you_mean(&key.name, others.iter().map(String::as_str));
    let next = match meant {
        Some(meant) => format!("did you mean {}/{meant}?", key.namespace),
        None => "`portolan get placements` lists all".to_owned(),
    };
    output::remark(&format!(
        "there is no Placement {key} on {} yet; waiting for its decision. {next}\n",
        server.url
    ));
}

/// The same for a namespace, whichever placements it will have.
async fn say_namespace_is_missing(server: &Server, namespace: &str) {
    let api: Api<Namespace> = Api::all(server.client.clone());
    if let Ok(None) = api.get_opt(namespace).await {
        output::remark(&format!(
            "there is no namespace {namespace} on {} yet; waiting for decisions in it\n",
            server.url
        ));
    }
}

impl Args {
    fn show(
        &self,
        mut turns: Vec<Turn>,
        wanted: Option<&PlacementKey>,
        at_start: bool,
        columns: &mut Columns,
    ) -> anyhow::Result<ControlFlow<()>> {
        turns.retain(|turn| wanted.is_none_or(|wanted| *wanted == turn.placement));
        columns.widen(&turns);
        if at_start && self.changes_only {
            turns.clear();
        }
        show(&turns, at_start, self.output, columns)
    }
}

/// Prints turns as they come. A reader that has seen enough ends it. `columns` are those of the lines before.
pub(crate) fn show(
    turns: &[Turn],
    at_start: bool,
    format: Format,
    columns: &mut Columns,
) -> anyhow::Result<ControlFlow<()>> {
    let now = clock::now();
    columns.widen(turns);
    // Asked each time: a window changes its size.
    let room = output::terminal::columns();
    for turn in turns {
        let lines = match format {
            Format::Text => vec![line::text(turn, now, at_start, room, columns)],
            Format::Json => line::records(turn, now, at_start)
                .map(|record| output::json_line(&record))
                .collect::<Result<_, _>>()?,
        };
        for line in lines {
            if !output::print_line(&line)? {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}
