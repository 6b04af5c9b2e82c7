//! The hub as a whole: bind the address, open the store, serve, stop.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::access::account_tokens::AccountTokens;
use crate::access::{Identity, rbac};
use crate::admission::{Admission, Chain};
use crate::clock::Clock;
use crate::endpoint::Endpoint;
use crate::janitor;
use crate::server::{ClientLimits, Core, Gate, Listener, Peer, Service, raise_open_files, roles};
use crate::store::{History, LIMITS, Limits, OpenError, Store};

/// What a watch or a list can go back to: some minutes of a busy hub, and a bound on memory.
pub(crate) const HISTORY: History = History {
    events: 8192,
    bytes: 32 << 20,
};
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];
const ISSUER: &str = "https://kubernetes.default.svc";

/// A running hub.
///
/// ```
/// # async fn example() -> Result<(), portolan_hub::StartError> {
/// let hub = portolan_hub::Hub::builder().start().await?;
/// // let client = kube::Client::new(hub.service(), "default");
/// hub.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Hub {
    core: Arc<Core>,
    door: Option<Endpoint>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<Option<()>>>,
    /// Ends with the number of connections that it had to close before their end.
    connections: Option<JoinHandle<Option<usize>>>,
}

/// How a hub is to be started.
#[derive(Debug, Default)]
#[must_use]
pub struct Builder {
    data: Option<PathBuf>,
    listen: Option<SocketAddr>,
    names: Vec<String>,
    plain: bool,
    clock: Option<Clock>,
    history: Option<History>,
    admission: Chain,
    limits: Option<Limits>,
    client_limits: ClientLimits,
    published: bool,
}

