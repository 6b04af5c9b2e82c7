//! Groups, versions and resources, as plain lists and as the aggregated documents newer clients ask for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::kinds::{Registry, Resource, api_version};

pub(super) fn core() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

pub(super) fn list(registry: &Registry) -> Value {
    let groups: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| describe(group, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(super) fn one(registry: &Registry, group: &str) -> Option<Value> {
    let groups = registry.groups();
    let mut found = describe(group, groups.get(group).filter(|_| !group.is_empty())?);
    found["kind"] = "APIGroup".into();
    found["apiVersion"] = "v1".into();
    Some(found)
}

fn describe(group: &str, versions: &[&str]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": api_version(group, version), "version": version}))
        .collect();
    json!({"name": group, "preferredVersion": versions.first(), "versions": versions})
}

pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let all: Vec<Value> = registry
        .in_version(group, version)
        .flat_map(|resource| plain(resource))
        .collect();
    if all.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": all,
    }))
}

fn plain(resource: &Resource) -> Vec<Value> {
    let mut own = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        own["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        own["categories"] = resource.categories.clone().into();
    }
    if !resource.traits.review {
        own["storageVersionHash"] = storage_version_hash(resource).into();
    }
    let mut all = vec![own];
    if resource.status {
        all.push(json!({
            "name": format!("{}/status", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": ["get", "patch", "update"],
        }));
    }
    if resource.scale.is_some() {
        all.push(json!({
            "name": format!("{}/scale", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
        }));
    }
    all
}

/// Changes when objects are kept in another version: clients that rewrite objects look at it.
fn storage_version_hash(resource: &Resource) -> String {
    let version = resource.storage_version.rsplit('/').next().unwrap_or_default();
    let kept = format!("{}/{version}/{}", resource.storage_group, resource.kind);
    let digest = Sha256::digest(kept);
    let (head, _) = digest.split_at(8);
    STANDARD.encode(head)
}

pub(super) fn core_aggregated(registry: &Registry) -> Vec<Value> {
    aggregate(registry, |group| group.is_empty())
}

pub(super) fn aggregated(registry: &Registry) -> Vec<Value> {
    aggregate(registry, |group| !group.is_empty())
}

fn aggregate(registry: &Registry, wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let version = |group: &str, version: &str| {
        let resources: Vec<Value> = registry
            .in_version(group, version)
            .map(|resource| detailed(resource))
            .collect();
        json!({"version": version, "freshness": "Current", "resources": resources})
    };
    let groups = registry.groups();
    groups
        .iter()
        .filter(|(group, _)| wanted(group))
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions.iter().map(|name| version(group, name)).collect();
            let metadata = if group.is_empty() {
                json!({})
            } else {
                json!({"name": group})
            };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect()
}

fn detailed(resource: &Resource) -> Value {
    let own_kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let mut own = json!({
        "resource": resource.plural, "responseKind": own_kind, "singularResource": resource.singular,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" }, "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        own["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        own["categories"] = resource.categories.clone().into();
    }
    let mut below = Vec::new();
    let verbs = ["get", "patch", "update"];
    if resource.status {
        below.push(json!({"subresource": "status", "responseKind": own_kind, "verbs": verbs}));
    }
    if resource.scale.is_some() {
        let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        below.push(json!({"subresource": "scale", "responseKind": scale, "verbs": verbs}));
    }
    if !below.is_empty() {
        own["subresources"] = below.into();
    }
    own
}
