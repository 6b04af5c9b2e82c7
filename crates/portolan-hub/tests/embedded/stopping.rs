//! Starts that fail and stops with clients that do not let go.

use std::net::SocketAddr;
use std::time::Duration;

use kube::api::{Patch, PatchParams, PostParams};
use portolan_hub::StartError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A stop that takes longer than this hangs.
const HANGS: Duration = Duration::from_secs(60);

async fn listening(folder: &std::path::Path) -> Hub {
    let builder = Hub::builder().listen(([127, 0, 0, 1], 0).into()).plain_http();
    builder.data(folder).start().await.unwrap()
}

async fn stop(hub: Hub) -> usize {
    tokio::time::timeout(HANGS, hub.stop())
        .await
        .expect("the hub stops")
}

async fn send(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_an_address_in_use_does_not_open_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let holder = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = |address| Hub::builder().data(folder.path()).listen(address).start();
    for _ in 0..5 {
        let refused = start(holder.local_addr().unwrap()).await.unwrap_err();
        assert!(matches!(refused, StartError::Listen { .. }), "{refused}");
        let hub = start(([127, 0, 0, 1], 0).into()).await.unwrap();
        hub.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_cannot_use_its_certificates_leaves_its_data_closed() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        Hub::builder()
            .data(folder.path())
            .listen(([127, 0, 0, 1], 0).into())
            .start()
    };
    std::fs::write(folder.path().join("pki"), "a file where a folder belongs").unwrap();
    let refused = start().await.unwrap_err();
    assert!(matches!(refused, StartError::Credentials { .. }), "{refused}");
    std::fs::remove_file(folder.path().join("pki")).unwrap();
    start().await.unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_sent_half_a_body_does_not_keep_the_hub_from_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let hub = listening(folder.path()).await;
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: hub\r\ncontent-type: application/json\r\n\
                content-length: 100\r\nexpect: 100-continue\r\n\r\n";
    let mut client = send(hub.address().unwrap(), head).await;
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100", "the hub waits for the body");
    client.write_all(b"{\"metadata\":").await.unwrap();
    assert_eq!(stop(hub).await, 1);
    // The data was closed: it can be opened at once.
    assert_eq!(stop(listening(folder.path()).await).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_whose_client_does_not_read_does_not_keep_the_hub_from_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let hub = listening(folder.path()).await;
    let api = config_maps(&Client::new(hub.service(), "default"));
    api.create(&PostParams::default(), &config_map("a", "0"))
        .await
        .unwrap();
    let watch =
        "GET /api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0 HTTP/1.1\r\nhost: hub\r\n\r\n";
    let mut client = send(hub.address().unwrap(), watch).await;
    assert_eq!(client.read_u8().await.unwrap(), b'H', "the watch has begun");
    // More than the sockets of both sides hold.
    let filler = "x".repeat(512 << 10);
    for n in 0..40 {
        let patch = Patch::Merge(json!({"data": {"key": format!("{n}{filler}")}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    assert_eq!(stop(hub).await, 1);
}
