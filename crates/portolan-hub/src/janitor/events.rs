//! Events are news: after an hour nobody asks for them, and nobody deletes them.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::watch;

use crate::server::{Core, DeleteOptions};
use crate::store::Key;

const KEEP: SignedDuration = SignedDuration::from_hours(1);
/// How far the clock of the writer of an event may be ahead of the hub's.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);
const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);

/// Deletes old events until the hub stops.
pub(crate) async fn expire(core: Arc<Core>, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let registry = core.registry();
        let Some(resource) = registry.find("", "v1", "events") else {
            return;
        };
        for event in core.store.range(&Key::prefix("", "events", None)).objects {
            if is_old(&event.value(), core.clock.now()) {
                // One that changed or went meanwhile is no concern of ours.
                let resource_version = Some(event.revision().to_string());
                let options = DeleteOptions {
                    resource_version,
                    ..DeleteOptions::default()
                };
                let _ = core.delete(resource, event.key(), &options).await;
            }
            // In memory nothing of this waits, and there may be very many.
            tokio::task::yield_now().await;
        }
    }
}

/// Whether an event was last written too long ago, as far as it tells. Times in the future do not
/// count: they would keep an event for ever.
fn is_old(event: &Value, now: Timestamp) -> bool {
    let time = |pointer: &str| event.pointer(pointer)?.as_str()?.parse::<Timestamp>().ok();
    let last = [
        "/metadata/creationTimestamp",
        "/lastTimestamp",
        "/series/lastObservedTime",
    ]
    .into_iter()
    .filter_map(time)
    .filter(|time| *time <= now + AHEAD)
    .max();
    last.is_some_and(|last| last < now - KEEP)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_that_has_not_come_keeps_no_event() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let is_old = |last: &str| {
            let created = "2026-01-31T10:00:00Z";
            let event = json!({"metadata": {"creationTimestamp": created}, "lastTimestamp": last});
            let series =
                json!({"metadata": {"creationTimestamp": created}, "series": {"lastObservedTime": last}});
            assert_eq!(is_old(&event, now), is_old(&series, now));
            is_old(&event, now)
        };
        assert!(is_old("2026-01-31T10:30:00Z"));
        assert!(!is_old("2026-01-31T11:30:00Z"));
        assert!(!is_old("2026-01-31T12:01:00Z"), "a clock that is ahead");
        assert!(is_old("2026-01-31T13:00:00Z"));
        assert!(is_old("9999-01-01T00:00:00Z"));
    }
}
