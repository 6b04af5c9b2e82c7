//! The commands and how the program ends: exit codes, errors on standard error.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use portolan_engine::placement::PlacementKey;

use crate::command_input::CommandInput;
use crate::input::{Problem, Problems};
use crate::object_name::{self, ObjectName};
use crate::{
    agent, completions, controller, crds, demo, doctor, explain, get, hub, join, leave, lint, live, man,
    output, rollout, shell, simulate, up, version, watch,
};

/// Which clusters a workload goes to, why, why not, and what if
#[derive(Debug, Parser)]
#[command(name = "portolan", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # See it work: a hub, controllers and a simulated fleet, in one process
  portolan up --demo

  # The same with member clusters whose workloads run, fail and recover
  portolan up --spokes 6

  # Where does everything go, and what if a cluster goes away?
  portolan simulate -f manifests/
  portolan simulate -f manifests/ --remove managedcluster/west

  # Why these clusters, and why not that one?
  portolan explain ml/training -f manifests/
  portolan explain ml/training -f manifests/ --cluster west

  # The same on a live hub, and decisions as they change
  portolan explain ml/training --kubeconfig hub.kubeconfig
  portolan watch --kubeconfig hub.kubeconfig

  # Which clusters would get a new version next?
  portolan rollout plan -f rollout-plan.yaml

  # Is something wrong with these manifests, or with the hub?
  portolan lint -f manifests/
  portolan doctor --kubeconfig hub.kubeconfig

  # Run the controllers against a hub
  portolan controller --kubeconfig hub.kubeconfig

  # Run the agent of a member cluster
  portolan agent --hub hub.kubeconfig --spoke east.kubeconfig --cluster east

Exit codes: 0 fine, 1 a check failed, 2 bad input,
3 the hub cannot be reached or refuses.";

#[derive(Debug, Subcommand)]
enum Command {
    Up(Box<up::Args>),
    Controller(Box<controller::Args>),
    Join(Box<join::Args>),
    Leave(leave::Args),
    Demo(demo::Args),
    Agent(Box<agent::Args>),
    Get(get::Args),
    Watch(watch::Args),
    Simulate(Box<simulate::Args>),
    Explain(explain::Args),
    Lint(Box<lint::Args>),
    Rollout(rollout::Args),
    Doctor(doctor::Args),
    Hub(hub::Args),
    Crds(crds::Args),
    Completions(completions::Args),
    Man(man::Args),
    Version(version::Args),
}

/// Which placement: an argument, as in every command that names an object, or `--placement`.
#[derive(Debug, clap::Args)]
pub(crate) struct PlacementArgs {
    /// The placement: NAMESPACE/NAME, or NAME in the namespace of --namespace
    #[arg(value_name = "NAME", value_parser = object_name::parse, add = completions::names::placements())]
    argument: Option<ObjectName>,

    /// The same as the argument NAME
    #[arg(
        long = "placement",
        value_name = "NAME",
        value_parser = object_name::parse,
        conflicts_with = "argument",
        add = completions::names::placements()
    )]
    flag: Option<ObjectName>,

    /// Namespace of the placement [default: that of the kubeconfig's context, or default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,
}

impl PlacementArgs {
    /// The placement that was named. `--file` takes every word that follows it: its last word, when it is no file and
    /// reads as NS/NAME, is the placement and is taken out of the files.
    pub(crate) fn take(&self, files: &mut Vec<PathBuf>) -> Option<ObjectName> {
        if let Some(named) = self.argument.as_ref().or(self.flag.as_ref()) {
            return Some(named.clone());
        }
        let last = files.last().filter(|last| files.len() > 1 && !last.exists())?;
        if last.extension().is_some() {
            return None;
        }
        let text = last.to_str().filter(|text| text.contains('/'))?;
        let named = object_name::parse(text).ok()?;
        files.pop();
        Some(named)
    }

    /// Namespace and name of the placement that [`PlacementArgs::take`] gave.
    pub(crate) fn key(&self, named: &ObjectName, given: &CommandInput) -> Result<PlacementKey, Problem> {
        named.key(self.namespace.as_deref(), given.namespace())
    }
}

/// The command's definition, for completions and manual pages.
pub(crate) fn definition() -> clap::Command {
    let width = help_width(output::terminal::columns());
    with_negative_numbers(<Cli as clap::CommandFactory>::command()).term_width(width)
}

/// Takes `-1` as the value of a flag, so that the error names the values that the flag accepts.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let has_value = arg.get_long().is_some() && arg.get_action().takes_values();
        arg.allow_negative_numbers(has_value)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The least width of help. Examples are at most this wide, and some are files that have to stay what they are.
const LEAST_HELP_WIDTH: usize = 80;
/// Longer lines are hard to read.
const LARGEST_HELP_WIDTH: usize = 120;
/// The width of help that is not shown on a terminal.
const HELP_WIDTH: usize = 100;

fn help_width(columns: Option<usize>) -> usize {
    columns.map_or(HELP_WIDTH, |columns| {
        columns.clamp(LEAST_HELP_WIDTH, LARGEST_HELP_WIDTH)
    })
}

