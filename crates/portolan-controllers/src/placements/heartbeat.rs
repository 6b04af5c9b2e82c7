//! Which changes of a cluster are heartbeats.
//!
//! Most of what a fleet says is that its clusters are as they were: another time in a condition, another message. Only an
//! expression that reads those words can care, so such a change may wait until something else wakes the scheduler, or
//! for a moment. Everything else goes through at once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use portolan_api::cluster::ManagedCluster;
use portolan_runtime::watch::Delta;

/// Tells heartbeats from other changes, by what each cluster looked like before.
pub(crate) fn heartbeats() -> impl Fn(&Delta<ManagedCluster>) -> bool {
    let known = Mutex::new(HashMap::new());
    move |delta| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Applied(cluster) => {
                let name = cluster.metadata.name.as_deref().unwrap_or_default();
                let now = substance(cluster);
                match known.get_mut(name) {
                    Some(before) => std::mem::replace(before, now) == now,
                    None => {
                        known.insert(name.to_owned(), now);
                        false
                    }
                }
            }
            Delta::Deleted(key) => {
                known.remove(&key.name);
                false
            }
            _ => false,
        }
    }
}

/// All of a cluster but the words and times of its conditions and what the server itself writes into the object. The
/// generation stands for the spec.
fn substance(cluster: &ManagedCluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = &cluster.metadata;
    metadata.uid.hash(&mut hasher);
    metadata.generation.hash(&mut hasher);
    metadata.labels.hash(&mut hasher);
    metadata.annotations.hash(&mut hasher);
    metadata.finalizers.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    let Some(status) = &cluster.status else {
        return hasher.finish();
    };
    for resources in [&status.capacity, &status.allocatable] {
        resources.len().hash(&mut hasher);
        for (name, quantity) in resources {
            (name, &quantity.0).hash(&mut hasher);
        }
    }
    status.cluster_claims.len().hash(&mut hasher);
    for claim in &status.cluster_claims {
        (&claim.name, &claim.value).hash(&mut hasher);
    }
    let version = status.version.as_ref().map(|version| &version.kubernetes);
    version.hash(&mut hasher);
    status.conditions.len().hash(&mut hasher);
    for condition in &status.conditions {
        (&condition.type_, &condition.status, &condition.reason).hash(&mut hasher);
    }
    status.managed_namespaces.len().hash(&mut hasher);
    for namespace in &status.managed_namespaces {
        namespace.name.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portolan_runtime::watch::Key;
    use serde_json::{Value, json};

    use super::*;

    fn cluster() -> Value {
        json!({
            "metadata": {
                "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1",
                "labels": {"a": "b"}, "annotations": {"a": "b"},
            },
            "spec": {"hubAcceptsClient": true},
            "status": {
                "capacity": {"cpu": "8"}, "allocatable": {"cpu": "7"}, "version": {"kubernetes": "v1.33.1"},
                "clusterClaims": [{"name": "region", "value": "eu"}],
                "conditions": [{
                    "type": "ManagedClusterConditionAvailable", "status": "True", "reason": "Available",
                    "message": "well", "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        })
    }

    fn applied(cluster: Value) -> Delta<ManagedCluster> {
        Delta::Applied(Arc::new(serde_json::from_value(cluster).unwrap()))
    }

    /// Whether a change of one field is taken for a heartbeat.
    fn is_heartbeat(pointer: &str, value: &Value) -> bool {
        let can_wait = heartbeats();
        assert!(!can_wait(&applied(cluster())), "it is new");
        let (mut changed, (parent, field)) = (cluster(), pointer.rsplit_once('/').unwrap());
        changed.pointer_mut(parent).unwrap()[field] = value.clone();
        let waits = can_wait(&applied(changed.clone()));
        assert!(can_wait(&applied(changed)), "{pointer} as it was");
        waits
    }

    #[test]
    fn words_and_times_of_conditions_are_heartbeats() {
        let condition = cluster()["status"]["conditions"][0].clone();
        for (field, value) in [
            ("message", "still well"),
            ("lastTransitionTime", "2026-01-02T00:00:00Z"),
        ] {
            let mut other = condition.clone();
            other[field] = value.into();
            assert!(is_heartbeat("/status/conditions", &json!([other])), "{field}");
        }
        assert!(is_heartbeat("/metadata/resourceVersion", &json!("2")));
    }

    #[test]
    fn everything_else_goes_through_at_once() {
        let condition = cluster()["status"]["conditions"][0].clone();
        let but = |field: &str, value: &str| {
            let mut other = condition.clone();
            other[field] = value.into();
            json!([other])
        };
        for (pointer, value) in [
            ("/metadata/uid", json!("v")),
            ("/metadata/generation", json!(2)),
            ("/metadata/labels", json!({"a": "c"})),
            ("/metadata/labels", json!({})),
            ("/metadata/annotations", json!({"a": "c"})),
            ("/metadata/finalizers", json!(["f"])),
            ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            ("/status/capacity", json!({"cpu": "9"})),
            ("/status/allocatable", json!({"cpu": "6"})),
            ("/status/allocatable", json!({"cpu": "7", "memory": "1Gi"})),
            ("/status/version", json!({"kubernetes": "v1.33.2"})),
            ("/status/version", json!({})),
            (
                "/status/clusterClaims",
                json!([{"name": "region", "value": "us"}]),
            ),
            ("/status/clusterClaims", json!([])),
            ("/status/conditions", but("status", "False")),
            ("/status/conditions", but("type", "Other")),
            ("/status/conditions", but("reason", "Other")),
            ("/status/conditions", json!([])),
            ("/status/conditions", json!([condition, condition])),
        ] {
            assert!(!is_heartbeat(pointer, &value), "{pointer}: {value}");
        }
    }

    #[test]
    fn a_cluster_made_anew_is_no_heartbeat() {
        let can_wait = heartbeats();
        can_wait(&applied(cluster()));
        let key = Key {
            namespace: String::new(),
            name: "c".to_owned(),
            uid: "u".to_owned(),
        };
        assert!(!can_wait(&Delta::Deleted(key)));
        assert!(!can_wait(&applied(cluster())));
        for other in [Delta::ListStarted, Delta::Synced, Delta::NotServed] {
            assert!(!can_wait(&other));
        }
    }
}
