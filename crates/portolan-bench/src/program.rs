//! Where the `portolan` program is whose processes are measured.

use std::path::PathBuf;

use anyhow::{Context, bail};

/// The program under test: the same flag for every bench that starts it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProgramArgs {
    /// The portolan program to measure [default: the file `portolan` beside this program]
    #[arg(long, value_name = "FILE")]
    portolan: Option<PathBuf>,
}

impl ProgramArgs {
    /// The file of the program.
    pub(crate) fn file(&self) -> anyhow::Result<PathBuf> {
        let file = match &self.portolan {
            Some(file) => file.clone(),
            None => {
                let this = std::env::current_exe().context("cannot find this program's own file")?;
                this.with_file_name("portolan")
            }
        };
        if !file.is_file() {
            bail!(
                "--portolan: there is no file {}; build it with `cargo build --release -p portolan`, or name another \
                 file with --portolan FILE",
                file.display()
            );
        }
        // A relative name would be looked for in the folder that the process is started in.
        file.canonicalize()
            .with_context(|| format!("--portolan: cannot read {}", file.display()))
    }
}
