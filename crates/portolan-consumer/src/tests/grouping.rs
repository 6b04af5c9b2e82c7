use portolan_api::cluster::{PlacementDecision, content_hash};
use serde_json::json;

use crate::GroupKey;
use crate::groups::{Groups, Tracker, read};

fn object(number: usize, group: Option<(&str, &str)>, clusters: &[&str]) -> PlacementDecision {
    let mut labels = json!({ "cluster.open-cluster-management.io/placement": "web" });
    if let Some((index, name)) = group {
        labels["cluster.open-cluster-management.io/decision-group-index"] = index.into();
        labels["cluster.open-cluster-management.io/decision-group-name"] = name.into();
    }
    let entry = |name: &&str| json!({ "clusterName": name, "reason": "" });
    serde_json::from_value(json!({
        "metadata": { "namespace": "shop", "name": format!("web-decision-{number}"), "labels": labels },
        "status": { "decisions": clusters.iter().map(entry).collect::<Vec<_>>() },
    }))
    .unwrap()
}

fn stamped(mut object: PlacementDecision, index: &str, clusters: &[&str]) -> PlacementDecision {
    let stamp = content_hash(index, clusters.iter().copied());
    let annotations = object.metadata.annotations.get_or_insert_default();
    annotations.insert("portolan.dev/content".to_owned(), stamp);
    object
}

fn shown(groups: &Groups) -> Vec<String> {
    let group = |(key, members): (&GroupKey, &[crate::groups::Member])| {
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        format!("{} {:?}: {}", key.index, key.name, names.join(" "))
    };
    groups.iter().map(group).collect()
}

#[test]
fn objects_of_one_group_are_put_together_in_the_order_of_their_numbers() {
    let objects = [
        object(10, Some(("1", "")), &["d"]),
        object(2, Some(("1", "")), &["b", "c"]),
        object(1, Some(("0", "canary")), &["a"]),
    ];
    let groups = read("web", &objects).unwrap();
    assert_eq!(shown(&groups), [r#"0 "canary": a"#, r#"1 "": b c d"#]);
}

#[test]
fn indexes_that_skip_or_repeat_lose_no_group() {
    let objects = [
        object(1, Some(("0", "")), &["a"]),
        object(2, Some(("2", "x")), &["b"]),
        object(3, Some(("2", "y")), &["c"]),
    ];
    let groups = read("web", &objects).unwrap();
    assert_eq!(shown(&groups), [r#"0 "": a"#, r#"2 "x": b"#, r#"2 "y": c"#]);
    assert_eq!(groups.clusters().len(), 3);
}

#[test]
fn objects_without_an_index_are_group_zero() {
    let groups = read(
        "web",
        &[object(1, None, &["a"]), object(2, Some(("0", "")), &["b"])],
    );
    assert_eq!(shown(&groups.unwrap()), [r#"0 "": a b"#]);
}

#[test]
fn while_an_index_cannot_be_read_the_groups_stay_as_they_were() {
    let mut tracker = Tracker::default();
    let canary = object(1, Some(("0", "canary")), &["a"]);
    tracker
        .refresh("web", [&canary, &object(2, Some(("1", "")), &["b"])])
        .unwrap();
    for odd in ["one", "-1", "+1"] {
        // Group 0 would be rolled out first.
        let odd = object(2, Some((odd, "")), &["b", "c"]);
        let error = tracker.refresh("web", [&canary, &odd]).unwrap_err().to_string();
        assert!(error.contains("shop/web-decision-2"), "{error}");
        assert!(error.contains("a decimal number from 0"), "{error}");
        let groups = tracker.groups().unwrap();
        assert_eq!(shown(groups), [r#"0 "canary": a"#, r#"1 "": b"#]);
    }
}

#[test]
fn objects_of_other_placements_and_slots_without_a_name_are_left_out() {
    let mut other = object(1, Some(("0", "")), &["x"]);
    other.metadata.labels = Some(
        [(
            "cluster.open-cluster-management.io/placement".to_owned(),
            "api".to_owned(),
        )]
        .into(),
    );
    let groups = read("web", &[other, object(1, Some(("0", "")), &["", "a"])]).unwrap();
    assert_eq!(shown(&groups), [r#"0 "": a"#]);
}

#[test]
fn a_cluster_in_two_groups_is_in_the_first_of_them() {
    for order in [["0", "1"], ["1", "0"]] {
        let objects = [
            object(1, Some((order[0], "")), &["a", "b"]),
            object(2, Some((order[1], "")), &["b", "c"]),
        ];
        let groups = read("web", &objects).unwrap();
        assert_eq!(groups.clusters()["b"].index, 0);
        assert_eq!(groups.clusters().len(), 3);
    }
}

#[test]
fn an_empty_group_is_a_group() {
    let groups = read("web", &[object(1, Some(("0", "")), &[])]).unwrap();
    assert_eq!(shown(&groups), [r#"0 "": "#]);
    assert_eq!(shown(&read("web", &[]).unwrap()), [""; 0]);
}

#[test]
fn while_labels_and_clusters_do_not_belong_together_the_groups_stay_as_they_were() {
    let first = stamped(object(1, Some(("0", "")), &["a", "b"]), "0", &["b", "a"]);
    let mut tracker = Tracker::default();
    assert_eq!(tracker.refresh("web", [&first]).unwrap().added, ["a", "b"]);
    // The labels were written, the clusters not yet.
    let torn = stamped(object(1, Some(("1", "")), &["a", "b"]), "1", &["b"]);
    let error = tracker.refresh("web", [&torn]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "web-decision-1 is being written: its labels and its clusters do not belong together yet"
    );
    assert_eq!(shown(tracker.groups().unwrap()), [r#"0 "": a b"#]);
    let done = stamped(object(1, Some(("1", "")), &["b"]), "1", &["b"]);
    let difference = tracker.refresh("web", [&done]).unwrap();
    assert_eq!(difference.removed, ["a"]);
    assert_eq!(difference.regrouped, ["b"]);
}

#[test]
fn groups_are_found_by_name_and_by_index() {
    let objects = [
        object(1, Some(("0", "canary")), &["a"]),
        object(2, Some(("1", "1st")), &["b"]),
    ];
    let groups = read("web", &objects).unwrap();
    let found = |text: &str| groups.named(text).iter().map(|key| key.index).collect::<Vec<_>>();
    assert_eq!(found("canary"), [0]);
    assert_eq!(found("1"), [1]);
    assert!(found("nobody").is_empty());
    let canary = groups.named("canary")[0].clone();
    assert_eq!(groups.get(&canary).unwrap()[0].name, "a");
    assert_eq!(groups.besides(&[canary]).count(), 1);
}
