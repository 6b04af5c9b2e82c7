//! Credentials that are renewed while a process runs.
//!
//! The kubeconfig is read again every few seconds. What it says of the same server replaces what requests are sent with; a
//! watch that runs goes on as it is until the server ends it. Files with tokens are read again by themselves
//! ([`super::token`]).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::Request;
use kube::client::Body;
use kube::{Client, Config};
use secrecy::ExposeSecret as _;

use tokio::runtime::Handle;

use super::connect::ConnectArgs;
use super::file;
use super::server::Server;

/// How often the kubeconfig is read. Longer, and a certificate that was renewed late is noticed after its end.
const PAUSE: Duration = Duration::from_secs(5);

/// A client that can be replaced while others use it.
#[derive(Clone)]
pub(crate) struct Renewable(Arc<RwLock<Client>>);

impl Renewable {
    pub(crate) fn new(client: Client) -> Renewable {
        Renewable(Arc::new(RwLock::new(client)))
    }

    /// A client whose requests go through the one that is there when they are sent.
    pub(crate) fn client(&self) -> Client {
        let (renewable, namespace) = (self.clone(), self.current().default_namespace().to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let client = renewable.current();
            async move { client.send(request).await }
        });
        Client::new(service, namespace)
    }

    fn current(&self) -> Client {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, client: Client) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = client;
    }
}

/// A server and what it is reached with. Secrets are there as a hash alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    url: String,
    hash: u64,
}

impl Credentials {
    pub(crate) fn of(config: &Config) -> Credentials {
        let user = &config.auth_info;
        let mut hasher = DefaultHasher::new();
        config.root_cert.hash(&mut hasher);
        let server = (
            &config.tls_server_name,
            config.proxy_url.as_ref().map(ToString::to_string),
        );
        (server, config.accept_invalid_certs).hash(&mut hasher);
        (&user.impersonate, &user.impersonate_groups).hash(&mut hasher);
        // The command of a plugin, with its arguments and variables.
        serde_json::to_string(&user.exec).ok().hash(&mut hasher);
        (&user.username, &user.client_certificate_data, &user.token_file).hash(&mut hasher);
        for secret in [&user.password, &user.token, &user.client_key_data] {
            secret
                .as_ref()
                .map(|secret| secret.expose_secret())
                .hash(&mut hasher);
        }
        for file in [&user.client_certificate, &user.client_key] {
            file.as_ref()
                .map(|file| super::file::read(std::path::Path::new(file)).ok())
                .hash(&mut hasher);
        }
        Credentials {
            url: config.cluster_url.to_string(),
            hash: hasher.finish(),
        }
    }
}

/// What was read of a kubeconfig that changed.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    /// Other credentials for the same server.
    Renewed,
    /// Another server.
    Moved,
}

fn change(before: &Credentials, now: &Credentials) -> Option<Change> {
    match (before == now, before.url == now.url) {
        (true, _) => None,
        (false, true) => Some(Change::Renewed),
        (false, false) => Some(Change::Moved),
    }
}

/// What the kubeconfig says now, read apart from the threads that serve.
async fn read(connect: &ConnectArgs) -> anyhow::Result<(Config, Credentials)> {
    let (of, runtime) = (connect.clone(), Handle::current());
    let read = move || {
        let config = runtime.block_on(of.config())?;
        let credentials = Credentials::of(&config);
        Ok((config, credentials))
    };
    file::apart(&named(connect), read).await.flatten()
}

/// The kubeconfig as messages name it. Two that are followed in one process have different names.
fn named(connect: &ConnectArgs) -> String {
    match &connect.kubeconfig {
        Some(path) => format!("the kubeconfig {}", path.display()),
        None => "the kubeconfig".to_owned(),
    }
}

