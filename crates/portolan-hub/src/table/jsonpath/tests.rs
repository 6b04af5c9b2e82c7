//! What expressions select.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn object() -> Value {
    json!({
        "metadata": {
            "name": "web",
            "labels": {"app.kubernetes.io/name": "shop", "tier": "front"},
            "generation": 3,
        },
        "spec": {
            "replicas": 3,
            "ratio": 0.5,
            "paused": false,
            "nothing": null,
            "ports": [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}, {"port": 9090, "metrics": true}],
        },
        "status": {
            "conditions": [
                {"type": "Available", "status": "False"},
                {"type": "Ready", "status": "True", "reason": "All (3) are \"up\""},
            ],
        },
    })
}

#[test]
fn expressions_select_what_kubernetes_selects() {
    for (text, expected) in [
        (".metadata.name", json!(["web"])),
        ("{.metadata.name}", json!(["web"])),
        ("{ .metadata.name }", json!(["web"])),
        ("$.metadata.name", json!(["web"])),
        ("{$.metadata.name}", json!(["web"])),
        (".", json!([object()])),
        (".metadata.missing", json!([])),
        (".metadata.missing.deeper", json!([])),
        (".metadata.name.deeper", json!([])),
        (".spec.nothing", json!([null])),
        (".spec.nothing.deeper", json!([])),
        (".spec.nothing[0]", json!([])),
        (r".metadata.labels.app\.kubernetes\.io/name", json!(["shop"])),
        (r".metadata.labels['app\.kubernetes\.io/name']", json!(["shop"])),
        (".metadata.labels['app.kubernetes.io/name']", json!([])),
        (".metadata.labels['tier']", json!(["front"])),
        (".spec.ports[].port", json!([80])),
        (".metadata['name','generation']", json!(["web", 3])),
        (".metadata.labels.*", json!(["shop", "front"])),
        (".spec.ports[0].port", json!([80])),
        (".spec.ports[-1].port", json!([9090])),
        (".spec.ports[*].port", json!([80, 443, 9090])),
        (".spec.ports.*.port", json!([80, 443, 9090])),
        (".spec.ports[0:2].port", json!([80, 443])),
        (".spec.ports[1:].port", json!([443, 9090])),
        (".spec.ports[:1].port", json!([80])),
        (".spec.ports[:-1].port", json!([80, 443])),
        (".spec.ports[::2].port", json!([80, 9090])),
        (".spec.ports[0:0].port", json!([])),
        (".spec.ports[0,2].port", json!([80, 9090])),
        (".spec.ports[ 0 , 1].port", json!([80, 443])),
        ("..port", json!([80, 443, 9090])),
        (".spec..name", json!(["http", "https"])),
        (
            r#".status.conditions[?(@.type=="Ready")].status"#,
            json!(["True"]),
        ),
        (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
        (
            r#"{.status.conditions[?(@.type == "Ready")].status}"#,
            json!(["True"]),
        ),
        (
            r#".status.conditions[?(@.type!="Ready")].status"#,
            json!(["False"]),
        ),
        (r#".status.conditions[?(@.type=="Gone")].status"#, json!([])),
        (
            r#".status.conditions[?(@.reason=="All (3) are \"up\"")].type"#,
            json!(["Ready"]),
        ),
        (".status.conditions[?(@.reason)].type", json!(["Ready"])),
        (".spec.ports[?(@.port>80)].port", json!([443, 9090])),
        (".spec.ports[?(@.port>=443)].port", json!([443, 9090])),
        (".spec.ports[?(@.port<443)].port", json!([80])),
        (".spec.ports[?(@.port<=80)].port", json!([80])),
        (".spec.ports[?(80==@.port)].name", json!(["http"])),
        (".spec.ports[?(@.metrics==true)].port", json!([9090])),
    ] {
        let object = object();
        let found = Path::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let found = found
            .find(&object, &mut budget())
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(json!(found), expected, "{text}");
    }
}

#[test]
fn expressions_that_make_no_sense_for_an_object_are_errors() {
    for (text, expected) in [
        (
            ".spec.ports[7]",
            EvaluationError::OutOfBounds { index: 7, length: 3 },
        ),
        (
            ".spec.ports[-7]",
            EvaluationError::OutOfBounds { index: -4, length: 3 },
        ),
        (
            ".spec.ports[0:9]",
            EvaluationError::OutOfBounds { index: 8, length: 3 },
        ),
        (".spec.ports[2:1]", EvaluationError::Backwards),
        (".spec.ports[0:2:0]", EvaluationError::Backwards),
        (".metadata[0]", EvaluationError::NotAnArray),
        (".metadata.labels[*]", EvaluationError::NotAnArray),
        (".metadata[?(@.x)]", EvaluationError::NotAnArray),
        (r#".spec.ports[?(@.port=="80")]"#, EvaluationError::Incomparable),
        (".spec.ports[?(@.port==80.5)]", EvaluationError::Incomparable),
        (".spec.ports[?(@.metrics<true)]", EvaluationError::Incomparable),
        (".spec.ports[?(@.*==1)]", EvaluationError::SeveralElements),
    ] {
        assert_eq!(
            Path::parse(text).unwrap().find(&object(), &mut budget()),
            Err(expected),
            "{text}"
        );
    }
}

#[test]
fn texts_that_are_no_expressions_are_refused() {
    for (text, says) in [
        ("{.metadata", "unterminated action"),
        (".spec.ports[0", "unterminated array"),
        (".spec.ports[", "unterminated array"),
        (".spec.ports[x]", "invalid array index x"),
        (".spec.ports[ 0 ]", "invalid array index"),
        (r#".metadata["name"]"#, "invalid array index \"name\""),
        (".spec.ports[1:2:3:4]", "invalid array index 1:2:3:4"),
        (".a[?(@.b=='x]", "unterminated filter"),
        (".a[?(@.b=='x')", "unterminated array"),
        (".a[?(@.b=~'x')]", "unrecognized filter operator ="),
        (".a[?(@.b=!'x')]", "unrecognized filter operator =!"),
        (".a['b", "unterminated array"),
        (".a[?(@.b=='x\\')]", "unterminated filter"),
        (r".a\", "unterminated escape"),
        ("metadata.name", "unrecognized identifier metadata"),
        ("....", "invalid multiple recursive descent"),
        ("{range .items[*]}{.x}{end}", "unrecognized identifier range"),
        (".a;b", "unrecognized"),
        ("%", "unrecognized character in action: '%'"),
    ] {
        match Path::parse(text) {
            Err(error) => assert!(error.to_string().contains(says), "{text}: {error}"),
            // A semicolon is a character like any other in a field name, as it is in Kubernetes.
            Ok(path) => assert_eq!((text, path.steps), (".a;b", vec![Step::Field("a;b".to_owned())])),
        }
    }
}

#[test]
fn size_and_nesting_are_bounded() {
    assert_eq!(Path::parse(&".a".repeat(3000)), Err(ParseError::TooLarge));
    let nested = format!(".a{}@.x{}", "[?(@.b".repeat(9), ")]".repeat(9));
    assert_eq!(Path::parse(&nested), Err(ParseError::TooLarge));
    let twice = format!("[{0}][{0}]", ["0"; 400].join(","));
    assert_eq!(
        Path::parse(&twice).unwrap().find(&json!([[1]]), &mut budget()),
        Err(EvaluationError::TooMany)
    );
}

proptest! {
    #[test]
    fn garbage_never_panics(text in any::<String>()) {
        if let Ok(path) = Path::parse(&text) {
            let _ = path.find(&object(), &mut budget());
        }
    }

    #[test]
    fn near_misses_never_panic(text in r#"[{}.$@\[\]?()=!<>'"*:,\\0-9a-z -]{0,40}"#) {
        if let Ok(path) = Path::parse(&text) {
            let _ = path.find(&object(), &mut budget());
        }
    }
}

fn budget() -> Budget {
    let mut budget = Budget::of_table();
    budget.next_object();
    budget
}

#[test]
fn what_all_objects_of_a_table_cost_is_limited_and_small_columns_are_filled() {
    let union = "['a','a','a','a','a','a','a','a','a']".repeat(5);
    let costly = Path::parse(&format!(".l[?(@{union})]")).unwrap();
    let element = json!({ "a": { "a": { "a": { "a": { "a": 1 } } } } });
    let object = json!({ "l": vec![element; 20], "n": 1 });
    let mut budget = Budget::of_table();
    let small = Path::parse(".n").unwrap();
    let mut filled = 0;
    for _ in 0..200 {
        budget.next_object();
        filled += usize::from(small.find(&object, &mut budget).is_ok());
        assert_eq!(costly.find(&object, &mut budget), Err(EvaluationError::TooMany));
    }
    assert_eq!(filled, 50, "a table has 5,000,000 steps, an object 100,000");
}
