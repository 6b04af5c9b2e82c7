//! Carries out what the state decided.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, Patch};
use portolan_api::cluster::{
    ManagedCluster, ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetBinding,
};
use portolan_api::labels::ocm;
use serde_json::{Value, json};

use super::clusters::ClusterChange;
use super::heartbeat;
use super::message::Write;
use super::state::{Answer, Input, Target};
use crate::reconcile::{RequestContext, Version, creating, patching};

/// Sends one write and says how it ended.
pub(super) async fn carry_out(client: Client, context: RequestContext, write: Write) -> Input {
    let (verb, resource) = write.request();
    let target = write.target();
    let result = context
        .request(verb, resource, &target, send(client, &write))
        .await;
    Input::Ended {
        at: tokio::time::Instant::now(),
        target,
        result,
    }
}

async fn send(client: Client, write: &Write) -> kube::Result<Answer> {
    let (params, patch) = (patching(), Patch::Merge(write.patch()));
    match write {
        Write::CreateSet { name } => {
            let set = ManagedClusterSet::built_in(name).unwrap_or_default();
            let set = Api::<ManagedClusterSet>::all(client)
                .create(&creating(), &set)
                .await?;
            Ok(Answer::Set(Arc::new(set)))
        }
        Write::RepairSet { name, .. } => {
            let api = Api::<ManagedClusterSet>::all(client);
            let set = api.patch(name, &params, &patch).await?;
            Ok(Answer::Set(Arc::new(set)))
        }
        Write::SetStatus { name, .. } => {
            let api = Api::<ManagedClusterSet>::all(client);
            let set = api.patch_status(name, &params, &patch).await?;
            Ok(Answer::Set(Arc::new(set)))
        }
        Write::BindingStatus { namespace, name, .. } => {
            let api = Api::<ManagedClusterSetBinding>::namespaced(client, namespace);
            let binding = api.patch_status(name, &params, &patch).await?;
            Ok(Answer::Binding(Arc::new(binding)))
        }
        Write::Cluster { name, .. } => {
            let api = Api::<ManagedCluster>::all(client);
            let cluster = api.patch(name, &params, &patch).await?;
            Ok(Answer::Cluster(Arc::new(cluster)))
        }
        Write::Silent {
            name,
            version,
            lease,
            at,
            ..
        } => {
            let leases = Api::<Lease>::namespaced(client.clone(), name);
            let found = leases.get(heartbeat::LEASE).await?;
            if Version::of(&found.metadata) != *lease {
                return Ok(Answer::Lease(Arc::new(found)));
            }
            let api = Api::<ManagedCluster>::all(client);
            let cluster = api.get(name).await?;
            let patch =
                heartbeat::silenced(&cluster, *at).filter(|_| Version::of(&cluster.metadata) == *version);
            let cluster = match patch {
                Some(patch) => api.patch_status(name, &params, &Patch::Merge(patch)).await?,
                None => cluster,
            };
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
            Write::Silent { name, .. } => Target::Heartbeat(name.clone()),
        }
    }

    /// The JSON merge patch. It carries the version it was derived from, so that it cannot undo what it does not know.
    pub(super) fn patch(&self) -> Value {
        match self {
            // These are made of what is found when they are carried out.
            Write::CreateSet { .. } | Write::Silent { .. } => Value::Null,
            Write::RepairSet { name, version } => {
                // A merge leaves what it does not name, so what is to go is named.
                let selector = match ManagedClusterSelector::built_in(name) {
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

    /// Verb and resource, for logs and metrics.
    fn request(&self) -> (&'static str, &'static str) {
        match self {
            Write::CreateSet { .. } => ("create", "managedclustersets"),
            Write::RepairSet { .. } => ("patch", "managedclustersets"),
            Write::SetStatus { .. } => ("patch", "managedclustersets/status"),
            Write::BindingStatus { .. } => ("patch", "managedclustersetbindings/status"),
            Write::Cluster { .. } => ("patch", "managedclusters"),
            Write::Silent { .. } => ("patch", "managedclusters/status"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Set(name) => formatter.write_str(name),
            Target::Binding(namespace, name) => write!(formatter, "{namespace}/{name}"),
            Target::Cluster(name) | Target::Heartbeat(name) => formatter.write_str(name),
        }
    }
}

fn at(version: &Version) -> Value {
    json!({"resourceVersion": version.as_str()})
}
