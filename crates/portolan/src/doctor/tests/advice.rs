//! What the report says to people: nothing twice, nothing cut where there is room, and what a misspelt name may mean.

use super::*;
use crate::doctor::Report;

#[test]
fn the_missing_rights_are_cut_short_only_in_the_table() {
    let mut hub = observed(&healthy());
    let rights = (1..=7).map(|number| format!("list kind{number}"));
    hub.missing_rights = Some(rights.collect());
    let report = Report {
        hub: "https://hub".to_owned(),
        subject: None,
        problems: 1,
        checks: judge(&hub, None, now()),
    };
    let table = report.text(false);
    assert!(
        table.contains("list kind4 and 3 more (-o wide lists all)"),
        "{table}"
    );
    assert!(!table.contains("kind5"), "{table}");
    for whole in [report.text(true), serde_json::to_string(&report).unwrap()] {
        assert!(whole.contains("list kind6, list kind7"), "{whole}");
        assert!(!whole.contains("3 more"), "{whole}");
    }
}

#[test]
fn a_hub_that_does_not_answer_is_reported_with_one_advice() {
    let mut silent = observed(&[]);
    let why = "https://hub refuses connections; does a server run there (`portolan up` starts a hub)?";
    silent.version = Err(NoAnswer::Unreachable(why.to_owned()));
    let checks = judge(&silent, None, now());
    assert_eq!(checks[0].found, "https://hub refuses connections");
    assert_eq!(
        checks[0].advice.as_deref(),
        Some("does a server run there (`portolan up` starts a hub)?")
    );
}

#[test]
fn decisions_are_not_said_to_be_fine_where_nothing_is_evaluated() {
    let hub = changed(3, "/status", json!({}));
    let checks = judge(&hub, None, now());
    assert!(
        !checks.iter().any(|check| check.name == "decisions"),
        "{checks:#?}"
    );
}

#[test]
fn a_misspelt_subject_is_answered_with_the_name_that_may_be_meant() {
    let hub = observed(&healthy());
    let checks = judge(&hub, Some(&PlacementKey::new("shop", "wbe")), now());
    let missing = checks.last().unwrap();
    let advice = missing.advice.as_deref().unwrap();
    assert!(advice.starts_with("did you mean shop/web? "), "{advice}");
}

#[test]
fn a_binding_without_a_set_is_one_problem_for_all_placements_that_say_so() {
    let words = "ManagedClusterSetBinding shop/ghost has no effect: there is no ManagedClusterSet \"ghost\"";
    let mut objects = healthy();
    let mut ghost = objects[2].clone();
    ghost["metadata"]["name"] = json!("ghost");
    ghost["spec"]["clusterSet"] = json!("ghost");
    let mut warning = objects[3]["status"]["conditions"][0].clone();
    warning["type"] = json!("PlacementWarning");
    warning["message"] = json!(words);
    let conditions = objects[3]["status"]["conditions"].as_array_mut().unwrap();
    conditions.push(warning);
    objects.push(ghost);
    let (name, found) = problem(&observed(&objects));
    assert_eq!(
        (name, found),
        ("bindings", format!("{words}; it concerns 1 Placement"))
    );
    // What else the condition says is a problem of the Placement.
    objects[3]["status"]["conditions"][1]["message"] =
        json!(format!("{words}; spec.clusterSets[1] is \"x\""));
    let found: Vec<String> = problems(&observed(&objects))
        .into_iter()
        .map(|check| check.found)
        .collect();
    assert_eq!(
        found[1..],
        ["shop/web: PlacementWarning True: spec.clusterSets[1] is \"x\""]
    );
}

#[test]
fn what_was_asked_for_comes_before_the_hub_and_what_it_depends_on() {
    let mut objects = healthy();
    objects[0]["spec"]["hubAcceptsClient"] = json!(false);
    objects[3]["status"]["conditions"][0]["status"] = json!("False");
    let wanted = PlacementKey::new("shop", "web");
    let checks = judge(&observed(&objects), Some(&wanted), now());
    let report = Report {
        hub: "https://hub".to_owned(),
        subject: Some(wanted.to_string()),
        problems: 2,
        checks,
    };
    let text = report.text(false);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(text.starts_with("https://hub\n\nshop/web:\n"), "{text}");
    assert!(
        at("placements: shop/web") < at("The hub, and what shop/web depends on:\n"),
        "{text}"
    );
    assert!(at("depends on:\n") < at("accepted: "), "{text}");
    assert!(text.contains("begin with those of the hub"), "{text}");
    // Programs get the checks in the order in which things depend on each other.
    assert_eq!(report.checks[0].name, "hub");
}

#[test]
fn a_misspelt_set_in_the_label_of_a_cluster_is_noted_in_the_words_of_lint() {
    let mut objects = healthy();
    let mut production = objects[1].clone();
    production["metadata"]["name"] = json!("production");
    objects.push(production);
    objects[0]["metadata"]["labels"] =
        json!({ "cluster.open-cluster-management.io/clusterset": "productoin" });
    let mut west = objects[0].clone();
    west["metadata"]["name"] = json!("west");
    objects.push(west);
    let mut hub = observed(&objects);
    let leases = ["east", "west"].map(|name| (name.to_owned(), now()));
    hub.heartbeats = Some(BTreeMap::from(leases));
    let checks = judge(&hub, None, now());
    let sets = checks.iter().find(|check| check.name == "sets").unwrap();
    assert_eq!(sets.result, Verdict::Note);
    assert_eq!(
        sets.found,
        "ManagedCluster east, west: metadata.labels[cluster.open-cluster-management.io/clusterset] = \"productoin\": there is \
         no ManagedClusterSet of this name, so that the label puts the cluster into no set; accepted: the name of a \
         ManagedClusterSet; did you mean production?"
    );
}
