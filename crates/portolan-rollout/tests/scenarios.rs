//! Every case in `tests/scenarios/*.json` is one rollout at one moment: a request in, a plan or errors out.
//!
//! A case has a `name` that is a sentence, the `input` that `portolan rollout plan` takes, and either `expect`, the whole
//! answer, or `errors`, parts of what is said. Adding a case needs no Rust.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use portolan_rollout::{Plan, Request};
use serde_json::Value;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = std::fs::read_dir(folder).expect("there are scenarios");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a scenario can be listed").path())
        .collect();
    files.sort();
    assert!(files.len() >= 8, "a file is missing: {files:?}");
    files
}

fn answer(input: &Value) -> Result<Plan, String> {
    let lines = |errors: Vec<portolan_api::FieldError>| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    let request = Request::read(input).map_err(lines)?;
    request.plan(Timestamp::UNIX_EPOCH).map_err(lines)
}

/// What is wrong with a case, if anything.
fn fault(case: &Value) -> Option<String> {
    let answer = answer(&case["input"]);
    if let Some(parts) = case["errors"].as_array() {
        let said = match answer {
            Ok(plan) => return Some(format!("accepted: {plan:?}")),
            Err(said) => said,
        };
        let missing = parts
            .iter()
            .filter_map(Value::as_str)
            .find(|part| !said.contains(part));
        return missing.map(|part| format!("{part:?} is not said in:\n{said}"));
    }
    let plan = match answer {
        Ok(plan) => serde_json::to_value(&plan).expect("a plan can be written"),
        Err(said) => return Some(said),
    };
    (plan != case["expect"]).then(|| format!("expected {:#}\nanswered {plan:#}", case["expect"]))
}

#[test]
fn every_scenario_holds() {
    let mut faults = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("a scenario can be read");
        let cases: Vec<Value> = serde_json::from_str(&text).expect("a scenario is a list in JSON");
        assert!(!cases.is_empty(), "{} is empty", file.display());
        for case in &cases {
            if let Some(fault) = fault(case) {
                faults.push(format!("{}: {}\n{fault}", file.display(), case["name"]));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} do not hold\n\n{}",
        faults.len(),
        faults.join("\n\n")
    );
}
