//! Starts and stops the controllers.

use std::sync::Arc;

use kube::Client;
use portolan_engine::fleet::Inventory;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::placements::{Input, Placements, Publisher};
use crate::settings::{Output, Settings};
use crate::watch::{Feed, Source};

/// Messages that may wait between a watch and a controller; a full channel slows the watch down.
const WAITING: usize = 256;

/// The controllers, running.
#[derive(Debug)]
pub struct Controllers {
    health: Health,
    metrics: Metrics,
    stop: oneshot::Sender<()>,
    placements: JoinHandle<()>,
    watches: Vec<JoinHandle<()>>,
}

impl Controllers {
    /// Starts them on the current runtime.
    pub fn start(client: Client, settings: Settings) -> Controllers {
        let (health, metrics) = (Health::default(), Metrics::new());
        let (events, publish_events) = Events::new(client.clone(), metrics.clone());
        let publisher = Publisher {
            client: client.clone(),
            slots: Arc::new(Semaphore::new(settings.parallel_writes.max(1))),
            profiles: None,
            metrics: metrics.clone(),
        };
        let (sender, inputs) = mpsc::channel(WAITING);
        let watches = watches(&client, &settings, &sender);
        let (stop, stopped) = oneshot::channel();
        let placements = Placements::new(settings, publisher, events, metrics.clone(), health.clone());
        tokio::spawn(publish_events);
        Controllers {
            health,
            metrics,
            stop,
            placements: tokio::spawn(placements.run(inputs, stopped)),
            watches,
        }
    }

    /// Whether they do their work.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// What they counted and measured, in Prometheus' text format.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Ends the watches, finishes the writes that are under way, and returns.
    pub async fn stop(self) {
        self.watches.iter().for_each(JoinHandle::abort);
        // Nobody to tell means that it has ended already.
        let _ = self.stop.send(());
        let _ = self.placements.await;
    }
}

fn watches(client: &Client, settings: &Settings, sender: &mpsc::Sender<Input>) -> Vec<JoinHandle<()>> {
    macro_rules! watch {
        ($input:path) => {{
            let feeds = vec![Feed::new(sender.clone(), $input)];
            tokio::spawn(Source::new(client.clone(), feeds).run())
        }};
    }
    let mut watches = vec![watch!(Input::Placement), watch!(Input::Score)];
    match settings.inventory {
        Inventory::ManagedClusters => {
            watches.push(watch!(Input::Cluster));
            watches.push(watch!(Input::Set));
            watches.push(watch!(Input::Binding));
        }
        Inventory::ClusterProfiles => watches.push(watch!(Input::Profile)),
    }
    if settings.ocm_decisions == Output::Auto {
        watches.push(watch!(Input::Decision));
    }
    if settings.slices == Output::Auto {
        watches.push(watch!(Input::Slice));
    }
    watches
}
