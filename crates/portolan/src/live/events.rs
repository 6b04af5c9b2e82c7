//! The events of a placement: what controllers said about it, and consumers of its decision. The standard leaves events
//! to consumers as the way to answer a scheduler.

use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::ListParams;
use portolan_api::cluster::GROUP;
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
    /// The component that reported the event; empty when the event has no source.
    pub(crate) from: String,
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
    let mut events: Vec<Event> = events.into_iter().filter(is_about_ours).map(shown).collect();
    events.sort_by_key(|event| event.time);
    events
}

/// Other APIs have a kind of this name too.
fn is_about_ours(event: &v1::Event) -> bool {
    let version = event.involved_object.api_version.as_deref().unwrap_or_default();
    version.is_empty() || version.split_once('/').is_some_and(|(group, _)| group == GROUP)
}

/// Old and new clients write the time, the count and their name into different fields.
fn shown(event: v1::Event) -> Event {
    let series = event.series.as_ref();
    let seen = series
        .and_then(|series| series.last_observed_time.as_ref().map(|time| time.0))
        .or(event.last_timestamp.as_ref().map(|time| time.0))
        .or(event.event_time.as_ref().map(|time| time.0))
        .or(event.metadata.creation_timestamp.as_ref().map(|time| time.0));
    let count = series.and_then(|series| series.count).or(event.count);
    let new = event.reporting_component.filter(|name| !name.is_empty());
    let from = new.or_else(|| event.source.and_then(|source| source.component));
    Event {
        from: from.unwrap_or_default(),
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

    #[test]
    fn who_said_it_is_shown_whichever_field_holds_the_name() {
        let events = ordered(vec![
            event(json!({ "source": { "component": "old-client" } })),
            event(json!({ "reportingComponent": "new-client", "source": {} })),
            event(json!({})),
        ]);
        let from: Vec<&str> = events.iter().map(|event| event.from.as_str()).collect();
        assert_eq!(from, ["old-client", "new-client", ""]);
    }

    #[test]
    fn events_on_a_placement_of_another_group_are_left_out() {
        let of = |version: &str| {
            event(json!({ "involvedObject": { "apiVersion": version, "kind": "Placement" } }))
        };
        let events = ordered(vec![
            of("apps.open-cluster-management.io/v1"),
            of("cluster.open-cluster-management.io/v1beta1"),
        ]);
        assert_eq!(events.len(), 1);
    }
}
