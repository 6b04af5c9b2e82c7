//! Services.

use serde_json::{Value, json};

use super::super::column::Column;
use super::super::fields::{NONE, at, labels, list, number, or_none, text};
use super::{age, column, wide};

pub(super) fn service() -> Vec<Column> {
    vec![
        Column::name(),
        column("Type", "string", "How the service is exposed", |object, _| {
            json!(text(object, &["spec", "type"]))
        }),
        column(
            "Cluster-IP",
            "string",
            "The address inside the cluster",
            |object, _| {
                let first = list(object, &["spec", "clusterIPs"])
                    .first()
                    .and_then(Value::as_str);
                let address = first.unwrap_or_else(|| text(object, &["spec", "clusterIP"]));
                json!(or_none(address.to_owned()))
            },
        ),
        column(
            "External-IP",
            "string",
            "Addresses outside the cluster",
            |object, _| json!(external(object)),
        ),
        column(
            "Port(s)",
            "string",
            "The ports the service exposes",
            |object, _| json!(ports(object)),
        ),
        age(),
        wide(
            "Selector",
            "string",
            "The pods behind the service",
            |object, _| json!(labels(at(object, &["spec", "selector"]))),
        ),
    ]
}

fn external(object: &Value) -> String {
    let own = list(object, &["spec", "externalIPs"])
        .iter()
        .filter_map(Value::as_str);
    match text(object, &["spec", "type"]) {
        "ClusterIP" | "NodePort" => or_none(own.collect::<Vec<_>>().join(",")),
        "LoadBalancer" => {
            let ingress = list(object, &["status", "loadBalancer", "ingress"]).iter();
            let mut balancer: Vec<&str> = ingress
                .map(|entry| match text(entry, &["ip"]) {
                    "" => text(entry, &["hostname"]),
                    ip => ip,
                })
                .filter(|address| !address.is_empty())
                .collect();
            balancer.sort_unstable();
            balancer.dedup();
            balancer.extend(own);
            match balancer.is_empty() {
                true => "<pending>".to_owned(),
                false => balancer.join(","),
            }
        }
        "ExternalName" => text(object, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(object: &Value) -> String {
    let ports: Vec<String> = list(object, &["spec", "ports"])
        .iter()
        .map(|port| {
            let protocol = text(port, &["protocol"]);
            match number(port, &["nodePort"]) {
                0 => format!("{}/{protocol}", number(port, &["port"])),
                node => format!("{}:{node}/{protocol}", number(port, &["port"])),
            }
        })
        .collect();
    match ports.is_empty() {
        true => NONE.to_owned(),
        false => ports.join(","),
    }
}
