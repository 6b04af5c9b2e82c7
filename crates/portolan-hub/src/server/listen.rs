//! A socket in front of the service: HTTP/1.1 and HTTP/2, with TLS if there is a configuration for it.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::attended::Attended;
use super::first_words::FirstWords;
use super::idle::UnderWay;
use super::limits::ClientLimits;
use super::quota::Quota;
use super::unread::{Draining, Unread};
use super::{Peer, Service};
use crate::access::certificates;

/// Finds clients that vanished without a word.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(30);
/// A client that does not finish its handshake or its headers by then is gone.
const HANDSHAKE: std::time::Duration = std::time::Duration::from_secs(10);
/// How long a connection may be without a request. Clients close connections that they do not need after a minute or two
/// themselves; one that this hub closed first would fail their next request now and then.
const IDLE: std::time::Duration = std::time::Duration::from_secs(180);
/// How long a client may take to read a part of an answer. Kubernetes gives a request and its whole answer as long. Shorter,
/// and a client that works on one list while it receives another would be hung up on.
const UNREAD: std::time::Duration = std::time::Duration::from_secs(60);
/// How long a hub that stops waits for requests that are under way. A request takes milliseconds; a client that sends
/// half a body or does not read its watch would keep the hub from stopping for as long as it likes.
const GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// A bound socket that has not been served yet.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until told to stop, then lets what is running come to its end. Returns how many connections had not ended
    /// when the time for that was over; they are closed.
    pub(crate) async fn serve(
        self,
        service: Service,
        tls: Option<Arc<ServerConfig>>,
        limits: ClientLimits,
        mut stopping: watch::Receiver<bool>,
    ) -> usize {
        let acceptor = tls.map(TlsAcceptor::from);
        let open = Quota::new(limits.connections, limits.connections_per_address);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = stopping.wait_for(|stopping| *stopping) => break,
                Some(_) = connections.join_next() => continue,
            };
            // An error here is of one connection, or of too many open files, which passes.
            let Ok((stream, peer)) = accepted else {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                continue;
            };
            // Nothing can be said to it: what it would understand is not known before it speaks.
            let address = peer.ip().to_canonical();
            let share = match open.take_one(&address) {
                Ok(share) => share,
                Err(exceeded) => {
                    tracing::debug!(
                        "refused a connection from {address}: too many connections: {exceeded:?}"
                    );
                    continue;
                }
            };
            let (service, stopping, acceptor) = (service.clone(), stopping.clone(), acceptor.clone());
            connections.spawn(async move {
                accept(stream, service, acceptor, stopping).await;
                drop(share);
            });
        }
        let ended = async { while connections.join_next().await.is_some() {} };
        match tokio::time::timeout(GRACE, ended).await {
            Ok(()) => 0,
            Err(_) => {
                let left = connections.len();
                connections.shutdown().await;
                left
            }
        }
    }
}

async fn accept(
    stream: TcpStream,
    service: Service,
    acceptor: Option<TlsAcceptor>,
    stopping: watch::Receiver<bool>,
) {
    // Small events must not wait for more.
    let _ = stream.set_nodelay(true);
    // HTTP/1.1 has no way to ask whether somebody is still there.
    let _ = SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE));
    match acceptor {
        // Without TLS there are no credentials; the service says who everybody is.
        None => connection(stream, service, stopping).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                let certificate = stream
                    .get_ref()
                    .1
                    .peer_certificates()
                    .and_then(|chain| chain.first());
                let peer = Peer::Remote(certificate.and_then(certificates::identity));
                connection(stream, service.with_peer(peer), stopping).await;
            }
        }
    }
}

