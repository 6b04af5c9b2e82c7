//! Many templates and many clusters: each turn of the loop is short, and too many works are refused.

use serde_json::json;

use super::fixture::*;
use crate::moment::tests::instant;
use crate::upkeep::Keeper;

fn clusters(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("c{number}")).collect()
}

/// A slice with these clusters.
fn slice_of(names: &[String]) -> portolan_api::multicluster::PlacementDecision {
    slice(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn one_turn_looks_at_a_bounded_number_of_works() {
    let mut hub = Hub::new();
    for number in 0..60 {
        let name = format!("t{number}");
        hub.server.put(&template(&name, json!([manifest(&name)])));
    }
    hub.settle();
    hub.decide(&slice_of(&clusters(1_000)));
    while hub.deliver_one() {}
    hub.write();
    assert_eq!(
        hub.state.next_due(),
        Some(instant(hub.now)),
        "60,000 works are more than a turn is for"
    );
}

#[test]
fn a_namespace_with_too_many_works_keeps_what_it_has_and_says_so() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a"]));
    hub.settle();
    hub.decide(&slice_of(&clusters(1_001)));
    for number in 1..1_000 {
        let name = format!("t{number}");
        hub.server.put(&template(&name, json!([manifest(&name)])));
    }
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
    let (status, reason, message) = hub.condition("web");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "DecisionIncomplete")
    );
    assert_eq!(
        message,
        "works stay as they are: 1000 templates of this namespace and 1001 clusters of the decision are too many; accepted: at most \
         1000000 works for a namespace, templates times clusters"
    );

    hub.decide(&slice(&["b"]));
    hub.settle();
    assert_eq!(hub.made().len(), 1_000, "what is not too much is done for all");
    assert!(hub.made().iter().all(|namespace| namespace == "b"));
}
