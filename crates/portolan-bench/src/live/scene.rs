//! What the bench puts on a server: a generated fleet under names and labels of its own, and the mix of placements.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use portolan_api::cluster::{
    ClusterPredicate, ClusterSelector, ManagedCluster, ManagedClusterSelector, ManagedClusterSet,
    ManagedClusterSetBinding, ManagedClusterSetSpec, Placement, PlacementSpec,
};
use portolan_api::labels::ocm;
use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_generate::{Generator, Kind};

/// The label of everything that the bench creates and of nothing else.
pub(super) const LABEL: &str = "portolan.dev/bench";
/// The label that the placement over the whole fleet goes by.
pub(super) const WIDE_KEY: &str = "tier";
/// The value with which a cluster is in no placement that goes by that label, and the one it has before.
pub(super) const WIDE_OUT: &str = "retired";
pub(super) const WIDE_IN: &str = "gold";
/// The label that exactly one placement goes by for each of its values.
pub(super) const LANE_KEY: &str = "lane";
/// The value with which a cluster is in no lane.
pub(super) const LANE_OUT: &str = "none";
/// Clusters in a lane: a decision of two or three slices.
const LANE: usize = 200;
/// Clusters that each placement of the quiet scene wants.
const WANTED: i32 = 20;

/// The objects of one run.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    run: String,
    fleet: Generator,
}

impl Scene {
    pub(super) fn new(run: String, clusters: usize, placements: usize, seed: u64) -> Scene {
        Scene {
            run,
            fleet: Generator {
                seed,
                clusters,
                placements,
            },
        }
    }

    pub(super) fn clusters(&self) -> usize {
        self.fleet.clusters
    }

    /// A name that no other run has.
    fn named(&self, name: &str) -> String {
        format!("bench-{}-{name}", self.run)
    }

    fn mark(&self, metadata: &mut ObjectMeta) {
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(LABEL.to_owned(), self.run.clone());
    }

    pub(super) fn namespaces(&self) -> BTreeSet<String> {
        let bindings = self.bindings().into_iter();
        bindings
            .filter_map(|binding| binding.metadata.namespace)
            .collect()
    }

    /// The one namespace that ClusterProfiles are published in, when they are.
    pub(super) fn profile_namespace(&self) -> String {
        self.named("platform")
    }

