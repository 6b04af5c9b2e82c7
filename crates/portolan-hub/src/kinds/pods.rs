//! Rules for the pods of a workload, with the words of Kubernetes: names, ports and variables of containers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::Rule;
use crate::schema::FieldError;

/// The lists of containers of a pod. Their names differ from each other across both.
const CONTAINERS: &[&str] = &["initContainers", "containers"];

/// Most errors that are collected. Larger, and a small object with very many elements would take much memory to refuse.
pub(super) const MOST: usize = 100;

/// What is wrong with the pods that `spec` describes. `pods` is where it stands.
pub(super) fn check(pods: &str, spec: &Value) -> Vec<FieldError> {
    if items(&spec["containers"]).is_empty() {
        return vec![FieldError::required(format!("{pods}.containers"), "")];
    }
    let mut errors = volumes(pods, spec);
    let mut names = BTreeSet::new();
    for list in CONTAINERS {
        for (index, container) in items(&spec[*list]).iter().enumerate() {
            if errors.len() >= MOST {
                return errors;
            }
            let at = format!("{pods}.{list}[{index}]");
            for field in ["name", "image"] {
                if text(&container[field]).trim().is_empty() {
                    errors.push(FieldError::required(format!("{at}.{field}"), ""));
                }
            }
            errors.extend(name(&format!("{at}.name"), &container["name"], &mut names));
            errors.extend(pull_policy(&at, &container["imagePullPolicy"]));
            errors.extend(ports(&at, &container["ports"]));
            errors.extend(variables(&at, &container["env"]));
        }
    }
    errors
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A name that no other one of the list has. That a name is missing is another error.
fn name<'v>(at: &str, name: &'v Value, names: &mut BTreeSet<&'v str>) -> Vec<FieldError> {
    let Some(text) = name.as_str().filter(|text| !text.is_empty()) else {
        return Vec::new();
    };
    let wrong = Rule::Label.check(text);
    let mut errors: Vec<_> = wrong
        .iter()
        .map(|detail| FieldError::invalid(at, name, detail))
        .collect();
    if !names.insert(text) {
        errors.push(FieldError::duplicate(at, name));
    }
    errors
}

fn volumes(pods: &str, spec: &Value) -> Vec<FieldError> {
    let mut names = BTreeSet::new();
    let volumes = items(&spec["volumes"]).iter().enumerate();
    volumes
        .flat_map(|(index, volume)| {
            let at = format!("{pods}.volumes[{index}].name");
            match text(&volume["name"]) {
                "" => vec![FieldError::required(at, "")],
                _ => name(&at, &volume["name"], &mut names),
            }
        })
        .take(MOST)
        .collect()
}

fn pull_policy(container: &str, policy: &Value) -> Option<FieldError> {
    one_of(
        &format!("{container}.imagePullPolicy"),
        policy,
        &["Always", "IfNotPresent", "Never"],
    )
}

/// An empty text stands for the default of the field.
fn one_of(at: &str, value: &Value, accepted: &[&str]) -> Option<FieldError> {
    let is_wrong = |text: &&str| !text.is_empty() && !accepted.contains(text);
    value.as_str().filter(is_wrong)?;
    let accepted: Vec<Value> = accepted.iter().map(|text| Value::from(*text)).collect();
    Some(FieldError::not_supported(at, value, &accepted))
}

fn ports(container: &str, ports: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in items(ports).iter().enumerate() {
        if errors.len() >= MOST {
            break;
        }
        let at = format!("{container}.ports[{index}]");
        let number = &port["containerPort"];
        if number == 0 {
            errors.push(FieldError::required(format!("{at}.containerPort"), ""));
        } else {
            errors.extend(port_number(&format!("{at}.containerPort"), number));
        }
        if port["hostPort"] != 0 {
            errors.extend(port_number(&format!("{at}.hostPort"), &port["hostPort"]));
        }
        errors.extend(one_of(
            &format!("{at}.protocol"),
            &port["protocol"],
            &["SCTP", "TCP", "UDP"],
        ));
        let name = &port["name"];
        if !text(name).is_empty() {
            errors.extend(port_name(&format!("{at}.name"), name));
            if !names.insert(text(name)) {
                errors.push(FieldError::duplicate(format!("{at}.name"), name));
            }
        }
    }
    errors
}

/// Whether a number is one of a port; a missing one is another error.
pub(super) fn port_number(at: &str, number: &Value) -> Option<FieldError> {
    let is_port = (1..=65_535).contains(&number.as_i64()?);
    (!is_port).then(|| FieldError::invalid(at, number, "must be between 1 and 65535, inclusive"))
}

