use proptest::prelude::*;
use serde_json::json;

use super::*;

fn found(path: &str) -> Vec<Value> {
    let object = json!({
        "metadata": { "annotations": { "example.com/x": "y" } },
        "status": {
            "phase": "Running", "list": [1, 2, 3],
            "sizes": [{ "name": "a", "size": 1 }, { "name": "b", "size": 2 }, { "name": "c!=d" }],
            "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }],
        },
    });
    let path = JsonPath::parse(path).unwrap();
    path.find(&object).unwrap().into_iter().cloned().collect()
}

#[test]
fn paths_lead_where_those_of_kubectl_lead() {
    for (path, expected) in [
        (".status.phase", json!(["Running"])),
        ("{.status.phase}", json!(["Running"])),
        ("$.status.phase", json!(["Running"])),
        ("status.phase", json!(["Running"])),
        (".status.list[0]", json!([1])),
        (".status.list[-1]", json!([3])),
        (".status.list[*]", json!([1, 2, 3])),
        (".status.list[9]", json!([])),
        (".status['phase']", json!(["Running"])),
        (".metadata.annotations.example\\.com/x", json!(["y"])),
        (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
        (".status.conditions[?(@.type!='Ready')].status", json!(["False"])),
        (".status.absent.deeper", json!([])),
        (".status['phase','absent']", json!(["Running"])),
        (".status.list[0,2]", json!([1, 3])),
        (".status.list[1:]", json!([2, 3])),
        (".status.list[:-1]", json!([1, 2])),
        (".status.list[0:3:2]", json!([1, 3])),
        (".status.conditions[0,1].type", json!(["Ready", "Other"])),
        ("..type", json!(["Ready", "Other"])),
        (".status..[0].type", json!(["Ready"])),
        (".status.sizes[?(@.size>1)].name", json!(["b"])),
        (".status.sizes[?(@.size<=1)].name", json!(["a"])),
        (".status.sizes[?(1<=@.size)].name", json!(["a", "b"])),
        (".status.sizes[?(@.size)].name", json!(["a", "b"])),
        (".status.sizes[?(@.size!=1)].name", json!(["b"])),
        (".status.sizes[?(@.name==\"c!=d\")].name", json!(["c!=d"])),
    ] {
        assert_eq!(json!(found(path)), expected, "{path}");
    }
}

#[test]
fn what_is_no_path_is_refused_with_what_would_be() {
    for path in [
        "",
        "{.a",
        ".a[",
        ".a[b]",
        ".a...b",
        ".a..",
        ".a[1:2:3:4]",
        ".a[0:3:0]",
        ".a['b',0]",
        ".a[?('b')]",
        ".a[?(@.b==1&&@.c==2)]",
        ".a[?(@.b[?(@.c)])]",
        ".a\\",
    ] {
        assert!(JsonPath::parse(path).is_err(), "{path}");
    }
}

#[test]
fn a_path_that_visits_too_much_is_refused_and_not_followed_to_its_end() {
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    let path = JsonPath::parse(&"..*".repeat(8)).unwrap();
    assert!(path.find(&deep).unwrap_err().contains("accepted"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[.\\[\\]{}@?()=<>!:,'\"*a0\\\\-]{0,24}") {
        if let Ok(path) = JsonPath::parse(&text) {
            let _ = path.find(&json!({ "a": [{ "a": 0 }] }));
        }
    }
}

#[test]
fn places_share_the_names_that_they_go_through() {
    let object = json!({ "x": { "a name that may be long": [0, 1] } });
    let places = JsonPath::parse(".x.*[*]").unwrap().places(&object).unwrap();
    let names: Vec<&Arc<str>> = places
        .iter()
        .filter_map(|(place, _)| match &place[1] {
            Key::Field(name) => Some(name),
            Key::Index(_) => None,
        })
        .collect();
    assert!(names.len() == 2 && Arc::ptr_eq(names[0], names[1]), "{places:?}");
}
