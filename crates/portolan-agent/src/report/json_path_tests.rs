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
    path.find(&object, &mut Cost::of_work())
        .unwrap()
        .into_iter()
        .cloned()
        .collect()
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
    assert!(
        path.find(&deep, &mut Cost::of_work())
            .unwrap_err()
            .contains("accepted")
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[.\\[\\]{}@?()=<>!:,'\"*a0\\\\-]{0,24}") {
        if let Ok(path) = JsonPath::parse(&text) {
            let _ = path.find(&json!({ "a": [{ "a": 0 }] }), &mut Cost::of_work());
        }
    }
}

#[test]
fn places_share_the_names_that_they_go_through() {
    let object = json!({ "x": { "a name that may be long": [0, 1] } });
    let path = JsonPath::parse(".x.*[*]").unwrap();
    let places = path.places(&object, &mut Cost::of_work()).unwrap();
    let names: Vec<Key> = places.iter().map(|(place, _)| place.keys()[1].clone()).collect();
    let [Key::Field(one), Key::Field(other)] = names.as_slice() else {
        panic!("{places:?}");
    };
    assert!(std::sync::Arc::ptr_eq(one, other));
}

#[test]
fn names_of_a_union_that_are_said_again_and_values_that_are_compared_are_paid_for() {
    let names = vec!["'a'"; 900].join(",");
    let large = json!({ "a": vec![json!({ "a": "x".repeat(50_000), "b": vec![0; 2_000] }); 100] });
    for path in [
        format!(".a[*][{names}]"),
        format!(".a[*][?(@['{}'])]", "a".repeat(4000)),
        format!("[{names}][*]['b'][*]"),
        format!("[{names}][?(@.b==@.b)]"),
        format!("[{names}][?(@.a==@.a)]"),
    ] {
        let path = JsonPath::parse(&path).unwrap();
        let mut cost = Cost::of_work();
        let found = path.find(&large, &mut cost);
        let limit = u64::try_from(MOST_VISITS).unwrap() * 10;
        assert!(cost.spent_in_all() <= limit, "{path:?}");
        assert!(found.is_err() || cost.spent_in_all() > 1000, "{path:?}");
    }
    assert!(JsonPath::parse(&format!(".{}", "a".repeat(5000))).is_err());
}

#[test]
fn every_element_that_a_filter_looks_at_is_paid_for_literals_too() {
    let object = json!({ "a": vec![0; 1_000] });
    for filter in ["1==2", "'x'=='y'", "1<0", "@==1", "@.b"] {
        let path = JsonPath::parse(&format!(".a[?({filter})]")).unwrap();
        let mut cost = Cost::of_work();
        assert_eq!(path.find(&object, &mut cost), Ok(Vec::new()), "{filter}");
        assert!(cost.spent_in_all() >= 10_000, "{filter}: {}", cost.spent_in_all());
    }
    // Each list is looked at a thousand times.
    let names = vec!["'a'"; 1_000].join(",");
    let path = JsonPath::parse(&format!("[{names}][?(1==2)]")).unwrap();
    let why = path.find(&object, &mut Cost::of_work()).unwrap_err();
    assert!(why.contains("visits more than 200000 values"), "{why}");
}

#[test]
fn long_names_that_are_looked_up_or_compared_cost_more_than_short_ones() {
    let spent = |name: &str, filter: &str| {
        let object = json!({ "a": vec![json!({ "b": { name: 1 }, "c": { name: 1 } }); 100] });
        let path = JsonPath::parse(&format!(".a[?({filter})]")).unwrap();
        let mut cost = Cost::of_work();
        assert_eq!(path.find(&object, &mut cost).unwrap().len(), 100);
        cost.spent_in_all()
    };
    let long = "n".repeat(3_000);
    assert!(spent(&long, "@.b==@.c") > 5 * spent("n", "@.b==@.c"));
    assert!(spent(&long, &format!("@.b.{long}")) > 5 * spent("n", "@.b.n"));
}
