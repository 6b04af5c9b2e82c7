//! The yardstick of CPU: a program that watches the kinds that the controllers decide on and by, and does nothing else.
//!
//! It runs beside the controllers, so that both have the same machine at the same moment: how fast the machine is, and
//! what else runs on it, cancels out of the ratio.

use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::multicluster;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

/// The watches, which end when this is dropped.
pub(super) type Reader = JoinSet<()>;

/// Reads everything once, and watches from then on.
pub(super) async fn read(client: &Client) -> Reader {
    let mut reader = Reader::new();
    reader.spawn(after_list::<ManagedCluster>(client).await);
    reader.spawn(after_list::<Placement>(client).await);
    reader.spawn(after_list::<PlacementDecision>(client).await);
    reader.spawn(after_list::<multicluster::PlacementDecision>(client).await);
    reader
}

/// Returns when the objects that there are have been read: what remains to be run is the watch alone.
async fn after_list<K>(client: &Client) -> impl Future<Output = ()> + use<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug + Send + 'static,
{
    let mut events = watcher(Api::<K>::all(client.clone()), watcher::Config::default()).boxed();
    while let Some(event) = events.next().await {
        if matches!(event, Ok(Event::InitDone)) {
            break;
        }
    }
    events.for_each(|_| std::future::ready(()))
}
