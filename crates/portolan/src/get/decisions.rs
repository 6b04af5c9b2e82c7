//! One line for each cluster of each placement.

use std::collections::BTreeMap;

use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use super::Filter;
use crate::decided::{Group, Said, union};
use crate::input::Manifests;
use crate::output::table::{Cell, Column, Table};

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) namespace: String,
    pub(super) placement: String,
    pub(super) cluster: String,
    /// More than one only while the cluster is being moved.
    groups: Vec<Group>,
    score: Option<i64>,
    /// The objects that list the cluster.
    objects: Vec<String>,
}

pub(super) fn rows(manifests: &Manifests, filter: &Filter<'_>) -> Vec<Row> {
    let mut objects: BTreeMap<PlacementKey, Vec<(String, Said)>> = BTreeMap::new();
    for (object, said) in said(manifests) {
        if filter.namespace(Some(&said.placement.namespace)) && filter.name(Some(&said.placement.name)) {
            objects
                .entry(said.placement.clone())
                .or_default()
                .push((object, said));
        }
    }
    let mut rows = Vec::new();
    for (placement, objects) in &mut objects {
        // One kind after the other, and of each kind the second object before the tenth.
        objects.sort_by_cached_key(|(name, _)| by_number(name));
        let mut places: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (object, (_, said)) in objects.iter().enumerate() {
            for (cluster, position) in said.positions() {
                places.entry(cluster.to_owned()).or_insert((object, position));
            }
        }
        let decided = union(objects.iter().map(|(name, said)| (name.as_str(), said)));
        let of_placement = rows.len();
        rows.extend(decided.into_iter().map(|(cluster, standing)| Row {
            namespace: placement.namespace.to_string(),
            placement: placement.name.to_string(),
            cluster,
            groups: standing.groups.into_iter().collect(),
            score: standing.score,
            objects: standing.objects,
        }));
        // As the objects list them: by name, or by score where the Placement asks for that.
        let place = |row: &Row| places.get(&row.cluster).copied();
        rows[of_placement..].sort_by(|one, other| {
            let by_group = one.groups.cmp(&other.groups);
            by_group.then_with(|| place(one).cmp(&place(other)))
        });
    }
    rows
}

/// The name of an object before its number, and the number that it ends with.
fn by_number(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let number = name[stem.len()..].parse().unwrap_or_default();
    (stem.to_owned(), number)
}

/// What every decision object says, with its name for people.
pub(super) fn said(manifests: &Manifests) -> impl Iterator<Item = (String, Said)> {
    let named = |kind: &str, name: &Option<String>| format!("{kind}/{}", name.as_deref().unwrap_or_default());
    let decisions = manifests.decisions().filter_map(move |object| {
        Some((
            named("decision", &object.metadata.name),
            Said::by_decision(object)?,
        ))
    });
    let slices = manifests
        .slices()
        .filter_map(move |object| Some((named("slice", &object.metadata.name), Said::by_slice(object)?)));
    decisions.chain(slices)
}

pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new([
        Column::name("NAMESPACE"),
        Column::name("PLACEMENT"),
        Column::name("GROUP").drop(2),
        Column::name("CLUSTER"),
        Column::new("SCORE"),
        Column::text("OBJECTS", 16).drop(1),
    ]);
    for row in rows {
        let groups: Vec<String> = row.groups.iter().map(ToString::to_string).collect();
        table.row([
            row.namespace.as_str().into(),
            row.placement.as_str().into(),
            groups.join(", ").into(),
            row.cluster.as_str().into(),
            row.score.map_or("-".into(), Cell::from),
            row.objects.join(", ").into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clusters_come_in_the_order_of_the_objects_that_list_them() {
        let decision = |number: u32, clusters: [&str; 2]| {
            let listed = clusters.map(|cluster| json!({ "clusterName": cluster, "reason": "", "score": 1 }));
            json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
                "metadata": { "name": format!("p-decision-{number}"), "namespace": "ns", "labels": {
                    "cluster.open-cluster-management.io/placement": "p",
                    "cluster.open-cluster-management.io/decision-group-index": "0" } },
                "status": { "decisions": listed } })
        };
        let list = json!({ "apiVersion": "v1", "kind": "List",
            "items": [decision(10, ["b", "a"]), decision(2, ["d", "c"])] });
        let manifests = crate::input::read_bytes("hub.json", list.to_string().into_bytes()).unwrap();
        let rows = rows(&manifests, &Filter::default());
        let clusters: Vec<&str> = rows.iter().map(|row| row.cluster.as_str()).collect();
        assert_eq!(clusters, ["d", "c", "b", "a"]);
    }
}
