//! The smallest change that would turn a verdict round. Every proposal is tried on the engine before it is made, so
//! it cannot be wrong; where none works, there is none.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use portolan_api::cluster::{
    ManagedCluster, ManagedClusterClaim, Placement, Taint, TaintEffect, TopologyKeyType,
};
use portolan_api::labels;
use portolan_api::labels::ocm::{TAINT_UNAVAILABLE, TAINT_UNREACHABLE};
use portolan_api::multicluster::{ClusterProfile, Property};
use serde::Serialize;

use super::{Stage, Verdict};
use crate::engine::Engine;
use crate::fleet::Inventory;
use crate::fleet::cluster::Cluster;
use crate::placement::{PlacementKey, Predicate};
use crate::selector::{Operator, Requirement};

/// A change that was tried and turns the verdict round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flip {
    /// Whether the cluster is selected after the change.
    pub selected_after: bool,
    /// What to do, all of it.
    pub edits: Vec<Edit>,
}

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Edit {
    /// Set a label of the cluster.
    SetLabel {
        /// Label key.
        key: String,
        /// Label value.
        value: String,
    },
    /// Remove a label of the cluster.
    RemoveLabel {
        /// Label key.
        key: String,
    },
    /// Have the cluster report a claim.
    SetClaim {
        /// Claim name.
        key: String,
        /// Claim value.
        value: String,
    },
    /// Have the cluster no longer report a claim.
    RemoveClaim {
        /// Claim name.
        key: String,
    },
    /// Remove a taint of the cluster.
    RemoveTaint {
        /// Taint key.
        key: String,
        /// Taint value.
        value: String,
        /// Taint effect.
        effect: TaintEffect,
    },
    /// Add a taint to the cluster.
    AddTaint {
        /// Taint key.
        key: String,
        /// Taint effect.
        effect: TaintEffect,
    },
    /// Change `spec.numberOfClusters` of the placement.
    SetNumberOfClusters {
        /// The new number.
        number: usize,
    },
}

impl std::fmt::Display for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Edit::SetLabel { key, value } => write!(f, "set label {key}={value} on the cluster"),
            Edit::RemoveLabel { key } => write!(f, "remove label {key} from the cluster"),
            Edit::SetClaim { key, value } => write!(f, "have the cluster report claim {key}={value}"),
            Edit::RemoveClaim { key } => write!(f, "have the cluster stop reporting claim {key}"),
            // The hub puts these taints back while their cause lasts.
            Edit::RemoveTaint { key, .. } if key == TAINT_UNREACHABLE => write!(
                f,
                "make the cluster available: its agent must renew its Lease, for which the hub must have accepted it; the hub \
                 then removes taint {key}"
            ),
            Edit::RemoveTaint { key, .. } if key == TAINT_UNAVAILABLE => write!(
                f,
                "make the cluster available: its agent reports that it is not; the hub then removes taint {key}"
            ),
            Edit::RemoveTaint { key, value, effect } if value.is_empty() => {
                write!(
                    f,
                    "remove taint {key}:{effect:?} from the cluster, or tolerate it"
                )
            }
            Edit::RemoveTaint { key, value, effect } => {
                write!(
                    f,
                    "remove taint {key}={value}:{effect:?} from the cluster, or tolerate it"
                )
            }
            Edit::AddTaint { key, effect } => write!(f, "add taint {key}:{effect:?} to the cluster"),
            Edit::SetNumberOfClusters { number } => write!(f, "set spec.numberOfClusters to {number}"),
        }
    }
}

/// More than this many edits is not a small change any more.
const MOST_EDITS: usize = 8;

pub(crate) fn smallest(
    engine: &mut Engine,
    key: &PlacementKey,
    cluster: &str,
    selected: bool,
    now: Timestamp,
) -> Option<Flip> {
    let trial = Trial {
        key,
        cluster,
        now,
        placement: engine.placement(key)?.clone(),
        object: Object::read(engine, key, cluster)?,
    };
    let due = engine.take_due();
    let edits = if selected {
        trial.to_drop(engine)
    } else {
        trial.to_select(engine)
    };
    trial.restore(engine);
    engine.restore_due(due);
    Some(Flip {
        selected_after: !selected,
        edits: edits?,
    })
}

/// The cluster as the fleet holds it, to be edited and applied again.
#[derive(Clone)]
enum Object {
    Managed(ManagedCluster),
    Profile(ClusterProfile),
}

