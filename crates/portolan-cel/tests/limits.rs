//! Nothing a tenant writes may run long, use much memory or exhaust the stack.

use portolan_cel::{
    Budget, CompileError, Environment, EvalError, MAX_NESTING, MAX_SOURCE_BYTES, NoScores, Program, Scores,
    Value,
};
use serde_json::json;

fn cluster() -> Value {
    let numbers: Vec<i64> = (0..1000).collect();
    Value::from(json!({"numbers": numbers, "text": "a".repeat(100_000), "word": "abc"}))
}

fn run(expression: &str) -> (Result<bool, EvalError>, u64) {
    let mut budget = Budget::per_cluster();
    let result = Program::compile(expression)
        .expect("the expression compiles")
        .evaluate(&cluster(), &NoScores, &mut budget);
    (result, budget.spent())
}

fn doubled(times: usize) -> String {
    format!("[1]{}", ".map(x, [x, x])".repeat(times))
}

#[test]
fn every_way_to_run_long_is_stopped_by_the_budget() {
    let expressions = [
        "managedCluster.numbers.all(a, managedCluster.numbers.all(b, managedCluster.numbers.all(c, true)))".to_owned(),
        "managedCluster.numbers.map(a, managedCluster.numbers.map(b, a * b)) == []".to_owned(),
        "managedCluster.numbers.map(a, managedCluster.numbers + managedCluster.numbers).size() == 0".to_owned(),
        "managedCluster.numbers.map(a, managedCluster.text + managedCluster.text).size() == 0".to_owned(),
        "managedCluster.numbers.all(a, !(-1 in managedCluster.numbers))".to_owned(),
        "managedCluster.numbers.all(a, managedCluster.numbers == managedCluster.numbers)".to_owned(),
        "managedCluster.numbers.all(a, managedCluster.numbers.indexOf(-1) == -1)".to_owned(),
        "managedCluster.numbers.all(a, managedCluster.text.matches('(a|b)*c') || true)".to_owned(),
        "managedCluster.numbers.all(a, 'a'.matches(string(a) + '[a-z]{50}') || true)".to_owned(),
        "managedCluster.text.replace('a', managedCluster.text) == ''".to_owned(),
        "managedCluster.text.split('').map(a, managedCluster.text).join() == ''".to_owned(),
        "managedCluster.numbers.map(a, managedCluster.text).join(managedCluster.text) == ''".to_owned(),
        "managedCluster.numbers.all(a, '%s%s'.format([managedCluster.text, managedCluster.text]).size() > 0)".to_owned(),
        "managedCluster.numbers.all(a, ('[' + managedCluster.text + ']').contains('[['))||managedCluster.numbers.all(a, managedCluster.text.reverse() != '')".to_owned(),
        "('[' + managedCluster.numbers.map(a, '[' + managedCluster.numbers.map(b, '0').join(',') + ']').join(',') + ']').parseJSON().size() > 0 && false".to_owned(),
        format!("managedCluster.numbers.all(a, managedCluster.numbers.all(b, {}true))", "false || ".repeat(1_000)),
        "managedCluster.numbers.all(a, managedCluster.numbers.all(b, !(managedCluster.text in managedCluster)))".to_owned(),
        "managedCluster.numbers.all(a, managedCluster.numbers.all(b, !managedCluster[?managedCluster.text].hasValue()))".to_owned(),
        "[url('/' + managedCluster.text)].all(u, managedCluster.numbers.all(a, u.getEscapedPath() != ''))".to_owned(),
        "[semver('1.0.0-' + managedCluster.text)].all(v, managedCluster.numbers.all(a, v.compareTo(v) == 0))".to_owned(),
        "managedCluster.numbers.all(a, !isCIDR(managedCluster.text))".to_owned(),
        "managedCluster.text.findAll('a').size() == 0".to_owned(),
        "managedCluster.numbers.all(a, !managedCluster.text.matches('[ab]*a[ab]{100}c'))".to_owned(),
        // A value of sixty levels that shares its halves has 2^60 leaves and takes no memory to speak of.
        format!("'%s'.format({}) == ''", doubled(60)),
        format!("{0} == {0}", doubled(60)),
        format!("{0} in [{0}]", doubled(60)),
        format!("[{0}].indexOf({0}) == 1", doubled(60)),
    ];
    for expression in expressions {
        let (result, spent) = run(&expression);
        assert_eq!(
            result,
            Err(EvalError::CostExceeded {
                limit: Budget::PER_EXPRESSION
            }),
            "{expression}"
        );
        assert_eq!(spent, Budget::PER_EXPRESSION, "{expression}");
    }
}

