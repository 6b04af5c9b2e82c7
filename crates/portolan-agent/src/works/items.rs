//! The manifests of a work on their way to the member cluster, and what the record says about them.

use std::collections::BTreeMap;

use portolan_api::work::ManifestResourceMeta;

use super::judging::Answers;
use super::known::Known;
use super::work_reconciler::{ReconcileError, WorkReconciler};
use crate::plan::{Action, Rival, Standing, is_orphaned};
use crate::record::Record;
use crate::report::{ApplyOutcome, finished};
use crate::sabotage::{Rule, sabotaged};
use crate::work::{
    DesiredManifests, InvalidManifest, Manifest, ObjectId, Strategy, Target, Work, WorkKind, reserved,
    resolve,
};

/// A manifest on its way.
pub(super) struct Item {
    pub(super) meta: ManifestResourceMeta,
    /// What became of it already: it is not to be applied.
    pub(super) refused: Option<ApplyOutcome>,
    pub(super) target: Option<Target>,
    /// Whether the object goes with the work.
    pub(super) owned: bool,
    /// In whose name the object is read.
    pub(super) reader: Reader,
    /// Older works that ask for the object to be different.
    pub(super) rivals: Vec<Rival>,
}

/// In whose name an object is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Agent,
    /// In that of this user.
    Account(String),
    /// Whose it is may not read it, or no work may: only whether it is there is looked up.
    Nobody,
}

/// What came of an object, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// The object of this UID is ours.
    Applied(String),
    /// The member cluster would not have it.
    Refused,
    /// What is there is not ours, or nothing is there and nothing is to be.
    NotOurs,
    /// The state is not known, or nothing was tried.
    Unknown,
}

impl WorkReconciler {
    /// The manifests with their places, or why they have none.
    pub(super) async fn items(&self, work: &Work, desired: &DesiredManifests, known: &Known) -> Vec<Item> {
        self.computing.compute(|| items(work, desired, known)).await
    }

    /// Leaves objects to older works that have a say in them. What this work's executor may not have was refused before, so that
    /// the work waits for nobody with it.
    pub(super) async fn give_way(&self, items: &mut [Item]) -> Result<(), ReconcileError> {
        let mut answers = Answers::default();
        for item in items {
            self.leave_to_older(item, &mut answers).await?;
        }
        Ok(())
    }

    /// Leaves an object to the first older work that has a say in it. One that was refused has none, unless it has applied the
    /// object before: else whoever names an object first would keep it from everybody.
    async fn leave_to_older(&self, item: &mut Item, answers: &mut Answers) -> Result<(), ReconcileError> {
        let Some(target) = item.target.as_ref().filter(|_| item.refused.is_none()) else {
            return Ok(());
        };
        for rival in &item.rivals {
            let counts = rival.standing != Standing::Refused && self.may(&rival.standing, answers).await
                || self.record(&rival.work).await?.entries.contains_key(&target.id);
            if counts {
                item.refused = Some(ApplyOutcome::Failed {
                    reason: "AppliedByAnotherWork".to_owned(),
                    message: format!("{} is older and says what this object looks like", rival.work),
                });
                break;
            }
        }
        Ok(())
    }
}

/// The manifests with their places, or why they have none. `known` says what other works ask for.
pub(super) fn items(work: &Work, desired: &DesiredManifests, known: &Known) -> Vec<Item> {
    let (kinds, claims) = (&*known.kinds, known.claims());
    let mut taken = BTreeMap::new();
    let place = |(ordinal, manifest): (usize, &Result<Manifest, InvalidManifest>)| {
        let mut item = Item {
            meta: meta(ordinal, manifest.as_ref().ok()),
            refused: None,
            target: None,
            owned: false,
            reader: Reader::Agent,
            rivals: Vec::new(),
        };
        let invalid = |InvalidManifest(message): InvalidManifest| ApplyOutcome::Failed {
            reason: "InvalidManifest".to_owned(),
            message,
        };
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(fault) => {
                item.refused = Some(invalid(fault.clone()));
                return item;
            }
        };
        match resolve(manifest, &desired.settings, kinds) {
            None if desired.excess.is_some() => item.refused = desired.excess.clone().map(invalid),
            None => {
                item.refused = Some(ApplyOutcome::Failed {
                    reason: "KindNotServed".to_owned(),
                    message: format!(
                        "the member cluster does not serve the kind {} of {}",
                        manifest.kind,
                        manifest.api_version()
                    ),
                });
            }
            Some(Err(fault)) => item.refused = Some(invalid(fault)),
            Some(Ok(target)) => {
                item.meta.resource = target.id.resource.clone();
                item.meta.namespace = target.id.namespace.clone();
                if let Some(message) = reserved(&target.id).filter(|_| !sabotaged(Rule::RecordsReserved)) {
                    item.refused = Some(ApplyOutcome::Failed {
                        reason: "ReservedKind".to_owned(),
                        message,
                    });
                    item.reader = Reader::Nobody;
                    item.target = Some(target);
                    return item;
                }
                if let Some(first) = taken.insert(target.id.clone(), ordinal) {
                    item.refused = Some(invalid(InvalidManifest(format!(
                        "manifest number {first} of this work is the same object"
                    ))));
                } else if let Some(fault) = &desired.excess {
                    item.refused = Some(invalid(fault.clone()));
                } else if matches!(target.config.strategy, Strategy::Apply { .. }) {
                    item.rivals = claims.rivals(&known.works, kinds, &known.judged, work, &target);
                }
                // Where it is not known whether the object goes with the work, its owners stay as they are.
                item.owned = desired.excess.is_some()
                    || target.config.strategy != Strategy::ReadOnly
                        && !is_orphaned(&desired.delete_option, &target.id);
                item.target = Some(target);
            }
        }
        item
    };
    let mut items: Vec<Item> = desired.manifests.iter().enumerate().map(place).collect();
    let manifests: Vec<_> = items
        .iter()
        .map(|item| (&item.meta, item.target.as_ref()))
        .collect();
    let finished = finished(&work.status, &manifests);
    for (item, _) in items.iter_mut().zip(finished).filter(|(_, finished)| *finished) {
        item.refused = Some(ApplyOutcome::Finished);
    }
    items
}

