//! Which works may have a say in an object, by what they ask for and how they were judged.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};

use super::*;
use crate::plan::Verdict;
use crate::sabotage::with_sabotaged;
use crate::work::{Resource, WorkKind, read};

fn map(api_version: &str, value: &str) -> Value {
    let metadata = json!({ "name": "x", "namespace": "shop" });
    json!({ "apiVersion": api_version, "kind": "ConfigMap", "metadata": metadata, "data": { "k": value } })
}

fn confined() -> Value {
    json!({ "subject": { "type": "ServiceAccount", "serviceAccount": { "namespace": "n", "name": "a" } } })
}

fn half() -> Value {
    json!({ "subject": { "type": "ServiceAccount" } })
}

fn read_only() -> Value {
    json!([{
        "resourceIdentifier": { "resource": "configmaps", "namespace": "shop", "name": "x" },
        "updateStrategy": { "type": "ReadOnly" },
    }])
}

fn work(name: &str, second: i64, manifest: Value, executor: Value, configs: Value) -> Work {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(name.to_owned()),
        creation_timestamp: Some(Time(Timestamp::from_second(second).unwrap())),
        ..ObjectMeta::default()
    };
    let spec =
        json!({ "workload": { "manifests": [manifest] }, "executor": executor, "manifestConfigs": configs });
    read(WorkKind::ManifestWork, &metadata, &spec, &Value::Null)
}

fn kinds() -> Kinds {
    let mut kinds = Kinds::default();
    let resource = |plural: &str, namespaced| Resource {
        plural: plural.to_owned(),
        namespaced,
    };
    let served = [
        ("ConfigMap", resource("configmaps", true)),
        ("Namespace", resource("namespaces", false)),
    ];
    kinds.learn(
        "v1",
        served.map(|(kind, resource)| (kind.to_owned(), resource)).into(),
    );
    kinds
}

fn id(resource: &str, namespace: &str, name: &str) -> ObjectId {
    ObjectId {
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ObjectId::default()
    }
}

fn own() -> WorkKey {
    WorkKey {
        kind: WorkKind::ManifestWork,
        name: "own".to_owned(),
    }
}

fn works(of: &[&Work]) -> BTreeMap<WorkKey, Arc<Work>> {
    let works = of.iter();
    works
        .map(|work| (work.key.clone(), Arc::new((*work).clone())))
        .collect()
}

/// What another work means for an object, if its executor is allowed everything, and if it is allowed nothing.
fn others(other: &Work, judged: Option<Verdict>, id: &ObjectId) -> [Option<&'static str>; 2] {
    let mut judgements = Judgements::default();
    if let Some(verdict) = judged {
        let object = self::id("configmaps", "shop", "x");
        judgements.note(other, [(object, verdict)].into_iter());
    }
    let works = works(&[other]);
    let claims = Ownership::new(&works, &kinds());
    [true, false].map(|is_allowed| {
        let contenders = claims.contenders(&works, &judgements, &own(), id).into_iter();
        let mut settled = contenders.filter_map(|contender| contender.settled(is_allowed));
        settled.next().map(|other| match other {
            Other::Owns(_) => "owns",
            Other::Perhaps(_) => "perhaps",
        })
    })
}

#[test]
fn an_object_belongs_to_a_work_that_gets_it_and_rights_of_an_unjudged_one_are_asked() {
    let (object, nobody) = (id("configmaps", "shop", "x"), [None, None]);
    let of = |executor: Value, judged| {
        let other = work("w", 1, map("v1", "1"), executor, json!([]));
        others(&other, judged, &object)
    };
    for executor in [Value::Null, confined()] {
        assert_eq!(of(executor.clone(), Some(Verdict::Gets)), [Some("owns"); 2]);
        assert_eq!(of(executor, Some(Verdict::Refused)), nobody);
    }
    assert_eq!(of(Value::Null, None), [Some("perhaps"); 2]);
    assert_eq!(of(confined(), None), [Some("perhaps"), None]);
    assert_eq!(of(half(), None), nobody);
    let looking = work("w", 1, map("v1", "1"), Value::Null, read_only());
    assert_eq!(others(&looking, None, &object), nobody);
    with_sabotaged(Rule::JudgeFirst, || {
        assert_eq!(of(Value::Null, None), [Some("owns"); 2])
    });
    with_sabotaged(Rule::AskingIsNotOwning, || {
        assert_eq!(of(confined(), Some(Verdict::Refused)), [Some("owns"); 2]);
    });
}

#[test]
fn a_namespace_waits_for_works_that_may_have_something_in_it() {
    let space = id("namespaces", "", "shop");
    let of = |executor: Value, judged| {
        let other = work("w", 1, map("v1", "1"), executor, json!([]));
        others(&other, judged, &space)
    };
    assert_eq!(of(confined(), Some(Verdict::Gets)), [Some("perhaps"); 2]);
    assert_eq!(of(confined(), Some(Verdict::Refused)), [None, None]);
    assert_eq!(of(confined(), None), [Some("perhaps"), None]);
    assert_eq!(of(Value::Null, None), [Some("perhaps"); 2]);
}

#[test]
fn a_manifest_of_an_unknown_kind_counts_for_those_who_may_have_what_it_may_mean() {
    let (object, space) = (id("configmaps", "shop", "x"), id("namespaces", "", "shop"));
    let of = |executor: Value, id: &ObjectId| {
        let other = work("w", 1, map("v9", "1"), executor, json!([]));
        others(&other, None, id)
    };
    assert_eq!(of(Value::Null, &object), [Some("perhaps"); 2]);
    assert_eq!(of(confined(), &object), [Some("perhaps"), None]);
    assert_eq!(of(half(), &object), [None, None]);
    assert_eq!(of(Value::Null, &space), [Some("perhaps"); 2]);
    assert_eq!(of(confined(), &space), [None, None]);
    // Without the namespace that it needs, a manifest has no place, and is no object that has none.
    let homeless = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop" } });
    let homeless = work("w", 1, homeless, Value::Null, json!([]));
    assert_eq!(others(&homeless, None, &space), [None, None]);
}

#[test]
fn a_work_comes_first_only_while_it_is_not_refused() {
    let ours = work("own", 2, map("v1", "1"), Value::Null, json!([]));
    let older = work("w", 1, map("v1", "2"), confined(), json!([]));
    let (kinds, all) = (kinds(), works(&[&ours, &older]));
    let claims = Ownership::new(&all, &kinds);
    let manifest = ours.desired.as_ref().unwrap().manifests[0].as_ref().unwrap();
    let target = settled(&ours, manifest, &kinds).unwrap();
    let mut judged = Judgements::default();
    let standing = |judged: &Judgements| {
        let mut rivals = claims.rivals(&all, &kinds, judged, &ours, &target);
        assert_eq!(rivals.len(), 1);
        rivals.remove(0).standing
    };
    let Standing::Open(Some(need)) = standing(&judged) else {
        panic!("it was not judged");
    };
    assert_eq!(need.verbs, ["get", "create", "patch", "delete"]);
    judged.note(&older, [(target.id.clone(), Verdict::Refused)].into_iter());
    assert_eq!(standing(&judged), Standing::Refused);
    judged.note(&older, [(target.id.clone(), Verdict::Gets)].into_iter());
    assert_eq!(standing(&judged), Standing::Gets);
}
