//! `portolan lint`: everything that is wrong with manifests, without the answer of a simulation around it.
//!
//! It is what `simulate` checks: reading, spelling, the definitions, and an evaluation of every placement; and what the
//! controllers check when they come to a cluster, a set or a replica set.

mod bindings;
mod judge;
mod objects;
mod unsatisfied;
mod works;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;

use portolan_api::cluster;
use portolan_api::count::counted;
use portolan_api::labels::conditions::PLACEMENT_WARNING;
use portolan_engine::conditions::{ANNOTATION_REFUSED, Condition, SPREAD_SATISFIED};
use portolan_engine::fleet;
use portolan_engine::placement::PlacementKey;
use portolan_engine::status::Code;
use serde::Serialize;

use crate::command_input::{self, CommandInput};
use crate::input::{Finding, Manifests, Notes, Problem, Problems, Severity};
use crate::live::{Extent, Namespaces};
use crate::output::table::Tone;
use crate::output::{self, Format};
use crate::set_names::SetNames;
use crate::simulate::report::PlacementReport;
use crate::{clock, simulate, world};

/// The field of the spread constraints.
const SPREAD: &str = "spec.spreadPolicy";

const EXAMPLES: &str = "\
Examples:
  # Is something wrong with these manifests?
  portolan lint -f manifests/

  # In a pipeline: warnings count, too
  portolan lint -f manifests/ --strict

  # Before they are applied to a hub: with the clusters, sets and scores on it
  portolan lint -f manifests/ --kubeconfig hub.kubeconfig

  # For programs
  portolan lint -f manifests/ -o json

Exit codes: 0 fine, 1 an error was found (with --strict: or a warning),
also in a file that is no UTF-8, YAML or JSON; 2 a wrong command line, a file
that cannot be opened, or no object; 3 the hub cannot be reached or refuses.";

