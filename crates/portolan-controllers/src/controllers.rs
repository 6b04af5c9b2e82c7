//! Starts and stops the controllers.

mod subscribers;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use portolan_engine::fleet::Inventory;
use portolan_runtime::logging::FailureLog;
use portolan_runtime::tasks::Tasks;
use portolan_runtime::watch::bounded;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::health::{Health, Outputs};
use crate::metrics::Metrics;
use crate::placements::{self, Input, Placements, Publisher, Received};
use crate::profiles::Profiles;
use crate::reconcile::RequestContext;
use crate::replicasets::ReplicaSets;
use crate::settings::{Output, Settings};
use crate::syncer::Syncer;
use crate::{fields, finished};
use subscribers::Subscribers;

/// Messages that may wait between a watch and a controller; a full channel slows the watch down.
const WAITING: usize = 256;

/// One request in so many may be a write that no reader of decisions waits for.
const AFTERTHOUGHTS: usize = 8;

/// The controllers, running.
#[derive(Debug)]
pub struct Controllers {
    tasks: Tasks,
    health: Health,
    metrics: Metrics,
    stop: oneshot::Sender<()>,
    /// Where they schedule.
    placements: Option<JoinHandle<()>>,
    /// They end when the watches do.
    keepers: Vec<JoinHandle<()>>,
    watches: Vec<JoinHandle<()>>,
}

impl Controllers {
    /// Starts them on the current runtime.
    pub fn start(client: Client, settings: Settings) -> Controllers {
        // The watches limit what they read themselves; writes and single lists have nothing else that does.
        Controllers::start_bounded(bounded(client), settings)
    }

    fn start_bounded(client: Client, settings: Settings) -> Controllers {
        let outputs = Outputs::default();
        let (health, metrics) = (outputs.health.clone(), outputs.metrics.clone());
        metrics.count_unreadable(health.failures());
        let (events, publish_events) = Events::new(client.clone(), metrics.clone());
        let slots = Arc::new(Semaphore::new(settings.parallel_writes.max(1)));
        let log = health.failures().clone();
        let tasks = health.tasks().clone();
        let context = RequestContext::new(&settings, slots.clone(), &outputs);
        let (sender, inputs) = mpsc::channel(WAITING);
        let schedules = settings.scheduling == Output::Auto;
        let subscribers = Subscribers::new(&settings, log.clone(), tasks.clone());
        let mut subscribers = match schedules {
            true => subscribers.scheduling(&settings, sender.clone()),
            false => subscribers.without_scheduling(&outputs),
        };
        let mut keepers = Vec::new();
        let sync_pace = context.clone();
        let profiles = match settings.inventory {
            Inventory::ManagedClusters => {
                let (profiles, started) = subscribers.inventory(&client, &settings, &context, &outputs);
                keepers.extend(started);
                profiles
            }
            Inventory::ClusterProfiles => Profiles::off(),
        };
        let mut watches = Vec::new();
        if settings.carries(settings.finished_works) {
            let (works, finished) = finished::start(&client, &settings, context.clone());
            watches.push(tasks.spawn(works.name(), works.run()));
            keepers.push(tasks.spawn("finished works", finished));
        }
        if settings.carries(settings.replica_sets) {
            let (sets, wanted) = ReplicaSets::new(client.clone(), &settings, context);
            watches.extend(subscribers.replica_sets(&client, wanted));
            keepers.push(tasks.spawn("replica sets", sets.run()));
        }
        let publisher = Publisher {
            client: client.clone(),
            low_priority: Arc::new(Semaphore::new((settings.parallel_writes / AFTERTHOUGHTS).max(1))),
            slots,
            profiles,
            metrics: metrics.clone(),
            log,
        };
        if settings.work_syncer == Output::Auto {
            let (syncer, works, wanted) = Syncer::new(client.clone(), &settings, sync_pace, events.clone());
            if let Some(wanted) = wanted {
                subscribers.syncer(wanted);
            }
            watches.push(tasks.spawn(works.name(), works.run()));
            keepers.push(tasks.spawn("work syncer", syncer.run()));
        }
        watches.extend(subscribers.watch(&client));
        let (stop, stopped) = oneshot::channel();
        let placements = schedules.then(|| {
            let missing_fields = |missing_fields| Received::now(Input::MissingFields(missing_fields));
            let fields = fields::watch(client.clone(), outputs.clone(), sender, missing_fields);
            // Without the right to read definitions there is nothing to look at.
            watches.push(tasks.spawn_finite("fields of definitions", fields));
            let placements = Placements::new(settings, publisher, events, outputs);
            tasks.spawn(placements::NAME, placements.run(inputs, stopped))
        });
        tasks.spawn("events", publish_events);
        watches.push(tasks.spawn("connection", connection(client, health.failures().clone())));
        match cfg!(test) {
            true => tasks.watch_on(&tokio::runtime::Handle::current()),
            false => tasks.watch(),
        };
        Controllers {
            health,
            metrics,
            stop,
            placements,
            tasks,
            keepers,
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

    /// Waits until a task has died or a loop stands still, and says which. The controllers do not do all their work from
    /// then on: they are to be stopped and started again.
    pub async fn failed(&self) -> String {
        self.tasks.failed().await
    }

    /// Ends at once, in the middle of whatever is under way: what a crash does. Only tests want that.
    pub fn kill(self) {
        self.tasks.stopping();
        let tasks = self.watches.iter().chain(&self.keepers).chain(&self.placements);
        tasks.for_each(JoinHandle::abort);
    }

    /// Ends the watches, finishes the writes that are under way, and returns.
    pub async fn stop(self) {
        self.tasks.stopping();
        self.watches.iter().for_each(JoinHandle::abort);
        // A closed channel means that the task has ended already.
        let _ = self.stop.send(());
        if let Some(placements) = self.placements {
            let _ = placements.await;
        }
        for reconciler in self.keepers {
            let _ = reconciler.await;
        }
    }
}

/// How often a hub that does not answer is asked whether it is back.
const RETRY: Duration = Duration::from_secs(2);

/// Notices that a hub which did not answer is back. Watches go on where they were and say so only when something changes.
async fn connection(client: Client, log: FailureLog) {
    loop {
        tokio::time::sleep(RETRY).await;
        if log.is_unanswered() && client.apiserver_version().await.is_ok() {
            log.answered();
        }
    }
}
