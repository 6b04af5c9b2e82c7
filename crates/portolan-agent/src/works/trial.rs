//! One look at a work without any server: what is read from it, what would be done and what would be said. Fuzz targets and
//! their tests call it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use portolan_api::work::ManifestWork;
use portolan_api::{FieldError, structural};
use serde_json::{Value, json};

use super::items::{Item, items};
use super::known::Known;
use crate::cost::Cost;
use crate::plan::{Action, Seen, There, act};
use crate::report::{self, ApplyOutcome, ManifestResult, ObservedObject};
use crate::work::{InvalidManifest, Kinds, Resource, Untyped, Work, WorkKind, read};

/// Looks at a work of the kind `ManifestWork` or `Work`, whose field `there` is the object that the member cluster has for
/// the first manifest. `Err` names the rule that did not hold: every manifest gets a verdict, every refusal has words, an object
/// that was just applied is left alone, and the status is one that a hub takes and reads back as it was written.
pub fn try_out(kind: &str, object: &Value, now: Timestamp) -> Result<(), String> {
    let kind = match kind {
        "Work" => WorkKind::Work,
        _ => WorkKind::ManifestWork,
    };
    let Ok(loose) = serde_json::from_value::<Untyped<ManifestWork>>(object.clone()) else {
        // The watch says so in the work's place; nothing of it is known.
        return Ok(());
    };
    let work = read(kind, &loose.metadata, &loose.spec, &loose.status);
    let desired = match &work.desired {
        Ok(desired) => desired,
        Err(why) if why.is_empty() => return Err("a work that cannot be read says nothing".to_owned()),
        Err(why) => return reads_back(&work, &report::unreadable(&work, why, now), &loose),
    };
    let works = BTreeMap::from([(work.key.clone(), Arc::new(work.clone()))]);
    let known = Known::new(works, Arc::new(kinds()), Arc::default());
    let there = object.get("there").filter(|there| there.is_object());
    let placed = items(&work, desired, &known);
    if placed.len() != desired.manifests.len() {
        return Err(format!(
            "{} of {} manifests have a verdict",
            placed.len(),
            desired.manifests.len()
        ));
    }
    let (mut findings, mut cost) = (Vec::new(), Cost::of_work());
    for (number, item) in placed.into_iter().enumerate() {
        cost.enter(number);
        findings.push(finding(item, there.filter(|_| number == 0), &mut cost)?);
    }
    reads_back(&work, &report::report(&work, &findings, &mut cost, now), &loose)
}

/// What comes of a manifest on a member cluster that takes everything.
fn finding(item: Item, there: Option<&Value>, cost: &mut Cost) -> Result<ManifestResult, String> {
    let (mut applied, mut found) = (ApplyOutcome::Done, ObservedObject::Missing);
    if let Some(there) = there {
        found = ObservedObject::There(Box::new(there.clone()));
    }
    match (&item.refused, &item.target) {
        (Some(refused), _) => applied = refused.clone(),
        (None, None) => return Err("a manifest without a place is not refused".to_owned()),
        (None, Some(target)) => match act(target, there.map(on).as_ref(), None, cost) {
            Ok(Action::Create { body } | Action::Apply { body, .. }) => {
                let mut stored = body;
                stored["metadata"]["uid"] = json!("1");
                let before = Seen::of(target, &stored);
                stored["metadata"]["resourceVersion"] = json!("2");
                let next = act(target, Some(&on(&stored)), Some(&before), &mut Cost::of_work());
                if !matches!(next, Ok(Action::Leave)) {
                    return Err(format!(
                        "{} was just applied and is not left alone: {next:?}",
                        target.id
                    ));
                }
                found = ObservedObject::There(Box::new(stored));
            }
            Ok(Action::Leave) => {}
            Err(InvalidManifest(message)) => {
                applied = ApplyOutcome::Failed {
                    reason: "InvalidManifest".to_owned(),
                    message,
                };
            }
        },
    }
    if matches!(&applied, ApplyOutcome::Failed { message, .. } if message.is_empty()) {
        return Err("a refusal says nothing".to_owned());
    }
    Ok(ManifestResult {
        meta: item.meta,
        target: item.target,
        applied,
        found,
    })
}

fn on(object: &Value) -> There<'_> {
    There {
        object,
        is_settled: false,
    }
}

