//! The few things a built-in kind does with its objects on a write that neither schema nor traits can say.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{Resource, definition, ingress, workloads};
use crate::schema::FieldError;

/// Completes an object that is about to be created or replaced.
pub(crate) fn complete(resource: &Resource, object: &mut Value, old: Option<&Value>) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => namespace(object, old),
        ("", "Secret") => secret(object),
        (definition::GROUP, "CustomResourceDefinition") => definition::complete(object),
        _ => {}
    }
}

/// What is wrong with it beyond its schema.
pub(crate) fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        (definition::GROUP, "CustomResourceDefinition") => definition::check(object, old),
        ("", "ConfigMap") => [keyed_data(object, ""), immutable(object, old)].concat(),
        ("", "Secret") => [keyed_data(object, "data"), immutable(object, old)].concat(),
        ("" | "events.k8s.io", "Event") => event(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(object, old),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => role_size(object, old),
        ("batch", "CronJob") => [schedule(object), workloads::check("CronJob", object, old)].concat(),
        ("networking.k8s.io", "Ingress") => ingress::check(object, old),
        ("apps" | "batch" | "", kind) => workloads::check(kind, object, old),
        _ => Vec::new(),
    }
}

fn namespace(object: &mut Value, old: Option<&Value>) {
    let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".into(), name);
        }
    }
    // Both belong to the server: only deletion changes them.
    object["spec"] = old.map_or_else(
        || json!({"finalizers": ["kubernetes"]}),
        |old| old["spec"].clone(),
    );
    if old.is_none() {
        object["status"] = json!({"phase": "Active"});
    }
}

fn secret(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = object.remove("stringData") else {
        return;
    };
    let data = object.entry("data").or_insert_with(|| json!({}));
    if let Some(data) = data.as_object_mut() {
        for (key, value) in plain {
            let text = value.as_str().unwrap_or_default();
            data.insert(key, base64::engine::general_purpose::STANDARD.encode(text).into());
        }
    }
}

/// What a ConfigMap or a Secret can hold.
const DATA_BYTES: usize = 1 << 20;

/// Keys become file names, and everything together fits into memory a few times. `whole` is the field that is too long.
fn keyed_data(object: &Value, whole: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for field in ["data", "binaryData"] {
        for (key, value) in object[field].as_object().into_iter().flatten() {
            let file_name = !key.is_empty() && key.len() <= 253 && key != "." && !key.starts_with("..");
            let letters = key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
            if !file_name || !letters {
                let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                              'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                let at = format!("{field}[{key}]");
                errors.push(FieldError::invalid(at, &key.as_str().into(), detail));
            }
            let text = value.as_str().map_or(0, str::len);
            // Bytes are counted, not their base64.
            size += if field == "data" && whole.is_empty() {
                text
            } else {
                text / 4 * 3
            };
        }
    }
    if size > DATA_BYTES {
        let field = if whole.is_empty() { "[]" } else { whole };
        errors.push(FieldError::too_long(field, DATA_BYTES));
    }
    errors
}

/// An event is where the object is that it is about; those of objects without a namespace are in `default`.
fn event(object: &Value) -> Vec<FieldError> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (own, about) = (text("/metadata/namespace"), text("/involvedObject/namespace"));
    if own == about || (about.is_empty() && (own == "default" || object.get("involvedObject").is_none())) {
        return Vec::new();
    }
    vec![FieldError::invalid(
        "involvedObject.namespace",
        &about.into(),
        "does not match event.namespace",
    )]
}

/// The mistake that people make: too few fields, or one for seconds. What the fields mean is for those who run the jobs.
fn schedule(object: &Value) -> Vec<FieldError> {
    let schedule = &object["spec"]["schedule"];
    let text = schedule.as_str().unwrap_or_default();
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() == 5 || text.starts_with('@') {
        return Vec::new();
    }
    let detail = format!(
        "expected exactly 5 fields, found {}: [{}]",
        fields.len(),
        fields.join(" ")
    );
    vec![FieldError::invalid("spec.schedule", schedule, &detail)]
}

