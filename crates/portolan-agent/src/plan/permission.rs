//! What an executor must be allowed to do before anything is done for it, and which answers still count.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::work::{Account, ObjectId, Strategy};

/// How long it counts that something is allowed. That it is not counts until the next try.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// One thing to be allowed: to do this to objects of a kind, in one namespace if they have one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    pub(crate) verb: &'static str,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    /// To one of them only; `None` for all.
    pub(crate) name: Option<String>,
}

impl Right {
    /// To do it to every object beside this one.
    pub(crate) fn to_all(verb: &'static str, id: &ObjectId) -> Right {
        Right {
            verb,
            group: id.group.clone(),
            resource: id.resource.clone(),
            namespace: id.namespace.clone(),
            name: None,
        }
    }

    /// To do it to this object. A namespace counts as being in itself, except when it is made.
    pub(crate) fn to_one(verb: &'static str, id: &ObjectId) -> Right {
        let all = Right::to_all(verb, id);
        let is_namespace = (id.group.as_str(), id.resource.as_str()) == ("", "namespaces");
        Right {
            namespace: match is_namespace && verb != "create" {
                true => id.name.clone(),
                false => all.namespace,
            },
            name: Some(id.name.clone()),
            ..all
        }
    }
}

/// The verbs that applying an object takes. What is `owned` goes with its work.
pub(crate) fn verbs(strategy: &Strategy, owned: bool) -> Vec<&'static str> {
    let mut verbs = match strategy {
        Strategy::ReadOnly => return vec!["get"],
        Strategy::CreateOnly => vec!["get", "create"],
        Strategy::Apply { .. } => vec!["get", "create", "patch"],
    };
    if owned {
        verbs.push("delete");
    }
    verbs
}

/// What is said of an object that an executor may not deal with.
pub(crate) fn denial(account: &Account, id: &ObjectId, denied: &[&str]) -> String {
    format!(
        "the executor {} may not {} {id}; accepted: a role on the member cluster that allows it",
        account.user(),
        denied.join(", ")
    )
}

/// What an executor was found to be allowed, for one generation of a work.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    uid: String,
    generation: i64,
    account: Account,
    asked: BTreeMap<Right, Timestamp>,
    /// What was not allowed when it was last asked for.
    denied: BTreeSet<Right>,
    /// The right of each scope that was asked for last, where not all were.
    last: [Option<Right>; 2],
}

/// What a right is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    /// All objects of a kind.
    All,
    /// One object.
    One,
}

impl Scope {
    /// The right to do this to the object, or to all beside it.
    pub(crate) fn right(self, verb: &'static str, id: &ObjectId) -> Right {
        match self {
            Scope::All => Right::to_all(verb, id),
            Scope::One => Right::to_one(verb, id),
        }
    }
}

/// Rights of each scope that are asked for in one look at a work. Fewer would make works with many objects slow to begin, more
/// would let the author of a large work keep other works of the cluster waiting.
const MOST_QUESTIONS: usize = 512;

impl Allowed {
    pub(crate) fn new(uid: &str, generation: i64, account: &Account) -> Allowed {
        Allowed {
            uid: uid.to_owned(),
            generation,
            account: account.clone(),
            asked: BTreeMap::new(),
            denied: BTreeSet::new(),
            last: [None, None],
        }
    }

    /// Whether this is about the work as it is now.
    pub(crate) fn is_about(&self, uid: &str, generation: i64, account: &Account) -> bool {
        (self.uid.as_str(), self.generation, &self.account) == (uid, generation, account)
    }

    /// Keeps that something is allowed, as it was asked at this time.
    pub(crate) fn note(&mut self, right: Right, asked: Timestamp) {
        self.denied.remove(&right);
        self.asked.insert(right, asked);
    }

    /// Keeps that something is not allowed.
    pub(crate) fn note_denied(&mut self, right: Right) {
        self.asked.remove(&right);
        self.denied.insert(right);
    }

    /// Drops an answer: the member cluster does not say any more whether the right is allowed.
    pub(crate) fn forget(&mut self, right: &Right) {
        self.asked.remove(right);
    }

    /// Whether the last answer was that this is allowed for the object. An old answer counts until its turn to be asked for
    /// again: otherwise the objects of a large work would be refused between two turns.
    pub(crate) fn counts(&self, verb: &'static str, id: &ObjectId) -> bool {
        self.asked.contains_key(&Right::to_all(verb, id)) || self.asked.contains_key(&Right::to_one(verb, id))
    }

    /// Whether the right was asked for, and is not allowed.
    pub(crate) fn is_denied(&self, verb: &'static str, id: &ObjectId) -> bool {
        self.denied.contains(&Right::to_one(verb, id))
    }

    /// Those of the rights that are asked for in this look, in turns: what is denied is asked for again and again, and must not
    /// keep the rest from being asked for.
    pub(crate) fn next_questions(&mut self, scope: Scope, open: &BTreeSet<Right>) -> Vec<Right> {
        let last = &mut self.last[scope as usize];
        let mut rights: Vec<&Right> = open.iter().collect();
        let start = rights.partition_point(|right| Some(*right) <= last.as_ref());
        rights.rotate_left(start);
        rights.truncate(MOST_QUESTIONS);
        let rights: Vec<Right> = rights.into_iter().cloned().collect();
        *last = rights.last().cloned().filter(|_| rights.len() < open.len());
        rights
    }

