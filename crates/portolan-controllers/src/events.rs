//! Events on Placements: what happened, for people. They are told at leisure and never hold up a decision.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use portolan_api::{cluster, multicluster};
use tokio::sync::mpsc;

use crate::metrics::Metrics;

/// Events that may wait. What comes on top while a hub starts is dropped and counted.
const WAITING: usize = 256;
/// Shortest time between two events, over the whole hub.
const NOTE_INTERVAL: Duration = Duration::from_millis(100);

/// An Event on a placement, before it has a time and a reporter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventDraft {
    pub(crate) warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) action: &'static str,
    pub(crate) message: String,
    /// The decision object that the Event is about.
    pub(crate) object: Option<EventRegarding>,
}

/// A decision object of either kind, in the namespace of the placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventRegarding {
    Decision(String),
    Slice(String),
}

/// Where drafts of Events are handed in.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    sender: mpsc::Sender<(ObjectReference, EventDraft)>,
    metrics: Metrics,
}

impl Events {
    /// The handle, and the task that publishes until the last handle is gone.
    pub(crate) fn new(client: Client, metrics: Metrics) -> (Events, impl Future<Output = ()> + Send) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Events { sender, metrics }, publish(client, receiver))
    }

    /// Tells people about a placement.
    pub(crate) fn tell(&self, placement: &ObjectReference, notes: Vec<EventDraft>) {
        for note in notes {
            if self.sender.try_send((placement.clone(), note)).is_err() {
                self.metrics.event_dropped();
            }
        }
    }
}

async fn publish(client: Client, mut notes: mpsc::Receiver<(ObjectReference, EventDraft)>) {
    let reporter = Reporter {
        controller: "portolan".to_owned(),
        instance: None,
    };
    let recorder = Recorder::new(client, reporter);
    while let Some((placement, note)) = notes.recv().await {
        let namespace = placement.namespace.as_deref();
        let secondary = note.object.as_ref().map(|object| related(namespace, object));
        let event = Event {
            type_: if note.warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: note.reason.to_owned(),
            note: Some(note.message),
            action: note.action.to_owned(),
            secondary,
        };
        if let Err(error) = recorder.publish(&event, &placement).await {
            tracing::debug!(error = %portolan_runtime::failure::error_chain(&error), "an event was not published");
        }
        tokio::time::sleep(NOTE_INTERVAL).await;
    }
}

/// The two kinds have the same name; the group tells them apart.
fn related(namespace: Option<&str>, object: &EventRegarding) -> ObjectReference {
    let (api_version, name) = match object {
        EventRegarding::Decision(name) => (cluster::PlacementDecision::api_version(&()), name),
        EventRegarding::Slice(name) => (multicluster::PlacementDecision::api_version(&()), name),
    };
    ObjectReference {
        kind: Some("PlacementDecision".to_owned()),
        api_version: Some(api_version.into_owned()),
        namespace: namespace.map(str::to_owned),
        name: Some(name.clone()),
        ..ObjectReference::default()
    }
}
