//! Which names a definition gets, and the conditions that say so.
//!
//! Within a group every name belongs to one definition. One that asks for a name that another has waits for it, and is not
//! served before it has all of them.

use serde_json::{Value, json};

use super::definition::{FINALIZER, list, strings, text};

/// Names by which a resource is asked for, and by which its kind is.
const RESOURCE_NAMES: [(&str, &str); 2] = [("plural", "PluralConflict"), ("singular", "SingularConflict")];
const KIND_NAMES: [(&str, &str); 2] = [("kind", "KindConflict"), ("listKind", "ListKindConflict")];

/// The status a definition should have, beside the others that are stored.
pub(crate) fn status(definition: &Value, others: &[Value], now: &str) -> Value {
    let (names, conflict) = accept(definition, others);
    let mut conditions = list(definition, "/status/conditions").to_vec();
    let (accepted, reason, message) = match &conflict {
        Some((reason, message)) => ("False", *reason, message.as_str()),
        None => ("True", "NoConflicts", "no conflicts found"),
    };
    set_condition(&mut conditions, "NamesAccepted", accepted, reason, message, now);
    // Once served, a definition stays so: it keeps the names it had.
    if !is_established(definition) {
        let (established, reason, message) = match conflict {
            Some(_) => ("False", "NotAccepted", "not all names are accepted"),
            None => (
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        };
        set_condition(&mut conditions, "Established", established, reason, message, now);
    }
    let finalizers = strings(definition, "/metadata/finalizers");
    if is_deleted(definition) && finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        let reason = "InstanceDeletionInProgress";
        let message = "CustomResource deletion is in progress";
        set_condition(&mut conditions, "Terminating", "True", reason, message, now);
    }
    let mut stored = strings(definition, "/status/storedVersions");
    let storage = list(definition, "/spec/versions").iter();
    for version in storage.filter(|version| version["storage"] == true) {
        let name = text(version, "/name");
        if !stored.iter().any(|known| known == name) {
            stored.push(name.into());
        }
    }
    json!({"acceptedNames": names, "conditions": conditions, "storedVersions": stored})
}

/// Says that no objects are left, so that the definition can go.
pub(crate) fn set_emptied(definition: &mut Value, now: &str) {
    let mut conditions = list(definition, "/status/conditions").to_vec();
    let (reason, message) = ("InstanceDeletionCompleted", "removed all instances");
    set_condition(&mut conditions, "Terminating", "False", reason, message, now);
    definition["status"]["conditions"] = conditions.into();
}

/// Whether the definition's objects are served.
pub(crate) fn is_established(definition: &Value) -> bool {
    has(definition, "Established", "True")
}

/// Whether the definition waits for a name.
pub(crate) fn is_waiting(definition: &Value) -> bool {
    has(definition, "NamesAccepted", "False")
}

pub(crate) fn is_deleted(definition: &Value) -> bool {
    !text(definition, "/metadata/deletionTimestamp").is_empty()
}

fn has(definition: &Value, kind: &str, status: &str) -> bool {
    list(definition, "/status/conditions")
        .iter()
        .any(|condition| condition["type"] == kind && condition["status"] == status)
}

