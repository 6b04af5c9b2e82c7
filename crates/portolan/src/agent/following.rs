//! The kubeconfig of the hub while the agent runs. The file is written again when a certificate is renewed or the hub moves.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::Kubeconfig;

use crate::live::file;

/// How often the files are read. Longer, and a certificate that was renewed late is noticed after its end; shorter gains
/// nothing, since what writes such files runs for longer.
const PAUSE: Duration = Duration::from_secs(5);

/// The kubeconfig of the hub and the files that it names, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HubFiles {
    path: PathBuf,
    /// Hash of what each of them had in it; nothing for one that could not be read.
    contents: BTreeMap<PathBuf, Option<u64>>,
}

impl HubFiles {
    /// Reads them apart from the threads that serve.
    pub(super) async fn read(path: &Path) -> anyhow::Result<HubFiles> {
        let path = path.to_owned();
        let what = format!("the kubeconfig {}", path.display());
        file::apart(&what, move || HubFiles::read_here(&path)).await
    }

    fn read_here(path: &Path) -> HubFiles {
        let mut names = vec![path.to_owned()];
        if file::check(path).is_ok()
            && let Ok(kubeconfig) = Kubeconfig::read_from(path)
        {
            // Tokens are not among them: these are read again by the client itself.
            let tokens: Vec<PathBuf> = kubeconfig
                .auth_infos
                .iter()
                .filter_map(|user| Some(PathBuf::from(user.auth_info.as_ref()?.token_file.as_ref()?)))
                .collect();
            let named = file::named(&kubeconfig, None).into_iter();
            names.extend(named.filter(|name| !tokens.contains(name)));
        }
        let contents = names.into_iter().map(|name| {
            let content = file::read(&name).ok();
            (name, content.map(|content| hash(&content)))
        });
        HubFiles {
            path: path.to_owned(),
            contents: contents.collect(),
        }
    }

    /// Waits until one of them is another, and all can be read.
    pub(super) async fn changed(&self) {
        let (mut last, mut is_told) = (self.clone(), false);
        loop {
            tokio::time::sleep(PAUSE).await;
            let now = match HubFiles::read(&self.path).await {
                Ok(now) => now,
                Err(error) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!("{error:#}; the agent goes on with what it has read before");
                    }
                    continue;
                }
            };
            // A file that is being written is another one the next time.
            if now != *self && now == last && now.contents.values().all(Option::is_some) {
                return;
            }
            last = now;
        }
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Cluster and user of the current context.
fn current(kubeconfig: &Kubeconfig) -> Option<(String, Option<String>)> {
    let name = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *name)?;
    let context = context.context.as_ref()?;
    Some((context.cluster.clone(), context.user.clone()))
}

/// The address of the hub as the kubeconfig has it, which is what tells the hub from others: a slash at its end counts.
pub(super) fn server(path: &Path) -> Option<String> {
    let kubeconfig = Kubeconfig::read_from(path).ok()?;
    let (cluster, _) = current(&kubeconfig)?;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == cluster)?;
    cluster.cluster.as_ref()?.server.as_deref().map(as_written)
}

/// Query and fragment are cut behind a path, as other clients cut them.
fn as_written(server: &str) -> String {
    let behind_scheme = server.find("://").map_or(0, |at| at + 3);
    let path = server[behind_scheme..].find('/').map(|at| behind_scheme + at);
    let end = server.find(['?', '#']).unwrap_or(server.len());
    match path {
        Some(path) if path + 1 < end => server[..end].to_owned(),
        _ => server.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("portolan-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn write(folder: &Path, server: &str, certificate: &str) -> PathBuf {
        let path = folder.join("hub.kubeconfig");
        let text = format!(
            "{{clusters: [{{name: hub, cluster: {{server: '{server}'}}}}], current-context: east, contexts: [{{name: east, \
             context: {{cluster: hub, user: agent}}}}], users: [{{name: agent, user: {{client-certificate: agent.crt}}}}]}}"
        );
        std::fs::write(&path, text).unwrap();
        std::fs::write(folder.join("agent.crt"), certificate).unwrap();
        path
    }

    #[test]
    fn the_address_of_the_hub_is_taken_as_it_is_written() {
        let folder = folder("written");
        for (written, taken) in [
            ("https://hub.example.com:6443", "https://hub.example.com:6443"),
            ("https://hub.example.com:6443/", "https://hub.example.com:6443/"),
            ("https://Hub.example.com?a=b", "https://Hub.example.com?a=b"),
            ("https://hub.example.com/?a=b", "https://hub.example.com/?a=b"),
            ("https://hub.example.com/k8s/?a=b", "https://hub.example.com/k8s/"),
            ("https://hub.example.com/k8s#top", "https://hub.example.com/k8s"),
        ] {
            let path = write(&folder, written, "1");
            assert_eq!(server(&path).as_deref(), Some(taken));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn another_address_and_another_certificate_are_noticed_and_nothing_else() {
        let folder = folder("followed");
        let path = write(&folder, "https://a.example.com", "1");
        let files = HubFiles::read(&path).await.unwrap();
        let noticed = async |limit: u64| {
            let changed = tokio::time::timeout(Duration::from_secs(limit), files.changed());
            changed.await.is_ok()
        };
        assert!(!noticed(60).await);
        write(&folder, "https://a.example.com", "1");
        assert!(!noticed(60).await, "it says the same");
        write(&folder, "https://a.example.com", "2");
        assert!(noticed(60).await);
        write(&folder, "https://b.example.com", "1");
        assert!(noticed(60).await);
        std::fs::remove_file(&path).unwrap();
        assert!(!noticed(60).await, "there is nothing to go on with");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