impl Object {
    fn read(engine: &Engine, key: &PlacementKey, cluster: &str) -> Option<Object> {
        let id = engine.fleet().find(&key.namespace, cluster)?;
        let json = engine.fleet().cluster(id)?.document.json();
        match engine.fleet().inventory() {
            Inventory::ManagedClusters => serde_json::from_slice(&json).ok().map(Object::Managed),
            Inventory::ClusterProfiles => serde_json::from_slice(&json).ok().map(Object::Profile),
        }
    }

    fn apply(&self, engine: &mut Engine) {
        match self {
            Object::Managed(cluster) => engine.apply_cluster(cluster),
            Object::Profile(profile) => engine.apply_profile(profile),
        }
    }

    fn labels(&mut self) -> &mut BTreeMap<String, String> {
        let metadata = match self {
            Object::Managed(cluster) => &mut cluster.metadata,
            Object::Profile(profile) => &mut profile.metadata,
        };
        metadata.labels.get_or_insert_default()
    }

    fn set_claim(&mut self, name: &str, value: Option<&str>) {
        match self {
            Object::Managed(cluster) => {
                let claims = &mut cluster.status.get_or_insert_default().cluster_claims;
                claims.retain(|claim| claim.name != name);
                claims.extend(value.map(|value| ManagedClusterClaim {
                    name: name.into(),
                    value: value.into(),
                }));
            }
            Object::Profile(profile) => {
                let properties = &mut profile.status.get_or_insert_default().properties;
                properties.retain(|property| property.name != name);
                properties.extend(value.map(|value| Property {
                    name: name.into(),
                    value: value.into(),
                    ..Property::default()
                }));
            }
        }
    }

    /// A profile has no taints: its health stands in for them, and that is not edited.
    fn taints(&mut self) -> Option<&mut Vec<Taint>> {
        match self {
            Object::Managed(cluster) => Some(&mut cluster.spec.taints),
            Object::Profile(_) => None,
        }
    }
}

struct Trial<'a> {
    key: &'a PlacementKey,
    cluster: &'a str,
    now: Timestamp,
    placement: Placement,
    object: Object,
}

