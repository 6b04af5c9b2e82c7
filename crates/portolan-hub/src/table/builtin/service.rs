//! Services and ingresses.

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

pub(super) fn ingress() -> Vec<Column> {
    vec![
        Column::name(),
        column("Class", "string", "The class of the ingress", |object, _| {
            json!(or_none(text(object, &["spec", "ingressClassName"]).to_owned()))
        }),
        column("Hosts", "string", "The hosts of the rules", |object, _| {
            json!(hosts(object))
        }),
        column("Address", "string", "Where requests arrive", |object, _| {
            json!(balancers(object).join(","))
        }),
        column("Ports", "string", "The ports of the ingress", |object, _| {
            json!(match list(object, &["spec", "tls"]).is_empty() {
                true => "80",
                false => "80, 443",
            })
        }),
        age(),
    ]
}

/// Hosts that are named; the rest is counted.
const HOSTS: usize = 3;

fn hosts(object: &Value) -> String {
    let hosts: Vec<&str> = list(object, &["spec", "rules"])
        .iter()
        .map(|rule| text(rule, &["host"]))
        .filter(|host| !host.is_empty())
        .collect();
    match hosts.len() {
        0 => "*".to_owned(),
        few if few <= HOSTS => hosts.join(","),
        many => format!("{} + {} more...", hosts[..HOSTS].join(","), many - HOSTS),
    }
}

/// The addresses of a load balancer, each once.
fn balancers(object: &Value) -> Vec<&str> {
    let ingress = list(object, &["status", "loadBalancer", "ingress"]).iter();
    let mut addresses: Vec<&str> = ingress
        .map(|entry| match text(entry, &["ip"]) {
            "" => text(entry, &["hostname"]),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn external(object: &Value) -> String {
    let own = list(object, &["spec", "externalIPs"])
        .iter()
        .filter_map(Value::as_str);
    match text(object, &["spec", "type"]) {
        "ClusterIP" | "NodePort" => or_none(own.collect::<Vec<_>>().join(",")),
        "LoadBalancer" => {
            let mut balancer = balancers(object);
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
