//! Watches a member for deletions of objects that nobody ever gave up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};

#[derive(Default)]
pub(super) struct Recorder(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// Names that were not wanted at some time since the beginning, and with that may be deleted at any time.
    given_up: BTreeSet<String>,
    uids: BTreeMap<String, String>,
    wrong: Vec<String>,
    deletions: usize,
}

impl Recorder {
    pub(super) fn start(client: Client, namespace: &str) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::default());
        let (api, seen) = (Api::<ConfigMap>::namespaced(client, namespace), recorder.clone());
        tokio::spawn(async move {
            let events = watcher::watcher(api, watcher::Config::default());
            let mut events = events.default_backoff().boxed();
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Apply(map) | Event::InitApply(map)) => seen.see(&map, false),
                    Ok(Event::Delete(map)) => seen.see(&map, true),
                    _ => {}
                }
            }
        });
        recorder
    }

    /// From now on it is in order that these are deleted. To be said before somebody could hear of it.
    pub(super) fn give_up(&self, names: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap().given_up.extend(names);
    }

    fn see(&self, map: &ConfigMap, deleted: bool) {
        let (name, uid) = (
            map.metadata.name.clone().unwrap_or_default(),
            map.metadata.uid.clone().unwrap_or_default(),
        );
        let mut seen = self.0.lock().unwrap();
        let before = seen.uids.insert(name.clone(), uid.clone());
        // Made anew it has another UID, even if nobody saw it go.
        let replaced = before.is_some_and(|before| before != uid);
        seen.deletions += usize::from(deleted);
        if (deleted || replaced) && !seen.given_up.contains(&name) {
            seen.wrong.push(name);
        }
    }

    /// Objects that were deleted though nobody ever gave them up.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.0.lock().unwrap().wrong.clone()
    }

    pub(super) fn deletions(&self) -> usize {
        self.0.lock().unwrap().deletions
    }
}
