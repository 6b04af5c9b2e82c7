//! The works of a cluster that is being removed.

use kube::api::ListParams;
use kube::{Resource, ResourceExt};
use portolan_api::labels::{multicluster as kep, ocm};
use portolan_api::multicluster::Work;
use portolan_api::reading::Received;
use portolan_api::work::ManifestWork;
use serde_json::Value;

use crate::join::tenants::is_template;

use super::hub::{Doing, Hub, Kind, code, delete, release};

/// A work that is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    kind: &'static str,
    name: String,
    uid: Option<String>,
    deleting: bool,
    /// The replica set that the work was made for, as namespace and name.
    owner: Option<String>,
    /// What it waits for, beside the agent.
    pub(super) other_finalizers: Vec<String>,
    /// The objects that it asks for on the member cluster, in words.
    pub(super) objects: Vec<String>,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)?;
        match &self.owner {
            Some(owner) => write!(f, " (of the ManifestWorkReplicaSet {owner})"),
            None => Ok(()),
        }
    }
}

impl Hub {
    /// The works of the cluster. Templates in a namespace that stays are not the cluster's: without them the works of other
    /// clusters would go too.
    pub(super) async fn works(&self) -> Doing<Vec<Left>> {
        let mut all = Vec::new();
        for work in self.listed::<ManifestWork>().await? {
            let spec = |work: &ManifestWork| serde_json::to_value(&work.spec).unwrap_or_default();
            let objects = objects(&work, spec);
            all.push(left("ManifestWork", &work, ocm::MANIFEST_WORK_FINALIZER, objects));
        }
        let works = self.listed::<Work>().await?;
        let is_kept = |work: &Received<Work>| self.keeps_templates && is_template(work.labels());
        for work in works.into_iter().filter(|work| !is_kept(work)) {
            let objects = objects(&work, |work| serde_json::to_value(&work.spec).unwrap_or_default());
            all.push(left("Work", &work, kep::WORK_FINALIZER, objects));
        }
        Ok(all)
    }

    /// Takes the finalizer of the agent off templates that stay: nobody else would.
    pub(super) async fn release_templates(&self) -> Doing<()> {
        if !self.keeps_templates {
            return Ok(());
        }
        for work in self.listed::<Work>().await? {
            let is_held = work
                .finalizers()
                .iter()
                .any(|finalizer| finalizer == kep::WORK_FINALIZER);
            if is_held && is_template(work.labels()) {
                release(&self.own::<Work>(), &work.name_any(), kep::WORK_FINALIZER).await?;
            }
        }
        Ok(())
    }

    async fn listed<K>(&self) -> Doing<Vec<Received<K>>>
    where
        K: Kind + Resource<Scope = kube::core::NamespaceResourceScope>,
    {
        match self.own::<K>().list(&ListParams::default()).await {
            // A hub without the kind has none of them.
            Err(error) if code(&error) == Some(404) => Ok(Vec::new()),
            answer => answer.map(|list| list.items).map_err(|error| {
                let doing = format!("list the {} of {}", K::plural(&()), self.cluster);
                (doing, error)
            }),
        }
    }

    /// Deletes those that nobody has deleted yet.
    pub(super) async fn delete_works(&self, works: &[Left]) -> Doing<()> {
        for work in works.iter().filter(|work| !work.deleting) {
            match work.kind {
                "Work" => delete(&self.own::<Work>(), &work.name, work.uid.clone()).await?,
                _ => delete(&self.own::<ManifestWork>(), &work.name, work.uid.clone()).await?,
            }
        }
        Ok(())
    }

    /// Lets works go without their agent. Finalizers of others stay.
    pub(super) async fn release_works(&self, works: &[Left]) -> Doing<()> {
        for work in works {
            match work.kind {
                "Work" => release(&self.own::<Work>(), &work.name, kep::WORK_FINALIZER).await?,
                _ => {
                    let finalizer = ocm::MANIFEST_WORK_FINALIZER;
                    release(&self.own::<ManifestWork>(), &work.name, finalizer).await?;
                }
            }
        }
        Ok(())
    }
}

fn left<K: Kind>(kind: &'static str, work: &K, agents: &str, objects: Vec<String>) -> Left {
    let others = work.finalizers().iter().filter(|finalizer| *finalizer != agents);
    Left {
        kind,
        name: work.name_any(),
        uid: work.uid(),
        deleting: work.meta().deletion_timestamp.is_some(),
        owner: work
            .labels()
            .get(ocm::REPLICA_SET)
            .map(|owner| owner.replacen('.', "/", 1)),
        other_finalizers: others.cloned().collect(),
        objects,
    }
}

/// The objects that a work asks for, in words.
fn objects<K>(work: &Received<K>, spec: impl Fn(&K) -> Value) -> Vec<String> {
    match work {
        Received::Readable(work) => {
            let spec = spec(work);
            let manifests = spec.pointer("/workload/manifests").and_then(Value::as_array);
            manifests.into_iter().flatten().map(object).collect()
        }
        Received::Unreadable(why) => vec![format!("objects that cannot be told, because of {why}")],
    }
}

/// `Deployment default/web`.
fn object(manifest: &Value) -> String {
    let text = |pointer: &str| {
        let text = manifest.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or("?").to_owned()
    };
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    match manifest.pointer("/metadata/namespace").and_then(Value::as_str) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_work_is_named_with_the_replica_set_that_it_was_made_for() {
        let work = json!({"metadata": {"name": "shop.web", "labels": {
            "work.open-cluster-management.io/manifestworkreplicaset": "shop.web.v2"}}, "spec": {}});
        let work: ManifestWork = serde_json::from_value(work).unwrap();
        let named = left("ManifestWork", &work, ocm::MANIFEST_WORK_FINALIZER, Vec::new());
        assert_eq!(
            named.to_string(),
            "ManifestWork shop.web (of the ManifestWorkReplicaSet shop/web.v2)"
        );
    }

    #[test]
    fn an_object_is_called_by_its_kind_its_namespace_and_its_name() {
        let web = json!({"kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"}});
        assert_eq!(object(&web), "Deployment shop/web");
        let wide = json!({"kind": "ClusterRole", "metadata": {"name": "reader"}});
        assert_eq!(object(&wide), "ClusterRole reader");
        assert_eq!(object(&json!({})), "? ?");
    }
}
