//! From a kubeconfig, or the service account of a pod, to a client.

use std::path::{Path, PathBuf};

use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::server::Server;
use crate::shell;

/// Which hub: the same flags for every command that talks to one.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConnectArgs {
    /// Kubeconfig of the hub [default: $KUBECONFIG, ~/.kube/config, or a pod's service account]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context in the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl ConnectArgs {
    /// How kubectl is called for the same hub, for commands that people paste.
    pub(crate) fn kubectl(&self) -> String {
        format!("kubectl{}", self.flags())
    }

    /// Commands for kubectl in what this process says name this hub.
    pub(crate) fn name_in_advice(&self) {
        shell::name_hub(self.flags());
    }

    /// The flags that name the hub, for kubectl as for this program.
    fn flags(&self) -> String {
        shell::hub_flags(self.kubeconfig.as_deref(), self.context.as_deref())
    }
}

/// There is no kubeconfig, and no service account of a pod.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no hub to ask ({why}); name one with --kubeconfig FILE or $KUBECONFIG, start one with `portolan up`, or, for \
     commands that have --file, read manifests with --file PATH"
)]
pub(crate) struct NoKubeconfig {
    pub(crate) why: String,
}

impl ConnectArgs {
    /// Whether a hub was named on the command line.
    pub(crate) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// A client for the hub. Nothing is sent yet.
    pub(crate) async fn connect(&self) -> anyhow::Result<Server> {
        self.name_in_advice();
        let mut server = Server::new(self.config().await?)?;
        server.credentials = format!("{}, from {}", server.credentials, self.source());
        Ok(server)
    }

    /// Where the credentials are looked for, in words.
    fn source(&self) -> String {
        let context = match &self.context {
            Some(name) => format!("the context {name} of "),
            None => String::new(),
        };
        let file = match (&self.kubeconfig, std::env::var_os("KUBECONFIG")) {
            (Some(file), _) => format!("--kubeconfig {}", file.display()),
            (None, Some(files)) if self.read().is_ok_and(|read| read.is_ok()) => {
                format!("$KUBECONFIG ({})", files.to_string_lossy())
            }
            (None, None) if self.read().is_ok_and(|read| read.is_ok()) => "~/.kube/config".to_owned(),
            (None, _) => "the pod's service account".to_owned(),
        };
        context + &file
    }

    /// How the hub is reached.
    pub(crate) async fn config(&self) -> anyhow::Result<Config> {
        let kubeconfig = match self.read()? {
            Ok(kubeconfig) => kubeconfig,
            // Only where nothing was asked for by name may something else be meant.
            Err(_) if !self.is_given() && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() => {
                return Config::incluster().map_err(|error| {
                    anyhow::anyhow!(
                        "cannot use the pod's service account: {}",
                        super::describe(&error)
                    )
                });
            }
            Err(error) => return Err(self.unreadable(&error)),
        };
        for file in super::file::named(&kubeconfig, self.context.as_deref()) {
            if let Err(error) = super::file::check(&file)
                && error.kind() == std::io::ErrorKind::InvalidInput
            {
                anyhow::bail!("cannot use the kubeconfig: it names {}: {error}", file.display());
            }
        }
        let config = config_of(kubeconfig, self.context.as_deref()).await;
        config.map_err(|error| match &self.kubeconfig {
            // One command may be given two of them.
            Some(file) => error.context(file.display().to_string()),
            None => error,
        })
    }

    /// What the kubeconfig says: of the file that is named, or of `$KUBECONFIG` or the usual place. Of several files those that
    /// are not there count as empty, as they do for kubectl.
    fn read(&self) -> anyhow::Result<Result<Kubeconfig, KubeconfigError>> {
        let files: Vec<PathBuf> = match &self.kubeconfig {
            Some(path) => vec![path.clone()],
            None => std::env::var_os("KUBECONFIG")
                .map(|paths| {
                    std::env::split_paths(&paths)
                        .filter(|path| path.exists())
                        .collect()
                })
                .unwrap_or_default(),
        };
        for file in &files {
            refuse_odd(file)?;
        }
        let Some((first, others)) = files.split_first() else {
            return Ok(Kubeconfig::read());
        };
        let first = Kubeconfig::read_from(first);
        Ok(first.and_then(|first| {
            let mut others = others.iter();
            others.try_fold(first, |all, file| all.merge(Kubeconfig::read_from(file)?))
        }))
    }