    /// The labels of a namespace.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        [(LABEL.to_owned(), self.run.clone())].into()
    }

    /// A cluster as its agent would have registered it.
    pub(super) fn cluster(&self, index: usize) -> ManagedCluster {
        let mut cluster = self.fleet.cluster(index);
        let metadata = &mut cluster.metadata;
        metadata.name = metadata.name.take().map(|name| self.named(&name));
        (metadata.uid, metadata.resource_version) = (None, None);
        if let Some(set) = metadata
            .labels
            .as_mut()
            .and_then(|labels| labels.get_mut(ocm::CLUSTER_SET))
        {
            *set = self.named(set);
        }
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(LANE_KEY.to_owned(), self.lane(index));
        self.mark(metadata);
        cluster
    }

    /// How many lanes the fleet is divided into.
    fn lanes(&self) -> usize {
        (self.fleet.clusters / LANE).clamp(1, self.fleet.placements / 4)
    }

    /// The lane that a cluster is in at first.
    pub(super) fn lane(&self, index: usize) -> String {
        format!("lane-{}", index % self.lanes())
    }

    /// The label change number `change`: the number of a cluster, and the team that it goes over to.
    pub(super) fn moved(&self, change: usize) -> (usize, String) {
        let moved = self.fleet.moved(change).metadata;
        let name = moved.name.unwrap_or_default();
        let number = name.rsplit('-').next().and_then(|digits| digits.parse().ok());
        let team = moved.labels.and_then(|mut labels| labels.remove("team"));
        (number.unwrap_or_default(), team.unwrap_or_default())
    }

    pub(super) fn sets(&self) -> Vec<ManagedClusterSet> {
        let rename = |set: ManagedClusterSet| {
            let name = set.metadata.name.unwrap_or_default();
            let mut spec = set.spec;
            if name == ocm::GLOBAL_CLUSTER_SET {
                // All clusters of the run; a server may have others.
                spec = ManagedClusterSetSpec {
                    cluster_selector: ManagedClusterSelector {
                        selector_type: Some("LabelSelector".to_owned()),
                        label_selector: Some(LabelSelector {
                            match_labels: Some(self.labels()),
                            match_expressions: None,
                        }),
                    },
                    ..spec
                };
            }
            let mut set = ManagedClusterSet::new(&self.named(&name), spec);
            self.mark(&mut set.metadata);
            set
        };
        self.fleet.sets().into_iter().map(rename).collect()
    }

    pub(super) fn bindings(&self) -> Vec<ManagedClusterSetBinding> {
        let rename = |mut binding: ManagedClusterSetBinding| {
            let set = self.named(&binding.spec.cluster_set);
            binding.metadata.name = Some(set.clone());
            binding.metadata.namespace = binding.metadata.namespace.map(|name| self.named(&name));
            binding.spec.cluster_set = set;
            self.mark(&mut binding.metadata);
            binding
        };
        self.fleet.bindings().into_iter().map(rename).collect()
    }

    /// By label, by claim, the best few by resource, all, some of them in groups; one for each lane; and one over the
    /// whole fleet by label.
    pub(super) fn mix(&self) -> Vec<Placement> {
        let generated = (0..)
            .filter(|index| self.fleet.kind(*index) != Kind::Cel)
            .map(|index| self.fleet.placement(index));
        let rest = self.fleet.placements - self.lanes() - 1;
        let mut placements: Vec<Placement> = generated.take(rest).collect();
        for policy in placements
            .iter_mut()
            .filter_map(|placement| placement.spec.prioritizer_policy.as_mut())
        {
            // By resource alone: no add-on publishes scores here.
            let add_on = |coordinate: &portolan_api::cluster::ScoreCoordinate| coordinate.add_on.is_some();
            policy
                .configurations
                .retain(|one| !one.score_coordinate.as_ref().is_some_and(add_on));
        }
        placements.extend((0..self.lanes()).map(|lane| {
            let name = self.lane(lane);
            by_label(&name, LANE_KEY, &[&name])
        }));
        placements.push(by_label(Self::WIDE, WIDE_KEY, &["gold", "silver", "bronze"]));
        for placement in &mut placements {
            // Placements that balance score their clusters differently once the others have decided. A refresh of such
            // scores is due a minute later by default, which on a slow machine falls into the next measurement.
            placement.spec.score_rate_limit = Some("24h".to_owned());
            self.adopt(placement);
        }
        placements
    }

    /// Name of the placement that selects every cluster by label.
    pub(super) const WIDE: &'static str = "wide-by-label";

    /// Placements that want the best few under the default policy, which is Balance and Steady: those that feed back.
    pub(super) fn restless(&self) -> Vec<Placement> {
        let spec = PlacementSpec {
            number_of_clusters: Some(
                WANTED
                    .min(i32::try_from(self.fleet.clusters / 10).unwrap_or(WANTED))
                    .max(1),
            ),
            ..PlacementSpec::default()
        };
        let mut placements: Vec<Placement> = (0..self.fleet.placements)
            .map(|index| {
                let mut placement = Placement::new(&format!("restless-{index:05}"), spec.clone());
                placement.metadata.namespace = Some("platform".to_owned());
                placement
            })
            .collect();
        placements.iter_mut().for_each(|placement| self.adopt(placement));
        placements
    }

    fn adopt(&self, placement: &mut Placement) {
        let metadata = &mut placement.metadata;
        metadata.namespace = metadata.namespace.take().map(|name| self.named(&name));
        self.mark(metadata);
    }

    /// An engine that knows all of it: what the controllers are to decide.
    pub(super) fn engine(&self) -> Engine {
        let mut engine = Engine::new(Inventory::ManagedClusters);
        self.sets().iter().for_each(|set| engine.apply_set(set));
        self.bindings()
            .iter()
            .for_each(|binding| engine.apply_binding(binding));
        self.mix()
            .iter()
            .for_each(|placement| engine.apply_placement(placement));
        (0..self.fleet.clusters).for_each(|index| engine.apply_cluster(&self.cluster(index)));
        engine
    }
}

