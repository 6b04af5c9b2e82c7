//! An API server that commands talk to.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::config::Config;
use portolan_runtime::watch::with_limits;
use secrecy::ExposeSecret as _;

use super::api_server::only_api_servers;
use super::credentials;
use super::retry::with_retries;
use super::token::{TokenFile, bearer};
use crate::clock;

/// How long a server may take for an answer to a command.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// What an answer to a command may have, unless it is that of a watch: some commands ask for all objects of a kind at once, and
/// a fleet of 100,000 clusters of 2 KiB has 200 MiB. A server without an end would otherwise fill the memory.
const MOST_BYTES: usize = 1 << 30;
/// The environment variable that sets another limit.
const REQUEST_TIMEOUT_VARIABLE: &str = "PORTOLAN_REQUEST_TIMEOUT";

/// An API server and what it is called in messages.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) client: kube::Client,
    pub(crate) url: String,
    /// What the credentials are and where they come from, without the secret.
    pub(crate) credentials: String,
    /// The namespace of the kubeconfig's context, or `default`: where a name without a namespace is looked for.
    pub(crate) namespace: String,
}

impl Server {
    /// A client for what a kubeconfig says, whose requests have a time limit. Nothing is sent yet.
    pub(crate) fn new(config: Config) -> anyhow::Result<Server> {
        Ok(Server::with_unlimited(config)?.0)
    }

    /// The server, and a client for it without our time limit: controllers and agents have limits of their own.
    pub(crate) fn with_unlimited(mut config: Config) -> anyhow::Result<(Server, kube::Client)> {
        // kube would repeat a request for minutes when the server is overloaded (429, 503), without a word. Controllers
        // and agents repeat requests themselves and log why; a command waits a moment if it is asked to, says so and ends.
        config.default_retry = false;
        credentials::without_terminal(&mut config.auth_info);
        let credentials = credentials::describe(&config.auth_info, clock::now());
        let url = config.cluster_url.to_string();
        let url = url.trim_end_matches('/').to_owned();
        let namespace = config.default_namespace.clone();
        // kube panics on a token that no header can carry.
        if let Some(token) = &config.auth_info.token
            && bearer(token.expose_secret()).is_none()
        {
            anyhow::bail!(
                "cannot use the kubeconfig for {url}: the token of the user has a line break or another character that \
                 no HTTP header can carry; accepted: the token as it was issued"
            );
        }
        let user = &mut config.auth_info;
        // As kube chooses among them. It would send the line break at the end of the file as well.
        let is_basic = user.username.is_some() && user.password.is_some();
        let is_file_used = user.auth_provider.is_none() && !is_basic && user.token.is_none();
        let token_file = user.token_file.take().filter(|_| is_file_used);
        let token_file = token_file.map(|path| TokenFile::open(Path::new(&path)));
        let token_file = token_file
            .transpose()
            .with_context(|| format!("cannot use the kubeconfig for {url}"))?;
        let mut unlimited = build(config, &url)?;
        if let Some(token_file) = token_file {
            unlimited = token_file.authorize(unlimited, namespace.clone());
        }
        let client = with_limits(unlimited.clone(), request_timeout()?, MOST_BYTES);
        let client = only_api_servers(with_retries(client));
        let server = Server {
            client,
            url,
            credentials,
            namespace,
        };
        Ok((server, unlimited))
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

/// kube panics on a token without an end that a plugin has printed and no header can carry.
fn build(config: Config, url: &str) -> anyhow::Result<kube::Client> {
    let plugin = config.auth_info.exec.clone();
    let built = std::panic::catch_unwind(AssertUnwindSafe(|| kube::Client::try_from(config)));
    match (built, plugin) {
        (Ok(built), plugin) => built.map_err(|error| {
            let advice = match &error {
                kube::Error::Auth(error) => credentials::advice(error, plugin.as_ref()),
                _ => None,
            };
            let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
            anyhow::anyhow!(
                "cannot use the kubeconfig for {url}: {}{advice}",
                super::describe(&error)
            )
        }),
        (Err(_), Some(plugin)) => anyhow::bail!(
            "cannot use the kubeconfig for {url}: the token that the plugin {} prints has a line break or another \
             character that no HTTP header can carry; accepted: an ExecCredential with the token as it was issued",
            plugin.command.unwrap_or_default()
        ),
        (Err(panic), None) => std::panic::resume_unwind(panic),
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

    #[tokio::test]
    async fn a_token_that_no_header_can_carry_is_refused_with_the_name_of_its_plugin() {
        let with = |token: &str| {
            let printed = format!(
                r#"{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{"token": "{token}"}}}}"#
            );
            let mut config = Config::new("https://hub.example.com:6443/".parse().unwrap());
            config.auth_info.exec = serde_json::from_value(serde_json::json!({
                "apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [printed],
                "interactiveMode": "Never",
            }))
            .ok();
            assert!(config.auth_info.exec.is_some());
            Server::new(config).map(|server| server.url)
        };
        assert_eq!(with("ab.c-d").unwrap(), "https://hub.example.com:6443");
        let refused = with("secret\\n").unwrap_err().to_string();
        assert!(
            refused.contains("that the plugin echo prints has a line break"),
            "{refused}"
        );
        assert!(!refused.contains("secret"), "a token is a secret: {refused}");
    }
}
