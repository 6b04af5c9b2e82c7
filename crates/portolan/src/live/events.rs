//! The events of a placement: what controllers said about it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::ListParams;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use super::{Server, explain};

/// One event, in the words of `kubectl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    /// When it was last seen.
    pub(crate) time: Option<Timestamp>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) reason: String,
    /// How often it was seen.
    pub(crate) count: i32,
    pub(crate) message: String,
}

/// The events of a placement, newest last.
pub(super) async fn of(server: &Server, key: &PlacementKey) -> anyhow::Result<Vec<Event>> {
    let api: Api<v1::Event> = Api::namespaced(server.client.clone(), &key.namespace);
    let selector = format!("involvedObject.kind=Placement,involvedObject.name={}", key.name);
    let list = api.list(&ListParams::default().fields(&selector)).await;
    let list = list.map_err(|error| explain(&error, "list events", &server.url))?;
    Ok(ordered(list.items))
}

fn ordered(events: Vec<v1::Event>) -> Vec<Event> {
    let mut events: Vec<Event> = events.into_iter().map(shown).collect();
    events.sort_by_key(|event| event.time);
    events
}

/// Old and new clients write the time and the count into different fields.
fn shown(event: v1::Event) -> Event {
    let series = event.series.as_ref();
    let seen = series
        .and_then(|series| series.last_observed_time.as_ref().map(|time| time.0))
        .or(event.last_timestamp.as_ref().map(|time| time.0))
        .or(event.event_time.as_ref().map(|time| time.0))
        .or(event.metadata.creation_timestamp.as_ref().map(|time| time.0));
    let count = series.and_then(|series| series.count).or(event.count);
    Event {
        time: seen,
        kind: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        count: count.unwrap_or(1).max(1),
        message: event.message.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(fields: serde_json::Value) -> v1::Event {
        let mut event =
            json!({ "metadata": {}, "involvedObject": {}, "reason": "Updated", "type": "Normal" });
        event
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn the_newest_event_is_last_whichever_field_holds_its_time() {
        let events = ordered(vec![
            event(
                json!({ "message": "b", "series": { "count": 4, "lastObservedTime": "2026-01-03T00:00:00.000000Z" },
                          "eventTime": "2026-01-01T00:00:00.000000Z" }),
            ),
            event(json!({ "message": "a", "lastTimestamp": "2026-01-02T00:00:00Z", "count": 2 })),
        ]);
        let seen: Vec<(&str, i32)> = events
            .iter()
            .map(|event| (event.message.as_str(), event.count))
            .collect();
        assert_eq!(seen, [("a", 2), ("b", 4)]);
    }
}
