//! One line for each cluster.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::core::{Selector, SelectorExt};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, Taint};
use portolan_api::labels::{conditions, multicluster as kep, ocm};
use portolan_api::multicluster::ClusterProfile;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use super::{Filter, decisions};
use crate::input::Manifests;
use crate::output;
use crate::output::table::{Cell, Column, ELLIPSIS, Table, Tone};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    /// Only ClusterProfiles have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    sets: Vec<String>,
    /// True, False or Unknown; null when nobody reported.
    available: Option<String>,
    taints: Vec<Taint>,
    /// How many placements chose it.
    decisions: usize,
    created: Option<Timestamp>,
    /// Since when it is being removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    leaving: Option<Timestamp>,
}

pub(super) fn rows(manifests: &Manifests, inventory: Inventory, filter: &Filter<'_>) -> Vec<Row> {
    let mut chosen: BTreeMap<String, BTreeSet<PlacementKey>> = BTreeMap::new();
    // A name is for clusters here, not for placements.
    let of_namespace = Filter {
        name: None,
        ..*filter
    };
    for row in decisions::rows(manifests, &of_namespace) {
        let placement = PlacementKey::new(&row.namespace, &row.placement);
        chosen.entry(row.cluster).or_default().insert(placement);
    }
    match inventory {
        Inventory::ManagedClusters => {
            let sets: Vec<Set<'_>> = manifests.cluster_sets().filter_map(Set::of).collect();
            let wanted = manifests
                .clusters()
                .filter(|cluster| filter.name(cluster.metadata.name.as_deref()));
            wanted
                .map(|cluster| managed(cluster, &sets, |name| chosen.get(name).map_or(0, BTreeSet::len)))
                .collect()
        }
        Inventory::ClusterProfiles => {
            let wanted = manifests.profiles().filter(|profile| {
                filter.namespace(profile.metadata.namespace.as_deref())
                    && filter.name(profile.metadata.name.as_deref())
            });
            wanted
                .map(|profile| {
                    let own = profile.metadata.namespace.as_deref().unwrap_or_default();
                    let of_namespace = |keys: &BTreeSet<PlacementKey>| {
                        keys.iter().filter(|key| &*key.namespace == own).count()
                    };
                    of_profile(profile, |name| chosen.get(name).map_or(0, of_namespace))
                })
                .collect()
        }
    }
}

fn managed(cluster: &ManagedCluster, sets: &[Set<'_>], decisions: impl Fn(&str) -> usize) -> Row {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let reported = cluster.status.as_ref().map(|status| status.conditions.as_slice());
    Row {
        namespace: None,
        sets: sets
            .iter()
            .filter(|set| set.has(&cluster.metadata))
            .map(|set| set.name.to_owned())
            .collect(),
        available: status_of(reported.unwrap_or_default(), conditions::AVAILABLE),
        taints: cluster.spec.taints.clone(),
        decisions: decisions(&name),
        created: cluster.metadata.creation_timestamp.as_ref().map(|time| time.0),
        leaving: cluster.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        name,
    }
}

fn of_profile(profile: &ClusterProfile, decisions: impl Fn(&str) -> usize) -> Row {
    let metadata = &profile.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let reported = profile.status.as_ref().map(|status| status.conditions.as_slice());
    Row {
        namespace: metadata.namespace.clone(),
        sets: label(metadata, kep::CLUSTER_SET)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        available: status_of(reported.unwrap_or_default(), conditions::CONTROL_PLANE_HEALTHY),
        taints: Vec::new(),
        decisions: decisions(&name),
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
        leaving: metadata.deletion_timestamp.as_ref().map(|time| time.0),
        name,
    }
}

/// Which clusters are in a set.
struct Set<'a> {
    name: &'a str,
    /// `None` stands for the exclusive label.
    selector: Option<Selector>,
}

