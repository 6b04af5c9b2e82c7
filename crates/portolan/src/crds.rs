//! `portolan crds`: the CustomResourceDefinitions of everything Portolan reads and writes.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::output;

/// Print the CustomResourceDefinitions, or write them into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write one file for each definition into this directory
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  portolan crds | kubectl apply -f -
  portolan crds -o deploy/crds";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let files = portolan_api::crd_files();
    let Some(directory) = &args.output else {
        let documents: String = files.iter().map(|(_, text)| format!("---\n{text}")).collect();
        output::print(&documents)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    let mut written = String::new();
    for (name, text) in files {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        written.push_str(&format!("{}\n", path.display()));
    }
    output::print(&written)?;
    Ok(ExitCode::SUCCESS)
}
