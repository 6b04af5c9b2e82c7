//! What a removal waits for, and how it says so.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use portolan_api::cluster::ManagedCluster;
use portolan_api::count::{agree, counted};
use tokio::time::Instant;

use super::hub::{Doing, Hub, read};
use super::works::Left;
use crate::{clock, output};

/// How often the hub is asked.
const POLL: Duration = Duration::from_millis(500);
/// How often it is said that nothing has changed.
const REMIND: Duration = Duration::from_secs(15);
/// How long schedulers have to take the cluster out of their decisions. Where none runs the removal goes on after that.
const DECISIONS: Duration = Duration::from_secs(10);
/// Names in one line.
const LISTED: usize = 5;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the agent to remove the works.
    pub(super) works: Duration,
    /// For the server to end what was deleted.
    pub(super) rest: Duration,
}

/// How a wait for works ended.
#[derive(Clone, Debug)]
pub(super) enum Waited {
    Done,
    /// These are still there.
    Left(Vec<Left>),
}

/// Waits until no decision names the cluster: before that works that are deleted may be made anew.
pub(super) async fn decisions(hub: &Hub, timeout: Duration) -> Doing<()> {
    let (begun, timeout) = (Instant::now(), timeout.min(DECISIONS));
    loop {
        let naming = hub.decisions().await?;
        if naming.is_empty() {
            return Ok(());
        }
        if begun.elapsed() >= timeout {
            output::remark(&format!(
                "{} still {} {}: {}; a scheduler that runs takes it out\n",
                counted(naming.len(), "decision"),
                if naming.len() == 1 { "names" } else { "name" },
                hub.cluster,
                listed(naming.iter().map(String::as_str)),
            ));
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Deletes the works of the cluster and waits until they are gone. `note` is said before the wait, if works are held.
pub(super) async fn works(
    hub: &Hub,
    timeout: Duration,
    force: bool,
    mut note: Option<String>,
) -> Doing<Waited> {
    let (begun, since) = (Instant::now(), clock::now());
    let mut told: Option<(usize, Instant)> = None;
    loop {
        let works = hub.works().await?;
        if works.is_empty() {
            return Ok(Waited::Done);
        }
        hub.delete_works(&works).await?;
        if begun.elapsed() >= timeout {
            // Works that nothing holds are gone by now.
            let works = hub.works().await?;
            return Ok(if works.is_empty() {
                Waited::Done
            } else {
                note.take().iter().for_each(|note| output::remark(note));
                Waited::Left(works)
            });
        }
        let is_news = told.is_none_or(|(number, at)| number != works.len() || at.elapsed() >= REMIND);
        // A hub that answers at once needs no words.
        if is_news && begun.elapsed() >= Duration::from_secs(1) {
            note.take().iter().for_each(|note| output::remark(note));
            let heard = hub.heartbeat().await?;
            output::remark(&progress(&hub.cluster, &works, heard, since, clock::now(), force));
            told = Some((works.len(), Instant::now()));
        }
        tokio::time::sleep(POLL).await;
    }
}

fn progress(
    name: &str,
    works: &[Left],
    heard: Option<Timestamp>,
    begun: Timestamp,
    now: Timestamp,
    force: bool,
) -> String {
    let mut text = format!(
        "waiting for the agent of {name} to remove {}, for {} already: {}; {}",
        counted(works.len(), "work"),
        output::age(begun, now),
        listed(works.iter().map(ToString::to_string)),
        agent(heard, now),
    );
    if !force {
        text.push_str(&format!(
            "\n  `portolan leave {name} --force` does not wait for an agent that is gone, and leaves their objects on the \
             member cluster"
        ));
    }
    text.push('\n');
    text
}

/// What is known of the agent.
fn agent(heard: Option<Timestamp>, now: Timestamp) -> String {
    match heard {
        Some(at) => format!("the agent renewed its Lease {} ago", output::age(at, now)),
        None => "no agent has renewed a Lease of this cluster".to_owned(),
    }
}

/// The end of a wait for the agent.
pub(super) fn given_up(
    name: &str,
    works: &[Left],
    heard: Option<Timestamp>,
    now: Timestamp,
    timeout: Duration,
) -> String {
    let within = match timeout.is_zero() {
        true => "--timeout 0s does not wait, and the agent still has to remove".to_owned(),
        false => format!("within {}s the agent has not removed", timeout.as_secs()),
    };
    format!(
        "{name} is not removed: {within} {}: {}; {}. Nothing new is placed on {name}, and its agent removes the works when it \
         runs; then `portolan leave {name}` removes the rest. If the cluster is gone for good, `portolan leave {name} --force` \
         lets the works go, and their objects stay on the member cluster",
        counted(works.len(), "work"),
        listed(works.iter().map(ToString::to_string)),
        agent(heard, now),
    )
}

/// How long something was waited for, behind what is still there.
fn after(timeout: Duration) -> String {
    match timeout.is_zero() {
        true => ", and --timeout 0s does not wait".to_owned(),
        false => format!(" after {}s", timeout.as_secs()),
    }
}

/// Works that wait for somebody else than the agent.
pub(super) fn held_by_others(name: &str, works: &[Left]) -> String {
    let held = works
        .iter()
        .map(|work| format!("{work} (finalizers {})", work.other_finalizers.join(", ")));
    format!(
        "{name} is not removed: {} {} for others than the agent: {}; {} when these finalizers are taken off, then \
         call `portolan leave {name}` again",
        counted(works.len(), "work"),
        agree(works.len(), "waits", "wait"),
        listed(held),
        agree(works.len(), "it goes", "they go"),
    )
}

/// Waits until the namespace is gone; says why it is not.
pub(super) async fn namespace(hub: &Hub, timeout: Duration) -> Doing<Option<String>> {
    let begun = Instant::now();
    loop {
        let Some(namespace) = read(&hub.all::<Namespace>(), &hub.cluster).await? else {
            return Ok(None);
        };
        if begun.elapsed() >= timeout {
            let status = namespace.readable().ok().and_then(|namespace| namespace.status);
            let conditions = status.and_then(|status| status.conditions);
            let held: Vec<String> = conditions
                .into_iter()
                .flatten()
                .filter(|condition| condition.status == "True")
                .filter_map(|condition| condition.message)
                .collect();
            let held = match held.as_slice() {
                [] => "the server does not say what it waits for".to_owned(),
                held => held.join("; "),
            };
            let name = &hub.cluster;
            return Ok(Some(format!(
                "{name} is not removed: its namespace is still being deleted{}: {held}; `portolan leave {name}` removes the rest \
                 when that is gone",
                after(timeout)
            )));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Waits until the ManagedCluster is gone; says why it is not.
pub(super) async fn cluster(hub: &Hub, timeout: Duration) -> Doing<Option<String>> {
    let begun = Instant::now();
    loop {
        let Some(cluster) = read(&hub.all::<ManagedCluster>(), &hub.cluster).await? else {
            return Ok(None);
        };
        if begun.elapsed() >= timeout {
            let name = &hub.cluster;
            return Ok(Some(format!(
                "the ManagedCluster {name} is still being deleted{}: it has the finalizers {}, which are not \
                 Portolan's; call `portolan leave {name}` again when they are taken off",
                after(timeout),
                cluster.finalizers().join(", ")
            )));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The first few names, and how many more there are.
fn listed(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.map(|name| name.as_ref().to_owned()).collect();
    let shown = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_shortened_and_one_is_singular() {
        let names = |number: usize| listed((1..=number).map(|index| format!("w{index}")));
        assert_eq!(names(2), "w1, w2");
        assert_eq!(names(7), "w1, w2, w3, w4, w5 and 2 more");
        assert_eq!(
            (counted(1, "work"), counted(2, "work")),
            ("1 work".to_owned(), "2 works".to_owned())
        );
    }

    #[test]
    fn a_cluster_without_an_agent_is_told_from_one_with_a_silent_agent() {
        let now = Timestamp::from_second(1_000).unwrap();
        let silent = given_up(
            "west",
            &[],
            Timestamp::from_second(400).ok(),
            now,
            Duration::from_secs(300),
        );
        assert!(silent.contains("renewed its Lease 10m ago"), "{silent}");
        assert!(silent.contains("`portolan leave west --force`"), "{silent}");
        assert!(silent.contains("Nothing new is placed on west"), "{silent}");
        let at_once = given_up("west", &[], None, now, Duration::ZERO);
        assert!(at_once.contains("--timeout 0s does not wait"), "{at_once}");
        let none = given_up("west", &[], None, now, Duration::from_secs(300));
        assert!(none.contains("no agent has renewed"), "{none}");
    }
}
