//! Events are news: after an hour nobody asks for them, and nobody deletes them.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::server::{Core, DeleteOptions};
use crate::store::{Key, Stored};

const KEEP: SignedDuration = SignedDuration::from_hours(1);
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
        let limit = core.clock.now() - KEEP;
        for event in core.store.range(&Key::prefix("", "events", None)).objects {
            if last_change(&event).is_some_and(|time| time < limit) {
                // One that changed or went meanwhile is no concern of ours.
                let resource_version = Some(event.revision().to_string());
                let options = DeleteOptions {
                    resource_version,
                    ..DeleteOptions::default()
                };
                let _ = core.delete(resource, event.key(), &options).await;
            }
        }
    }
}

/// When the event was last written, as far as it tells.
fn last_change(event: &Stored) -> Option<Timestamp> {
    let event = event.value();
    let time = |pointer: &str| event.pointer(pointer)?.as_str()?.parse::<Timestamp>().ok();
    [
        "/metadata/creationTimestamp",
        "/lastTimestamp",
        "/series/lastObservedTime",
    ]
    .into_iter()
    .filter_map(time)
    .max()
}