/// Names the program in usage and examples as kubectl's users call it.
fn for_plugin(definition: clap::Command) -> clap::Command {
    fn renamed(text: Option<&clap::builder::StyledStr>) -> Option<String> {
        text.map(|text| shell::as_plugin(&text.to_string()))
    }
    fn with_words(command: clap::Command) -> clap::Command {
        let help = renamed(command.get_after_help());
        let command = match help {
            Some(help) => command.after_help(help),
            None => command,
        };
        let (short, long) = (renamed(command.get_about()), renamed(command.get_long_about()));
        let command = match short {
            Some(about) => command.about(about),
            None => command,
        };
        let command = match long {
            Some(about) => command.long_about(about),
            None => command,
        };
        let command = command.mut_args(|arg| {
            let (short, long) = (renamed(arg.get_help()), renamed(arg.get_long_help()));
            let arg = match short {
                Some(help) => arg.help(help),
                None => arg,
            };
            match long {
                Some(help) => arg.long_help(help),
                None => arg,
            }
        });
        command.mut_subcommands(with_words)
    }
    with_words(definition).bin_name(shell::PLUGIN)
}

/// Reads the command line, or ends the program with help or with what is wrong.
fn parse() -> Cli {
    let mut definition = definition();
    if shell::is_plugin() {
        definition = for_plugin(definition);
    }
    let read = definition
        .try_get_matches()
        .and_then(|mut matches| <Cli as clap::FromArgMatches>::from_arg_matches_mut(&mut matches));
    read.unwrap_or_else(|error| {
        // Help is an answer and not an error, and has its own width.
        if !error.use_stderr() {
            error.exit()
        }
        output::remark(&error.render().ansi().to_string());
        std::process::exit(error.exit_code())
    })
}

/// Manifests are walked recursively, and how much stack a process starts with is the shell's choice.
const STACK_BYTES: usize = 64 << 20;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    if let Some(code) = completions::answer() {
        return code;
    }
    let cli = parse();
    match std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(|| run(cli))
    {
        Ok(worker) => worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(error) => report(&anyhow::Error::new(error).context("cannot start a thread")),
    }
}

fn run(cli: Cli) -> ExitCode {
    let result = match cli.command {
        Command::Simulate(args) => simulate::run(*args),
        Command::Explain(args) => explain::run(args),
        Command::Lint(args) => lint::run(&args),
        Command::Rollout(args) => rollout::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Up(args) => up::run(&args),
        Command::Controller(args) => controller::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Leave(args) => leave::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Version(args) => version::run(&args),
    };
    result.unwrap_or_else(|error| report(&error))
}

/// The exit code of bad input. clap has the same for a wrong command line.
const BAD_INPUT: u8 = 2;
/// The exit code of a hub that cannot be reached or refuses: trying again later, or with other credentials, may help.
const HUB_UNAVAILABLE: u8 = 3;

/// Bad input lists what is wrong with it; everything else is a chain of causes.
fn report(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Problems>() {
        Some(problems) => output::remark(&problems.to_string()),
        None => output::remark(&format!("error: {}\n", live::describe(error.as_ref()))),
    }
    ExitCode::from(match live::is_of_hub(error) {
        true => HUB_UNAVAILABLE,
        false => BAD_INPUT,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that people see, with its words.
    fn commands(command: &clap::Command, words: &str) -> Vec<(String, clap::Command)> {
        let words = format!("{words} {}", command.get_name());
        let below = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && command.get_name() != "help")
            .flat_map(|command| commands(command, &words));
        std::iter::once((words.clone(), command.clone()))
            .chain(below)
            .collect()
    }

    #[test]
    fn every_command_has_examples_in_its_help() {
        for (words, command) in commands(&definition(), "") {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(help.contains("Examples:\n"), "{words} has no examples");
        }
    }

    #[test]
    fn no_option_has_two_defaults_in_its_help() {
        for (words, command) in commands(&definition(), "") {
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let is_said_twice = help.contains("[default:")
                    && !argument.get_default_values().is_empty()
                    && !argument.is_hide_default_value_set();
                assert!(!is_said_twice, "{words} {}: {help}", argument.get_id());
            }
        }
    }

    #[test]
    fn examples_are_shown_as_they_are_written_at_every_width() {
        for columns in [Some(20), Some(80), Some(100), Some(120), Some(300), None] {
            for (words, command) in commands(&definition(), "") {
                let written = command
                    .get_after_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let shown = command
                    .term_width(help_width(columns))
                    .render_long_help()
                    .to_string();
                assert!(
                    shown.contains(written.trim_end()),
                    "{words} at {columns:?}:\n{shown}"
                );
            }
        }
    }

    #[test]
    fn the_file_in_the_help_of_rollout_plan_can_be_planned_at_every_width() {
        for columns in [Some(40), Some(80), Some(100), None] {
            let all = commands(&definition(), "");
            let (_, plan) = all
                .iter()
                .find(|(words, _)| words == " portolan rollout plan")
                .unwrap();
            let help = plan
                .clone()
                .term_width(help_width(columns))
                .render_long_help()
                .to_string();
            let (_, file) = help.split_once("The file:\n").unwrap();
            let (file, _) = file.split_once("Exit codes").unwrap();
            let request: serde_json::Value = serde_saphyr::from_str(file).unwrap();
            let request = portolan_rollout::Request::read(&request).unwrap();
            assert!(request.plan(request.now.unwrap()).is_ok());
        }
    }

    #[test]
    fn help_of_a_plugin_of_kubectl_names_the_program_as_people_call_it() {
        let mut definition = for_plugin(definition());
        definition.build();
        for (words, mut command) in commands(&definition, "") {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Usage: kubectl portolan"), "{words}:\n{help}");
            assert_eq!(shell::as_plugin(&help), help, "{words}");
        }
    }
}
