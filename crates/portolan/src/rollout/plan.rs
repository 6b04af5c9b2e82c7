//! `portolan rollout plan`: one step of a rollout, from a file.

use std::path::PathBuf;
use std::process::ExitCode;

use jiff::Timestamp;
use portolan_rollout::Request;
use serde_json::Value;

use super::table;
use crate::clock;
use crate::input::{self, Notes};
use crate::output::{self, Format};

const EXAMPLES: &str = "\
Examples:
  # Which clusters are next, and when to look again?
  portolan rollout plan -f examples/rollout-plan.yaml

  # The same an hour later, for programs
  portolan rollout plan -f examples/rollout-plan.yaml -o json \\
    --now 2026-01-01T13:00:00Z

  # From another program
  make-state | portolan rollout plan -f - -o json

The file:
  # As in the placementRefs of a ManifestWorkReplicaSet.
  strategy:
    type: Progressive       # All, Progressive or ProgressivePerGroup
    progressive:
      maxConcurrency: 25%   # a number or a percentage
      maxFailures: 1        # a number or a percentage
      minSuccessTime: 5m    # success counts after this time
      progressDeadline: 1h  # or None
      mandatoryDecisionGroups: [{groupName: canary}]
  # The groups of the decision, as they are now.
  groups:
  - {groupName: canary, groupIndex: 0, clusters: [berlin]}
  - {groupName: \"\", groupIndex: 1, clusters: [oslo, paris]}
  # The clusters that have the workload. Each has one of the states ToApply,
  # Progressing, Succeeded, Failed, TimeOut, Skip and Unknown.
  existing:
  - clusterName: berlin
    groupKey: {groupName: canary, groupIndex: 0}
    status: Succeeded
    lastTransitionTime: \"2026-01-01T11:00:00Z\"
  # Optional: clusters that cannot be reached, and the time to decide at.
  unreachable: [paris]
  now: \"2026-01-01T12:00:00Z\"

Exit codes: 0 fine, 2 bad input.";

/// Say which clusters are next, from a file that describes a rollout
///
/// It reads the file alone and no hub. For a rollout on a hub, `portolan rollout status NS/NAME` says which clusters are
/// next.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The rollout in YAML or JSON: a file, a folder that has one beside its manifests, or - for standard input
    #[arg(short, long, value_name = "PATH")]
    file: PathBuf,

    /// The time to decide at, in RFC 3339 [default: what the file says, or now]
    #[arg(long, value_name = "TIME", value_parser = clock::parse)]
    now: Option<Timestamp>,

    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (place, document) = input::read_document(&args.file)?;
    if let Some(kind) = document.get("kind").and_then(Value::as_str) {
        anyhow::bail!(
            "{place}: this is a {kind}, and no description of one step of a rollout; accepted: a file as `portolan rollout plan \
             --help` shows it; `portolan rollout status NS/NAME` says for a ManifestWorkReplicaSet on a hub which clusters are next"
        );
    }
    let mut request = Request::read(&document).map_err(|errors| input::refuse_document(&place, &errors))?;
    let mut notes = Notes::default();
    for field in &request.ignored {
        notes.remark(format!("ignored: {field}"));
    }
    for index in request.missing_positions() {
        notes.remark(format!(
            "no group has the index {index} now; it holds nothing back"
        ));
    }
    for warning in &request.strategy.warnings {
        notes.remark(warning.statement());
    }
    let now = clock::now_or(args.now.or(request.now));
    request.now = Some(now);
    let plan = request
        .plan(now)
        .map_err(|errors| input::refuse_document(&place, &errors))?;
    output::remark(&notes.to_string());
    let text = args
        .output
        .render(&plan, |width| table::plan(&plan, now, width))?;
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
