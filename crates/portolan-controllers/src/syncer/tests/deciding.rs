use portolan_api::multicluster::{PlacementDecision, Work};
use serde_json::json;

use super::fixture::*;

#[test]
fn each_chosen_cluster_has_a_work_and_the_key_is_on_it_and_on_each_object() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b"]);
    let work = hub.server.get::<Work>("a", "shop.web").unwrap();
    let work = serde_json::to_value(&*work).unwrap();
    assert_eq!(
        work["metadata"]["labels"],
        json!({ "multicluster.x-k8s.io/placement-key": "app", "portolan.dev/synced-by": "portolan" })
    );
    assert_eq!(
        work["metadata"]["annotations"]["portolan.dev/template"],
        "shop/web"
    );
    let mut expected = manifest("web");
    expected["metadata"]["labels"] = json!({ "multicluster.x-k8s.io/placement-key": "app" });
    assert_eq!(work["spec"]["workload"]["manifests"], json!([expected]));
    assert_eq!(
        hub.condition("web"),
        (
            "True".into(),
            "Synced".into(),
            "every chosen cluster has the work of web".into()
        )
    );
}

#[test]
fn works_follow_the_decision_and_nothing_else_is_written() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    assert_eq!(hub.wait(60), 0);
    hub.decide(&slice(&["b", "c"]));
    // The slice itself, a work that comes and one that goes.
    assert_eq!(hub.settle(), 2);
    assert_eq!(hub.made(), ["b", "c"]);
}

#[test]
fn an_emptied_and_a_deleted_decision_remove_the_works() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    hub.decide(&slice(&[]));
    hub.settle();
    assert!(hub.made().is_empty());
    assert_eq!(hub.condition("web").0, "True", "an empty decision is a decision");
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
    hub.server.delete::<PlacementDecision>(HOME, "web-0");
    hub.settle();
    assert!(hub.made().is_empty());
    assert_eq!(hub.condition("web").1, "NoDecision");
}

#[test]
fn a_changed_template_changes_its_works_and_a_deleted_one_takes_them_along() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a"]));
    hub.settle();
    hub.server.put(&template("web", json!([manifest("new")])));
    hub.settle();
    let work = hub.server.get::<Work>("a", "shop.web").unwrap();
    assert_eq!(work.spec.workload.manifests[0]["metadata"]["name"], "new");
    hub.server.delete::<Work>(HOME, "web");
    hub.settle();
    assert!(hub.made().is_empty());
    assert!(hub.watched.is_empty(), "nobody needs the decisions any more");
}

#[test]
fn templates_with_one_key_are_all_handed_out_and_decisions_with_one_key_add_up() {
    let mut hub = Hub::with_template();
    hub.server.put(&template("more", json!([manifest("more")])));
    hub.decide(&slice(&["a"]));
    let mut other = slice(&["b"]);
    other.metadata.name = Some("other".into());
    let labels = other.metadata.labels.as_mut().unwrap();
    labels.insert("multicluster.x-k8s.io/decision-key".into(), "other".into());
    hub.decide(&other);
    hub.settle();
    assert_eq!(hub.made(), ["a", "a", "b", "b"]);
    // A cluster that one of the two gives up stays while the other has it.
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    hub.server.delete::<PlacementDecision>(HOME, "other");
    hub.settle();
    assert_eq!(hub.made(), ["a", "a", "b", "b"]);
}

#[test]
fn a_work_that_was_edited_is_put_right_and_one_that_was_deleted_comes_back() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a"]));
    hub.settle();
    let mut edited = (*hub.server.get::<Work>("a", "shop.web").unwrap()).clone();
    edited.spec.workload.manifests.clear();
    hub.server.put(&edited);
    hub.settle();
    assert_eq!(
        hub.server
            .get::<Work>("a", "shop.web")
            .unwrap()
            .spec
            .workload
            .manifests
            .len(),
        1
    );
    hub.server.delete::<Work>("a", "shop.web");
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

#[test]
fn without_a_template_nothing_is_watched_and_nothing_is_done() {
    let mut hub = Hub::new();
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert!(hub.watched.is_empty() && !hub.profiles_watched && hub.made().is_empty());
}

#[test]
fn decisions_of_the_first_revision_and_of_other_schedulers_are_followed_alike() {
    let mut hub = Hub::with_template();
    let first: PlacementDecision = serde_json::from_value(json!({
        "metadata": {
            "namespace": HOME, "name": "anything",
            "labels": {
                "multicluster.x-k8s.io/placement": "p", "multicluster.x-k8s.io/scheduler": "other",
                "multicluster.x-k8s.io/placement-key": "app",
            },
        },
        "schedulerName": "other",
        "decisions": [{ "clusterName": "a" }],
    }))
    .unwrap();
    hub.decide(&first);
    hub.settle();
    assert_eq!(hub.made(), ["a"]);
}

#[test]
fn a_move_between_slices_writes_nothing() {
    let mut hub = Hub::with_template();
    hub.decide(&part(0, None, &["a", "b"]));
    hub.decide(&part(1, None, &["c"]));
    hub.settle();
    assert_eq!(hub.made(), ["a", "b", "c"]);
    hub.decide(&part(0, None, &["a"]));
    assert_eq!(hub.settle(), 0);
    hub.decide(&part(1, None, &["b", "c"]));
    assert_eq!(hub.settle(), 0);
    assert_eq!(hub.wait(60), 0);
}

#[test]
fn a_restart_writes_nothing_and_catches_up_with_what_was_missed() {
    let mut hub = Hub::with_template();
    hub.decide(&slice(&["a", "b"]));
    hub.settle();
    hub.restart();
    assert_eq!(hub.settle(), 0);
    hub.decide(&slice(&["b", "c"]));
    hub.restart();
    hub.settle();
    assert_eq!(hub.made(), ["b", "c"]);
    hub.server.delete::<PlacementDecision>(HOME, "web-0");
    hub.restart();
    hub.settle();
    assert!(hub.made().is_empty());
    hub.decide(&slice(&["a"]));
    hub.settle();
    hub.server.delete::<Work>(HOME, "web");
    hub.restart();
    hub.settle();
    assert!(hub.made().is_empty(), "the template went while nobody looked");
}

#[test]
fn what_the_server_makes_of_a_work_is_not_written_again_and_again() {
    let mut hub = Hub::with_template();
    // The server keeps something else than what is sent, as one that drops unknown fields would.
    hub.drops = Some("data");
    let mut manifest = manifest("web");
    manifest["data"] = json!({ "key": "value" });
    hub.server.put(&template("web", json!([manifest])));
    hub.decide(&slice(&["a"]));
    hub.settle();
    assert_eq!(hub.wait(600), 0);
    let mut edited = (*hub.server.get::<Work>("a", "shop.web").unwrap()).clone();
    edited.spec.workload.manifests.clear();
    hub.server.put(&edited);
    hub.settle();
    let work = hub.server.get::<Work>("a", "shop.web").unwrap();
    assert_eq!(
        work.spec.workload.manifests[0]["metadata"]["name"], "web",
        "an edit is still noticed"
    );
}
