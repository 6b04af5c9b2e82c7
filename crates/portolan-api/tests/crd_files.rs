//! The files under `deploy/crds/` are what the types say. `UPDATE_CRDS=1 cargo test -p portolan-api` rewrites them.

use std::{collections::BTreeSet, fs, path::PathBuf};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds")
}

#[test]
fn committed_definitions_are_what_the_types_say() {
    let directory = directory();
    let files = portolan_api::crd_files();
    if std::env::var_os("UPDATE_CRDS").is_some() {
        fs::create_dir_all(&directory).unwrap();
        for (name, content) in &files {
            fs::write(directory.join(name), content).unwrap();
        }
    }
    for (name, content) in &files {
        let committed = fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(
            &committed == content,
            "{name} is stale: run UPDATE_CRDS=1 cargo test -p portolan-api"
        );
    }
    let expected: BTreeSet<String> = files.into_iter().map(|(name, _)| name).collect();
    let present: BTreeSet<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    assert_eq!(present, expected, "a definition without a type");
}