#[test]
fn an_overrun_is_never_absorbed() {
    let endless =
        "managedCluster.numbers.all(a, managedCluster.numbers.all(b, managedCluster.numbers.all(c, true)))";
    for expression in [
        format!("{endless} || true"),
        format!("!{endless} && false"),
        format!("[1].exists(x, {endless})"),
    ] {
        let (result, _) = run(&expression);
        assert!(
            matches!(result, Err(EvalError::CostExceeded { .. })),
            "{expression}"
        );
    }
}

#[test]
fn all_expressions_of_a_predicate_share_one_budget() {
    let cluster = cluster();
    let costly =
        Program::compile("managedCluster.numbers.all(a, managedCluster.numbers.all(b, true))").unwrap();
    let cheap = Program::compile("managedCluster.word == 'abc'").unwrap();
    let mut budget = Budget::per_cluster();
    let mut limits = Vec::new();
    for _ in 0..12 {
        if let Err(EvalError::CostExceeded { limit }) = costly.evaluate(&cluster, &NoScores, &mut budget) {
            limits.push(limit);
        }
    }
    assert_eq!(limits.len(), 12);
    assert_eq!(limits.last(), Some(&Budget::PER_CLUSTER));
    assert_eq!(budget.spent(), Budget::PER_CLUSTER);
    let starved = cheap.evaluate(&cluster, &NoScores, &mut budget);
    assert_eq!(
        starved,
        Err(EvalError::CostExceeded {
            limit: Budget::PER_CLUSTER
        })
    );
}

#[test]
fn ordinary_selectors_cost_next_to_nothing() {
    let (result, spent) = run("managedCluster.word == 'abc' && managedCluster.numbers.exists(n, n == 5)");
    assert_eq!(result, Ok(true));
    assert!(spent < 50, "{spent}");
}

#[test]
fn long_sources_are_refused() {
    let error = Program::compile(&" ".repeat(MAX_SOURCE_BYTES + 1)).unwrap_err();
    assert_eq!(
        error,
        CompileError::TooLong {
            length: MAX_SOURCE_BYTES + 1,
            limit: MAX_SOURCE_BYTES
        }
    );
}

#[test]
fn long_chains_of_conditions_are_not_deep() {
    let chain = vec!["managedCluster.word == 'x'"; 2_000].join(" || ");
    assert_eq!(run(&chain).0, Ok(false));
}

/// Nested as deep as allowed, one level at a time, in every way the grammar has.
fn nestings(levels: usize) -> Vec<String> {
    let around = |open: &str, core: &str, close: &str| {
        format!("{}{core}{}", open.repeat(levels), close.repeat(levels))
    };
    vec![
        around("(", "true", ")"),
        around("!", "true", ""),
        around("- ", "managedCluster.x", ""),
        around("[", "1", "]"),
        around("{'a': ", "1", "}"),
        around("dyn(", "1", ")"),
        around("true ? true : ", "true", ""),
        around("(true ? ", "true", " : true)"),
        around("1 + (", "1", ")"),
        around("true || (true && (1 == 1 + (1 * ", "1", "))) == true"),
        around("[1].map(x, ", "1", ")"),
        around("[[1]].all(x, x.exists(y, ", "true", "))"),
        around("", "managedCluster", ".a"),
        around("", "managedCluster", "['a']"),
        around("", "managedCluster", ".?a"),
        around("", "1", " + 1"),
        around("", "'a'", ".trim()"),
        around("", "optional.of(1)", ".optMap(x, x)"),
        around("", "optional.none()", ".or(optional.none())"),
        around("optional.none().orValue(", "1", ")"),
        around("[", "", ""),
        around("{1:", "", ""),
        around("f(", "", ""),
        around("a[", "", ""),
    ]
}

