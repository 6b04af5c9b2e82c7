//! Manifests that are complete, which is for good: whatever becomes of the object, and whatever the work says from then on,
//! it is neither brought up to date nor made anew. A work is over when all manifests that can be complete are.
//!
//! What is over is read from the status of the work, which is where it was said. Who takes the rule out of the work takes
//! the end back with it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::conditions;
use portolan_api::work::{ManifestCondition, ManifestResourceMeta};
use serde_json::Value;

use super::rule_index::RuleIndexes;
use super::well_known;
use crate::work::{Before, Status, Target};

/// Which of the manifests are not to be touched any more.
pub(crate) fn finished(status: &Status, manifests: &[(&ManifestResourceMeta, Option<&Target>)]) -> Vec<bool> {
    let mut indexes = RuleIndexes::default();
    let mut asking = Vec::with_capacity(manifests.len());
    for (_, target) in manifests {
        asking.push(target.is_some_and(|target| {
            let index = indexes.of(&target.config.rules);
            index.can_give(COMPLETE, || is_usual(target))
        }));
    }
    let before = Before::of(status);
    let done: Vec<bool> = manifests
        .iter()
        .zip(&asking)
        .map(|((meta, _), asking)| *asking && before.manifest(meta).is_some_and(is_complete))
        .collect();
    let open = |(asking, done): (&bool, &bool)| *asking && !done;
    let over = done.contains(&true) && !asking.iter().zip(&done).any(open);
    done.into_iter().map(|done| done || over).collect()
}

/// Whether objects of the kind are complete at some time.
fn is_usual(target: &Target) -> bool {
    let usual = well_known::conditions(&target.id.group, &target.kind, &Value::Null);
    usual.iter().any(|said| said.r#type == COMPLETE)
}

const COMPLETE: &str = conditions::COMPLETE;

/// Whether the manifest was said to be complete.
pub(super) fn is_complete(manifest: &ManifestCondition) -> bool {
    let mut all = manifest.conditions.iter();
    all.any(|condition| condition.type_ == COMPLETE && condition.status == "True")
}

/// Whether a condition stays as it was when the manifest was finished.
pub(super) fn is_last_word(condition: &Condition) -> bool {
    [conditions::APPLIED, COMPLETE].contains(&condition.type_.as_str())
}

/// With what was said when it was finished, generation and all: nothing that came after that has been applied.
pub(super) fn as_it_was(mut now: Vec<Condition>, before: &[Condition]) -> Vec<Condition> {
    for said in before.iter().filter(|condition| is_last_word(condition)) {
        now.retain(|condition| condition.type_ != said.type_);
        now.push(said.clone());
    }
    now
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Manifest, ObjectId};

    fn target(kind: &str, rules: Value) -> Target {
        let manifest = json!({ "apiVersion": "batch/v1", "kind": kind, "metadata": { "name": "a" } });
        Target {
            id: ObjectId {
                group: "batch".to_owned(),
                ..ObjectId::default()
            },
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            manifest: Manifest::read(&manifest).unwrap(),
            config: Config {
                rules: serde_json::from_value::<Vec<_>>(rules).unwrap().into(),
                ..Config::default()
            },
        }
    }

    /// Of manifests with these rules and this said about Complete: which are finished.
    fn of(manifests: &[(Value, Option<&str>)]) -> Vec<bool> {
        let metas: Vec<ManifestResourceMeta> = (0..)
            .zip(manifests)
            .map(|(ordinal, _)| ManifestResourceMeta {
                ordinal,
                name: ordinal.to_string(),
                ..ManifestResourceMeta::default()
            })
            .collect();
        let targets: Vec<Target> = manifests
            .iter()
            .map(|(rules, _)| target("Job", rules.clone()))
            .collect();
        let said = manifests.iter().zip(&metas).map(|((_, said), meta)| {
            let conditions = said.map(|status| {
                let time = "2026-01-01T00:00:00Z";
                json!({ "type": "Complete", "status": status, "reason": "r", "message": "", "lastTransitionTime": time })
            });
            ManifestCondition {
                resource_meta: meta.clone(),
                conditions: conditions.map(|said| serde_json::from_value(said).unwrap()).into_iter().collect(),
                ..ManifestCondition::default()
            }
        });
        let status = Status {
            manifests: said.collect(),
            ..Status::default()
        };
        let manifests: Vec<_> = metas.iter().zip(targets.iter().map(Some)).collect();
        finished(&status, &manifests)
    }

    fn well_known() -> Value {
        json!([{ "type": "WellKnownConditions" }])
    }

    #[test]
    fn a_manifest_is_finished_by_itself_and_the_work_with_the_last_that_can_be() {
        let never = || json!([{ "type": "CEL", "condition": "Complete", "celExpressions": ["false"] }]);
        assert_eq!(
            of(&[(well_known(), Some("True")), (never(), Some("False"))]),
            [true, false]
        );
        assert_eq!(
            of(&[(well_known(), Some("True")), (json!([]), None)]),
            [true, true]
        );
        assert_eq!(
            of(&[(well_known(), Some("False")), (json!([]), None)]),
            [false, false]
        );
        assert_eq!(of(&[(json!([]), None)]), [false]);
    }

    #[test]
    fn without_its_rule_nothing_is_finished() {
        let other = json!([{ "type": "WellKnownConditions", "condition": "Progressing" }]);
        assert_eq!(
            of(&[(json!([]), Some("True")), (other, Some("True"))]),
            [false, false]
        );
    }
}
