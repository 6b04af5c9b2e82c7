//! Who else has a say in an object of the member cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_api::labels::conditions as conditions_of;
use serde_json::Value;

use super::reference::{RecordReference, references};
use crate::record::Record;
use crate::sabotage::{Rule, broken};
use crate::work::{Kinds, Manifest, ObjectId, Strategy, Target, Work, WorkKey, place, resolve};

/// Another owner of an object, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) String);

/// Somebody else who has a say in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Certainly.
    Owns(Owner),
    /// That cannot be told at the moment.
    Perhaps(Owner),
}

/// What all works that are not being deleted ask for, by object. Made once for all objects of a work: works may have thousands
/// of manifests each.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    placed: BTreeMap<ObjectId, Vec<Claim>>,
    /// Manifests whose kind is not known, or whose namespace is missing.
    unplaced: Vec<Claim>,
    /// Works that cannot be read.
    unreadable: Vec<WorkKey>,
}

/// A manifest of a work.
#[derive(Clone, Debug)]
struct Claim {
    work: Arc<WorkKey>,
    number: usize,
}

impl Claim {
    fn manifest<'w>(&self, works: &'w BTreeMap<WorkKey, Arc<Work>>) -> Option<(&'w Work, &'w Manifest)> {
        let work = works.get(&*self.work)?;
        let wish = work.wish.as_ref().ok()?;
        let manifest = wish.manifests.get(self.number)?.as_ref().ok()?;
        Some((work, manifest))
    }
}

impl Claims {
    pub(crate) fn new(works: &BTreeMap<WorkKey, Arc<Work>>, kinds: &Kinds) -> Claims {
        let mut claims = Claims::default();
        for work in works.values().filter(|work| !work.deleting) {
            let Ok(wish) = &work.wish else {
                claims.unreadable.push(work.key.clone());
                continue;
            };
            let key = Arc::new(work.key.clone());
            for (number, manifest) in wish.manifests.iter().enumerate() {
                let Ok(manifest) = manifest else { continue };
                let claim = Claim {
                    work: key.clone(),
                    number,
                };
                match place(manifest, kinds) {
                    Some(Ok(id)) => claims.placed.entry(id).or_default().push(claim),
                    _ => claims.unplaced.push(claim),
                }
            }
        }
        claims
    }

    /// The works that come before this one to say what the object looks like, where both cannot have their way; the first one
    /// first. `works` are those that the claims are of.
    pub(crate) fn rivals(
        &self,
        works: &BTreeMap<WorkKey, Arc<Work>>,
        kinds: &Kinds,
        work: &Work,
        ours: &Target,
    ) -> Vec<Rival> {
        let claims = self.placed.get(&ours.id).into_iter().flatten();
        let mut rivals: Vec<(&Work, &Manifest)> = claims
            .filter_map(|claim| claim.manifest(works))
            .filter(|(other, _)| other.key != work.key && other.is_senior_to(work))
            .collect();
        rivals.sort_by_key(|(other, _)| (other.created, &other.key));
        let rivals = rivals.into_iter().filter(|(other, manifest)| {
            let theirs = settled(other, manifest, kinds);
            theirs.is_some_and(|theirs| is_contest(ours, &theirs))
        });
        rivals
            .map(|(other, manifest)| Rival {
                work: other.key.clone(),
                is_refused: refused(other, &ours.id, &manifest.kind).is_some(),
            })
            .collect()
    }

    /// Another work that asks for the object, or may do so: one that cannot be read, or whose manifest has the right names
    /// and a kind that is not known.
    pub(crate) fn other(
        &self,
        works: &BTreeMap<WorkKey, Arc<Work>>,
        kinds: &Kinds,
        key: &WorkKey,
        id: &ObjectId,
    ) -> Option<Other> {
        let theirs = |claim: &&Claim| *claim.work != *key;
        let owner = |claim: &Claim| Owner(claim.work.to_string());
        let keeps = |id: &ObjectId, claim: &Claim| {
            let Some((work, manifest)) = claim.manifest(works) else {
                return false;
            };
            let target = settled(work, manifest, kinds);
            let is_looked_at = target.is_some_and(|target| target.config.strategy == Strategy::ReadOnly);
            // What it applied before it was refused is in its record, which counts by itself.
            let is_refused = refused(work, id, &manifest.kind) == Some(work.generation);
            broken(Rule::AskingIsNotOwning) || !is_looked_at && !is_refused
        };
        let mut same = self.placed.get(id).into_iter().flatten().filter(theirs);
        if let Some(claim) = same.find(|claim| keeps(id, claim)) {
            return Some(Other::Owns(owner(claim)));
        }
        let mut unreadable = self.unreadable.iter().filter(|other| *other != key);
        if let Some(other) = unreadable.next() {
            return Some(Other::Perhaps(Owner(other.to_string())));
        }
        if holds_others(id) {
            let inside = self.placed.iter().filter(|(other, _)| goes_with(other, id));
            let mut inside =
                inside.flat_map(|(other, claims)| claims.iter().map(move |claim| (other, claim)));
            if let Some((_, claim)) = inside.find(|(other, claim)| theirs(claim) && keeps(other, claim)) {
                return Some(Other::Perhaps(owner(claim).inside()));
            }
        }
        self.unplaced.iter().filter(theirs).find_map(|claim| {
            let (_, manifest) = claim.manifest(works)?;
            if may_go_with(manifest, id) {
                return Some(Other::Perhaps(owner(claim).inside()));
            }
            // A namespace means nothing to a kind without.
            let is_same = (&manifest.group, &manifest.name) == (&id.group, &id.name)
                && (manifest.namespace == id.namespace || id.namespace.is_empty());
            is_same.then(|| Other::Perhaps(owner(claim)))
        })
    }
}

