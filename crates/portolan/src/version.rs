//! `portolan version`: the number, the commit and its date.

use std::process::ExitCode;

use serde::Serialize;

use crate::output::{self, Format};

pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

const EXAMPLES: &str = "\
Examples:
  portolan version
  portolan version -o json";

/// Print the version, the commit and its date
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Serialize)]
struct Version {
    version: &'static str,
    /// `unknown` when it was built without git.
    commit: &'static str,
    /// Date of the commit; `unknown` when it was built without git.
    date: &'static str,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let version = Version {
        version: NUMBER,
        commit: env!("PORTOLAN_COMMIT"),
        date: env!("PORTOLAN_COMMIT_DATE"),
    };
    let text = args.output.render(&version, |_| {
        format!(
            "portolan {} (commit {}, {})\n",
            version.version, version.commit, version.date
        )
    })?;
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
