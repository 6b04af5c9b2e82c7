//! Nothing is destroyed on doubt.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use portolan_api::multicluster::{ClusterProfile, PlacementDecision, Work};
use portolan_runtime::watch::{Delta, Key};
use serde_json::json;

use super::fixture::*;
use crate::reconcile::Reconciler;
use crate::reconcile::fake::{cannot_be_read, second};
use crate::sabotage::{Rule, with_sabotaged};
use crate::syncer::message::{Input, Write};
use crate::syncer::reach::Reach;
use crate::syncer::state::State;

fn synced() -> Hub {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    hub
}

fn gone(name: &str) -> Delta<PlacementDecision> {
    Delta::Deleted(Key {
        namespace: HOME.into(),
        name: name.into(),
        uid: String::new(),
    })
}

#[test]
fn while_decisions_are_listed_or_not_served_every_work_stays() {
    for doubt in [Delta::ListStarted, Delta::NotServed] {
        let mut hub = synced();
        hub.tell(doubt);
        hub.tell(gone("web-0"));
        assert_eq!(hub.wait(600), 0);
        assert_eq!(hub.made(), ["a", "b"]);
        hub.tell(Delta::Synced);
        hub.settle();
        assert!(hub.made().is_empty(), "now it is known");
    }
}

#[test]
fn decisions_that_were_never_seen_because_the_kind_was_not_served_remove_nothing() {
    let mut hub = synced();
    hub.server.delete::<PlacementDecision>(HOME, "web-0");
    hub.restart();
    // The watch starts, and before its list is through the kind turns out not to be served.
    watch_decisions(&mut hub);
    for delta in [Delta::NotServed, Delta::ListStarted, Delta::Synced] {
        hub.tell(delta);
    }
    hub.state.handle(Input::Profile(Delta::Synced));
    assert_eq!(hub.wait(600), 1, "its condition");
    assert_eq!(hub.made(), ["a", "b"]);
    assert_eq!(hub.condition("web").1, "DecisionIncomplete");
    hub.decide(&slice(&["b"]));
    hub.settle();
    assert_eq!(hub.made(), ["b"], "a decision is evidence");
}

#[test]
fn decisions_that_went_with_a_definition_younger_than_the_template_remove_nothing() {
    for (founded, left) in [(200, vec!["a", "b"]), (50, vec![])] {
        let mut hub = Hub::new();
        let mut template = template("web", json!([manifest("web")]));
        template.metadata.creation_timestamp = Some(Time(second(100)));
        hub.server.put(&template);
        hub.decide(&slice(&["a", "b"]));
        hub.settle();
        assert_eq!(hub.made(), ["a", "b"]);
        hub.server.delete::<PlacementDecision>(HOME, "web-0");
        hub.restart();
        watch_decisions(&mut hub);
        for delta in [
            Delta::ListStarted,
            Delta::CrdCreated(Some(second(founded))),
            Delta::Synced,
        ] {
            hub.tell(delta);
        }
        hub.state.handle(Input::Profile(Delta::Synced));
        hub.wait(600);
        assert_eq!(hub.made(), left, "founded at {founded}");
    }
}

/// Lets the watch of decisions start, which tells nothing yet.
fn watch_decisions(hub: &mut Hub) {
    while hub.deliver_one() {}
    for write in hub.state.due(hub.now.into(), usize::MAX) {
        if let Write::WatchDecisions { namespace, watch } = write {
            hub.watched.insert(namespace, watch);
        }
    }
}

