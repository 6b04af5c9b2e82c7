//! Watchers that connect and hardly read. There is no queue per watcher: what a hub holds for one of them is a chunk, and
//! what the connection has taken.

use std::net::SocketAddr;

use kube::api::{Patch, PatchParams, PostParams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

const WATCHERS: usize = 60;
const WRITES: usize = 90;
const EVENT_BYTES: usize = 256 << 10;
/// A queue per watcher would hold well over a gigabyte: 60 watchers, 90 events, 256 KiB each. The history takes up to
/// 32 MiB and each watcher below two; the rest is for the allocator.
const LARGEST_GROWTH: usize = 400 << 20;

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

async fn watch_without_reading(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0 HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    // The first byte of the answer: the watch has begun.
    assert_eq!(stream.read_u8().await.unwrap(), b'H');
    stream
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "it reads /proc")]
async fn watchers_that_hardly_read_cost_a_bounded_amount() {
    let hub = Hub::builder()
        .listen(([127, 0, 0, 1], 0).into())
        .plain_http()
        .start()
        .await
        .unwrap();
    let api = config_maps(&Client::new(hub.service(), "default"));
    api.create(&PostParams::default(), &config_map("a", "0"))
        .await
        .unwrap();
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(watch_without_reading(hub.address().unwrap()).await);
    }
    let before = resident_bytes();
    let filler = "x".repeat(EVENT_BYTES);
    for n in 0..WRITES {
        let patch = Patch::Merge(json!({"data": {"key": format!("{n}{filler}")}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    // They read a little and stop again: what comes next was made ready for each of them.
    let mut some = vec![0; 1 << 20];
    for watcher in &mut watchers {
        for _ in 0..8 {
            watcher.read_exact(&mut some).await.unwrap();
        }
    }
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < LARGEST_GROWTH, "grew by {} MiB", growth >> 20);
    drop(watchers);
    hub.stop().await;
}

const OBJECTS: usize = 100;
const SNAPSHOTS: usize = 12;
/// Without a limit each watcher would keep a state of its own: 12 of 25 MiB, beside the history and the present state.
const LARGEST_SNAPSHOTS: usize = 200 << 20;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "it reads /proc")]
async fn watchers_that_never_read_do_not_keep_what_they_began_with() {
    let hub = Hub::builder()
        .listen(([127, 0, 0, 1], 0).into())
        .plain_http()
        .start()
        .await
        .unwrap();
    let api = config_maps(&Client::new(hub.service(), "default"));
    let filler = "x".repeat(EVENT_BYTES);
    for n in 0..OBJECTS {
        let object = config_map(&format!("o{n}"), &filler);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let before = resident_bytes();
    let mut watchers = Vec::new();
    for round in 0..SNAPSHOTS {
        watchers.push(watch_without_reading(hub.address().unwrap()).await);
        for n in 0..OBJECTS {
            let patch = Patch::Merge(json!({"data": {"key": format!("{round}{filler}")}}));
            api.patch(&format!("o{n}"), &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    }
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < LARGEST_SNAPSHOTS, "grew by {} MiB", growth >> 20);
    // Who reads at last is told to begin again, after what was on its way.
    let mut first = watchers.remove(0);
    let mut text = Vec::new();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), first.read_to_end(&mut text));
    ended.await.expect("the watch ends").unwrap();
    assert!(String::from_utf8_lossy(&text).contains("too old resource version"));
    drop(watchers);
    hub.stop().await;
}