    fn unreadable(&self, error: &KubeconfigError) -> anyhow::Error {
        let why = match error {
            KubeconfigError::ReadConfig(why, path) => format!("{}: {why}", path.display()),
            KubeconfigError::FindPath => {
                "this user has no home folder, and $HOME is not set, so that there is no ~/.kube/config"
                    .to_owned()
            }
            KubeconfigError::KindMismatch | KubeconfigError::ApiVersionMismatch => {
                let files = self
                    .kubeconfig
                    .as_ref()
                    .map(|file| format!("{}: ", file.display()));
                format!(
                    "{}its documents are of several kinds, so that it is no kubeconfig",
                    files.unwrap_or_default()
                )
            }
            other => {
                let why = super::describe(other);
                // Behind the arrow is a drawing of the place, which says nothing on one line.
                let why = why.split(" --> ").next().unwrap_or_default();
                match (&self.kubeconfig, std::env::var("KUBECONFIG")) {
                    (Some(file), _) => format!("{}: {why}", file.display()),
                    (None, Ok(files)) if !files.is_empty() => format!("{files} of $KUBECONFIG: {why}"),
                    (None, _) => why.to_owned(),
                }
            }
        };
        let is_there = !matches!(error, KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath);
        match &self.kubeconfig {
            _ if is_there => {
                anyhow::anyhow!(
                    "cannot read the kubeconfig: {why}; accepted: the kubeconfig file of a server that runs"
                )
            }
            Some(_) => {
                anyhow::anyhow!(
                    "cannot read the kubeconfig: {why}; accepted: the kubeconfig file of a server that runs"
                )
            }
            None => NoKubeconfig { why }.into(),
        }
    }
}

/// Refuses what is no regular file or too large. kube takes a file that begins as UTF-16 for pairs of bytes, and panics on one
/// that has no pairs.
fn refuse_odd(file: &Path) -> anyhow::Result<()> {
    let bytes = match super::file::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            anyhow::bail!("cannot read the kubeconfig: {}: {error}", file.display())
        }
        // kube says what is wrong with it.
        read => read.unwrap_or_default(),
    };
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    if is_utf16 && bytes.len() % 2 == 1 {
        anyhow::bail!(
            "cannot read the kubeconfig: {}: it begins as text in UTF-16 and ends in the middle of a character; accepted: \
             text in UTF-8",
            file.display()
        );
    }
    Ok(())
}

/// How the server of a context is reached; without a name, of the current one.
pub(crate) async fn config_of(kubeconfig: Kubeconfig, context: Option<&str>) -> anyhow::Result<Config> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let contexts: Vec<String> = kubeconfig
        .contexts
        .iter()
        .map(|context| context.name.clone())
        .collect();
    let current = kubeconfig.current_context.clone();
    let wanted = context.map(str::to_owned).or(current.clone()).unwrap_or_default();
    let chosen = kubeconfig.contexts.iter().find(|context| context.name == wanted);
    let user = chosen
        .and_then(|context| context.context.as_ref()?.user.clone())
        .unwrap_or_default();
    if !user.is_empty() && !kubeconfig.auth_infos.iter().any(|known| known.name == user) {
        let known: Vec<&str> = kubeconfig
            .auth_infos
            .iter()
            .map(|known| known.name.as_str())
            .collect();
        anyhow::bail!(
            "the context {wanted} of the kubeconfig names the user {user}, which is not in the kubeconfig; accepted: {}",
            match known.is_empty() {
                true => "a kubeconfig with that user".to_owned(),
                false => known.join(", "),
            }
        );
    }
    let cluster = chosen.and_then(|context| Some(context.context.as_ref()?.cluster.clone()));
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|known| Some(&known.name) == cluster.as_ref());
    if let Some(server) = cluster.and_then(|known| known.cluster.as_ref()?.server.clone())
        && let Err(why) = server.parse::<http::Uri>()
    {
        anyhow::bail!(
            "cannot use the kubeconfig: the server of the context {wanted} is {server:?}, which is no URL ({why}); accepted: a \
             URL, such as https://hub.example.com:6443"
        );
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| unusable(&error, context.or(current.as_deref()), &contexts))?;
    // kube panics later on an address that has no scheme or no host.
    if config.cluster_url.scheme().is_none() || config.cluster_url.host().is_none() {
        anyhow::bail!(
            "cannot use the kubeconfig: the server of the context {wanted} is {}, which has no scheme or no host; accepted: \
             a URL, such as https://hub.example.com:6443",
            config.cluster_url
        );
    }
    Ok(config)
}

