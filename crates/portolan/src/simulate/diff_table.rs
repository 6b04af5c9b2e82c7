//! A difference for people.

use portolan_api::count::{are, counted};

use super::diff::{Change, Difference, Group, PlacementDifference, Summary};
use crate::output::table::{Cell, Column, Table, Tone};

/// How many lines of one sort a placement gets.
const LISTED: usize = 20;

pub(super) fn render(difference: &Difference, width: Option<usize>) -> String {
    let unchanged = match difference.unchanged {
        0 if !difference.placements.is_empty() => String::new(),
        1 => "1 placement stays as it is\n".to_owned(),
        number => format!("{number} placements stay as they are\n"),
    };
    let unsatisfied: Vec<String> = difference.unsatisfied.iter().map(|words| line(words)).collect();
    let mut unsatisfied = bounded(unsatisfied, "placements");
    if difference.others_unsatisfied > 0 {
        let others = counted(difference.others_unsatisfied, "placement");
        unsatisfied.push_str(&format!(
            "  {others} of the hub {} unsatisfied, as before; `portolan get placements` lists them\n",
            are(difference.others_unsatisfied)
        ));
    }
    if difference.placements.is_empty() {
        return format!("no decision changes: {unchanged}{unsatisfied}");
    }
    let mut text = summary(&difference.placements, width);
    text.push_str(&unchanged);
    text.push_str(&unsatisfied);
    difference
        .placements
        .iter()
        .for_each(|placement| text.push_str(&details(placement)));
    text
}

fn summary(placements: &[PlacementDifference], width: Option<usize>) -> String {
    let mut table = Table::new([
        Column::name("NAMESPACE"),
        Column::name("PLACEMENT"),
        Column::new("STATUS"),
        Column::new("SATISFIED").drop(3),
        Column::new("CLUSTERS"),
        Column::new("ADDED"),
        Column::new("REMOVED"),
        Column::new("MOVED").drop(2),
        Column::new("OBJECTS").drop(1),
    ]);
    for placement in placements {
        let (before, after) = (placement.before.as_ref(), placement.after.as_ref());
        table.row([
            placement.namespace.as_str().into(),
            placement.name.as_str().into(),
            status_change(before, after),
            change(before, after, |summary| {
                if summary.satisfied { "True" } else { "False" }.to_owned()
            })
            .into(),
            change(before, after, |summary| match summary.words.wanted {
                Some(wanted) => format!("{} of {wanted}", summary.clusters),
                None => summary.clusters.to_string(),
            })
            .into(),
            placement.added.len().into(),
            placement.removed.len().into(),
            placement.moved.len().into(),
            placement.objects.len().into(),
        ]);
    }
    table.render(width)
}

/// `a`, or `a → b` where the sides differ.
fn change(before: Option<&Summary>, after: Option<&Summary>, field: impl Fn(&Summary) -> String) -> String {
    let side = |summary: Option<&Summary>| summary.map_or("none".to_owned(), &field);
    let (before, after) = (side(before), side(after));
    if before == after {
        after
    } else {
        format!("{before} → {after}")
    }
}

fn status_change(before: Option<&Summary>, after: Option<&Summary>) -> Cell {
    let text = change(before, after, |summary| summary.words.verdict.to_string());
    let tone = after.map_or(Tone::Doubtful, |summary| summary.words.verdict.tone());
    Cell::toned(text, tone)
}

/// Messages may repeat what others wrote.
fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn details(placement: &PlacementDifference) -> String {
    let mut lines = Vec::new();
    lines.extend(
        placement
            .added
            .iter()
            .map(|cluster| Tone::Good.paint(&format!("+ {cluster}"))),
    );
    lines.extend(
        placement
            .removed
            .iter()
            .map(|cluster| Tone::Bad.paint(&format!("- {cluster}"))),
    );
    lines.extend(placement.moved.iter().map(|moved| {
        let line = format!(
            "~ {}: group {} → {}",
            moved.cluster,
            group(&moved.from),
            group(&moved.to)
        );
        Tone::Doubtful.paint(&line)
    }));
    let clusters = bounded(lines, "clusters");
    let objects = placement.objects.iter().map(|object| {
        let verb = match object.change {
            Change::Created => "create",
            Change::Changed => "rewrite",
            Change::Deleted => "delete",
        };
        format!("{verb} {} {} ({})", object.kind, object.name, object.api_version)
    });
    let objects = bounded(objects.collect(), "objects");
    let after = placement.after.as_ref();
    let complaint = after.and_then(|after| after.words.complaint.as_ref());
    let warnings = after.iter().flat_map(|after| &after.warnings);
    let message: String = complaint
        .into_iter()
        .chain(warnings)
        .map(|message| format!("  {}\n", line(message)))
        .collect();
    format!(
        "\n{}/{}\n{message}{clusters}{objects}",
        placement.namespace, placement.name
    )
}

fn group(group: &Group) -> String {
    match group.decision_group_name.as_str() {
        "" => group.decision_group_index.to_string(),
        name => format!("{} {name}", group.decision_group_index),
    }
}

fn bounded(lines: Vec<String>, what: &str) -> String {
    let more = lines.len().saturating_sub(LISTED);
    let mut text: String = lines
        .iter()
        .take(LISTED)
        .map(|line| format!("  {line}\n"))
        .collect();
    if more > 0 {
        text.push_str(&format!("  … and {more} more {what}; -o json lists all\n"));
    }
    text
}
