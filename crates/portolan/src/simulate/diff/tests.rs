use super::*;
use portolan_api::cluster::PlacementDecision;
use portolan_api::labels::ocm;
use portolan_engine::conditions::Condition;
use serde_json::json;

/// A placement whose groups hold the given clusters, one object a group.
fn placement(name: &str, groups: &[&[&str]]) -> PlacementReport {
    let object = |(index, clusters): (usize, &&[&str])| -> PlacementDecision {
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|cluster| json!({ "clusterName": cluster, "reason": "" }))
            .collect();
        let labels = json!({ ocm::DECISION_GROUP_INDEX: index.to_string(), ocm::DECISION_GROUP_NAME: "" });
        let metadata = json!({ "name": format!("{name}-decision-{}", index + 1), "labels": labels });
        serde_json::from_value(json!({ "metadata": metadata, "status": { "decisions": decisions } })).unwrap()
    };
    let filter = |name| super::super::report::Filter {
        name,
        clusters: Vec::new(),
    };
    PlacementReport {
        namespace: "ns".into(),
        name: name.into(),
        status: Code::Success,
        plugin: String::new(),
        message: String::new(),
        candidates: Vec::new(),
        filters: [filter("Predicate"), filter("TaintToleration")],
        prioritizers: Vec::new(),
        scores: BTreeMap::new(),
        ranks: BTreeMap::new(),
        selected: Vec::new(),
        unscheduled: 0,
        requeue_at: None,
        decision_groups: Vec::new(),
        conditions: Vec::new(),
        placement_decisions: groups.iter().enumerate().map(object).collect(),
        slices: Vec::new(),
        findings: Vec::new(),
    }
}

fn between(before: &[PlacementReport], after: &[PlacementReport]) -> Difference {
    difference(
        &Report {
            placements: before.to_vec(),
        },
        &Report {
            placements: after.to_vec(),
        },
        |placement| placement.namespace != "others",
    )
}

#[test]
fn equal_answers_have_an_empty_difference() {
    let same = [placement("a", &[&["c1"]]), placement("b", &[&[]])];
    let found = between(&same, &same);
    assert!(found.placements.is_empty(), "{found:?}");
    assert_eq!(found.unchanged, 2);
}

#[test]
fn clusters_are_added_removed_and_moved_between_groups() {
    let found = between(
        &[placement("a", &[&["c1", "c2"], &["c3"]])],
        &[placement("a", &[&["c2"], &["c1", "c4"]])],
    );
    let difference = &found.placements[0];
    assert_eq!(
        (&*difference.added, &*difference.removed),
        (&["c4".to_owned()][..], &["c3".to_owned()][..])
    );
    let group = |index| Group {
        decision_group_index: index,
        ..Group::default()
    };
    assert_eq!(
        difference.moved,
        [Move {
            cluster: "c1".into(),
            from: group(0),
            to: group(1)
        }]
    );
    let changes: Vec<_> = difference
        .objects
        .iter()
        .map(|object| (&*object.name, object.change))
        .collect();
    assert_eq!(
        changes,
        [
            ("a-decision-1", Change::Changed),
            ("a-decision-2", Change::Changed)
        ]
    );
}

#[test]
fn objects_are_created_and_deleted_in_index_order() {
    let many: Vec<&[&str]> = vec![&[]; 11];
    let found = between(&[placement("a", &many[..2])], &[placement("a", &many)]);
    let names: Vec<_> = found.placements[0]
        .objects
        .iter()
        .map(|object| &*object.name)
        .collect();
    assert_eq!(
        (names[0], names[8], names.len()),
        ("a-decision-3", "a-decision-11", 9)
    );
    let back = between(&[placement("a", &many)], &[placement("a", &many[..2])]);
    assert!(
        back.placements[0]
            .objects
            .iter()
            .all(|object| object.change == Change::Deleted)
    );
}

#[test]
fn a_placement_on_one_side_only_is_a_difference() {
    let found = between(&[], &[placement("a", &[&["c1"]])]);
    assert!(found.placements[0].before.is_none());
    assert_eq!(found.placements[0].added, ["c1"]);
    assert!(
        between(&[placement("a", &[&[]])], &[]).placements[0]
            .after
            .is_none()
    );
}

#[test]
fn a_change_of_conditions_alone_is_a_difference() {
    let mut after = placement("a", &[&["c1"]]);
    let text = |text: &str| text.to_owned();
    after.conditions = vec![Condition {
        type_: text("T"),
        status: text("True"),
        reason: text("R"),
        message: text("M"),
    }];
    assert_eq!(
        between(&[placement("a", &[&["c1"]])], &[after]).placements.len(),
        1
    );
}

#[test]
fn placements_that_the_question_is_not_about_are_counted() {
    let own = PlacementReport {
        status: Code::Misconfigured,
        ..placement("own", &[&[]])
    };
    let other = PlacementReport {
        namespace: "others".into(),
        ..own.clone()
    };
    let both = [own, other];
    let difference = between(&both, &both);
    assert_eq!(difference.unchanged, 2);
    assert_eq!(
        (difference.unsatisfied.len(), difference.others_unsatisfied),
        (1, 1)
    );
}
