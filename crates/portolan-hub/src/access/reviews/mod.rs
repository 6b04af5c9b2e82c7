//! Reviews: questions about access that are asked as objects. Each is a function from the request's JSON to the answer's.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use crate::access::identity::Identity;
use crate::access::rbac::{Decision, PolicyRule, Rbac, Request, Target};

const AUTHORIZATION: &str = "authorization.k8s.io/v1";
/// How many rules one review lists. Larger, and a small request could ask for an answer of many megabytes; smaller, and the
/// list would be incomplete for users that have some hundred roles.
const MAX_RULES: usize = 5_000;
/// The same for their verbs, groups, resources, names and paths, in bytes.
const MAX_RULE_BYTES: usize = 2 << 20;

/// A review that asks nothing that could be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReviewError {
    /// A field is wrong; code 422.
    #[error("{field}: Invalid value: {value}: {message}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What it holds, as JSON.
        value: String,
        /// What is wrong with it.
        message: &'static str,
    },
    /// The request as a whole is wrong; code 400.
    #[error("{0}")]
    BadRequest(&'static str),
}

impl ReviewError {
    /// The Status to answer with. Kubernetes leaves the kind out of it, and so does this.
    pub(crate) fn status(&self) -> Value {
        match self {
            ReviewError::BadRequest(message) => json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": message, "reason": "BadRequest", "code": 400,
            }),
            ReviewError::Invalid {
                field,
                value,
                message,
            } => json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": format!(".authorization.k8s.io \"\" is invalid: {self}"),
                "reason": "Invalid",
                "details": {
                    "group": "authorization.k8s.io",
                    "causes": [{
                        "reason": "FieldValueInvalid",
                        "message": format!("Invalid value: {value}: {message}"),
                        "field": field,
                    }],
                },
                "code": 422,
            }),
        }
    }
}

/// Answers a SelfSubjectAccessReview: may I?
pub(crate) fn self_subject_access_review(
    rbac: &Rbac,
    identity: &Identity,
    review: &Value,
) -> Result<Value, ReviewError> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    validate_attributes(spec)?;
    validate_metadata(review, Namespaced::No)?;
    Ok(answer(
        "SelfSubjectAccessReview",
        review,
        decide(rbac, identity, spec),
    ))
}

/// Answers a SubjectAccessReview: may somebody?
pub(crate) fn subject_access_review(rbac: &Rbac, review: &Value) -> Result<Value, ReviewError> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    validate_attributes(spec)?;
    let subject = subject_of(spec)?;
    validate_metadata(review, Namespaced::No)?;
    Ok(answer(
        "SubjectAccessReview",
        review,
        decide(rbac, &subject, spec),
    ))
}

/// Answers a LocalSubjectAccessReview: may somebody, in this namespace?
pub(crate) fn local_subject_access_review(
    rbac: &Rbac,
    namespace: &str,
    review: &Value,
) -> Result<Value, ReviewError> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    validate_attributes(spec)?;
    let subject = subject_of(spec)?;
    validate_metadata(review, Namespaced::Yes)?;
    if let Some(attributes) = spec.get("nonResourceAttributes").filter(|value| !value.is_null()) {
        return Err(invalid(
            "spec.nonResourceAttributes",
            attributes,
            "disallowed on this kind of request",
        ));
    }
    let asked = spec
        .pointer("/resourceAttributes/namespace")
        .unwrap_or(&Value::Null);
    if asked.as_str().unwrap_or_default() != namespace {
        return Err(invalid(
            "spec.resourceAttributes.namespace",
            asked,
            "must match metadata.namespace",
        ));
    }
    Ok(answer(
        "LocalSubjectAccessReview",
        review,
        decide(rbac, &subject, spec),
    ))
}

/// Answers a SelfSubjectRulesReview: what may I do in this namespace?
pub(crate) fn self_subject_rules_review(
    rbac: &Rbac,
    identity: &Identity,
    review: &Value,
) -> Result<Value, ReviewError> {
    let namespace = review
        .pointer("/spec/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if namespace.is_empty() {
        return Err(ReviewError::BadRequest("no namespace on request"));
    }
    let (mut resource_rules, mut non_resource_rules) = (Vec::new(), Vec::new());
    let rules = rbac.rules_for(identity, namespace);
    let mut bytes = 0;
    let fits = |rule: &&&PolicyRule| {
        bytes += rule.text_bytes();
        bytes <= MAX_RULE_BYTES
    };
    let listed: Vec<_> = rules.iter().take(MAX_RULES).take_while(fits).collect();
    for rule in &listed {
        let mut rule = PolicyRule::clone(rule);
        if !rule.non_resource_urls.is_empty() {
            non_resource_rules.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}));
        }
        if !rule.resources.is_empty() {
            rule.non_resource_urls.clear();
            resource_rules.push(rule.to_json());
        }
    }
    let incomplete = listed.len() < rules.len();
    let mut status = json!({"incomplete": incomplete});
    status["resourceRules"] = resource_rules.into();
    status["nonResourceRules"] = non_resource_rules.into();
    if incomplete {
        status["evaluationError"] = json!(format!(
            "{} of {} rules are listed; a review lists at most {MAX_RULES} rules of {MAX_RULE_BYTES} bytes",
            listed.len(),
            rules.len()
        ));
    }
    Ok(json!({
        "apiVersion": AUTHORIZATION,
        "kind": "SelfSubjectRulesReview",
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}

/// Answers a SelfSubjectReview: who am I?
pub(crate) fn self_subject_review(identity: &Identity) -> Value {
    json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
        "metadata": {},
        "status": {"userInfo": user_info(identity)},
    })
}

