//! Expressions and their outcomes, as data: `expression => true | false | error: text | compile: text`, one a line.

use portolan_cel::{Budget, Program, Scores, Value};

struct Resources;

impl Scores for Resources {
    fn scores(&self, resource_name: &str) -> Option<Vec<(String, i64)>> {
        (resource_name == "resources").then(|| vec![("cpu".to_owned(), 60), ("memory".to_owned(), -5)])
    }
}

fn cluster() -> Value {
    let json: serde_json::Value =
        serde_json::from_str(include_str!("cluster.json")).expect("the fixture is JSON");
    Value::from(&json)
}

fn outcome(expression: &str, cluster: &Value) -> String {
    let program = match Program::compile(expression) {
        Ok(program) => program,
        Err(error) => return format!("compile: {error}"),
    };
    match program.evaluate(cluster, &Resources, &mut Budget::per_cluster()) {
        Ok(answer) => answer.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

fn agrees(expected: &str, outcome: &str) -> bool {
    match expected.split_once(": ") {
        Some((class, text)) => outcome
            .strip_prefix(class)
            .is_some_and(|rest| rest.contains(text)),
        None => outcome == expected,
    }
}

fn check(cases: &str, at_least: usize) {
    let cluster = cluster();
    let lines = cases
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let cases: Vec<(&str, &str)> = lines.map(|line| line.rsplit_once(" => ").expect(line)).collect();
    let wrong: Vec<String> = cases
        .iter()
        .map(|(expression, expected)| (expression, expected, outcome(expression, &cluster)))
        .filter(|(_, expected, outcome)| !agrees(expected, outcome))
        .map(|(expression, expected, outcome)| {
            format!("{expression}\n  expected {expected}\n  found    {outcome}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() >= at_least, "only {} cases were read", cases.len());
}

#[test]
fn the_language_gives_the_answers_cel_defines() {
    check(include_str!("cases/language.txt"), 130);
}

#[test]
fn what_cannot_work_does_not_compile_and_says_where() {
    check(include_str!("cases/compile_errors.txt"), 85);
}

#[test]
fn strings_conversions_and_patterns_work_as_documented() {
    check(include_str!("cases/strings.txt"), 60);
}

#[test]
fn the_kubernetes_libraries_work_as_documented() {
    check(include_str!("cases/libraries.txt"), 115);
}

#[test]
fn every_compile_error_starts_with_the_words_users_search_for() {
    let broken = [
        "",
        "x",
        "1 + 'a'",
        "has(1)",
        "1.a",
        "'a'.matches('(')",
        &"(".repeat(500),
        &" ".repeat(70_000),
    ];
    for source in broken {
        let error = Program::compile(source).unwrap_err().to_string();
        assert!(error.starts_with("compilation failed: "), "{error}");
    }
}

#[test]
fn a_program_knows_its_source_and_whether_it_asks_for_scores() {
    let program = Program::compile("[1].exists(x, managedCluster.scores('a').size() == x)").unwrap();
    assert!(program.uses_scores());
    assert_eq!(
        program.source(),
        "[1].exists(x, managedCluster.scores('a').size() == x)"
    );
    assert!(
        !Program::compile("managedCluster.metadata.name == 'scores'")
            .unwrap()
            .uses_scores()
    );
}

#[test]
fn positions_count_lines_and_characters() {
    let error = Program::compile("true &&\n  'é' + 1 == 2")
        .unwrap_err()
        .to_string();
    assert!(error.contains("2:7"), "{error}");
}

#[test]
fn programs_and_values_can_be_shared_between_threads() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Program>();
    shareable::<Value>();
}