    /// Whether the answer that this is allowed for the object is new enough not to be asked for again.
    pub(crate) fn has(&self, verb: &'static str, id: &ObjectId, now: Timestamp) -> bool {
        let counts = |right: &Right| {
            let asked = self.asked.get(right);
            asked.is_some_and(|asked| (*asked..*asked + GOOD_FOR).contains(&now))
        };
        counts(&Right::to_all(verb, id)) || counts(&Right::to_one(verb, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> Account {
        Account {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
        }
    }

    fn map(name: &str) -> ObjectId {
        ObjectId {
            resource: "configmaps".to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            ..ObjectId::default()
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_is_asked_is_what_is_done_and_delete_only_of_what_goes_with_the_work() {
        let apply = Strategy::default();
        assert_eq!(verbs(&apply, true), ["get", "create", "patch", "delete"]);
        assert_eq!(verbs(&apply, false), ["get", "create", "patch"]);
        assert_eq!(verbs(&Strategy::CreateOnly, true), ["get", "create", "delete"]);
        assert_eq!(verbs(&Strategy::ReadOnly, true), ["get"]);
    }

    #[test]
    fn a_yes_counts_for_a_minute_for_the_verb_and_the_objects_that_it_was_about() {
        let mut allowed = Allowed::new("u", 1, &account("deployer"));
        allowed.note(Right::to_all("get", &map("a")), at(100));
        allowed.note(Right::to_one("patch", &map("a")), at(100));
        assert!(allowed.has("get", &map("b"), at(159)) && allowed.has("patch", &map("a"), at(159)));
        assert!(!allowed.has("get", &map("b"), at(160)));
        assert!(!allowed.has("patch", &map("b"), at(100)));
        assert!(!allowed.has("delete", &map("a"), at(100)));
        assert!(!allowed.has("get", &map("a"), at(99)), "the clock went back");
        let elsewhere = ObjectId {
            namespace: "other".to_owned(),
            ..map("a")
        };
        assert!(!allowed.has("get", &elsewhere, at(100)));
    }

    #[test]
    fn a_namespace_is_in_itself_except_when_it_is_made() {
        let space = ObjectId {
            resource: "namespaces".to_owned(),
            name: "shop".to_owned(),
            ..ObjectId::default()
        };
        assert_eq!(Right::to_one("get", &space).namespace, "shop");
        assert_eq!(Right::to_one("create", &space).namespace, "");
        assert_eq!(Right::to_one("get", &map("a")).namespace, "shop");
    }

    #[test]
    fn a_yes_counts_for_one_generation_of_one_work_and_one_account() {
        let allowed = Allowed::new("u", 1, &account("deployer"));
        assert!(allowed.is_about("u", 1, &account("deployer")));
        assert!(!allowed.is_about("u", 2, &account("deployer")));
        assert!(!allowed.is_about("v", 1, &account("deployer")));
        assert!(!allowed.is_about("u", 1, &account("other")));
    }

    #[test]
    fn a_denial_names_who_what_and_which_verbs() {
        let said = denial(&account("deployer"), &map("a"), &["create", "delete"]);
        for word in [
            "system:serviceaccount:shop:deployer",
            "create, delete",
            "configmaps shop/a",
        ] {
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn many_questions_are_asked_in_turns_and_what_was_denied_stays_known() {
        let mut allowed = Allowed::new("u", 1, &account("deployer"));
        let one = |number: usize| Right::to_one("get", &map(&format!("m{number:04}")));
        let open: BTreeSet<Right> = (0..MOST_QUESTIONS + 3).map(one).collect();
        let first = allowed.next_questions(Scope::One, &open);
        assert_eq!((first.len(), &first[0]), (MOST_QUESTIONS, &one(0)));
        for right in first {
            allowed.note_denied(right);
        }
        let second = allowed.next_questions(Scope::One, &open);
        assert_eq!(second[0], one(MOST_QUESTIONS), "the next in turn");
        assert_eq!(second[3], one(0), "and then from the beginning");
        assert!(allowed.is_denied("get", &map("m0001")));
        assert!(!allowed.is_denied("get", &map("m0513")), "not asked for yet");
        let few: BTreeSet<Right> = (0..3).map(one).collect();
        assert_eq!(allowed.next_questions(Scope::One, &few).len(), 3);
        assert_eq!(allowed.next_questions(Scope::All, &few).len(), 3);
        allowed.note(one(1), at(0));
        assert!(!allowed.is_denied("get", &map("m0001")) && allowed.has("get", &map("m0001"), at(0)));
    }

    #[test]
    fn an_old_answer_counts_until_the_right_is_asked_for_again() {
        let mut allowed = Allowed::new("u", 1, &account("deployer"));
        let right = Right::to_one("get", &map("a"));
        assert!(!allowed.counts("get", &map("a")));
        allowed.note(right.clone(), at(0));
        assert!(!allowed.has("get", &map("a"), at(3600)), "it is to be asked for");
        assert!(allowed.counts("get", &map("a")));
        allowed.note_denied(right.clone());
        assert!(!allowed.counts("get", &map("a")));
        allowed.note(right.clone(), at(3600));
        allowed.forget(&right);
        assert!(!allowed.counts("get", &map("a")), "no answer is no permission");
    }
}