impl Trial<'_> {
    fn restore(&self, engine: &mut Engine) {
        self.object.apply(engine);
        engine.apply_placement(&self.placement);
    }

    /// The verdict on the cluster after the edits.
    fn attempt(&self, engine: &mut Engine, edits: &[Edit]) -> Option<Verdict> {
        let (mut object, mut placement) = (self.object.clone(), self.placement.clone());
        edits
            .iter()
            .for_each(|edit| edit.apply(&mut object, &mut placement, self.now));
        object.apply(engine);
        engine.apply_placement(&placement);
        super::verdict(engine, self.key, self.cluster, self.now)
    }

    /// Any single edit will do; the ones that say most about the placement come first.
    fn to_drop(&self, engine: &mut Engine) -> Option<Vec<Edit>> {
        let verdict = self.attempt(engine, &[])?;
        let mut proposals = Vec::new();
        for predicate in engine.state(self.key)?.predicates() {
            proposals.extend(predicate.labels.requirements.iter().filter_map(unmeet_label));
            proposals.extend(predicate.claims.requirements.iter().filter_map(unmeet_claim));
        }
        // With no cluster at all the workload would be gone, which is more than was asked for.
        if let (Some(rank @ 2..), Some(_)) = (verdict.rank, self.placement.spec.number_of_clusters) {
            proposals.push(Edit::SetNumberOfClusters { number: rank - 1 });
        }
        proposals.push(Edit::AddTaint {
            key: "portolan.dev/drain".into(),
            effect: TaintEffect::NoSelect,
        });
        if let Some(rank) = verdict.rank {
            proposals.push(Edit::SetNumberOfClusters { number: rank - 1 });
        }
        proposals.into_iter().map(|edit| vec![edit]).find(|edits| {
            self.attempt(engine, edits)
                .is_some_and(|verdict| !verdict.selected)
        })
    }

    /// Clears one obstacle after the other. Where there are alternatives (several predicates, several sets) each is
    /// followed and the shortest way wins.
    fn to_select(&self, engine: &mut Engine) -> Option<Vec<Edit>> {
        let mut ways: Vec<Vec<Edit>> = vec![Vec::new()];
        let mut best: Option<Vec<Edit>> = None;
        while let Some(edits) = ways.pop() {
            if edits.len() > MOST_EDITS || best.as_ref().is_some_and(|best| best.len() <= edits.len()) {
                continue;
            }
            let Some(verdict) = self.attempt(engine, &edits) else {
                continue;
            };
            if verdict.selected {
                best = Some(edits);
                continue;
            }
            for more in self.remedies(engine, &verdict) {
                if more.iter().all(|edit| !edits.contains(edit)) {
                    ways.push([edits.clone(), more].concat());
                }
            }
        }
        best
    }

    fn remedies(&self, engine: &Engine, verdict: &Verdict) -> Vec<Vec<Edit>> {
        let Some(id) = engine.fleet().find(&self.key.namespace, self.cluster) else {
            return Vec::new();
        };
        let Some(cluster) = engine.fleet().cluster(id) else {
            return Vec::new();
        };
        let Some(state) = engine.state(self.key) else {
            return Vec::new();
        };
        match verdict.stage {
            Stage::Candidate if engine.fleet().inventory() == Inventory::ClusterProfiles => {
                let join = |set: &String| Edit::SetLabel {
                    key: labels::multicluster::CLUSTER_SET.to_owned(),
                    value: set.clone(),
                };
                self.placement
                    .spec
                    .cluster_sets
                    .iter()
                    .map(|set| vec![join(set)])
                    .collect()
            }
            Stage::Candidate => self.other_sets(engine, cluster),
            Stage::Predicate => {
                let predicates = state.predicates().iter();
                predicates
                    .filter_map(|predicate| meet(predicate, cluster))
                    .filter(|edits| !edits.is_empty())
                    .collect()
            }
            Stage::TaintToleration => {
                // Which of the taints are tolerated is the filter's business: try them one by one.
                let rejecting = cluster
                    .taints
                    .iter()
                    .filter(|t| t.effect != TaintEffect::PreferNoSelect);
                rejecting.map(|taint| vec![remove_taint(taint)]).collect()
            }
            // Where clusters are spread, one with a place to spare may still be left out: one place more may be enough.
            Stage::NumberOfClusters => {
                let asked = self.placement.spec.number_of_clusters;
                let more = asked
                    .and_then(|asked| usize::try_from(asked).ok())
                    .map(|asked| asked + 1);
                let numbers = verdict.rank.into_iter().chain(more);
                numbers
                    .map(|number| vec![Edit::SetNumberOfClusters { number }])
                    .collect()
            }
            Stage::SpreadPolicy => self.other_domains(engine, verdict),
            Stage::NotEvaluated | Stage::Selected => Vec::new(),
        }
    }

    /// Ways into a bound ManagedClusterSet: the labels that its selector asks for.
    fn other_sets(&self, engine: &Engine, cluster: &Cluster) -> Vec<Vec<Edit>> {
        let (sets, _) = engine
            .fleet()
            .candidates(&self.key.namespace, &self.placement.spec.cluster_sets);
        let join = |set: &String| match engine.fleet().set_selector(set)?.requirements.as_slice() {
            [] => None,
            requirements => requirements
                .iter()
                .filter(|requirement| !requirement.matches(cluster.label(&requirement.key)))
                .map(meet_label)
                .collect::<Option<Vec<Edit>>>(),
        };
        sets.eligible
            .iter()
            .filter_map(join)
            .filter(|edits| !edits.is_empty())
            .collect()
    }
}

/// The labels and claims that a predicate asks for and the cluster does not have.
fn meet(predicate: &Predicate, cluster: &Cluster) -> Option<Vec<Edit>> {
    let labels = predicate.labels.requirements.iter();
    let claims = predicate.claims.requirements.iter();
    labels
        .filter(|requirement| !requirement.matches(cluster.label(&requirement.key)))
        .map(meet_label)
        .chain(
            claims
                .filter(|requirement| !requirement.matches(cluster.claim(&requirement.key)))
                .map(meet_claim),
        )
        .collect()
}

/// As many domains of a spread constraint are tried as a person would read about.
const MOST_DOMAINS: usize = 16;

