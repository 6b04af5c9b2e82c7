//! What an executor must be allowed to do before anything is done for it, and which answers still count.

use std::collections::BTreeMap;
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
}

impl Allowed {
    pub(crate) fn new(uid: &str, generation: i64, account: &Account) -> Allowed {
        Allowed {
            uid: uid.to_owned(),
            generation,
            account: account.clone(),
            asked: BTreeMap::new(),
        }
    }

    /// Whether this is about the work as it is now.
    pub(crate) fn is_about(&self, uid: &str, generation: i64, account: &Account) -> bool {
        (self.uid.as_str(), self.generation, &self.account) == (uid, generation, account)
    }

    /// Keeps that something is allowed, as it was asked at this time.
    pub(crate) fn note(&mut self, right: Right, asked: Timestamp) {
        self.asked.insert(right, asked);
    }

    /// Whether it is known that this is allowed for the object.
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
}
