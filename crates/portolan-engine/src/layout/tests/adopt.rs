//! Objects that are already there: our own, those of others, and those that others wrote into.

use std::collections::BTreeMap;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};

use crate::layout::{
    SlicesRefused,
    fixture::{World, all, decision_clusters, names},
};

fn written_by_server(metadata: &mut ObjectMeta) {
    metadata.uid = Some(format!("uid of {:?}", metadata.name));
    metadata.resource_version = Some("42".to_owned());
    metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
}

#[test]
fn an_unchanged_object_is_returned_as_it_was_observed() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    world
        .observed
        .slices
        .iter_mut()
        .for_each(|slice| written_by_server(&mut slice.metadata));
    world
        .observed
        .decisions
        .iter_mut()
        .for_each(|decision| written_by_server(&mut decision.metadata));
    let layout = world.layout(&all(1..=150));
    assert_eq!(layout.decisions, world.observed.decisions);
    assert_eq!(layout.slices.unwrap(), world.observed.slices);
    assert!(!layout.writes_decision_status);
    assert!(world.plan(&all(1..=150)).is_empty());
}

#[test]
fn annotations_of_others_stay_and_their_labels_go_from_ocm_objects_only() {
    let mut world = World::new();
    world.settle(&all(1..=2));
    let mark = || ("example.com/mark".to_owned(), "1".to_owned());
    for metadata in [
        &mut world.observed.decisions[0].metadata,
        &mut world.observed.slices[0].metadata,
    ] {
        metadata.labels.as_mut().unwrap().extend([mark()]);
        metadata.annotations.as_mut().unwrap().extend([mark()]);
    }
    let layout = world.layout(&all(1..=2));
    let has = |map: &Option<BTreeMap<String, String>>| map.as_ref().unwrap().contains_key("example.com/mark");
    let (decision, slice) = (
        &layout.decisions[0].metadata,
        &layout.slices.as_ref().unwrap()[0].metadata,
    );
    assert!(has(&decision.annotations) && has(&slice.annotations));
    assert!(!has(&decision.labels) && has(&slice.labels));
}

#[test]
fn decisions_that_ocm_wrote_keep_their_clusters() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    world
        .observed
        .decisions
        .iter_mut()
        .for_each(|decision| decision.metadata.annotations = None);
    let before: Vec<_> = world.observed.decisions.iter().map(decision_clusters).collect();
    let plan = world.run(&all(1..=150));
    assert_eq!(plan.writes().count(), 2);
    assert_eq!(
        world
            .observed
            .decisions
            .iter()
            .map(decision_clusters)
            .collect::<Vec<_>>(),
        before
    );
}

#[test]
fn a_slice_of_another_scheduler_under_our_key_or_name_stops_all_writes() {
    let mut world = World::new();
    world.settle(&all(1..=2));
    let mut keyed = world.slice(0).clone();
    keyed.metadata.name = Some("other".to_owned());
    keyed.scheduler_name = Some("someone".to_owned());
    let mut named = keyed.clone();
    named.metadata.name = Some("web-decision-7".to_owned());
    named.metadata.labels = None;
    world.observed.slices.extend([named, keyed]);
    let refused = world.layout(&all(1..=3)).slices.unwrap_err();
    let names = vec!["other".to_owned(), "web-decision-7".to_owned()];
    assert_eq!(refused, SlicesRefused::DecisionKeyConflict { names });
    let plan = world.plan(&all(1..=3));
    assert!(plan.writes().all(|write| !format!("{write:?}").contains("Slice")));
}

#[test]
fn slices_of_an_earlier_placement_of_the_name_are_taken_over_and_no_others() {
    let mut world = World::new();
    world.placement.metadata.uid = Some("old".to_owned());
    world.settle(&all(1..=2));
    world.placement.metadata.uid = Some("new".to_owned());
    let owner = |world: &World| world.slice(0).metadata.owner_references.as_ref().unwrap()[0].clone();
    let _ = world.run(&all(1..=3));
    assert_eq!(owner(&world).uid, "new");
    assert_eq!(world.observed.slices.len(), 1);
    world.observed.slices[0]
        .metadata
        .owner_references
        .as_mut()
        .unwrap()[0]
        .name = "another".to_owned();
    assert!(matches!(
        world.layout(&all(1..=3)).slices,
        Err(SlicesRefused::DecisionKeyConflict { .. })
    ));
}

#[test]
fn slices_of_other_decisions_and_namespaces_are_none_of_our_business() {
    let mut world = World::new();
    world.settle(&all(1..=2));
    let mut elsewhere = world.slice(0).clone();
    elsewhere.metadata.namespace = Some("elsewhere".to_owned());
    elsewhere.scheduler_name = None;
    let mut other = world.slice(0).clone();
    other.metadata.name = Some("web-decision-1-decision-0".to_owned());
    other
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("multicluster.x-k8s.io/decision-key".to_owned(), "b".to_owned());
    world.observed.slices.extend([elsewhere, other]);
    assert!(world.plan(&all(1..=2)).is_empty());
}

#[test]
fn an_object_of_ours_under_a_strange_name_is_emptied_into_slices_and_deleted_last() {
    let mut world = World::new();
    world.settle(&all(1..=3));
    world.slice_mut(0).metadata.name = Some("strange".to_owned());
    let plan = world.run(&all(1..=3));
    assert_eq!(plan.phases.len(), 2);
    assert_eq!(world.slices(), [names(1..=3)]);
}

#[test]
fn entries_of_the_first_revision_are_read_and_rewritten() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    for entry in &mut world.slice_mut(1).decisions {
        entry.cluster_name = entry.cluster_profile_ref.take().map(|profile| profile.name);
    }
    let layout = world.layout(&all(1..=150));
    assert!(
        layout
            .slices
            .unwrap()
            .iter()
            .flat_map(|slice| &slice.decisions)
            .all(|entry| entry.cluster_name.is_none())
    );
    world.settle(&all(1..=150));
    assert_eq!(world.slices(), [names(1..=100), names(101..=150)]);
}
