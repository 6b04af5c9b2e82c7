use serde_json::{Map, json};

use super::*;

fn printed(value: &Value) -> String {
    let mut text = String::new();
    print(value, &mut text);
    text
}

#[test]
fn the_hash_of_a_manifest_is_that_of_other_agents() {
    let manifest = json!({
        "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "namespace": "default", "name": "test" },
        "data": { "foo1": "bar1" },
    });
    assert_eq!(spec_hash(&manifest), "4c07ba481d04e9c38e5ed3bf24139537");
}

#[test]
fn values_are_printed_as_go_prints_them() {
    for (value, text) in [
        (json!(null), "<nil>"),
        (json!([1, "a b", true, []]), "[1 a b true []]"),
        (json!({ "b": null, "a": {}, "B": 1 }), "map[B:1 a:map[] b:<nil>]"),
        (json!(-7), "-7"),
        (json!(i64::MAX), "9223372036854775807"),
        (json!(18_446_744_073_709_551_615_u64), "1.8446744073709552e+19"),
        (json!(1.0), "1"),
        (json!(0.5), "0.5"),
        (json!(0.0001), "0.0001"),
        (json!(0.00001), "1e-05"),
        (json!(123_456.0), "123456"),
        (json!(1e6), "1e+06"),
        (json!(16_777_216.5), "1.67772165e+07"),
        (json!(-2.5e-7), "-2.5e-07"),
        (json!(1.5e300), "1.5e+300"),
    ] {
        assert_eq!(printed(&value), text, "{value}");
    }
}

/// Hashes of `manifests()`, one a line: the MD5 of what Go 1.26 prints (`%v`) for an unstructured object that apimachinery's
/// JSON reader made of the manifest, which is how OCM's agent (00f84c32b) computes them. To record them anew, let this test
/// write the manifests to the file that PORTOLAN_MANIFESTS names, and hash each of its lines so.
const RECORDED: &str = include_str!("spec_hashes.txt");

#[test]
fn a_thousand_manifests_have_the_hashes_that_were_recorded_of_another_agent() {
    let manifests = manifests();
    if let Ok(file) = std::env::var("PORTOLAN_MANIFESTS") {
        let lines: Vec<String> = manifests.iter().map(Value::to_string).collect();
        std::fs::write(file, lines.join("\n")).unwrap();
    }
    assert_eq!(RECORDED.lines().count(), manifests.len());
    for (manifest, recorded) in manifests.iter().zip(RECORDED.lines()) {
        assert_eq!(spec_hash(manifest), recorded, "{manifest}");
    }
}

/// A thousand manifests, the same ones every time.
fn manifests() -> Vec<Value> {
    let mut random = Random(5313);
    let manifest = |_| {
        let mut manifest =
            json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
        manifest["spec"] = object(&mut random, 3);
        manifest
    };
    (0..1000).map(manifest).collect()
}

/// A linear congruential generator: the sequence is part of what was recorded and must not change with a crate.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let names = [
        "a",
        "B",
        "ä",
        "with space",
        "x.y/z",
        "1",
        "",
        "map[a:b]",
        "spec",
        "Z",
    ];
    let mut fields = Map::new();
    for _ in 0..random.below(6) {
        let name = random.one_of(&names);
        fields.insert(name.to_owned(), value(random, depth));
    }
    Value::Object(fields)
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.one_of(&[
            "",
            "text",
            "two words",
            "ünï",
            "<nil>",
            "line\nbreak",
            "%v",
            "\u{1f980}",
            "007"
        ])),
        3 => json!(random.below(2_000_000) as i64 - 1_000_000),
        4 => json!([i64::MAX, i64::MIN, 0, -1][random.below(4) as usize]),
        5 => float(random),
        6 => json!(
            (0..random.below(4))
                .map(|_| value(random, depth - 1))
                .collect::<Vec<_>>()
        ),
        _ => object(random, depth - 1),
    }
}

/// Floats of every size, beside those whose notation changes, and whole numbers that do not fit into 64 bits with a sign.
fn float(random: &mut Random) -> Value {
    let digits = random.below(2_000_000_000) as f64 - 1_000_000_000.0;
    match random.below(4) {
        0 => json!(digits * 10f64.powi(random.below(40) as i32 - 20)),
        1 => json!(digits * 10f64.powi(random.below(500) as i32 - 250)),
        2 => json!(u64::MAX - random.below(1_000_000)),
        _ => json!([1e-5, 1e-4, 9.9999e5, 1e6, 999_999.5, 0.0, 1e20, 1e21, 1e22][random.below(9) as usize]),
    }
}
