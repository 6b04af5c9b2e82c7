//! Every case in `tests/scenarios/*.yaml` is a run of the binary: files in, exit code and answer out.
//!
//! A file holds `files` (name to text, shared by its cases) and `cases`. A case has a `name` that is a sentence, `args`,
//! further `files`, `stdin`, and what is expected: `exit`, `json` (pointer to value, compared whole), `absent`
//! (pointers), `stdout` (whole), `stdoutHas` and `stderrHas` (parts), `stderr` (whole). Adding a case needs no Rust.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use support::{Run, Scratch, portolan};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenarios {
    #[serde(default)]
    files: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    name: String,
    args: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    exit: i32,
    #[serde(default)]
    json: BTreeMap<String, Value>,
    #[serde(default)]
    absent: Vec<String>,
    stdout: Option<String>,
    #[serde(default)]
    stdout_has: Vec<String>,
    stderr: Option<String>,
    #[serde(default)]
    stderr_has: Vec<String>,
}

/// Runs all cases of a file; every case that does not hold is reported, not only the first.
fn hold(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scenarios")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let scenarios: Scenarios =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let failures: Vec<String> = scenarios
        .cases
        .iter()
        .filter_map(|case| run(&scenarios, case))
        .collect();
    assert!(
        failures.is_empty(),
        "{name}: {} do not hold\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

fn run(scenarios: &Scenarios, case: &Case) -> Option<String> {
    let scratch = Scratch::new();
    for (name, text) in scenarios.files.iter().chain(&case.files) {
        scratch.write(name, text);
    }
    let args: Vec<&str> = case.args.split_whitespace().collect();
    let run = portolan(scratch.path(), &args, &case.stdin);
    let wrong = case.check(&run);
    let told = || format!("stdout:\n{}\nstderr:\n{}", head(&run.stdout), head(&run.stderr));
    (!wrong.is_empty()).then(|| format!("## {}\n{}\n{}", case.name, wrong.join("\n"), told()))
}

fn head(text: &str) -> String {
    text.chars().take(4000).collect()
}

impl Case {
    fn check(&self, run: &Run) -> Vec<String> {
        let mut wrong = Vec::new();
        if run.code != self.exit {
            wrong.push(format!("exit code {} instead of {}", run.code, self.exit));
        }
        let answer: Value = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
        for (pointer, expected) in &self.json {
            match answer.pointer(pointer) {
                Some(found) if found == expected => {}
                found => wrong.push(format!(
                    "{pointer} is {}, not {expected}",
                    found.unwrap_or(&"(absent)".into())
                )),
            }
        }
        for pointer in self
            .absent
            .iter()
            .filter(|pointer| answer.pointer(pointer).is_some())
        {
            wrong.push(format!("{pointer} is there"));
        }
        for (stream, text, whole, parts) in [
            ("stdout", &run.stdout, &self.stdout, &self.stdout_has),
            ("stderr", &run.stderr, &self.stderr, &self.stderr_has),
        ] {
            if whole.as_ref().is_some_and(|whole| whole != text) {
                wrong.push(format!(
                    "{stream} is not {:?}",
                    whole.as_deref().unwrap_or_default()
                ));
            }
            let missing = parts.iter().filter(|part| !text.contains(*part));
            wrong.extend(missing.map(|part| format!("{stream} does not contain {part:?}")));
        }
        wrong
    }
}

macro_rules! scenarios {
    ($($test:ident: $file:literal,)*) => {
        $(#[test] fn $test() { hold($file); })*

        #[test]
        fn every_file_of_scenarios_is_run() {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
            let entries = std::fs::read_dir(directory).expect("there are scenarios");
            let found: std::collections::BTreeSet<String> =
                entries.map(|entry| entry.expect("a scenario can be listed").file_name().into_string().expect("its name is text")).collect();
            assert_eq!(found, [$($file.to_owned()),*].into_iter().collect());
        }
    };
}

scenarios! {
    the_answer_of_simulate_keeps_its_contract: "contract.yaml",
    prior_state_is_read_as_documented: "prior-state.yaml",
    an_answer_says_when_to_ask_again: "requeue.yaml",
    conditions_are_those_of_the_table: "conditions.yaml",
    mistakes_in_a_placement_are_verdicts: "misconfigured.yaml",
    bad_input_is_refused_with_file_document_and_field: "bad-input.yaml",
    misspellings_are_put_right: "misspellings.yaml",
    manifests_are_read_as_kubectl_would: "reading.yaml",
    a_what_if_shows_the_difference: "what-if.yaml",
    explanations_name_the_reason: "explain.yaml",
    mistakes_are_found_by_lint: "lint.yaml",
    sets_that_files_do_not_bind_are_found_by_lint: "lint-bindings.yaml",
    the_command_line_helps: "command-line.yaml",
    a_rollout_is_planned_from_a_file: "rollout.yaml",
    what_is_hardly_meant_is_a_warning: "warnings.yaml",
}
