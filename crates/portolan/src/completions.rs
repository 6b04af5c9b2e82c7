//! `portolan completions`: what a shell needs to complete the command line.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use crate::{cli, output};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  source <(portolan completions bash)
  portolan completions zsh > \"${fpath[1]}/_portolan\"
  portolan completions fish > ~/.config/fish/completions/portolan.fish";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Into memory first: the generator panics on a pipe that is closed.
    let mut script = Vec::new();
    generate(args.shell, &mut cli::definition(), "portolan", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
