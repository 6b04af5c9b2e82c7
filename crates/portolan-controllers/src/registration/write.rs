//! Carries out what the state decided.

use std::sync::Arc;

use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_api::labels::ocm;
use serde_json::{Value, json};

use super::clusters::ClusterChange;
use super::sets;
use super::state::{Answer, Input, Target, Write};
use crate::upkeep::{Failure, Pace, Version, describe};

/// Sends one write and says how it ended.
pub(super) async fn carry_out(client: Client, pace: Pace, write: Write) -> Input {
    let target = write.target();
    let result = {
        // The semaphore is never closed; without a permit the request is merely not counted.
        let _permit = pace.permits.acquire().await.ok();
        send(client, &write).await
    };
    let result = result.map_err(|error| {
        let failure = Failure::of(&error);
        let (operation, object) = write.describe();
        match failure {
            Failure::Conflict => {
                tracing::info!(operation, object, error = %describe(&error), "somebody else was faster; trying again");
            }
            _ => tracing::warn!(operation, object, error = %describe(&error), "registration could not write; trying again"),
        }
        failure
    });
    Input::Ended {
        target,
        at: pace.clock.now(),
        result,
    }
}

async fn send(client: Client, write: &Write) -> Result<Answer, kube::Error> {
    let params = PatchParams::default();
    match write {
        Write::CreateSet { name } => {
            let set = sets::built_in(name).unwrap_or_default();
            let api = Api::<ManagedClusterSet>::all(client);
            let set = api.create(&PostParams::default(), &set).await?;
            Ok(Answer::Set(Arc::new(set)))
        }
        Write::RepairSet { name, .. } => {
            let api = Api::<ManagedClusterSet>::all(client);
            let set = api.patch(name, &params, &Patch::Merge(write.patch())).await?;
            Ok(Answer::Set(Arc::new(set)))
        }
        Write::SetStatus { name, .. } => {
            let api = Api::<ManagedClusterSet>::all(client);
            let set = api
                .patch_status(name, &params, &Patch::Merge(write.patch()))
                .await?;
            Ok(Answer::Set(Arc::new(set)))
        }
        Write::BindingStatus { namespace, name, .. } => {
            let api = Api::<ManagedClusterSetBinding>::namespaced(client, namespace);
            let binding = api
                .patch_status(name, &params, &Patch::Merge(write.patch()))
                .await?;
            Ok(Answer::Binding(Arc::new(binding)))
        }
        Write::Cluster { name, .. } => {
            let api = Api::<ManagedCluster>::all(client);
            let cluster = api.patch(name, &params, &Patch::Merge(write.patch())).await?;
            Ok(Answer::Cluster(Arc::new(cluster)))
        }
    }
}

impl Write {
    pub(super) fn target(&self) -> Target {
        match self {
            Write::CreateSet { name } | Write::RepairSet { name, .. } | Write::SetStatus { name, .. } => {
                Target::Set(name.clone())
            }
            Write::BindingStatus { namespace, name, .. } => Target::Binding(namespace.clone(), name.clone()),
            Write::Cluster { name, .. } => Target::Cluster(name.clone()),
        }
    }

    /// The JSON merge patch. It carries the version it was derived from, so that it cannot undo what it does not know.
    pub(super) fn patch(&self) -> Value {
        match self {
            Write::CreateSet { .. } => Value::Null,
            Write::RepairSet { name, version } => {
                // A merge leaves what it does not name, so what is to go is named.
                let selector = match sets::built_in_selector(name) {
                    Some(selector) if selector.label_selector.is_some() => json!({
                        "selectorType": selector.selector_type,
                        "labelSelector": {"matchLabels": null, "matchExpressions": null},
                    }),
                    Some(selector) => json!({"selectorType": selector.selector_type, "labelSelector": null}),
                    None => json!({}),
                };
                json!({"metadata": at(version), "spec": {"clusterSelector": selector}})
            }
            Write::SetStatus {
                version, conditions, ..
            }
            | Write::BindingStatus {
                version, conditions, ..
            } => {
                json!({"metadata": at(version), "status": {"conditions": conditions}})
            }
            Write::Cluster { version, change, .. } => {
                let ClusterChange {
                    join_default_set,
                    taints,
                } = change;
                let mut patch = json!({"metadata": at(version)});
                if *join_default_set {
                    patch["metadata"]["labels"] = json!({ocm::CLUSTER_SET: ocm::DEFAULT_CLUSTER_SET});
                }
                match taints.as_deref() {
                    None => {}
                    Some([]) => patch["spec"] = json!({"taints": null}),
                    Some(taints) => patch["spec"] = json!({"taints": taints}),
                }
                patch
            }
        }
    }

    fn describe(&self) -> (&'static str, String) {
        match self {
            Write::CreateSet { name } => ("create", format!("ManagedClusterSet {name}")),
            Write::RepairSet { name, .. } => ("patch", format!("ManagedClusterSet {name}")),
            Write::SetStatus { name, .. } => ("patch status", format!("ManagedClusterSet {name}")),
            Write::BindingStatus { namespace, name, .. } => (
                "patch status",
                format!("ManagedClusterSetBinding {namespace}/{name}"),
            ),
            Write::Cluster { name, .. } => ("patch", format!("ManagedCluster {name}")),
        }
    }
}

fn at(version: &Version) -> Value {
    json!({"resourceVersion": version.as_str()})
}
