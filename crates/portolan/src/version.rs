//! `portolan version`.

use std::process::ExitCode;

use crate::output;

pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// Print the version
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan version")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    output::print(&format!("portolan {NUMBER}\n"))?;
    Ok(ExitCode::SUCCESS)
}
