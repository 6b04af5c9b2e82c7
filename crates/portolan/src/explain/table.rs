//! An explanation for people: all clusters as a table, or one cluster as a report.

use jiff::Timestamp;
use portolan_api::count::counted;
use portolan_api::labels::conditions;
use portolan_engine::explain::{Explanation, Flip, Stage, Verdict};
use portolan_engine::status::Code;

use super::summary::{Summary, is_left_to_spread};
use crate::live::Event;
use crate::output;
use crate::output::table::{Cell, Column, Table, Tone};

/// The stages in the order in which a cluster goes through them.
const STAGES: [Stage; 5] = [
    Stage::Candidate,
    Stage::Predicate,
    Stage::TaintToleration,
    Stage::SpreadPolicy,
    Stage::NumberOfClusters,
];

/// The summary, the selected clusters and the first `others` of the rest.
pub(super) fn all(
    explanation: &Explanation,
    summary: &Summary,
    others: usize,
    width: Option<usize>,
) -> String {
    if let Some(why) = unevaluated(explanation).filter(|_| others < usize::MAX) {
        let lost = summary.sentence();
        let lost = format!("{}: {why}; --all lists the clusters\n", lost.trim_end());
        return heading(explanation, summary, &lost);
    }
    let mut table = Table::new([
        Column::name("CLUSTER"),
        Column::new("VERDICT"),
        Column::new("STAGE").drop(1),
        Column::new("RANK"),
        Column::new("TOTAL"),
        Column::prose("REASON", 30).told_once(),
    ]);
    // Selected clusters come first.
    let shown = summary.selected.saturating_add(others);
    for verdict in explanation.clusters.iter().take(shown) {
        table.row([
            verdict.cluster.as_str().into(),
            word(verdict),
            format!("{:?}", verdict.stage).into(),
            optional(verdict.rank),
            optional(verdict.total),
            reason(explanation, verdict),
        ]);
    }
    let clusters = if table.is_empty() {
        "no clusters\n".to_owned()
    } else {
        table.render(width)
    };
    let hidden = match explanation.clusters.len().saturating_sub(shown) {
        0 => String::new(),
        more => format!("… and {more} more that are not selected; --all shows them\n"),
    };
    format!(
        "{}{}\n{clusters}{hidden}",
        heading(explanation, summary, &summary.sentence()),
        cut_off(explanation)
    )
}

/// The reason that all clusters have where none was evaluated. A row for each cluster would repeat it.
fn unevaluated(explanation: &Explanation) -> Option<&str> {
    let mut verdicts = explanation.clusters.iter();
    let is_so = verdicts.all(|verdict| verdict.stage == Stage::NotEvaluated);
    let first = explanation.clusters.first()?;
    is_so.then_some(first.reason.as_str())
}

/// What controllers and consumers said, newest last.
pub(super) fn events(events: Option<&[Event]>, now: Timestamp, width: Option<usize>) -> String {
    let Some(events) = events else {
        return String::new();
    };
    let mut table = Table::new([
        Column::new("LAST SEEN"),
        Column::new("TYPE"),
        Column::text("REASON", 20),
        Column::name("FROM").drop(2),
        Column::new("TIMES").drop(1),
        Column::prose("MESSAGE", 30),
    ]);
    for event in events {
        let tone = match event.kind.as_str() {
            "Warning" => Tone::Doubtful,
            _ => Tone::Plain,
        };
        table.row([
            event
                .time
                .map_or("-".into(), |time| output::age(time, now).into()),
            Cell::toned(&event.kind, tone),
            event.reason.as_str().into(),
            match event.from.as_str() {
                "" => "-".into(),
                from => from.into(),
            },
            event.count.into(),
            event.message.as_str().into(),
        ]);
    }
    match table.is_empty() {
        true => "\nno events\n".to_owned(),
        false => format!("\n{}", table.render(width)),
    }
}

/// What became of the placement. `lost` says how many clusters were lost to what.
fn heading(explanation: &Explanation, summary: &Summary, lost: &str) -> String {
    let Explanation {
        namespace,
        name,
        status,
        ..
    } = explanation;
    let selected = summary.selected;
    let wanted = match explanation.number_of_clusters {
        Some(number) => format!(" of {number} asked for"),
        None => String::new(),
    };
    let status = match is_short(explanation, selected) {
        true => "Unsatisfied".to_owned(),
        false => format!("{status:?}"),
    };
    format!(
        "{namespace}/{name}: {status}, {} selected{wanted}\n{lost}{}",
        counted(selected, "cluster"),
        complaint(explanation)
    )
}

