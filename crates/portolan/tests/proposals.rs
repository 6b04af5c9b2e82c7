//! The numbers that the proposals print for their own examples.

#[expect(dead_code, reason = "the examples are files of the repository")]
mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::portolan;

fn simulate(paths: &[&str], placement: usize) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let args = [
        &["simulate", "-o", "json", "--now", "2026-01-01T12:00:00Z", "-f"],
        paths,
    ]
    .concat();
    let run = portolan(&root, &args, "");
    let answer: Value = serde_json::from_str(&run.stdout).expect("the answer is JSON");
    answer["placements"][placement].clone()
}

fn entries(object: &Value) -> usize {
    object["status"]["decisions"].as_array().map_or(0, Vec::len)
}

#[test]
fn groups_of_10_10_150_and_140_clusters_stand_in_six_decisions() {
    let placement = simulate(&["examples/decision-groups"], 0);
    let group = |index: usize, name: &str, decisions: &[usize], count: usize| {
        let names: Vec<String> = decisions
            .iter()
            .map(|k| format!("ztp-placement-decision-{k}"))
            .collect();
        json!({ "decisionGroupIndex": index, "decisionGroupName": name, "decisions": names, "clusterCount": count })
    };
    let expected = json!([
        group(0, "prod-canary-west", &[1], 10),
        group(1, "prod-canary-east", &[2], 10),
        group(2, "", &[3, 4], 150),
        group(3, "", &[5, 6], 140),
    ]);
    assert_eq!(placement["decisionGroups"], expected);
    let sizes: Vec<usize> = placement["placementDecisions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(entries)
        .collect();
    assert_eq!(sizes, [10, 10, 100, 50, 100, 40]);
}

#[test]
fn the_final_state_is_shown_and_never_the_surge() {
    let placement = simulate(
        &["examples/rolling-update", "examples/rolling-update.what-if.yaml"],
        0,
    );
    let decisions = &placement["placementDecisions"];
    assert_eq!([&decisions[0], &decisions[1]].map(entries), [100, 51]);
    assert_eq!(
        decisions[0]["status"]["decisions"][0]["clusterName"],
        "cluster000"
    );
    assert_eq!(
        decisions[1]["status"]["decisions"][0]["clusterName"],
        "cluster100"
    );
    // The newcomer takes the free place, and nothing else moves: one object, so the revision stays.
    let slices = placement["slices"].as_array().expect("a list");
    let names = |slice: &Value| -> Vec<String> {
        let entries = slice["decisions"].as_array().expect("a list").iter();
        entries
            .map(|entry| {
                entry["clusterProfileRef"]["name"]
                    .as_str()
                    .expect("a name")
                    .to_owned()
            })
            .collect()
    };
    assert_eq!(
        slices.iter().map(|slice| names(slice).len()).collect::<Vec<_>>(),
        [100, 51]
    );
    assert!(names(&slices[1]).contains(&"cluster000".to_owned()));
    let revision = "multicluster.x-k8s.io/decision-revision";
    assert!(
        slices
            .iter()
            .all(|slice| slice["metadata"]["labels"][revision] == "0")
    );
}

#[test]
fn scores_of_80_65_10_and_10_are_published_in_that_order() {
    let decision =
        |cluster: &str, score: i64| json!({ "clusterName": cluster, "reason": "", "score": score });
    let published = |placement: usize| {
        simulate(&["examples/score-visibility"], placement)["placementDecisions"][0]["status"]["decisions"]
            .clone()
    };
    let order = ["cluster-2", "cluster-1", "cluster-5", "cluster-6"];
    let with = |scores: [i64; 4]| -> Value {
        order
            .iter()
            .zip(scores)
            .map(|(name, score)| decision(name, score))
            .collect()
    };
    assert_eq!(published(1), with([80, 65, 10, 10]));
    // Without `mode: Exact` every total contains 100 for Balance.
    assert_eq!(published(0), with([180, 165, 110, 110]));
}
