//! Labels, names and the other marks that make slices one decision.

use std::collections::BTreeSet;

use portolan_api::cluster::SortBy;

use super::State;
use crate::{CheckId, Decision, Report, Slice, decision::number_at_end, finding::listed, labels};

/// Largest slice count of the revisioned draft.
const MOST_SLICES: u64 = 1000;

/// Longest name of an object; a longer one is cut and no longer ends in its index.
const LONGEST_NAME: usize = 253;

/// Whether the order of a decision carries meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Meaningful,
    Free,
}

/// C8 and C16: the rules that only the first revision of the KEP has.
pub fn first_revision(state: &State) -> Report {
    let mut report = Report::new();
    for decision in state.kep() {
        for slice in &decision.slices {
            let own = &slice.key.namespace;
            let mut foreign = slice
                .clusters
                .iter()
                .filter(|cluster| cluster.namespace != *own)
                .peekable();
            if foreign.peek().is_some() {
                report.add(
                    CheckId::C8,
                    &slice.key,
                    format!("profiles of other namespaces: {}", listed(foreign)),
                );
            }
        }
        for key in [labels::R1_PLACEMENT, labels::R1_SCHEDULER] {
            if let Err(evidence) = same(&decision, |slice| slice.label(key)) {
                report.add(
                    CheckId::C16,
                    &decision.id,
                    format!("label {key} differs: {evidence}"),
                );
            } else if decision
                .slices
                .iter()
                .any(|slice| slice.label(key).is_none_or(str::is_empty))
            {
                report.add(
                    CheckId::C16,
                    &decision.id,
                    format!("label {key} is missing or empty"),
                );
            }
        }
    }
    report
}

/// The order of a decision as far as its Placement tells.
pub(super) fn order_of(state: &State, decision: &Decision<'_>) -> Order {
    match state
        .placement_of(&decision.id)
        .and_then(|placement| placement.spec.sort_by)
    {
        Some(SortBy::Score) => Order::Meaningful,
        _ => Order::Free,
    }
}

/// C9, C15, C17, C21, C24, C25, C28, D1, D2 and the names Portolan gives.
pub(super) fn at_any_moment(decision: &Decision<'_>, report: &mut Report) {
    for slice in &decision.slices {
        index_is_a_number(slice, report);
        label_syntax(slice, report);
        name_carries_the_index(slice, report);
    }
    one_key(decision, report);
    discoverable(decision, report);
    if let Err(evidence) = same(decision, |slice| slice.label(labels::PLACEMENT_KEY)) {
        report.add(
            CheckId::C21,
            &decision.id,
            format!("placement-key differs: {evidence}"),
        );
    } else if decision
        .slices
        .iter()
        .any(|slice| slice.label(labels::PLACEMENT_KEY) == Some(""))
    {
        report.add(CheckId::C21, &decision.id, "placement-key is empty");
    }
    if let Err(evidence) = same(decision, |slice| slice.scheduler) {
        report.add(
            CheckId::C24,
            &decision.id,
            format!("schedulerName differs: {evidence}"),
        );
    }
    one_owner(decision, report);
    if decision
        .slices
        .iter()
        .any(|slice| slice.label(labels::DECISION_SLICE_COUNT).is_some())
    {
        for slice in &decision.slices {
            four_decimals(slice, report);
            if let Some(problem) = count_out_of_range(slice) {
                report.add(CheckId::D2, &slice.key, problem);
            }
        }
    }
}

/// C37 as far as one state shows it, D12, and completeness.
pub(super) fn at_rest(decision: &Decision<'_>, report: &mut Report) {
    if let Err(evidence) = same(decision, |slice| slice.label(labels::DECISION_REVISION)) {
        report.add(
            CheckId::C37,
            &decision.id,
            format!("decision-revision differs at rest: {evidence}"),
        );
    } else {
        complete(decision, report);
    }
    groups(decision, report);
}

/// C18.
pub(super) fn indexes(decision: &Decision<'_>, order: Order, report: &mut Report) {
    let slices = &decision.slices;
    let labelled = slices
        .iter()
        .filter(|slice| slice.label(labels::DECISION_INDEX).is_some())
        .count();
    let wanted = labelled > 0 || (order == Order::Meaningful && slices.len() > 1);
    if !wanted
        || slices
            .iter()
            .any(|slice| slice.label(labels::DECISION_INDEX).is_some() && slice.index().is_none())
    {
        return;
    }
    let in_place = (0..)
        .zip(slices)
        .all(|(place, slice)| slice.index() == Some(place));
    if !in_place {
        let found = listed(slices.iter().map(|slice| {
            format!(
                "{} has {}",
                slice.name(),
                slice.label(labels::DECISION_INDEX).unwrap_or("no index")
            )
        }));
        report.add(
            CheckId::C18,
            &decision.id,
            format!("indexes are not 0 to {}: {found}", slices.len() - 1),
        );
    }
}

fn index_is_a_number(slice: &Slice<'_>, report: &mut Report) {
    if let Some(value) = slice.label(labels::DECISION_INDEX)
        && (value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()))
    {
        report.add(
            CheckId::C9,
            &slice.key,
            format!("decision-index {value:?} is not an integer of at least 0"),
        );
    }
}

fn label_syntax(slice: &Slice<'_>, report: &mut Report) {
    for (key, value) in slice.metadata.labels.iter().flatten() {
        if !is_label_value(value) {
            let length = value.len();
            report.add(
                CheckId::C25,
                &slice.key,
                format!("label {key}: {value:?} ({length} characters) is no label value"),
            );
        }
    }
}

