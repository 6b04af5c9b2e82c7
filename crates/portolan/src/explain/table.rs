//! An explanation for people: all clusters as a table, or one cluster as a report.

use jiff::Timestamp;
use portolan_engine::explain::{Explanation, Flip, Stage, Verdict};

use crate::live::Event;
use crate::output;
use crate::output::table::{Cell, Table, Tone};

/// The stages in the order in which a cluster goes through them.
const STAGES: [Stage; 5] = [
    Stage::Candidate,
    Stage::Predicate,
    Stage::TaintToleration,
    Stage::SpreadPolicy,
    Stage::NumberOfClusters,
];

pub(super) fn all(explanation: &Explanation) -> String {
    let mut table = Table::new(&["CLUSTER", "VERDICT", "STAGE", "RANK", "TOTAL", "REASON"]);
    for verdict in &explanation.clusters {
        table.row([
            verdict.cluster.as_str().into(),
            word(verdict),
            format!("{:?}", verdict.stage).into(),
            optional(verdict.rank),
            optional(verdict.total),
            verdict.reason.as_str().into(),
        ]);
    }
    let clusters = if table.is_empty() {
        "no clusters\n".to_owned()
    } else {
        table.render()
    };
    format!("{}\n{clusters}", heading(explanation))
}

/// What controllers and consumers said, newest last.
pub(super) fn events(events: Option<&[Event]>, now: Timestamp) -> String {
    let Some(events) = events else {
        return String::new();
    };
    let mut table = Table::new(&["LAST SEEN", "TYPE", "REASON", "FROM", "TIMES", "MESSAGE"]);
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
        false => format!("\n{}", table.render()),
    }
}

fn heading(explanation: &Explanation) -> String {
    let selected = explanation
        .clusters
        .iter()
        .filter(|verdict| verdict.selected)
        .count();
    let wanted = match explanation.number_of_clusters {
        Some(number) => format!(" of {number} asked for"),
        None => String::new(),
    };
    let Explanation {
        namespace,
        name,
        status,
        ..
    } = explanation;
    let mut text = format!("{namespace}/{name}: {status:?}, {selected} clusters selected{wanted}\n");
    text.push_str(&complaint(explanation));
    if let Some(cut_off) = &explanation.cut_off {
        text.push_str(&format!(
            "cut-off: {} with a total of {}\n",
            cut_off.cluster, cut_off.total
        ));
    }
    text
}

fn complaint(explanation: &Explanation) -> String {
    match (explanation.plugin.as_str(), explanation.message.as_str()) {
        (_, "") => String::new(),
        ("", message) => format!("{message}\n"),
        (plugin, message) => format!("{plugin}: {message}\n"),
    }
}

pub(super) fn one(explanation: &Explanation, flip: Option<&Flip>) -> String {
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
    text.push_str(&stages(verdict));
    text.push_str(&checks(verdict));
    text.push_str(&contributions(verdict));
    text.push_str(&position(explanation, verdict));
    text.push_str(&change(flip));
    text
}

fn stages(verdict: &Verdict) -> String {
    if verdict.stage == Stage::NotEvaluated {
        return String::new();
    }
    let stopped = STAGES
        .iter()
        .position(|stage| *stage == verdict.stage)
        .unwrap_or(STAGES.len());
    let mut table = Table::new(&["STAGE", "RESULT"]).indented(2);
    for (position, stage) in STAGES.iter().enumerate() {
        let result = match position.cmp(&stopped) {
            std::cmp::Ordering::Less => Cell::toned("passed", Tone::Good),
            std::cmp::Ordering::Equal => Cell::toned("stopped here", Tone::Bad),
            std::cmp::Ordering::Greater => Cell::toned("not reached", Tone::Faint),
        };
        table.row([format!("{stage:?}").into(), result]);
    }
    format!("\n{}", table.render())
}

fn checks(verdict: &Verdict) -> String {
    let mut table = Table::new(&["WANTED", "OBSERVED", "FIELD"]).indented(2);
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
        format!("\n{}", table.render())
    }
}

fn contributions(verdict: &Verdict) -> String {
    let Some(total) = verdict.total else {
        return String::new();
    };
    let mut table = Table::new(&["PRIORITIZER", "SCORE", "WEIGHT", "CONTRIBUTION"]).indented(2);
    for part in &verdict.prioritizers {
        table.row([
            part.name.as_str().into(),
            part.score.into(),
            format!("×{}", part.weight).into(),
            format!("={}", part.contribution).into(),
        ]);
    }
    table.row(["total".into(), "".into(), "".into(), format!("={total}").into()]);
    format!("\n{}", table.render())
}

fn position(explanation: &Explanation, verdict: &Verdict) -> String {
    let Some(rank) = verdict.rank else {
        return String::new();
    };
    let mut text = format!("\nrank: {rank}\n");
    if verdict.prefer_no_select > 0 {
        let taints = verdict.prefer_no_select;
        text.push_str(&format!(
            "ranked behind clusters with fewer than {taints} untolerated PreferNoSelect taints\n"
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

fn change(flip: Option<&Flip>) -> String {
    let Some(flip) = flip else {
        return "\nno small change would turn this round\n".to_owned();
    };
    let edits: String = flip.edits.iter().map(|edit| format!("  {edit}\n")).collect();
    let outcome = if flip.selected_after {
        "to have it selected"
    } else {
        "to have it left out"
    };
    format!("\nsmallest change {outcome}:\n{edits}")
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
