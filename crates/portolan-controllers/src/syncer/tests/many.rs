//! Many templates and many clusters: each turn of the loop is short, and too many works are refused.

use std::sync::Arc;

use portolan_runtime::watch::Delta;
use serde_json::json;

use super::fixture::*;
use crate::moment::tests::instant;
use crate::reconcile::Reconciler;
use crate::syncer::message::Input;

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
fn a_change_of_one_cluster_is_news_for_the_works_of_this_cluster_alone() {
    let mut hub = Hub::new();
    for number in 0..20 {
        let name = format!("t{number}");
        hub.server.put(&template(&name, json!([manifest(&name)])));
    }
    hub.settle();
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    let mut after = |input: Input| {
        let before = hub.state.queue.ready().count();
        hub.state.handle(input);
        hub.state.queue.ready().count() - before
    };
    let profile = |name: &str, id: &str| {
        let labels = json!({"multicluster.x-k8s.io/inventory-member-id": id});
        Input::Profile(Delta::Applied(Arc::new(profile("anywhere", name, labels))))
    };
    assert_eq!(after(profile("other", "1")), 0, "no decision names it");
    assert_eq!(
        after(profile("a", "2")),
        40,
        "a work and a status of each template"
    );
    let cluster = |name: &str, set: &str| {
        let labels = json!({"cluster.open-cluster-management.io/clusterset": set});
        let metadata = json!({"name": name, "labels": labels});
        let cluster =
            serde_json::from_value(json!({"metadata": metadata, "spec": {"hubAcceptsClient": true}}));
        Input::Cluster(Delta::Applied(Arc::new(cluster.unwrap())))
    };
    assert_eq!(after(cluster("other", "s")), 0);
    assert_eq!(
        after(cluster("b", "s")),
        20,
        "their status is to be looked at already"
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
