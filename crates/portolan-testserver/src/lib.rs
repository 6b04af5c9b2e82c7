//! A Kubernetes API server to test against: the embedded hub, or a real one where `KUBEBUILDER_ASSETS` names a folder
//! with `kube-apiserver` and `etcd` (`hack/kube-apiserver.sh` makes one). Tests are written once and run on both; what
//! an old real server cannot do is asked of its version.
//!
//! A hub is started for each caller, a real server once per test process. Either way each caller gets a namespace and
//! an API group that nobody else uses, so tests need not clean up. Called from tests alone; it is never part of the
//! binary and never touches a cluster that it did not start.

mod credentials;
mod feature;
mod real;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use portolan_hub::Hub;

pub use feature::Feature;
use real::Real;

/// `hub` or `real`: which server to start. Without it, a real one if `KUBEBUILDER_ASSETS` is set.
pub const KIND: &str = "PORTOLAN_TEST_SERVER";
/// The folder with the programs of a real server, as the envtest tools name it.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A running server, and the part of it that belongs to one test.
#[derive(Debug)]
pub struct TestServer {
    hub: Option<Hub>,
    controllers: bool,
    version: (u32, u32),
    namespace: String,
    group: String,
    config: Config,
    kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
}

impl TestServer {
    /// A server with a namespace and an API group for the caller.
    ///
    /// # Panics
    ///
    /// When no server can be started: a test has nothing else to do then.
    pub async fn start() -> Self {
        let started = match assets() {
            Some(assets) => Self::real(&assets).await,
            None => Self::hub().await,
        };
        match started {
            Ok(server) => server,
            Err(error) => panic!("start a server to test against: {error:#}"),
        }
    }

    /// Whether [`TestServer::start`] starts a real server.
    pub fn would_be_real() -> bool {
        assets().is_some()
    }

    async fn hub() -> anyhow::Result<Self> {
        let hub = Hub::builder().listen(([127, 0, 0, 1], 0).into()).start().await?;
        let text = hub
            .kubeconfig()
            .context("the hub listens, so it has a kubeconfig")?;
        let mut server = Self::with(&text).await?;
        server.hub = Some(hub);
        server.controllers = true;
        Ok(server)
    }

    async fn real(assets: &Path) -> anyhow::Result<Self> {
        let real = Real::shared(assets).await?;
        let mut server = Self::with(real.kubeconfig()).await?;
        server.controllers = real.has_controllers();
        Ok(server)
    }

    async fn with(kubeconfig: &str) -> anyhow::Result<Self> {
        static CALLERS: AtomicU32 = AtomicU32::new(0);
        let caller = CALLERS.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("test-{caller}");
        let mut kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
        for named in &mut kubeconfig.contexts {
            if let Some(context) = &mut named.context {
                context.namespace = Some(namespace.clone());
            }
        }
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("kubeconfig");
        // JSON is YAML.
        credentials::write_private(&path, &serde_json::to_string(&kubeconfig)?)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        // A test sees every answer, also those that would be worth another attempt.
        config.default_retry = false;
        let client = Client::try_from(config.clone())?;
        let version = real::version(&client).await?;
        let made = Namespace {
            metadata: ObjectMeta {
                name: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        Api::all(client).create(&PostParams::default(), &made).await?;
        Ok(Self {
            hub: None,
            controllers: false,
            version,
            group: format!("{namespace}.example.com"),
            namespace,
            config,
            kubeconfig: path,
            _folder: folder,
        })
    }

    /// A client for an administrator, in the caller's namespace.
    pub fn client(&self) -> Client {
        connect(self.config.clone())
    }

    /// A client for another user, who may do what roles say.
    pub fn client_as(&self, user: &str, groups: &[&str]) -> Client {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(user.to_owned());
        config.auth_info.impersonate_groups = Some(groups.iter().map(|group| (*group).to_owned()).collect());
        connect(config)
    }

    /// A client that shows no credential.
    pub fn anonymous_client(&self) -> Client {
        let mut config = self.config.clone();
        config.auth_info = kube::config::AuthInfo::default();
        connect(config)
    }

    /// How the administrator's client connects.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The administrator's kubeconfig, with the caller's namespace as the default one. Lives as long as the server.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The caller's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// An API group for the caller's definitions.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Whether this is a real Kubernetes API server.
    pub fn is_real(&self) -> bool {
        self.hub.is_none()
    }

    /// The version the server says it has.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Whether the server can do something that not every server can.
    pub fn can(&self, feature: Feature) -> bool {
        match feature.since() {
            _ if !self.is_real() => true,
            Some(since) => self.version >= since,
            None => self.controllers,
        }
    }

    /// The opposite of [`TestServer::can`] for the first line of a test: says why the test is skipped.
    pub fn lacks(&self, feature: Feature) -> bool {
        let lacks = !self.can(feature);
        if lacks {
            let (major, minor) = self.version;
            match feature.since() {
                Some((_, since)) => {
                    eprintln!("skipped: Kubernetes {major}.{minor} has no {feature}; {major}.{since} has")
                }
                None => eprintln!("skipped: without kube-controller-manager there is no {feature}"),
            }
        }
        lacks
    }

    /// Stops a hub. A real server is shared and stays until the test process ends.
    pub async fn stop(self) {
        if let Some(hub) = self.hub {
            hub.stop().await;
        }
    }
}

fn connect(config: Config) -> Client {
    match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => panic!("connect to the test server: {error}"),
    }
}

fn assets() -> Option<PathBuf> {
    let folder = std::env::var_os(ASSETS).filter(|folder| !folder.is_empty());
    match std::env::var(KIND).as_deref() {
        Ok("hub") => None,
        Ok("real") => Some(folder.map(PathBuf::from).unwrap_or_else(|| {
            panic!("{KIND}=real, but {ASSETS} does not name a folder with kube-apiserver and etcd")
        })),
        Ok(other) if !other.is_empty() => panic!("{KIND}={other:?}: `hub` and `real` are accepted"),
        _ => folder.map(PathBuf::from),
    }
}