/// Whether an evaluation that went well gave the placement fewer clusters than it asks for, or none.
fn is_short(explanation: &Explanation, selected: usize) -> bool {
    let went_well = matches!(explanation.status, Code::Success | Code::Warning);
    let wanted = explanation.number_of_clusters.unwrap_or(1).max(1);
    went_well && selected < wanted
}

fn cut_off(explanation: &Explanation) -> String {
    match &explanation.cut_off {
        Some(cut_off) => format!("cut-off: {} with a total of {}\n", cut_off.cluster, cut_off.total),
        None => String::new(),
    }
}

fn complaint(explanation: &Explanation) -> String {
    let mut text = match (explanation.plugin.as_str(), explanation.message.as_str()) {
        (_, "") => String::new(),
        ("", message) => format!("{message}\n"),
        (plugin, message) => format!("{plugin}: {message}\n"),
    };
    for condition in &explanation.conditions {
        match condition.type_.as_str() {
            // A placement that is misconfigured has said so.
            conditions::PLACEMENT_SATISFIED if condition.status == "False" && text.is_empty() => {
                text.push_str(&format!("unsatisfied: {}\n", condition.message));
            }
            conditions::PLACEMENT_WARNING => text.push_str(&format!("warning: {}\n", condition.message)),
            _ => {}
        }
    }
    text
}

pub(super) fn one(explanation: &Explanation, flip: Option<&Flip>, width: Option<usize>) -> String {
    let Some(verdict) = explanation.clusters.first() else {
        return String::new();
    };
    let tone = if verdict.selected { Tone::Good } else { Tone::Bad };
    let mut text = format!(
        "{} for {}/{}: {}\n{}{}\n",
        verdict.cluster,
        explanation.namespace,
        explanation.name,
        tone.paint(if verdict.selected {
            "selected"
        } else {
            "not selected"
        }),
        complaint(explanation),
        verdict.reason,
    );
    text.push_str(&stages(verdict, width));
    text.push_str(&checks(verdict, width));
    text.push_str(&contributions(verdict, width));
    text.push_str(&position(explanation, verdict));
    text.push_str(&change(verdict, flip));
    text
}

fn stages(verdict: &Verdict, width: Option<usize>) -> String {
    if verdict.stage == Stage::NotEvaluated {
        return String::new();
    }
    let stopped = STAGES
        .iter()
        .position(|stage| *stage == verdict.stage)
        .unwrap_or(STAGES.len());
    let mut table = Table::new([Column::new("STAGE"), Column::new("RESULT")]).indented(2);
    for (position, stage) in STAGES.iter().enumerate() {
        let result = match position.cmp(&stopped) {
            std::cmp::Ordering::Less => Cell::toned("passed", Tone::Good),
            std::cmp::Ordering::Equal => Cell::toned("stopped here", Tone::Bad),
            std::cmp::Ordering::Greater => Cell::toned("not reached", Tone::Faint),
        };
        table.row([format!("{stage:?}").into(), result]);
    }
    format!("\n{}", table.render(width))
}

fn checks(verdict: &Verdict, width: Option<usize>) -> String {
    let mut table = Table::new([
        Column::prose("WANTED", 20),
        Column::prose("OBSERVED", 20),
        Column::prose("FIELD", 16),
    ])
    .indented(2);
    for check in &verdict.checks {
        table.row([
            check.expression.as_str().into(),
            check.observed.as_str().into(),
            check.field.as_str().into(),
        ]);
    }
    if table.is_empty() {
        String::new()
    } else {
        format!("\n{}", table.render(width))
    }
}

