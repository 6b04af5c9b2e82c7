//! The answer of `simulate` for people: one line a placement, then the clusters of each.

use std::collections::BTreeMap;

use portolan_api::labels::ocm;

use super::report::{PlacementReport, Report, Verdict};
use crate::output::table::{Cell, Column, Table, Tone, shortened_name};
use crate::stray_bindings::StrayBindings;

/// With more placements than this their clusters are not listed.
const DETAILED_PLACEMENTS: usize = 10;
/// How many clusters of a placement are listed.
const LISTED_CLUSTERS: usize = 20;

pub(super) fn render(report: &Report, stray: &StrayBindings, width: Option<usize>) -> String {
    if report.placements.is_empty() {
        return "no placements\n".to_owned();
    }
    let mut text = summary(&report.placements, width);
    text.push_str(&complaints(&report.placements, stray));
    if report.placements.len() <= DETAILED_PLACEMENTS {
        for placement in &report.placements {
            text.push_str(&clusters(placement, width));
        }
    }
    text
}

fn summary(placements: &[PlacementReport], width: Option<usize>) -> String {
    let mut table = Table::new([
        Column::name("NAMESPACE"),
        Column::name("PLACEMENT"),
        Column::new("STATUS"),
        Column::new("SATISFIED"),
        Column::new("CANDIDATES").drop(2),
        Column::new("MATCHED").drop(3),
        Column::new("TOLERATED").drop(4),
        Column::new("SELECTED"),
        Column::new("GROUPS").drop(1),
    ]);
    for placement in placements {
        let satisfied = placement.satisfied().map_or("-", |condition| &condition.status);
        table.row([
            placement.namespace.as_str().into(),
            placement.name.as_str().into(),
            status(placement.verdict()),
            Cell::toned(
                satisfied,
                if satisfied == "True" {
                    Tone::Good
                } else {
                    Tone::Bad
                },
            ),
            placement.candidates.len().into(),
            placement.filters[0].clusters.len().into(),
            placement.filters[1].clusters.len().into(),
            placement.selected_of().into(),
            placement.decision_groups.len().into(),
        ]);
    }
    table.render(width)
}

fn status(verdict: Verdict) -> Cell {
    Cell::toned(verdict.to_string(), verdict.tone())
}

/// Why placements did not get what they asked for, and what else their conditions say. A binding without a set concerns every
/// placement of its namespace and is said once.
fn complaints(placements: &[PlacementReport], stray: &StrayBindings) -> String {
    let told: Vec<(String, Vec<Message>)> = placements
        .iter()
        .map(|placement| {
            (
                format!("{}/{}", placement.namespace, placement.name),
                messages(placement),
            )
        })
        .collect();
    let all = || told.iter().flat_map(|(_, messages)| messages);
    let all = || all().map(|message| message.text.as_str());
    let stray = stray.repeated(all());
    let mut text = String::new();
    for (placement, messages) in &told {
        for Message {
            heading,
            text: message,
        } in messages
        {
            let (message, _) = stray.split(message);
            if !message.is_empty() {
                let line = format!("{placement}: {heading}{message}").replace(char::is_control, " ");
                text.push_str(&format!("\n{line}\n"));
            }
        }
    }
    for line in stray.lines(all()) {
        text.push_str(&format!("\n{}\n", line.replace(char::is_control, " ")));
    }
    text
}

/// What a condition or the evaluation says.
struct Message {
    /// The type of a condition that is not always there, with a colon.
    heading: String,
    text: String,
}

fn messages(placement: &PlacementReport) -> Vec<Message> {
    let complaint = placement.complaint().map(|text| Message {
        heading: String::new(),
        text,
    });
    let remarks = placement.remarks().map(|condition| Message {
        heading: format!("{}: ", condition.type_),
        text: condition.message.clone(),
    });
    complaint.into_iter().chain(remarks).collect()
}

/// The selected clusters in rank order, each with its group and score.
fn clusters(placement: &PlacementReport, width: Option<usize>) -> String {
    if placement.selected.is_empty() {
        return String::new();
    }
    let groups = groups(placement);
    let mut table = Table::new([
        Column::new("RANK"),
        Column::name("CLUSTER"),
        Column::name("GROUP"),
        Column::new("SCORE"),
        Column::text("PRIORITIZERS", 20).drop(1),
    ])
    .indented(2);
    for cluster in placement.selected.iter().take(LISTED_CLUSTERS) {
        let parts = placement.prioritizers.iter().map(|prioritizer| {
            let score = prioritizer.scores.get(cluster).copied().unwrap_or(0);
            match prioritizer.weight {
                1 => format!("{} {score}", prioritizer.name),
                weight => format!("{} {score}×{weight}", prioritizer.name),
            }
        });
        table.row([
            // The place among the scored clusters, as `explain` has it.
            placement.ranks.get(cluster).copied().unwrap_or_default().into(),
            cluster.as_str().into(),
            groups.get(cluster.as_str()).cloned().unwrap_or_default().into(),
            placement.scores.get(cluster).copied().unwrap_or(0).into(),
            Cell::toned(parts.collect::<Vec<_>>().join(", "), Tone::Faint),
        ]);
    }
    let more = match placement.selected.len().saturating_sub(LISTED_CLUSTERS) {
        0 => String::new(),
        more => format!("  … and {more} more; -o json lists all\n"),
    };
    let name = format!("{}/{}", placement.namespace, placement.name);
    let name = shortened_name(&name, width.unwrap_or(usize::MAX));
    format!("\n{name}\n{}{more}", table.render(width))
}

/// Cluster to group, as `0` or `0 canary`.
fn groups(placement: &PlacementReport) -> BTreeMap<&str, String> {
    let mut groups = BTreeMap::new();
    for decision in &placement.placement_decisions {
        let label = |key: &str| {
            let labels = decision.metadata.labels.as_ref();
            labels
                .and_then(|labels| labels.get(key))
                .map(String::as_str)
                .unwrap_or_default()
        };
        let group = match label(ocm::DECISION_GROUP_NAME) {
            "" => label(ocm::DECISION_GROUP_INDEX).to_owned(),
            name => format!("{} {name}", label(ocm::DECISION_GROUP_INDEX)),
        };
        for entry in decision.status.iter().flat_map(|status| &status.decisions) {
            groups.insert(entry.cluster_name.as_str(), group.clone());
        }
    }
    groups
}