/// A hub could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data could not be opened.
    #[error("start the hub: the data cannot be used")]
    Open(#[from] OpenError),
    /// The address cannot be listened on.
    #[error("start the hub: cannot listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Plain HTTP knows no users, so it is only served to the same machine.
    #[error("start the hub: {address} without TLS: only loopback addresses are accepted")]
    PlainBeyondLoopback {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// Keys or certificates cannot be made or read.
    #[error("start the hub: {what} cannot be used")]
    Credentials {
        /// Which ones.
        what: &'static str,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The first objects could not be written.
    #[error("start the hub: cannot write the first objects: {0}")]
    Bootstrap(String),
}

impl Hub {
    /// A hub in memory, in process, unless told otherwise.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The hub as a `tower` service, for an administrator: hand it to `kube::Client::new`.
    pub fn service(&self) -> Service {
        Service::new(self.core.clone(), Peer::admin())
    }

    /// The hub as a `tower` service for a user, who may do what the stored roles say.
    pub fn service_for(&self, user: &str, groups: &[&str]) -> Service {
        let identity = Identity::authenticated(user, groups.iter().copied());
        Service::new(self.core.clone(), Peer::Known(identity))
    }

    /// Makes a bearer token valid for a user until the hub stops.
    pub fn add_token(&self, token: &str, user: &str, groups: &[&str]) {
        self.core
            .add_token(token, Identity::authenticated(user, groups.iter().copied()));
    }

    /// Where the hub listens, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.door.as_ref().map(Endpoint::address)
    }

    /// The URL of the hub, if it listens.
    pub fn url(&self) -> Option<String> {
        self.door.as_ref().map(Endpoint::url)
    }

    /// The kubeconfig of an administrator, if the hub listens. It holds a key: treat it as a secret.
    pub fn kubeconfig(&self) -> Option<String> {
        self.door.as_ref().map(|door| door.kubeconfig().to_yaml())
    }

    /// Writes the administrator's kubeconfig to a file that only its owner can read.
    pub fn write_kubeconfig(&self, path: &Path) -> std::io::Result<()> {
        match &self.door {
            Some(door) => door.kubeconfig().write(path),
            None => Err(std::io::Error::other(
                "write the kubeconfig: the hub does not listen on an address",
            )),
        }
    }

    /// Waits until the hub can no longer do its work: its data file failed, one of its tasks ended or stands still. Returns
    /// why. The hub is then to be stopped and started again.
    pub async fn failed(&self) -> String {
        tokio::select! {
            why = self.core.store.failed() => format!("the data file could not be written: {why}"),
            why = self.core.supervision.failed() => why,
        }
    }

    /// Ends watches, gives requests two seconds to come to their end and closes the data. Returns how many connections were
    /// closed although their clients had not sent or received everything.
    pub async fn stop(mut self) -> usize {
        self.stop.send_replace(true);
        let mut closed = 0;
        // A task that panicked has nothing left to end.
        if let Some(connections) = self.connections.take() {
            closed = connections.await.ok().flatten().unwrap_or_default();
        }
        for task in self.tasks.drain(..) {
            let _ = task.await;
        }
        self.core.store.close().await;
        closed
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl Builder {
    /// Keeps objects and keys in a folder, made if it is not there. Without it everything is in memory.
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// Listens on an address, with TLS; port 0 takes a free one. Without it the hub is only reachable through
    /// [`Hub::service`].
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Names and addresses beside those of loopback that the certificate is valid for. The kubeconfig reaches the hub by
    /// the first.
    pub fn names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Listens without TLS. Whoever reaches the socket is an administrator, so only loopback addresses are taken.
    pub fn plain_http(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Uses another clock for the times that objects carry.
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some(Clock::new(now));
        self
    }

    /// Remembers this many changes for watches and lists to go back to.
    pub fn history(mut self, events: usize) -> Self {
        self.history = Some(History { events, ..HISTORY });
        self
    }

    /// Stores at most this many bytes of objects, in all and in one namespace. A write beyond it is answered with 507.
    pub fn stored_bytes(mut self, total: u64, namespace: u64) -> Self {
        self.limits = Some(Limits { total, namespace });
        self
    }

    /// Limits what clients may have at a time.
    pub fn client_limits(mut self, limits: ClientLimits) -> Self {
        self.client_limits = limits;
        self
    }

    /// Gives somebody a say in what clients write. Several are asked in the order they are added.
    pub fn admission(mut self, admission: impl Admission) -> Self {
        self.admission.push(Arc::new(admission));
        self
    }

    /// Publishes how a listening hub is reached, as clusters do for the programs in them: the certificate of its authority in
    /// every namespace (ConfigMap `kube-root-ca.crt`), and the Service `kubernetes`.
    pub fn published(mut self) -> Self {
        self.published = true;
        self
    }

    /// Starts the hub. When this returns it serves.
    pub async fn start(self) -> Result<Hub, StartError> {
        // The address comes before the data: a caller that finds the address in use may start again with another one, and
        // the data must not be open then.
        let listener = self.bind().await?;
        let history = self.history.unwrap_or(HISTORY);
        let store = match &self.data {
            Some(folder) => Store::open(folder, history)?,
            None => Store::in_memory(history),
        };
        store.limit(self.limits.unwrap_or(LIMITS));
        let started = self.serve(store.clone(), listener).await;
        if started.is_err() {
            store.close().await;
        }
        started
    }

    async fn bind(&self) -> Result<Option<Listener>, StartError> {
        let Some(address) = self.listen else {
            return Ok(None);
        };
        if self.plain && !address.ip().is_loopback() {
            return Err(StartError::PlainBeyondLoopback { address });
        }
        let bound = Listener::bind(address).await;
        bound
            .map(Some)
            .map_err(|source| StartError::Listen { address, source })
    }

    /// No task runs before everything that can fail has succeeded: a task would keep the store open.
    async fn serve(self, store: Store, listener: Option<Listener>) -> Result<Hub, StartError> {
        let accounts = match &self.data {
            Some(folder) => AccountTokens::open(ISSUER, &folder.join("service-account.key")),
            None => AccountTokens::in_memory(ISSUER),
        };
        let accounts = accounts.map_err(|source| StartError::Credentials {
            what: "the key of service accounts",
            source: source.into(),
        })?;
        let (stop, stopping) = watch::channel(false);
        let clock = self.clock.clone().unwrap_or_else(Clock::system);
        let core = Arc::new(Core::new(
            store.clone(),
            clock,
            Gate::new(accounts, &store),
            self.admission.clone(),
            self.client_limits,
            stopping.clone(),
        ));
        core.serve_definitions();
        core.ensure(first_objects())
            .await
            .map_err(|failure| StartError::Bootstrap(failure.message().into()))?;
        let door = match &listener {
            Some(listener) => Some(self.door(listener.address(), core.clock.now())?),
            None => None,
        };
        let published = door.as_ref().filter(|_| self.published);
        if let Some(door) = published {
            core.ensure(vec![own_service(door.address().port())])
                .await
                .map_err(|failure| StartError::Bootstrap(failure.message().into()))?;
        }
        let authority = published.and_then(|door| door.kubeconfig().authority_pem.clone());
        let supervision = &core.supervision;
        supervision.watch();
        let mut tasks = vec![
            supervision.spawn(
                janitor::NAME,
                janitor::run(core.clone(), authority, stopping.clone()),
            ),
            supervision.spawn("events", janitor::expire(core.clone(), stopping.clone())),
            supervision.spawn(roles::NAME, roles::run(core.clone(), stopping.clone())),
        ];
        let mut connections = None;
        if let (Some(listener), Some(door)) = (listener, &door) {
            let service = Service::new(core.clone(), Peer::admin());
            let serving = listener.serve(service, door.config(), self.connection_limits(), stopping.clone());
            connections = Some(supervision.spawn("listener", serving));
            let renewal = door.renewal(core.clock.clone(), stopping);
            tasks.extend(renewal.map(|renewal| supervision.spawn("certificates", renewal)));
        }
        Ok(Hub {
            core,
            door,
            stop,
            tasks,
            connections,
        })
    }

    /// As many connections as were asked for and as files can be opened.
    fn connection_limits(&self) -> ClientLimits {
        let (asked, open_files) = (self.client_limits, raise_open_files());
        let limits = asked.within(open_files);
        if limits != asked {
            tracing::warn!(
                "the process may open {open_files} files: the hub accepts {} connections, {} from one address, instead of {} \
                 and {}; raise the hard limit of open files (ulimit -Hn, LimitNOFILE=) for more",
                limits.connections,
                limits.connections_per_address,
                asked.connections,
                asked.connections_per_address,
            );
        }
        limits
    }

    fn door(&self, address: SocketAddr, now: Timestamp) -> Result<Endpoint, StartError> {
        let folder = self.data.as_ref().map(|folder| folder.join("pki"));
        let door = match self.plain {
            true => Endpoint::plain(address),
            false => Endpoint::tls(address, folder.as_deref(), &self.names, now),
        };
        door.map_err(|source| StartError::Credentials {
            what: "certificates",
            source,
        })
    }
}

/// What every hub has: the usual namespaces, and the roles that come with a server.
fn first_objects() -> Vec<Value> {
    let namespace =
        |name: &&str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    NAMESPACES
        .iter()
        .map(namespace)
        .chain(rbac::bootstrap())
        .collect()
}

/// The Service by which programs inside a cluster find its server. Nothing here leads to it but its name.
fn own_service(port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        },
    })
}
