//! Rules between the fields of workloads, with the words of Kubernetes: the mistakes that people make in their first manifests. A
//! member cluster of the embedded hub would otherwise accept what a real cluster refuses.

use serde_json::{Value, json};

use super::label_selector::{LabelSelector, string_map};
use super::pods;
use crate::schema::FieldError;

/// Where a kind has its pods, and what it asks of them.
struct Rules {
    /// The fields down to the template of the pods; a Pod has none.
    template: &'static [&'static str],
    /// Whether the kind finds its pods by a selector that the user writes, which may never change.
    has_selector: bool,
    /// What `restartPolicy` may be.
    restart_policies: &'static [&'static str],
    needs_restart_policy: bool,
}

fn rules_of(kind: &str) -> Option<Rules> {
    let always = |has_selector| Rules {
        template: &["spec", "template"],
        has_selector,
        restart_policies: &["Always"],
        needs_restart_policy: false,
    };
    let job = |template| Rules {
        template,
        has_selector: false,
        restart_policies: &["OnFailure", "Never"],
        needs_restart_policy: true,
    };
    Some(match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" => always(true),
        "Job" => job(&["spec", "template"]),
        "CronJob" => job(&["spec", "jobTemplate", "spec", "template"]),
        "Pod" => Rules {
            template: &[],
            restart_policies: &["Always", "OnFailure", "Never"],
            ..always(false)
        },
        _ => return None,
    })
}

/// What is wrong with a workload beyond its schema. Objects that were stored before there were these rules may stay as they are.
pub(super) fn check(kind: &str, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let Some(rules) = rules_of(kind).filter(|_| old.is_none_or(|old| old["spec"] != object["spec"])) else {
        return Vec::new();
    };
    let at = rules.template.join(".");
    let template_of = |object| {
        rules
            .template
            .iter()
            .fold(object, |value: &Value, field| &value[*field])
    };
    let template: &Value = template_of(object);
    let mut errors = Vec::new();
    if rules.has_selector {
        errors.extend(selector(kind, object, template));
        errors
            .extend(old.and_then(|old| is_immutable(&old["spec"]["selector"], &object["spec"]["selector"])));
    }
    let spec = &template["spec"];
    if old.is_none_or(|old| template_of(old)["spec"] != *spec) {
        let at_pods = match at.as_str() {
            "" => "spec".to_owned(),
            at => format!("{at}.spec"),
        };
        errors.extend(restart_policy(&rules, &at_pods, &spec["restartPolicy"]));
        errors.extend(pods::check(&at_pods, spec));
    }
    errors
}

fn selector(kind: &str, object: &Value, template: &Value) -> Option<FieldError> {
    let selector = &object["spec"]["selector"];
    let is_empty = |field: &str| match &selector[field] {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => true,
    };
    if is_empty("matchLabels") && is_empty("matchExpressions") {
        let detail = format!("empty selector is invalid for {}", kind.to_lowercase());
        return Some(FieldError::invalid("spec.selector", selector, &detail));
    }
    let labels = &template["metadata"]["labels"];
    let is_match = LabelSelector::from_json(selector).matches(&string_map(Some(labels)));
    (!is_match).then(|| {
        let labels = match labels {
            Value::Null => json!({}),
            labels => labels.clone(),
        };
        let detail = "`selector` does not match template `labels`";
        FieldError::invalid("spec.template.metadata.labels", &labels, detail)
    })
}

fn is_immutable(old: &Value, new: &Value) -> Option<FieldError> {
    (old != new).then(|| FieldError::invalid("spec.selector", new, "field is immutable"))
}

fn restart_policy(rules: &Rules, pods: &str, policy: &Value) -> Option<FieldError> {
    let at = format!("{pods}.restartPolicy");
    let accepted: Vec<Value> = rules
        .restart_policies
        .iter()
        .map(|policy| json!(policy))
        .collect();
    match policy {
        Value::Null if rules.needs_restart_policy => {
            Some(FieldError::required(at, "valid values: \"OnFailure\", \"Never\""))
        }
        Value::Null => None,
        policy if accepted.contains(policy) => None,
        policy => Some(FieldError::not_supported(&at, policy, &accepted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Value {
        json!({"spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        }})
    }

    fn said(kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
        let errors = check(kind, object, old);
        errors.iter().map(|error| error.to_string()).collect()
    }

    #[test]
    fn a_selector_has_to_match_and_may_not_change() {
        let right = deployment();
        assert_eq!(said("Deployment", &right, None), [""; 0]);
        let mut other = deployment();
        other["spec"]["template"]["metadata"]["labels"]["app"] = json!("b");
        let differs = "spec.template.metadata.labels: Invalid value: {\"app\":\"b\"}: `selector` does not match template `labels`";
        assert_eq!(said("Deployment", &other, None), [differs]);
        assert_eq!(
            said("Deployment", &other, Some(&other)),
            [""; 0],
            "it was stored before"
        );
        let mut moved = other.clone();
        moved["spec"]["selector"]["matchLabels"]["app"] = json!("b");
        let immutable = "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable";
        assert_eq!(said("StatefulSet", &moved, Some(&right)), [immutable]);
        moved["spec"]["selector"] = json!({});
        let empty = "spec.selector: Invalid value: {}: empty selector is invalid for daemonset";
        assert_eq!(said("DaemonSet", &moved, None), [empty]);
    }

    #[test]
    fn jobs_say_when_their_pods_start_again_and_others_always_do() {
        let mut job = deployment();
        let missing =
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"";
        assert_eq!(said("Job", &job, None), [missing]);
        job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        assert_eq!(said("Job", &job, None), [""; 0]);
        let cron = json!({"spec": {"jobTemplate": job}});
        assert_eq!(said("CronJob", &cron, None), [""; 0]);
        let unsupported =
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"";
        assert_eq!(said("Deployment", &job, None), [unsupported]);
    }
}
