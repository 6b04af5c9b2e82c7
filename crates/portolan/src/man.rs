//! `portolan man`: manual pages from the definition of the command line.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;

use crate::{cli, output};

const EXAMPLES: &str = "\
Examples:
  # Read the page of the program
  portolan man | man -l -

  # One page for each command, where man finds them
  portolan man --dir ~/.local/share/man/man1
  man portolan-rollout-status";

/// Print the manual page, or write one page for each command into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write one page for each command into this directory
    #[arg(short, long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut definition = cli::definition().disable_help_subcommand(true);
    definition.build();
    let Some(directory) = &args.dir else {
        output::print(&page(&definition)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    let mut written = String::new();
    for command in visible(&definition) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = directory.join(format!("{name}.1"));
        fs::write(&path, page(command)?).with_context(|| format!("cannot write {}", path.display()))?;
        written.push_str(&format!("{}\n", path.display()));
    }
    output::print(&written)?;
    Ok(ExitCode::SUCCESS)
}

/// A command and all commands below it that people see.
fn visible(command: &Command) -> Vec<&Command> {
    let below = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .flat_map(visible);
    std::iter::once(command).chain(below).collect()
}

fn page(command: &Command) -> anyhow::Result<String> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut page = String::from_utf8(page)?;
    if let Some(examples) = command.get_after_help() {
        page.push_str(&verbatim(&examples.to_string()));
    }
    Ok(page)
}

/// Examples line by line: the generator would fill them into paragraphs.
fn verbatim(text: &str) -> String {
    let mut page = ".SH EXAMPLES\n.nf\n".to_owned();
    for line in text.lines().filter(|line| *line != "Examples:") {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A dot or a quote at the start of a line would be a request.
        if line.starts_with(['.', '\'']) {
            page.push_str("\\&");
        }
        page.push_str(&line);
        page.push('\n');
    }
    page.push_str(".fi\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_examples_line_by_line() {
        let mut definition = cli::definition().disable_help_subcommand(true);
        definition.build();
        let commands = visible(&definition);
        assert!(commands.len() > 25, "{}", commands.len());
        for command in commands {
            let page = page(command).unwrap();
            assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{}", command.get_name());
            assert!(page.contains(".SH SYNOPSIS"), "{}", command.get_name());
        }
    }

    #[test]
    fn a_line_that_starts_with_a_dot_is_no_request() {
        assert_eq!(
            verbatim("Examples:\n.x \\ -f"),
            ".SH EXAMPLES\n.nf\n\\&.x \\e \\-f\n.fi\n"
        );
    }
}
