//! What was found out about the objects that works ask for: which of them a work gets, and which it is refused.
//!
//! A refused work has no say in an object that it has not applied. The agent remembers the judgement itself, and does not read it
//! from the status of the work: the hub can refuse a status, a status has no room for thousands of manifests, and others can
//! write it. After a restart nothing is judged yet, and what was not judged is in doubt until the work is dealt with, or its
//! executor is found to have no right.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::sabotage::{Rule, sabotaged};
use crate::work::{Account, Executor, ObjectId, Strategy, Work, WorkKey};

/// What came of an object that a work asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The work gets the object, now or when an older work lets go of it.
    Gets,
    /// The agent does not apply the object for this work until the work changes or its executor gets the missing rights.
    Refused,
}

/// The judgements of all works.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgements(BTreeMap<WorkKey, Arc<Judgement>>);

/// The judgement of a work as it was when it was dealt with.
#[derive(Debug)]
struct Judgement {
    uid: String,
    content: String,
    verdicts: BTreeMap<ObjectId, Verdict>,
}

impl Judgements {
    /// Keeps what came of the objects of a work. One that is not among them is in doubt.
    pub(crate) fn note(&mut self, work: &Work, found: impl Iterator<Item = (ObjectId, Verdict)>) {
        let mut verdicts = BTreeMap::new();
        for (id, verdict) in found {
            // A second manifest of the same object is refused, and takes nothing away from the first.
            let kept = verdicts.entry(id).or_insert(verdict);
            if verdict == Verdict::Gets {
                *kept = verdict;
            }
        }
        let judgement = Judgement {
            uid: work.uid.clone(),
            content: work.content.clone(),
            verdicts,
        };
        self.0.insert(work.key.clone(), Arc::new(judgement));
    }

    /// Forgets a work that is not on the hub any more.
    pub(crate) fn forget(&mut self, key: &WorkKey) {
        self.0.remove(key);
    }

    /// What came of an object of a work; `None` if the work, as it is now, was not dealt with.
    fn of(&self, work: &Work, id: &ObjectId) -> Option<Verdict> {
        let judgement = self.0.get(&work.key)?;
        let is_about = (&judgement.uid, &judgement.content) == (&work.uid, &work.content);
        judgement.verdicts.get(id).copied().filter(|_| is_about)
    }
}

/// Whether a work has a say in an object that it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has.
    Gets,
    /// It has none, unless it has applied the object before.
    Refused,
    /// It was not judged as it is now. If it has an executor, the executor has to be allowed this.
    Open(Option<Need>),
}

/// What an executor has to be allowed, for its work to have a say in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) account: Account,
    pub(crate) id: ObjectId,
    pub(crate) verbs: Vec<&'static str>,
}

impl Standing {
    /// The standing of a work towards an object that one of its manifests names, which it deals with in this way.
    pub(crate) fn of(
        work: &Work,
        id: &ObjectId,
        strategy: &Strategy,
        judged: &Judgements,
        verbs: Vec<&'static str>,
    ) -> Standing {
        if sabotaged(Rule::AskingIsNotOwning) {
            return Standing::Gets;
        }
        if *strategy == Strategy::ReadOnly {
            return Standing::Refused;
        }
        match (&work.desired, judged.of(work, id)) {
            (Ok(desired), _) if matches!(desired.executor, Executor::Invalid(_)) => Standing::Refused,
            (_, Some(Verdict::Gets)) => Standing::Gets,
            (_, Some(Verdict::Refused)) => Standing::Refused,
            (Ok(desired), None) => Standing::Open(desired.executor.account().map(|account| Need {
                account: account.clone(),
                id: id.clone(),
                verbs,
            })),
            (Err(_), None) => Standing::Open(None),
        }
    }

    /// What has to be asked before it is known whether the work may have a say.
    pub(crate) fn need(&self) -> Option<&Need> {
        match self {
            Standing::Open(need) => need.as_ref(),
            Standing::Gets | Standing::Refused => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;
    use crate::work::{WorkKind, read};

    fn work(uid: &str, generation: i64, spec: &Value) -> Work {
        let metadata = ObjectMeta {
            name: Some("w".to_owned()),
            uid: Some(uid.to_owned()),
            generation: Some(generation),
            ..ObjectMeta::default()
        };
        read(WorkKind::ManifestWork, &metadata, spec, &Value::Null)
    }

    fn spec(executor: Value, value: &str) -> Value {
        json!({ "executor": executor, "workload": { "manifests": [{ "k": value }] } })
    }

    fn executor() -> Value {
        json!({ "subject": { "type": "ServiceAccount", "serviceAccount": { "namespace": "n", "name": "a" } } })
    }

    fn of(work: &Work, judged: &Judgements) -> Standing {
        Standing::of(
            work,
            &ObjectId::default(),
            &Strategy::default(),
            judged,
            vec!["get"],
        )
    }

    #[test]
    fn a_judgement_is_about_one_work_with_one_content() {
        let mut judged = Judgements::default();
        let confined = work("u", 1, &spec(executor(), "1"));
        let Standing::Open(Some(need)) = of(&confined, &judged) else {
            panic!("nothing was judged");
        };
        assert_eq!((need.account.name.as_str(), need.verbs), ("a", vec!["get"]));
        for (verdict, standing) in [
            (Verdict::Refused, Standing::Refused),
            (Verdict::Gets, Standing::Gets),
        ] {
            judged.note(&confined, [(ObjectId::default(), verdict)].into_iter());
            assert_eq!(of(&confined, &judged), standing);
            let edited = work("u", 2, &spec(executor(), "2"));
            assert!(matches!(of(&edited, &judged), Standing::Open(Some(_))));
            let made_anew = work("v", 1, &spec(executor(), "1"));
            assert!(matches!(of(&made_anew, &judged), Standing::Open(Some(_))));
        }
        judged.forget(&confined.key);
        assert!(matches!(of(&confined, &judged), Standing::Open(Some(_))));
        assert_eq!(
            of(&work("u", 1, &spec(Value::Null, "1")), &judged),
            Standing::Open(None)
        );
    }

    #[test]
    fn a_second_manifest_of_an_object_takes_nothing_away_from_the_first() {
        use Verdict::{Gets, Refused};
        let (mut judged, work) = (Judgements::default(), work("u", 1, &spec(Value::Null, "1")));
        for (verdicts, standing) in [
            ([Gets, Refused], Standing::Gets),
            ([Refused, Gets], Standing::Gets),
            ([Refused, Refused], Standing::Refused),
        ] {
            judged.note(
                &work,
                verdicts.map(|verdict| (ObjectId::default(), verdict)).into_iter(),
            );
            assert_eq!(of(&work, &judged), standing);
        }
    }

    #[test]
    fn who_only_looks_or_has_half_an_executor_needs_no_judgement() {
        let (judged, half) = (
            Judgements::default(),
            json!({ "subject": { "type": "ServiceAccount" } }),
        );
        assert_eq!(of(&work("u", 1, &spec(half, "1")), &judged), Standing::Refused);
        let looking = work("u", 1, &spec(Value::Null, "1"));
        let standing = Standing::of(
            &looking,
            &ObjectId::default(),
            &Strategy::ReadOnly,
            &judged,
            vec!["get"],
        );
        assert_eq!(standing, Standing::Refused);
    }
}
