//! Whether a work may be an older copy of what was applied here.
//!
//! A hub that is restored from a backup shows works as they were: with a lower generation, with another content at the
//! same generation, or made anew under another UID. None of that says that somebody wants objects removed, and a lower
//! generation not even that somebody wants the older content back. The first edit after that does, since it is made on
//! the hub as it is now: the record remembers the generation in doubt, and a higher one ends it.
//!
//! A record of another agent has no note of that. What its work says of itself takes the place of the note: the generation
//! that `Applied` is about. A work without `Applied` was not dealt with by anybody yet, so that it cannot have given up what
//! the record lists: the hub is another one, or was restored from before.

use crate::record::{Note, Record};
use crate::sabotage::{Rule, sabotaged};
use crate::work::Work;

/// How far a work is to be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It says what is wanted.
    Full,
    /// It says what is wanted, but not that anything else is not wanted any more.
    ApplyOnly,
    /// It is older than what was applied, in this generation.
    None { applied: i64 },
}

/// How far the work is to be trusted, and what the record says from now on.
pub(crate) fn trust(work: &Work, record: &Record) -> (Trust, Note) {
    let now = Note::of(work);
    if sabotaged(Rule::HubWentBack) {
        return (Trust::Full, now);
    }
    let in_doubt = Note {
        keep_at: Some(work.generation),
        ..now.clone()
    };
    let noted = match (record.note.uid.as_str(), work.applied_generation()) {
        ("", _) if record.entries.is_empty() => return (Trust::Full, now),
        ("", None) => return (Trust::ApplyOnly, in_doubt),
        ("", Some(generation)) => &Note {
            generation,
            ..now.clone()
        },
        _ => &record.note,
    };
    if noted.uid != work.uid {
        return (Trust::ApplyOnly, in_doubt);
    }
    let edited_since = noted.keep_at.is_some_and(|kept| work.generation > kept);
    if work.generation < noted.generation && !edited_since {
        let held = Note {
            keep_at: Some(work.generation),
            ..noted.clone()
        };
        let applied = noted.generation;
        return (Trust::None { applied }, held);
    }
    let rewritten = work.generation == noted.generation && work.content != noted.content;
    if rewritten && !edited_since || noted.keep_at == Some(work.generation) {
        return (Trust::ApplyOnly, in_doubt);
    }
    (Trust::Full, now)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;
    use crate::record::Entry;
    use crate::work::{ObjectId, WorkKind, read};

    fn work(uid: &str, generation: i64, content: &str) -> Work {
        let metadata = ObjectMeta {
            name: Some("web".to_owned()),
            uid: Some(uid.to_owned()),
            generation: Some(generation),
            ..ObjectMeta::default()
        };
        let spec = json!({ "workload": { "manifests": [content] } });
        read(WorkKind::ManifestWork, &metadata, &spec, &Value::Null)
    }

    /// Shows the work in these states one after the other.
    fn stances(states: &[(&str, i64, &str)]) -> Vec<Trust> {
        let mut record = Record::new(&work("", 0, "").key, String::new());
        let mut seen = Vec::new();
        for (uid, generation, content) in states {
            let (trust, note) = trust(&work(uid, *generation, content), &record);
            record.note = note;
            seen.push(trust);
        }
        seen
    }

    #[test]
    fn the_record_of_another_agent_goes_by_what_its_work_says_of_itself() {
        let of = |generation: i64, applied: Option<i64>| {
            let mut work = work("u", generation, "a");
            let condition = |applied: i64| {
                let time = "2026-01-01T00:00:00Z";
                json!({
                    "type": "Applied", "status": "True", "reason": "r", "message": "", "lastTransitionTime": time,
                    "observedGeneration": applied,
                })
            };
            let conditions = applied.map(|applied| serde_json::from_value(condition(applied)).unwrap());
            work.status.conditions.extend(conditions);
            let mut record = Record::new(&work.key, String::new());
            record.entries.insert(ObjectId::default(), Entry::default());
            trust(&work, &record).0
        };
        assert_eq!(of(3, None), Trust::ApplyOnly, "nobody has dealt with it");
        assert_eq!(of(3, Some(3)), Trust::Full);
        assert_eq!(of(3, Some(2)), Trust::Full, "it was edited since");
        assert_eq!(of(3, Some(5)), Trust::None { applied: 5 });
    }

    #[test]
    fn edits_in_order_are_trusted() {
        use Trust::Full;
        assert_eq!(
            stances(&[("u", 1, "a"), ("u", 1, "a"), ("u", 2, "b"), ("u", 7, "c")]),
            [Full, Full, Full, Full]
        );
    }

    #[test]
    fn an_older_generation_is_held_until_the_work_is_edited() {
        use Trust::{Full, None};
        let hold = || None { applied: 5 };
        assert_eq!(
            stances(&[
                ("u", 5, "e"),
                ("u", 3, "c"),
                ("u", 3, "c"),
                ("u", 2, "b"),
                ("u", 3, "x"),
                ("u", 3, "x")
            ]),
            [Full, hold(), hold(), hold(), Full, Full]
        );
    }

    #[test]
    fn the_right_generation_coming_back_ends_the_doubt() {
        use Trust::{Full, None};
        assert_eq!(
            stances(&[("u", 5, "e"), ("u", 3, "c"), ("u", 5, "e")]),
            [Full, None { applied: 5 }, Full]
        );
    }

    #[test]
    fn another_content_at_the_same_generation_removes_nothing_until_the_next_edit() {
        use Trust::{ApplyOnly, Full};
        assert_eq!(
            stances(&[("u", 5, "e"), ("u", 5, "x"), ("u", 5, "x"), ("u", 6, "y")]),
            [Full, ApplyOnly, ApplyOnly, Full]
        );
    }

    #[test]
    fn a_work_made_anew_removes_nothing_until_it_is_edited() {
        use Trust::{ApplyOnly, Full};
        assert_eq!(
            stances(&[("u", 5, "e"), ("v", 1, "a"), ("v", 1, "a"), ("v", 2, "b")]),
            [Full, ApplyOnly, ApplyOnly, Full]
        );
    }
}
