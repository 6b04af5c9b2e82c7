//! Every command on the pages of `examples/` and `docs/` is run, and its answer compared with the page.
//!
//! `PORTOLAN_UPDATE_PAGES=1 cargo test -p portolan --test pages` writes the answers into the pages instead.

#[expect(dead_code, reason = "pages run in the repository itself")]
mod support;

use std::path::{Path, PathBuf};

use support::portolan;

const START: &str = "```console\n";
const END: &str = "```";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["simulate.md", "cli.md", "rollout.md"]
        .map(|name| root().join("docs").join(name))
        .to_vec();
    pages.extend(stories().into_iter().map(|story| story.join("README.md")));
    pages
}

fn stories() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples")).expect("there are examples");
    let mut stories: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an example can be listed").path())
        // Programs that follow decisions are no story of a placement, and `stories` needs a hub.
        .filter(|path| path.is_dir() && !path.ends_with("consumers") && !path.ends_with("stories"))
        .collect();
    stories.sort();
    assert!(stories.len() >= 8, "a story is missing: {stories:?}");
    stories
}

/// The page with the answers that the commands on it give now.
fn answered(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(START) {
        let (before, block) = rest.split_at(start + START.len());
        let end = block.find(END).expect("a block ends");
        text.push_str(before);
        let command = block.lines().next().expect("a block starts with a command");
        text.push_str(&format!("{command}\n{}", answer(command)));
        rest = &block[end..];
    }
    text + rest
}

/// Runs `$ portolan …`. A command that is to fail says so: `# exit 1`.
fn answer(command: &str) -> String {
    let (command, code) = match command.split_once("  # exit ") {
        Some((command, code)) => (command, code.trim().parse().expect("an exit code is a number")),
        None => (command, 0),
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let ["$", "portolan", args @ ..] = words.as_slice() else {
        panic!("not a command: {command}")
    };
    let run = portolan(&root(), args, "");
    assert_eq!(run.code, code, "{command}: {}", run.stderr);
    if run.code == 2 { run.stderr } else { run.stdout }
}

#[test]
fn every_page_shows_what_its_commands_answer() {
    let update = std::env::var_os("PORTOLAN_UPDATE_PAGES").is_some();
    for path in pages() {
        let page =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let answered = answered(&page);
        if update {
            std::fs::write(&path, answered).expect("a page can be written");
        } else {
            assert_eq!(page, answered, "{} is out of date", path.display());
        }
    }
}

#[test]
fn every_story_is_satisfied_from_its_directory_alone() {
    for story in stories() {
        let path = story.display().to_string();
        let run = portolan(&root(), &["simulate", "-f", &path, "--check"], "");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{path}");
    }
}

/// A reader may come years after a page was written: a score with `validUntil` would have expired by then.
#[test]
fn every_manifest_of_an_example_says_in_its_first_line_what_it_is() {
    for folder in stories() {
        for entry in std::fs::read_dir(folder).expect("an example has files") {
            let path = entry.expect("a file of an example").path();
            let is_manifest = path.extension().is_some_and(|extension| extension == "yaml");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(!is_manifest || text.starts_with("# "), "{}", path.display());
        }
    }
}

#[test]
fn no_example_gives_another_answer_a_hundred_years_later() {
    for story in stories() {
        let path = story.display().to_string();
        let at = |time: &str| {
            let run = portolan(&root(), &["simulate", "-f", &path, "--now", time], "");
            assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{path} at {time}");
            run.stdout
        };
        let then = at("2126-01-01T00:00:00Z");
        assert_eq!(at("2026-01-01T12:00:00Z"), then, "{path}");
        assert!(!then.contains("Warning"), "{path}: {then}");
    }
}

/// Commands in the text of the pages that nothing runs.
fn mentioned(page: &str) -> Vec<Vec<String>> {
    let starts = ["portolan ", "cargo run -- ", "cargo run --release -- "];
    let mut commands = Vec::new();
    // Odd parts are between backticks: code in a line, or a whole block.
    for code in page
        .split('`')
        .skip(1)
        .step_by(2)
        .chain(page.split("```").skip(1).step_by(2))
    {
        for line in code.lines() {
            let line = line.trim().trim_start_matches("$ ");
            if let Some(rest) = starts.iter().find_map(|start| line.strip_prefix(start)) {
                let rest = rest.split(['|', '#', '>', '\\']).next().unwrap_or_default();
                commands.push(rest.split_whitespace().map(str::to_owned).collect());
            }
        }
    }
    commands
}

#[test]
fn every_command_and_flag_that_a_page_mentions_exists() {
    let help = |args: &[&str]| portolan(&root(), &[args, &["--help"]].concat(), "").stdout;
    let overview = help(&[]);
    let mut checked = 0;
    for page in [
        "README.md",
        "docs/live.md",
        "docs/cli.md",
        "docs/hub.md",
        "docs/simulate.md",
        "docs/rollout.md",
    ] {
        let text = std::fs::read_to_string(root().join(page)).expect("a page can be read");
        for command in mentioned(&text) {
            let Some(name) = command
                .first()
                .filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
            else {
                continue;
            };
            assert!(
                overview.contains(&format!("\n  {name} ")),
                "{page}: there is no command {name}"
            );
            let mut about = help(&[name]);
            if let Some(sub) = command
                .get(1)
                .filter(|sub| about.contains(&format!("\n  {sub} ")))
            {
                about += &help(&[name, sub]);
            }
            for flag in command.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().unwrap_or_default();
                assert!(about.contains(flag), "{page}: portolan {name} has no flag {flag}");
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} commands were found");
}

#[test]
fn the_page_of_the_stories_explains_every_variable_before_the_first_story() {
    let page = std::fs::read_to_string(root().join("docs/stories.md")).expect("the page can be read");
    let (before, _) = page.split_once("\n## 1.").expect("there is a first story");
    let folder = root().join("examples/stories");
    for script in ["lib.sh", "3-disaster-recovery/run.sh", "5-fan-out/run.sh"] {
        let text = std::fs::read_to_string(folder.join(script)).expect("a script can be read");
        let variables = text
            .split("${")
            .skip(1)
            .filter_map(|rest| rest.split_once(':'))
            .map(|(name, _)| name)
            .filter(|name| {
                name.len() > 1
                    && name
                        .chars()
                        .all(|letter| letter.is_ascii_uppercase() || letter == '_')
            });
        for name in variables {
            assert!(
                before.contains(&format!("`{name}`")),
                "{script} reads {name}, which docs/stories.md does not explain"
            );
        }
    }
}
