//! `portolan version`.

use std::process::ExitCode;

use crate::output;

/// Print the version
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan version")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    output::print(concat!("portolan ", env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(ExitCode::SUCCESS)
}
