//! `portolan leave`: a cluster is removed from the fleet, its works first, its agent's account after them.
//!
//! Every step may be repeated: a removal that was interrupted, or that gave up, goes on when it is called again.

mod hub;
mod waiting;
mod works;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use kube::Client;
use portolan_api::cluster::ManagedCluster;
use portolan_api::count::counted;
use portolan_api::labels::ocm;
use portolan_api::labels::portolan::AGENT_NAMESPACE;

use crate::command_input;
use crate::completions::names;
use crate::input::Problems;
use crate::join::parse_name;
use crate::live::{self, ConnectArgs, Server};
use crate::stop::Stop;
use crate::{clock, output};
use hub::{Doing, Found, Hub};
use waiting::{Patience, Waited};
use works::Left;

const EXAMPLES: &str = "\
Examples:
  # Remove a cluster: its agent removes the cluster's works first
  portolan leave west-1 --hub hub.kubeconfig

  # The same for a cluster that is gone for good: nobody removes its works
  portolan leave west-1 --hub hub.kubeconfig --force

  # Begin, or look how far it is, without waiting
  portolan leave west-1 --hub hub.kubeconfig --timeout 0s

  # Give the agent ten more minutes before doing without it
  portolan leave west-1 --hub hub.kubeconfig --force --timeout 10m

Exit codes: 0 the cluster is removed;
1 it is not removed within --timeout or was interrupted;
2 bad input, or there is no such cluster (0 with --ignore-not-found);
3 the hub cannot be reached or refuses.";

/// Remove a cluster from the fleet: its works, then its account, its namespace and its ManagedCluster
///
/// Nothing new is placed on the cluster from the start. Its works are deleted and its agent removes their objects; when
/// they are gone, the agent's account and rights, the namespace of the cluster and the ManagedCluster are deleted. It may be
/// interrupted and called again. What runs on the cluster and is not part of a work is not touched.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    #[arg(value_name = "NAME", value_parser = parse_name, add = names::clusters())]
    name: String,

    /// Kubeconfig of an administrator of the hub [default: $KUBECONFIG, ~/.kube/config, or a pod's service account]
    #[arg(long, visible_alias = "kubeconfig", value_name = "FILE")]
    hub: Option<PathBuf>,

    /// Context in the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Do not wait for the agent: let the works go without it. Their objects stay on the member cluster
    #[arg(long)]
    force: bool,

    /// A cluster that is not there is no error
    #[arg(long)]
    ignore_not_found: bool,

    /// How long to wait for the agent, and for the namespace to end; 0s does not wait: it looks once, begins what can begin,
    /// and says what is left [default: 5m; with --force no time for the agent]
    #[arg(long, value_name = "DURATION", value_parser = clock::parse_duration)]
    timeout: Option<Duration>,
}

const TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    live::block_on(async {
        let mut stop = Stop::new()?;
        match stop.unless_requested(leave(args)).await? {
            Some(code) => Ok(code),
            None => Ok(unfinished(&format!(
                "interrupted; {name} is not removed: `portolan leave {name}` goes on with it",
                name = args.name
            ))),
        }
    })
}