fn reads_back(
    work: &Work,
    status: &crate::work::Status,
    loose: &Untyped<ManifestWork>,
) -> Result<(), String> {
    let written = report::to_json(work.key.kind, status);
    // A hub has no generation below zero and no status that it would refuse.
    let is_stored = work.generation >= 0 && refusal(work.key.kind, &loose.status).is_none();
    if let Some(refusal) = refusal(work.key.kind, &written).filter(|_| is_stored) {
        return Err(format!("a hub refuses the status: {refusal}"));
    }
    let again = read(work.key.kind, &loose.metadata, &loose.spec, &written);
    match report::to_json(work.key.kind, &again.status) == written {
        true => Ok(()),
        false => Err(format!("the status {written} reads back as {:?}", again.status)),
    }
}

/// Why a hub would not take a status.
fn refusal(kind: WorkKind, status: &Value) -> Option<FieldError> {
    let api_version = match kind {
        WorkKind::ManifestWork => "work.open-cluster-management.io/v1",
        WorkKind::Work => "multicluster.x-k8s.io/v1alpha1",
    };
    let mut stored = json!({
        "apiVersion": api_version, "kind": kind.to_string(), "metadata": { "name": "w", "namespace": "n" },
        "spec": { "workload": { "manifests": [] } },
    });
    if !status.is_null() {
        stored["status"] = status.clone();
    }
    let mut errors = structural::validate(&stored).into_iter();
    errors.find(|error| error.path.starts_with("status"))
}

/// Some kinds of a member cluster.
fn kinds() -> Kinds {
    let mut kinds = Kinds::default();
    let resource = |plural: &str, namespaced| Resource {
        plural: plural.to_owned(),
        namespaced,
    };
    let named = |of: &[(&str, &str, bool)]| {
        let entries = of.iter();
        entries
            .map(|(kind, plural, namespaced)| ((*kind).to_owned(), resource(plural, *namespaced)))
            .collect()
    };
    kinds.learn(
        "v1",
        named(&[
            ("ConfigMap", "configmaps", true),
            ("Namespace", "namespaces", false),
            ("Pod", "pods", true),
        ]),
    );
    kinds.learn("apps/v1", named(&[("Deployment", "deployments", true)]));
    kinds.learn("batch/v1", named(&[("Job", "jobs", true)]));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Manifest;
    use crate::works::items::Reader;
    use portolan_api::work::ManifestResourceMeta;

    fn work() -> Value {
        json!({
            "metadata": { "name": "w" },
            "spec": { "workload": { "manifests": [
                { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" } }, {}, 7,
            ] } },
        })
    }

    #[test]
    fn a_work_with_manifests_of_all_sorts_is_looked_at() {
        for kind in ["ManifestWork", "Work"] {
            assert_eq!(try_out(kind, &work(), Timestamp::UNIX_EPOCH), Ok(()));
        }
    }

    #[test]
    fn whatever_a_work_names_its_conditions_a_hub_takes_its_status() {
        let mut work = work();
        let rule = |named: &str| json!({ "type": "CEL", "condition": named, "celExpressions": ["true"] });
        work["spec"]["manifestConfigs"] = json!([{
            "resourceIdentifier": { "resource": "configmaps", "namespace": "n", "name": "a" },
            "conditionRules": [rule("not a type!"), rule(&"a".repeat(317)), rule("Available"), rule("Applied")],
            "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": [
                { "name": "a".repeat(5000), "path": ".metadata.name" }, { "name": "", "path": ".metadata.name" },
            ] }],
        }]);
        assert_eq!(try_out("ManifestWork", &work, Timestamp::UNIX_EPOCH), Ok(()));
    }

    #[test]
    fn a_manifest_without_a_verdict_is_a_finding() {
        let item = |refused| Item {
            meta: ManifestResourceMeta::default(),
            refused,
            target: None,
            owned: false,
            reader: Reader::Agent,
            rivals: Vec::new(),
        };
        let silent = ApplyOutcome::Failed {
            reason: "InvalidManifest".to_owned(),
            message: String::new(),
        };
        assert!(finding(item(None), None, &mut Cost::of_work()).is_err());
        assert!(finding(item(Some(silent)), None, &mut Cost::of_work()).is_err());
        let Err(InvalidManifest(message)) = Manifest::read(&json!({})) else {
            panic!("an empty manifest is refused");
        };
        let refused = ApplyOutcome::Failed {
            reason: "InvalidManifest".to_owned(),
            message,
        };
        assert!(finding(item(Some(refused)), None, &mut Cost::of_work()).is_ok());
    }
}