/// Find mistakes in manifests; nothing is written
///
/// Errors are refused by kubectl, by a hub or by its controllers, keep a placement from being evaluated, or cannot be
/// evaluated by an agent, such as CEL that does not compile. Warnings are accepted and most likely not what is meant: a score
/// that no cluster has, a rollout without a rule for success, a placement that selects too few of the clusters in the input. Without clusters in the input, it is no warning that a placement selects none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: command_input::InputArgs,

    /// Taken to say how files are named.
    #[arg(value_name = "PATH", hide = true)]
    stray: Vec<PathBuf>,

    /// Exit with 1 for a warning, too
    #[arg(long)]
    strict: bool,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    errors: usize,
    warnings: usize,
    /// Errors first, then warnings, then what plays no part.
    findings: Vec<Finding>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(stray) = args.stray.first() {
        let path = stray.display();
        let what = format!("{path} is named without -f; accepted: `portolan lint -f {path}`");
        return Err(Problems::from(Problem::of_arguments(what)).into());
    }
    let mut notes = Notes::default();
    let mut findings = match command_input::read(&args.input, Extent::Linting, Namespaces::All, &mut notes) {
        Ok(input) => judged(args, &input, &mut notes),
        Err(error) => match error.downcast_ref::<Problems>().and_then(Problems::findings) {
            Some(mut findings) => {
                let rest = "nothing was evaluated after these errors: values, expressions and references to other objects were \
                            not checked; correct the errors and run lint again";
                findings.push(Finding::new(Severity::Info, None, "", rest));
                findings
            }
            None => return Err(error),
        },
    };
    add_notes(&mut findings, &notes);
    let count = |severity: Severity| {
        let found = findings.iter().filter(|finding| finding.severity == severity);
        found.count()
    };
    let report = Report {
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        findings,
    };
    let text = args.output.render(&report, |_| text(&report))?;
    output::print(&text)?;
    let is_fine = report.errors == 0 && !(args.strict && report.warnings > 0);
    Ok(if is_fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// What is wrong with the objects that were read.
fn judged(args: &Args, input: &CommandInput, notes: &mut Notes) -> Vec<Finding> {
    let CommandInput { before, applied, hub } = input;
    let now = clock::now_or(args.input.now);
    let judge = |manifests: &Manifests| {
        let reports = simulate::check(manifests, args.input.inventory, now);
        let inventory = args.input.inventory.resolve(manifests);
        let mut findings = evaluated(manifests, &reports, inventory);
        let judge = judge::Judge {
            manifests,
            reports: &reports,
            inventory,
            knows_hub: hub.is_some(),
        };
        findings.extend(objects::findings(&judge));
        findings.extend(bindings::findings(&judge, &findings));
        let sets = SetNames::of(manifests);
        findings.iter_mut().for_each(|finding| sets.correct(finding));
        findings
    };
    let manifests = applied.as_ref().unwrap_or(before);
    world::note_gaps(manifests, notes);
    let mut findings = judge(manifests);
    if applied.is_some() {
        // The question is about the files: what is wrong on the hub without them is no answer.
        let there = judge(before);
        findings.retain(|found| !there.contains(found));
    } else if hub.is_some() {
        notes.refuse_unreadable();
    }
    findings
}

/// Adds what was noted while the input was read, where it says something new.
fn add_notes(findings: &mut Vec<Finding>, notes: &Notes) {
    let notes: Vec<Finding> = notes.findings().collect();
    // The notes are about what was written, the others about what was read from it.
    let is_noted = |found: &Finding| {
        let mut notes = notes.iter().filter(|note| note.severity <= found.severity);
        !found.field.is_empty()
            && notes.any(|note| (&note.object, &note.field) == (&found.object, &found.field))
    };
    findings.retain(|found| !is_noted(found));
    let said: Vec<(String, String)> = findings
        .iter()
        .map(|found| (found.object.clone(), found.field.clone()))
        .collect();
    // What an error says about a field, a guess at its spelling does not say better.
    let is_news =
        |note: &Finding| note.field.is_empty() || !said.contains(&(note.object.clone(), note.field.clone()));
    findings.extend(notes.into_iter().filter(is_news).map(as_refused));
    findings.sort_by_key(|finding| finding.severity);
}

/// A placement with a misspelled operator is not evaluated, whatever else is wrong with it.
fn as_refused(mut note: Finding) -> Finding {
    if note.severity == Severity::Warning && note.field.ends_with(".operator") {
        note.severity = Severity::Error;
    }
    note
}

/// What an evaluation of every placement finds.
fn evaluated(
    manifests: &Manifests,
    reports: &[PlacementReport],
    inventory: fleet::Inventory,
) -> Vec<Finding> {
    let has_clusters = has_clusters(manifests);
    let placements: HashMap<PlacementKey, &cluster::Placement> = manifests
        .placements()
        .map(|placement| (PlacementKey::of(placement), placement))
        .collect();
    let mut findings = Vec::new();
    // Many placements can meet the same mistake of another object, such as a binding.
    let mut of_others: HashSet<(&str, &str, &str)> = HashSet::new();
    for report in reports {
        let PlacementReport { namespace, name, .. } = report;
        let object = format!("Placement {namespace}/{name}");
        let place = manifests.place_of(cluster::GROUP, "Placement", namespace, name);
        let found = |severity: Severity, problem: &str| Finding::new(severity, place, &object, problem);
        let placement = placements.get(&PlacementKey::new(namespace, name));
        let unsatisfied = placement
            .filter(|_| has_clusters)
            .and_then(|placement| unsatisfied::unexplained(placement, report, inventory));
        let is_about_spread = |field: &str| field.starts_with(SPREAD);
        let about_spread = report.findings.iter().any(|found| is_about_spread(&found.field))
            || unsatisfied
                .as_ref()
                .is_some_and(|error| is_about_spread(&error.path));
        findings.extend(summary(report).map(|severity| found(severity, &report.message)));
        findings.extend(unsatisfied.map(|error| Finding::about(Severity::Warning, place, &object, &error)));
        let said =
            remarks(report).filter(|(_, condition)| !(about_spread && condition.type_ == SPREAD_SATISFIED));
        findings.extend(said.map(|(severity, condition)| {
            found(severity, &format!("{}: {}", condition.type_, condition.message))
        }));
        for found in &report.findings {
            let is_own = found.object == object;
            if !is_own && !of_others.insert((&found.object, &found.field, &found.problem)) {
                continue;
            }
            let place = if is_own {
                place
            } else {
                manifests.place_of_object(&found.object)
            };
            findings.push(Finding {
                field: found.field.clone(),
                value: found.value.clone(),
                accepted: found.accepted.clone(),
                ..Finding::new(found.severity, place, &found.object, &found.problem)
            });
        }
    }
    findings
}

/// How much the message of a report matters. Nothing where the report says the same field by field.
fn summary(report: &PlacementReport) -> Option<Severity> {
    let severity = match report.status {
        Code::Misconfigured | Code::Error => Severity::Error,
        Code::Success | Code::Warning if report.message.is_empty() => return None,
        Code::Success | Code::Warning => Severity::Warning,
    };
    let mut by_field = report.findings.iter();
    (!by_field.any(|found| found.severity == severity)).then_some(severity)
}

/// The conditions that are there only when there is something to say, and how much each of them matters. Those that the
/// report says field by field are left out.
fn remarks(report: &PlacementReport) -> impl Iterator<Item = (Severity, &Condition)> {
    let is_satisfied = report
        .satisfied()
        .is_some_and(|satisfied| satisfied.status == "True");
    let by_field = [PLACEMENT_WARNING, ANNOTATION_REFUSED];
    let remarks = report.remarks();
    let remarks = remarks.filter(move |condition| !by_field.contains(&condition.type_.as_str()));
    remarks.map(move |condition| {
        // A constraint that keeps clusters out does what it is for, unless clusters are missing then.
        let severity = match condition.type_ == SPREAD_SATISFIED && is_satisfied {
            true => Severity::Info,
            false => Severity::Warning,
        };
        (severity, condition)
    })
}

fn has_clusters(manifests: &Manifests) -> bool {
    manifests.clusters().next().is_some() || manifests.profiles().next().is_some()
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let word = match finding.severity {
            Severity::Error => Tone::Bad.paint("error"),
            Severity::Warning => Tone::Doubtful.paint("warning"),
            Severity::Info => Tone::Faint.paint("info"),
        };
        text.push_str(&format!("{word}: {}\n", sentence(finding)));
    }
    text.push_str(&match (report.errors, report.warnings) {
        (0, 0) => "no mistakes found\n".to_owned(),
        (errors, warnings) => {
            format!("{}, {}\n", counted(errors, "error"), counted(warnings, "warning"))
        }
    });
    text
}

/// `file: document 2: Placement ns/p: field = value: problem; accepted: …`, as far as it is known.
fn sentence(finding: &Finding) -> String {
    let document = finding.document.map(|number| format!("document {number}"));
    let field = match (finding.field.as_str(), finding.value.as_str()) {
        ("", _) => String::new(),
        (field, "") => field.to_owned(),
        (field, value) => format!("{field} = {value}"),
    };
    let place = [finding.file.clone(), document.unwrap_or_default()];
    let parts = place
        .into_iter()
        .chain([finding.object.clone(), field, finding.problem.clone()]);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    let mut sentence = parts.join(": ").replace(char::is_control, " ");
    if !finding.accepted.is_empty() {
        sentence.push_str(&format!("; accepted: {}", finding.accepted));
    }
    sentence
}
