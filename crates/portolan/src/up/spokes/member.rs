//! What the members are like: pure functions of their numbers.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::portolan::{EMBEDDED_MEMBER, EMBEDDED_MEMBER_STOPPED};

use crate::join::Newcomer;
pub(super) use crate::join::{EMBEDDED_BY, is_embedded};

const REGIONS: [&str; 3] = ["eu-central-1", "us-east-1", "ap-south-1"];
/// Every third is not production.
const SETS: [&str; 3] = ["production", "production", "staging"];
/// Renewals a second, over all members: the heartbeats of a large fleet must not be its main occupation.
const RENEWALS_PER_SECOND: usize = 4;
/// In seconds. Short, so that somebody who watches sees what a silent member leads to.
const SHORTEST_LEASE: usize = 5;
const LONGEST_LEASE: usize = 60;

/// The sets that so many members are in.
pub(super) fn sets(members: usize) -> BTreeSet<&'static str> {
    SETS.into_iter().take(members).collect()
}

/// Whether the process that serves the hub runs this member.
pub(crate) fn runs(member: &ObjectMeta) -> bool {
    let annotations = member.annotations.as_ref();
    !annotations.is_some_and(|all| all.contains_key(EMBEDDED_MEMBER_STOPPED))
}

/// The member with this number among so many.
pub(super) fn newcomer(index: usize, members: usize) -> Newcomer {
    let region = REGIONS[index % REGIONS.len()];
    let mut labels = BTreeMap::from([
        (EMBEDDED_MEMBER.to_owned(), "true".to_owned()),
        ("topology.kubernetes.io/region".to_owned(), region.to_owned()),
        (
            "tier".to_owned(),
            if index == 0 { "canary" } else { "standard" }.to_owned(),
        ),
        ("ring".to_owned(), if index == 0 { "0" } else { "1" }.to_owned()),
    ]);
    if has_gpus(index) {
        labels.insert("gpu".to_owned(), "a100".to_owned());
    }
    let lease = (members / RENEWALS_PER_SECOND).clamp(SHORTEST_LEASE, LONGEST_LEASE);
    Newcomer {
        name: crate::member_name::name(index),
        labels,
        annotations: BTreeMap::from([(EMBEDDED_BY.0.to_owned(), EMBEDDED_BY.1.to_owned())]),
        set: Some(SETS[index % SETS.len()].to_owned()),
        lease_duration: u16::try_from(lease).ok(),
    }
}

fn has_gpus(index: usize) -> bool {
    index % 2 == 1
}

/// What its nodes would offer if it had any.
pub(super) fn capacity(index: usize) -> BTreeMap<String, String> {
    let nodes = 2 + index % 4;
    let mut capacity = BTreeMap::from([
        ("cpu".to_owned(), (nodes * 16).to_string()),
        ("memory".to_owned(), format!("{}Gi", nodes * 64)),
    ]);
    if has_gpus(index) {
        capacity.insert("nvidia.com/gpu".to_owned(), (nodes * 4).to_string());
    }
    capacity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_a_region_a_tier_and_a_set_and_some_have_gpus() {
        let members: Vec<Newcomer> = (0..6).map(|index| newcomer(index, 6)).collect();
        let with = |key: &str| {
            let of = |member: &Newcomer| member.labels.get(key).cloned();
            members.iter().filter_map(of).collect::<BTreeSet<_>>()
        };
        let named: BTreeSet<&str> = members
            .iter()
            .filter_map(|member| member.set.as_deref())
            .collect();
        assert_eq!(named, sets(6));
        assert_eq!(sets(1), BTreeSet::from(["production"]));
        assert_eq!(members[5].name, "member-6");
        assert_eq!(with("topology.kubernetes.io/region").len(), 3);
        assert_eq!(with("tier").len(), 2);
        assert_eq!(
            members
                .iter()
                .filter(|member| member.labels.contains_key("gpu"))
                .count(),
            3
        );
    }

    #[test]
    fn a_small_fleet_renews_leases_often_and_a_large_one_seldom() {
        assert_eq!(newcomer(0, 6).lease_duration, Some(5));
        assert_eq!(newcomer(0, 200).lease_duration, Some(50));
        assert_eq!(newcomer(0, 1_000).lease_duration, Some(60));
    }
}
