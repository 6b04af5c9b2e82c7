//! Computes the patch for the status of the ManagedCluster.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::ManagedCluster;
use portolan_api::conditions::{ConditionDraft, set};
use portolan_api::labels::conditions;
use serde_json::{Map, Value, json};

use super::facts::Facts;
use super::health;

/// What is to be written to the status of the cluster; `None` if it says all that already.
pub(super) fn patch(cluster: &ManagedCluster, facts: &Facts, is_well: bool, now: Timestamp) -> Option<Value> {
    let there = cluster.status.clone().unwrap_or_default();
    let mut status = Map::new();
    for (field, known, found) in [
        ("capacity", &there.capacity, &facts.capacity),
        ("allocatable", &there.allocatable, &facts.allocatable),
    ] {
        let known: BTreeMap<&String, &String> =
            known.iter().map(|(name, quantity)| (name, &quantity.0)).collect();
        if let Some(found) = found
            && known != found.iter().collect()
        {
            // In a merge patch, null takes away.
            let gone = known.keys().filter(|name| !found.contains_key(**name));
            let mut resources: Map<String, Value> = gone.map(|name| ((*name).clone(), Value::Null)).collect();
            resources.extend(
                found
                    .iter()
                    .map(|(name, quantity)| (name.clone(), quantity.as_str().into())),
            );
            status.insert(field.to_owned(), resources.into());
        }
    }
    let known = there
        .version
        .as_ref()
        .and_then(|version| version.kubernetes.as_deref());
    if let Some(found) = &facts.version
        && known != Some(found.as_str())
    {
        status.insert("version".to_owned(), json!({ "kubernetes": found }));
    }
    if let Some(found) = &facts.claims {
        let claims: Vec<Value> = found
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        if json!(there.cluster_claims) != json!(claims) {
            status.insert("clusterClaims".to_owned(), claims.into());
        }
    }
    if cluster.spec.hub_accepts_client {
        let joined = joined(&there.conditions, now);
        let said = health::said(joined.as_deref().unwrap_or(&there.conditions), is_well, now);
        if let Some(conditions) = said.or(joined) {
            status.insert("conditions".to_owned(), json!(conditions));
        }
    }
    (!status.is_empty()).then(|| {
        let version = &cluster.metadata.resource_version;
        json!({ "metadata": { "resourceVersion": version }, "status": status })
    })
}

/// The patch without anything but the conditions; `None` if it has nothing else, or no conditions.
pub(super) fn health_alone(patch: &Value) -> Option<Value> {
    let status = patch.get("status")?.as_object()?;
    let conditions = status.get("conditions").filter(|_| status.len() > 1)?;
    Some(json!({ "metadata": patch.get("metadata"), "status": { "conditions": conditions } }))
}

/// The conditions with the one that says that the agent is here; `None` if they say so.
fn joined(there: &[Condition], now: Timestamp) -> Option<Vec<Condition>> {
    let known = there
        .iter()
        .find(|condition| condition.type_ == conditions::JOINED);
    if known.is_some_and(|condition| condition.status == "True") {
        return None;
    }
    let (reason, message) = ("ManagedClusterJoined", "the agent of the cluster has joined");
    let mut all = there.to_vec();
    let draft = ConditionDraft::new(conditions::JOINED, "True", reason, message);
    set(&mut all, draft, None, now);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_can_be_said_without_the_facts_that_the_hub_refuses() {
        let metadata = json!({ "resourceVersion": "7" });
        let both = json!({ "metadata": metadata, "status": { "conditions": [1], "clusterClaims": [2] } });
        let alone = json!({ "metadata": metadata, "status": { "conditions": [1] } });
        assert_eq!(health_alone(&both), Some(alone.clone()));
        assert_eq!(health_alone(&alone), None);
        assert_eq!(health_alone(&json!({ "status": { "clusterClaims": [2] } })), None);
    }

    fn facts() -> Facts {
        let pairs = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Some(owned.collect::<BTreeMap<_, _>>())
        };
        Facts {
            version: Some("v1.33.1".to_owned()),
            capacity: pairs(&[("cpu", "8")]),
            allocatable: pairs(&[("cpu", "7")]),
            claims: pairs(&[("region", "eu")]),
        }
    }

    fn cluster(status: Value) -> ManagedCluster {
        serde_json::from_value(json!({
            "metadata": { "name": "east" }, "spec": { "hubAcceptsClient": true }, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn everything_is_reported_once_and_not_again() {
        let first = patch(&cluster(json!({})), &facts(), true, Timestamp::UNIX_EPOCH).unwrap();
        let status = first["status"].clone();
        assert_eq!(status["version"]["kubernetes"], "v1.33.1");
        assert_eq!(status["conditions"][0]["type"], "ManagedClusterJoined");
        assert_eq!(
            patch(&cluster(status), &facts(), true, Timestamp::UNIX_EPOCH),
            None
        );
    }

    #[test]
    fn a_resource_that_is_gone_is_taken_away_and_what_is_not_known_stays() {
        let there = cluster(json!({ "capacity": { "cpu": "8", "gpu": "1" }, "allocatable": { "cpu": "5" } }));
        let facts = Facts {
            allocatable: None,
            ..facts()
        };
        let patch = patch(&there, &facts, true, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(patch["status"]["capacity"], json!({ "cpu": "8", "gpu": null }));
        assert!(patch["status"].get("allocatable").is_none());
    }

    #[test]
    fn conditions_of_the_hub_are_kept() {
        let accepted = json!({
            "type": "HubAcceptedManagedCluster", "status": "True", "reason": "x", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let patch = patch(
            &cluster(json!({ "conditions": [accepted] })),
            &facts(),
            true,
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        assert_eq!(patch["status"]["conditions"].as_array().unwrap().len(), 3);
    }
}