#[test]
fn half_a_revision_changes_nothing_also_after_a_restart() {
    let mut hub = Hub::with_template();
    hub.decide(&part(0, Some((0, 1)), &["a", "b"]));
    hub.settle();
    hub.decide(&part(0, Some((1, 2)), &["c"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    hub.restart();
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    let (status, reason, message) = hub.condition("web");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "DecisionIncomplete")
    );
    assert_eq!(
        message,
        "works stay as they are: revision 1 is not whole: 1 slice, 2 wanted"
    );
    hub.decide(&part(1, Some((1, 2)), &["b"]));
    hub.settle();
    assert_eq!(hub.made(), ["b", "c"]);
    assert_eq!(hub.condition("web").0, "True");
}

#[test]
fn a_cluster_without_a_profile_keeps_its_work_and_others_are_served() {
    let mut hub = synced();
    hub.server.delete::<ClusterProfile>(HOME, "a");
    hub.decide(&slice(&["a", "b", "c", "unknown"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b", "c"]);
    let (_, reason, message) = hub.condition("web");
    assert_eq!(reason, "ClustersRefused");
    assert_eq!(
        message,
        "there is no ClusterProfile shop/a; there is no ClusterProfile shop/unknown"
    );
    hub.decide(&slice(&["b"]));
    hub.settle();
    assert_eq!(
        hub.made(),
        ["b"],
        "a cluster that is no longer chosen needs no profile"
    );
}

#[test]
fn while_profiles_are_not_all_known_nothing_is_made_and_nothing_goes() {
    let mut hub = synced();
    hub.state.handle(Input::Profile(Delta::NotServed));
    hub.decide(&slice(&["a", "b", "c"]));
    assert_eq!(hub.settle(), 0);
    hub.state.handle(Input::Profile(Delta::Synced));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b", "c"]);
}

#[test]
fn while_works_are_listed_nothing_is_written() {
    let mut hub = synced();
    hub.state.handle(Input::Work(Delta::ListStarted));
    hub.decide(&slice(&["c"]));
    assert_eq!(hub.settle(), 0);
    hub.state.handle(Input::Work(Delta::Synced));
    hub.settle();
    assert_eq!(hub.made(), ["c"]);
}

#[test]
fn works_of_others_are_never_touched() {
    let mut hub = Hub::with_template();
    let foreign = |namespace: &str, name: &str, labels: serde_json::Value| -> Work {
        serde_json::from_value(json!({
            "metadata": { "namespace": namespace, "name": name, "labels": labels },
            "spec": { "workload": { "manifests": [] } },
        }))
        .unwrap()
    };
    // One has the name of ours, one claims to be ours under another name, one is somebody else's copy.
    let key = "multicluster.x-k8s.io/placement-key";
    let works = [
        foreign("a", "shop.web", json!({})),
        foreign(
            "b",
            "copy",
            json!({ key: "app", "portolan.dev/synced-by": "portolan" }),
        ),
        foreign(
            "c",
            "theirs",
            json!({ key: "app", "portolan.dev/synced-by": "somebody" }),
        ),
    ];
    for work in &works {
        hub.server.put(work);
    }
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    hub.decide(&slice(&[]));
    hub.settle();
    for work in works {
        let (namespace, name) = (work.metadata.namespace.unwrap(), work.metadata.name.unwrap());
        let there = hub.server.get::<Work>(&namespace, &name);
        assert!(
            there.is_some_and(|there| there.spec == work.spec),
            "{namespace}/{name}"
        );
    }
}

/// How many works a syncer would delete that has just started and has not seen a decision yet.
fn removed_before_the_list_is_complete() -> usize {
    let mut hub = synced();
    hub.restart();
    let writes = hub.state.due(hub.now.into(), usize::MAX);
    let deleted = writes
        .iter()
        .filter(|write| matches!(write, Write::Delete { .. }));
    deleted.count()
}

#[test]
fn nothing_goes_before_everything_is_known_and_the_switch_shows_that_this_is_seen() {
    assert_eq!(removed_before_the_list_is_complete(), 0);
    let broken = with_sabotaged(Rule::NeverDestroyOnDoubt, removed_before_the_list_is_complete);
    assert_eq!(broken, 2);
}

/// The clusters that keep a work when the syncer starts and cannot read the template.
fn made_without_the_template() -> Vec<String> {
    let mut hub = synced();
    let template = hub.server.list::<Work>().into_iter();
    let mut template = template.filter(|work| work.metadata.namespace.as_deref() == Some(HOME));
    let template = template.next().unwrap();
    hub.server.delete::<Work>(HOME, "web");
    hub.state = State::new(std::time::Duration::from_secs(30), Reach::default());
    hub.server.events.clear();
    hub.state.handle(Input::Work(Delta::ListStarted));
    for work in hub.server.list::<Work>() {
        hub.state.handle(Input::Work(Delta::Applied(work.into())));
    }
    let name = template.metadata.name.as_deref().unwrap();
    let unreadable = Delta::Unreadable(cannot_be_read(HOME, name));
    hub.state.handle(Input::Work(unreadable));
    hub.state.handle(Input::Work(Delta::Synced));
    hub.wait(600);
    hub.made()
}

#[test]
fn works_of_a_template_that_cannot_be_read_stay_and_taking_it_for_absent_is_noticed() {
    assert_eq!(made_without_the_template(), ["a", "b"]);
    let made = with_sabotaged(Rule::UnreadableIsNotAbsent, made_without_the_template);
    assert!(made.is_empty());
}

#[test]
fn works_stay_while_a_slice_cannot_be_read_that_may_be_for_them() {
    let mut hub = synced();
    hub.tell(Delta::Unreadable(cannot_be_read(HOME, "web-1")));
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    assert_eq!(hub.condition("web").1, "DecisionIncomplete");
    hub.tell(gone("web-1"));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

/// The clusters that keep a work when `b` leaves the decision and its profile cannot be read.
fn made_without_the_profile() -> Vec<String> {
    let mut hub = synced();
    let unreadable = Delta::Unreadable(cannot_be_read(HOME, "b"));
    hub.state.handle(Input::Profile(unreadable));
    hub.decide(&slice(&["a"]));
    hub.wait(600);
    hub.made()
}

#[test]
fn the_work_of_a_cluster_with_an_unreadable_profile_stays_and_removal_is_noticed() {
    assert_eq!(made_without_the_profile(), ["a", "b"]);
    let made = with_sabotaged(Rule::UnreadableIsNotAbsent, made_without_the_profile);
    assert_eq!(made, ["a"]);
}
