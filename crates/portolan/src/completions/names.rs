//! Names of objects on the hub, for a shell that completes a word. Whatever goes wrong, there are no names: a person who
//! presses the tab key is not to see an error or to wait.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::{ArgValueCandidates, CompletionCandidate};
use kube::api::{ListParams, PartialObjectMeta};
use kube::{Api, Resource};
use portolan_api::cluster::{ManagedCluster, Placement};
use portolan_api::work::ManifestWorkReplicaSet;
use serde::de::DeserializeOwned;

use crate::live::{self, ConnectArgs};

/// How long a person waits after the tab key.
const LIMIT: Duration = Duration::from_secs(1);
/// More names than this are of no use in a list.
const LISTED: u32 = 500;

/// NS/NAME of placements.
pub(crate) fn placements() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of_hub::<Placement>(&words()))
}

/// NS/NAME of ManifestWorkReplicaSets.
pub(crate) fn replica_sets() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of_hub::<ManifestWorkReplicaSet>(&words()))
}

/// Names of clusters.
pub(crate) fn clusters() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of_hub::<ManagedCluster>(&words()))
}

/// What `get` lists: clusters after the word, placements after the other ones.
pub(crate) fn listed() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let words = words();
        match words
            .iter()
            .any(|word| word.to_string_lossy().starts_with("cluster"))
        {
            true => of_hub::<ManagedCluster>(&words),
            false => of_hub::<Placement>(&words),
        }
    })
}

/// The words of the line that is completed: a script passes them to this program.
fn words() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

fn of_hub<K>(words: &[OsString]) -> Vec<CompletionCandidate>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let connect = connect(words);
    let listed = live::block_on(async {
        let list = async {
            let server = connect.connect().await?;
            let api: Api<K> = Api::all(server.client);
            let list = api.list_metadata(&ListParams::default().limit(LISTED)).await?;
            Ok(list.items.iter().map(name).collect::<Vec<String>>())
        };
        tokio::time::timeout(LIMIT, list).await?
    });
    let names = listed.unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn name<K>(object: &PartialObjectMeta<K>) -> String {
    let metadata = &object.metadata;
    let name = metadata.name.as_deref().unwrap_or_default();
    match metadata.namespace.as_deref() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// The hub that the line names.
fn connect(words: &[OsString]) -> ConnectArgs {
    let value = |flags: &[&str]| {
        let mut found = None;
        for (position, word) in words.iter().enumerate() {
            let word = word.to_string_lossy();
            for flag in flags {
                match word.strip_prefix(flag) {
                    Some("") => found = words.get(position + 1).cloned(),
                    Some(rest) => found = rest.strip_prefix('=').map(OsString::from).or(found),
                    None => {}
                }
            }
        }
        found
    };
    ConnectArgs {
        kubeconfig: value(&["--kubeconfig", "--hub"]).map(PathBuf::from),
        context: value(&["--context"]).map(|name| name.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_the_one_that_the_line_names() {
        let line = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let named = connect(&line("portolan explain --kubeconfig hub.yaml --context=west ml/"));
        assert_eq!(named.kubeconfig, Some(PathBuf::from("hub.yaml")));
        assert_eq!(named.context.as_deref(), Some("west"));
        let default = connect(&line("portolan explain ml/"));
        assert!(!default.is_given());
    }
}
