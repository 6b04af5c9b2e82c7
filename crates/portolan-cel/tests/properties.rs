//! Arbitrary input: compile and evaluate never panic, and never spend more than they may.

use portolan_cel::{Budget, NoScores, Program, Value};
use proptest::prelude::*;

const CASES: [&str; 4] = [
    include_str!("cases/language.txt"),
    include_str!("cases/compile_errors.txt"),
    include_str!("cases/strings.txt"),
    include_str!("cases/libraries.txt"),
];

fn expressions() -> Vec<&'static str> {
    let lines = CASES
        .into_iter()
        .flat_map(str::lines)
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(" => "))
        .map(|(expression, _)| expression)
        .collect()
}

fn cluster() -> Value {
    let json: serde_json::Value =
        serde_json::from_str(include_str!("cluster.json")).expect("the fixture is JSON");
    Value::from(&json)
}

/// Compiles and evaluates; the texts of errors are rendered too.
fn exercise(source: &str) {
    let mut budget = Budget::per_cluster();
    match Program::compile(source) {
        Err(error) => assert!(error.to_string().starts_with("compilation failed: ")),
        Ok(program) => {
            if let Err(error) = program.evaluate(&cluster(), &NoScores, &mut budget) {
                assert!(error.to_string().len() < 1_000);
            }
        }
    }
    assert!(budget.spent() <= Budget::PER_EXPRESSION);
}

/// Pieces that meet often in real expressions, so that random sequences of them get past the parser.
fn fragment() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "managedCluster",
        ".metadata",
        ".labels",
        "[\"env\"]",
        ".?spec",
        "[?0]",
        "==",
        "!=",
        "<",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "?",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "in",
        "1",
        "2u",
        "0.5",
        "\"a\"",
        "b\"a\"",
        "null",
        "true",
        "has(",
        ".all(x,",
        ".exists(x,",
        ".map(x,",
        ".filter(x,",
        "x",
        ".size()",
        "size(",
        "int(",
        "string(",
        "timestamp(",
        "duration(",
        "quantity(",
        "semver(",
        "ip(",
        "cidr(",
        "url(",
        ".format(",
        ".matches(",
        ".split(",
        ".parseJSON()",
        ".scores(",
        "optional.of(",
        ".orValue(",
        ".optMap(x,",
        "9223372036854775807",
        "é",
    ]);
    fixed.prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(source in "\\PC{0,80}") {
        exercise(&source);
    }

    #[test]
    fn arbitrary_sequences_of_tokens_never_panic(parts in prop::collection::vec(fragment(), 0..25)) {
        exercise(&parts.join(" "));
    }

    #[test]
    fn mutations_of_valid_expressions_never_panic(
        which in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), 0..5_u8), 1..4),
    ) {
        let expressions = expressions();
        let mut characters: Vec<char> = expressions[which.index(expressions.len())].chars().collect();
        for (place, character, edit) in edits {
            let place = place.index(characters.len() + 1);
            match edit {
                0 => characters.insert(place, character),
                1 if place < characters.len() => { characters.remove(place); }
                2 if place < characters.len() => characters[place] = character,
                3 => characters.truncate(place),
                _ => {
                    let donor = expressions[other.index(expressions.len())];
                    characters.splice(place..place, donor.chars());
                }
            }
        }
        exercise(&characters.into_iter().collect::<String>());
    }

    #[test]
    fn functions_of_one_text_never_panic(text in "\\PC{0,40}", index in -3..45_i64) {
        let quoted = serde_json::to_string(&text).unwrap();
        let cluster = Value::from(serde_json::json!({"text": text, "n": index}));
        for body in [
            "t.charAt(n) == ''", "t.substring(n) == ''", "t.substring(0, n) == ''", "t.indexOf('a', n) == 0",
            "t.lastIndexOf('é', n) == 0", "t.split('', n) == []", "t.replace('', t, n) == ''", "t.reverse() == t",
            "t.format([n, t, n]) == ''", "t.matches(t)", "isURL(t)", "url(t).getQuery() == {}", "isQuantity(t)",
            "isIP(t)", "isCIDR(t)", "isSemver(t, true)", "timestamp(t) > timestamp(n)", "duration(t) > duration(n)",
            "t.parseJSON() == 1", "format.uuid().validate(t).hasValue()", "format.byte().validate(t).hasValue()",
            "format.qualifiedName().validate(t).hasValue()", "strings.quote(t) == t", "int(t) == 1", "double(t) == 1.0",
        ] {
            let source = body.replace("t.", "managedCluster.text.").replace("(t", "(managedCluster.text")
                .replace(" t", " managedCluster.text").replace("n)", "managedCluster.n)").replace("[n", "[managedCluster.n");
            if let Ok(program) = Program::compile(&source) {
                let _ = program.evaluate(&cluster, &NoScores, &mut Budget::per_cluster());
            }
        }
        let _ = Program::compile(&quoted);
    }
}
