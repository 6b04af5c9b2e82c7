//! Starts and stops the controllers.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use portolan_api::cluster::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use portolan_api::labels::ocm;
use portolan_api::multicluster::ClusterProfile;
use portolan_engine::fleet::Inventory;
use portolan_runtime::logging::FailureLog;
use portolan_runtime::tasks::Tasks;
use portolan_runtime::watch::{Feed, Source};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::health::{Health, Outputs};
use crate::metrics::Metrics;
use crate::placements::{self, Input, Placements, Publisher, Received};
use crate::profiles::{self, Profiles};
use crate::readiness::Readiness;
use crate::registration::acceptance::{self, Acceptance};
use crate::registration::{self, Registration};
use crate::replicasets::{self, ReplicaSets};
use crate::settings::{Output, Settings};
use crate::syncer::Syncer;
use crate::upkeep::Pace;
use crate::{fields, finished};

#[cfg(test)]
mod tests;

/// Messages that may wait between a watch and a controller; a full channel slows the watch down.
const WAITING: usize = 256;

/// How long a watch lasts before it is asked for anew. A hub that is frozen, or behind a line that drops everything, is noticed
/// then; a shorter time asks a healthy one more often for nothing.
const WATCH: Duration = Duration::from_secs(60);

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
        let outputs = Outputs::default();
        let (health, metrics) = (outputs.health.clone(), outputs.metrics.clone());
        metrics.count_unreadable(health.failures());
        let (events, publish_events) = Events::new(client.clone(), metrics.clone());
        let slots = Arc::new(Semaphore::new(settings.parallel_writes.max(1)));
        let log = health.failures().clone();
        let tasks = health.tasks().clone();
        let pace = Pace::new(&settings, slots.clone(), &outputs);
        let (sender, inputs) = mpsc::channel(WAITING);
        let schedules = settings.scheduling == Output::Auto;
        let mut feeds = match schedules {
            true => Feeds::new(&settings, log.clone(), tasks.clone()).scheduling(&settings, sender.clone()),
            false => {
                tracing::info!("scheduling is off: --scheduling=off");
                let mut feeds = Feeds::new(&settings, log.clone(), tasks.clone());
                feeds.readiness = Some(Readiness::new(outputs.clone()));
                feeds
            }
        };
        let mut keepers = Vec::new();
        let sync_pace = pace.clone();
        let mut profiles = Profiles::off();
        if settings.inventory == Inventory::ManagedClusters {
            if settings.cluster_profiles == Output::Auto {
                let (publisher, wanted, published) =
                    profiles::Publisher::new(client.clone(), &settings, pace.clone(), outputs.clone());
                feeds.profiles_first(wanted);
                profiles = published;
                keepers.push(tasks.spawn("cluster profiles", publisher.run()));
            } else {
                outputs.unwanted(Outputs::CLUSTER_PROFILES);
            }
            if settings.registration {
                let (registration, wanted) = Registration::new(client.clone(), &settings, pace.clone());
                let (acceptance, accepting) = Acceptance::new(client.clone(), &settings, pace.clone());
                feeds.registration(wanted, accepting);
                keepers.push(tasks.spawn("registration", registration.run()));
                keepers.push(tasks.spawn("acceptance", acceptance.run()));
            }
        }
        let mut watches = Vec::new();
        if settings.carries(settings.finished_works) {
            let (works, finished) = finished::start(&client, &settings, pace.clone());
            watches.push(tasks.spawn(works.name(), works.run()));
            keepers.push(tasks.spawn("finished works", finished));
        }
        if settings.carries(settings.replica_sets) {
            let (sets, wanted) = ReplicaSets::new(client.clone(), &settings, pace);
            watches.extend(feeds.replica_sets(&client, wanted));
            keepers.push(tasks.spawn("replica sets", sets.run()));
        }
        let publisher = Publisher {
            client: client.clone(),
            afterthoughts: Arc::new(Semaphore::new((settings.parallel_writes / AFTERTHOUGHTS).max(1))),
            slots,
            profiles,
            metrics: metrics.clone(),
            log,
        };
        if settings.work_syncer == Output::Auto {
            let (syncer, works, wanted) = Syncer::new(client.clone(), &settings, sync_pace, events.clone());
            if let Some(wanted) = wanted {
                feeds.clusters.push(wanted.clusters);
                feeds.sets.push(wanted.sets);
                feeds.bindings.push(wanted.bindings);
            }
            watches.push(tasks.spawn(works.name(), works.run()));
            keepers.push(tasks.spawn("work syncer", syncer.run()));
        }
        watches.extend(feeds.watch(&client));
        let (stop, stopped) = oneshot::channel();
        let placements = schedules.then(|| {
            let lacks = |lacks| Received::now(Input::Lacks(lacks));
            let fields = fields::watch(client.clone(), outputs.clone(), sender, lacks);
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
        for keeper in self.keepers {
            let _ = keeper.await;
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

/// The listeners of each watch. A kind without listeners is not watched.
struct Feeds {
    /// Scheduling, where it is on.
    scheduler: Option<mpsc::Sender<Received>>,
    /// Reports when every kind is listed. Only there where scheduling is off: the placements report it otherwise.
    readiness: Option<Readiness>,
    clusters: Vec<Feed<ManagedCluster>>,
    profiles: Vec<Feed<ClusterProfile>>,
    sets: Vec<Feed<ManagedClusterSet>>,
    bindings: Vec<Feed<ManagedClusterSetBinding>>,
    placements: Vec<Feed<Placement>>,
    decisions: Vec<Feed<PlacementDecision>>,
    leases: Option<Feed<Lease>>,
    namespaces: Option<Feed<Namespace>>,
    inventory: Inventory,
    slices: Output,
    restore_grace: Duration,
    log: FailureLog,
    tasks: Tasks,
}

impl Feeds {
    fn new(settings: &Settings, log: FailureLog, tasks: Tasks) -> Feeds {
        Feeds {
            clusters: Vec::new(),
            profiles: Vec::new(),
            sets: Vec::new(),
            bindings: Vec::new(),
            placements: Vec::new(),
            decisions: Vec::new(),
            leases: None,
            namespaces: None,
            inventory: settings.inventory,
            slices: settings.slices,
            restore_grace: settings.restore_grace,
            scheduler: None,
            readiness: None,
            log,
            tasks,
        }
    }

    /// The same with what scheduling listens to.
    fn scheduling(self, settings: &Settings, sender: mpsc::Sender<Received>) -> Feeds {
        let mut feeds = Feeds {
            scheduler: Some(sender.clone()),
            placements: vec![Feed::new(sender.clone(), Received::by(Input::Placement))],
            ..self
        };
        if settings.ocm_decisions == Output::Auto {
            feeds
                .decisions
                .push(Feed::new(sender.clone(), Received::by(Input::Decision)));
        }
        match settings.inventory {
            Inventory::ManagedClusters => {
                feeds.clusters.push(Feed::patient(
                    sender.clone(),
                    Received::by(Input::Cluster),
                    placements::heartbeats(),
                ));
                feeds
                    .sets
                    .push(Feed::new(sender.clone(), Received::by(Input::Set)));
                feeds
                    .bindings
                    .push(Feed::new(sender, Received::by(Input::Binding)));
            }
            Inventory::ClusterProfiles => feeds
                .profiles
                .push(Feed::new(sender, Received::by(Input::Profile))),
        }
        feeds
    }

    /// In front of scheduling: a cluster's profile is on its way before a decision can name it.
    fn profiles_first(&mut self, wanted: profiles::Feeds) {
        self.clusters.insert(0, wanted.clusters);
        self.sets.insert(0, wanted.sets);
        self.bindings.insert(0, wanted.bindings);
        self.placements.insert(0, wanted.placements);
        self.profiles.insert(0, wanted.profiles);
    }

    fn registration(&mut self, wanted: registration::Feeds, accepting: acceptance::Feeds) {
        self.clusters.push(wanted.clusters);
        self.clusters.push(accepting.clusters);
        self.namespaces = Some(accepting.namespaces);
        self.sets.push(wanted.sets);
        self.bindings.push(wanted.bindings);
        self.leases = Some(wanted.leases);
    }

    /// Joins the watches that there are and starts those that nobody else needs. Behind scheduling, which is what the
    /// rollouts follow.
    fn replica_sets(&mut self, client: &Client, wanted: replicasets::Feeds) -> [JoinHandle<()>; 2] {
        self.placements.push(wanted.placements);
        self.decisions.push(wanted.decisions);
        self.clusters.extend(wanted.clusters);
        self.sets.extend(wanted.cluster_sets);
        self.bindings.extend(wanted.bindings);
        let readiness = &mut self.readiness;
        let mut sets = vec![wanted.sets];
        sets.extend(readiness.as_mut().map(Readiness::feed));
        let mut works = vec![wanted.works];
        works.extend(readiness.as_mut().map(Readiness::feed));
        let sets = Source::new(client.clone(), sets)
            .guarded(client.clone(), self.restore_grace)
            .logging(&self.log);
        let works = Source::new(client.clone(), works)
            .labelled(ocm::REPLICA_SET)
            .guarded(client.clone(), self.restore_grace)
            .logging(&self.log);
        [
            self.tasks.spawn(sets.name(), sets.run()),
            self.tasks.spawn(works.name(), works.run()),
        ]
    }

    /// Starts one watch per kind. What decisions are made of is not lost with its definitions.
    fn watch(mut self, client: &Client) -> Vec<JoinHandle<()>> {
        let (scheduler, tasks, mut watches) = (self.scheduler, self.tasks, Vec::new());
        macro_rules! watch {
            ($feeds:expr $(, $guarded:ident)?) => {{
                let mut feeds = $feeds;
                // Where scheduling is off, some kinds have no listener.
                if !feeds.is_empty() {
                    feeds.extend(self.readiness.as_mut().map(Readiness::feed));
                    let source = Source::new(client.clone(), feeds)
                        $(.$guarded(client.clone(), self.restore_grace))?
                        .lasting(WATCH)
                        .logging(&self.log);
                    watches.push(tasks.spawn(source.name(), source.run()))
                }
            }};
        }
        watch!(self.placements, guarded);
        let scores = scheduler.clone();
        let scores = scores.map(|sender| Feed::new(sender, Received::by(Input::Score)));
        watch!(Vec::from_iter(scores), guarded);
        match self.inventory {
            Inventory::ManagedClusters => {
                watch!(self.clusters, guarded);
                watch!(self.sets, guarded);
                watch!(self.bindings, guarded);
                watch!(self.profiles);
            }
            Inventory::ClusterProfiles => watch!(self.profiles, guarded),
        }
        if let Some(feed) = self.leases {
            let leases = registration::leases(client.clone(), feed).logging(&self.log);
            watches.push(tasks.spawn(leases.name(), leases.run()));
        }
        if let Some(feed) = self.namespaces {
            let namespaces = acceptance::namespaces(client.clone(), feed).logging(&self.log);
            watches.push(tasks.spawn(namespaces.name(), namespaces.run()));
        }
        watch!(self.decisions);
        if self.slices == Output::Auto {
            let slices = scheduler.map(|sender| Feed::new(sender, Received::by(Input::Slice)));
            watch!(Vec::from_iter(slices));
        }
        watches.extend(
            self.readiness
                .map(|readiness| tasks.spawn("readiness", readiness.run())),
        );
        watches
    }
}
