//! `portolan up --spokes N`: embedded member clusters in the same process, each with an agent, joined to the hub.
//!
//! A member is a hub of its own, in memory, whose workloads are [`simulated`]. Its agent reaches the hub as the account
//! that `portolan join` makes for it and with no other rights, over a [`line`] that can be cut; what is to happen to a
//! member is read from its ManagedCluster ([`injected_fault`]).

mod injected_fault;
mod link;
mod member;
mod simulated;
mod standing;
mod stopped;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use portolan_agent::{Agent, Clock, Settings};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetSpec};
use portolan_hub::Hub;
use portolan_runtime::tasks::Tasks;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock;
use crate::join::{enroll, kubeconfig};
use crate::live::{self, Server};
use crate::member_name;
use crate::progress::Progress;
use link::Link;

pub(crate) use injected_fault::{ANNOTATION, InjectedFault};
pub(crate) use member::runs;
pub(crate) use simulated::run as simulate_workloads;
pub(super) use stopped::StoppedMembers;

/// Members that are started at the same time.
const PARALLEL: usize = 8;
/// Changes that a member remembers for watches to go back to. They are few, and there are many members.
const HISTORY: usize = 1024;

/// Member clusters, running.
pub(super) struct Spokes {
    members: Vec<Member>,
    followers: [JoinHandle<()>; 2],
    /// The followers, and what plays workloads.
    tasks: Tasks,
    /// The hub, as its administrator.
    client: Client,
    kubeconfig: PathBuf,
}

struct Member {
    hub: Hub,
    agent: Agent,
    workloads: JoinHandle<()>,
    fate: watch::Receiver<InjectedFault>,
    namespace: watch::Receiver<Option<String>>,
}

/// What is heard of each member.
struct Signs {
    fates: injected_fault::Fates,
    namespaces: standing::Namespaces,
}

impl Signs {
    fn of(members: usize) -> Signs {
        let names = || (0..members).map(member_name::name);
        Signs {
            fates: Arc::new(
                names()
                    .map(|name| (name, watch::channel(InjectedFault::Well).0))
                    .collect(),
            ),
            namespaces: Arc::new(names().map(|name| (name, watch::channel(None).0)).collect()),
        }
    }
}

impl Spokes {
    /// Starts so many members of a hub, and writes one kubeconfig with a context for each.
    pub(super) async fn start(
        hub: &Hub,
        server: &Server,
        number: usize,
        kubeconfig: PathBuf,
    ) -> anyhow::Result<Spokes> {
        crate::logging::leave_out_simulated();
        refuse_strangers(server, number).await?;
        make_sets(server, number).await?;
        super::progress(&format!(
            "starting {}",
            portolan_api::count::counted(number, "member cluster")
        ));
        let mut progress = Progress::new("member clusters", number);
        let signs = Signs::of(number);
        let tasks = Tasks::default();
        tasks.watch();
        let started: Vec<(usize, Member)> = stream::iter(0..number)
            .map(|index| start_one(hub, server, index, number, (&signs, &tasks)))
            .buffer_unordered(PARALLEL)
            .inspect_ok(|_| progress.advance())
            .try_collect()
            .await?;
        drop(progress);
        let mut started = started;
        started.sort_by_key(|(index, _)| *index);
        let members: Vec<Member> = started.into_iter().map(|(_, member)| member).collect();
        write_kubeconfig(&members, &kubeconfig)?;
        let Signs { fates, namespaces } = signs;
        let client = server.client.clone();
        let followers = [
            tasks.spawn("simulated faults", injected_fault::follow(client.clone(), fates)),
            tasks.spawn(
                "namespaces of members",
                standing::follow(client.clone(), namespaces),
            ),
        ];
        Ok(Spokes {
            members,
            followers,
            tasks,
            client,
            kubeconfig,
        })
    }

    /// How many there are.
    pub(super) fn number(&self) -> usize {
        self.members.len()
    }

    /// The file with a context for each.
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Looks after the members until one, its agent, or what plays its workloads, cannot go on. The agent of a member that
    /// leaves the hub ends.
    pub(super) async fn look_after(&self) -> anyhow::Error {
        let members = self.members.iter().enumerate().map(|(index, member)| {
            Box::pin(async move {
                let error = tokio::select! {
                    why = member.agent.failed() => crate::agent::failed(&why),
                    why = member.hub.failed() => crate::hub::failed(&why),
                    never = self.standing(index, member).keep(&self.client) => match never {},
                };
                error.context(format!("the member cluster {} failed", member_name::name(index)))
            })
        });
        // There is at least one member.
        let members = futures::future::select_all(members);
        tokio::select! {
            (error, ..) = members => error,
            why = self.tasks.failed() => anyhow::anyhow!("the member clusters cannot go on: {why}; start them again"),
        }
    }

    fn standing<'m>(&self, index: usize, member: &'m Member) -> standing::Standing<'m> {
        standing::Standing {
            newcomer: member::newcomer(index, self.members.len()),
            agent: &member.agent,
            fate: member.fate.clone(),
            namespace: member.namespace.clone(),
        }
    }

    /// Agents finish what is under way; then the members end.
    pub(super) async fn stop(self) {
        self.tasks.stopping();
        self.followers.iter().for_each(JoinHandle::abort);
        let stopping = self.members.into_iter().map(|member| async move {
            member.agent.stop().await;
            member.workloads.abort();
            member.hub.stop().await;
        });
        futures::future::join_all(stopping).await;
    }
}

