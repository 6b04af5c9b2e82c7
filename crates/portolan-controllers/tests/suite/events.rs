//! What people are told in Events.

use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use portolan_api::cluster::Placement;
use portolan_controllers::Output;
use serde_json::json;

use crate::world::{World, eventually};

const OCM: &str = "cluster.open-cluster-management.io/v1beta1";
const KEP: &str = "multicluster.x-k8s.io/v1alpha1";

impl World {
    /// Waits for an event on the placement with this reason, and about this object where one is named.
    async fn event(&self, placement: &str, reason: &str, object: Option<&str>) -> Event {
        let mut found = None;
        eventually(
            &format!("{placement} has an event {reason} {object:?}"),
            async || {
                let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
                found = events.items.into_iter().find(|event| {
                    let regarding = event.regarding.as_ref().unwrap();
                    let related = event.related.as_ref().and_then(|related| related.name.as_deref());
                    regarding.name.as_deref() == Some(placement)
                        && event.reason.as_deref() == Some(reason)
                        && related == object
                });
                found.is_some()
            },
        )
        .await;
        let event = found.unwrap();
        let placement = self.api::<Placement>().get(placement).await.unwrap();
        let regarding = event.regarding.as_ref().unwrap();
        assert_eq!(regarding.kind.as_deref(), Some("Placement"));
        assert_eq!(regarding.api_version.as_deref(), Some(OCM));
        assert_eq!(regarding.uid, placement.metadata.uid);
        assert_eq!(event.reporting_controller.as_deref(), Some("portolan"));
        event
    }
}

fn related(event: &Event) -> (&str, &str, &str) {
    let related = event.related.as_ref().unwrap();
    (
        related.api_version.as_deref().unwrap(),
        related.kind.as_deref().unwrap(),
        related.name.as_deref().unwrap(),
    )
}

fn groups_of_one() -> serde_json::Value {
    json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
        "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1}},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_that_come_change_and_go_are_told() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[("env", "prod")]).await;
    world.placement("p", groups_of_one()).await;
    world.start().await;
    world.until_decided("p", &["c001", "c002"]).await;
    let created = world.event("p", "DecisionCreate", Some("p-decision-2")).await;
    assert_eq!(related(&created), (OCM, "PlacementDecision", "p-decision-2"));
    assert_eq!(created.type_.as_deref(), Some("Normal"));
    assert_eq!(created.action.as_deref(), Some("DecisionCreated"));

    world.label("c002", "env", None).await;
    world.until_decided("p", &["c001"]).await;
    let deleted = world.event("p", "DecisionDelete", Some("p-decision-2")).await;
    assert_eq!(related(&deleted), (OCM, "PlacementDecision", "p-decision-2"));
    assert_eq!(deleted.type_.as_deref(), Some("Normal"));

    let pairs = json!({"spec": {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 2}}}});
    world.patch_placement("p", pairs).await;
    world.label("c002", "env", Some("prod")).await;
    world.until_decided("p", &["c001", "c002"]).await;
    let updated = world.event("p", "DecisionUpdate", Some("p-decision-1")).await;
    assert_eq!(related(&updated), (OCM, "PlacementDecision", "p-decision-1"));
    assert_eq!(updated.type_.as_deref(), Some("Normal"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_only_slices_are_written_events_are_about_slices() {
    let mut world = World::new().await;
    world.clusters(1..=1, &[("env", "prod")]).await;
    world.placement("p", groups_of_one()).await;
    let mut settings = World::settings();
    settings.ocm_decisions = Output::Off;
    world.start_with(settings).await;
    let slices = world.slices("p").await;
    let name = slices[0].metadata.name.as_deref().unwrap();
    let created = world.event("p", "DecisionCreate", Some(name)).await;
    assert_eq!(related(&created), (KEP, "PlacementDecision", name));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misconfigured_placement_and_a_decision_that_is_held_back_are_warned_of() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[("env", "prod")]).await;
    world.placement("p", groups_of_one()).await;
    world.start().await;
    world.until_decided("p", &["c001", "c002"]).await;
    let near = json!({"key": "env", "operator": "Near", "values": ["x"]});
    let predicates = json!([{"requiredClusterSelector": {"labelSelector": {"matchExpressions": [near]}}}]);
    world
        .patch_placement("p", json!({"spec": {"predicates": predicates}}))
        .await;
    for (reason, word) in [("PlacementMisconfigured", "Near"), ("DecisionHeldBack", "kept")] {
        let event = world.event("p", reason, None).await;
        assert_eq!(event.type_.as_deref(), Some("Warning"));
        assert!(event.note.as_deref().unwrap().contains(word), "{event:?}");
    }
    assert_eq!(world.decided("p").await, ["c001", "c002"]);
    world.stop().await;
}