/// A work that comes before another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) work: WorkKey,
    /// Whether it was told that it does not get the object. It counts only if it has applied it before.
    pub(crate) is_refused: bool,
}

/// What a work says about one of its manifests.
fn settled(work: &Work, manifest: &Manifest, kinds: &Kinds) -> Option<Target> {
    let settings = work.wish.as_ref().map_or(&[][..], |wish| &wish.settings);
    resolve(manifest, settings, kinds)?.ok()
}

/// Reasons of a manifest that nobody applies until the work, or what its executor may do, is another one.
const REFUSALS: [&str; 4] = [
    "Refused",
    "InvalidExecutor",
    "InvalidManifest",
    "AppliedManifestSSAIgnoreFieldError",
];

/// The generation of a work for which it was said that it does not get an object.
fn refused(work: &Work, id: &ObjectId, kind: &str) -> Option<i64> {
    let mut manifests = work.status.manifests.iter();
    let said = manifests.find(|said| {
        let meta = &said.resource_meta;
        (&meta.group, meta.kind.as_str(), &meta.namespace, &meta.name)
            == (&id.group, kind, &id.namespace, &id.name)
    })?;
    let mut conditions = said.conditions.iter();
    let applied = conditions.find(|condition| condition.type_ == conditions_of::APPLIED)?;
    let is_refused = applied.status == "False" && REFUSALS.contains(&applied.reason.as_str());
    is_refused.then_some(applied.observed_generation.unwrap_or_default())
}

/// Whether two works would write over each other. Where their managers are different ones, the server tells them apart: fields
/// that one has alone are its own, and a field of both is a conflict for the work that does not force. If both works
/// force, each write is followed by another one without end.
fn is_contest(ours: &Target, theirs: &Target) -> bool {
    let (
        Strategy::Apply { manager, force, .. },
        Strategy::Apply {
            manager: their_manager,
            force: they_force,
            ..
        },
    ) = (&ours.config.strategy, &theirs.config.strategy)
    else {
        return false;
    };
    let (body, their_body) = (&ours.manifest.body, &theirs.manifest.body);
    match manager == their_manager {
        true => body != their_body,
        false => *force && *they_force && disagree(body, their_body),
    }
}

/// Whether two values cannot both be had. Elements of lists with names are compared by name.
fn disagree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let mut common = a.iter().filter_map(|(name, a)| Some((a, b.get(name)?)));
            common.any(|(a, b)| disagree(a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
            let named = |items: &[Value]| items.iter().map(name).collect::<Option<Vec<String>>>();
            match (named(a), named(b)) {
                (Some(_), Some(_)) => a.iter().any(|a| {
                    let mut same = b.iter().filter(|b| name(a) == name(b));
                    same.any(|b| disagree(a, b))
                }),
                _ => a != b,
            }
        }
        _ => a != b,
    }
}

/// Whether anything goes with the object.
fn holds_others(id: &ObjectId) -> bool {
    [NAMESPACES, DEFINITIONS].contains(&(id.group.as_str(), id.resource.as_str()))
}

/// Whether an object goes when another does: with its namespace, or with the definition of its kind.
fn goes_with(object: &ObjectId, holder: &ObjectId) -> bool {
    match (holder.group.as_str(), holder.resource.as_str()) {
        NAMESPACES => object.namespace == holder.name,
        DEFINITIONS => format!("{}.{}", object.resource, object.group) == holder.name,
        _ => false,
    }
}

