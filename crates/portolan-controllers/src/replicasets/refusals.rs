//! Clusters whose work the server does not take, and the condition `WorksRefused` that names them.
//!
//! The controller writes the condition and reads it back: after a restart a cluster that is still refused counts as
//! failed at its first attempt, so that nothing is written anew. `rollout status` reads the same condition, so that both
//! say the same.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::conditions;
use tokio::time::Instant;

use crate::moment::{Moment, Since};
use crate::reconcile::Failure;

/// How often a cluster may refuse its work before that counts as a failure of the rollout there.
pub(super) const REFUSALS: u32 = 3;

/// How long after a decision the binding of its clusters may be heard of.
const BINDING_DELAY: Duration = Duration::from_secs(10);

/// Bytes of names in the condition's message. A message may have 32 KiB; the rest is for the words around the names.
const LONGEST_LIST: usize = 24 * 1024;

/// Why the server did not take a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    NamespaceMissing,
    NameTaken,
    Forbidden,
    Invalid,
    /// Not the server's refusal but ours: no set of the cluster is bound to the namespace of the replica set.
    NotBound,
}

impl Cause {
    const ALL: [Cause; 5] = [
        Cause::NamespaceMissing,
        Cause::NameTaken,
        Cause::Forbidden,
        Cause::Invalid,
        Cause::NotBound,
    ];

    /// `None` for a failure that says nothing about the cluster.
    pub(super) fn of(failure: Failure) -> Option<Cause> {
        match failure {
            Failure::Missing => Some(Cause::NamespaceMissing),
            Failure::Conflict => Some(Cause::NameTaken),
            Failure::Forbidden => Some(Cause::Forbidden),
            Failure::Invalid => Some(Cause::Invalid),
            Failure::Transient => None,
        }
    }

    /// As a reason of a condition and in JSON.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Cause::NamespaceMissing => "NamespaceMissing",
            Cause::NameTaken => "NameTaken",
            Cause::Forbidden => "Forbidden",
            Cause::Invalid => "Invalid",
            Cause::NotBound => "ClusterSetNotBound",
        }
    }

    /// What is wrong with one cluster.
    pub(super) fn about(self, cluster: &str) -> String {
        match self {
            Cause::NamespaceMissing => format!("there is no namespace {cluster} on the hub"),
            Cause::NameTaken => {
                format!("another ManifestWork in the namespace {cluster} has the name of this work")
            }
            Cause::Forbidden => {
                format!("the controller may not write ManifestWorks in the namespace {cluster}")
            }
            Cause::Invalid => format!("the server rejects the ManifestWork in the namespace {cluster}"),
            Cause::NotBound => {
                format!(
                    "no ManagedClusterSet with {cluster} in it is bound to the namespace of the replica set"
                )
            }
        }
    }

    /// What precedes the names in the condition.
    fn heading(self) -> &'static str {
        match self {
            Cause::NamespaceMissing => "the hub has no namespace for",
            Cause::NameTaken => "another ManifestWork has the name of the work of",
            Cause::Forbidden => "the controller may not write the ManifestWork of",
            Cause::Invalid => "the server rejects the ManifestWork of",
            Cause::NotBound => "this namespace has no ManagedClusterSetBinding for a set of",
        }
    }
}

/// A cluster whose work could not be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal {
    pub(super) cause: Cause,
    pub(super) times: u32,
    pub(super) first: Since,
    /// When it is tried again.
    pub(super) until: Instant,
}

impl Refusal {
    /// Of a cluster that no bound set has. The watch of bindings may be a little behind that of decisions, so it is looked at
    /// once more before it counts as failed.
    pub(super) fn unbound(now: Moment) -> Refusal {
        Refusal {
            cause: Cause::NotBound,
            times: 1,
            first: Since::now(now),
            until: now.instant + BINDING_DELAY,
        }
    }
}

