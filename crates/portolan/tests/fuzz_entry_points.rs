//! The fuzz targets' entry points on their corpora and on random input: what they check must hold.

#[path = "../../../fuzz/entry/mod.rs"]
mod entry;
#[path = "fuzz_entry_points/mutation.rs"]
mod mutation;

use std::path::Path;

use mutation::Mutation;
use proptest::prelude::*;

/// Inputs made of the corpus of each target, beside the corpus itself. `PORTOLAN_FUZZ_INPUTS` and `PORTOLAN_FUZZ_SEED` say
/// how many others.
const INPUTS: usize = 250;
const SEED: u64 = 20_261_116;

fn setting<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Every file of the target's corpus, then inputs made of them.
fn run(target: &str, entry: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 5, "{target} has a corpus");
    let corpus: Vec<Vec<u8>> = paths
        .iter()
        .map(|path| std::fs::read(path).expect("a file that can be read"))
        .collect();
    corpus.iter().for_each(|input| entry(input));
    let mut mutation = Mutation::new(&corpus, setting("PORTOLAN_FUZZ_SEED", SEED));
    (0..setting("PORTOLAN_FUZZ_INPUTS", INPUTS)).for_each(|_| entry(&mutation.next()));
}

macro_rules! targets {
    ($($target:ident: $sentence:ident;)*) => {$(
        #[test]
        fn $sentence() {
            run(stringify!($target), entry::$target);
        }
    )*};
}

targets! {
    apply: a_configuration_is_applied_once_or_refused;
    cel: an_expression_keeps_its_budget;
    crd_schemas: a_schema_is_served_or_refused;
    group_sizes: a_size_of_groups_is_used_or_refused;
    ignored_fields: fields_to_ignore_are_found_or_refused;
    json_patch: a_json_patch_changes_an_object_or_nothing;
    kubeconfigs: a_kubeconfig_is_used_or_refused;
    manifests: manifests_are_read_or_refused;
    merge_patch: a_merge_patch_changes_an_object_or_nothing;
    protobuf: a_protobuf_body_is_taken_or_refused;
    queries: a_query_string_is_understood_or_refused;
    selectors: a_selector_selects_the_same_for_every_verb_or_is_refused;
    strategic_patch: a_strategic_patch_changes_an_object_or_nothing;
    watches: a_watch_is_a_stream_or_refused;
    work_manifests: each_manifest_of_a_work_gets_a_verdict;
}

#[test]
fn every_target_has_a_corpus_and_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let names = |folder: &str, cut: &str| -> Vec<String> {
        let files = std::fs::read_dir(folder).unwrap();
        let name = |file: std::fs::DirEntry| file.file_name().into_string().unwrap();
        let mut names: Vec<_> = files
            .map(|file| name(file.unwrap()).trim_end_matches(cut).to_owned())
            .collect();
        names.sort();
        names
    };
    let within = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let targets = names(&within("fuzz_targets"), ".rs");
    assert_eq!(targets, names(&within("corpus"), ""));
    let tested = include_str!("fuzz_entry_points.rs");
    for target in targets {
        assert!(
            tested.contains(&format!("\n    {target}: ")),
            "{target} has no test"
        );
    }
}

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