/// The same for an object whose kind is not known, as far as that can be told.
fn may_go_with(manifest: &Manifest, holder: &ObjectId) -> bool {
    match (holder.group.as_str(), holder.resource.as_str()) {
        NAMESPACES => manifest.namespace == holder.name,
        DEFINITIONS => {
            let group = holder.name.split_once('.').map(|(_, group)| group);
            group == Some(manifest.group.as_str())
        }
        _ => false,
    }
}

const NAMESPACES: (&str, &str) = ("", "namespaces");
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

impl Owner {
    /// The same, of something in the object.
    fn inside(self) -> Owner {
        Owner(format!("{}, which has something in it,", self.0))
    }

    /// Another record on the member cluster that lists something that would go with the object.
    pub(crate) fn inside_by_record(records: &[Record], own: &Record, id: &ObjectId) -> Option<Owner> {
        others(records, own)
            .find(|record| record.entries.keys().any(|entry| goes_with(entry, id)))
            .map(|record| record_owner(record).inside())
    }

    /// Another record on the member cluster that lists the object, of this hub or of another.
    pub(crate) fn by_record(records: &[Record], own: &Record, id: &ObjectId) -> Option<Owner> {
        others(records, own)
            .find(|record| record.entries.contains_key(id))
            .map(record_owner)
    }

    /// Another record that the object itself names as its owner.
    pub(crate) fn by_reference(there: &Value, own: Option<&RecordReference>) -> Option<Owner> {
        let text = |reference: &Value, field: &str| {
            let text = reference.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        references(there)
            .iter()
            .filter(|reference| {
                let kind = text(reference, "kind");
                matches!(kind.as_str(), "AppliedManifestWork" | "AppliedWork")
            })
            .find(|reference| own.is_none_or(|own| !own.is_meant_by(reference)))
            .map(|reference| Owner(format!("{} {}", text(reference, "kind"), text(reference, "name"))))
    }
}

fn others<'r>(records: &'r [Record], own: &Record) -> impl Iterator<Item = &'r Record> + use<'r> {
    let uid = |record: &Record| record.stored.as_ref().map(|stored| stored.uid.clone());
    let own = uid(own);
    records.iter().filter(move |record| uid(record) != own)
}

fn record_owner(record: &Record) -> Owner {
    Owner(format!("the record {} of a {}", record.name, record.key.kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Ignored};

    fn target(manager: &str, force: bool, data: Value) -> Target {
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
        Target {
            id: ObjectId::default(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            manifest: Manifest::read(&object).unwrap(),
            config: Config {
                strategy: Strategy::Apply {
                    manager: manager.to_owned(),
                    force,
                    ignored: Ignored::default(),
                    finalizers_once: false,
                },
                ..Config::default()
            },
        }
    }

    #[test]
    fn works_with_managers_of_their_own_are_in_each_other_s_way_only_if_both_force_another_value() {
        let (one, other) = (json!({ "k": "1" }), json!({ "k": "2" }));
        let ours = |force| target("work-agent-a", force, one.clone());
        assert!(
            is_contest(&ours(true), &target("work-agent-a", true, other.clone())),
            "one manager"
        );
        assert!(!is_contest(
            &ours(true),
            &target("work-agent-a", true, one.clone())
        ));
        assert!(!is_contest(
            &ours(true),
            &target("work-agent-b", false, other.clone())
        ));
        assert!(!is_contest(
            &ours(false),
            &target("work-agent-b", true, other.clone())
        ));
        assert!(is_contest(&ours(true), &target("work-agent-b", true, other)));
        assert!(!is_contest(
            &ours(true),
            &target("work-agent-b", true, json!({ "l": "2" }))
        ));
    }

    #[test]
    fn lists_disagree_by_name_where_their_elements_have_one() {
        let list = |name: &str, image: &str| json!([{ "name": name, "image": image }]);
        assert!(!disagree(&list("a", "1"), &list("b", "2")));
        assert!(disagree(&list("a", "1"), &list("a", "2")));
        assert!(disagree(&json!([1]), &json!([2])) && !disagree(&json!([1]), &json!([1])));
    }

    fn id(group: &str, resource: &str, namespace: &str, name: &str) -> ObjectId {
        ObjectId {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn what_is_in_a_namespace_or_of_a_kind_goes_with_it() {
        let (space, kind) = (
            id("", "namespaces", "", "shop"),
            id(
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                "",
                "widgets.example.com",
            ),
        );
        let widget = id("example.com", "widgets", "shop", "w");
        assert!(goes_with(&widget, &space) && goes_with(&widget, &kind));
        let other = id("example.com", "gadgets", "other", "shop");
        assert!(!goes_with(&other, &space) && !goes_with(&other, &kind));
        // Only these two have anything in them.
        assert!(!goes_with(&widget, &id("", "configmaps", "", "shop")));
        assert!(!goes_with(&widget, &id("example.com", "namespaces", "", "shop")));
    }
}