async fn leave(args: &Args) -> anyhow::Result<ExitCode> {
    let connect = ConnectArgs {
        kubeconfig: args.hub.clone(),
        context: args.context.clone(),
    };
    let server = connect.connect().await?;
    let mut hub = Hub {
        client: server.client.clone(),
        cluster: args.name.clone(),
        keeps_templates: true,
    };
    let name = args.name.as_str();
    let found = said(hub.find().await, &server)?;
    // A namespace that has nothing to do with a cluster must not be deleted because of a slip of the pen.
    if !found.is_cluster(name) {
        if args.ignore_not_found {
            output::say(&format!("there is no cluster {name} on {}\n", server.url))?;
            return Ok(ExitCode::SUCCESS);
        }
        let names = said(hub.names().await, &server)?;
        let missing = command_input::missing("cluster", name, &format!("on {}", server.url), names);
        return Err(Problems::from(missing).into());
    }
    // With --force nobody waits for its agent.
    if let Some(number) = found.stopped().filter(|_| !args.force) {
        output::remark(&stopped(name, number));
    }
    // All works of a namespace that is deleted are removed first: the agent holds the works that it applied, and the account
    // of the agent ends before the namespace.
    hub.keeps_templates = !found.owns_namespace(name);
    said(hub.begin().await, &server)?;
    let patience = Patience {
        works: args
            .timeout
            .unwrap_or(if args.force { Duration::ZERO } else { TIMEOUT }),
        rest: args.timeout.unwrap_or(TIMEOUT),
    };
    said(waiting::decisions(&hub, patience.rest).await, &server)?;
    let note = (found.lacks_account() && !args.force).then(|| without_account(name));
    if let Some(why) = works_gone(&hub, &server, patience, args.force, note).await? {
        return Ok(unfinished(&why));
    }
    said(hub.release_templates().await, &server)?;
    said(hub.revoke().await, &server)?;
    if found.owns_namespace(name) {
        said(hub.delete_namespace().await, &server)?;
        if let Some(why) = said(waiting::namespace(&hub, patience.rest).await, &server)? {
            return Ok(unfinished(&why));
        }
    }
    said(hub.end().await, &server)?;
    if let Some(why) = said(waiting::cluster(&hub, patience.rest).await, &server)? {
        return Ok(unfinished(&why));
    }
    output::say(&finished(&found, name, &server.url))?;
    Ok(ExitCode::SUCCESS)
}

/// Waits until the works of the cluster are gone; says why they are not.
async fn works_gone(
    hub: &Hub,
    server: &Server,
    patience: Patience,
    force: bool,
    note: Option<String>,
) -> anyhow::Result<Option<String>> {
    let name = hub.cluster.as_str();
    match said(waiting::works(hub, patience.works, force, note).await, server)? {
        Waited::Done => Ok(None),
        Waited::Left(works) if force => {
            // First, so that an agent cannot hold its works, or do anything else, while the rest is waited for.
            said(hub.revoke().await, server)?;
            said(hub.release_works(&works).await, server)?;
            output::remark(&released(name, &works));
            Ok(
                match said(waiting::works(hub, patience.rest, force, None).await, server)? {
                    Waited::Done => None,
                    Waited::Left(works) => Some(waiting::held_by_others(name, &works)),
                },
            )
        }
        Waited::Left(works) => {
            let heard = said(hub.heartbeat().await, server)?;
            let why = waiting::given_up(name, &works, heard, clock::now(), patience.works);
            Ok(Some(why))
        }
    }
}

/// Whether the hub has works of a cluster.
pub(crate) async fn has_works(client: &Client, name: &str) -> Doing<bool> {
    let hub = Hub {
        client: client.clone(),
        cluster: name.to_owned(),
        keeps_templates: false,
    };
    Ok(!hub.works().await?.is_empty())
}

/// Removes a cluster that is gone for good and had no objects that outlive it, without waiting for anything. Returns what
/// was being done when something failed.
pub(crate) async fn forget(client: &Client, name: &str) -> Doing<()> {
    let hub = Hub {
        client: client.clone(),
        cluster: name.to_owned(),
        keeps_templates: false,
    };
    // First, so that nothing is placed there any more.
    hub::delete(&hub.all::<ManagedCluster>(), name, None).await?;
    hub.end().await?;
    let works = hub.works().await?;
    hub.release_works(&works).await?;
    hub.delete_works(&works).await?;
    hub.revoke().await?;
    hub.delete_namespace().await
}

fn said<T>(done: Doing<T>, server: &Server) -> anyhow::Result<T> {
    done.map_err(|(doing, error)| live::explain(&error, &doing, &server.url))
}

/// What to say about an embedded member that no process runs: the removal would wait for its agent without any prospect.
fn stopped(name: &str, number: usize) -> String {
    format!(
        "note: {name} is an embedded member that does not run, so that no agent removes its works; `portolan leave {name} \
         --force` does not wait for one, `portolan up --spokes {number}` runs the member again, and `portolan up \
         --forget-members` removes all members that do not run\n"
    )
}

