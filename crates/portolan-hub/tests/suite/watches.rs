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
    let (_hub, client) = hub().await;
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
    let (_hub, client) = hub().await;
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
    let (_hub, client) = hub().await;
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

#[tokio::test]
async fn a_watch_from_a_forgotten_version_is_told_to_list_again() {
    let hub = Hub::builder().history(5).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let api = config_maps(&client);
    let first = api
        .list(&ListParams::default().limit(1))
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    for i in 0..10 {
        api.create(&PostParams::default(), &config_map(&format!("o{i}"), "1"))
            .await
            .unwrap();
    }
    let events = api.watch(&WatchParams::default(), &first).await.unwrap();
    let events: Vec<_> = events
        .map(|event| event.map_or_else(|error| error.to_string(), |event| show(&event)))
        .collect()
        .await;
    assert_eq!(events, ["error 410"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_time_is_over_and_bookmarks_come_each_minute() {
    let (_hub, client) = hub().await;
    let params = WatchParams::default().timeout(150);
    let events = config_maps(&client).watch(&params, "0").await.unwrap();
    let events: Vec<_> = events.try_collect().await.unwrap();
    assert_eq!(
        events.iter().map(show).collect::<Vec<_>>(),
        ["bookmark 0", "bookmark 0"]
    );
}

#[tokio::test]
async fn watches_end_when_the_hub_stops() {
    let (hub, client) = hub().await;
    let events = config_maps(&client)
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap();
    hub.stop().await;
    assert!(events.try_collect::<Vec<_>>().await.unwrap().is_empty());
}
