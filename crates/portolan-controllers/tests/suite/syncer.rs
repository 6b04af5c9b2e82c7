//! Works for the clusters of decisions that anybody wrote.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use portolan_api::multicluster::{ClusterProfile, PlacementDecision, Work};
use portolan_controllers::{Carrying, Settings};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::world::{World, eventually};

const SLICES: &str = "placementdecisions.multicluster.x-k8s.io";
const PLACEMENT_KEY: &str = "multicluster.x-k8s.io/placement-key";

/// A fleet whose clusters have profiles and namespaces; names are this test's own, for a real server keeps them.
struct Fleet {
    world: World,
    names: Vec<String>,
}

/// The clusters of a fleet are in the inventory of another scheduler and are no ManagedClusters.
fn settings() -> Settings {
    Settings {
        require_bindings: Carrying::Off,
        ..World::settings()
    }
}

impl Fleet {
    async fn new(clusters: usize) -> Fleet {
        let world = World::new().await;
        let names: Vec<String> = (0..clusters)
            .map(|number| format!("{}-c{number}", world.namespace))
            .collect();
        for name in &names {
            world
                .create::<Namespace>(json!({ "metadata": { "name": name } }))
                .await;
            world
                .create::<ClusterProfile>(json!({
                    "metadata": { "name": name, "namespace": world.namespace },
                    "spec": { "clusterManager": { "name": "test" } },
                }))
                .await;
        }
        Fleet { world, names }
    }

    async fn template(&self, name: &str, manifests: Value) {
        self.world
            .create::<Work>(json!({
                "metadata": { "name": name, "namespace": self.world.namespace, "labels": { PLACEMENT_KEY: "app" } },
                "spec": { "workload": { "manifests": manifests } },
            }))
            .await;
    }

    /// Names of these clusters.
    fn of(&self, clusters: &[usize]) -> Vec<String> {
        clusters
            .iter()
            .map(|number| self.names[*number].clone())
            .collect()
    }

    /// A scheduler that is not ours writes a slice by hand.
    async fn decide(&self, shape: Shape, index: usize, clusters: &[usize]) {
        let name = format!("by-hand-{index}");
        let slice = shape.slice(&name, index, &self.of(clusters));
        let params = PatchParams::apply("by-hand").force();
        let api = self.world.api::<PlacementDecision>();
        api.patch(&name, &params, &Patch::Apply(slice)).await.unwrap();
    }

    async fn undecide(&self, index: usize) {
        let api = self.world.api::<PlacementDecision>();
        api.delete(&format!("by-hand-{index}"), &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Clusters that have a work of ours, sorted.
    async fn made(&self) -> Vec<String> {
        made(&self.world).await
    }

    async fn until_made(&self, clusters: &[usize]) {
        let mut wanted = self.of(clusters);
        wanted.sort();
        eventually(&format!("works are in {wanted:?}"), async || {
            self.made().await == wanted
        })
        .await;
    }

    async fn until_condition(&self, template: &str, is: (&str, &str)) -> String {
        let mut message = String::new();
        eventually(&format!("{template} is {is:?}"), async || {
            let work = self.world.api::<Work>().get(template).await.unwrap();
            let conditions = work.status.map(|status| status.conditions).unwrap_or_default();
            let Some(synced) = conditions
                .into_iter()
                .find(|condition| condition.type_ == "Synced")
            else {
                return false;
            };
            message = synced.message;
            (synced.status.as_str(), synced.reason.as_str()) == is
        })
        .await;
        message
    }
}

async fn made(world: &World) -> Vec<String> {
    let label = ListParams::default().labels("portolan.dev/synced-by=portolan");
    let works = Api::<Work>::all(world.client.clone()).list(&label).await.unwrap();
    let mut namespaces: Vec<String> = works
        .items
        .into_iter()
        .filter_map(|work| work.metadata.namespace)
        .collect();
    namespaces.sort();
    namespaces
}

/// How a scheduler writes slices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// As the first revision of the KEP has it.
    First,
    /// As the second has it.
    Second,
    /// As the second has it, with a revision and the number of slices.
    Revised(usize, usize),
}

impl Shape {
    fn slice(self, name: &str, index: usize, clusters: &[String]) -> Value {
        let entry = |name: &String| match self {
            Shape::First => json!({ "clusterName": name }),
            Shape::Second | Shape::Revised(..) => json!({ "clusterProfileRef": { "name": name } }),
        };
        let mut labels = match self {
            Shape::First => json!({
                "multicluster.x-k8s.io/placement": "by-hand", "multicluster.x-k8s.io/scheduler": "by-hand",
            }),
            Shape::Second | Shape::Revised(..) => json!({
                "multicluster.x-k8s.io/decision-key": "by-hand",
                "multicluster.x-k8s.io/decision-index": index.to_string(),
            }),
        };
        labels[PLACEMENT_KEY] = "app".into();
        if let Shape::Revised(revision, count) = self {
            labels["multicluster.x-k8s.io/decision-revision"] = revision.to_string().into();
            labels["multicluster.x-k8s.io/decision-slice-count"] = count.to_string().into();
        }
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
            "metadata": { "name": name, "labels": labels },
            "decisions": clusters.iter().map(entry).collect::<Vec<_>>(),
        })
    }
}

