//! The program from outside: its figures, its refusals and its exit codes.

use std::process::{Command, Output};

use serde_json::{Value, json};

/// Runs the program. The benches of processes start `portolan`, which `cargo test` has built beside it.
fn bench(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portolan-bench"));
    command
        .args(args.split(' '))
        .output()
        .expect("the program starts")
}

/// The JSON of a bench that succeeds.
fn figures(args: &str) -> Value {
    let run = bench(args);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{errors}");
    serde_json::from_slice(&run.stdout).expect("standard output is JSON and nothing else")
}

/// The errors of a bench that has bad input.
fn refusal(args: &str) -> String {
    let run = bench(args);
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&run.stdout), "");
    String::from_utf8_lossy(&run.stderr).into_owned()
}

#[test]
fn the_bench_measures_a_hub_of_its_own_and_prints_nothing_but_its_figures() {
    let report =
        figures("hub --objects 100 --patches 100 --rounds 2 --concurrency 8 --watchers 3 --events 4 -o json");
    assert_eq!(report["objects"], 100);
    for figure in ["creates", "statusPatches", "labelPatches"] {
        assert!(
            report["hub"][figure]["perSecond"].as_f64() > Some(0.0),
            "{report}"
        );
    }
    for figure in ["fanOutMs", "rssMb", "startMs", "restartMs"] {
        assert!(report["hub"][figure].as_f64() > Some(0.0), "{figure}: {report}");
    }
    assert!(report["hub"]["writesPerCommit"].as_f64() >= Some(1.0), "{report}");
    // Without another server there is nothing to be better than.
    assert!(report.get("against").is_none() && report.get("ratios").is_none());
}

#[test]
fn a_server_to_compare_with_needs_its_processes() {
    assert!(refusal("hub --against kubeconfig").contains("--pid"));
}

#[test]
fn a_program_under_test_that_is_missing_is_named_with_the_way_to_build_it() {
    let errors = refusal("hub --portolan nowhere/portolan");
    for part in [
        "--portolan",
        "nowhere/portolan",
        "cargo build --release -p portolan",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    let errors = refusal("engine --clusters 1");
    assert!(
        errors.contains("--clusters") && errors.contains("20..=1000000"),
        "{errors}"
    );
}

#[test]
fn the_bench_of_the_engine_compares_each_kind_of_placement() {
    let report = figures("engine --clusters 50 --placements 20 --changes 5 -o json");
    for kind in ["label", "claim", "cel", "topn", "all"] {
        assert!(
            report["ratios"]["full"][kind].as_f64() > Some(0.0),
            "{kind}: {report}"
        );
    }
}

#[test]
fn the_bench_says_what_members_take_and_how_fast_a_change_reaches_them() {
    let report = figures("fleet --members 3 --reach 2 --rounds 2 --idle 1 -o json");
    assert_eq!(
        (&report["members"], &report["reach"]["members"]),
        (&json!(3), &json!(2))
    );
    for part in ["reach", "withdrawal"] {
        assert_eq!(report[part]["seconds"].as_array().unwrap().len(), 2, "{part}");
    }
    for figure in ["startSeconds", "rssMb", "rssPeakMb"] {
        assert!(report[figure].as_f64().unwrap() > 0.0, "{figure}");
    }
}