fn name_carries_the_index(slice: &Slice<'_>, report: &mut Report) {
    let Some(index) = slice.index().filter(|_| slice.scheduler == Some("portolan")) else {
        return;
    };
    if slice.name().len() < LONGEST_NAME && !slice.name().ends_with(&format!("-decision-{index}")) {
        report.add(
            CheckId::KepName,
            &slice.key,
            format!("the name does not end in -decision-{index}"),
        );
    }
}

fn one_key(decision: &Decision<'_>, report: &mut Report) {
    let keyless = decision
        .slices
        .iter()
        .filter(|slice| slice.label(labels::DECISION_KEY).is_none_or(str::is_empty));
    let names = listed(keyless.map(Slice::name));
    if decision.slices.len() > 1 && !names.is_empty() {
        let message = format!("{} slices, without decision-key: {names}", decision.slices.len());
        report.add(CheckId::C15, &decision.id, message);
    }
}

fn discoverable(decision: &Decision<'_>, report: &mut Report) {
    for slice in &decision.slices {
        let labelled = [labels::DECISION_KEY, labels::PLACEMENT_KEY]
            .iter()
            .any(|key| slice.label(key).is_some());
        if !labelled && number_at_end(slice.name()).is_none() {
            report.add(
                CheckId::C17,
                &slice.key,
                "neither a key label nor a name of the form <base>-<i>",
            );
        }
    }
}

fn one_owner(decision: &Decision<'_>, report: &mut Report) {
    let owners: BTreeSet<String> = decision.slices.iter().filter_map(owner).collect();
    if owners.len() > 1 {
        report.add(
            CheckId::C28,
            &decision.id,
            format!("the slices belong to several owners: {}", listed(owners)),
        );
    }
}

fn owner(slice: &Slice<'_>) -> Option<String> {
    let references = slice.metadata.owner_references.iter().flatten();
    let controller = references
        .filter(|owner| owner.controller == Some(true))
        .map(|owner| format!("{} {} ({})", owner.kind, owner.name, owner.uid));
    controller
        .chain(
            slice
                .label(labels::R1_PLACEMENT)
                .map(|placement| format!("placement {placement}")),
        )
        .next()
}

fn four_decimals(slice: &Slice<'_>, report: &mut Report) {
    if slice.label(labels::DECISION_KEY).is_none_or(str::is_empty) {
        report.add(CheckId::D1, &slice.key, "decision-key is missing");
    }
    let numbers = [
        (
            labels::DECISION_REVISION,
            slice
                .revision()
                .filter(|&revision| i64::try_from(revision).is_ok()),
        ),
        (labels::DECISION_SLICE_COUNT, slice.slice_count()),
        (labels::DECISION_INDEX, slice.index()),
    ];
    for (key, number) in numbers {
        if number.is_none() {
            let value = slice
                .label(key)
                .map_or("missing".to_owned(), |value| format!("{value:?}"));
            report.add(
                CheckId::D1,
                &slice.key,
                format!("label {key} is {value}, not a plain decimal"),
            );
        }
    }
}

fn count_out_of_range(slice: &Slice<'_>) -> Option<String> {
    let count = slice.slice_count()?;
    if !(1..=MOST_SLICES).contains(&count) {
        return Some(format!(
            "decision-slice-count {count} is not in 1..={MOST_SLICES}"
        ));
    }
    let index = slice.index()?;
    (index >= count).then(|| format!("decision-index {index} is not below decision-slice-count {count}"))
}

fn complete(decision: &Decision<'_>, report: &mut Report) {
    let counts: BTreeSet<u64> = decision.slices.iter().filter_map(Slice::slice_count).collect();
    if counts.is_empty()
        || decision
            .slices
            .iter()
            .any(|slice| count_out_of_range(slice).is_some())
    {
        return;
    }
    let here = decision.slices.len() as u64;
    if counts.len() > 1 || !counts.contains(&here) {
        let message = format!(
            "decision-slice-count says {}, {here} slices exist",
            listed(counts)
        );
        report.add(CheckId::KepComplete, &decision.id, message);
    }
}

fn groups(decision: &Decision<'_>, report: &mut Report) {
    let marked = decision
        .slices
        .iter()
        .filter(|slice| slice.group().is_some())
        .count();
    if marked == 0 {
        return;
    }
    if marked < decision.slices.len() {
        let bare = listed(
            decision
                .slices
                .iter()
                .filter(|slice| slice.group().is_none())
                .map(Slice::name),
        );
        report.add(
            CheckId::D12,
            &decision.id,
            format!("some slices have a group index, not these: {bare}"),
        );
        return;
    }
    let found: BTreeSet<Option<u64>> = decision
        .slices
        .iter()
        .map(|slice| slice.group().and_then(crate::decision::decimal))
        .collect();
    let contiguous = (0..).zip(&found).all(|(place, group)| *group == Some(place));
    if !contiguous {
        let groups = listed(
            decision
                .slices
                .iter()
                .filter_map(Slice::group)
                .collect::<BTreeSet<_>>(),
        );
        report.add(
            CheckId::D12,
            &decision.id,
            format!("group indexes are not contiguous from 0: {groups}"),
        );
    }
}

/// Whether all slices agree on a value; otherwise which slice has which.
fn same<'a>(decision: &Decision<'a>, value: impl Fn(&Slice<'a>) -> Option<&'a str>) -> Result<(), String> {
    let Some(first) = decision.slices.first().map(&value) else {
        return Ok(());
    };
    if decision.slices.iter().all(|slice| value(slice) == first) {
        return Ok(());
    }
    Err(listed(decision.slices.iter().map(|slice| match value(slice) {
        Some(value) => format!("{} has {value:?}", slice.name()),
        None => format!("{} has none", slice.name()),
    })))
}

fn is_label_value(value: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = value.as_bytes();
    bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}
