//! What is to be done for one replica set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_rollout::{GroupKey, Groups};
use serde_json::{Value, json};

use crate::absence::Absences;
use crate::bound::Right;
use crate::reconcile::fake::{object, second};
use crate::replicasets::attempts::Attempts;
use crate::replicasets::decisions::Reading;
use crate::replicasets::evaluate::evaluate;
use crate::replicasets::key::{SetKey, WorkKey};
use crate::replicasets::message::WorkWrite;
use crate::replicasets::set::Set;
use crate::replicasets::verdict::{Verdict, View};
use crate::replicasets::works::Work;

fn template(version: &str) -> Value {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"version": version}});
    json!({"workload": {"manifests": [map]}})
}

fn set(references: Value, annotations: Value) -> Set {
    let set: ManifestWorkReplicaSet = object(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "app", "namespace": "ns", "generation": 7, "annotations": annotations},
        "spec": {"manifestWorkTemplate": template("2"), "placementRefs": references},
    }));
    Set::new(Arc::new(set), None)
}

/// A work of the replica set, for a placement, with a template.
fn work(cluster: &str, name: &str, placement: &str, version: &str) -> (WorkKey, Work) {
    let work: ManifestWork = object(json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": name, "namespace": cluster, "uid": name, "resourceVersion": "1", "generation": 1,
            "labels": {
                "work.open-cluster-management.io/manifestworkreplicaset": "ns.app",
                "work.open-cluster-management.io/placementname": placement,
            },
        },
        "spec": template(version),
    }));
    let key = WorkKey {
        cluster: cluster.to_owned(),
        name: name.to_owned(),
    };
    (key, Work::of(&work, false))
}

fn groups(clusters: &[&str]) -> Reading {
    let mut groups = Groups::new();
    groups.add(
        GroupKey::new("", 0),
        clusters.iter().map(|name| (*name).to_owned()),
    );
    Reading::Groups(groups)
}

fn verdict(set: &Set, works: &[(WorkKey, Work)], read: &dyn Fn(&str) -> Reading) -> Verdict {
    evaluate(&View {
        set,
        works: &works.iter().cloned().collect::<BTreeMap<_, _>>(),
        read,
        wanted: &|_| None,
        offline: &BTreeSet::new(),
        absences: &Absences::default(),
        right: &|_| Right::Granted,
        refusals: &BTreeMap::new(),
        attempts: &BTreeMap::new(),
        now: second(0).into(),
    })
}

/// `verb cluster/name` of each write.
fn writes(verdict: &Verdict) -> Vec<String> {
    let verb = |write: &WorkWrite| match write {
        WorkWrite::Create(_) => "create",
        WorkWrite::Replace { .. } => "replace",
        WorkWrite::Labels { .. } => "label",
        WorkWrite::Delete { .. } => "delete",
    };
    verdict
        .works
        .iter()
        .map(|write| format!("{} {}", verb(write), write.key()))
        .collect()
}

#[test]
fn works_are_created_replaced_in_place_and_deleted_whatever_they_carry() {
    let set = set(json!([{"name": "p"}]), json!({}));
    let works = [
        work("old", "w", "p", "1"),
        work("same", "w", "p", "2"),
        work("gone", "w", "p", "1"),
    ];
    let answer = verdict(&set, &works, &|_| groups(&["new", "old", "same"]));
    assert_eq!(
        writes(&answer),
        ["create new/ns.app", "replace old/w", "delete gone/w"]
    );
}

#[test]
fn doubt_about_one_placement_spares_all_works_and_lets_the_others_go_on() {
    let set = set(json!([{"name": "p"}, {"name": "q"}]), json!({}));
    let works = [work("mine", "w", "p", "1"), work("stray", "w", "other", "1")];
    for doubtful in [
        Reading::Missing,
        Reading::Unsettled("it is being written".to_owned()),
    ] {
        let read = |name: &str| {
            if name == "p" {
                doubtful.clone()
            } else {
                groups(&["mine", "next"])
            }
        };
        let answer = verdict(&set, &works, &read);
        assert_eq!(
            writes(&answer),
            ["create next/ns.app"],
            "what may be p's stays as it is"
        );
        assert_eq!(answer.tally.kept_on_doubt, 1);
    }
}

