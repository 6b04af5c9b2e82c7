//! The fuzz targets' entry points on random input: they must neither panic nor say nothing.

#[path = "../../../fuzz/entry.rs"]
mod entry;

use proptest::prelude::*;

/// Text near what each reader expects finds more than noise does.
fn near(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(pieces).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
        1 => Just("\n".to_owned()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

const MANIFEST: &[&str] = &[
    "apiVersion: cluster.open-cluster-management.io/v1beta1\n",
    "kind: Placement\n",
    "metadata:\n",
    "  name: web\n",
    "spec:\n",
    "  predicates:\n",
    "  - requiredClusterSelector: {}\n",
    "---\n",
    "kind: List\n",
    "items: []\n",
    "&a [*a]",
    "  numberOfClusters: ",
    "1",
    "-1",
    "{",
    "}",
    "[",
    "]",
    "\t",
    "!!binary ",
    "|\n",
    "? ",
    "'",
    "\"",
    "\u{0}",
];
const EXPRESSION: &[&str] = &[
    "{\"key\":\"env\"",
    ",\"operator\":",
    "\"In\"",
    "\"Exists\"",
    "\"NotIn\"",
    ",\"values\":[",
    "\"e1\"",
    "\"\"",
    "]",
    "}",
    "null",
    "7",
];
const CEL: &[&str] = &[
    "managedCluster",
    ".metadata",
    ".labels",
    "[\"env\"]",
    " == ",
    "\"prod\"",
    " && ",
    "(",
    ")",
    "!",
    ".exists(x, x",
    "[",
    "]",
    "1",
    "2.5",
    " + ",
    " ? ",
    " : ",
    ".matches(\"a+\")",
    ".scores(\"s\")",
    ".parseJSON()",
    "quantity(\"1Gi\")",
    "has(",
    "u",
    "b\"\"",
];
const SIZE: &[&str] = &[
    "1",
    "0",
    "9",
    "%",
    ".",
    "-",
    "e",
    "inf",
    " ",
    "NaN",
    "99999999999999999999",
];

proptest! {
    #[test]
    fn the_reader_of_manifests_survives(noise in prop::collection::vec(any::<u8>(), 0..200), text in near(MANIFEST)) {
        entry::manifests(&noise);
        entry::manifests(&text);
    }

    #[test]
    fn selectors_survive(text in near(EXPRESSION)) {
        entry::selectors(&text);
    }

    #[test]
    fn cel_survives(noise in "\\PC{0,60}", text in near(CEL)) {
        entry::cel(noise.as_bytes());
        entry::cel(&text);
    }

    #[test]
    fn group_sizes_survive(text in near(SIZE)) {
        entry::group_sizes(&text);
    }
}
