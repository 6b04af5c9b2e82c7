use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;
use crate::report::ObservedObject;
use crate::work::Target;
use crate::work::{Config, Manifest, ObjectId, read};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A work of one ConfigMap with these rules, after it was found like this.
fn reported(status: &Status, feedback: &Value, rules: &Value, object: Value, now: i64) -> Status {
    found(
        status,
        feedback,
        rules,
        ObservedObject::There(Box::new(object)),
        now,
    )
}

fn found(status: &Status, feedback: &Value, rules: &Value, found: ObservedObject, now: i64) -> Status {
    let manifest =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" } });
    let target = Target {
        id: ObjectId::default(),
        version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        manifest: Manifest::read(&manifest).unwrap(),
        config: Config {
            feedback: serde_json::from_value::<Vec<_>>(feedback.clone()).unwrap().into(),
            rules: serde_json::from_value::<Vec<_>>(rules.clone()).unwrap().into(),
            ..Config::default()
        },
    };
    let mut work = read(
        WorkKind::ManifestWork,
        &ObjectMeta::default(),
        &Value::Null,
        &Value::Null,
    );
    work.status = status.clone();
    let finding = ManifestResult {
        meta: ManifestResourceMeta::default(),
        target: Some(target),
        applied: ApplyOutcome::Done,
        found,
    };
    report(&work, &[finding], &mut Cost::of_work(), at(now))
}

fn said<'s>(status: &'s Status, r#type: &str) -> Vec<&'s Condition> {
    let conditions = status.manifests[0].conditions.iter();
    conditions.filter(|condition| condition.type_ == r#type).collect()
}

#[test]
fn every_manifest_says_whether_values_were_read_back() {
    let status = reported(&Status::default(), &json!([]), &json!([]), json!({}), 10);
    let synced = said(&status, "StatusFeedbackSynced");
    assert_eq!(
        (synced[0].status.as_str(), synced[0].reason.as_str()),
        ("True", "NoStatusFeedbackSynced")
    );
    let again = reported(&status, &json!([]), &json!([]), json!({}), 20);
    assert_eq!(again, status, "nothing has changed");
}

#[test]
fn the_time_of_the_values_is_when_one_of_them_changed() {
    let feedback = json!([{ "type": "JSONPaths", "jsonPaths": [{ "name": "k", "path": ".data.k" }] }]);
    let object = |value: &str| json!({ "data": { "k": value } });
    let time = |status: &Status| said(status, "StatusFeedbackSynced")[0].last_transition_time.0;
    let first = reported(&Status::default(), &feedback, &json!([]), object("1"), 10);
    let second = reported(&first, &feedback, &json!([]), object("1"), 20);
    let third = reported(&second, &feedback, &json!([]), object("2"), 30);
    assert_eq!(
        [time(&first), time(&second), time(&third)],
        [at(10), at(10), at(30)]
    );
    assert_eq!(said(&third, "Applied")[0].last_transition_time.0, at(10));
}

#[test]
fn no_type_is_twice_in_what_is_said_of_an_object_that_may_not_be_read() {
    let types = [
        "Available",
        "Available",
        "Complete",
        "ConditionRulesValid",
        "Applied",
        "a b",
        "c d",
    ];
    let rule = |named: &&str| json!({ "condition": named, "type": "CEL", "celExpressions": ["true"] });
    let rules: Vec<Value> = types.iter().map(rule).collect();
    let feedback = json!([{ "type": "JSONPaths", "jsonPaths": [{ "name": "k", "path": ".data.k" }] }]);
    for found_as in [
        ObservedObject::Hidden,
        ObservedObject::Missing,
        ObservedObject::There(Box::new(json!({}))),
    ] {
        let status = found(&Status::default(), &feedback, &json!(rules), found_as, 10);
        for conditions in [&status.conditions, &status.manifests[0].conditions] {
            let mut types: Vec<&str> = conditions.iter().map(|said| said.type_.as_str()).collect();
            types.sort_unstable();
            let all = types.len();
            types.dedup();
            assert!(
                all == types.len() && !types.iter().any(|named| named.contains(' ')),
                "{types:?}"
            );
        }
    }
}

#[test]
fn a_rule_for_available_takes_the_place_of_the_usual_one_and_counts_for_the_work() {
    let rules =
        json!([{ "condition": "Available", "type": "CEL", "celExpressions": ["object.data.k == 'up'"] }]);
    for (value, status) in [("up", "True"), ("down", "False")] {
        let object = json!({ "data": { "k": value } });
        let reported = reported(&Status::default(), &json!([]), &rules, object, 10);
        let available = said(&reported, "Available");
        assert_eq!(available.len(), 1, "the server refuses two of one type");
        assert_eq!(available[0].status, status);
        let mut work = reported.conditions.iter();
        assert!(work.any(|said| said.type_ == "Available" && said.status == status));
    }
}

#[test]
fn an_option_that_names_no_manifest_is_said_in_the_message_of_applied_alone() {
    let target = |resource: &str| Target {
        id: ObjectId {
            resource: resource.to_owned(),
            namespace: "n".to_owned(),
            name: "a".to_owned(),
            ..ObjectId::default()
        },
        version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        manifest: Manifest::read(
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }),
        )
        .unwrap(),
        config: Config::default(),
    };
    let said = |name: &str, target: Option<Target>| {
        let option =
            json!({ "resourceIdentifier": { "resource": "configmaps", "namespace": "n", "name": name } });
        let spec = json!({ "workload": { "manifests": [] }, "manifestConfigs": [option] });
        let work = read(
            WorkKind::ManifestWork,
            &ObjectMeta::default(),
            &spec,
            &Value::Null,
        );
        let finding = ManifestResult {
            meta: ManifestResourceMeta::default(),
            target,
            applied: ApplyOutcome::Done,
            found: ObservedObject::Missing,
        };
        let status = report(&work, &[finding], &mut Cost::of_work(), at(1));
        let mut conditions = status.conditions.into_iter();
        let applied = conditions.find(|condition| condition.type_ == "Applied").unwrap();
        (applied.status, applied.reason, applied.message)
    };
    let is = |message: &str| ("True".to_owned(), WORK_APPLIED.to_owned(), message.to_owned());
    let resource = || Some(target("configmaps"));
    assert_eq!(said("a", resource()), is("all manifests are applied"));
    assert_eq!(
        said("b", resource()),
        is(
            "all manifests are applied; spec.manifestConfigs[0].resourceIdentifier is {resource: configmaps, namespace: n, \
            name: b}: this names no manifest of the work, so that the option has no effect; use group, resource (the \
            plural), namespace and name of a manifest, such as {resource: configmaps, namespace: n, name: a}"
        )
    );
    // The option may mean a manifest whose place is not known.
    assert_eq!(said("b", None), is("all manifests are applied"));
}
