use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::cost::Cost;

fn object() -> Value {
    json!({
        "metadata": { "labels": { "app": "web", "tier": "1" } },
        "spec": {
            "replicas": 2, "paused": null,
            "containers": [
                { "name": "web", "image": "a:1", "ports": [{ "port": 80 }, { "port": 443 }] },
                { "name": "proxy", "image": "b:1" },
            ],
        },
    })
}

/// The places in words: `spec.containers.0.image`.
fn named(text: &str) -> Result<Vec<String>, String> {
    let mut places = Jq::parse(text)?.places(&object(), &mut Steps::new(&mut Cost::of_work()))?;
    places.sort();
    let words = |key: &Key| match key {
        Key::Field(name) => name.to_string(),
        Key::Index(index) => index.to_string(),
    };
    let places = places.iter();
    Ok(places
        .map(|place| place.iter().map(words).collect::<Vec<_>>().join("."))
        .collect())
}

#[test]
fn expressions_name_the_places_that_jq_would_delete() {
    let images = ["spec.containers.0.image", "spec.containers.1.image"];
    for (text, places) in [
        (".spec.replicas", &["spec.replicas"][..]),
        (".spec.\"replicas\"", &["spec.replicas"]),
        (".spec[\"replicas\"]", &["spec.replicas"]),
        (".spec.paused", &["spec.paused"]),
        (".spec.absent", &[]),
        (".absent.deeper", &[]),
        (".spec | .replicas", &["spec.replicas"]),
        (".if.try, .[\"a \\\" if b\"]", &[]),
        (".spec | (.replicas, .paused)", &["spec.paused", "spec.replicas"]),
        (".spec.containers[0].image", &images[..1]),
        (".spec.containers[-1].image", &images[1..]),
        (".spec.containers[7].image?", &[]),
        (".spec.containers[].image", &images),
        (".spec.containers[1:]", &["spec.containers.1"]),
        (".spec.containers[:1][]", &["spec.containers.0"]),
        (
            ".metadata.labels[]",
            &["metadata.labels.app", "metadata.labels.tier"],
        ),
        (
            ".spec.containers[] | select(.name == \"web\") | .image",
            &images[..1],
        ),
        (
            ".spec.containers[] | select(.name == \"web\" and has(\"ports\")).image",
            &images[..1],
        ),
        (
            ".spec.containers[] | select(.name != \"web\") | .image",
            &images[1..],
        ),
        (
            ".spec.containers[] | select(.ports | length > 1) | .image",
            &images[..1],
        ),
        (
            ".spec.containers[] | select(.image | startswith(\"a\")).image",
            &images[..1],
        ),
        (
            ".spec.containers[] | select(.image | endswith(\"1\")).image",
            &images,
        ),
        (
            ".spec.containers[] | select(.image | test(\"^b:\")).image",
            &images[1..],
        ),
        (
            ".spec.containers[] | select(has(\"ports\") | not).image",
            &images[1..],
        ),
        (
            ".spec.containers[] | select(.ports != null and (.ports | any(.port == 443))).image",
            &images[..1],
        ),
        (
            ".spec.containers[] | select(.ports != null and (.ports | all(.port > 80))).image",
            &[],
        ),
        (
            ".spec.containers[] | select(.name | contains(\"rox\")).image",
            &images[1..],
        ),
        (
            ".. | select(type == \"number\")",
            &[
                "spec.containers.0.ports.0.port",
                "spec.containers.0.ports.1.port",
                "spec.replicas",
            ],
        ),
        ("..|.image?", &images),
        ("first(.spec.containers[].image)", &images[..1]),
        (".spec.replicas | select(. >= 2 or . < 0)", &["spec.replicas"]),
    ] {
        assert_eq!(named(text).unwrap(), places, "{text}");
    }
}