/// A quarter of what the threads have that evaluate in production, in an unoptimised build.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(work);
    thread
        .expect("a thread starts")
        .join()
        .expect("the work does not panic");
}

#[test]
fn deep_nesting_ends_in_an_error_and_never_in_a_stack_overflow() {
    on_a_small_stack(|| {
        for levels in [10, 30, 60, MAX_NESTING - 2, MAX_NESTING, 5_000] {
            for source in nestings(levels) {
                if let Ok(program) = Program::compile(&source) {
                    let _ = program.evaluate(&cluster(), &NoScores, &mut Budget::per_cluster());
                }
            }
        }
    });
}

#[test]
fn nesting_beyond_the_limit_names_the_limit() {
    let error = Program::compile(&nestings(MAX_NESTING + 1)[0]).unwrap_err();
    assert!(
        matches!(
            error,
            CompileError::TooDeep {
                limit: MAX_NESTING,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn error_texts_stay_short_whatever_the_input() {
    let long = "x".repeat(50_000);
    let sources = [
        format!("managedCluster.{long} == 1"),
        format!("managedCluster['{long}'] == 1"),
        format!("'{long}'"),
        format!("quantity('{long}') == quantity('1')"),
        format!("'{long}'.parseJSON() == 1"),
        format!("managedCluster.scores('{long}') == []"),
        long.clone(),
        format!("{long}()"),
        format!("1 '{long}'"),
        format!("'a'.matches('({long}')"),
        format!("{} + 1 == 2", "[".repeat(100) + &"]".repeat(100)),
    ];
    for source in sources {
        let text = match Program::compile(&source) {
            Err(error) => error.to_string(),
            Ok(program) => program
                .evaluate(&cluster(), &NoScores, &mut Budget::per_cluster())
                .unwrap_err()
                .to_string(),
        };
        assert!(text.len() < 1_000, "{text}");
    }
}

#[test]
fn many_scores_are_paid_for() {
    struct Many;
    impl Scores for Many {
        fn scores(&self, _: &str) -> Option<Vec<(String, i64)>> {
            Some(vec![("s".to_owned(), 1); 1_000])
        }
    }
    let program = Program::compile("managedCluster.scores('a').size() == 1000").unwrap();
    let mut budget = Budget::per_cluster();
    assert_eq!(program.evaluate(&cluster(), &Many, &mut budget), Ok(true));
    assert!(budget.spent() >= 1_000);
}

#[test]
fn compiling_patterns_is_paid_for_by_what_they_become_and_not_by_their_length() {
    let rules = Environment::condition_rules();
    let cost = |source: &str| {
        let mut patterns = 0;
        let compiled = Program::compile_counted(&rules, source, &mut patterns);
        (compiled.is_ok(), patterns)
    };
    assert_eq!(cost("'abc' == 'abc'"), (true, 0));
    let (compiles, small) = cost("'abc'.matches('abc')");
    assert!(compiles && small > 0);
    let (compiles, large) = cost(r"'abc'.matches('\\pL{2}')");
    assert!(compiles && large > 5 * small, "{large} {small}");
    // What is refused was tried in every size.
    let (compiles, refused) = cost(r"'abc'.matches('\\pL{99}')");
    assert!(!compiles && refused > 5 * small, "{refused} {small}");
    // Many of them are too much for one expression, however short it is.
    let many = vec![r"'abc'.matches('\\pL{2}')"; 1_000].join(" || ");
    let error = Program::compile_in(&rules, &many).unwrap_err().to_string();
    assert!(error.contains("too large together"), "{error}");
    let (_, many) = cost(&many);
    assert!(many <= 2_100_000, "{many}");
}

#[test]
fn computed_patterns_pay_for_each_size_that_is_tried() {
    let spent = |pattern: &str| {
        let source =
            format!("managedCluster.word.matches(managedCluster.word.substring(0, 0) + '{pattern}') || true");
        run(&source).1
    };
    assert!(spent(r"\\pL{2}") > 5 * spent("abc"));
    assert!(spent(r"\\pL{99}") > 5 * spent("abc"));
}
