//! What `/metrics` says after a known sequence of changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::api::DeleteParams;
use kube::client::Body;
use portolan_api::cluster::Placement;
use portolan_controllers::{Controllers, Output};
use serde_json::json;
use tokio::sync::Semaphore;
use tower::BoxError;

use crate::world::{World, eventually};

const OCM: &str = "placementdecisions.cluster.open-cluster-management.io";
const OCM_STATUS: &str = "placementdecisions.cluster.open-cluster-management.io/status";
const KEP: &str = "placementdecisions.multicluster.x-k8s.io";

fn by_label() -> serde_json::Value {
    json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}]})
}

fn misconfigured() -> serde_json::Value {
    let near = json!({"key": "env", "operator": "Near", "values": ["x"]});
    json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": [near]}}}]})
}

impl World {
    fn writes(&self, resource: &str, verb: &str, result: &str) -> f64 {
        self.metric(&format!(
            "portolan_writes_total{{resource=\"{resource}\",verb=\"{verb}\",result=\"{result}\"}}"
        ))
    }

    fn clusters_of(&self, placement: &str) -> f64 {
        let namespace = &self.namespace;
        self.metric(&format!(
            "portolan_placement_decisions{{namespace=\"{namespace}\",placement=\"{placement}\"}}"
        ))
    }

    fn objects_of(&self, placement: &str, kind: &str) -> f64 {
        let namespace = &self.namespace;
        self.metric(&format!(
            "portolan_placement_slices{{namespace=\"{namespace}\",placement=\"{placement}\",kind=\"{kind}\"}}"
        ))
    }

    fn with_condition(&self, condition: &str, status: bool) -> f64 {
        self.metric(&format!(
            "portolan_placements{{condition=\"{condition}\",status=\"{status}\"}}"
        ))
    }

    fn speaks_of(&self, placement: &str) -> bool {
        let text = self.controllers.as_ref().unwrap().metrics().text();
        text.contains(&format!("placement=\"{placement}\""))
    }

    async fn until_published(&self, times: usize) {
        eventually(&format!("{times} decisions are published"), async || {
            self.metric("portolan_publish_seconds_count") == times as f64
                && self.metric("portolan_queue_depth") == 0.0
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_was_decided_and_written() {
    let mut world = World::new().await;
    world.clusters(1..=3, &[("env", "prod")]).await;
    world.cluster("dev", &[("env", "dev")]).await;
    world.placement("p", by_label()).await;
    world.start().await;
    world.until_published(1).await;
    assert_eq!(world.metric("portolan_ready"), 1.0);
    assert_eq!(world.clusters_of("p"), 3.0);
    assert_eq!(
        (world.objects_of("p", "ocm"), world.objects_of("p", "kep")),
        (1.0, 1.0)
    );
    assert_eq!(world.with_condition("PlacementSatisfied", true), 1.0);
    assert_eq!(world.with_condition("PlacementMisconfigured", false), 1.0);
    assert_eq!(world.writes(OCM, "create", "ok"), 1.0);
    assert_eq!(world.writes(OCM_STATUS, "update", "ok"), 1.0);
    assert_eq!(world.writes(KEP, "create", "ok"), 1.0);
    assert_eq!(world.writes("placements/status", "patch", "ok"), 1.0);

    world.label("dev", "env", Some("prod")).await;
    world.until_published(2).await;
    assert_eq!(world.clusters_of("p"), 4.0);
    assert_eq!(world.writes(OCM_STATUS, "update", "ok"), 2.0);
    assert_eq!(world.writes(KEP, "update", "ok"), 1.0);
    let evaluations = world.metric("portolan_evaluations_total");
    assert!(evaluations >= 2.0);
    assert_eq!(world.metric("portolan_evaluation_seconds_count"), evaluations);
    assert_eq!(world.metric("portolan_event_to_decision_seconds_count"), 2.0);
    let (publish, since_event) = (
        world.metric("portolan_publish_seconds_sum"),
        world.metric("portolan_event_to_decision_seconds_sum"),
    );
    assert!(0.0 < publish && publish < since_event);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placement_that_left_is_not_spoken_of_any_more() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[("env", "prod")]).await;
    for (name, spec) in [
        ("deleted", by_label()),
        ("undecided", misconfigured()),
        ("handed-over", by_label()),
    ] {
        world.placement(name, spec).await;
    }
    world.start().await;
    world.until_published(3).await;
    assert_eq!(world.with_condition("PlacementMisconfigured", true), 1.0);
    assert_eq!(world.with_condition("PlacementSatisfied", true), 2.0);
    // Whether its objects go before anyone looks or it never had any makes no difference.
    let placements = world.api::<Placement>();
    for name in ["deleted", "undecided"] {
        placements
            .delete(name, &DeleteParams::background())
            .await
            .unwrap();
    }
    let to_ocm = json!({"metadata": {"annotations": {
        "cluster.open-cluster-management.io/experimental-scheduling-disable": "true",
    }}});
    world.patch_placement("handed-over", to_ocm).await;
    eventually("nothing is said of those that left", async || {
        ["deleted", "undecided", "handed-over"]
            .iter()
            .all(|name| !world.speaks_of(name))
    })
    .await;
    eventually("their conditions are not counted", async || {
        ["PlacementSatisfied", "PlacementMisconfigured"]
            .iter()
            .all(|condition| {
                world.with_condition(condition, true) == 0.0 && world.with_condition(condition, false) == 0.0
            })
    })
    .await;
    world.stop().await;
}

/// A client whose writes wait for a permit each; the first ones are then answered with a conflict.
fn held(sound: Client, permits: Arc<Semaphore>, conflicts: usize) -> Client {
    let conflicts = Arc::new(AtomicUsize::new(conflicts));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (sound, permits, conflicts) = (sound.clone(), permits.clone(), conflicts.clone());
        async move {
            if *request.method() != Method::GET {
                permits.acquire().await?.forget();
                let one_less = |left: usize| left.checked_sub(1);
                if conflicts
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                    .is_ok()
                {
                    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","code":409}"#;
                    let mut response = Response::new(Body::from(status.as_bytes().to_vec()));
                    *response.status_mut() = StatusCode::CONFLICT;
                    return Ok(response);
                }
            }
            Ok::<_, BoxError>(sound.send(request).await?)
        }
    });
    Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_written_is_in_the_queue_and_a_conflict_is_a_result() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[("env", "prod")]).await;
    world.placement("p", by_label()).await;
    let permits = Arc::new(Semaphore::new(0));
    let client = held(world.client.clone(), permits.clone(), 1);
    let mut settings = World::settings();
    settings.cluster_profiles = Output::Off;
    settings.ocm_decisions = Output::Off;
    world.controllers = Some(Controllers::start(client, settings));
    eventually("the placement is in the queue", async || {
        world.metric("portolan_queue_depth") == 1.0
    })
    .await;
    assert_eq!(world.metric("portolan_ready"), 0.0);
    assert_eq!(world.metric("portolan_event_to_decision_seconds_count"), 0.0);
    permits.add_permits(1000);
    world.until_published(1).await;
    assert_eq!(world.writes(KEP, "create", "conflict"), 1.0);
    assert_eq!(world.writes(KEP, "create", "ok"), 1.0);
    // One decision, however many attempts it took.
    assert_eq!(world.metric("portolan_event_to_decision_seconds_count"), 1.0);
    assert!(
        !world
            .controllers
            .as_ref()
            .unwrap()
            .metrics()
            .text()
            .contains("verb=\"get\"")
    );
    world.stop().await;
}
