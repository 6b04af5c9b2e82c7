//! Kills a hub in the middle of concurrent writes and looks whether every write it had answered is there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};

use super::*;

const FOLDER: &str = "PORTOLAN_HUB_CRASH_FOLDER";
/// How many times to kill.
const ROUNDS: &str = "PORTOLAN_HUB_CRASH_ROUNDS";
const DEFAULT_ROUNDS: usize = 100;
const WRITERS: usize = 8;
/// How many hubs are killed side by side, each again and again in a folder of its own.
const LANES: usize = 4;

/// Not a test of its own: the process that is killed. Each writer creates, changes and deletes objects of its own, and
/// says what it was answered.
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
            for n in 0.. {
                let made = api.create(&PostParams::default(), &object).await.unwrap();
                let name = made.name_any();
                say("there", &name, &made.resource_version().unwrap());
                let patch = Patch::Merge(json!({"data": {"n": n.to_string()}}));
                let changed = api.patch(&name, &PatchParams::default(), &patch).await.unwrap();
                say("there", &name, &changed.resource_version().unwrap());
                if n % 2 == 0 {
                    // From here on it may be gone; once answered it must be.
                    say("going", &name, "0");
                    api.delete(&name, &DeleteParams::default()).await.unwrap();
                    say("gone", &name, "0");
                }
            }
        });
    }
    writers.join_all().await;
}

/// One line in one write, so that lines of two writers do not mix.
fn say(what: &str, name: &str, revision: &str) {
    let line = format!("answered {what} {name} {revision}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// What the victim's answers oblige the hub to.
#[derive(Default)]
struct Promises {
    /// The newest revision that was answered for an object; `None` once its deletion was begun.
    objects: BTreeMap<String, Option<u64>>,
    gone: Vec<String>,
    newest: u64,
}

impl Promises {
    fn take(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (Some("answered"), Some(what), Some(name), Some(revision)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return;
        };
        let revision: u64 = revision.parse().unwrap();
        self.newest = self.newest.max(revision);
        match what {
            "there" => self.objects.insert(name.to_owned(), Some(revision)),
            "going" => self.objects.insert(name.to_owned(), None),
            _ => {
                self.gone.push(name.to_owned());
                self.objects.remove(name)
            }
        };
    }

    fn check(&self, there: &BTreeMap<String, u64>, revision: u64) {
        assert!(
            revision >= self.newest,
            "resourceVersions went back from {} to {revision}",
            self.newest
        );
        for (name, promised) in &self.objects {
            if let Some(promised) = promised {
                let found = there.get(name);
                assert!(
                    found >= Some(promised),
                    "{name}: answered {promised}, found {found:?}"
                );
            }
        }
        for name in &self.gone {
            assert!(!there.contains_key(name), "{name} was deleted and is back");
        }
    }
}

#[test]
fn what_was_answered_survives_kill_9() {
    let rounds = std::env::var(ROUNDS).map_or(DEFAULT_ROUNDS, |text| text.parse::<usize>().unwrap());
    // Several hubs at a time, since most of a round is waiting.
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let rounds = (lane..rounds).step_by(LANES);
            scope.spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(crash_again_and_again(rounds));
            });
        }
    });
}

async fn crash_again_and_again(rounds: impl Iterator<Item = usize>) {
    let folder = tempfile::tempdir().unwrap();
    let mut promises = Promises::default();
    for round in rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::victim", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let before = promises.newest;
        lines
            .by_ref()
            .take(20 + 37 * (round % 5))
            .for_each(|line| promises.take(&line.unwrap()));
        child.kill().unwrap();
        lines.map_while(Result::ok).for_each(|line| promises.take(&line));
        child.wait().unwrap();
        assert!(promises.newest > before, "round {round}: nothing was answered");

        let hub = Hub::builder().data(folder.path()).start().await.unwrap();
        let listed = config_maps(&Client::new(hub.service(), "default"))
            .list(&ListParams::default())
            .await
            .unwrap();
        let revision_of = |object: &ConfigMap| object.resource_version().unwrap().parse().unwrap();
        let there = listed
            .items
            .iter()
            .map(|item| (item.name_any(), revision_of(item)));
        let revision = listed.metadata.resource_version.unwrap().parse().unwrap();
        promises.check(&there.collect(), revision);
        hub.stop().await;
    }
}