fn manifest(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

/// Notes which works are deleted.
struct Deletions {
    seen: Arc<Mutex<Vec<String>>>,
    watch: JoinHandle<()>,
}

impl Deletions {
    async fn start(world: &World) -> Deletions {
        let api = Api::<Work>::all(world.client.clone());
        let from = api
            .list(&ListParams::default())
            .await
            .unwrap()
            .metadata
            .resource_version
            .unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = seen.clone();
        let watch = tokio::spawn(async move {
            let watch = api
                .watch(&WatchParams::default().timeout(290), &from)
                .await
                .unwrap();
            let mut watch = Box::pin(watch);
            while let Some(event) = watch.try_next().await.unwrap() {
                if let WatchEvent::Deleted(work) = event {
                    noted.lock().unwrap().push(work.metadata.namespace.unwrap());
                }
            }
        });
        Deletions { seen, watch }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Drop for Deletions {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_that_a_scheduler_wrote_by_hand_are_followed_in_every_shape() {
    for shape in [Shape::First, Shape::Second, Shape::Revised(0, 1)] {
        let mut fleet = Fleet::new(3).await;
        fleet
            .template("web", json!([manifest("one"), manifest("two")]))
            .await;
        fleet.decide(shape, 0, &[0, 1]).await;
        fleet.world.start_with(settings()).await;
        fleet.until_made(&[0, 1]).await;
        let works = Api::<Work>::namespaced(fleet.world.client.clone(), &fleet.names[0]);
        let work = works
            .get(&format!("{}.web", fleet.world.namespace))
            .await
            .unwrap();
        assert_eq!(work.metadata.labels.as_ref().unwrap()[PLACEMENT_KEY], "app");
        for manifest in &work.spec.workload.manifests {
            assert_eq!(manifest["metadata"]["labels"][PLACEMENT_KEY], "app");
        }
        fleet.until_condition("web", ("True", "Synced")).await;
        fleet.decide(shape, 0, &[1, 2]).await;
        fleet.until_made(&[1, 2]).await;
        fleet.decide(shape, 0, &[]).await;
        fleet.until_made(&[]).await;
        fleet.decide(shape, 0, &[0]).await;
        fleet.until_made(&[0]).await;
        fleet.undecide(0).await;
        fleet.until_made(&[]).await;
        fleet.until_condition("web", ("False", "NoDecision")).await;
        fleet.world.stop().await;
    }
}

/// Clusters wander between two slices, and one comes or goes each round.
#[tokio::test(flavor = "multi_thread")]
async fn no_cluster_that_stays_loses_its_work_while_clusters_wander_between_slices() {
    for revised in [false, true] {
        let mut fleet = Fleet::new(8).await;
        fleet.template("web", json!([manifest("one")])).await;
        fleet.world.start_with(settings()).await;
        let deletions = Deletions::start(&fleet.world).await;
        let mut before: BTreeSet<usize> = BTreeSet::new();
        // Without revisions a cluster that goes is waited for, which takes seconds each time.
        for round in 0..if revised { 12 } else { 4 } {
            let chosen: BTreeSet<usize> = (0..8).filter(|cluster| cluster % 8 != round % 8).collect();
            let (first, second): (Vec<usize>, Vec<usize>) =
                chosen.iter().partition(|cluster| (**cluster + round) % 3 == 0);
            let shape = if revised {
                Shape::Revised(round, 2)
            } else {
                Shape::Second
            };
            // Taken away first in one round, put first in the next.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for index in order {
                let clusters = if index == 0 { &first } else { &second };
                fleet.decide(shape, index, clusters).await;
            }
            fleet
                .until_made(&chosen.iter().copied().collect::<Vec<_>>())
                .await;
            let stayed = fleet.of(&before.intersection(&chosen).copied().collect::<Vec<_>>());
            let lost = deletions.take();
            assert!(
                lost.iter().all(|cluster| !stayed.contains(cluster)),
                "round {round}: {lost:?}"
            );
            before = chosen;
        }
        fleet.world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_decisions_are_followed_and_the_placement_is_told() {
    let mut world = World::new().await;
    let names: Vec<String> = (0..3)
        .map(|number| format!("{}-own{number}", world.namespace))
        .collect();
    for name in &names {
        world.cluster(name, &[("env", "prod")]).await;
    }
    // The last cluster has no namespace yet.
    for name in &names[..2] {
        world
            .create::<Namespace>(json!({ "metadata": { "name": name } }))
            .await;
    }
    world
        .create::<Work>(json!({
            "metadata": { "name": "web", "namespace": world.namespace, "labels": { PLACEMENT_KEY: "app" } },
            "spec": { "workload": { "manifests": [manifest("one")] } },
        }))
        .await;
    world.start().await;
    let spec = json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
    });
    world
        .create::<portolan_api::cluster::Placement>(json!({
            "metadata": { "name": "p", "namespace": world.namespace, "labels": { PLACEMENT_KEY: "app" } },
            "spec": spec,
        }))
        .await;
    let wanted = |count: usize| names[..count].to_vec();
    eventually("two works are there", async || made(&world).await == wanted(2)).await;
    eventually("the placement is told", async || {
        world.reasons("p").await.contains(&"WorkRefused".to_owned())
    })
    .await;
    world
        .create::<Namespace>(json!({ "metadata": { "name": names[2] } }))
        .await;
    eventually("three works are there", async || made(&world).await == wanted(3)).await;
    eventually("the placement is told again", async || {
        world.reasons("p").await.contains(&"WorkSynced".to_owned())
    })
    .await;
    world.label(&names[2], "env", Some("dev")).await;
    eventually("two works are left", async || made(&world).await == wanted(2)).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn works_outlive_the_definition_of_decisions() {
    let mut fleet = Fleet::new(2).await;
    fleet.template("web", json!([manifest("one")])).await;
    fleet.decide(Shape::Second, 0, &[0, 1]).await;
    fleet.world.start_with(settings()).await;
    fleet.until_made(&[0, 1]).await;
    let deletions = Deletions::start(&fleet.world).await;
    fleet.world.remove_crd(SLICES).await;
    fleet.world.until_idle().await;
    fleet.world.install_crd(SLICES).await;
    fleet.world.until_idle().await;
    // Also for a process that never saw a decision.
    fleet.world.stop().await;
    fleet.world.remove_crd(SLICES).await;
    fleet.world.start_with(settings()).await;
    fleet.world.install_crd(SLICES).await;
    fleet
        .until_condition("web", ("False", "DecisionIncomplete"))
        .await;
    assert_eq!(fleet.made().await.len(), 2);
    assert!(deletions.take().is_empty());
    fleet.decide(Shape::Second, 0, &[1]).await;
    fleet.until_made(&[1]).await;
    fleet.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_template_is_refused_with_the_field_and_works_that_are_there_stay() {
    let mut fleet = Fleet::new(2).await;
    fleet.template("web", json!([manifest("one")])).await;
    fleet.decide(Shape::Second, 0, &[0]).await;
    fleet.world.start_with(settings()).await;
    fleet.until_made(&[0]).await;
    let spoil = async |manifests: Value| {
        let patch = Patch::Merge(json!({ "spec": { "workload": { "manifests": manifests } } }));
        let works = fleet.world.api::<Work>();
        works.patch("web", &PatchParams::default(), &patch).await.unwrap();
        fleet.until_condition("web", ("False", "InvalidTemplate")).await
    };
    let mut nameless = manifest("x");
    nameless["metadata"] = json!({ "namespace": "default" });
    let message = spoil(json!([nameless])).await;
    assert_eq!(
        message,
        "cannot accept spec.workload.manifests[0].metadata.name = (missing): the field is required; accepted: a name"
    );
    let mut large = manifest("large");
    large["data"] = json!({ "text": "x".repeat(600_000) });
    let large = json!([large]);
    eventually("the size is named", async || {
        spoil(large.clone()).await.contains("at most 512000 bytes")
    })
    .await;
    fleet.decide(Shape::Second, 0, &[1]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(fleet.made().await, fleet.of(&[0]));
    fleet.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_of_somebody_else_is_left_alone_and_named() {
    let mut fleet = Fleet::new(1).await;
    let name = format!("{}.web", fleet.world.namespace);
    fleet
        .world
        .create::<Work>(json!({
            "metadata": { "name": name, "namespace": fleet.names[0] },
            "spec": { "workload": { "manifests": [manifest("theirs")] } },
        }))
        .await;
    fleet.template("web", json!([manifest("ours")])).await;
    fleet.decide(Shape::Second, 0, &[0]).await;
    fleet.world.start_with(settings()).await;
    let message = fleet.until_condition("web", ("False", "ClustersRefused")).await;
    assert!(
        message.contains("a Work that is not Portolan's has the name of this one"),
        "{message}"
    );
    fleet.undecide(0).await;
    fleet.until_condition("web", ("False", "NoDecision")).await;
    let works = Api::<Work>::namespaced(fleet.world.client.clone(), &fleet.names[0]);
    let work = works.get(&name).await.unwrap();
    assert_eq!(work.spec.workload.manifests[0]["metadata"]["name"], "theirs");
    fleet.world.stop().await;
}
