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
    #[arg(short, long, value_name = "DIR", alias = "output", short_alias = 'o')]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  portolan crds | kubectl apply -f -
  portolan crds -d deploy/crds";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let files = portolan_api::crd_files();
    let Some(directory) = &args.dir else {
        let documents: String = files.iter().map(|(_, text)| format!("---\n{text}")).collect();
        output::print(&documents)?;
        return Ok(ExitCode::SUCCESS);
    };
    // Elsewhere -o is the format.
    if ["json", "yaml", "table", "wide"]
        .iter()
        .any(|format| directory.as_os_str() == *format)
    {
        anyhow::bail!(
            "--dir is {}: accepted: a directory, such as ./{0}; without --dir the definitions are printed as YAML",
            directory.display()
        );
    }
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
