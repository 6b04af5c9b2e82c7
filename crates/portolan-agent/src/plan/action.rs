use serde_json::Value;

use super::drift::contains;
use super::ignore::with_ignored;
use crate::work::{Fault, Strategy, Target, hash};

/// What is done about one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Nothing: it is as it should be, or not ours to change.
    Leave,
    /// It is made.
    Create { body: Value },
    /// It is brought up to date.
    Apply {
        body: Value,
        manager: String,
        force: bool,
    },
    /// It is only looked at, and is not there.
    Absent,
}

/// How an object was left after it was last seen to be right. Lives in memory only: after a start everything is applied
/// once, which changes nothing where nothing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Hash of what was wanted.
    wanted: String,
    /// Of the object.
    uid: String,
    version: String,
}

impl Seen {
    /// The object as it is, for what is wanted of it.
    pub(crate) fn of(target: &Target, there: &Value) -> Seen {
        let text = |pointer: &str| {
            let text = there.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Seen {
            wanted: wanted(target),
            uid: text("/metadata/uid"),
            version: text("/metadata/resourceVersion"),
        }
    }
}

fn wanted(target: &Target) -> String {
    format!("{} {:?}", hash(&target.manifest.body), target.config.strategy)
}

/// What is to be done about an object that is there, or is not.
pub(crate) fn act(target: &Target, there: Option<&Value>, seen: Option<&Seen>) -> Result<Action, Fault> {
    let body = &target.manifest.body;
    match (&target.config.strategy, there) {
        (Strategy::ReadOnly, None) => Ok(Action::Absent),
        (Strategy::CreateOnly, None) => Ok(Action::Create { body: body.clone() }),
        (Strategy::ReadOnly | Strategy::CreateOnly, Some(_)) => Ok(Action::Leave),
        (
            Strategy::Apply {
                manager,
                force,
                ignored,
            },
            there,
        ) => {
            let body = with_ignored(body, there, ignored)?;
            if let (Some(there), Some(seen)) = (there, seen) {
                let now = Seen::of(target, there);
                let unchanged = *seen == now;
                let wanted_and_there =
                    seen.wanted == now.wanted && seen.uid == now.uid && contains(there, &body);
                if unchanged || wanted_and_there {
                    return Ok(Action::Leave);
                }
            }
            Ok(Action::Apply {
                body,
                manager: manager.clone(),
                force: *force,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Manifest, ObjectId};

    fn target(strategy: Strategy, value: &str) -> Target {
        let manifest = Manifest::read(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" }, "data": { "k": value },
        }))
        .unwrap();
        Target {
            id: ObjectId::default(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            manifest,
            config: Config {
                strategy,
                ..Config::default()
            },
        }
    }

    fn there(version: &str, value: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "namespace": "n", "uid": "u", "resourceVersion": version }, "data": { "k": value },
        })
    }

    fn is_applied(target: &Target, object: &Value, seen: Option<&Seen>) -> bool {
        matches!(act(target, Some(object), seen), Ok(Action::Apply { .. }))
    }

    #[test]
    fn an_object_is_applied_once_and_again_when_it_or_the_manifest_changed() {
        let wanted = target(Strategy::default(), "1");
        assert!(is_applied(&wanted, &there("5", "1"), None));
        let seen = Seen::of(&wanted, &there("5", "1"));
        assert!(!is_applied(&wanted, &there("5", "1"), Some(&seen)));
        assert!(
            !is_applied(&wanted, &there("6", "1"), Some(&seen)),
            "somebody changed something else"
        );
        assert!(
            is_applied(&wanted, &there("6", "2"), Some(&seen)),
            "somebody changed our field"
        );
        assert!(is_applied(
            &target(Strategy::default(), "2"),
            &there("5", "1"),
            Some(&seen)
        ));
    }

    #[test]
    fn create_only_makes_it_and_then_leaves_it_and_read_only_never_writes() {
        let create = target(Strategy::CreateOnly, "1");
        assert!(matches!(act(&create, None, None), Ok(Action::Create { .. })));
        assert_eq!(act(&create, Some(&there("1", "other")), None), Ok(Action::Leave));
        let read = target(Strategy::ReadOnly, "1");
        assert_eq!(act(&read, None, None), Ok(Action::Absent));
        assert_eq!(act(&read, Some(&there("1", "other")), None), Ok(Action::Leave));
    }
}
