//! What works ask for, by object, and which of them come before another one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::judgement::{Judgements, Need, Standing};
use super::owners::{Other, Owner, goes_with, holds_others, may_be, may_go_with};
use super::permission::verbs;
use super::removal::is_orphaned;
use crate::sabotage::{Rule, sabotaged};
use crate::work::{
    Executor, Kinds, Manifest, ObjectId, Strategy, Target, Work, WorkKey, place, resolve, strategy,
};

/// What all works that are not being deleted ask for, by object. Made once for all objects of a work: works may have thousands
/// of manifests each.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    placed: BTreeMap<ObjectId, Vec<Claim>>,
    /// Manifests whose kind is not known.
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
        let desired = work.desired.as_ref().ok()?;
        let manifest = desired.manifests.get(self.number)?.as_ref().ok()?;
        Some((work, manifest))
    }

    fn owner(&self) -> Owner {
        Owner(self.work.to_string())
    }
}

impl Ownership {
    pub(crate) fn new(works: &BTreeMap<WorkKey, Arc<Work>>, kinds: &Kinds) -> Ownership {
        let mut claims = Ownership::default();
        for work in works.values().filter(|work| !work.deleting) {
            let Ok(desired) = &work.desired else {
                claims.unreadable.push(work.key.clone());
                continue;
            };
            let key = Arc::new(work.key.clone());
            for (number, manifest) in desired.manifests.iter().enumerate() {
                let Ok(manifest) = manifest else { continue };
                let claim = Claim {
                    work: key.clone(),
                    number,
                };
                match place(manifest, kinds) {
                    Some(Ok(id)) => claims.placed.entry(id).or_default().push(claim),
                    // The agent does not apply this manifest. A corrected manifest is a new claim.
                    Some(Err(_)) => {}
                    None => claims.unplaced.push(claim),
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
        judged: &Judgements,
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
            .map(|(other, _)| Rival {
                work: other.key.clone(),
                standing: standing(other, &ours.id, judged),
            })
            .collect()
    }

    /// The works that may have a say in an object which another one is to remove: those that ask for the object or for something
    /// in it, one that cannot be read, and those whose manifest has the right names and a kind that is not known. The first are
    /// those that may have it for certain. Works without a say are left out.
    pub(crate) fn contenders(
        &self,
        works: &BTreeMap<WorkKey, Arc<Work>>,
        judged: &Judgements,
        key: &WorkKey,
        id: &ObjectId,
    ) -> Vec<Contender> {
        let theirs = |claim: &&Claim| *claim.work != *key;
        let same = self.placed.get(id).into_iter().flatten().filter(theirs);
        let mut contenders: Vec<Contender> = same
            .filter_map(|claim| {
                let (work, _) = claim.manifest(works)?;
                Contender::new(claim.owner(), true, standing(work, id, judged))
            })
            .collect();
        let mut unreadable = self.unreadable.iter().filter(|other| *other != key);
        if let Some(other) = unreadable.next() {
            let owner = Owner(other.to_string());
            contenders.extend(Contender::new(owner, false, Standing::Gets));
            return contenders;
        }
        if holds_others(id) {
            let inside = self.placed.iter().filter(|(other, _)| goes_with(other, id));
            let inside = inside.flat_map(|(other, claims)| claims.iter().map(move |claim| (other, claim)));
            for (other, claim) in inside.filter(|(_, claim)| theirs(claim)) {
                let Some((work, _)) = claim.manifest(works) else {
                    continue;
                };
                let standing = standing(work, other, judged);
                let decides = standing == Standing::Gets;
                contenders.extend(Contender::new(claim.owner().inside(), false, standing));
                if decides {
                    return contenders;
                }
            }
        }
        let unplaced = self.unplaced.iter().filter(theirs);
        contenders.extend(unplaced.filter_map(|claim| {
            let (work, manifest) = claim.manifest(works)?;
            let (owner, standing) = unplaced_standing(claim, work, manifest, id)?;
            Contender::new(owner, false, standing)
        }));
        contenders
    }
}

/// A work that comes before another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) work: WorkKey,
    /// Without a say it counts only if it has applied the object before.
    pub(crate) standing: Standing,
}

/// A work that may have a say in an object which another one is to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    owner: Owner,
    /// Whether it is this very object that the work asks for.
    is_same: bool,
    pub(crate) standing: Standing,
}

impl Contender {
    fn new(owner: Owner, is_same: bool, standing: Standing) -> Option<Contender> {
        (standing != Standing::Refused).then_some(Contender {
            owner,
            is_same,
            standing,
        })
    }