fn unusable(error: &KubeconfigError, context: Option<&str>, contexts: &[String]) -> anyhow::Error {
    let there = match contexts {
        [] => "it has no context".to_owned(),
        names => format!("accepted: {}", names.join(", ")),
    };
    match (error, context) {
        (KubeconfigError::CurrentContextNotSet, _) if contexts.is_empty() => anyhow::anyhow!(
            "the kubeconfig is empty or names no server: it has no context; accepted: the kubeconfig of a server, such as the \
             one that `portolan up` names when it starts (--kubeconfig FILE, $KUBECONFIG)"
        ),
        (KubeconfigError::LoadContext(_), Some(name)) => {
            anyhow::anyhow!("the context {name} is not in the kubeconfig; {there} (--context NAME)")
        }
        (KubeconfigError::CurrentContextNotSet, _) | (KubeconfigError::LoadContext(_), None) => {
            anyhow::anyhow!("the kubeconfig has no current context; choose one with --context NAME; {there}")
        }
        _ => anyhow::anyhow!("cannot use the kubeconfig: {}", super::describe(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn used(text: &str) -> Result<String, String> {
        let kubeconfig = Kubeconfig::from_yaml(text).unwrap();
        let config = config_of(kubeconfig, None).await;
        config
            .map(|config| config.cluster_url.to_string())
            .map_err(|error| error.to_string())
    }

    fn kubeconfig(server: &str, user: &str, current: &str) -> String {
        format!(
            "{{clusters: [{{name: c, cluster: {{server: {server:?}}}}}], users: [{{name: u, user: {{token: t}}}}], contexts: \
             [{{name: here, context: {{cluster: c, user: {user}}}}}], current-context: {current}}}"
        )
    }

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_used_is_refused_with_the_part_that_is_wrong() {
        let fine = kubeconfig("https://hub.example.com:6443", "u", "here");
        assert_eq!(used(&fine).await.unwrap(), "https://hub.example.com:6443/");
        for (text, why) in [
            (
                kubeconfig("127.0.0.1:6443", "u", "here"),
                "which has no scheme or no host",
            ),
            (
                kubeconfig("https://hub", "x", "here"),
                "names the user x, which is not in the kubeconfig; accepted: u",
            ),
            (
                kubeconfig("https://hub", "u", "there"),
                "the context there is not in the kubeconfig; accepted: here",
            ),
            ("{}".to_owned(), "is empty or names no server"),
        ] {
            let refused = used(&text).await.unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn a_user_without_a_home_folder_is_told_what_is_missing() {
        let said = ConnectArgs::default()
            .unreadable(&KubeconfigError::FindPath)
            .to_string();
        assert!(
            said.contains("$HOME is not set") && said.contains("--kubeconfig FILE"),
            "{said}"
        );
    }

    #[test]
    fn a_file_that_ends_in_the_middle_of_a_character_is_refused() {
        let path = std::env::temp_dir().join(format!("portolan-utf16-{}", std::process::id()));
        std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
        let refused = refuse_odd(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(refused.contains("accepted: text in UTF-8"), "{refused}");
    }
}