#[test]
fn what_is_outside_of_the_part_is_refused_by_name() {
    for (text, word) in [
        ("def f: 1 + f; f", "def"),
        ("reduce .[] as $x (0; . + $x)", "reduce"),
        ("foreach .[] as $x (0; . + $x)", "foreach"),
        ("label $out | .a", "label"),
        (". as $x | $x", "variable"),
        (".a + 1", "arithmetic"),
        (".[\"\\(.a)\"]", "interpolation"),
        ("[.a]", "construction"),
        (".a = 1", "assignment"),
        ("recurse(.a)", "recurse"),
        ("range(9)", "range"),
        ("limit(1; .a)", "limit"),
        ("env.HOME", "env"),
        (r#"select(test("(?x)a"))"#, "the flag x"),
        ("input", "input"),
        (".a[", "no jq"),
        ("try .a", "try"),
        (".[.a]", "computed"),
        ("select(test(.a))", "test"),
        ("if .a then .b else .c end", "if"),
        ("select(.a // .b)", "//"),
        ("select(contains({\"a\": 1}))", "construction"),
    ] {
        let why = Jq::parse(text).map(|_| ()).unwrap_err();
        assert!(why.contains(word) && why.contains("accepted"), "{text}: {why}");
    }
}

#[test]
fn errors_of_jq_are_errors_unless_they_are_tried() {
    for text in [
        ".spec.replicas.deeper",
        ".spec.replicas[]",
        ".metadata[0]",
        "..|.image",
    ] {
        assert!(named(text).is_err(), "{text}");
        assert_eq!(named(&format!("({text})?")), Ok(Vec::new()), "{text}");
    }
}

#[test]
fn chains_of_any_length_that_is_read_end_without_an_overflow() {
    for link in [
        "-", "try ", ".|", ".,", "not|", "reduce ", "def f: ", "if ", "..|", ".a?|", ".+", ".//", ".==",
        ". and ", ". or ", ".=", ".|=", ".*", ". as $x|", "@text ", "$x", ".a", ".[]", "?", "f(", "\"",
    ] {
        let text = format!("{}.", link.repeat((LONGEST - 2) / link.len()));
        if let Ok(jq) = Jq::parse(&text) {
            let _ = jq.places(&object(), &mut Steps::new(&mut Cost::of_work()));
        }
        let _ = Jq::parse(&format!("select({text})"));
    }
}

#[test]
fn patterns_of_names_are_accepted_and_those_that_take_long_are_not() {
    for pattern in [
        "^[a-z0-9-]+$",
        "^(web|api)-[a-z0-9]{5}$",
        "registry[.]example[.]com/.*",
    ] {
        assert!(
            Jq::parse(&format!("select(test(\"{pattern}\"))")).is_ok(),
            "{pattern}"
        );
    }
    assert!(Jq::parse("select(test(\"a[ab]{2000}c\"))").is_err());
    // The longer the text and the pattern, the more it takes.
    let object = json!({ "a": "a".repeat(100_000) });
    let taken = |pattern: &str| {
        let mut cost = Cost::of_work();
        let jq = Jq::parse(&format!("select(.a | test(\"{pattern}\"))")).unwrap();
        let _ = jq.places(&object, &mut Steps::new(&mut cost));
        cost.spent_in_all()
    };
    assert!(taken("b") >= 1_000_000 && taken(&"[ab]".repeat(60)) > 3 * taken("b"));
}

#[test]
fn names_of_fields_that_are_compared_are_paid_by_their_length() {
    let taken = |length: usize| {
        let fields: serde_json::Map<String, serde_json::Value> = (0..10)
            .map(|number| (format!("{number}{}", "k".repeat(length)), json!(1)))
            .collect();
        let object = json!({ "a": fields.clone(), "b": fields });
        let mut cost = Cost::of_work();
        let jq = Jq::parse("select(.a == .b) | .a").unwrap();
        let _ = jq.places(&object, &mut Steps::new(&mut cost));
        cost.spent_in_all()
    };
    // Twenty names of 64,000 bytes are 20,000 steps more than short ones, and a step has a price of one or more.
    assert!(taken(64_000) >= taken(1) + 20_000);
}

#[test]
fn nothing_goes_beyond_its_bounds() {
    let long = format!(".a{}", ".a".repeat(600));
    let deep = format!("{}.{}", "(".repeat(10_000), ")".repeat(10_000));
    let nested = format!("{}.{}", "(".repeat(40), ")".repeat(40));
    for text in [long, deep, nested] {
        assert!(Jq::parse(&text).map(|_| ()).unwrap_err().contains("accepted"));
    }
    let all = Jq::parse(&["..?"; 60].join("|")).unwrap();
    let large: Value = (0..200).map(|number| json!({ "a": [number] })).collect();
    assert!(
        all.places(&large, &mut Steps::new(&mut Cost::of_work()))
            .unwrap_err()
            .contains("accepted")
    );
    let mut cost = Cost::of_work();
    let mut steps = Steps::new(&mut cost);
    let cheap = Jq::parse(".. | select(type == \"number\")").unwrap();
    let outcome = (0..10_000).find_map(|_| cheap.places(&large, &mut steps).err());
    assert!(
        outcome.is_some_and(|why| why.contains("steps")),
        "all expressions share the steps"
    );
}

#[test]
fn conditions_with_too_many_answers_end_at_the_bound_of_values() {
    let object = json!({ "a": vec![1; 2_000] });
    for text in ["select(.a[] == .a[])", "select(.a[] and .a[])"] {
        let mut cost = Cost::of_work();
        let jq = Jq::parse(text).unwrap();
        let why = jq.places(&object, &mut Steps::new(&mut cost)).unwrap_err();
        assert!(why.contains("more than 10000 values"), "{text}: {why}");
        // Five or six of the 2,000 lists of answers, instead of all of them.
        assert!(cost.spent_in_all() < 1_000_000, "{text}: {}", cost.spent_in_all());
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[.\\[\\]{}()|,?a0:\"\\\\$@=<>! -]{0,40}") {
        if let Ok(jq) = Jq::parse(&text) {
            let _ = jq.places(&object(), &mut Steps::new(&mut Cost::of_work()));
        }
    }
}

#[test]
fn a_pattern_that_ignores_case_has_few_classes_of_characters() {
    let test = |pattern: &str| Jq::parse(&format!("select(.a | test(\"{pattern}\"))"));
    for pattern in [
        "(?i)^prod-[a-z0-9]+$",
        "(?i)[a-z][a-z][a-z][a-z][a-z]",
        r"\\p{Any}\\p{Any}",
    ] {
        assert!(test(pattern).is_ok(), "{pattern}");
    }
    for pattern in [
        r"(?i)\\p{Any}\\p{Any}\\p{Any}\\p{Any}\\p{Any}",
        "(?i)[[[[ä]a]a]a]",
        r"(?i:[\\Wa][\\Wa][\\Wa])",
    ] {
        let why = test(pattern).unwrap_err();
        assert!(why.contains("more than 4 classes"), "{pattern}: {why}");
    }
}
