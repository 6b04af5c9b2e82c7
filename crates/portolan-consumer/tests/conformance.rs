//! What the documents ask of a consumer, C49 to C61 with D9 and D10, asked of this crate: the recordings go in, the deeds
//! of a consumer that does what it is told come out, and `portolan-check` judges them. C49, that a consumer only reads,
//! is shown on a server by one that may do nothing else (`live.rs`).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_check::consumer::{Act, Deed, check};
use portolan_check::{CheckId, Cluster, DecisionId, Event, Object, ObjectKey, ObjectKind, Recording, State};
use portolan_consumer::{Change, Decisions, Discovery, Options, Order, SETTLE, Shared, Slice, Update};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: &str = "multicluster.x-k8s.io/decision-key";
const INDEX: &str = "multicluster.x-k8s.io/decision-index";
const REVISION: &str = "multicluster.x-k8s.io/decision-revision";
const COUNT: &str = "multicluster.x-k8s.io/decision-slice-count";
const PLACEMENT_KEY: &str = "multicluster.x-k8s.io/placement-key";

fn object(name: &str, labels: Value, entries: Value) -> Object {
    serde_json::from_value(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "PlacementDecision",
        "metadata": { "namespace": "shop", "name": name, "labels": labels },
        "decisions": entries,
    }))
    .unwrap()
}

fn entries(clusters: &[&str]) -> Value {
    clusters
        .iter()
        .map(|name| json!({ "clusterProfileRef": { "name": name } }))
        .collect()
}

fn slice(index: usize, clusters: &[&str]) -> Object {
    let labels = json!({ KEY: "web", PLACEMENT_KEY: "app", INDEX: index.to_string() });
    object(&format!("web-{index}"), labels, entries(clusters))
}

fn revised(revision: usize, count: usize, index: usize, clusters: &[&str]) -> Object {
    let labels = json!({
        KEY: "web", PLACEMENT_KEY: "app", INDEX: index.to_string(),
        REVISION: revision.to_string(), COUNT: count.to_string(),
    });
    object(&format!("web-{index}"), labels, entries(clusters))
}

fn recording(initial: Vec<Object>, events: Vec<Event>) -> Recording {
    Recording {
        initial: State::of(initial),
        events,
    }
}

/// A consumer that does what it is told, for a workload with the placement-key `app`.
struct Consumer<'a> {
    recording: &'a Recording,
    decisions: Decisions,
    now: Duration,
    acts: Vec<Act>,
}