/// The name of a service as IANA registers them.
pub(super) fn port_name(at: &str, name: &Value) -> Vec<FieldError> {
    let text = text(name);
    let mut wrong = Vec::new();
    if text.len() > 15 {
        wrong.push("must be no more than 15 characters");
    }
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if text.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if text.starts_with('-') || text.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong
        .iter()
        .map(|detail| FieldError::invalid(at, name, detail))
        .collect()
}

fn variables(container: &str, env: &Value) -> Vec<FieldError> {
    let detail =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    let check = |(index, variable): (usize, &Value)| {
        let at = format!("{container}.env[{index}].name");
        let name = &variable["name"];
        let is_wrong = |byte: u8| !(b' '..=b'~').contains(&byte) || byte == b'=';
        match text(name) {
            "" => Some(FieldError::required(at, "")),
            text if text.bytes().any(is_wrong) => Some(FieldError::invalid(at, name, detail)),
            _ => None,
        }
    };
    items(env)
        .iter()
        .enumerate()
        .filter_map(check)
        .take(MOST)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(spec: &Value) -> Vec<String> {
        let errors = check("spec", spec);
        errors.iter().map(|error| error.to_string()).collect()
    }

    fn container(more: Value) -> Value {
        let mut container = json!({"name": "c", "image": "i"});
        let Value::Object(more) = more else {
            panic!("{more}")
        };
        container.as_object_mut().unwrap().extend(more);
        json!({"containers": [container]})
    }

    #[test]
    fn containers_have_names_and_images() {
        assert_eq!(
            said(&json!({"containers": []})),
            ["spec.containers: Required value"]
        );
        let twice = json!([{"name": "c", "image": "i"}, {"name": "c"}]);
        assert_eq!(
            said(&json!({"containers": twice})),
            [
                "spec.containers[1].image: Required value",
                "spec.containers[1].name: Duplicate value: \"c\""
            ]
        );
    }

    #[test]
    fn names_of_containers_and_volumes_are_labels() {
        let wrong = said(&container(json!({"name": "C_x"})));
        assert!(
            wrong[0]
                .starts_with("spec.containers[0].name: Invalid value: \"C_x\": a lowercase RFC 1123 label")
        );
        let mut spec = container(json!({}));
        spec["volumes"] = json!([{"name": "a"}, {"name": "a"}, {"name": ""}, {"name": "b.c"}]);
        let wrong = said(&spec);
        assert_eq!(wrong[0], "spec.volumes[1].name: Duplicate value: \"a\"");
        assert_eq!(wrong[1], "spec.volumes[2].name: Required value");
        assert!(wrong[2].starts_with("spec.volumes[3].name: Invalid value: \"b.c\""));
    }

    #[test]
    fn ports_of_containers_are_in_range_and_have_distinct_names() {
        let ports = json!([
            {"containerPort": 0}, {"containerPort": 65_536, "hostPort": 0}, {"containerPort": 80, "hostPort": -1},
            {"containerPort": 80, "protocol": "http"}, {"containerPort": 80, "protocol": "", "name": "web"},
            {"containerPort": 81, "name": "web"}, {"containerPort": 82, "name": "the-port-of-the-web"},
        ]);
        let range = "must be between 1 and 65535, inclusive";
        let at = "spec.containers[0].ports";
        assert_eq!(
            said(&container(json!({"ports": ports}))),
            [
                format!("{at}[0].containerPort: Required value"),
                format!("{at}[1].containerPort: Invalid value: 65536: {range}"),
                format!("{at}[2].hostPort: Invalid value: -1: {range}"),
                format!(
                    "{at}[3].protocol: Unsupported value: \"http\": supported values: \"SCTP\", \"TCP\", \"UDP\""
                ),
                format!("{at}[5].name: Duplicate value: \"web\""),
                format!(
                    "{at}[6].name: Invalid value: \"the-port-of-the-web\": must be no more than 15 characters"
                ),
            ]
        );
    }

    #[test]
    fn variables_have_printable_names() {
        let env = json!([{"name": "A"}, {"name": "a.b-c 1"}, {"name": ""}, {"name": "A=b"}, {"name": "ä"}]);
        let wrong = said(&container(json!({"env": env})));
        assert_eq!(wrong[0], "spec.containers[0].env[2].name: Required value");
        assert!(wrong[1].starts_with("spec.containers[0].env[3].name: Invalid value: \"A=b\""));
        assert!(wrong[2].starts_with("spec.containers[0].env[4].name: Invalid value: \"ä\""));
        let unknown = said(&container(json!({"imagePullPolicy": "Sometimes"})));
        assert_eq!(unknown.len(), 1, "{unknown:?}");
    }
}
