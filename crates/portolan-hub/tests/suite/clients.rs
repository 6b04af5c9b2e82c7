//! Clients that do not behave: they vanish in the middle of a watch, or watch and do not read.

use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams};

use super::*;

/// How many watches of ConfigMaps the server says it has open. The metric was renamed in 1.22.
async fn open_watches(server: &TestServer) -> f64 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let text = server.client().request_text(request).await.unwrap();
    let of_watches = |line: &&str| {
        line.starts_with("apiserver_longrunning_")
            && line.contains("\"WATCH\"")
            && line.contains("\"configmaps\"")
    };
    text.lines()
        .filter(of_watches)
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_that_vanish_leave_nothing_behind() {
    let (server, client) = server().await;
    let api = config_maps(&client);
    let mut streams = Vec::new();
    for _ in 0..100 {
        // Each on a connection of its own.
        let api = config_maps(&server.client());
        streams.push(api.watch(&WatchParams::default(), "0").await.unwrap().boxed());
    }
    eventually("all watches are counted", async || {
        open_watches(&server).await >= 100.0
    })
    .await;
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    // Half of them read before they go.
    for stream in streams.iter_mut().take(50) {
        let mut event = stream.next().await;
        // A server may say at any time how far it is.
        while matches!(event, Some(Ok(WatchEvent::Bookmark(_)))) {
            event = stream.next().await;
        }
        assert!(matches!(event, Some(Ok(WatchEvent::Added(_)))));
    }
    drop(streams);
    eventually("no watch is left of a hundred", async || {
        open_watches(&server).await < 50.0
    })
    .await;
    api.get("a").await.unwrap();
}

/// A watcher that does not read gets, once it reads, an unbroken beginning of what happened: all of it, or up to where
/// the server cut it off. It is never sent a history with a hole.
#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_does_not_read_is_shown_no_gap() {
    const WRITES: usize = 300;
    let (server, client) = server().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("a", "start"))
        .await
        .unwrap();
    let version = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let stream = config_maps(&server.client())
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap();
    let filler = "x".repeat(200 << 10);
    for n in 0..WRITES {
        let patch = Patch::Merge(
            json!({"metadata": {"labels": {"n": n.to_string()}}, "data": {"filler": format!("{n}{filler}")}}),
        );
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    let mut stream = stream.boxed();
    let mut seen = 0;
    while seen < WRITES {
        match stream.next().await {
            Some(Ok(WatchEvent::Modified(object))) => {
                assert_eq!(object.labels()["n"], seen.to_string());
                seen += 1;
            }
            Some(Ok(WatchEvent::Error(status))) => {
                assert_eq!(status.code, 410);
                break;
            }
            // A server sends one about every minute.
            Some(Ok(WatchEvent::Bookmark(_))) => {}
            // The connection was cut, maybe in the middle of an event.
            None | Some(Err(_)) => break,
            other => panic!("expected a change, got {other:?}"),
        }
    }
    // Whoever was cut off lists again and goes on.
    let listed = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items[0].labels()["n"], (WRITES - 1).to_string());
}
