//! Decides which request brings one object to the state that its manifest asks for.

use std::collections::HashSet;

use serde_json::Value;

use super::drift::contains;
use super::ignore::{There, with_ignored};
use crate::cost::Cost;
use crate::work::{InvalidManifest, Strategy, Target, hash};

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
pub(crate) fn act(
    target: &Target,
    there: Option<&There<'_>>,
    seen: Option<&Seen>,
    cost: &mut Cost,
) -> Result<Action, InvalidManifest> {
    let body = &target.manifest.body;
    match (&target.config.strategy, there) {
        // That it is not there is for `Available` to say.
        (Strategy::ReadOnly, None) => Ok(Action::Leave),
        (Strategy::CreateOnly, None) => Ok(Action::Create { body: body.clone() }),
        (Strategy::ReadOnly | Strategy::CreateOnly, Some(_)) => Ok(Action::Leave),
        (
            Strategy::Apply {
                manager,
                force,
                ignored,
                finalizers_once,
            },
            there,
        ) => {
            let mut body = with_ignored(&target.manifest, there, manager, ignored.fields(), cost)?;
            let there = there.map(|there| there.object);
            if let (Some(there), true) = (there, *finalizers_once) {
                keep_finalizers(&mut body, there);
            }
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

/// Removes the finalizers of the manifest that the object does not have any more: their controllers have removed them.
fn keep_finalizers(body: &mut Value, there: &Value) {
    let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let held = there.pointer("/metadata/finalizers").and_then(Value::as_array);
    let held: HashSet<&Value> = held.into_iter().flatten().collect();
    if let Some(Value::Array(wanted)) = metadata.get_mut("finalizers") {
        wanted.retain(|wanted| held.contains(wanted));
        if wanted.is_empty() {
            metadata.remove("finalizers");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Ignored, Manifest, ObjectId};

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
        matches!(on(target, object, seen), Ok(Action::Apply { .. }))
    }

    fn on(target: &Target, object: &Value, seen: Option<&Seen>) -> Result<Action, InvalidManifest> {
        let is_settled = false;
        act(
            target,
            Some(&There { object, is_settled }),
            seen,
            &mut Cost::of_work(),
        )
    }

    #[test]
    fn an_update_does_not_put_finalizers_back_and_server_side_apply_does() {
        let finalizers = |strategy: Strategy, there: Value| {
            let mut target = target(strategy, "1");
            target.manifest.body["metadata"]["finalizers"] = json!(["a", "b"]);
            let object = json!({ "metadata": { "finalizers": there } });
            match on(&target, &object, None) {
                Ok(Action::Apply { body, .. }) => body["metadata"]["finalizers"].clone(),
                other => panic!("{other:?}"),
            }
        };
        let applied = || Strategy::Apply {
            manager: "work-agent".to_owned(),
            force: true,
            ignored: Ignored::default(),
            finalizers_once: false,
        };
        assert_eq!(finalizers(Strategy::default(), json!(["b", "c"])), json!(["b"]));
        assert_eq!(finalizers(Strategy::default(), json!([])), Value::Null);
        assert_eq!(finalizers(applied(), json!([])), json!(["a", "b"]));
        let mut made = target(Strategy::default(), "1");
        made.manifest.body["metadata"]["finalizers"] = json!(["a"]);
        let Ok(Action::Apply { body, .. }) = act(&made, None, None, &mut Cost::of_work()) else {
            panic!("it is made");
        };
        assert_eq!(body["metadata"]["finalizers"], json!(["a"]));
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
        assert!(matches!(
            act(&create, None, None, &mut Cost::of_work()),
            Ok(Action::Create { .. })
        ));
        assert_eq!(on(&create, &there("1", "other"), None), Ok(Action::Leave));
        let read = target(Strategy::ReadOnly, "1");
        assert_eq!(act(&read, None, None, &mut Cost::of_work()), Ok(Action::Leave));
        assert_eq!(on(&read, &there("1", "other"), None), Ok(Action::Leave));
    }
}
