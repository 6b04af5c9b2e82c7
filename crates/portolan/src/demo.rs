//! `portolan demo`: makes an embedded member of a running `portolan up --spokes` fail, cuts it off, or lets it recover;
//! and plays the workload controllers of a member that has none.
//!
//! Of the first three it only writes an annotation; the process that runs the member reads it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::portolan::EMBEDDED_MEMBER;
use serde_json::json;
use tokio::sync::watch;

use crate::completions::names;
use crate::live::{self, ConnectArgs, Server};
use crate::logging::LogArgs;
use crate::output;
use crate::stop::Stop;
use crate::tracing_export::TraceArgs;
use crate::up::spokes::{ANNOTATION, InjectedFault, runs, simulate_workloads};

const EXAMPLES: &str = "\
Examples:
  # In one terminal
  portolan up --spokes 6

  # In another, with the KUBECONFIG that it names
  portolan demo fail member-1
  portolan demo partition member-2
  portolan demo recover member-1

  # On a hub of your own: clusters, a placement and a workload to try
  portolan demo manifests | kubectl apply -f -

  # For an API server without a kubelet that takes the part of a member cluster
  portolan demo workloads --spoke east.kubeconfig";

/// What `demo manifests` prints. It works without a clone of the sources.
const MANIFESTS: &str = include_str!("../../../examples/rollout.yaml");

const WORKLOADS_EXAMPLES: &str = "\
Examples:
  # For an API server without a kubelet that takes the part of a member cluster
  portolan demo workloads --spoke east.kubeconfig";

/// Make an embedded member cluster fail, cut it off from the hub, or let it recover; simulate workloads
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a member fail: its workloads become unavailable, running Jobs fail, and the cluster reports ill health; ends a
    /// partition
    #[command(after_help = "Examples:\n  portolan demo fail member-1")]
    Fail(Target),
    /// Cut a member off: its agent no longer reaches the hub; what runs there goes on, and a failure ends
    #[command(after_help = "Examples:\n  portolan demo partition member-2")]
    Partition(Target),
    /// Let a member recover from a failure or a partition
    #[command(after_help = "Examples:\n  portolan demo recover member-1")]
    Recover(Target),
    /// Print manifests to try: three clusters, a placement with a canary group, and a workload that rolls out
    #[command(after_help = "Examples:\n  portolan demo manifests | kubectl apply -f -")]
    Manifests,
    /// Simulate the workload controllers of a member cluster that has none; no container runs
    #[command(after_help = WORKLOADS_EXAMPLES)]
    Workloads(Workloads),
}

#[derive(Debug, clap::Args)]
struct Target {
    /// Name of the member
    #[arg(value_name = "CLUSTER", add = names::members())]
    cluster: String,

    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, clap::Args)]
struct Workloads {
    /// Kubeconfig of the member cluster; may be repeated
    #[arg(long, value_name = "FILE", required = true)]
    spoke: Vec<PathBuf>,

