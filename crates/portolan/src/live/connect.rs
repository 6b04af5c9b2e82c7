//! From a kubeconfig, or the service account of a pod, to a client.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use portolan_controllers::watch::with_timeout;
use secrecy::ExposeSecret as _;

use crate::clock;

/// How long a server may take for an answer to a command.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The environment variable that sets another limit.
const REQUEST_TIMEOUT_VARIABLE: &str = "PORTOLAN_REQUEST_TIMEOUT";

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

/// An API server and what it is called in messages.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) client: kube::Client,
    pub(crate) url: String,
}

impl Server {
    /// A client for what a kubeconfig says, whose requests have a time limit. Nothing is sent yet.
    pub(crate) fn new(config: Config) -> anyhow::Result<Server> {
        Ok(Server::with_unlimited(config)?.0)
    }

    /// The server, and a client for it without our time limit: controllers and agents have limits of their own.
    pub(crate) fn with_unlimited(mut config: Config) -> anyhow::Result<(Server, kube::Client)> {
        // kube would repeat a request for minutes when the server is overloaded (429, 503), without a word. Controllers
        // and agents repeat requests themselves and log why; a command says so and ends.
        config.default_retry = false;
        let url = config.cluster_url.to_string();
        let url = url.trim_end_matches('/').to_owned();
        // kube panics on a token that no header can carry.
        if let Some(token) = &config.auth_info.token
            && HeaderValue::from_str(token.expose_secret()).is_err()
        {
            anyhow::bail!(
                "cannot use the kubeconfig for {url}: the token of the user has a line break or another character that \
                 no HTTP header can carry; accepted: the token as it was issued"
            );
        }
        let unlimited = kube::Client::try_from(config).map_err(|error| {
            anyhow::anyhow!("cannot use the kubeconfig for {url}: {}", super::describe(&error))
        })?;
        let client = with_timeout(unlimited.clone(), request_timeout()?);
        Ok((Server { client, url }, unlimited))
    }

    /// The version of the server: the first question of a process that runs until it is stopped.
    pub(crate) async fn version(&self) -> anyhow::Result<Info> {
        let version = self.client.apiserver_version().await;
        let version =
            version.map_err(|error| super::explain(&error, "read the version of the server", &self.url))?;
        match version.git_version.is_empty() {
            true => Err(super::error::no_api_server(&self.url)),
            false => Ok(version),
        }
    }
}

fn request_timeout() -> anyhow::Result<Duration> {
    let Some(text) = std::env::var_os(REQUEST_TIMEOUT_VARIABLE) else {
        return Ok(REQUEST_TIMEOUT);
    };
    match clock::parse_duration(&text.to_string_lossy()) {
        Ok(Duration::ZERO) => {
            anyhow::bail!("{REQUEST_TIMEOUT_VARIABLE} is 0; accepted: more than 0, such as 30s")
        }
        Ok(limit) => Ok(limit),
        Err(why) => anyhow::bail!("{REQUEST_TIMEOUT_VARIABLE}: {why}"),
    }
}

impl ConnectArgs {
    /// Whether a hub was named on the command line.
    pub(crate) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// A client for the hub. Nothing is sent yet.
    pub(crate) async fn connect(&self) -> anyhow::Result<Server> {
        Server::new(self.config().await?)
    }

    /// The same, and a client without a time limit of ours for what runs until it is stopped.
    pub(crate) async fn connect_to_run(&self) -> anyhow::Result<(Server, kube::Client)> {
        Server::with_unlimited(self.config().await?)
    }

    /// How the hub is reached.
    pub(crate) async fn config(&self) -> anyhow::Result<Config> {
        let read = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let kubeconfig = match read {
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
        config_of(kubeconfig, self.context.as_deref()).await
    }

    fn unreadable(&self, error: &KubeconfigError) -> anyhow::Error {
        let why = match error {
            KubeconfigError::ReadConfig(why, path) => format!("{}: {why}", path.display()),
            other => {
                let why = super::describe(other);
                // Behind the arrow is a drawing of the place, which says nothing on one line.
                let why = why.split(" --> ").next().unwrap_or_default();
                match &self.kubeconfig {
                    Some(file) => format!("{}: {why}", file.display()),
                    None => why.to_owned(),
                }
            }
        };
        match &self.kubeconfig {
            Some(_) => {
                anyhow::anyhow!(
                    "cannot read the kubeconfig: {why}; accepted: the kubeconfig file of a running hub"
                )
            }
            None => anyhow::anyhow!(
                "there is no hub to ask ({why}); name one with --kubeconfig FILE or $KUBECONFIG, start one with \
                 `portolan up`, or, for commands that have --file, read manifests with --file PATH"
            ),
        }
    }
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
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| unusable(&error, context, &contexts))
}

fn unusable(error: &KubeconfigError, context: Option<&str>, contexts: &[String]) -> anyhow::Error {
    let there = match contexts {
        [] => "it has no context".to_owned(),
        names => format!("accepted: {}", names.join(", ")),
    };
    match (error, context) {
        (KubeconfigError::LoadContext(_), Some(name)) => {
            anyhow::anyhow!("--context {name} is not in the kubeconfig; {there}")
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

    #[tokio::test]
    async fn a_token_that_no_header_can_carry_is_refused() {
        let token = |token: &str| {
            let mut config = Config::new("https://hub.example.com:6443/".parse().unwrap());
            config.auth_info.token = Some(token.to_owned().into());
            Server::new(config).map(|server| server.url)
        };
        assert_eq!(token("ab.c-d").unwrap(), "https://hub.example.com:6443");
        for odd in ["a\nb", "a\0", "\u{7f}"] {
            let refused = token(odd).unwrap_err().to_string();
            assert!(refused.contains("the token of the user"), "{refused}");
            assert!(!refused.contains(odd), "a token is a secret: {refused}");
        }
    }
}
