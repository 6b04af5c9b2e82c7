//! `portolan demo`: makes an embedded member of a running `portolan up --spokes` fail, cuts it off, or lets it recover.
//!
//! It only writes an annotation; the process that runs the member reads it.

use std::process::ExitCode;

use clap::Subcommand;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use portolan_api::cluster::ManagedCluster;
use serde_json::json;

use crate::live::{self, ConnectArgs, Server};
use crate::output;
use crate::up::spokes::{ANNOTATION, Fate, LABEL};

const EXAMPLES: &str = "\
Examples:
  # In one terminal
  portolan up --spokes 6

  # In another, with the KUBECONFIG that it names
  portolan demo fail member-1
  portolan demo partition member-2
  portolan demo recover member-1";

/// Make an embedded member cluster fail, cut it off from the hub, or let it recover
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Its workloads become unavailable, running Jobs fail, and it says that it is ill
    Fail(Target),
    /// Its agent no longer reaches the hub; what runs there goes on
    Partition(Target),
    /// Undo both
    Recover(Target),
}

#[derive(Debug, clap::Args)]
struct Target {
    /// Name of the member
    #[arg(value_name = "CLUSTER")]
    cluster: String,

    #[command(flatten)]
    connect: ConnectArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (target, fate) = match &args.what {
        What::Fail(target) => (target, Fate::Failed),
        What::Partition(target) => (target, Fate::Partitioned),
        What::Recover(target) => (target, Fate::Well),
    };
    live::block_on(write(target, fate))?;
    Ok(ExitCode::SUCCESS)
}

async fn write(target: &Target, fate: Fate) -> anyhow::Result<()> {
    let server = target.connect.connect().await?;
    let name = target.cluster.as_str();
    let api: Api<ManagedCluster> = Api::all(server.client.clone());
    let found = api
        .get_opt(name)
        .await
        .map_err(|error| live::explain(&error, &format!("read the cluster {name}"), &server.url))?;
    let labels = found
        .as_ref()
        .and_then(|cluster| cluster.metadata.labels.as_ref());
    if !labels.is_some_and(|labels| labels.contains_key(LABEL)) {
        return Err(no_member(&server, name, found.is_some()).await);
    }
    let patch = json!({"metadata": {"annotations": {ANNOTATION: fate.annotation()}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map_err(|error| live::explain(&error, &format!("change the cluster {name}"), &server.url))?;
    let seconds = found
        .and_then(|cluster| cluster.spec.lease_duration_seconds)
        .map_or(300, |seconds| i64::from(seconds) * 5);
    output::print(&match fate {
        Fate::Failed => format!("{name} fails: its workloads become unavailable, and so does the cluster\n"),
        Fate::Partitioned => {
            format!(
                "{name} is cut off: what runs there goes on, and in {seconds}s the hub calls it unreachable\n"
            )
        }
        Fate::Well => format!("{name} recovers\n"),
    })
}

async fn no_member(server: &Server, name: &str, there: bool) -> anyhow::Error {
    let api: Api<ManagedCluster> = Api::all(server.client.clone());
    let members = match api.list(&ListParams::default().labels(LABEL)).await {
        Ok(members) => members.items,
        Err(error) => return live::explain(&error, "list the member clusters", &server.url),
    };
    let names: Vec<String> = members
        .into_iter()
        .filter_map(|member| member.metadata.name)
        .collect();
    let what = match there {
        true => "is not an embedded member, and only those can be told what to do",
        false => "does not exist",
    };
    match names.is_empty() {
        true => anyhow::anyhow!(
            "the cluster {name} {what}; this hub has no embedded members: start them with `portolan up --spokes N`"
        ),
        false => anyhow::anyhow!("the cluster {name} {what}; accepted: {}", names.join(", ")),
    }
}