    #[command(flatten)]
    logs: LogArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Fail(target) => live::block_on(write(target, InjectedFault::Failed)),
        What::Partition(target) => live::block_on(write(target, InjectedFault::Partitioned)),
        What::Recover(target) => live::block_on(write(target, InjectedFault::Well)),
        What::Manifests => output::print(MANIFESTS),
        What::Workloads(args) => {
            let _traces = args.logs.init("info", &TraceArgs::default())?;
            live::block_on(workloads(&args.spoke))
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Plays workload controllers until it is told to stop. A member that does not answer is asked again.
async fn workloads(spokes: &[PathBuf]) -> anyhow::Result<()> {
    let mut stop = Stop::new()?;
    // Nothing is done to these members but by annotations of the workloads themselves.
    let (_well, fate) = watch::channel(InjectedFault::Well);
    let mut played = Vec::new();
    for spoke in spokes {
        let connect = ConnectArgs {
            kubeconfig: Some(spoke.clone()),
            context: None,
        };
        let server = connect
            .connect()
            .await
            .with_context(|| format!("--spoke {}", spoke.display()))?;
        tracing::info!(url = server.url, "workloads are simulated");
        played.push(simulate_workloads(server.client, fate.clone()));
    }
    tokio::select! {
        _ = futures::future::join_all(played) => {}
        () = stop.requested() => tracing::info!("stopping"),
    }
    Ok(())
}

async fn write(target: &Target, fate: InjectedFault) -> anyhow::Result<()> {
    let server = target.connect.connect().await?;
    let name = target.cluster.as_str();
    let api: Api<ManagedCluster> = Api::all(server.client.clone());
    let found = api
        .get_opt(name)
        .await
        .map_err(|error| live::explain(&error, &format!("read the cluster {name}"), &server.url))?;
    let is_member = |cluster: &&ManagedCluster| {
        let labels = cluster.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.contains_key(EMBEDDED_MEMBER))
    };
    let Some(member) = found.as_ref().filter(is_member) else {
        return Err(no_member(&server, name, found.is_some()).await);
    };
    let runs = runs(&member.metadata);
    if !runs && fate != InjectedFault::Well {
        let enough = name.strip_prefix("member-").unwrap_or("N");
        anyhow::bail!(
            "{name} does not run, so it cannot {}; `portolan up --spokes {enough}` starts it",
            match fate {
                InjectedFault::Partitioned => "be cut off",
                _ => "fail",
            }
        );
    }
    let patch = json!({"metadata": {"annotations": {ANNOTATION: fate.annotation()}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map_err(|error| live::explain(&error, &format!("change the cluster {name}"), &server.url))?;
    let seconds = i64::from(member.lease_seconds()) * 5;
    let before = InjectedFault::of(member.metadata.annotations.as_ref());
    output::say(&told(name, (before, fate), runs, seconds))
}

/// What a user is told who has changed the fate of a member. A member has one fate at a time, so that a new one ends the
/// former.
fn told(name: &str, (before, fate): (InjectedFault, InjectedFault), runs: bool, seconds: i64) -> String {
    match (before, fate) {
        (InjectedFault::Partitioned, InjectedFault::Failed) => format!(
            "{name} is no longer cut off, and fails: its workloads become unavailable, and when its agent reaches the hub, \
             within 30s, so does the cluster\n"
        ),
        (_, InjectedFault::Failed) => {
            format!("{name} fails: its workloads become unavailable, and so does the cluster\n")
        }
        (before, InjectedFault::Partitioned) => {
            let ends = match before {
                InjectedFault::Failed => "no longer fails, and is",
                _ => "is",
            };
            format!(
                "{name} {ends} cut off: what runs there goes on, and in {seconds}s the hub calls it unreachable\n"
            )
        }
        (_, InjectedFault::Well) if !runs => {
            format!("{name} does not run; it is well when it is started again\n")
        }
        (InjectedFault::Partitioned, InjectedFault::Well) => {
            format!("{name} is no longer cut off; its agent reaches the hub within 30s\n")
        }
        (InjectedFault::Failed, InjectedFault::Well) => {
            format!("{name} recovers; its workloads become available, and so does the cluster\n")
        }
        // No command of the demo makes a member leave.
        (_, InjectedFault::Well | InjectedFault::Leaving | InjectedFault::Left) => {
            format!("{name} is well; it neither failed nor was cut off\n")
        }
    }
}

async fn no_member(server: &Server, name: &str, there: bool) -> anyhow::Error {
    let api: Api<ManagedCluster> = Api::all(server.client.clone());
    let members = match api.list(&ListParams::default().labels(EMBEDDED_MEMBER)).await {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fate_that_ends_another_says_so() {
        let said = |before, fate| told("member-2", (before, fate), true, 25);
        let failed = said(InjectedFault::Partitioned, InjectedFault::Failed);
        assert!(
            failed.starts_with("member-2 is no longer cut off, and fails"),
            "{failed}"
        );
        assert!(said(InjectedFault::Well, InjectedFault::Failed).starts_with("member-2 fails"));
        let cut = said(InjectedFault::Failed, InjectedFault::Partitioned);
        assert!(
            cut.starts_with("member-2 no longer fails, and is cut off"),
            "{cut}"
        );
        assert!(said(InjectedFault::Well, InjectedFault::Partitioned).starts_with("member-2 is cut off"));
        assert!(said(InjectedFault::Failed, InjectedFault::Well).contains("recovers"));
        assert!(said(InjectedFault::Partitioned, InjectedFault::Well).contains("no longer cut off"));
        assert!(said(InjectedFault::Well, InjectedFault::Well).contains("neither failed nor was cut off"));
    }
}
