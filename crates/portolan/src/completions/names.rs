//! Names of objects on the hub, for a shell that completes a word. Whatever goes wrong, there are no names: a person who
//! presses the tab key is not to see an error or to wait.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::{ArgValueCandidates, CompletionCandidate};
use kube::api::{ListParams, PartialObjectMeta};
use kube::{Api, Resource};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::labels::portolan::EMBEDDED_MEMBER;
use portolan_api::structural;
use portolan_api::work::ManifestWorkReplicaSet;
use serde::de::DeserializeOwned;

use crate::input::{self, Notes};
use crate::live::{self, ConnectArgs, Server};

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

/// Names of clusters that are embedded members.
pub(crate) fn members() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let members = ListParams::default().labels(EMBEDDED_MEMBER);
        candidates(async |server| listed_as::<ManagedCluster>(&server, "", &members).await)
    })
}

/// NS/NAME of Placements and of ManifestWorkReplicaSets.
pub(crate) fn subjects() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        candidates(async |server| {
            let all = ListParams::default();
            let mut names = listed_as::<Placement>(&server, "", &all).await?;
            // The kind may not be installed.
            let sets = listed_as::<ManifestWorkReplicaSet>(&server, "", &all).await;
            names.extend(sets.unwrap_or_default());
            names.sort();
            names.dedup();
            Ok(names)
        })
    })
}

/// KIND/NAME and KIND/NS/NAME of what a simulation may do without: of the files that the line names, or of the hub.
pub(crate) fn removable() -> ArgValueCandidates {
    ArgValueCandidates::new(|| match files(&words()) {
        files if files.is_empty() => candidates(async |server| {
            let all = ListParams::default();
            let mut names = listed_as::<ManagedCluster>(&server, "managedcluster/", &all).await?;
            names.extend(listed_as::<Placement>(&server, "placement/", &all).await?);
            names.extend(listed_as::<ManagedClusterSet>(&server, "managedclusterset/", &all).await?);
            let bindings =
                listed_as::<ManagedClusterSetBinding>(&server, "managedclustersetbinding/", &all).await?;
            names.extend(bindings);
            Ok(names)
        }),
        files => of_files(&files)
            .into_iter()
            .map(CompletionCandidate::new)
            .collect(),
    })
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
    candidates_of(connect(words), async |server| {
        listed_as::<K>(&server, "", &ListParams::default()).await
    })
}

/// The names that are found on the hub of the line.
fn candidates(names: impl AsyncFnOnce(Server) -> anyhow::Result<Vec<String>>) -> Vec<CompletionCandidate> {
    candidates_of(connect(&words()), names)
}

fn candidates_of(
    connect: ConnectArgs,
    names: impl AsyncFnOnce(Server) -> anyhow::Result<Vec<String>>,
) -> Vec<CompletionCandidate> {
    let found = live::block_on(async {
        let found = async { names(connect.connect().await?).await };
        tokio::time::timeout(LIMIT, found).await?
    });
    let found = found.unwrap_or_default();
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// The objects of a kind, with something in front.
async fn listed_as<K>(server: &Server, prefix: &str, which: &ListParams) -> anyhow::Result<Vec<String>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(server.client.clone());
    let list = api.list_metadata(&which.clone().limit(LISTED)).await?;
    let names = list.items.iter().map(name);
    Ok(names.map(|name| format!("{prefix}{name}")).collect())
}

/// The files that the line names.
fn files(words: &[OsString]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let word = word.to_string_lossy();
        match (word.as_ref(), word.strip_prefix("--file=")) {
            ("-f" | "--file", _) => files.extend(words.get(position + 1).map(PathBuf::from)),
            (_, Some(path)) => files.push(PathBuf::from(path)),
            _ => {}
        }
    }
    files
}

/// The objects of files, as `--remove` takes them.
fn of_files(files: &[PathBuf]) -> Vec<String> {
    let Ok(manifests) = input::read(files, &mut Notes::default()) else {
        return Vec::new();
    };
    let keys = structural::kinds()
        .iter()
        .flat_map(|kind| manifests.keys_of(&kind.group, &kind.kind));
    let mut names: Vec<String> = keys
        .map(|key| {
            let kind = key.kind.to_ascii_lowercase();
            match key.namespace.as_str() {
                "" => format!("{kind}/{}", key.name),
                namespace => format!("{kind}/{namespace}/{}", key.name),
            }
        })
        .collect();
    names.sort();
    names.dedup();
    names
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