fn immutable(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let Some(old) = old.filter(|old| old["immutable"] == true) else {
        return Vec::new();
    };
    let detail = "field is immutable when `immutable` is set";
    let changed = |field: &&str| old[*field] != object[*field];
    let fields = ["immutable", "data", "binaryData", "stringData"].into_iter();
    fields
        .filter(changed)
        .map(|field| FieldError::forbidden(field, detail))
        .collect()
}

/// What a role can have. Larger, and authorizing the requests of its subjects would take noticeable time; smaller, and
/// roles that tools generate, with a rule for each of some hundred kinds, would be refused.
const ROLE_RULES: usize = 1_000;
/// The verbs, groups, resources, names and paths of all its rules.
const ROLE_ENTRIES: usize = 10_000;

/// Each request of a subject is compared with the rules of its roles. Those that were gathered of other roles are as many
/// as those have.
fn role_size(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let same = old.is_some_and(|old| old["rules"] == object["rules"]);
    let rules = object["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    if same || object["aggregationRule"].is_object() {
        return Vec::new();
    }
    if rules.len() > ROLE_RULES {
        return vec![FieldError::too_many("rules", rules.len(), ROLE_RULES)];
    }
    let lists = rules
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|rule| rule.values());
    let entries: usize = lists.filter_map(Value::as_array).map(Vec::len).sum();
    if entries > ROLE_ENTRIES {
        let detail = format!(
            "the rules have {entries} verbs, groups, resources, names and paths; at most {ROLE_ENTRIES} are accepted; use \"*\" or \
             several roles"
        );
        return vec![FieldError::forbidden("rules", &detail)];
    }
    Vec::new()
}

/// Most subjects of a binding: the index of all users is changed for each of them while requests wait. Larger, and one write
/// would be felt by all; smaller, and bindings that list the people of a company would be refused.
const BINDING_SUBJECTS: usize = 10_000;

fn binding(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let subjects = object["subjects"].as_array().map_or(0, Vec::len);
    let same = old.is_some_and(|old| old["subjects"] == object["subjects"]);
    if subjects > BINDING_SUBJECTS && !same {
        return vec![FieldError::too_many("subjects", subjects, BINDING_SUBJECTS)];
    }
    role_ref(object, old)
}

fn role_ref(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match old {
        Some(old) if old["roleRef"] != object["roleRef"] => {
            vec![FieldError::invalid(
                "roleRef",
                &object["roleRef"],
                "cannot change roleRef",
            )]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_may_not_have_more_subjects_than_the_index_takes_at_once() {
        let ann = json!({"kind": "User", "name": "ann"});
        let of = |subjects: usize| json!({"roleRef": {"name": "r"}, "subjects": vec![ann.clone(); subjects]});
        assert_eq!(binding(&of(BINDING_SUBJECTS), None), []);
        let large = of(BINDING_SUBJECTS + 1);
        let errors = binding(&large, None);
        assert_eq!(
            errors[0].to_string(),
            "subjects: Too many: 10001: must have at most 10000 items"
        );
        assert_eq!(
            binding(&large, Some(&large)),
            [],
            "what is stored can be labelled"
        );
    }

    #[test]
    fn a_role_may_not_have_more_rules_or_entries_than_can_be_compared() {
        let rule = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
        let long = json!({"verbs": ["get"], "apiGroups": [""], "resources": vec!["pods"; ROLE_ENTRIES]});
        let role = |rules: Vec<Value>| json!({"rules": rules});
        assert_eq!(role_size(&role(vec![rule.clone(); ROLE_RULES]), None), []);
        let large = role(vec![rule; ROLE_RULES + 1]);
        let errors = role_size(&large, None);
        assert_eq!(
            errors[0].to_string(),
            "rules: Too many: 1001: must have at most 1000 items"
        );
        assert_eq!(
            role_size(&large, Some(&large)),
            [],
            "what is stored can be labelled and finalized"
        );
        let errors = role_size(&role(vec![long]), None);
        assert!(errors[0].to_string().contains("have 10002 verbs"), "{errors:?}");
    }
}