/// A placement over all clusters with one of the values.
fn by_label(name: &str, key: &str, values: &[&str]) -> Placement {
    let requirement = LabelSelectorRequirement {
        key: key.to_owned(),
        operator: "In".to_owned(),
        values: Some(values.iter().copied().map(str::to_owned).collect()),
    };
    let selector = ClusterSelector {
        label_selector: Some(LabelSelector {
            match_labels: None,
            match_expressions: Some(vec![requirement]),
        }),
        ..ClusterSelector::default()
    };
    let spec = PlacementSpec {
        predicates: vec![ClusterPredicate {
            required_cluster_selector: selector,
        }],
        // Clusters that are down or being worked on too: the decision is to hold all of them.
        tolerations: vec![portolan_api::cluster::Toleration {
            operator: Some("Exists".to_owned()),
            ..Default::default()
        }],
        ..PlacementSpec::default()
    };
    let mut placement = Placement::new(name, spec);
    placement.metadata.namespace = Some("platform".to_owned());
    placement
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        Scene::new("r".into(), 200, 40, 1)
    }

    #[test]
    fn everything_carries_the_label_and_a_name_of_the_run() {
        let scene = scene();
        let mut metadata: Vec<ObjectMeta> = scene.sets().into_iter().map(|set| set.metadata).collect();
        metadata.extend(scene.bindings().into_iter().map(|binding| binding.metadata));
        metadata.push(scene.cluster(3).metadata);
        for metadata in &metadata {
            assert_eq!(metadata.labels.as_ref().unwrap()[LABEL], "r");
            assert!(metadata.name.as_ref().unwrap().starts_with("bench-r-"));
        }
        for placement in scene.mix().into_iter().chain(scene.restless()) {
            assert_eq!(placement.metadata.labels.as_ref().unwrap()[LABEL], "r");
            assert!(
                scene
                    .namespaces()
                    .contains(&placement.metadata.namespace.unwrap())
            );
        }
    }

    #[test]
    fn the_mix_has_the_asked_number_and_every_kind() {
        let mix = scene().mix();
        assert_eq!(mix.len(), 40);
        let has = |is: &dyn Fn(&PlacementSpec) -> bool| mix.iter().any(|placement| is(&placement.spec));
        let selector = |spec: &PlacementSpec| {
            spec.predicates
                .first()
                .map(|one| one.required_cluster_selector.clone())
        };
        assert!(has(
            &|spec| selector(spec).is_some_and(|one| one.label_selector.is_some())
        ));
        assert!(has(
            &|spec| selector(spec).is_some_and(|one| one.claim_selector.is_some())
        ));
        assert!(has(&|spec| spec.number_of_clusters.is_some()));
        assert!(has(&|spec| spec.decision_strategy.is_some()));
        assert!(has(
            &|spec| spec.predicates.is_empty() && spec.number_of_clusters.is_none()
        ));
    }

    #[test]
    fn every_cluster_is_in_one_lane() {
        let scene = Scene::new("r".into(), 500, 40, 1);
        let (mut engine, now) = (scene.engine(), jiff::Timestamp::UNIX_EPOCH);
        engine.wake(now);
        let decided = engine.evaluate_due(now);
        let lanes = decided
            .iter()
            .filter(|(key, _)| key.name.starts_with("lane-"))
            .map(|(_, outcome)| outcome.selected.iter().count());
        assert_eq!(lanes.collect::<Vec<_>>(), [250, 250]);
    }

    #[test]
    fn the_wide_placement_holds_every_cluster() {
        let (scene, mut engine) = (scene(), scene().engine());
        let now = jiff::Timestamp::UNIX_EPOCH;
        engine.wake(now);
        let decided = engine.evaluate_due(now);
        let wide = decided.iter().find(|(key, _)| &*key.name == Scene::WIDE).unwrap();
        assert_eq!(wide.1.selected.iter().count(), scene.clusters());
    }
}
