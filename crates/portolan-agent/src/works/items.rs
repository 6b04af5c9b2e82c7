//! The manifests of a work on their way to the member cluster, and what the record says about them.

use std::collections::BTreeMap;

use portolan_api::work::ManifestResourceMeta;
use serde_json::Value;

use super::pass::Passes;
use crate::plan::{Action, Claims};
use crate::record::{Entry, Record, Unkept};
use crate::report::{Applied, Finding, Found, finished};
use crate::work::{Fault, Manifest, Strategy, Target, Wish, Work, WorkKind, resolve};

/// A manifest on its way.
pub(super) struct Item {
    pub(super) meta: ManifestResourceMeta,
    /// What became of it already: it is not to be applied.
    pub(super) refused: Option<Applied>,
    pub(super) target: Option<Target>,
}

impl Passes {
    /// The manifests with their places, or why they have none.
    pub(super) fn items(&self, work: &Work, wish: &Wish) -> Vec<Item> {
        let (desk, kinds) = (self.desk(), self.kinds());
        let claims = Claims::new(desk.works(), &kinds);
        let mut taken = BTreeMap::new();
        let place = |(ordinal, manifest): (usize, &Result<Manifest, Fault>)| {
            let mut item = Item {
                meta: meta(ordinal, manifest.as_ref().ok()),
                refused: None,
                target: None,
            };
            let invalid = |Fault(message): Fault| Applied::Failed {
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
            match resolve(manifest, &wish.configs, &kinds) {
                None => {
                    item.refused = Some(Applied::Failed {
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
                    if let Some(first) = taken.insert(target.id.clone(), ordinal) {
                        item.refused = Some(invalid(Fault(format!(
                            "manifest number {first} of this work is the same object"
                        ))));
                    } else if matches!(target.config.strategy, Strategy::Apply { .. })
                        && let Some(owner) = claims.senior(work, &target.id, manifest)
                    {
                        item.refused = Some(Applied::Failed {
                            reason: "AppliedByAnotherWork".to_owned(),
                            message: format!("{} is older and says what this object looks like", owner.0),
                        });
                    }
                    item.target = Some(target);
                }
            }
            item
        };
        let mut items: Vec<Item> = wish.manifests.iter().enumerate().map(place).collect();
        let manifests: Vec<_> = items
            .iter()
            .map(|item| (&item.meta, item.target.as_ref()))
            .collect();
        let finished = finished(&work.status, &manifests);
        for (item, _) in items.iter_mut().zip(finished).filter(|(_, finished)| *finished) {
            item.refused = Some(Applied::Finished);
        }
        items
    }
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

/// Writes down what is about to be applied, and forgets what is only looked at from now on.
pub(super) fn note_ahead(record: &mut Record, items: &[Item], actions: &[Option<Result<Action, Fault>>]) {
    for (item, action) in items.iter().zip(actions) {
        let Some(target) = &item.target else { continue };
        if target.config.strategy == Strategy::ReadOnly {
            record.entries.remove(&target.id);
        }
        if let Some(Ok(Action::Create { .. } | Action::Apply { .. })) = action {
            let entry = record.entries.entry(target.id.clone()).or_default();
            entry.version.clone_from(&target.version);
            if record.key.kind == WorkKind::Work {
                entry.kind.clone_from(&target.kind);
            }
        }
    }
}

/// Writes down which object it was.
pub(super) fn note_uid(record: &mut Record, finding: &Finding) {
    let (Some(target), Applied::Done, Found::There(object)) =
        (&finding.target, &finding.applied, &finding.found)
    else {
        return;
    };
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    if let Some(Entry { uid: noted, .. }) = record.entries.get_mut(&target.id) {
        *noted = uid.map(str::to_owned);
    }
}

/// Nothing is applied that cannot be written down first.
pub(super) fn unrecorded(item: Item, why: &Unkept) -> Finding {
    Finding {
        meta: item.meta,
        target: item.target,
        applied: item.refused.unwrap_or_else(|| Applied::Failed {
            reason: "NoRecord".to_owned(),
            message: why.to_string(),
        }),
        found: Found::Unknown("nothing was applied".to_owned()),
    }
}