/// The names the definition has, and why it does not have all it asks for.
fn accept(definition: &Value, others: &[Value]) -> (Value, Option<(&'static str, String)>) {
    let wanted = definition.pointer("/spec/names").cloned().unwrap_or_default();
    let had = definition
        .pointer("/status/acceptedNames")
        .cloned()
        .unwrap_or_default();
    let group = text(definition, "/spec/group");
    let own = text(definition, "/metadata/name");
    let others: Vec<&Value> = others
        .iter()
        .filter(|other| text(other, "/spec/group") == group && text(other, "/metadata/name") != own)
        .map(|other| &other["status"]["acceptedNames"])
        .collect();
    let is_resource = |name: &str| {
        let named = |other: &&Value| {
            other["plural"] == name
                || other["singular"] == name
                || strings(other, "/shortNames").iter().any(|s| s == name)
        };
        others.iter().copied().any(|other| named(&other))
    };
    let is_kind = |name: &str| {
        others
            .iter()
            .any(|other| other["kind"] == name || other["listKind"] == name)
    };
    let mut names = wanted.clone();
    let mut conflict = None;
    let mut settle = |field: &str, reason: &'static str, taken: &dyn Fn(&str) -> bool| {
        let name = text(&wanted, &format!("/{field}"));
        if !name.is_empty() && had[field] != name && taken(name) {
            conflict = Some((reason, format!("{name:?} is already in use")));
            names[field] = had.get(field).cloned().unwrap_or_else(|| "".into());
        }
    };
    for (field, reason) in RESOURCE_NAMES {
        settle(field, reason, &is_resource);
    }
    for (field, reason) in KIND_NAMES {
        settle(field, reason, &is_kind);
    }
    let before = strings(&had, "/shortNames");
    let short = strings(&wanted, "/shortNames");
    let refused: Vec<&String> = short
        .iter()
        .filter(|name| !before.contains(name) && is_resource(name))
        .collect();
    if !refused.is_empty() {
        let messages: Vec<String> = refused
            .iter()
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        let message = match messages.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        // A conflict of the kind is the graver one, and is told last by Kubernetes too.
        conflict = conflict.or(Some(("ShortNamesConflict", message)));
        names["shortNames"] = before.into();
    }
    (names, conflict)
}

/// Sets one condition; the transition time moves only with the status.
pub(crate) fn set_condition(
    conditions: &mut Vec<Value>,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let position = conditions.iter().position(|condition| condition["type"] == kind);
    let since = position
        .map(|at| &conditions[at])
        .filter(|condition| condition["status"] == status)
        .and_then(|condition| condition["lastTransitionTime"].as_str())
        .unwrap_or(now);
    let condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since
    });
    match position {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str, short: &[&str]) -> Value {
        json!({
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {
                "group": "example.com",
                "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"), "shortNames": short},
                "versions": [{"name": "v1", "storage": true}],
            },
        })
    }

    fn settled(mut definition: Value, others: &[Value]) -> Value {
        definition["status"] = status(&definition, others, "now");
        definition
    }

    fn condition(definition: &Value, kind: &str) -> String {
        let found = list(definition, "/status/conditions")
            .iter()
            .find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |condition| {
            format!(
                "{} {}: {}",
                text(condition, "/status"),
                text(condition, "/reason"),
                text(condition, "/message")
            )
        })
    }

    #[test]
    fn the_first_to_ask_for_a_name_gets_it() {
        let first = settled(definition("widgets", "Widget", &["w"]), &[]);
        assert_eq!(
            condition(&first, "NamesAccepted"),
            "True NoConflicts: no conflicts found"
        );
        assert!(is_established(&first));
        let others = [first];
        let table = [
            (
                definition("gadgets", "Widget", &[]),
                "False ListKindConflict: \"WidgetList\" is already in use",
            ),
            (
                definition("gadgets", "Gadget", &["w"]),
                "False ShortNamesConflict: \"w\" is already in use",
            ),
            (
                definition("widget", "Gadget", &[]),
                "False PluralConflict: \"widget\" is already in use",
            ),
            (
                definition("gadgets", "Gadget", &["widgets"]),
                "False ShortNamesConflict: \"widgets\" is already in use",
            ),
            (
                definition("gadgets", "Gadget", &["g"]),
                "True NoConflicts: no conflicts found",
            ),
        ];
        for (asking, expected) in table {
            let asking = settled(asking, &others);
            assert_eq!(condition(&asking, "NamesAccepted"), expected);
            assert_eq!(is_established(&asking), expected.starts_with("True"));
        }
    }

    #[test]
    fn one_that_is_served_keeps_its_names_when_it_asks_for_those_of_another() {
        let first = settled(definition("widgets", "Widget", &["w"]), &[]);
        let mut second = settled(
            definition("gadgets", "Gadget", &["g"]),
            std::slice::from_ref(&first),
        );
        second["spec"]["names"]["shortNames"] = json!(["w"]);
        second["spec"]["names"]["kind"] = json!("Widget");
        let second = settled(second, &[first]);
        assert!(is_established(&second) && is_waiting(&second));
        let names = &second["status"]["acceptedNames"];
        assert_eq!(
            (&names["kind"], &names["shortNames"]),
            (&json!("Gadget"), &json!(["g"]))
        );
    }
}
