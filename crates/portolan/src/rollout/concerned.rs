//! Which objects that cannot be read matter to a replica set.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::ocm;
use portolan_api::shorten;
use portolan_controllers::overview::Objects;

use crate::live::LeftOut;

/// The placements of a replica set and the clusters that they, or its works, name.
#[derive(Debug, Default)]
pub(super) struct Concerned {
    placements: BTreeSet<String>,
    clusters: BTreeSet<String>,
}

impl Concerned {
    pub(super) fn of(objects: &Objects) -> Concerned {
        let references = objects.set.spec.placement_refs.iter();
        let mut concerned = Concerned {
            placements: references.map(|reference| reference.name.clone()).collect(),
            clusters: BTreeSet::new(),
        };
        let decisions = objects
            .decisions
            .iter()
            .filter(|decision| concerned.has_decision(&decision.metadata));
        let chosen = decisions
            .flat_map(|decision| &decision.status)
            .flat_map(|status| &status.decisions)
            .map(|entry| entry.cluster_name.clone());
        // The namespace of a work is the name of its cluster.
        let works = objects
            .works
            .iter()
            .filter_map(|work| work.metadata.namespace.clone());
        concerned.clusters = chosen.chain(works).collect();
        concerned
    }

    pub(super) fn has_placement(&self, metadata: &ObjectMeta) -> bool {
        let name = metadata.name.as_deref().unwrap_or_default();
        self.placements.contains(name)
    }

    /// By the label, or by the name where the label cannot be read.
    pub(super) fn has_decision(&self, metadata: &ObjectMeta) -> bool {
        let label = metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(ocm::PLACEMENT));
        let name = metadata.name.as_deref().unwrap_or_default();
        self.placements.iter().any(|placement| match label {
            Some(label) => *label == shorten::label_value(placement),
            None => name.starts_with(&format!("{placement}-decision-")),
        })
    }

    pub(super) fn has_cluster(&self, metadata: &ObjectMeta) -> bool {
        let name = metadata.name.as_deref().unwrap_or_default();
        self.clusters.contains(name)
    }
}

/// Those that matter.
pub(super) fn only(
    objects: Vec<LeftOut>,
    matters: impl Fn(&ObjectMeta) -> bool,
) -> impl Iterator<Item = LeftOut> {
    objects
        .into_iter()
        .filter(move |left_out| matters(&left_out.object.metadata))
}

#[cfg(test)]
mod tests {
    use kube::core::{ListMeta, ObjectList, TypeMeta};
    use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
    use portolan_api::reading::Received;
    use serde_json::{Value, json};

    use super::*;
    use crate::live;

    fn left_out<K>(objects: &[Value]) -> Vec<LeftOut>
    where
        K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + 'static,
    {
        let items = objects
            .iter()
            .map(|object| Received::<K>::read(&object.to_string()));
        let list = ObjectList {
            types: TypeMeta::default(),
            metadata: ListMeta::default(),
            items: items.collect(),
        };
        let (readable, left_out) = live::split(list);
        assert_eq!((readable.len(), left_out.len()), (0, objects.len()));
        left_out
    }

    fn names(left_out: impl Iterator<Item = LeftOut>) -> Vec<String> {
        left_out.map(|object| object.object.place()).collect()
    }

    #[test]
    fn only_objects_that_the_replica_set_depends_on_are_named() {
        let decision = |name: &str, placement: &str, status: Value| {
            json!({ "metadata": { "name": name, "namespace": "shop", "labels": { ocm::PLACEMENT: placement } },
                "status": status })
        };
        let chosen = json!({ "decisions": [{ "clusterName": "c1", "reason": "" }] });
        let set = json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": { "placementRefs": [{ "name": "all" }],
            "manifestWorkTemplate": { "workload": { "manifests": [] } } } });
        let work = json!({ "metadata": { "name": "shop.web", "namespace": "c2" },
            "spec": { "workload": { "manifests": [] } } });
        let objects = Objects {
            set: serde_json::from_value(set).unwrap(),
            works: vec![serde_json::from_value(work).unwrap()],
            placements: Vec::new(),
            decisions: vec![serde_json::from_value(decision("all-decision-1", "all", chosen)).unwrap()],
            clusters: Vec::new(),
        };
        let concerned = Concerned::of(&objects);
        let cluster = |name: &str| json!({ "metadata": { "name": name }, "spec": 1 });
        let placement = |name: &str| json!({ "metadata": { "name": name, "namespace": "shop" }, "spec": 1 });
        let clusters = left_out::<ManagedCluster>(&["c1", "c2", "c3"].map(cluster));
        assert_eq!(
            names(only(clusters, |metadata| concerned.has_cluster(metadata))),
            ["c1", "c2"]
        );
        let placements = left_out::<Placement>(&["all", "other"].map(placement));
        assert_eq!(
            names(only(placements, |metadata| concerned.has_placement(metadata))),
            ["shop/all"]
        );
        let decisions = left_out::<PlacementDecision>(&[
            decision("all-decision-2", "all", json!(1)),
            decision("other-decision-1", "other", json!(1)),
        ]);
        assert_eq!(
            names(only(decisions, |metadata| concerned.has_decision(metadata))),
            ["shop/all-decision-2"]
        );
    }
}
