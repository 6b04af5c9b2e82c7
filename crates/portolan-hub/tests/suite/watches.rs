use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use super::*;

fn show(event: &WatchEvent<ConfigMap>) -> String {
    match event {
        WatchEvent::Added(object) => format!("+{}", object.name_any()),
        WatchEvent::Modified(object) => format!("~{}", object.name_any()),
        WatchEvent::Deleted(object) => format!("-{}", object.name_any()),
        WatchEvent::Bookmark(bookmark) => format!("bookmark {}", bookmark.metadata.annotations.len()),
        WatchEvent::Error(status) => format!("error {}", status.code),
    }
}

#[tokio::test]
async fn a_watch_shows_what_happens_after_its_start() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("before", "1"))
        .await
        .unwrap();
    let version = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let events = api.watch(&WatchParams::default(), &version).await.unwrap();
    let change = Patch::Merge(json!({"data": {"key": "2"}}));
    api.patch("a", &PatchParams::default(), &change).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let events: Vec<_> = events.take(3).try_collect().await.unwrap();
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["+a", "~a", "-a"]);
}

#[tokio::test]
async fn a_selector_turns_changes_into_arrivals_and_departures() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    let events = api
        .watch(&WatchParams::default().labels("on=yes"), "0")
        .await
        .unwrap();
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    for on in ["yes", "yes", "no"] {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"on": on}}, "data": {"key": uuid_like()}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    let events: Vec<_> = events.take(3).try_collect().await.unwrap();
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["+a", "~a", "-a"]);
}

fn uuid_like() -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
        .to_string()
}

#[tokio::test]
async fn a_streamed_list_ends_with_a_bookmark() {
    let (server, client) = server().await;
    if server.lacks(Feature::StreamingLists) {
        return;
    }
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let params = WatchParams {
        send_initial_events: true,
        ..WatchParams::default()
    };
    let events = api.watch(&params, "0").await.unwrap();
    let events: Vec<_> = events.take(2).try_collect().await.unwrap();
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["+a", "bookmark 1"]);
}
