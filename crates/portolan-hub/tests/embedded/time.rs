//! Hours that pass in milliseconds, on a paused clock.

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};

use super::*;

#[tokio::test(start_paused = true)]
async fn events_are_forgotten_after_an_hour() {
    let start = tokio::time::Instant::now();
    let epoch: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let clock = move || epoch + start.elapsed();
    let hub = Hub::builder().clock(clock).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let api: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(client);
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"name": "a", "namespace": "default"}});
    api.create(&PostParams::default(), &serde_json::from_value(event).unwrap())
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(50 * 60)).await;
    assert!(api.get_opt("e").await.unwrap().is_some());
    tokio::time::sleep(std::time::Duration::from_secs(20 * 60)).await;
    assert!(api.get_opt("e").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_time_is_over_and_bookmarks_come_each_minute() {
    let (_hub, client) = hub().await;
    let params = WatchParams::default().timeout(150);
    let events = config_maps(&client).watch(&params, "0").await.unwrap();
    let events: Vec<_> = events.try_collect().await.unwrap();
    let bookmarks = events
        .iter()
        .filter(|event| matches!(event, WatchEvent::Bookmark(_)));
    // One a minute, and one at the end.
    assert_eq!((bookmarks.count(), events.len()), (3, 3));
}

#[tokio::test]
async fn a_watch_from_a_forgotten_version_is_told_to_list_again() {
    let hub = Hub::builder().history(5).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let api = config_maps(&client);
    let first = api.list(&ListParams::default().limit(1)).await.unwrap();
    let first = first.metadata.resource_version.unwrap();
    for i in 0..10 {
        api.create(&PostParams::default(), &config_map(&format!("o{i}"), "1"))
            .await
            .unwrap();
    }
    let events = api.watch(&WatchParams::default(), &first).await.unwrap();
    let events: Vec<_> = events.map(Result::unwrap).collect().await;
    match &events[..] {
        [WatchEvent::Error(status)] => assert_eq!((status.code, status.reason.as_str()), (410, "Expired")),
        other => panic!("expected one refusal, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_goes_on_from_where_it_ended_whatever_others_wrote() {
    let hub = Hub::builder().history(5).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let quiet: Api<k8s_openapi::api::core::v1::Secret> = Api::default_namespaced(client.clone());
    let params = WatchParams::default().timeout(30);
    let mut events = quiet.watch(&params, "0").await.unwrap().boxed();
    // The watch has read what there is before others write.
    let nothing = tokio::time::timeout(std::time::Duration::from_secs(1), events.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
    for i in 0..10 {
        let map = config_map(&format!("o{i}"), "1");
        config_maps(&client)
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
    }
    let events: Vec<_> = events.try_collect().await.unwrap();
    let [WatchEvent::Bookmark(bookmark)] = &events[..] else {
        panic!("expected a bookmark at the end, got {events:?}");
    };
    let reached = &bookmark.metadata.resource_version;
    let events: Vec<_> = quiet
        .watch(&params, reached)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert!(matches!(&events[..], [WatchEvent::Bookmark(_)]), "{events:?}");
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