/// What to say about an agent whose account was deleted: it cannot do what is waited for.
fn without_account(name: &str) -> String {
    format!(
        "note: there is no ServiceAccount {AGENT_NAMESPACE}/{name}, so that an agent that used it cannot remove its works; `portolan \
         leave {name} --force` does not wait for it. To let the agent finish, make the account again and put a new token into \
         the agent's kubeconfig:\n  \
         kubectl create serviceaccount {name} --namespace {AGENT_NAMESPACE}\n  \
         kubectl create token {name} --namespace {AGENT_NAMESPACE}\n"
    )
}

fn released(name: &str, works: &[Left]) -> String {
    let mut text = format!(
        "{} of {name} let go without the agent; these objects stay on the member cluster, if they are there:\n",
        counted(works.len(), "work")
    );
    for work in works {
        let objects = match work.objects.as_slice() {
            [] => "nothing".to_owned(),
            objects => objects.join(", "),
        };
        text.push_str(&format!("  {work}: {objects}\n"));
    }
    text
}

fn finished(found: &Found, name: &str, url: &str) -> String {
    let next = match found.embedded() {
        Some(number) => format!(
            "its embedded agent ends; the next start of `portolan up` with --spokes {number} or more makes the member \
             again, and a start with fewer does not"
        ),
        None if found.lacks_account() => format!("`portolan join {name}` lets the cluster in again"),
        None => format!(
            "its agent's credentials are no longer valid: stop the agent of {name} if it still runs; `portolan join {name}` \
             lets the cluster in again"
        ),
    };
    let mut text = format!("{name} is removed from the fleet of {url}; {next}\n");
    if found.namespace.is_some() && !found.owns_namespace(name) {
        text.push_str(&stays(name));
    }
    text
}

fn stays(name: &str) -> String {
    format!(
        "the namespace {name} stays: it has no label {}={name}, so it was not made for the cluster; \
         `kubectl delete namespace {name}` deletes it\n",
        ocm::CLUSTER_NAME
    )
}

fn unfinished(why: &str) -> ExitCode {
    output::remark(&format!("error: {why}\n"));
    ExitCode::from(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(annotations: &serde_json::Value) -> Found {
        let cluster = json!({"name": "member-3", "annotations": annotations});
        Found {
            cluster: Some(serde_json::from_value(cluster).unwrap()),
            ..Found::default()
        }
    }

    #[test]
    fn an_embedded_member_that_is_removed_is_not_said_to_join_again() {
        let mut joined = found(&json!({}));
        joined.has_account = true;
        let real = finished(&joined, "member-3", "https://hub");
        assert!(real.contains("`portolan join member-3`"), "{real}");
        assert!(real.contains("credentials are no longer valid"), "{real}");
        let embedded = found(&json!({"portolan.dev/embedded-by": "portolan-up"}));
        let text = finished(&embedded, "member-3", "https://hub");
        assert!(!text.contains("join"), "{text}");
        assert!(text.contains("`portolan up` with --spokes 3 or more"), "{text}");
        assert_eq!(embedded.stopped(), None);
    }

    #[test]
    fn a_cluster_without_an_account_is_removed_without_words_about_credentials() {
        let text = finished(&found(&json!({})), "member-3", "https://hub");
        assert!(!text.contains("credentials"), "{text}");
        assert!(text.contains("`portolan join member-3`"), "{text}");
    }

    #[test]
    fn an_embedded_member_that_does_not_run_is_said_to_have_no_agent() {
        let marks = json!({"portolan.dev/embedded-by": "portolan-up", "portolan.dev/embedded-member-stopped": "true"});
        let number = found(&marks).stopped().unwrap();
        let text = stopped("member-3", number);
        for advice in ["leave member-3 --force", "up --spokes 3", "--forget-members"] {
            assert!(text.contains(advice), "{text}");
        }
    }
}
