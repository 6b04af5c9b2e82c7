use portolan_api::labels::multicluster as labels;

use super::*;

fn keyed(name: &str, key: &str, cluster: &str) -> Made {
    bare(name, &[cluster]).label(labels::DECISION_KEY, key)
}

fn decisions(discovery: Discovery, slices: &[Made]) -> Vec<(String, Vec<String>)> {
    let mut consumer = Consumer::new(discovery);
    consumer.list(slices);
    let all = consumer.decisions.all();
    let listed = all.map(|(id, set)| (id.to_string(), set.clusters().map(|c| c.name.clone()).collect()));
    listed.collect()
}

fn of(expected: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let owned = |clusters: &[&str]| clusters.iter().map(ToString::to_string).collect();
    expected
        .iter()
        .map(|(id, clusters)| (id.to_string(), owned(clusters)))
        .collect()
}

#[test]
fn a_decision_is_found_by_the_placement_key_on_any_of_its_slices() {
    let slices = [
        keyed("x", "web", "a").label(labels::PLACEMENT_KEY, "app"),
        keyed("y", "web", "b"),
        keyed("z", "other", "c"),
    ];
    let found = decisions(Discovery::PlacementKey("app".into()), &slices);
    assert_eq!(found, of(&[("shop/web", &["a", "b"])]));
    assert_eq!(
        Discovery::PlacementKey("app".into()).label_selector(),
        None,
        "it would miss y"
    );
}

#[test]
fn several_decisions_for_one_workload_stay_apart() {
    let slices = [
        keyed("x", "blue", "a").label(labels::PLACEMENT_KEY, "app"),
        keyed("y", "green", "a").label(labels::PLACEMENT_KEY, "app"),
    ];
    let found = decisions(Discovery::PlacementKey("app".into()), &slices);
    assert_eq!(found, of(&[("shop/blue", &["a"]), ("shop/green", &["a"])]));
}

#[test]
fn a_decision_is_found_by_its_key_whatever_its_slices_are_called() {
    let slices = [
        keyed("one", "web", "a"),
        keyed("two", "web", "b"),
        keyed("web-0", "other", "c"),
    ];
    let discovery = Discovery::DecisionKey("web".into());
    assert_eq!(
        discovery.label_selector().unwrap(),
        "multicluster.x-k8s.io/decision-key=web"
    );
    assert_eq!(decisions(discovery, &slices), of(&[("shop/web", &["a", "b"])]));
}

#[test]
fn a_decision_without_keys_is_found_by_name_and_by_the_base_of_names() {
    let slices = [
        bare("web-0", &["a"]),
        bare("web-1", &["b"]),
        bare("webs-0", &["c"]),
        bare("web-x", &["d"]),
    ];
    assert_eq!(
        decisions(Discovery::Name("web".into()), &slices),
        of(&[("shop/web", &["a", "b"])])
    );
    assert_eq!(
        decisions(Discovery::Name("web-1".into()), &slices),
        of(&[("shop/web-1", &["b"])])
    );
}

#[test]
fn a_keyed_decision_that_is_found_by_name_is_all_that_has_the_key() {
    let slices = [
        keyed("web-0", "k", "a"),
        keyed("elsewhere", "k", "b"),
        keyed("web-1", "other", "c"),
    ];
    let found = decisions(Discovery::Name("web".into()), &slices);
    assert_eq!(found, of(&[("shop/k", &["a", "b"]), ("shop/other", &["c"])]));
}

#[test]
fn names_mean_nothing_unless_somebody_vouches_for_them() {
    let apart = [bare("prod-1", &["a"]), bare("prod-2", &["b"])];
    assert_eq!(
        decisions(Discovery::All, &apart),
        of(&[("shop/prod-1", &["a"]), ("shop/prod-2", &["b"])])
    );
    let keys = |first: &str, second: &str| {
        [
            bare("prod-1", &["a"]).label(labels::PLACEMENT_KEY, first),
            bare("prod-2", &["b"]).label(labels::PLACEMENT_KEY, second),
        ]
    };
    assert_eq!(
        decisions(Discovery::All, &keys("app", "app")),
        of(&[("shop/prod", &["a", "b"])])
    );
    let found = decisions(Discovery::PlacementKey("db".into()), &keys("db", "cache"));
    assert_eq!(found, of(&[("shop/prod", &["a"])]));
}

#[test]
fn slices_of_the_first_revision_belong_together_by_placement_and_scheduler() {
    let first = |name: &str, scheduler: &str, cluster: &str| {
        bare(name, &[])
            .label(labels::PLACEMENT, "app")
            .label(labels::SCHEDULER, scheduler)
            .entries(serde_json::json!([{ "clusterName": cluster }]))
    };
    let slices = [
        first("p", "one", "a"),
        first("q", "one", "b"),
        first("r", "two", "c"),
    ];
    let found = decisions(Discovery::Placement("app".into()), &slices);
    assert_eq!(found, of(&[("shop/app", &["a", "b"]), ("shop/app", &["c"])]));
}

#[test]
fn a_decision_that_is_no_longer_for_the_workload_is_gone_for_its_consumer() {
    let mut consumer = Consumer::new(Discovery::PlacementKey("app".into()));
    consumer.list(&[slice(0, &["a"]).label(labels::PLACEMENT_KEY, "app")]);
    assert_eq!(
        consumer.apply(slice(0, &["a"]).label(labels::PLACEMENT_KEY, "other")),
        ["-a", "gone"]
    );
    assert_eq!(
        consumer.apply(slice(0, &["a"]).label(labels::PLACEMENT_KEY, "app")),
        ["+a"]
    );
}

#[test]
fn a_slice_that_changes_its_key_leaves_one_decision_for_the_other() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[keyed("x", "one", "a")]);
    assert_eq!(consumer.apply(keyed("x", "two", "a")), ["-a", "gone", "+a"]);
}