/// Answers a TokenReview: whose token is this?
pub(crate) fn token_review(review: &Value, bearer: impl Fn(&str) -> Option<Identity>) -> Value {
    let token = review
        .pointer("/spec/token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let status = match Some(token).filter(|token| !token.is_empty()).and_then(bearer) {
        Some(identity) => json!({"authenticated": true, "user": user_info(&identity)}),
        None => json!({"user": {}, "error": "invalid bearer token"}),
    };
    json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": review.get("spec").cloned().unwrap_or_else(|| json!({})),
        "status": status,
    })
}

/// A user as `UserInfo`, without what is empty.
pub(crate) fn user_info(identity: &Identity) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), json!(identity.user));
    if !identity.uid.is_empty() {
        info.insert("uid".to_owned(), json!(identity.uid));
    }
    if !identity.groups.is_empty() {
        info.insert("groups".to_owned(), json!(identity.groups));
    }
    if !identity.extra.is_empty() {
        info.insert("extra".to_owned(), json!(identity.extra));
    }
    Value::Object(info)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespaced {
    Yes,
    No,
}

fn decide(rbac: &Rbac, identity: &Identity, spec: &Value) -> Value {
    let text = |section: &str, key: &str| -> &str {
        let value = spec
            .get(section)
            .and_then(|section| section.get(key))
            .and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let section = match spec
        .get("resourceAttributes")
        .is_some_and(|value| !value.is_null())
    {
        true => "resourceAttributes",
        false => "nonResourceAttributes",
    };
    let [verb, group, resource, subresource, namespace, name, path] = [
        "verb",
        "group",
        "resource",
        "subresource",
        "namespace",
        "name",
        "path",
    ]
    .map(|key| text(section, key));
    let target = match section {
        "resourceAttributes" => Target::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
        },
        _ => Target::Path(path),
    };
    let decision = rbac.decide(&Request {
        identity,
        verb,
        target,
    });
    let reason = match &decision {
        Decision::Allowed(reason) => reason.to_string(),
        Decision::Denied(denial) => denial.reason(),
    };
    let mut status = json!({"allowed": decision.is_allowed()});
    if !reason.is_empty() {
        status["reason"] = json!(reason);
    }
    status
}

fn answer(kind: &str, review: &Value, status: Value) -> Value {
    json!({
        "apiVersion": AUTHORIZATION,
        "kind": kind,
        "metadata": review.get("metadata").filter(|metadata| metadata.is_object()).cloned().unwrap_or_else(|| json!({})),
        "spec": review.get("spec").cloned().unwrap_or_else(|| json!({})),
        "status": status,
    })
}

fn subject_of(spec: &Value) -> Result<Identity, ReviewError> {
    let strings = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let text = |key: &str| {
        spec.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (user, groups) = (text("user"), spec.get("groups").map(strings).unwrap_or_default());
    if user.is_empty() && groups.is_empty() {
        return Err(invalid(
            "spec.user",
            &json!(user),
            "at least one of user or group must be specified",
        ));
    }
    let extra: BTreeMap<String, Vec<String>> = spec
        .get("extra")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, values)| (key.clone(), strings(values)))
        .collect();
    // The groups are taken as they are, each once: the asker has to say which groups the user is in.
    let mut seen = HashSet::new();
    let groups = groups
        .into_iter()
        .filter(|group| seen.insert(group.clone()))
        .collect();
    Ok(Identity {
        user,
        groups,
        uid: text("uid"),
        extra,
    })
}

fn validate_attributes(spec: &Value) -> Result<(), ReviewError> {
    let given = |key: &str| spec.get(key).filter(|value| !value.is_null());
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (Some(_), Some(other)) => Err(invalid(
            "spec.nonResourceAttributes",
            other,
            "cannot be specified in combination with resourceAttributes",
        )),
        (None, None) => Err(invalid(
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => Ok(()),
    }
}

/// A review is no stored object; metadata on it is a mistake of the client.
fn validate_metadata(review: &Value, namespaced: Namespaced) -> Result<(), ReviewError> {
    let Some(metadata) = review.get("metadata").and_then(Value::as_object) else {
        return Ok(());
    };
    let allowed = |key: &str| key == "managedFields" || (key == "namespace" && namespaced == Namespaced::Yes);
    let mut set = metadata
        .iter()
        .filter(|(key, value)| !value.is_null() && !allowed(key));
    match (set.next(), namespaced) {
        (None, _) => Ok(()),
        (Some(_), Namespaced::No) => Err(invalid("metadata", &review["metadata"], "must be empty")),
        (Some(_), Namespaced::Yes) => Err(invalid(
            "metadata",
            &review["metadata"],
            "must be empty except for namespace",
        )),
    }
}

fn invalid(field: &'static str, value: &Value, message: &'static str) -> ReviewError {
    let value = match value {
        Value::Null => "\"null\"".to_owned(),
        value => value.to_string(),
    };
    ReviewError::Invalid {
        field,
        value,
        message,
    }
}

#[cfg(test)]
mod tests;
