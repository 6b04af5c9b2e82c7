//! OCM's own agent and Portolan's, one after the other on one member cluster.
//!
//! `PORTOLAN_OCM_WORK` names OCM's program `work`, built from its sources (docs/conformance.md). Without it the test says that it
//! was left out: [`super::left`] and [`super::killed`] have the same objects as recorded ones.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use portolan_agent::Agent;

use super::hub_hash;
use super::left::Left;
use crate::world::{World, eventually, versions};

const OCM: &str = "klusterlet";

/// One of the two agents.
enum Running {
    Ocm(Child),
    Portolan(Agent),
}

impl Running {
    fn ocm(program: &PathBuf, world: &World) -> Running {
        // It takes no port 0.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let listen = free.expect("a port is free").to_string();
        let mut command = Command::new(program);
        command
            .arg("agent")
            .args(["--spoke-cluster-name", &world.cluster, "--agent-id", OCM])
            .arg("--hub-kubeconfig")
            .arg(world.hub.kubeconfig())
            .arg("--kubeconfig")
            .arg(world.spoke.kubeconfig())
            .args([
                "--namespace",
                "default",
                "--disable-leader-election",
                "--listen",
                &listen,
            ])
            .args(["--status-sync-interval", "1s", "--workload-source-config"])
            .arg(world.hub.kubeconfig())
            .stdin(Stdio::null());
        Running::Ocm(command.spawn().expect("OCM's agent starts"))
    }

    async fn stop(self) {
        match self {
            Running::Ocm(mut agent) => {
                agent.kill().expect("OCM's agent is killed");
                agent.wait().expect("OCM's agent ends");
            }
            Running::Portolan(agent) => agent.stop().await,
        }
    }
}

/// Waits until nobody writes an object, a work or a record for a while.
async fn rest(world: &World) {
    let seen = std::cell::RefCell::new(Vec::new());
    eventually("nothing is written any more", async || {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let now = versions(world).await;
        seen.replace(now.clone()) == now
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_changes_hands_between_ocms_agent_and_portolans_and_nothing_else_changes() {
    let Some(program) = std::env::var_os("PORTOLAN_OCM_WORK").map(PathBuf::from) else {
        eprintln!("left out: PORTOLAN_OCM_WORK does not name OCM's program");
        return;
    };
    let mut world = World::new().await;
    let kubeconfig = kube::config::Kubeconfig::read_from(world.hub.kubeconfig()).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
    world.hub_server = cluster.server.unwrap();

    let left = Left::wanted(&world, "x").await;
    let mut running = Running::ocm(&program, &world);
    eventually("OCM's agent has applied the works", async || {
        left.is_held_by(OCM).await && left.seen().await.len() == 10
    })
    .await;
    world.until_applied("x-web").await;
    left.scale().await;
    world
        .create_work("edited", &[world.config_map("edited", "0")])
        .await;
    world
        .create_work("turn-0", &[world.config_map("turn-0", "1")])
        .await;
    world.until_applied("edited").await;
    world.until_applied("turn-0").await;
    rest(&world).await;
    let before = left.seen().await;

    for turn in 1..=3 {
        running.stop().await;
        assert_eq!(left.seen().await, before, "before turn {turn}");
        let own = hub_hash(&world);
        let (next, id) = match turn % 2 {
            1 => (Running::Portolan(world.agent()), own.as_str()),
            _ => (Running::ocm(&program, &world), OCM),
        };
        running = next;
        eventually("the works are taken over", async || left.is_held_by(id).await).await;
        rest(&world).await;
        assert_eq!(left.seen().await, before, "after the start of turn {turn}");

        // What each of them is for still works: a work is edited, one comes and one goes.
        let value = turn.to_string();
        world
            .set_manifests("edited", &[world.config_map("edited", &value)])
            .await;
        world.until_values("edited", &[("edited", &value)]).await;
        let (former, new) = (format!("turn-{}", turn - 1), format!("turn-{turn}"));
        world.create_work(&new, &[world.config_map(&new, "1")]).await;
        world.delete_work(&former).await;
        world.until_applied(&new).await;
        world.until_gone(&former).await;
        world.until_values("turn-", &[(&new, "1")]).await;
        rest(&world).await;
        assert_eq!(left.seen().await, before, "at the end of turn {turn}");
    }
    left.delete().await;
    left.until_only_others_are_left(&before).await;
    running.stop().await;
}
