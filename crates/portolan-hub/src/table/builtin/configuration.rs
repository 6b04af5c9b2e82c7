//! Namespaces, configuration, accounts, leases and role bindings.

use serde_json::{Value, json};

use super::super::column::Column;
use super::super::fields::{count, list, text};
use super::{age, column, wide};

pub(super) fn namespace() -> Vec<Column> {
    vec![
        Column::name(),
        column("Status", "string", "The status of the namespace", |object, _| {
            json!(text(object, &["status", "phase"]))
        }),
        age(),
    ]
}

pub(super) fn config_map() -> Vec<Column> {
    vec![
        Column::name(),
        column(
            "Data",
            "string",
            "How many entries the configuration has",
            |object, _| json!(count(object, &["data"]) + count(object, &["binaryData"])),
        ),
        age(),
    ]
}

pub(super) fn secret() -> Vec<Column> {
    vec![
        Column::name(),
        column("Type", "string", "What the secret is used for", |object, _| {
            json!(text(object, &["type"]))
        }),
        column(
            "Data",
            "string",
            "How many entries the secret has",
            |object, _| json!(count(object, &["data"])),
        ),
        age(),
    ]
}

pub(super) fn service_account() -> Vec<Column> {
    vec![
        Column::name(),
        column(
            "Secrets",
            "string",
            "How many secrets the account refers to",
            |object, _| json!(count(object, &["secrets"])),
        ),
        age(),
    ]
}

pub(super) fn lease() -> Vec<Column> {
    vec![
        Column::name(),
        column("Holder", "string", "The identity of the holder", |object, _| {
            json!(text(object, &["spec", "holderIdentity"]))
        }),
        age(),
    ]
}

pub(super) fn binding() -> Vec<Column> {
    vec![
        Column::name(),
        column("Role", "string", "The role that is granted", |object, _| {
            json!(format!(
                "{}/{}",
                text(object, &["roleRef", "kind"]),
                text(object, &["roleRef", "name"])
            ))
        }),
        age(),
        wide("Users", "string", "Users in the binding", |object, _| {
            subjects(object, "User")
        }),
        wide("Groups", "string", "Groups in the binding", |object, _| {
            subjects(object, "Group")
        }),
        wide(
            "ServiceAccounts",
            "string",
            "ServiceAccounts in the binding",
            |object, _| subjects(object, "ServiceAccount"),
        ),
    ]
}

fn subjects(object: &Value, kind: &str) -> Value {
    let names: Vec<String> = list(object, &["subjects"])
        .iter()
        .filter(|subject| text(subject, &["kind"]) == kind)
        .map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, &["namespace"]), text(subject, &["name"])),
            _ => text(subject, &["name"]).to_owned(),
        })
        .collect();
    json!(names.join(", "))
}