/// Replaces the client whenever the kubeconfig has other credentials for its server. Runs until it is dropped.
pub(crate) async fn follow(connect: ConnectArgs, mut used: Credentials, client: Renewable) {
    let (mut last, mut warned, mut unusable) = (used.clone(), None, None);
    loop {
        tokio::time::sleep(PAUSE).await;
        // A file that is being written cannot be read, or is another one the next time.
        let Ok((config, now)) = read(&connect).await else {
            continue;
        };
        if now != last {
            last = now;
            continue;
        }
        match change(&used, &now) {
            None => {}
            Some(Change::Renewed) => {
                let what = format!("the files of {}", named(&connect));
                let made = file::apart(&what, move || Server::with_unlimited(config)).await;
                match made.flatten() {
                    Ok((_, renewed)) => {
                        client.replace(renewed);
                        tracing::info!(
                            "the kubeconfig has other credentials for the hub now; they are used from now on"
                        );
                    }
                    // Tried again, since a file that could not be read may be read later; said once.
                    Err(error) => {
                        if unusable.as_ref() != Some(&now) {
                            tracing::warn!(
                                "the kubeconfig has changed and cannot be used, the former credentials are used: {error:#}"
                            );
                        }
                        unusable = Some(now);
                        continue;
                    }
                }
                used = now;
            }
            // A user may have selected another context of the same file for another program. What it has for that server is
            // not in use: if the file comes back to this server with it, that is another change.
            Some(Change::Moved) if warned.as_ref() == Some(&now.url) => continue,
            Some(Change::Moved) => {
                tracing::warn!(
                    hub = used.url,
                    now = now.url,
                    "the kubeconfig names another server now; the controllers stay with the hub that they were started for; \
                     to change it, start them again"
                );
                warned = Some(now.url);
                continue;
            }
        }
        warned = None;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::path::PathBuf;

    use http::Response;

    use super::*;

    fn says(text: &'static str) -> Client {
        let service = tower::service_fn(async move |_: Request<Body>| {
            Ok::<_, Infallible>(Response::new(Body::from(text.as_bytes().to_vec())))
        });
        Client::new(service, "team")
    }

    async fn asked(client: &Client) -> String {
        let request = Request::get("/version").body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap()
    }

    #[tokio::test]
    async fn requests_go_through_the_client_that_is_there_when_they_are_sent() {
        let renewable = Renewable::new(says("first"));
        let client = renewable.client();
        assert_eq!(
            (asked(&client).await.as_str(), client.default_namespace()),
            ("first", "team")
        );
        renewable.replace(says("second"));
        assert_eq!(asked(&client).await, "second");
    }

    fn write(folder: &std::path::Path, server: &str, token: &str) -> ConnectArgs {
        let path = folder.join("hub.kubeconfig");
        let text = format!(
            "{{clusters: [{{name: hub, cluster: {{server: '{server}'}}}}], current-context: c, contexts: [{{name: c, context: \
             {{cluster: hub, user: u}}}}], users: [{{name: u, user: {{token: {token:?}}}}}]}}"
        );
        std::fs::write(&path, text).unwrap();
        ConnectArgs {
            kubeconfig: Some(path),
            context: None,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("portolan-renewal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Whether the client is another one a while after the kubeconfig was changed.
    async fn is_replaced(name: &str, server: &str, token: &str) -> bool {
        let folder = folder(name);
        let connect = write(&folder, "http://127.0.0.1:1", "first");
        let used = Credentials::of(&connect.config().await.unwrap());
        let renewable = Renewable::new(says("first"));
        let following = tokio::spawn(follow(connect, used, renewable.clone()));
        tokio::time::sleep(10 * PAUSE).await;
        assert_eq!(asked(&renewable.client()).await, "first", "nothing has changed");
        write(&folder, server, token);
        tokio::time::sleep(10 * PAUSE).await;
        following.abort();
        std::fs::remove_dir_all(folder).unwrap();
        // The new one reaches a server that is not there.
        let request = Request::get("/version").body(Vec::new()).unwrap();
        renewable.client().request_text(request).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_came_with_another_server_is_used_when_the_kubeconfig_comes_back() {
        let folder = folder("back");
        let connect = write(&folder, "http://127.0.0.1:1", "first");
        let used = Credentials::of(&connect.config().await.unwrap());
        let renewable = Renewable::new(says("first"));
        let following = tokio::spawn(follow(connect, used, renewable.clone()));
        write(&folder, "http://127.0.0.1:2", "second");
        tokio::time::sleep(10 * PAUSE).await;
        assert_eq!(
            asked(&renewable.client()).await,
            "first",
            "another server is not followed"
        );
        write(&folder, "http://127.0.0.1:1", "second");
        tokio::time::sleep(10 * PAUSE).await;
        following.abort();
        std::fs::remove_dir_all(folder).unwrap();
        let request = Request::get("/version").body(Vec::new()).unwrap();
        assert!(renewable.client().request_text(request).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_kubeconfig_is_followed_while_another_one_cannot_be_read() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = std::sync::mpsc::channel();
        let other = ConnectArgs {
            kubeconfig: Some("other.kubeconfig".into()),
            context: None,
        };
        let read = move || (begin.send(()), ended.recv());
        // On a runtime of its own: a paused clock stands still as long as its own runtime reads something.
        let stuck = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap();
            runtime.block_on(async { file::apart(&named(&other), read).await.is_ok() })
        });
        begun.recv().unwrap();
        assert!(is_replaced("beside", "http://127.0.0.1:1", "second").await);
        drop(end);
        stuck.join().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn another_token_for_the_same_server_is_used_without_a_restart() {
        assert!(is_replaced("token", "http://127.0.0.1:1", "second").await);
    }

    #[tokio::test(start_paused = true)]
    async fn another_server_and_a_token_that_cannot_be_used_change_nothing() {
        assert!(!is_replaced("server", "http://127.0.0.1:2", "first").await);
        assert!(!is_replaced("odd", "http://127.0.0.1:1", "a\nb").await);
    }
}
