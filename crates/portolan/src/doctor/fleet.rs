//! Clusters and sets.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::conditions;
use portolan_api::labels::portolan::AGENT_NAMESPACE;
use portolan_api::{FieldError, count};
use portolan_engine::fleet::Inventory;

use super::concern::Concern;
use super::read::Observed;
use super::{Check, bindings, leaving, names};
use crate::input::Manifests;
use crate::set_names::missing_set;
use crate::up::spokes::InjectedFault;

/// Lease durations without a heartbeat after which a cluster counts as silent, as in OCM's registration.
const SILENT_AFTER: i64 = 5;

pub(super) fn judge(
    observed: &Observed,
    manifests: &Manifests,
    concern: &Concern<'_>,
    now: Timestamp,
) -> Vec<Check> {
    match observed.inventory.resolve(manifests) {
        Inventory::ManagedClusters => {
            let clusters: Vec<&ManagedCluster> = manifests.clusters().collect();
            if clusters.is_empty() {
                return vec![Check::problem(
                    "clusters",
                    "there is no ManagedCluster",
                    "`portolan join NAME --hub FILE` lets a cluster in; `portolan up --spokes 3` has members of its own",
                )];
            }
            let all = clusters.len();
            let clusters: Vec<&ManagedCluster> = clusters
                .into_iter()
                .filter(|cluster| concern.has_cluster(name(cluster)))
                .collect();
            let mut checks = Vec::new();
            if let Some(wanted) = concern.wanted.filter(|_| clusters.len() < all) {
                checks.push(match clusters.len() {
                    0 => {
                        let all = count::counted(all, "cluster");
                        Check::note("clusters", format!("none of {all} has something of {wanted}"))
                    }
                    1 => Check::ok(
                        "clusters",
                        format!("1 of {all} has something of {wanted}; only this one is checked"),
                    ),
                    number => Check::ok(
                        "clusters",
                        format!("{number} of {all} have something of {wanted}; only these are checked"),
                    ),
                });
            }
            // Of no cluster there is nothing to say.
            if !clusters.is_empty() {
                checks.extend([accepted(&clusters), available(&clusters)]);
                checks.extend(leaving::judge(observed, &clusters, now));
                checks.push(heartbeats(observed, &clusters, now));
            }
            checks.extend([sets(manifests, &clusters), bindings::judge(manifests, concern)]);
            checks
        }
        Inventory::ClusterProfiles => vec![profiles(manifests)],
    }
}

fn accepted(clusters: &[&ManagedCluster]) -> Check {
    let is_denied = |cluster: &&&ManagedCluster| {
        condition(cluster, conditions::HUB_ACCEPTED).is_some_and(|condition| condition.status == "False")
    };
    // One that was accepted and is not any more was denied on purpose; the others wait for somebody.
    let (denied, waiting): (Vec<&ManagedCluster>, Vec<&ManagedCluster>) = clusters
        .iter()
        .filter(|cluster| !cluster.spec.hub_accepts_client)
        .partition(is_denied);
    let waiting: Vec<&str> = waiting.into_iter().map(name).collect();
    match (waiting.first(), denied.first()) {
        (None, None) => Check::ok(
            "accepted",
            format!("the hub accepts {}", count::all(clusters.len(), "cluster")),
        ),
        (None, Some(first)) => Check::note(
            "accepted",
            format!(
                "somebody withdrew spec.hubAcceptsClient: {}; an agent keeps its account until `kubectl delete serviceaccount \
                 {} --namespace {AGENT_NAMESPACE}`",
                names(denied.iter().map(|cluster| name(cluster))),
                name(first)
            ),
        ),
        (Some(first), _) => Check::problem(
            "accepted",
            format!(
                "spec.hubAcceptsClient is not true: {}",
                names(waiting.iter().copied())
            ),
            format!(
                "kubectl patch managedcluster {first} --type=merge -p '{{\"spec\":{{\"hubAcceptsClient\":true}}}}'"
            ),
        ),
    }
}