impl<'a> Set<'a> {
    /// A set whose selector cannot be read has no clusters.
    fn of(set: &'a ManagedClusterSet) -> Option<Set<'a>> {
        let spec = &set.spec.cluster_selector;
        let selector = match spec.selector_type.as_deref() {
            Some("LabelSelector") => Some(Selector::try_from(spec.label_selector.clone()?).ok()?),
            _ => None,
        };
        let name = set.metadata.name.as_deref()?;
        Some(Set { name, selector })
    }

    fn has(&self, cluster: &ObjectMeta) -> bool {
        match &self.selector {
            Some(selector) => selector.matches(cluster.labels.as_ref().unwrap_or(&BTreeMap::new())),
            None => label(cluster, ocm::CLUSTER_SET) == Some(self.name),
        }
    }
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn status_of(conditions: &[Condition], kind: &str) -> Option<String> {
    let condition = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some(condition.status.clone())
}

pub(super) fn table(rows: &[Row], now: Timestamp) -> Table {
    let mut header = vec![
        Column::name("CLUSTER"),
        Column::text("SETS", 10),
        Column::new("AVAILABLE"),
        Column::ends("TAINTS", 14),
        Column::new("DECISIONS").drop(2),
        Column::new("AGE").drop(1),
    ];
    if rows.iter().any(|row| row.namespace.is_some()) {
        header.insert(0, Column::name("NAMESPACE"));
    }
    let mut table = Table::new(header);
    for row in rows {
        let namespace = row.namespace.as_deref().map(Cell::from);
        table.row(
            namespace.into_iter().chain([
                row.name.as_str().into(),
                row.sets.join(",").into(),
                match row.leaving {
                    Some(_) => Cell::toned("Leaving", Tone::Doubtful),
                    None => available(row.available.as_deref()),
                },
                taints(&row.taints),
                row.decisions.into(),
                row.created
                    .map_or("-".into(), |time| output::age(time, now).into()),
            ]),
        );
    }
    table
}

fn available(status: Option<&str>) -> Cell {
    match status {
        Some("True") => Cell::toned("True", Tone::Good),
        Some("False") => Cell::toned("False", Tone::Bad),
        Some(other) => Cell::toned(other, Tone::Doubtful),
        None => Cell::toned("-", Tone::Faint),
    }
}

/// All taints; where there is too little room the first one without the domain of its key, and the number of the others.
fn taints(taints: &[Taint]) -> Cell {
    let all: Vec<String> = taints.iter().map(taint).collect();
    let cell = Cell::toned(all.join(","), Tone::Doubtful);
    let Some(first) = all.first() else { return cell };
    let first = match first.rsplit_once('/') {
        Some((_, name)) => format!("{ELLIPSIS}/{name}"),
        None => first.clone(),
    };
    cell.or(match taints.len() - 1 {
        0 => first,
        others => format!("{first} +{others}{ELLIPSIS}"),
    })
}

/// As in explanations: `key[=value]:effect`.
fn taint(taint: &Taint) -> String {
    let value = taint.value.as_deref().filter(|value| !value.is_empty());
    let value = value.map(|value| format!("={value}")).unwrap_or_default();
    format!("{}{value}:{:?}", taint.key, taint.effect)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_that_is_being_removed_is_shown_as_leaving() {
        let cluster = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "west", "deletionTimestamp": "2026-01-01T11:00:00Z", "finalizers": ["portolan.dev/leave"] },
            "spec": {}, "status": { "conditions": [{ "type": "ManagedClusterConditionAvailable", "status": "True",
                "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T11:00:00Z" }] } });
        let manifests = crate::input::read_bytes("hub.json", cluster.to_string().into_bytes()).unwrap();
        let rows = rows(&manifests, Inventory::ManagedClusters, &Filter::default());
        let now = "2026-01-01T12:00:00Z".parse().unwrap();
        let text = table(&rows, now).render(None);
        assert!(text.contains("Leaving") && !text.contains("True"), "{text}");
        let row = serde_json::to_value(&rows[0]).unwrap();
        assert_eq!(row["leaving"], "2026-01-01T11:00:00Z");
    }
    #[test]
    fn taints_leave_room_for_every_column_on_a_narrow_terminal() {
        let cluster = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "eu-central-1-001", "labels": { "cluster.open-cluster-management.io/clusterset": "production" } },
            "spec": { "taints": [
                { "key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect" },
                { "key": "maintenance.example.com/window", "value": "january", "effect": "PreferNoSelect" },
                { "key": "gpu", "effect": "NoSelect" }] } });
        let manifests = crate::input::read_bytes("hub.json", cluster.to_string().into_bytes()).unwrap();
        let table = table(
            &rows(&manifests, Inventory::ManagedClusters, &Filter::default()),
            Timestamp::UNIX_EPOCH,
        );
        let narrow = table.render(Some(80));
        let header = narrow.lines().next().unwrap_or_default();
        assert!(header.contains("AGE") && !header.contains(ELLIPSIS), "{narrow}");
        assert!(narrow.contains("…/unreachable:NoSelect +2…"), "{narrow}");
        let wide = table.render(None);
        assert!(
            wide.contains(
                "io/unreachable:NoSelect,maintenance.example.com/window=january:PreferNoSelect,gpu:NoSelect"
            ),
            "{wide}"
        );
    }
}