/// Reason and message of the condition; nothing when no cluster refuses.
pub(super) fn said(refused: &BTreeMap<&str, Cause>) -> Option<(&'static str, String)> {
    let first = refused.values().min()?;
    let (mut parts, mut length) = (Vec::new(), 0);
    for cause in Cause::ALL {
        let names: Vec<&str> = refused
            .iter()
            .filter(|(_, of)| **of == cause)
            .map(|(cluster, _)| *cluster)
            .collect();
        let shown: Vec<&str> = names
            .iter()
            .copied()
            .take_while(|name| {
                length += name.len() + 2;
                length < LONGEST_LIST
            })
            .collect();
        let more = match names.len() - shown.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        if !names.is_empty() {
            parts.push(format!("{}: {}{more}", cause.heading(), shown.join(", ")));
        }
    }
    Some((first.reason(), parts.join("; ")))
}

/// The clusters that the condition names, with the time of the condition.
pub(super) fn read(list: &[Condition]) -> BTreeMap<String, Cause> {
    let mut refused = BTreeMap::new();
    let Some(condition) = condition_of(list) else {
        return refused;
    };
    for part in condition.message.split("; ") {
        let Some((heading, names)) = part.split_once(": ") else {
            continue;
        };
        let Some(cause) = Cause::ALL.into_iter().find(|cause| cause.heading() == heading) else {
            continue;
        };
        let names = names.split_once(" and ").map_or(names, |(shown, _)| shown);
        refused.extend(names.split(", ").map(|name| (name.to_owned(), cause)));
    }
    refused
}

/// The same as refusals since the condition says so.
pub(super) fn refusals(list: &[Condition], now: Moment) -> BTreeMap<String, Refusal> {
    let since = condition_of(list).map_or(now.wall, |condition| condition.last_transition_time.0);
    let refusal = |cause| Refusal {
        cause,
        times: REFUSALS,
        first: Since::recorded(since, now),
        until: now.instant,
    };
    let refused = read(list).into_iter();
    refused.map(|(name, cause)| (name, refusal(cause))).collect()
}

fn condition_of(list: &[Condition]) -> Option<&Condition> {
    list.iter()
        .find(|condition| condition.type_ == conditions::WORKS_REFUSED)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn condition(message: String) -> Condition {
        Condition {
            type_: conditions::WORKS_REFUSED.to_owned(),
            status: "True".to_owned(),
            reason: "NamespaceMissing".to_owned(),
            message,
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            observed_generation: None,
        }
    }

    #[test]
    fn the_condition_is_read_as_it_was_written() {
        let refused = BTreeMap::from([
            ("east", Cause::NamespaceMissing),
            ("north", Cause::Forbidden),
            ("west", Cause::NamespaceMissing),
        ]);
        let (reason, message) = said(&refused).unwrap();
        assert_eq!(reason, "NamespaceMissing");
        assert_eq!(
            message,
            "the hub has no namespace for: east, west; the controller may not write the ManifestWork of: north"
        );
        let read: Vec<(String, Cause)> = read(&[condition(message)]).into_iter().collect();
        let expected = refused.iter().map(|(name, cause)| ((*name).to_owned(), *cause));
        assert_eq!(read, expected.collect::<Vec<_>>());
        assert!(said(&BTreeMap::new()).is_none());
    }

    #[test]
    fn a_message_about_ten_thousand_clusters_fits_a_condition_and_counts_the_rest() {
        let names: Vec<String> = (0..10_000).map(|number| format!("cluster-{number:05}")).collect();
        let refused = names.iter().map(|name| (name.as_str(), Cause::NamespaceMissing));
        let (_, message) = said(&refused.collect()).unwrap();
        assert!(
            message.len() < 32 * 1024 && message.ends_with(" more"),
            "{}",
            message.len()
        );
        let read = read(&[condition(message)]);
        assert!(read.keys().all(|name| names.contains(name)) && read.len() > 1000);
    }
}
