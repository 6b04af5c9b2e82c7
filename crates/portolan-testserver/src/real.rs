//! A real API server: etcd, kube-apiserver and, if it is there, kube-controller-manager.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::credentials::{Authority, signing_key, write_private};

/// The programs come up in seconds; a busy machine may take a minute.
const READY_TIMEOUT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(100);
/// Ports are free when they are looked for; somebody else may be quicker to take one.
const ATTEMPTS: usize = 3;

/// The one real server of this process.
#[derive(Debug)]
pub(crate) struct Real {
    kubeconfig: String,
    controllers: bool,
    /// Runs the programs until its standard input is closed.
    _supervisor: Child,
}

impl Real {
    pub(crate) async fn shared(assets: &Path) -> anyhow::Result<&'static Self> {
        static SHARED: OnceCell<Real> = OnceCell::const_new();
        SHARED
            .get_or_try_init(|| async {
                let mut attempt = 1;
                loop {
                    match Self::start(assets).await {
                        Err(error) if attempt < ATTEMPTS => {
                            eprintln!("attempt {attempt} to start a real server: {error:#}");
                            attempt += 1;
                        }
                        started => return started,
                    }
                }
            })
            .await
    }

    async fn start(assets: &Path) -> anyhow::Result<Self> {
        let assets = assets
            .canonicalize()
            .with_context(|| format!("{}={}", crate::ASSETS, assets.display()))?;
        for program in ["kube-apiserver", "etcd"] {
            if !assets.join(program).is_file() {
                bail!("{}={}: it holds no {program}", crate::ASSETS, assets.display());
            }
        }
        let controllers = assets.join("kube-controller-manager").is_file();
        let [client_port, peer_port, port] = free_ports()?;
        let folder = tempfile::Builder::new()
            .prefix("portolan-testserver-")
            .tempdir()?;
        let kubeconfig = prepare(folder.path(), port)?;
        let mut supervisor = Command::new("sh")
            .args(["-c", include_str!("real.sh"), "portolan-testserver"])
            .args([folder.path(), &assets])
            .args([client_port, peer_port, port].map(|port| port.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Ctrl-C is for the test process; the supervisor notices its end.
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        // From here on the supervisor removes it.
        let folder = folder.keep();
        let config = Kubeconfig::from_yaml(&kubeconfig)?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        let version = match until_ready(&client, &folder).await {
            Ok(version) => version,
            Err(error) => return Err(error.context(logs(&folder))),
        };
        let input = supervisor.stdin.as_mut().context("the supervisor has an input")?;
        input.write_all(controller_flags(version).as_bytes())?;
        Ok(Self {
            kubeconfig,
            controllers,
            _supervisor: supervisor,
        })
    }

    pub(crate) fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    pub(crate) fn has_controllers(&self) -> bool {
        self.controllers
    }
}

/// The server's major and minor version.
pub(crate) async fn version(client: &Client) -> anyhow::Result<(u32, u32)> {
    let version = client.apiserver_version().await?;
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits
            .parse()
            .with_context(|| format!("the server's version: {text:?} is no number"))
    };
    Ok((number(&version.major)?, number(&version.minor)?))
}

/// One line: what the controllers must not listen on.
fn controller_flags(version: (u32, u32)) -> &'static str {
    // The port without TLS had a default until the flag was taken away.
    if version < (1, 24) {
        "--port=0 --secure-port=0\n"
    } else {
        "--secure-port=0\n"
    }
}

/// Different ports that nobody uses.
fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("find a free port")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

/// Writes keys and certificates into the folder; returns the administrator's kubeconfig, which is there too.
fn prepare(folder: &Path, port: u16) -> anyhow::Result<String> {
    let write = |name: &str, text: &str| write_private(&folder.join(name), text);
    let authority = Authority::new()?;
    let server = authority.server()?;
    let admin = authority.client("admin", "system:masters")?;
    write("ca.crt", &authority.certificate)?;
    write("server.crt", &server.certificate)?;
    write("server.key", &server.key)?;
    let (private, public) = signing_key()?;
    write("account.key", &private)?;
    write("account.pub", &public)?;
    write("admin.crt", &admin.certificate)?;
    write("admin.key", &admin.key)?;
    let path = |name: &str| folder.join(name);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "real",
        "clusters": [{"name": "real", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": path("ca.crt"),
        }}],
        "users": [{"name": "admin", "user": {
            "client-certificate": path("admin.crt"), "client-key": path("admin.key"),
        }}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
    });
    let kubeconfig = kubeconfig.to_string();
    write("kubeconfig", &kubeconfig)?;
    Ok(kubeconfig)
}

/// Ready is: it says so, and what it makes for itself is there.
async fn until_ready(client: &Client, folder: &Path) -> anyhow::Result<(u32, u32)> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ready = async {
        loop {
            let request = http::Request::get("/readyz").body(Vec::new())?;
            if client.request_text(request).await.is_ok() && namespaces.get("default").await.is_ok() {
                return version(client).await;
            }
            if any_ended(folder) {
                bail!("one of its programs ended");
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(READY_TIMEOUT, ready)
        .await
        .with_context(|| format!("it was not ready after {} s", READY_TIMEOUT.as_secs()))?
}

/// Whether a program ended, where the system shows that; elsewhere patience runs out.
fn any_ended(folder: &Path) -> bool {
    let pids = std::fs::read_to_string(folder.join("pids")).unwrap_or_default();
    pids.split_whitespace().any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    })
}

/// The ends of the logs, for an error.
fn logs(folder: &Path) -> String {
    let mut text = String::new();
    for name in ["etcd.log", "kube-apiserver.log"] {
        let log = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        text += &format!(
            "{name}:\n{}\n",
            lines[lines.len().saturating_sub(15)..].join("\n")
        );
    }
    text
}
