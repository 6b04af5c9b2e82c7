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
    // A server may say at any time how far it is.
    let events = events.try_filter(|event| std::future::ready(!matches!(event, WatchEvent::Bookmark(_))));
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
    // Since 1.36 a watch from 0 begins with a bookmark.
    let events = events.try_filter(|event| std::future::ready(!matches!(event, WatchEvent::Bookmark(_))));
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

/// More than a hub looks at in one go, and those before the last are nothing to the watch.
#[tokio::test]
async fn the_last_of_many_objects_is_shown_though_no_other_matches() {
    let (server, client) = server().await;
    let api = config_maps(&client);
    for index in 0..200 {
        let mut object = config_map(&format!("object-{index:03}"), "1");
        if index == 199 {
            object.labels_mut().insert("on".into(), "yes".into());
        }
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let patience = std::time::Duration::from_secs(60);
    let shown = async |params: WatchParams, version: &str, count: usize| {
        let events = api.watch(&params, version).await.unwrap();
        let events = tokio::time::timeout(patience, events.take(count).try_collect::<Vec<_>>()).await;
        let events = events
            .expect("what is there is shown before anything else happens")
            .unwrap();
        events.iter().map(show).collect::<Vec<_>>()
    };
    // Without a version.
    let labelled = WatchParams::default().labels("on=yes");
    assert_eq!(shown(labelled.clone(), "", 1).await, ["+object-199"]);
    if server.lacks(Feature::StreamingLists) {
        return;
    }
    let streamed = WatchParams {
        send_initial_events: true,
        ..labelled
    };
    assert_eq!(shown(streamed, "0", 2).await, ["+object-199", "bookmark 1"]);
}
