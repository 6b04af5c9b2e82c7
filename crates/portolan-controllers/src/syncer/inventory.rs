//! Which cluster a name means.
//!
//! Nothing in a Work names a cluster: the namespace that it is in does, and that is called like the ClusterProfile. A
//! name that two inventories use for two clusters means neither.

use portolan_runtime::watch::SyncState;
use std::collections::{BTreeMap, BTreeSet};

use portolan_api::labels::{multicluster as labels, ocm};
use portolan_api::multicluster::ClusterProfile;
use portolan_api::structural::is_dns_label;

use crate::absence::{Absences, Judgement, Standing};
use crate::moment::Moment;
use crate::sabotage::{Rule, sabotaged};

/// The ClusterProfiles of the hub, by name and then by namespace.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) known: SyncState,
    /// By namespace and name of the profile.
    absences: Absences,
    profiles: BTreeMap<String, BTreeMap<String, Profile>>,
    /// Names and namespaces of profiles that cannot be read: their clusters may be away.
    unreadable: BTreeSet<(String, String)>,
}

/// A profile, as far as it says which cluster it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Profile {
    identity: Identity,
    /// Whether it is of a ManagedCluster. The namespace of that name is then the one of this cluster.
    is_managed: bool,
}

/// Where it is known from that there is a cluster of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A ManagedCluster, which only an administrator makes.
    ManagedCluster,
    /// Its profiles alone.
    Profiles,
}

/// What two profiles of one cluster have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// The id of the member in its inventory.
    Member(String),
    /// The manager and the name it knows the cluster by.
    Managed(String, String),
    /// Nothing that could be compared.
    Unknown,
}

impl Inventory {
    /// Takes note; says whether that makes a difference.
    pub(super) fn applied(&mut self, profile: &ClusterProfile) -> bool {
        let metadata = &profile.metadata;
        let label = |key: &str| {
            let value = metadata.labels.as_ref()?.get(key)?;
            (!value.is_empty()).then(|| value.clone())
        };
        let identity = match (label(labels::INVENTORY_MEMBER_ID), label(ocm::CLUSTER_NAME)) {
            (Some(member), _) => Identity::Member(member),
            (None, Some(name)) => Identity::Managed(profile.spec.cluster_manager.name.clone(), name),
            (None, None) => Identity::Unknown,
        };
        let name = metadata.name.clone().unwrap_or_default();
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let was_unreadable = self.unreadable.remove(&(name.clone(), namespace.clone()));
        let is_news = self
            .absences
            .note(&format!("{namespace}/{name}"), Standing::of_profile(profile));
        let profile = Profile {
            identity,
            is_managed: profile.spec.cluster_manager.name == ocm::CLUSTER_MANAGER_NAME,
        };
        let known = self.profiles.entry(name).or_default();
        known.insert(namespace, profile.clone()) != Some(profile) || is_news || was_unreadable
    }

    pub(super) fn gone(&mut self, namespace: &str, name: &str) {
        self.absences.forget(&format!("{namespace}/{name}"));
        self.unreadable.remove(&(name.to_owned(), namespace.to_owned()));
        if let Some(profiles) = self.profiles.get_mut(name) {
            profiles.remove(namespace);
            if profiles.is_empty() {
                self.profiles.remove(name);
            }
        }
    }

    /// Takes note of a profile that cannot be read.
    pub(super) fn cannot_read(&mut self, namespace: &str, name: &str) {
        self.unreadable.insert((name.to_owned(), namespace.to_owned()));
    }

    /// Counts from now for clusters that have come back.
    pub(super) fn look(&mut self, now: Moment) {
        self.absences.look(now);
    }

    /// What becomes of a work of a cluster that no decision names: one that cannot be reached keeps it, unless another has
    /// its place. Only the profiles count that a decision may name there: what others write into namespaces of their own
    /// keeps nothing.
    pub(super) fn judge(
        &self,
        name: &str,
        may_be_named: impl Fn(&String) -> bool,
        is_replaced: bool,
        now: Moment,
    ) -> Judgement {
        let first = (name.to_owned(), String::new());
        let unreadable = self.unreadable.range(first..);
        let mut unreadable = unreadable.take_while(|(unreadable, _)| unreadable == name);
        if unreadable.any(|(_, namespace)| may_be_named(namespace)) && !sabotaged(Rule::UnreadableIsNotAbsent)
        {
            return Judgement::Keep;
        }
        let namespaces = self.profiles.get(name).into_iter().flat_map(BTreeMap::keys);
        let namespaces = namespaces.filter(|namespace| may_be_named(namespace));
        let absences = namespaces.filter_map(|namespace| self.absences.of(&format!("{namespace}/{name}")));
        let judgements = absences.map(|absence| absence.judge(|| is_replaced, now));
        judgements.max().unwrap_or(Judgement::Delete)
    }

    /// Whether a cluster that a decision names, in each of the namespaces given, can have works; or why not. What a profile
    /// says of itself anybody can write who may create profiles in some namespace: of a ManagedCluster, only the profiles that
    /// the decision names count.
    pub(super) fn resolve(
        &self,
        name: &str,
        namespaces: &BTreeSet<String>,
        origin: Origin,
    ) -> Result<(), String> {
        if !is_dns_label(name) {
            return Err(format!(
                "{name:?} cannot be the name of a namespace, and works of a cluster are in the namespace of its name; \
                 accepted: at most 63 lower-case letters, digits and dashes"
            ));
        }
        let profiles = self.profiles.get(name);
        let is_heard = |namespace: &String| origin == Origin::Profiles || namespaces.contains(namespace);
        let mut heard = profiles
            .into_iter()
            .flatten()
            .filter(|(namespace, _)| is_heard(namespace));
        let is_managed = heard.any(|(_, profile)| profile.is_managed);
        for namespace in namespaces {
            let Some(profile) = profiles.and_then(|profiles| profiles.get(namespace)) else {
                return Err(format!("there is no ClusterProfile {namespace}/{name}"));
            };
            if is_managed && !profile.is_managed {
                return Err(format!(
                    "the ClusterProfile {namespace}/{name} is of another manager, and the works of {name} are those of the \
                     ManagedCluster; accepted: a ClusterProfile whose manager is {}",
                    ocm::CLUSTER_MANAGER_NAME
                ));
            }
        }
        // A profile that somebody makes in a namespace of their own must not keep others from a ManagedCluster.
        let counts = |(namespace, profile): &(&String, &Profile)| {
            is_heard(namespace) && (profile.is_managed || !is_managed)
        };
        let mut profiles = profiles.into_iter().flatten().filter(counts);
        let Some((first, one)) = profiles.next() else {
            return Ok(());
        };
        let is_other = |(_, other): &(&String, &Profile)| {
            other.identity != one.identity || other.identity == Identity::Unknown
        };
        match profiles.find(is_other) {
            None => Ok(()),
            Some((second, _)) => Err(format!(
                "{name} is ambiguous: the ClusterProfiles {first}/{name} and {second}/{name} are not known to be one \
                 cluster; accepted: one of them alone, or both with the same label {}",
                labels::INVENTORY_MEMBER_ID
            )),
        }
    }
}
