//! Reads what the member cluster reports about itself: version, capacity and claims.

use std::collections::BTreeMap;

use kube::Client;
use serde_json::Value;

use super::health;
use super::quantity::Sum;
use crate::settings::Settings;
use crate::spoke::{Objects, Place, Problem};
use crate::work::ObjectId;

/// The most claims, and the most resources, that are reported. The hub has to store all of them in one object.
const MOST: usize = 256;
/// The longest value that the hub keeps of a claim.
const LONGEST_CLAIM: usize = 1024;

/// What the member cluster says about itself. What could not be found out is `None`, and stays on the hub as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    pub(super) version: Option<String>,
    pub(super) capacity: Option<BTreeMap<String, String>>,
    pub(super) allocatable: Option<BTreeMap<String, String>>,
    pub(super) claims: Option<BTreeMap<String, String>>,
}

impl Facts {
    /// Asks the member cluster for each fact, and says what the first problem was. A server that does not say its version is
    /// not asked for more.
    pub(super) async fn gather(
        spoke: &Client,
        objects: &Objects,
        settings: &Settings,
    ) -> (Facts, Result<(), Problem>) {
        let version = match health::within(spoke.apiserver_version()).await {
            Ok(version) => version,
            Err(problem) => return (Facts::default(), Err(problem)),
        };
        let mut problem = Ok(());
        let (mut capacity, mut allocatable) = match settings.capacity.is_empty() {
            true => {
                let mut sums = Sums::default();
                match listed(objects, ("", "v1", "nodes"), &mut problem, |node| sums.add(&node)).await {
                    Listed::All => sums.texts(),
                    Listed::Unserved | Listed::Unknown => (None, None),
                }
            }
            false => (Some(settings.capacity.clone()), Some(settings.capacity.clone())),
        };
        if let Some(allocatable) = &mut allocatable {
            allocatable.extend(settings.allocatable.clone());
        }
        // A cluster whose nodes have not come up yet is not one without resources.
        capacity = capacity.filter(|capacity| !capacity.is_empty());
        allocatable = allocatable.filter(|allocatable| !allocatable.is_empty());
        let facts = Facts {
            version: Some(version.git_version),
            capacity,
            allocatable,
            claims: claims(objects, settings, &mut problem).await,
        };
        (facts, problem)
    }
}

enum Listed {
    All,
    Unserved,
    /// We may not look, or got no answer.
    Unknown,
}

async fn listed(
    objects: &Objects,
    (group, version, resource): (&str, &str, &str),
    problem: &mut Result<(), Problem>,
    each: impl FnMut(Value),
) -> Listed {
    let place = Place {
        id: ObjectId {
            group: group.to_owned(),
            resource: resource.to_owned(),
            ..ObjectId::default()
        },
        version: version.to_owned(),
    };
    match objects.list(&place, each).await {
        Ok(()) => Listed::All,
        Err(Problem::NotFound(_)) => Listed::Unserved,
        Err(Problem::Refused(_)) => Listed::Unknown,
        Err(first) => {
            if problem.is_ok() {
                *problem = Err(first);
            }
            Listed::Unknown
        }
    }
}

/// The claims that the cluster has as objects, of OCM and of the About API, and those of the settings, which count first.
async fn claims(
    objects: &Objects,
    settings: &Settings,
    problem: &mut Result<(), Problem>,
) -> Option<BTreeMap<String, String>> {
    let mut claims = BTreeMap::new();
    for kind in [
        ("about.k8s.io", "v1beta1", "clusterproperties"),
        ("cluster.open-cluster-management.io", "v1alpha1", "clusterclaims"),
    ] {
        let mut found = Vec::new();
        match listed(objects, kind, problem, |object| found.extend(claim(&object))).await {
            Listed::All => claims.extend(found),
            Listed::Unserved => {}
            Listed::Unknown => return None,
        }
    }
    Some(bounded(claims, &settings.claims))
}

