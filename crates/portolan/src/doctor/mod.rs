//! `portolan doctor`: why nothing happens. Checks in the order in which things depend on each other, each with what was
//! found and what to do.
//!
//! [`read`] asks the hub, [`judge`] is a function of what was read.

mod bindings;
mod complaint;
mod concern;
mod fleet;
mod judge;
mod leaving;
mod plain_works;
mod read;
mod stale;
mod subject;
#[cfg(test)]
mod tests;
mod works;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use portolan_api::count::counted;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use crate::completions::names as names_of;
use crate::input::Problems;
use crate::object_name::{self, ObjectName};
use crate::output::table::Tone;
use crate::output::{self, Format};
use crate::world::Inventory;
use crate::{clock, live};

const EXAMPLES: &str = "\
Examples:
  # Is the hub reachable, does a controller run, are there clusters?
  portolan doctor --kubeconfig hub.kubeconfig

  # Why does this Placement, ManifestWorkReplicaSet or Work stand still?
  portolan doctor shop/web

  # For programs
  portolan doctor -o json

Exit codes: 0 no problem found, 1 a check found a problem, 2 bad input,
3 the hub cannot be reached or refuses.";

/// How often a hub is read whose objects do not fit together, and the pause in between. More would make a user wait for the
/// report of a problem that is there; fewer would report what a controller is writing.
const READS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);

/// Check a hub step by step and say what to do: for "why does nothing happen?"
///
/// The checks read the hub and change nothing. Whether a controller runs is judged by what it has written: a condition
/// for the current generation of every Placement, and decisions that fit the clusters as they are now.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only this Placement, and the ManifestWorkReplicaSet, ManifestWork and Work of the same name, with the Placements that
    /// they refer to: NAMESPACE/NAME, or NAME [default: all]
    #[arg(value_name = "NAME", value_parser = object_name::parse, add = names_of::subjects())]
    subject: Option<ObjectName>,

    /// Namespace of NAME [default: that of the kubeconfig's context, or default]
    #[arg(short, long, value_name = "NS", requires = "subject")]
    namespace: Option<String>,

    #[command(flatten)]
    connect: live::ConnectArgs,

    /// Which objects are the clusters
    #[arg(long, value_enum, default_value_t)]
    inventory: Inventory,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// What was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// URL of the hub.
    hub: String,
    /// What was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    problems: usize,
    checks: Vec<Check>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    name: &'static str,
    result: Verdict,
    /// What was found.
    found: String,
    /// The same with a list cut short, for people with little room.
    #[serde(skip)]
    brief: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// Whether the check is about what was asked for, rather than about the hub or something that it depends on.
    #[serde(skip)]
    is_of_subject: bool,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Verdict {
    Ok,
    /// Worth knowing, and as it should be.
    Note,
    Problem,
    /// It cannot be told.
    Unknown,
}

impl Check {
    /// Whether the problem may be one of the moment: objects are read one kind after the other while a controller writes.
    fn may_pass(&self) -> bool {
        self.result == Verdict::Problem && ["controller", "decisions"].contains(&self.name)
    }

    fn new(name: &'static str, result: Verdict, found: impl Into<String>) -> Check {
        Check {
            name,
            result,
            found: found.into(),
            brief: None,
            advice: None,
            is_of_subject: false,
        }
    }

    fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check::new(name, Verdict::Ok, found)
    }

    fn problem(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Check {
        Check {
            advice: Some(advice.into()),
            ..Check::new(name, Verdict::Problem, found)
        }
    }

    /// The check with a shorter text for people.
    fn or(mut self, brief: String) -> Check {
        self.brief = Some(brief);
        self
    }

    fn note(name: &'static str, found: impl Into<String>) -> Check {
        Check::new(name, Verdict::Note, found)
    }

    fn unknown(name: &'static str, found: impl Into<String>) -> Check {
        Check::new(name, Verdict::Unknown, found)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (hub, subject, checks, is_readable) = live::block_on(async {
        let server = args.connect.connect().await?;
        let flag = args.namespace.as_deref();
        let named = args.subject.as_ref();
        let subject = named.map(|named| named.key(flag, &server.namespace)).transpose();
        let subject = subject.map_err(Problems::from)?;
        let mut reads = 1;
        let mut stale: Option<BTreeSet<PlacementKey>> = None;
        let (observed, checks) = loop {
            let mut observed = read::read(&server, args.inventory).await;
            let now = clock::now();
            let found = observed.manifests.as_ref();
            let found = found.map(|manifests| stale::placements(manifests, args.inventory, now));
            observed.stale = found.unwrap_or_default();
            // Decisions follow a change a moment later, so that one read may find some of them behind.
            if let Some(before) = stale {
                observed.stale.retain(|key, _| before.contains(key));
            }
            stale = Some(observed.stale.keys().cloned().collect());
            let checks = judge::judge(&observed, subject.as_ref(), now);
            if reads == READS || !checks.iter().any(Check::may_pass) {
                break (observed, checks);
            }
            reads += 1;
            tokio::time::sleep(PAUSE).await;
        };
        let is_readable = observed.version.is_ok() && observed.unread.is_empty();
        Ok((server.url, subject, checks, is_readable))
    })?;
    let problems = checks
        .iter()
        .filter(|check| check.result == Verdict::Problem)
        .count();
    // What is asked about has to exist, as for every command.
    if let Some(missing) = checks.iter().find(|check| check.name == subject::MISSING) {
        let advice = missing.advice.as_deref().unwrap_or_default();
        anyhow::bail!("{} on {hub}; {advice}", missing.found);
    }
    let report = Report {
        hub,
        subject: subject.as_ref().map(ToString::to_string),
        problems,
        checks,
    };
    let text = args
        .output
        .render(&report, |_| report.text(args.output == Format::Wide))?;
    output::print(&text)?;
    Ok(match (problems, is_readable) {
        (0, _) => ExitCode::SUCCESS,
        (_, true) => ExitCode::from(1),
        (_, false) => ExitCode::from(3),
    })
}

impl Report {
    /// A line a check, and under each problem what to do. What was asked for comes first, then what it depends on: a person who
    /// asks about one object does not look for the answer behind checks of the hub.
    fn text(&self, is_wide: bool) -> String {
        let (own, others): (Vec<&Check>, Vec<&Check>) =
            self.checks.iter().partition(|check| check.is_of_subject);
        let found = |check: &Check| match &check.brief {
            Some(brief) if !is_wide => plain(brief),
            _ => plain(&check.found),
        };
        let mut text = format!("{}\n\n", self.hub);
        if let Some(subject) = self.subject.as_ref().filter(|_| !own.is_empty()) {
            text.push_str(&format!("{subject}:\n{}\n", lines(&own, found)));
            text.push_str(&format!("The hub, and what {subject} depends on:\n"));
        }
        text.push_str(&lines(&others, found));
        text.push_str(&format!("\n{}\n", self.conclusion()));
        text
    }

    /// Whether there are problems of what was asked for, and others that may be their cause.
    fn has_outer_cause(&self) -> bool {
        let problems = self
            .checks
            .iter()
            .filter(|check| check.result == Verdict::Problem);
        let own = problems.filter(|check| check.is_of_subject).count();
        (1..self.problems).contains(&own)
    }

    /// The last line.
    fn conclusion(&self) -> String {
        let unknown = self
            .checks
            .iter()
            .filter(|check| check.result == Verdict::Unknown);
        let unknown = unknown.count();
        let unknown = match unknown {
            0 => String::new(),
            _ => format!("; {} could not be made (UNKNOWN)", counted(unknown, "check")),
        };
        match self.problems {
            0 => format!("no problem found{unknown}"),
            1 => format!("1 problem found{unknown}"),
            more if self.has_outer_cause() => format!(
                "{more} problems found{unknown}; begin with those of the hub: the others may follow from them"
            ),
            more => {
                format!("{more} problems found{unknown}; begin with the first: others may follow from it")
            }
        }
    }
}

/// A line a check, and under each problem what to do.
fn lines(checks: &[&Check], found: impl Fn(&Check) -> String) -> String {
    let mut text = String::new();
    for check in checks {
        let mark = match check.result {
            Verdict::Ok => Tone::Good.paint("OK") + "     ",
            Verdict::Note => Tone::Good.paint("NOTE") + "   ",
            Verdict::Problem => Tone::Bad.paint("PROBLEM"),
            Verdict::Unknown => Tone::Doubtful.paint("UNKNOWN"),
        };
        text.push_str(&format!("{mark}  {}: {}\n", check.name, found(check)));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("         → {}\n", plain(advice)));
        }
    }
    text
}

/// Messages of others may hold anything.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The first names of a list, and how many more there are.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const LISTED: usize = 5;
    let names: Vec<&str> = names.into_iter().collect();
    match names.len().saturating_sub(LISTED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}