fn contributions(verdict: &Verdict, width: Option<usize>) -> String {
    let Some(total) = verdict.total else {
        return String::new();
    };
    let mut table = Table::new([
        Column::name("PRIORITIZER"),
        Column::new("SCORE"),
        Column::new("WEIGHT"),
        Column::new("CONTRIBUTION"),
    ])
    .indented(2);
    for part in &verdict.prioritizers {
        table.row([
            part.name.as_str().into(),
            part.score.into(),
            format!("×{}", part.weight).into(),
            format!("={}", part.contribution).into(),
        ]);
    }
    table.row(["total".into(), "".into(), "".into(), format!("={total}").into()]);
    format!("\n{}", table.render(width))
}

fn position(explanation: &Explanation, verdict: &Verdict) -> String {
    let Some(rank) = verdict.rank else {
        return String::new();
    };
    let mut text = format!("\nrank: {rank}\n");
    if verdict.prefer_no_select > 0 {
        let taints = verdict.prefer_no_select;
        text.push_str(&format!(
            "ranked behind clusters with fewer than {}\n",
            counted(taints, "untolerated PreferNoSelect taint")
        ));
    }
    if let (Some(distance), Some(cut_off)) = (verdict.distance_to_cut_off, &explanation.cut_off) {
        let other = match verdict.selected {
            true => "the first cluster that is left out".to_owned(),
            false => format!(
                "{}, the last selected cluster with {}",
                cut_off.cluster, cut_off.total
            ),
        };
        text.push_str(&format!(
            "distance to the cut-off: {distance:+} against {other}\n"
        ));
    }
    if let Some(group) = &verdict.group {
        let name = if group.name.is_empty() {
            String::new()
        } else {
            format!(" ({})", group.name)
        };
        text.push_str(&format!("group: {}{name}\n", group.index));
    }
    text
}

fn change(verdict: &Verdict, flip: Option<&Flip>) -> String {
    let Some(flip) = flip else {
        let outcome = if verdict.selected {
            "leave this cluster out"
        } else {
            "select this cluster"
        };
        if verdict.stage == Stage::NotEvaluated {
            return "\nno change to the cluster can help before the mistake of the Placement is corrected\n"
                .to_owned();
        }
        if verdict.stage == Stage::SpreadPolicy {
            return format!(
                "\nno value of the constraint's key that other clusters have, no taint and no numberOfClusters was found that \
                 would {outcome}; a value that no cluster has was not tried\n"
            );
        }
        return format!(
            "\nno single change to labels, claims, taints or numberOfClusters was found that would {outcome}; what CEL expressions \
             ask for was not tried\n"
        );
    };
    let outcome = if flip.selected_after {
        "to select this cluster"
    } else {
        "to leave this cluster out"
    };
    match flip.edits.as_slice() {
        [edit] => format!("\n{outcome}:\n  {edit}\n"),
        edits => {
            let edits = edits.iter().enumerate();
            let edits: String = edits
                .map(|(position, edit)| format!("  {}. {edit}\n", position + 1))
                .collect();
            format!("\n{outcome}, do all of these:\n{edits}")
        }
    }
}

/// The reason in full, and in a few words where there is too little room: fields have long paths.
fn reason(explanation: &Explanation, verdict: &Verdict) -> Cell {
    let reason = Cell::from(&verdict.reason);
    match (
        verdict.checks.first(),
        verdict.rank,
        explanation.number_of_clusters,
    ) {
        (Some(check), ..) if verdict.stage == Stage::TaintToleration => reason.or(&check.observed),
        (Some(check), ..) => reason.or(format!("wants {}; has {}", check.expression, check.observed)),
        (None, Some(rank), _) if is_left_to_spread(explanation, verdict) => {
            reason.or(format!("rank {rank}, spread takes another domain"))
        }
        (None, Some(rank), Some(number)) if verdict.stage == Stage::NumberOfClusters => {
            reason.or(format!("rank {rank}, numberOfClusters is {number}"))
        }
        _ => reason,
    }
}

fn word(verdict: &Verdict) -> Cell {
    match (verdict.selected, verdict.stage) {
        (true, _) => Cell::toned("selected", Tone::Good),
        (_, Stage::NotEvaluated) => Cell::toned("unknown", Tone::Doubtful),
        (_, Stage::NumberOfClusters) => Cell::toned("ranked", Tone::Doubtful),
        _ => Cell::toned("rejected", Tone::Bad),
    }
}

fn optional(number: Option<impl ToString>) -> Cell {
    number.map_or_else(|| "-".into(), |number| number.to_string().into())
}
