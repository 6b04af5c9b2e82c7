//! Kills a hub in the middle of concurrent writes and looks whether every write it had answered is there.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};

use super::*;

const FOLDER: &str = "PORTOLAN_HUB_CRASH_FOLDER";
/// How many times to kill; 5 if not given.
const ROUNDS: &str = "PORTOLAN_HUB_CRASH_ROUNDS";
const WRITERS: usize = 8;

/// Not a test of its own: the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the test below"]
async fn victim() {
    let hub = Hub::builder()
        .data(std::env::var(FOLDER).unwrap())
        .start()
        .await
        .unwrap();
    let api = config_maps(&Client::new(hub.service(), "default"));
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let api = api.clone();
        writers.spawn(async move {
            let object: ConfigMap =
                serde_json::from_value(json!({"metadata": {"generateName": "o-"}})).unwrap();
            loop {
                let answered = api.create(&PostParams::default(), &object).await.unwrap();
                let line = format!(
                    "answered {} {}\n",
                    answered.name_any(),
                    answered.resource_version().unwrap()
                );
                std::io::stdout().write_all(line.as_bytes()).unwrap();
            }
        });
    }
    writers.join_all().await;
}

#[tokio::test]
async fn what_was_answered_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let mut answered = BTreeSet::new();
    let mut newest = 0_u64;
    let rounds = std::env::var(ROUNDS).map_or(5, |text| text.parse::<usize>().unwrap());
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::victim", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut take = |line: String| {
            if let Some((name, revision)) = line
                .strip_prefix("answered ")
                .and_then(|rest| rest.split_once(' '))
            {
                let revision: u64 = revision.parse().unwrap();
                answered.insert(name.to_owned());
                newest = newest.max(revision);
            }
        };
        lines
            .by_ref()
            .take(100 + 37 * (round % 5))
            .for_each(|line| take(line.unwrap()));
        child.kill().unwrap();
        lines.map_while(Result::ok).for_each(take);
        child.wait().unwrap();

        let hub = Hub::builder().data(folder.path()).start().await.unwrap();
        let listed = config_maps(&Client::new(hub.service(), "default"))
            .list(&ListParams::default())
            .await
            .unwrap();
        let there: BTreeSet<_> = listed.items.iter().map(|item| item.name_any()).collect();
        assert!(
            answered.is_subset(&there),
            "lost: {:?}",
            answered.difference(&there)
        );
        let revision: u64 = listed.metadata.resource_version.unwrap().parse().unwrap();
        assert!(
            revision >= newest,
            "resourceVersions went back from {newest} to {revision}"
        );
        hub.stop().await;
    }
    assert!(answered.len() >= 100 * rounds);
}
