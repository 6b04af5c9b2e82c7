//! `portolan completions`: what a shell needs to complete the command line, and the answers to its questions.
//!
//! The scripts ask the program itself, so that names of objects on the hub are completed, too ([`names`]).

pub(crate) mod names;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::{cli, output};

/// The variable by which a script asks for completions.
const VARIABLE: &str = "PORTOLAN_COMPLETE";
/// What kubectl calls for completions of the plugin `kubectl portolan`.
const KUBECTL_COMPLETER: &str = "kubectl_complete-portolan";
/// What kubectl reads as "complete no file names".
const NO_FILES: &str = ":4\n";

/// Print completions for a shell
///
/// The script asks portolan for completions. Names of placements, clusters and rollouts come from the hub of $KUBECONFIG,
/// or of --kubeconfig and --context on the line; a hub that does not answer within a second has none. What `simulate
/// --remove` takes comes from the files of --file, if there are any.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  # bash: in ~/.bashrc
  source <(portolan completions bash)

  # zsh: in ~/.zshrc, after compinit
  source <(portolan completions zsh)

  # fish
  portolan completions fish > ~/.config/fish/completions/portolan.fish

  # kubectl portolan: links to this program in a folder of $PATH
  ln -s \"$(command -v portolan)\" ~/.local/bin/kubectl-portolan
  ln -s \"$(command -v portolan)\" ~/.local/bin/kubectl_complete-portolan";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells
        .completer(&name)
        .ok_or_else(|| anyhow::anyhow!("there are no completions for {name}"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "portolan", "portolan", "portolan", &mut script)?;
    output::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks for completions, and kubectl. Nothing when this is an ordinary run.
pub(crate) fn answer() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let program = words.next()?;
    if Path::new(&program).file_name()? == KUBECTL_COMPLETER {
        return Some(answer_kubectl(words.collect()));
    }
    // It ends the process when it was asked.
    CompleteEnv::with_factory(cli::definition)
        .var(VARIABLE)
        .complete();
    None
}

/// One candidate a line, then what kubectl is to do with them. The last word is the one to complete.
fn answer_kubectl(words: Vec<OsString>) -> ExitCode {
    let mut line = vec![OsString::from("portolan")];
    line.extend(words);
    let last = line.len() - 1;
    let folder = std::env::current_dir().ok();
    let candidates = clap_complete::engine::complete(&mut cli::definition(), line, last, folder.as_deref());
    let mut text: String = candidates
        .unwrap_or_default()
        .iter()
        .map(|candidate| format!("{}\n", candidate.get_value().to_string_lossy()))
        .collect();
    text.push_str(NO_FILES);
    match output::print(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