impl Trial<'_> {
    /// Ways past a spread constraint: stand in another domain, or rank before the clusters of one's own.
    fn other_domains(&self, engine: &Engine, verdict: &Verdict) -> Vec<Vec<Edit>> {
        let (Some(state), Some(id)) = (
            engine.state(self.key),
            engine.fleet().find(&self.key.namespace, self.cluster),
        ) else {
            return Vec::new();
        };
        let (Ok(compiled), Some(cluster)) = (&state.compiled, engine.fleet().cluster(id)) else {
            return Vec::new();
        };
        let mut ways = Vec::new();
        for constraint in compiled
            .constraints
            .iter()
            .filter(|constraint| constraint.required)
        {
            let fleet = engine.fleet();
            let domains: BTreeSet<&str> = fleet
                .iter()
                .filter_map(|other| constraint.domain(fleet, other))
                .collect();
            let current = constraint.domain(engine.fleet(), id);
            for domain in domains
                .into_iter()
                .filter(|domain| current != Some(*domain))
                .take(MOST_DOMAINS)
            {
                let (key, value) = (constraint.key.to_string(), domain.to_owned());
                ways.push(vec![match constraint.key_type {
                    TopologyKeyType::Label => Edit::SetLabel { key, value },
                    TopologyKeyType::Claim => Edit::SetClaim { key, value },
                }]);
            }
        }
        if verdict.prefer_no_select > 0 {
            let avoided = cluster
                .taints
                .iter()
                .filter(|taint| taint.effect == TaintEffect::PreferNoSelect);
            ways.push(avoided.map(remove_taint).collect());
        }
        ways
    }
}

fn remove_taint(taint: &crate::fleet::cluster::Taint) -> Edit {
    Edit::RemoveTaint {
        key: taint.key.to_string(),
        value: taint.value.to_string(),
        effect: taint.effect,
    }
}

fn meet_label(requirement: &Requirement) -> Option<Edit> {
    let key = requirement.key.to_string();
    Some(match requirement.operator {
        Operator::In => Edit::SetLabel {
            key,
            value: requirement.values.first()?.to_string(),
        },
        Operator::Exists => Edit::SetLabel {
            key,
            value: "true".into(),
        },
        Operator::NotIn | Operator::DoesNotExist => Edit::RemoveLabel { key },
    })
}

fn meet_claim(requirement: &Requirement) -> Option<Edit> {
    Some(match meet_label(requirement)? {
        Edit::SetLabel { key, value } => Edit::SetClaim { key, value },
        Edit::RemoveLabel { key } => Edit::RemoveClaim { key },
        other => other,
    })
}

fn unmeet_label(requirement: &Requirement) -> Option<Edit> {
    let key = requirement.key.to_string();
    Some(match requirement.operator {
        Operator::In | Operator::Exists => Edit::RemoveLabel { key },
        Operator::NotIn => Edit::SetLabel {
            key,
            value: requirement.values.first()?.to_string(),
        },
        Operator::DoesNotExist => Edit::SetLabel {
            key,
            value: "true".into(),
        },
    })
}

fn unmeet_claim(requirement: &Requirement) -> Option<Edit> {
    Some(match unmeet_label(requirement)? {
        Edit::SetLabel { key, value } => Edit::SetClaim { key, value },
        Edit::RemoveLabel { key } => Edit::RemoveClaim { key },
        other => other,
    })
}

impl Edit {
    fn apply(&self, cluster: &mut Object, placement: &mut Placement, now: Timestamp) {
        match self {
            Edit::SetLabel { key, value } => {
                cluster.labels().insert(key.clone(), value.clone());
            }
            Edit::RemoveLabel { key } => {
                cluster.labels().remove(key);
            }
            Edit::SetClaim { key, value } => cluster.set_claim(key, Some(value)),
            Edit::RemoveClaim { key } => cluster.set_claim(key, None),
            Edit::RemoveTaint { key, value, effect } => {
                let is_it = |taint: &Taint| {
                    taint.key == *key
                        && taint.value.as_deref().unwrap_or_default() == value
                        && taint.effect == *effect
                };
                if let Some(taints) = cluster.taints() {
                    taints.retain(|taint| !is_it(taint));
                }
            }
            Edit::AddTaint { key, effect } => {
                if let Some(taints) = cluster.taints() {
                    taints.push(Taint {
                        key: key.clone(),
                        effect: *effect,
                        // As the hub stamps it.
                        time_added: Some(Time(now)),
                        ..Taint::default()
                    });
                }
            }
            Edit::SetNumberOfClusters { number } => {
                placement.spec.number_of_clusters = Some(i32::try_from(*number).unwrap_or(i32::MAX));
            }
        }
    }
}