#[test]
fn the_first_placement_has_a_cluster_that_several_select() {
    let set = set(json!([{"name": "p"}, {"name": "q"}]), json!({}));
    let answer = verdict(&set, &[], &|name| {
        groups(if name == "p" { &["a"] } else { &["a", "b"] })
    });
    let placements: Vec<(String, String)> = answer
        .works
        .iter()
        .map(|write| {
            let WorkWrite::Create(work) = write else {
                panic!("{write:?}")
            };
            let labels = work.metadata.labels.as_ref().unwrap();
            (
                write.key().cluster,
                labels["work.open-cluster-management.io/placementname"].clone(),
            )
        })
        .collect();
    assert_eq!(
        placements,
        [("a".to_owned(), "p".to_owned()), ("b".to_owned(), "q".to_owned())]
    );
    let desired: Vec<i32> = answer
        .tally
        .placements
        .iter()
        .map(|tally| tally.summary.desired_total)
        .collect();
    assert_eq!(desired, [1, 1]);
}

#[test]
fn of_several_works_on_a_cluster_one_stays() {
    let set = set(json!([{"name": "p"}, {"name": "q"}]), json!({}));
    let works = [
        work("a", "w1", "q", "2"),
        work("a", "w2", "p", "2"),
        work("a", "w3", "p", "2"),
    ];
    let answer = verdict(&set, &works, &|_| groups(&["a"]));
    assert_eq!(writes(&answer), ["delete a/w1", "delete a/w3"]);
}

#[test]
fn a_work_is_handed_over_by_its_label_when_the_references_change() {
    let set = set(json!([{"name": "q"}]), json!({}));
    let answer = verdict(&set, &[work("a", "w", "p", "2")], &|_| groups(&["a"]));
    assert_eq!(writes(&answer), ["label a/w"]);
}

#[test]
fn nothing_is_started_while_paused_or_after_an_abort_of_this_generation() {
    let works = [work("old", "w", "p", "1")];
    for (annotation, value, starts) in [
        ("portolan.dev/rollout-paused", "true", false),
        ("portolan.dev/rollout-paused", "false", true),
        ("portolan.dev/rollout-aborted", "true", false),
        ("portolan.dev/rollout-aborted", "7", false),
        ("portolan.dev/rollout-aborted", "6", true),
    ] {
        let set = set(json!([{"name": "p"}]), json!({annotation: value}));
        let answer = verdict(&set, &works, &|_| groups(&["new", "old"]));
        assert_eq!(!writes(&answer).is_empty(), starts, "{annotation}: {value}");
    }
}

#[test]
fn an_abort_is_of_the_template_whatever_else_changes() {
    let works = [work("old", "w", "p", "1")];
    let aborted = |references: Value, template: &str| {
        let mut object = (*set(json!([{"name": "p"}]), json!({})).object).clone();
        let abortion = crate::replicasets::abortion(&object);
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert("portolan.dev/rollout-aborted".to_owned(), abortion);
        object.metadata.generation = Some(9);
        object.spec.placement_refs = serde_json::from_value(references).unwrap();
        object.spec.manifest_work_template.workload.manifests[0]["metadata"]["name"] = json!(template);
        Set::new(Arc::new(object), None)
    };
    let name =
        |set: &Set| set.object.spec.manifest_work_template.workload.manifests[0]["metadata"]["name"].clone();
    let template = name(&set(json!([{"name": "p"}]), json!({})));
    let template = template.as_str().unwrap();
    let other =
        json!([{"name": "p", "rolloutStrategy": {"type": "Progressive", "progressive": {"maxFailures": 1}}}]);
    for (references, template, starts) in [
        (json!([{"name": "p"}]), template, false),
        (other, template, false),
        (json!([{"name": "p"}]), "another", true),
    ] {
        let answer = verdict(&aborted(references, template), &works, &|_| {
            groups(&["new", "old"])
        });
        assert_eq!(!writes(&answer).is_empty(), starts, "{template}");
    }
}

#[test]
fn a_mistake_anywhere_means_that_nothing_is_written() {
    let works = [work("gone", "w", "p", "1")];
    let strategy = |settings: Value| json!([{"name": "p", "rolloutStrategy": {"type": "Progressive", "progressive": settings}}]);
    for references in [
        strategy(json!({"maxFailures": -1})),
        strategy(json!({"mandatoryDecisionGroups": [{"groupName": "nobody"}]})),
    ] {
        let answer = verdict(&set(references, json!({})), &works, &|_| groups(&["a"]));
        assert!(
            answer.works.is_empty() && answer.tally.mistake.is_some(),
            "{answer:?}"
        );
    }
}

