//! `scoreRateLimit`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use portolan_api::cluster::PlacementStatus;

use crate::layout::fixture::{World, all, at, chosen, group};
use crate::model::Group;

/// Two clusters, written at second 0.
fn written(limit: Option<&str>) -> World {
    let mut world = World {
        ordered: true,
        ..World::new()
    };
    world.placement.spec.score_rate_limit = limit.map(str::to_owned);
    world.settle(&all(1..=2));
    let last_score_update_time = Some(Time(at(0)));
    world.placement.status = Some(PlacementStatus {
        last_score_update_time,
        ..PlacementStatus::default()
    });
    world
}

/// The same two clusters the other way round.
fn reordered() -> Vec<Group> {
    vec![Group {
        clusters: vec![chosen(2, 9), chosen(1, 1)],
        ..Group::default()
    }]
}

#[test]
fn a_refresh_of_scores_waits_until_the_limit_ends() {
    let end_of = |limit, second| {
        let layout = World {
            now: at(second),
            ..written(limit)
        }
        .layout(&reordered());
        assert_eq!(
            layout.scores_due.is_none(),
            layout.writes_decision_status,
            "{limit:?} at {second}"
        );
        layout.scores_due
    };
    assert_eq!(
        end_of(None, 60),
        Some(at(60)),
        "one minute unless the placement says otherwise"
    );
    assert_eq!(end_of(None, 61), None);
    assert_eq!(end_of(Some("90s"), 90), Some(at(90)));
    assert_eq!(end_of(Some("90s"), 91), None);
    assert_eq!(end_of(Some("2h"), 7200), Some(at(7200)));
    assert_eq!(end_of(Some("2h"), -1), None, "the clock was set back");
    assert_eq!(end_of(Some(""), 1), None, "no limit");
    assert_eq!(
        end_of(Some("soon"), 60),
        Some(at(60)),
        "unreadable is the default"
    );
    assert!(end_of(Some("99999999999999999999h"), 1).is_some());
}

#[test]
fn observed_objects_are_kept_exactly_while_the_limit_holds() {
    let world = World {
        now: at(1),
        ..written(None)
    };
    let layout = world.layout(&reordered());
    assert_eq!(layout.decisions, world.observed.decisions);
    assert_eq!(layout.slices.unwrap(), world.observed.slices);
    assert!(world.plan(&reordered()).is_empty());
}

#[test]
fn nothing_is_due_when_nothing_differs() {
    let world = World {
        now: at(1),
        ..written(None)
    };
    assert_eq!(world.layout(&all(1..=2)).scores_due, None);
}

#[test]
fn a_cluster_that_joins_is_not_held_back_and_takes_the_scores_along() {
    let world = World {
        now: at(1),
        ..written(None)
    };
    let mut groups = reordered();
    groups[0].clusters.push(chosen(3, 0));
    let layout = world.layout(&groups);
    assert_eq!(layout.scores_due, None);
    assert_eq!(layout.decisions[0].status.as_ref().unwrap().decisions[0].score, 9);
}

#[test]
fn a_cluster_that_changes_groups_is_not_held_back() {
    let mut world = written(None);
    world.grouped = true;
    world.settle(&[group("", [1, 2]), group("", [3])]);
    world.now = at(1);
    assert_eq!(
        world.layout(&[group("", [1]), group("", [2, 3])]).scores_due,
        None
    );
    assert_eq!(
        world.layout(&[group("", [2, 1]), group("", [3])]).scores_due,
        Some(at(60))
    );
}

#[test]
fn a_label_that_someone_changed_is_repaired_at_once() {
    let mut world = World {
        now: at(1),
        ..written(None)
    };
    let labels = world.observed.decisions[0].metadata.labels.as_mut().unwrap();
    labels.insert(
        "cluster.open-cluster-management.io/decision-group-name".to_owned(),
        "x".to_owned(),
    );
    assert_eq!(
        world
            .plan(&reordered())
            .writes()
            .filter(|write| format!("{write:?}").starts_with("DecisionMeta"))
            .count(),
        1
    );
}