fn available(clusters: &[&ManagedCluster]) -> Check {
    let (simulated, gone): (Vec<&ManagedCluster>, Vec<&ManagedCluster>) = clusters
        .iter()
        // A cluster that is being removed has a check of its own.
        .filter(|cluster| cluster.metadata.deletion_timestamp.is_none())
        .filter(|cluster| !is_true(condition(cluster, conditions::AVAILABLE)))
        .partition(|cluster| is_simulated(cluster));
    match (gone.len(), simulated.len()) {
        (0, 0) => Check::ok(
            "available",
            format!("{} available", count::all_are(clusters.len(), "cluster")),
        ),
        (0, failed) => Check::note(
            "available",
            format!(
                "{failed} of {} not available, as the demo simulates it: {}",
                count::counted(clusters.len(), "cluster"),
                names(simulated.into_iter().map(name))
            ),
        ),
        (missing, _) => Check::problem(
            "available",
            format!(
                "{missing} of {} not available: {}{}",
                count::counted(clusters.len(), "cluster"),
                names(gone.iter().map(|cluster| name(cluster))),
                reported(&gone)
            ),
            remedy(&gone),
        ),
    }
}

/// What the first agent that runs says of its member cluster.
fn reported(gone: &[&ManagedCluster]) -> String {
    let said = gone.iter().find_map(|cluster| {
        let said = condition(cluster, conditions::AVAILABLE)?;
        (said.status == "False").then_some((name(cluster), said))
    });
    match said {
        Some((cluster, said)) => {
            format!(
                "; the agent of {cluster} reports {}: {}",
                said.reason, said.message
            )
        }
        None => String::new(),
    }
}

/// What makes clusters available again. A fault that `portolan demo` began is no fault of an agent.
fn remedy(gone: &[&ManagedCluster]) -> String {
    let (faulty, others): (Vec<&ManagedCluster>, Vec<&ManagedCluster>) = gone
        .iter()
        .partition(|cluster| InjectedFault::of(cluster.metadata.annotations.as_ref()) != InjectedFault::Well);
    let mut ways: Vec<String> = Vec::new();
    if let Some(first) = faulty.first() {
        let all = names(faulty.iter().map(|cluster| name(cluster)));
        let first = name(first);
        ways.push(format!(
            "`portolan demo` made this happen to {all}; `portolan demo recover {first}` ends it"
        ));
    }
    let (ill, others): (Vec<&ManagedCluster>, Vec<&ManagedCluster>) =
        others.into_iter().partition(|cluster| {
            condition(cluster, conditions::AVAILABLE).is_some_and(|condition| condition.status == "False")
        });
    if !ill.is_empty() {
        let all = names(ill.iter().map(|cluster| name(cluster)));
        ways.push(format!(
            "look at the API server of {all}: its agent runs and cannot use it"
        ));
    }
    if !others.is_empty() {
        let whom = match faulty.is_empty() && ill.is_empty() {
            true => "them".to_owned(),
            false => names(others.into_iter().map(name)),
        };
        ways.push(format!(
            "start `portolan agent` for {whom}, or read its log; to try placements without agents, set the condition \
             ManagedClusterConditionAvailable by hand (docs/live.md)"
        ));
    }
    ways.join("; ")
}

/// Whether `portolan up --demo` plays the cluster, which fails and recovers all the time.
fn is_simulated(cluster: &ManagedCluster) -> bool {
    let labels = cluster.metadata.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key(crate::up::demo::LABEL))
}

/// The reason of the condition of an available cluster that an agent writes.
const AVAILABLE_BY_AGENT: &str = "ManagedClusterAvailable";