impl<'a> Consumer<'a> {
    fn new(recording: &'a Recording, options: Options) -> Consumer<'a> {
        Consumer {
            recording,
            decisions: Decisions::new(options),
            now: Duration::ZERO,
            acts: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Act> {
        self.decisions.list_began();
        for slice in self.recording.initial.slices.values() {
            self.decisions.apply(Slice::of(slice));
        }
        self.decisions.list_ended();
        self.act(0);
        for (place, event) in self.recording.events.iter().enumerate() {
            match event {
                Event::Added(Object::Slice(object)) | Event::Modified(Object::Slice(object)) => {
                    self.decisions.apply(Slice::of(object));
                }
                Event::Deleted(Object::Slice(object)) => self.decisions.delete(&Slice::of(object).key()),
                Event::Settled => self.now += SETTLE,
                _ => {}
            }
            self.act(place + 1);
        }
        self.acts
    }

    fn act(&mut self, after: usize) {
        for update in self.decisions.updates(self.now) {
            for deed in self.deeds(&update) {
                let decision = id(&update.decision);
                self.acts.push(Act {
                    after,
                    decision,
                    deed,
                });
            }
        }
    }

    fn deeds(&self, update: &Update) -> Vec<Deed> {
        let profiles = &self.recording.initial.profiles;
        let known = |cluster: &portolan_consumer::Cluster| {
            let place = (cluster.namespace.clone(), cluster.name.clone());
            profiles.is_empty() || profiles.contains_key(&place)
        };
        let mut deeds: Vec<Deed> = Vec::new();
        for change in &update.changes {
            match change {
                Change::Added(chosen) if known(&chosen.cluster) => {
                    deeds.push(Deed::Deployed(judged(&chosen.cluster)));
                }
                Change::Added(chosen) => deeds.push(Deed::Unresolved(judged(&chosen.cluster))),
                Change::Removed(cluster) => deeds.push(Deed::Removed(judged(cluster))),
                Change::Reordered(_) => {}
                Change::Emptied => deeds.push(Deed::Emptied),
                Change::Gone => deeds.push(Deed::Gone),
            }
        }
        deeds.push(Deed::Ordered(update.set.clusters().map(judged).collect()));
        deeds.extend(update.set.problems.iter().map(|problem| {
            let (namespace, name) = problem.object.split_once('/').unwrap();
            Deed::Unreadable(ObjectKey {
                kind: ObjectKind::Slice,
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            })
        }));
        deeds
    }
}

fn judged(cluster: &portolan_consumer::Cluster) -> Cluster {
    Cluster::profile(cluster.namespace.clone(), cluster.name.clone())
}

fn id(decision: &portolan_consumer::DecisionId) -> DecisionId {
    let (Shared::Key(name) | Shared::Placement { name, .. } | Shared::Name { name, .. }) = &decision.shared;
    DecisionId::kep(decision.namespace.clone(), name.clone())
}

fn options() -> Options {
    Options {
        order: Order::Followed,
        ..Options::new(Discovery::PlacementKey("app".into()))
    }
}

fn holds(initial: Vec<Object>, events: Vec<Event>) -> Vec<Act> {
    let recording = recording(initial, events);
    let acts = Consumer::new(&recording, options()).run();
    let report = check(&recording, &acts);
    assert!(report.is_clean(), "{report}");
    acts
}

fn deployed(acts: &[Act]) -> Vec<String> {
    let deployed = acts.iter().filter_map(|act| match &act.deed {
        Deed::Deployed(cluster) => Some(cluster.to_string()),
        _ => None,
    });
    deployed.collect()
}

#[test]
fn c50_decisions_are_found_by_placement_key_decision_key_and_name() {
    for discovery in [
        Discovery::PlacementKey("app".into()),
        Discovery::DecisionKey("web".into()),
        Discovery::Name("web".into()),
        Discovery::All,
    ] {
        let recording = recording(vec![slice(0, &["a"]), slice(1, &["b"])], vec![]);
        let acts = Consumer::new(&recording, Options::new(discovery)).run();
        assert!(check(&recording, &acts).is_clean());
        assert_eq!(deployed(&acts), ["shop/a", "shop/b"]);
    }
}

#[test]
fn c51_all_slices_count_and_a_missing_namespace_is_that_of_the_object() {
    let mixed = json!([
        { "clusterProfileRef": { "name": "a" } },
        { "clusterProfileRef": { "name": "b", "namespace": "fleet" } },
        { "clusterName": "c" },
    ]);
    let labels = json!({ KEY: "web", PLACEMENT_KEY: "app", INDEX: "1" });
    let acts = holds(vec![object("web-1", labels, mixed), slice(0, &["a"])], vec![]);
    assert_eq!(deployed(&acts), ["shop/a", "fleet/b", "shop/c"]);
}

#[test]
fn c52_and_d9_a_half_updated_set_is_not_acted_on() {
    let initial = vec![revised(0, 2, 0, &["a"]), revised(0, 2, 1, &["b"])];
    let acts = holds(
        initial,
        vec![
            Event::Modified(revised(1, 2, 1, &["c"])),
            Event::Modified(revised(1, 2, 0, &["a"])),
            Event::Settled,
        ],
    );
    assert!(
        acts.iter()
            .all(|act| act.after != 1 || matches!(act.deed, Deed::Ordered(_)))
    );
}

#[test]
fn c53_slices_are_sorted_by_number_with_gaps_and_repetitions() {
    holds(
        vec![slice(10, &["c"]), slice(9, &["b"]), slice(2, &["a"])],
        vec![],
    );
    let twin = |name: &str, cluster: &str| {
        object(
            name,
            json!({ KEY: "web", PLACEMENT_KEY: "app", INDEX: "3" }),
            entries(&[cluster]),
        )
    };
    let acts = holds(
        vec![twin("web-4", "b"), twin("web-3", "a"), slice(7, &["c"])],
        vec![],
    );
    assert_eq!(deployed(&acts), ["shop/a", "shop/b", "shop/c"]);
}

#[test]
fn c54_and_c55_the_workload_follows_the_clusters() {
    holds(
        vec![slice(0, &["a", "b"])],
        vec![Event::Modified(slice(0, &["b", "c"])), Event::Settled],
    );
}

#[test]
fn c56_a_deleted_slice_takes_its_clusters_along_unless_another_one_lists_them() {
    let acts = holds(
        vec![slice(0, &["a", "b"]), slice(1, &["b", "c"])],
        vec![Event::Deleted(slice(1, &["b", "c"])), Event::Settled],
    );
    let removed: Vec<&Act> = acts
        .iter()
        .filter(|act| matches!(act.deed, Deed::Removed(_)))
        .collect();
    assert_eq!(removed.len(), 1);
}

#[test]
fn c57_a_move_is_nothing_in_both_orders_of_events() {
    let events = [
        Event::Modified(slice(0, &["a"])),
        Event::Modified(slice(1, &["b", "c"])),
    ];
    for order in [[0, 1], [1, 0]] {
        let events = order.map(|place| events[place].clone()).to_vec();
        let acts = holds(
            vec![slice(0, &["a", "b"]), slice(1, &["c"])],
            [events, vec![Event::Settled]].concat(),
        );
        assert!(acts.iter().all(|act| !matches!(act.deed, Deed::Removed(_))));
    }
}

#[test]
fn c58_one_work_for_each_cluster_is_possible_because_each_is_told_once() {
    let acts = holds(vec![slice(0, &["a", "b", "a"]), slice(1, &["b"])], vec![]);
    assert_eq!(deployed(&acts), ["shop/a", "shop/b"]);
}

#[test]
fn c59_what_cannot_be_used_is_reported_and_blocks_nothing() {
    let odd = json!([{ "clusterProfileRef": { "name": "a" } }, { "reason": "?" }, { "clusterName": "b" }]);
    let labels = json!({ KEY: "web", PLACEMENT_KEY: "app", "example.com/new": "x" });
    let profile: Object = serde_json::from_value(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": { "namespace": "shop", "name": "b" },
        "spec": { "clusterManager": { "name": "x" } },
    }))
    .unwrap();
    let acts = holds(vec![object("web-0", labels, odd), profile], vec![]);
    assert_eq!(deployed(&acts), ["shop/b"]);
}

#[test]
fn c60_decisions_of_two_schedulers_are_read_alike_by_two_consumers() {
    let by = |name: &str, scheduler: Value| {
        let mut object = serde_json::to_value(object(
            name,
            json!({ KEY: name, PLACEMENT_KEY: "app" }),
            entries(&["a"]),
        ))
        .unwrap();
        object["schedulerName"] = scheduler;
        serde_json::from_value::<Object>(object).unwrap()
    };
    let initial = || {
        vec![
            by("one", json!("portolan")),
            by("two", json!("karmada")),
            by("three", json!(null)),
        ]
    };
    assert_eq!(holds(initial(), vec![]), holds(initial(), vec![]));
}

#[test]
fn c61_an_empty_decision_is_told_from_none() {
    let acts = holds(
        vec![],
        vec![
            Event::Added(slice(0, &[])),
            Event::Settled,
            Event::Modified(slice(0, &["a"])),
            Event::Settled,
            Event::Deleted(slice(0, &["a"])),
            Event::Settled,
        ],
    );
    let count = |deed: &Deed| acts.iter().filter(|act| act.deed == *deed).count();
    assert_eq!((count(&Deed::Emptied), count(&Deed::Gone)), (1, 1));
}

#[test]
fn d10_a_slice_without_the_placement_key_or_with_another_name_is_not_missed() {
    let bare = object("elsewhere", json!({ KEY: "web", INDEX: "1" }), entries(&["b"]));
    let acts = holds(vec![slice(0, &["a"]), bare], vec![]);
    assert_eq!(deployed(&acts), ["shop/a", "shop/b"]);
}

/// Follows each slice by itself, as somebody might who has never seen two.
fn naive(recording: &Recording) -> Vec<Act> {
    let mut held: BTreeMap<ObjectKey, BTreeSet<Cluster>> = BTreeMap::new();
    let mut acts = Vec::new();
    let initial = recording
        .initial
        .objects()
        .map(|object| (0, object.key(), Some(object)));
    let events = recording.events.iter().enumerate().filter_map(|(place, event)| {
        let object = event.object()?;
        let there = (!matches!(event, Event::Deleted(_))).then(|| object.clone());
        Some((place + 1, object.key(), there))
    });
    for (after, key, object) in initial.chain(events) {
        let now: BTreeSet<Cluster> = object.iter().flat_map(Object::clusters).collect();
        let before = held.insert(key, now.clone()).unwrap_or_default();
        let gone = before.difference(&now).cloned().map(Deed::Removed);
        let come = now.difference(&before).cloned().map(Deed::Deployed);
        let decision = DecisionId::kep("shop", "web");
        acts.extend(gone.chain(come).map(|deed| Act {
            after,
            decision: decision.clone(),
            deed,
        }));
    }
    acts
}

#[test]
fn a_consumer_that_follows_each_slice_by_itself_breaks_the_rules() {
    let plain = recording(
        vec![slice(0, &["a", "b"]), slice(1, &["c"])],
        vec![
            Event::Modified(slice(0, &["a"])),
            Event::Modified(slice(1, &["b", "c"])),
            Event::Settled,
        ],
    );
    assert_eq!(check(&plain, &naive(&plain)).failed(), [CheckId::C57]);
    let revised = recording(
        vec![revised(0, 2, 0, &["a"]), revised(0, 2, 1, &["b"])],
        vec![
            Event::Modified(revised(1, 2, 1, &["c"])),
            Event::Modified(revised(1, 2, 0, &["a"])),
            Event::Settled,
        ],
    );
    assert_eq!(check(&revised, &naive(&revised)).failed(), [CheckId::C52]);
}

proptest! {
    #[test]
    fn every_check_holds_for_random_histories(
        layouts in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.8, 0..3_usize), 6), 1..5),
        orders in prop::collection::vec(Just(vec![0_usize, 1, 2]).prop_shuffle(), 5),
        with_revisions in any::<bool>(),
    ) {
        let write = |revision: usize, layout: &[Option<usize>], index: usize| {
            let listed: Vec<String> = (0..6).filter(|c| layout[*c] == Some(index)).map(|c| format!("c{c}")).collect();
            let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
            if with_revisions { revised(revision, 3, index, &listed) } else { slice(index, &listed) }
        };
        let mut events = Vec::new();
        for (revision, (layout, order)) in layouts.iter().zip(&orders).enumerate() {
            let event = |object| if revision == 0 { Event::Added(object) } else { Event::Modified(object) };
            events.extend(order.iter().map(|index| event(write(revision, layout, *index))));
            events.push(Event::Settled);
        }
        let recording = recording(vec![], events);
        let acts = Consumer::new(&recording, options()).run();
        let report = check(&recording, &acts);
        prop_assert!(report.is_clean(), "{}", report);
    }
}