    /// Whether the work can turn out to own the object for certain.
    pub(crate) fn may_own(&self) -> bool {
        self.is_same && self.standing == Standing::Gets
    }

    /// What the work means for the object, if its executor is allowed what it needs. A work that was not judged yet is in
    /// doubt: an object that is left to a work which is refused afterwards would be left for good.
    pub(crate) fn settled(self, is_allowed: bool) -> Option<Other> {
        match &self.standing {
            Standing::Refused => None,
            Standing::Open(Some(_)) if !is_allowed => None,
            Standing::Gets if self.is_same => Some(Other::Owns(self.owner)),
            Standing::Open(_) if self.is_same && sabotaged(Rule::JudgeFirst) => Some(Other::Owns(self.owner)),
            Standing::Gets | Standing::Open(_) => Some(Other::Perhaps(self.owner)),
        }
    }
}

/// The standing of a work towards an object that one of its manifests names.
fn standing(work: &Work, id: &ObjectId, judged: &Judgements) -> Standing {
    let Ok(desired) = &work.desired else {
        return Standing::Open(None);
    };
    let strategy = strategy(id, &desired.settings);
    let is_owned = !is_orphaned(&desired.delete_option, id);
    Standing::of(work, id, &strategy, judged, verbs(&strategy, is_owned))
}

/// The same where the kind of the manifest is not known, so that it may be the object or in it. What the work has applied is in
/// its record, which counts by itself; so nothing that an executor has made is lost if its manifest counts for nothing.
fn unplaced_standing(
    claim: &Claim,
    work: &Work,
    manifest: &Manifest,
    id: &ObjectId,
) -> Option<(Owner, Standing)> {
    let executor = &work.desired.as_ref().ok()?.executor;
    if may_go_with(manifest, id) {
        // What an executor needs for a kind that is not known cannot be asked.
        let standing = match executor {
            Executor::Agent => Standing::Gets,
            Executor::Account(_) | Executor::Invalid(_) => Standing::Refused,
        };
        return Some((claim.owner().inside(), standing));
    }
    let standing = match executor {
        Executor::Agent => Standing::Gets,
        Executor::Account(account) => Standing::Open(Some(Need {
            account: account.clone(),
            id: id.clone(),
            verbs: verbs(&Strategy::default(), false),
        })),
        Executor::Invalid(_) => Standing::Refused,
    };
    may_be(manifest, id).then(|| (claim.owner(), standing))
}

/// What a work says about one of its manifests.
fn settled(work: &Work, manifest: &Manifest, kinds: &Kinds) -> Option<Target> {
    let settings = work.desired.as_ref().map_or(&[][..], |desired| &desired.settings);
    resolve(manifest, settings, kinds)?.ok()
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
        (Value::Array(a), Value::Array(b)) => match (named(a), named(b)) {
            (Some(a), Some(b)) => {
                let mut of_both = a.iter().filter_map(|(name, a)| Some((a, b.get(name)?)));
                of_both.any(|(a, b)| a.iter().any(|a| b.iter().any(|b| disagree(a, b))))
            }
            _ => a != b,
        },
        _ => a != b,
    }
}

/// The elements of a list by name, if all have one. Two lists of tenants are not compared element by element: that would take
/// the product of two lengths. Of elements with one name the first few count; a server accepts no more than one.
fn named(items: &[Value]) -> Option<HashMap<&str, Vec<&Value>>> {
    const MOST_OF_A_NAME: usize = 2;
    let mut by_name: HashMap<&str, Vec<&Value>> = HashMap::with_capacity(items.len());
    for item in items {
        let of_name = by_name.entry(item.get("name")?.as_str()?).or_default();
        if of_name.len() < MOST_OF_A_NAME {
            of_name.push(item);
        }
    }
    Some(by_name)
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
    fn works_with_own_managers_conflict_only_if_both_force_another_value() {
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

    /// A comparison of each element with each takes minutes here; an index takes a moment.
    #[test]
    fn long_lists_are_compared_without_a_search_for_each_element() {
        let list = |from: usize, to: usize| -> Value {
            (from..to)
                .map(|number| json!({ "name": number.to_string(), "value": from }))
                .collect()
        };
        assert!(!disagree(&list(0, 40_000), &list(40_000, 80_000)));
        assert!(disagree(&list(0, 40_000), &list(39_999, 80_000)));
    }
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod contender_tests;