fn heartbeats(observed: &Observed, clusters: &[&ManagedCluster], now: Timestamp) -> Check {
    let Some(heartbeats) = &observed.heartbeats else {
        return Check::unknown("heartbeats", "Leases cannot be listed");
    };
    let is_long = |cluster: &ManagedCluster, at: Timestamp| {
        let longest = SignedDuration::from_secs(i64::from(cluster.lease_seconds()) * SILENT_AFTER);
        now.duration_since(at) > longest
    };
    // A cluster that is not available is reported already, and one that became available lately has time to renew its Lease: a
    // controller counts the silence of a cluster from when it made the cluster available. Nothing is said of a cluster that is
    // leaving any more, and the check before says that it is.
    let available: Vec<(&ManagedCluster, &Condition)> = clusters
        .iter()
        .filter(|cluster| cluster.metadata.deletion_timestamp.is_none())
        // The demo renews the Leases of its clusters when it runs, one after the other.
        .filter(|cluster| !is_simulated(cluster))
        .filter_map(|cluster| Some((*cluster, condition(cluster, conditions::AVAILABLE)?)))
        .filter(|(_, available)| is_true(Some(available)))
        .filter(|(cluster, available)| is_long(cluster, available.last_transition_time.0))
        .collect();
    let silent: Vec<&str> = available
        .iter()
        .filter(|(cluster, _)| {
            let heard = heartbeats.get(name(cluster));
            heard.is_some_and(|heard| is_long(cluster, *heard))
        })
        .map(|(cluster, _)| name(cluster))
        .collect();
    // A condition that was set by hand comes without a Lease; an agent renews one.
    let without: Vec<&str> = available
        .iter()
        .filter(|(_, available)| available.reason == AVAILABLE_BY_AGENT)
        .map(|(cluster, _)| name(cluster))
        .filter(|name| !heartbeats.contains_key(*name))
        .collect();
    match silent.is_empty() {
        true if !without.is_empty() => Check::problem(
            "heartbeats",
            format!(
                "available, but its agent renews no Lease, so that nothing notices when the agent stops: {}",
                names(without.iter().copied())
            ),
            format!(
                "read the log of the agent; `portolan join {}` gives the agent the rights that it may have lost with its namespace",
                without[0]
            ),
        ),
        true => Check::ok("heartbeats", "no available cluster has an old Lease"),
        false => Check::problem(
            "heartbeats",
            format!("available, but its Lease is old: {}", names(silent)),
            "silent clusters are marked by the one controller of the hub: if it was started a moment ago, wait a minute; otherwise run it \
             with --registration, or OCM's registration",
        ),
    }
}

fn sets(manifests: &Manifests, clusters: &[&ManagedCluster]) -> Check {
    let sets = manifests.cluster_sets();
    let sets: Vec<&str> = sets.filter_map(|set| set.metadata.name.as_deref()).collect();
    let outside = outside_of_sets(&sets, clusters);
    match sets.len() {
        0 => Check::problem(
            "sets",
            "there is no ManagedClusterSet",
            "`portolan controller --registration` makes the sets default and global; or apply one",
        ),
        number if outside.is_empty() => Check::ok("sets", count::counted(number, "ManagedClusterSet")),
        _ => Check::note("sets", outside.join("; ")),
    }
}

/// A sentence for each set that labels of clusters name and that does not exist.
fn outside_of_sets(sets: &[&str], clusters: &[&ManagedCluster]) -> Vec<String> {
    let mut outside: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for cluster in clusters {
        if let Some(error) = missing_set(cluster, sets) {
            // As lint says it.
            let FieldError {
                path,
                value,
                problem,
                accepted,
            } = error;
            let error = format!("{path} = {value}: {problem}; accepted: {accepted}");
            outside.entry(error).or_default().push(name(cluster));
        }
    }
    let outside = outside.into_iter();
    outside
        .map(|(error, clusters)| format!("ManagedCluster {}: {error}", names(clusters)))
        .collect()
}

fn profiles(manifests: &Manifests) -> Check {
    let profiles: Vec<_> = manifests.profiles().collect();
    let ill: Vec<&str> = profiles
        .iter()
        .filter(|profile| {
            let list = profile.status.iter().flat_map(|status| &status.conditions);
            let mut healthy = list.filter(|condition| condition.type_ == conditions::CONTROL_PLANE_HEALTHY);
            !is_true(healthy.next())
        })
        .filter_map(|profile| profile.metadata.name.as_deref())
        .collect();
    match (profiles.len(), ill.is_empty()) {
        (0, _) => Check::problem(
            "clusters",
            "there is no ClusterProfile and no ManagedCluster",
            "let a cluster manager publish ClusterProfiles, or let clusters in with `portolan join`",
        ),
        (number, true) => Check::ok(
            "clusters",
            format!("{} healthy", count::all_are(number, "cluster")),
        ),
        (_, false) => Check::problem(
            "clusters",
            format!("ControlPlaneHealthy is not True: {}", names(ill)),
            "look at the cluster manager that publishes these ClusterProfiles",
        ),
    }
}

fn name(cluster: &ManagedCluster) -> &str {
    cluster.metadata.name.as_deref().unwrap_or_default()
}

fn condition<'a>(cluster: &'a ManagedCluster, kind: &str) -> Option<&'a Condition> {
    let conditions = &cluster.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn is_true(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == "True")
}