fn meta(ordinal: usize, manifest: Option<&Manifest>) -> ManifestResourceMeta {
    let mut meta = ManifestResourceMeta {
        ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
        ..ManifestResourceMeta::default()
    };
    if let Some(manifest) = manifest {
        meta.group.clone_from(&manifest.group);
        meta.version.clone_from(&manifest.version);
        meta.kind.clone_from(&manifest.kind);
        meta.namespace.clone_from(&manifest.namespace);
        meta.name.clone_from(&manifest.name);
    }
    meta
}

/// Whether anything is to be applied.
pub(super) fn will_write(actions: &[Option<Result<Action, InvalidManifest>>]) -> bool {
    let mut actions = actions.iter().flatten().flatten();
    actions.any(|action| matches!(action, Action::Create { .. } | Action::Apply { .. }))
}

/// Writes down what is about to be applied.
pub(super) fn note_ahead(
    record: &mut Record,
    items: &[Item],
    actions: &[Option<Result<Action, InvalidManifest>>],
) {
    for (item, action) in items.iter().zip(actions) {
        let Some(target) = &item.target else { continue };
        if let Some(Ok(Action::Create { .. } | Action::Apply { .. })) = action {
            let entry = record.entries.entry(target.id.clone()).or_default();
            entry.version.clone_from(&target.version);
            if record.key.kind == WorkKind::Work {
                entry.kind.clone_from(&target.kind);
            }
        }
    }
}

/// Writes down what came of it. What was refused and was not in the record `before` was never ours.
pub(super) fn note_after(record: &mut Record, before: &Record, noted: Vec<(ObjectId, Noted)>) {
    for (id, noted) in noted {
        match noted {
            Noted::Applied(uid) => {
                if let Some(entry) = record.entries.get_mut(&id) {
                    entry.uid = Some(uid);
                }
            }
            Noted::Refused if sabotaged(Rule::RefusedIsForgotten) || before.entries.contains_key(&id) => {}
            Noted::Refused | Noted::NotOurs => drop(record.entries.remove(&id)),
            Noted::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;
    use crate::record::Entry;
    use crate::work::{Kinds, Resource, WorkKey, read};
    use crate::works::work_reconciler::is_sound;

    fn id(name: &str) -> ObjectId {
        ObjectId {
            name: name.to_owned(),
            ..ObjectId::default()
        }
    }

    fn record(names: &[&str]) -> Record {
        let key = WorkKey {
            kind: WorkKind::ManifestWork,
            name: "web".to_owned(),
        };
        Record {
            entries: names.iter().map(|name| (id(name), Entry::default())).collect(),
            ..Record::new(&key, String::new())
        }
    }

    #[test]
    fn a_refused_object_leaves_the_record_if_new_and_an_unanswered_one_stays() {
        let before = record(&["old"]);
        let mut after = record(&["new", "old", "unanswered", "applied", "theirs"]);
        let noted = vec![
            (id("new"), Noted::Refused),
            (id("old"), Noted::Refused),
            (id("unanswered"), Noted::Unknown),
            (id("applied"), Noted::Applied("7".to_owned())),
            (id("theirs"), Noted::NotOurs),
        ];
        note_after(&mut after, &before, noted);
        let left: Vec<&str> = after.entries.keys().map(|id| id.name.as_str()).collect();
        assert_eq!(left, ["applied", "old", "unanswered"]);
        assert_eq!(after.entries[&id("applied")].uid.as_deref(), Some("7"));
    }

    #[test]
    fn a_work_whose_options_are_not_compared_applies_and_removes_nothing() {
        let mut kinds = Kinds::default();
        let resource = Resource {
            plural: "configmaps".to_owned(),
            namespaced: true,
        };
        kinds.learn("v1", BTreeMap::from([("ConfigMap".to_owned(), resource)]));
        let verdict = |name: &str| {
            let identifier = json!({ "group": "", "resource": "configmaps", "namespace": "n", "name": name });
            let spec = json!({
                "workload": { "manifests": [
                    { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" } },
                ] },
                "manifestConfigs": [{ "resourceIdentifier": identifier, "updateStrategy": { "type": "ReadOnly" } }],
                "deleteOption": { "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {
                    "orphaningRules": [identifier],
                } },
            });
            let work = read(
                WorkKind::ManifestWork,
                &ObjectMeta::default(),
                &spec,
                &Value::Null,
            );
            let desired = work.desired.as_ref().unwrap();
            let known = Known::new(BTreeMap::new(), Arc::new(kinds.clone()), Arc::default());
            let item = items(&work, desired, &known).remove(0);
            let sound = is_sound(desired, std::iter::once(item.target.is_some()));
            (item.refused, item.owned, sound)
        };
        assert_eq!(verdict("*"), (None, false, true));
        let (refused, owned, sound) = verdict(&"*".repeat(254));
        let Some(ApplyOutcome::Failed { reason, message }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(reason, "InvalidManifest");
        assert!(
            message.starts_with("spec.manifestConfigs[0].resourceIdentifier.name is")
                && message.contains("253"),
            "{message}"
        );
        assert!(
            owned && !sound,
            "its owners stay as they are, and so does what it has left"
        );
    }
}
