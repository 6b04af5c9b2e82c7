//! One line for each placement.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::Placement;
use portolan_api::labels::conditions;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use super::Filter;
use crate::decided::Said;
use crate::input::Manifests;
use crate::output;
use crate::output::table::{Cell, Column, Table, Tone};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    namespace: String,
    name: String,
    /// Null before the first decision.
    selected: Option<i32>,
    /// Null when all clusters are asked for.
    asked: Option<i32>,
    groups: usize,
    satisfied: Option<bool>,
    misconfigured: Option<bool>,
    /// Why it is not satisfied or is misconfigured.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// Objects of the OCM kind.
    decisions: usize,
    /// Objects of the KEP kind.
    slices: usize,
    created: Option<Timestamp>,
}

pub(super) fn rows(manifests: &Manifests, filter: &Filter<'_>) -> Vec<Row> {
    let mut objects: BTreeMap<PlacementKey, (usize, usize)> = BTreeMap::new();
    for said in manifests.decisions().filter_map(Said::by_decision) {
        objects.entry(said.placement).or_default().0 += 1;
    }
    for said in manifests.slices().filter_map(Said::by_slice) {
        objects.entry(said.placement).or_default().1 += 1;
    }
    let wanted = manifests.placements().filter(|placement| {
        filter.namespace(placement.metadata.namespace.as_deref())
            && filter.name(placement.metadata.name.as_deref())
    });
    wanted
        .map(|placement| {
            let key = PlacementKey::of(placement);
            row(placement, objects.get(&key).copied().unwrap_or_default())
        })
        .collect()
}

fn row(placement: &Placement, (decisions, slices): (usize, usize)) -> Row {
    let metadata = &placement.metadata;
    let status = placement.status.as_ref();
    let satisfied = condition(placement, conditions::PLACEMENT_SATISFIED);
    let misconfigured = condition(placement, conditions::PLACEMENT_MISCONFIGURED);
    let complaint = match (misconfigured, satisfied) {
        (Some(condition), _) if is_true(condition) => condition.message.clone(),
        (_, Some(condition)) if !is_true(condition) => condition.message.clone(),
        _ => String::new(),
    };
    Row {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        // A status without conditions was written by nobody who decides.
        selected: satisfied
            .and(status)
            .map(|status| status.number_of_selected_clusters),
        asked: placement.spec.number_of_clusters,
        groups: status.map_or(0, |status| status.decision_groups.len()),
        satisfied: satisfied.map(is_true),
        misconfigured: misconfigured.map(is_true),
        message: complaint,
        decisions,
        slices,
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
    }
}

fn condition<'a>(placement: &'a Placement, kind: &str) -> Option<&'a Condition> {
    let conditions = &placement.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn is_true(condition: &Condition) -> bool {
    condition.status == "True"
}

pub(super) fn table(rows: &[Row], now: Timestamp) -> Table {
    let mut table = Table::new([
        Column::name("NAMESPACE"),
        Column::name("PLACEMENT"),
        Column::new("SELECTED"),
        Column::new("ASKED"),
        Column::new("GROUPS").drop(4),
        Column::new("SATISFIED"),
        Column::new("MISCONFIGURED"),
        Column::new("DECISIONS").drop(2),
        Column::new("SLICES").drop(1),
        Column::new("AGE").drop(3),
    ]);
    for row in rows {
        table.row([
            row.namespace.as_str().into(),
            row.name.as_str().into(),
            row.selected.map_or("-".into(), Cell::from),
            row.asked.map_or("all".into(), Cell::from),
            row.groups.into(),
            truth(row.satisfied, [Tone::Good, Tone::Bad]),
            truth(row.misconfigured, [Tone::Bad, Tone::Plain]),
            row.decisions.into(),
            row.slices.into(),
            row.created
                .map_or("-".into(), |time| output::age(time, now).into()),
        ]);
    }
    table
}

fn truth(value: Option<bool>, [yes, no]: [Tone; 2]) -> Cell {
    match value {
        Some(true) => Cell::toned("True", yes),
        Some(false) => Cell::toned("False", no),
        None => Cell::toned("-", Tone::Faint),
    }
}
