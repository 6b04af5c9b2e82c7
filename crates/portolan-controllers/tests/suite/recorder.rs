//! Records what a reader of the API sees: every event of decisions, slices and placements, in the server's order.

use std::fmt::Debug;

use futures::TryStreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::multicluster;
use portolan_check::stream::{Event, Recording};
use portolan_check::{Object, State};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::world::{World, eventually};

pub(crate) struct Recorder {
    recording: Recording,
    events: mpsc::UnboundedReceiver<(u64, Event)>,
    watches: Vec<JoinHandle<()>>,
    /// Events since the last mark.
    pending: Vec<(u64, Event)>,
}

impl Recorder {
    /// Starts with what is there now, which counts as settled.
    pub(crate) async fn start(world: &World) -> Recorder {
        let (sender, events) = mpsc::unbounded_channel();
        let mut initial = State::default();
        let (client, namespace) = (&world.client, &world.namespace);
        let watches = vec![
            follow::<PlacementDecision>(client, namespace, &mut initial, sender.clone()).await,
            follow::<multicluster::PlacementDecision>(client, namespace, &mut initial, sender.clone()).await,
            follow::<Placement>(client, namespace, &mut initial, sender).await,
        ];
        Recorder {
            recording: Recording::starting_at(initial),
            events,
            watches,
            pending: Vec::new(),
        }
    }

    /// Takes in what has arrived; says whether anything had.
    fn drain(&mut self) -> bool {
        let before = self.pending.len();
        while let Ok(event) = self.events.try_recv() {
            self.pending.push(event);
        }
        self.pending.len() > before
    }

    /// Waits until the controllers have nothing to do and no event comes any more, and marks that.
    pub(crate) async fn settle(&mut self, world: &World) {
        let mut calm = 0;
        eventually("the controllers come to rest", async || {
            let busy = world.metric("portolan_queue_depth") > 0.0;
            calm = if self.drain() || busy { 0 } else { calm + 1 };
            calm > 12
        })
        .await;
        self.pending.sort_by_key(|(version, _)| *version);
        let events = self.pending.drain(..).map(|(_, event)| event);
        self.recording.events.extend(events);
        self.recording.events.push(Event::Settled);
    }

    pub(crate) fn finish(mut self) -> Recording {
        self.watches.iter().for_each(JoinHandle::abort);
        self.drain();
        self.pending.sort_by_key(|(version, _)| *version);
        self.recording
            .events
            .extend(self.pending.into_iter().map(|(_, event)| event));
        self.recording
    }
}

async fn follow<K>(
    client: &Client,
    namespace: &str,
    initial: &mut State,
    events: mpsc::UnboundedSender<(u64, Event)>,
) -> JoinHandle<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Into<Object>
        + Send
        + 'static,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    let list = api.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.clone().unwrap();
    for object in list.items {
        initial.put(object);
    }
    tokio::spawn(async move {
        // The server may end a watch; it goes on from the last version seen.
        let mut version = version;
        loop {
            let watch = api
                .watch(&WatchParams::default().timeout(290), &version)
                .await
                .unwrap();
            let mut watch = Box::pin(watch);
            while let Ok(Some(event)) = watch.try_next().await {
                let (wrap, object): (fn(Object) -> Event, K) = match event {
                    WatchEvent::Added(object) => (Event::Added, object),
                    WatchEvent::Modified(object) => (Event::Modified, object),
                    WatchEvent::Deleted(object) => (Event::Deleted, object),
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(error) => panic!("the recording has a hole: {error:?}"),
                };
                version = object.resource_version().unwrap();
                if events
                    .send((version.parse().unwrap(), wrap(object.into())))
                    .is_err()
                {
                    return;
                }
            }
        }
    })
}