/// The claims of the settings, and as many of the others as there is room for, in the order of their names.
fn bounded(claims: BTreeMap<String, String>, first: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let others = claims.len();
    let room = MOST.saturating_sub(first.len());
    let mut kept: BTreeMap<String, String> = claims.into_iter().take(room).collect();
    if others > room {
        tracing::warn!(
            claims = others,
            "the cluster has too many claims; the first {room} by name are reported"
        );
    }
    kept.extend(first.clone());
    kept
}

fn claim(object: &Value) -> Option<(String, String)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (name, value) = (text("/metadata/name")?, text("/spec/value")?);
    if value.is_empty() || value.len() > LONGEST_CLAIM {
        tracing::warn!(
            claim = name,
            bytes = value.len(),
            "the claim is left out; accepted: 1 to {LONGEST_CLAIM} bytes"
        );
        return None;
    }
    Some((name.to_owned(), value.to_owned()))
}

type Resources = Option<BTreeMap<String, String>>;

/// Capacity of all nodes, and what is allocatable on those that take pods.
#[derive(Default)]
struct Sums {
    capacity: BTreeMap<String, Sum>,
    allocatable: BTreeMap<String, Sum>,
}

impl Sums {
    fn add(&mut self, node: &Value) {
        add(&mut self.capacity, node.pointer("/status/capacity"));
        if node.pointer("/spec/unschedulable") != Some(&Value::Bool(true)) {
            add(&mut self.allocatable, node.pointer("/status/allocatable"));
        }
    }

    fn texts(self) -> (Resources, Resources) {
        let texts = |sums: BTreeMap<String, Sum>| {
            Some(
                sums.into_iter()
                    .take(MOST)
                    .map(|(name, sum)| (name, sum.to_string()))
                    .collect(),
            )
        };
        (texts(self.capacity), texts(self.allocatable))
    }
}

fn add(sums: &mut BTreeMap<String, Sum>, resources: Option<&Value>) {
    let resources = resources.and_then(Value::as_object);
    for (name, quantity) in resources.into_iter().flatten() {
        let sum = sums.entry(name.clone()).or_default();
        if let Some(quantity) = quantity.as_str() {
            sum.add(quantity);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_are_added_up_and_those_that_take_no_pods_have_nothing_to_give() {
        let node = |unschedulable: bool| {
            json!({
                "spec": { "unschedulable": unschedulable },
                "status": {
                    "capacity": { "cpu": "4", "memory": "8Gi" }, "allocatable": { "cpu": "3900m", "memory": "7Gi" },
                },
            })
        };
        let mut sums = Sums::default();
        sums.add(&node(false));
        sums.add(&node(true));
        let (capacity, allocatable) = sums.texts();
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            capacity.unwrap(),
            BTreeMap::from([text("cpu", "8"), text("memory", "16Gi")])
        );
        assert_eq!(
            allocatable.unwrap(),
            BTreeMap::from([text("cpu", "3900m"), text("memory", "7Gi")])
        );
    }

    #[test]
    fn more_claims_than_the_hub_can_store_are_left_out_and_those_of_the_settings_stay() {
        let claims = |prefix: &str, count: usize| -> BTreeMap<String, String> {
            let claim = |number: usize| (format!("{prefix}{number:05}"), "x".repeat(LONGEST_CLAIM));
            (0..count).map(claim).collect()
        };
        let kept = bounded(claims("a", 5_000), &claims("z", 3));
        assert_eq!(kept.len(), MOST);
        assert!(kept.contains_key("z00002") && kept.contains_key("a00252"));
        assert_eq!(bounded(claims("a", 10), &claims("z", 3)).len(), 13);
    }

    #[test]
    fn a_claim_that_the_hub_would_refuse_is_left_out() {
        let object = |value: String| json!({ "metadata": { "name": "a" }, "spec": { "value": value } });
        assert!(claim(&object("x".to_owned())).is_some());
        assert!(claim(&object(String::new())).is_none());
        assert!(claim(&object("x".repeat(LONGEST_CLAIM + 1))).is_none());
    }
}
