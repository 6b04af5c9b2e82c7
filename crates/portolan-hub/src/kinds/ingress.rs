//! Rules for an Ingress, with the words of Kubernetes: a rule or a default backend, types of paths, backends.

use serde_json::{Value, json};

use super::names::Rule;
use super::pods::{MOST, port_name, port_number};
use crate::schema::FieldError;

/// What is wrong with an Ingress beyond its schema. Objects that were stored before there were these rules may stay as they are.
pub(super) fn check(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = &object["spec"];
    if old.is_some_and(|old| old["spec"] == *spec) {
        return Vec::new();
    }
    let rules = spec["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    match &spec["defaultBackend"] {
        Value::Null if rules.is_empty() => {
            let detail = "either `defaultBackend` or `rules` must be specified";
            errors.push(FieldError::invalid("spec", spec, detail));
        }
        Value::Null => {}
        default => errors.extend(backend("spec.defaultBackend", default)),
    }
    for (index, rule) in rules.iter().enumerate() {
        if errors.len() >= MOST {
            return errors;
        }
        let at = format!("spec.rules[{index}]");
        errors.extend(host(&format!("{at}.host"), &rule["host"]));
        if rule["http"].is_null() {
            continue;
        }
        let paths = rule["http"]["paths"].as_array();
        let paths = paths.map(Vec::as_slice).unwrap_or_default();
        if paths.is_empty() {
            errors.push(FieldError::required(format!("{at}.http.paths"), ""));
        }
        for (index, one) in paths.iter().enumerate() {
            if errors.len() >= MOST {
                return errors;
            }
            let at = format!("{at}.http.paths[{index}]");
            errors.extend(path(&at, one));
            errors.extend(backend(&format!("{at}.backend"), &one["backend"]));
        }
    }
    errors
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A host is the name of one, or begins with a wildcard for its first label.
fn host(at: &str, host: &Value) -> Vec<FieldError> {
    let name = text(host);
    let name = name.strip_prefix("*.").unwrap_or(name);
    if name.is_empty() {
        return Vec::new();
    }
    let wrong = Rule::Subdomain.check(name);
    wrong
        .iter()
        .map(|detail| FieldError::invalid(at, host, detail))
        .collect()
}

const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];

fn path(at: &str, path: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = &path["pathType"];
    // The schema says that a missing one is required.
    if !kind.is_null() && !PATH_TYPES.contains(&text(kind)) {
        let accepted = PATH_TYPES.map(|name| json!(name));
        errors.push(FieldError::not_supported(
            &format!("{at}.pathType"),
            kind,
            &accepted,
        ));
    }
    let is_optional = text(kind) == "ImplementationSpecific" && text(&path["path"]).is_empty();
    if !text(&path["path"]).starts_with('/') && !is_optional {
        let path = json!(text(&path["path"]));
        errors.push(FieldError::invalid(
            format!("{at}.path"),
            &path,
            "must be an absolute path",
        ));
    }
    errors
}

fn backend(at: &str, backend: &Value) -> Vec<FieldError> {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    let invalid = |detail: &str| vec![FieldError::invalid(at, &"".into(), detail)];
    match (service.is_null(), resource.is_null()) {
        (true, true) => invalid("resource or service backend is required"),
        (false, false) => invalid("cannot set both resource and service backends"),
        (true, false) => Vec::new(),
        (false, true) => service_backend(at, service),
    }
}

fn service_backend(at: &str, service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = &service["name"];
    if text(name).is_empty() {
        errors.push(FieldError::required(format!("{at}.service.name"), ""));
    } else {
        let wrong = Rule::LabelFromLetter.check(text(name));
        errors.extend(
            wrong
                .iter()
                .map(|detail| FieldError::invalid(format!("{at}.service.name"), name, detail)),
        );
    }
    let port = &service["port"];
    let has_name = !text(&port["name"]).is_empty();
    let has_number = !(port["number"].is_null() || port["number"] == 0);
    match (has_name, has_number) {
        (true, true) => errors.push(FieldError::invalid(
            at,
            &"".into(),
            "cannot set both port name & port number",
        )),
        (false, false) => errors.push(FieldError::required(at, "port name or number is required")),
        (true, false) => errors.extend(port_name(&format!("{at}.service.port.name"), &port["name"])),
        (false, true) => errors.extend(port_number(&format!("{at}.service.port.number"), &port["number"])),
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingress(path: Value) -> Value {
        json!({"spec": {"rules": [{"host": "*.example.com", "http": {"paths": [path]}}]}})
    }

    fn said(object: &Value) -> Vec<String> {
        let errors = check(object, None);
        errors.iter().map(|error| error.to_string()).collect()
    }

    #[test]
    fn a_path_has_a_type_and_begins_with_a_slash() {
        let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
        let right = json!({"path": "/", "pathType": "Prefix", "backend": backend});
        assert_eq!(said(&ingress(right)), [""; 0]);
        assert_eq!(
            said(&ingress(
                json!({"pathType": "ImplementationSpecific", "backend": backend})
            )),
            [""; 0]
        );
        let at = "spec.rules[0].http.paths[0]";
        assert_eq!(
            said(&ingress(json!({"path": "a", "backend": backend}))),
            [format!(
                "{at}.path: Invalid value: \"a\": must be an absolute path"
            )]
        );
        let unknown = said(&ingress(
            json!({"path": "/", "pathType": "Regex", "backend": backend}),
        ));
        let accepted = "\"Exact\", \"ImplementationSpecific\", \"Prefix\"";
        assert_eq!(
            unknown,
            [format!(
                "{at}.pathType: Unsupported value: \"Regex\": supported values: {accepted}"
            )]
        );
    }

    #[test]
    fn a_backend_is_a_port_of_a_service_or_a_resource() {
        let said_of = |backend: Value| said(&json!({"spec": {"defaultBackend": backend}}));
        let at = "spec.defaultBackend";
        assert_eq!(said_of(json!({"resource": {"kind": "A", "name": "b"}})), [""; 0]);
        assert!(
            said_of(json!({}))[0].starts_with(&format!("{at}: Invalid value: \"\": resource or service"))
        );
        assert_eq!(
            said_of(json!({"service": {"name": "web"}})),
            [format!("{at}: Required value: port name or number is required")]
        );
        assert_eq!(
            said_of(json!({"service": {"port": {"number": 70_000}}})),
            [
                format!("{at}.service.name: Required value"),
                format!(
                    "{at}.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive"
                ),
            ]
        );
        assert_eq!(
            said_of(json!({"service": {"name": "web", "port": {"name": "http"}}})),
            [""; 0]
        );
    }

    #[test]
    fn an_ingress_has_rules_or_a_default_backend_unless_it_is_stored_without() {
        let empty = json!({"spec": {}});
        assert!(said(&empty)[0].starts_with("spec: Invalid value: {}: either"));
        assert_eq!(check(&empty, Some(&empty)), []);
    }
}