/// A cluster that somebody else has joined under the name of a member must not become one.
async fn refuse_strangers(server: &Server, number: usize) -> anyhow::Result<()> {
    let api: Api<ManagedCluster> = Api::all(server.client.clone());
    let clusters = api.list_metadata(&ListParams::default()).await;
    let clusters = clusters.map_err(|error| live::explain(&error, "list the clusters", &server.url))?;
    let stranger = clusters
        .into_iter()
        .filter(|cluster| !member::is_embedded(&cluster.metadata))
        .filter_map(|cluster| cluster.metadata.name)
        .find(|name| member_name::number(name).is_some_and(|index| index < number));
    match stranger {
        Some(name) => bail!(
            "--spokes {number}: the cluster {name} is on the hub already and is no embedded member; to make it one, start \
             `portolan up` without --spokes on the same data, call `portolan leave {name} --force` and start again; or use another \
             --data folder"
        ),
        None => Ok(()),
    }
}

/// Makes the sets that the members are in, where they are not there: the label of a set that does not exist puts a cluster
/// into no set.
async fn make_sets(server: &Server, members: usize) -> anyhow::Result<()> {
    let api: Api<ManagedClusterSet> = Api::all(server.client.clone());
    for name in member::sets(members) {
        let set = ManagedClusterSet::new(name, ManagedClusterSetSpec::default());
        match api.create(&PostParams::default(), &set).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            answer => drop(answer.map_err(|error| {
                live::explain(&error, &format!("make the ManagedClusterSet {name}"), &server.url)
            })?),
        }
    }
    Ok(())
}

async fn start_one(
    hub: &Hub,
    server: &Server,
    index: usize,
    members: usize,
    (signs, tasks): (&Signs, &Tasks),
) -> anyhow::Result<(usize, Member)> {
    let newcomer = member::newcomer(index, members);
    let name = newcomer.name.as_str();
    enroll(&server.client, &newcomer, clock::now())
        .await
        .map_err(|(doing, error)| live::explain(&error, &format!("{doing} for {name}"), &server.url))?;
    let member = Hub::builder()
        .listen((Ipv4Addr::LOCALHOST, 0).into())
        .history(HISTORY)
        .start()
        .await
        .with_context(|| {
            format!("cannot start the member cluster {name}; --spokes takes a smaller number")
        })?;
    let admin = Client::new(member.service(), "default");
    define(&admin)
        .await
        .map_err(|error| live::explain(&error, "install the definitions", name))?;
    let fate = signs.fates.get(name).map(watch::Sender::subscribe);
    let namespace = signs.namespaces.get(name).map(watch::Sender::subscribe);
    let (fate, namespace) = fate
        .zip(namespace)
        .with_context(|| format!("nothing is heard of {name}"))?;
    let (user, groups) = (newcomer.user(), newcomer.groups());
    let account = hub.service_for(&user, &groups.each_ref().map(String::as_str));
    let to_hub = Client::new(Link::to_hub(account, fate.clone()), name);
    let to_member = Client::new(Link::to_member(member.service(), fate.clone()), "default");
    // Of the level of the least log, so that it is in all of them.
    let span = tracing::error_span!("member", cluster = name);
    let agent = span.in_scope(|| Agent::start(to_hub, to_member, settings(index)));
    let workloads = tasks.spawn(
        format!("workloads of {name}"),
        simulate_workloads(admin, fate.clone()),
    );
    let member = Member {
        hub: member,
        agent,
        workloads,
        fate,
        namespace,
    };
    Ok((index, member))
}

fn settings(index: usize) -> Settings {
    let mut settings = Settings::new(&member_name::name(index), Clock::new(clock::now));
    // Wherever the hub listens, it is the same hub.
    settings.hub_id = "portolan-up".to_owned();
    settings.capacity = member::capacity(index);
    // The hub is in this process, and says that a kind goes before it deletes the first object of it.
    settings.deletion_patience = Duration::from_millis(100);
    settings
}

/// What an agent keeps on its member.
async fn define(member: &Client) -> kube::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(member.clone());
    let kept = |definition: &Value| {
        let kind = definition.pointer("/spec/names/kind").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.starts_with("Applied"))
    };
    for definition in portolan_api::crd_values().into_iter().filter(kept) {
        let definition = serde_json::from_value(definition).map_err(kube::Error::SerdeError)?;
        api.create(&PostParams::default(), &definition).await?;
    }
    Ok(())
}

fn write_kubeconfig(members: &[Member], path: &Path) -> anyhow::Result<()> {
    let configs: anyhow::Result<Vec<(String, Value)>> = members
        .iter()
        .enumerate()
        .map(|(index, member)| {
            let text = member.hub.kubeconfig().unwrap_or_default();
            let config = serde_saphyr::from_str(&text).context("cannot read a member's kubeconfig")?;
            Ok((member_name::name(index), config))
        })
        .collect();
    kubeconfig::write(path, &kubeconfig::merged(&configs?))
}