#[test]
fn a_work_that_says_nothing_is_not_counted_as_progressing() {
    let set = set(json!([{"name": "p"}]), json!({}));
    let answer = verdict(&set, &[work("a", "w", "p", "2")], &|_| groups(&["a"]));
    let summary = answer.tally.placements[0].summary;
    assert_eq!((summary.total, summary.progressing), (1, 0));
}

#[test]
fn owner_labels_with_dots_lead_back() {
    let key = SetKey::new("ns", "app.v1.example");
    assert_eq!(SetKey::of_label(&key.label()), Some(key));
    assert_eq!(SetKey::of_label("nodot"), None);
    assert_eq!(SetKey::of_label(".x"), None);
}

#[test]
fn a_placement_that_is_named_many_times_is_read_once() {
    let references: Vec<Value> = (0..200).map(|_| json!({"name": "p"})).collect();
    let reads = std::cell::Cell::new(0);
    let read = |_: &str| {
        reads.set(reads.get() + 1);
        groups(&["c1", "c2"])
    };
    let verdict = verdict(&set(json!(references), json!({})), &[], &read);
    assert_eq!(writes(&verdict), ["create c1/ns.app", "create c2/ns.app"]);
    assert_eq!(reads.get(), 1);
    let clusters: i64 = verdict
        .tally
        .placements
        .iter()
        .map(|placement| i64::from(placement.summary.desired_total))
        .sum();
    assert_eq!((verdict.tally.placements.len(), clusters), (200, 2));
}

#[test]
fn too_many_references_are_a_mistake_and_nothing_is_deleted() {
    let references: Vec<Value> = (0..257)
        .map(|number| json!({"name": format!("p{number}")}))
        .collect();
    let there = [work("c1", "ns.app", "p0", "1")];
    let verdict = verdict(&set(json!(references), json!({})), &there, &|_| groups(&[]));
    assert_eq!(writes(&verdict), Vec::<String>::new());
    let mistake = format!("{:?}", verdict.tally.mistake.unwrap());
    assert!(
        mistake.contains("257 references") && mistake.contains("at most 256 references"),
        "{mistake}"
    );
}

#[test]
fn a_cluster_that_is_offline_or_out_of_time_is_not_done_before_it_has_soaked() {
    let strategy =
        json!({"type": "Progressive", "progressive": {"minSuccessTime": "60s", "progressDeadline": "10s"}});
    let set = set(json!([{"name": "p", "rolloutStrategy": strategy}]), json!({}));
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": "R", "message": "", "observedGeneration": 1,
            "lastTransitionTime": second(0).to_string()})
    };
    let mut object: ManifestWork = object(json!({
        "metadata": {"name": "w", "namespace": "a", "uid": "w", "resourceVersion": "1", "generation": 1},
        "spec": template("2"), "status": {"conditions": [condition("Applied"), condition("Available")]},
    }));
    let key = WorkKey {
        cluster: "a".to_owned(),
        name: "w".to_owned(),
    };
    let mut attempts = Attempts::at(set.template);
    let mut first = BTreeMap::from([(key.clone(), Work::of(&object, false))]);
    attempts.observe(&set, &mut first, second(0).into());
    // It succeeds anew, so that its soak begins anew.
    for condition in &mut object.status.as_mut().unwrap().conditions {
        condition.last_transition_time.0 = second(50);
    }
    let mut again = Work::of(&object, false);
    again.follow(&first[&key]);
    let mut again = BTreeMap::from([(key, again)]);
    attempts.observe(&set, &mut again, second(50).into());
    let done = |works: &BTreeMap<WorkKey, Work>, offline: &[&str], now: i64| {
        let answer = evaluate(&View {
            set: &set,
            works,
            read: &|_| groups(&["a"]),
            wanted: &|_| None,
            offline: &offline.iter().map(|name| (*name).to_owned()).collect(),
            absences: &Absences::default(),
            right: &|_| Right::Granted,
            refusals: &BTreeMap::new(),
            attempts: &attempts.clusters,
            now: second(now).into(),
        });
        let tally = &answer.tally.placements[0];
        (tally.done, tally.failed)
    };
    assert_eq!(done(&first, &[], 30), (0, 0), "it soaks");
    assert_eq!(done(&first, &["a"], 30), (0, 0), "it soaks, and is offline");
    assert_eq!(done(&first, &["a"], 60), (1, 0));
    assert_eq!(done(&again, &[], 69), (0, 0));
    assert_eq!(done(&again, &[], 70), (0, 1), "it is out of time");
    assert_eq!(done(&again, &[], 110), (1, 0), "it has soaked after all");
}