/// A client that misbehaves or vanishes ends its own connection and nothing else.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: Service,
    mut stopping: watch::Receiver<bool>,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // It also runs between two requests, and ends the connection without a word: a client that sends its next request at that
        // moment would get an error. So connections without a request are closed before, with a word.
        .header_read_timeout(2 * IDLE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE);
    let (under_way, unread) = (UnderWay::default(), Unread::default());
    let stream = FirstWords::within(HANDSHAKE, stream);
    let stream = Draining::within(UNREAD, stream, unread.clone());
    let service = Attended {
        service,
        under_way: under_way.clone(),
        unread: unread.clone(),
    };
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    let is_idle = tokio::select! {
        _ = connection.as_mut() => return,
        () = unread.some_for(UNREAD) => return,
        _ = stopping.wait_for(|stopping| *stopping) => false,
        () = under_way.none_for(IDLE) => true,
    };
    connection.as_mut().graceful_shutdown();
    if is_idle {
        // A request that came at this very moment is answered; a client that does not hang up is hung up on.
        let _ = tokio::time::timeout(HANDSHAKE, connection).await;
        return;
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::server::Core;

    /// A client that speaks HTTP/2 as far as it needs no credentials, and then nothing more.
    #[tokio::test(start_paused = true)]
    async fn a_client_without_a_request_is_hung_up_on_although_it_answers_pings() {
        let (client, stream) = tokio::io::duplex(1024);
        let (_stop, stopping) = watch::channel(false);
        let service = Service::new(Core::in_memory(), Peer::Remote(None));
        let serving = tokio::spawn(connection(stream, service, stopping));
        let (_sender, talking) = hyper::client::conn::http2::handshake::<
            _,
            _,
            http_body_util::Empty<bytes::Bytes>,
        >(TokioExecutor::new(), TokioIo::new(client))
        .await
        .unwrap();
        let talking = tokio::spawn(talking);
        tokio::time::timeout(2 * IDLE, serving).await.unwrap().unwrap();
        let _ = talking.await.unwrap();
    }

    /// Time stands still while anything else can happen, so that a connection that does not end is a test that does not.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_or_half_a_word_is_hung_up_on() {
        for beginning in ["", "P", "PRI * HTTP/2.0", "GET /healthz HTTP/1.1\r\nHost:"] {
            let (mut client, stream) = tokio::io::duplex(1024);
            client.write_all(beginning.as_bytes()).await.unwrap();
            let (_stop, stopping) = watch::channel(false);
            let service = Service::new(Core::in_memory(), Peer::Remote(None));
            let served = tokio::time::timeout(3 * IDLE, connection(stream, service, stopping));
            assert!(served.await.is_ok(), "{beginning:?}");
        }
    }

    type Sender = hyper::client::conn::http2::SendRequest<http_body_util::Empty<bytes::Bytes>>;

    /// A core with objects whose list is larger than what connections buffer.
    async fn core_with_objects() -> Arc<Core> {
        let core = Core::in_memory();
        let object = |number: usize| {
            serde_json::json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}"), "namespace": "default"},
                "data": {"key": "x".repeat(500_000)},
            })
        };
        core.ensure((0..10).map(object).collect()).await.unwrap();
        core
    }

    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_its_answer_is_hung_up_on() {
        let core = core_with_objects().await;
        // One answer is larger than the buffers of the connection, the other one is not.
        for path in [CONFIG_MAPS, "/api/v1/namespaces/default/configmaps/c1"] {
            let (mut client, stream) = tokio::io::duplex(1024);
            let request = format!("GET {path} HTTP/1.1\r\nhost: hub\r\n\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            let (_stop, stopping) = watch::channel(false);
            let service = Service::new(core.clone(), Peer::admin());
            let served = tokio::time::timeout(3 * UNREAD, connection(stream, service, stopping));
            assert!(served.await.is_ok(), "{path}");
        }
    }

    async fn connected(core: &Arc<Core>) -> (Sender, tokio::task::JoinHandle<()>, watch::Sender<bool>) {
        let (client, stream) = tokio::io::duplex(1024);
        let (stop, stopping) = watch::channel(false);
        let service = Service::new(core.clone(), Peer::admin());
        let serving = tokio::spawn(connection(stream, service, stopping));
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(client));
        let (sender, talking) = handshake.await.unwrap();
        tokio::spawn(talking);
        (sender, serving, stop)
    }

    fn get(path: &str) -> http::Request<http_body_util::Empty<bytes::Bytes>> {
        http::Request::get(path)
            .body(http_body_util::Empty::new())
            .unwrap()
    }

    /// With HTTP/2 a client answers pings, and sends other requests.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_other_answers_is_hung_up_on_too() {
        let core = core_with_objects().await;
        let (mut sender, mut serving, _stop) = connected(&core).await;
        let _unread = sender.send_request(get(CONFIG_MAPS)).await.unwrap();
        for _ in 0..20 {
            let _ = sender.send_request(get("/healthz")).await;
            if tokio::time::timeout(UNREAD / 10, &mut serving).await.is_ok() {
                return;
            }
        }
        panic!("the connection is still open");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_its_whole_answer() {
        use http_body_util::BodyExt as _;
        let core = core_with_objects().await;
        let (mut sender, _serving, _stop) = connected(&core).await;
        let mut answer = sender.send_request(get(CONFIG_MAPS)).await.unwrap();
        let mut bytes = 0;
        while let Some(frame) = answer.frame().await {
            bytes += frame.unwrap().into_data().unwrap().len();
            if bytes % 7 == 0 {
                tokio::time::sleep(UNREAD / 2).await;
            }
        }
        assert!(bytes > 5_000_000, "{bytes}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_whose_client_does_not_read_goes_on() {
        let core = core_with_objects().await;
        let watch = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=86400");
        let (mut sender, mut serving, _stop) = connected(&core).await;
        let _unread = sender.send_request(get(&watch)).await.unwrap();
        let ended = tokio::time::timeout(10 * UNREAD, &mut serving).await;
        assert!(ended.is_err(), "HTTP/2");

        let (mut client, stream) = tokio::io::duplex(1024);
        let request = format!("GET {watch} HTTP/1.1\r\nhost: hub\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let (_stop, stopping) = tokio::sync::watch::channel(false);
        let service = Service::new(core.clone(), Peer::admin());
        let served = tokio::time::timeout(10 * UNREAD, connection(stream, service, stopping));
        assert!(served.await.is_err(), "HTTP/1.1");
    }
}
