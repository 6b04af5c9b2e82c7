//! Starts and stops the controllers.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_engine::fleet::Inventory;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::placements::{Input, Placements, Publisher, Received};
use crate::profiles::{self, Profiles};
use crate::registration::{self, Registration};
use crate::settings::{Output, Settings};
use crate::upkeep::Pace;
use crate::watch::{Feed, Source};

/// Messages that may wait between a watch and a controller; a full channel slows the watch down.
const WAITING: usize = 256;

/// One request in so many may be a write that no reader of decisions waits for.
const AFTERTHOUGHTS: usize = 8;

/// The controllers, running.
#[derive(Debug)]
pub struct Controllers {
    health: Health,
    metrics: Metrics,
    stop: oneshot::Sender<()>,
    placements: JoinHandle<()>,
    /// They end when the watches do.
    keepers: Vec<JoinHandle<()>>,
    watches: Vec<JoinHandle<()>>,
}

impl Controllers {
    /// Starts them on the current runtime.
    pub fn start(client: Client, settings: Settings) -> Controllers {
        let (health, metrics) = (Health::default(), Metrics::new());
        let (events, publish_events) = Events::new(client.clone(), metrics.clone());
        let slots = Arc::new(Semaphore::new(settings.parallel_writes.max(1)));
        let pace = Pace::new(&settings, slots.clone(), metrics.clone());
        let (sender, inputs) = mpsc::channel(WAITING);
        let mut feeds = Feeds::new(&settings, sender);
        let mut keepers = Vec::new();
        let mut profiles = Profiles::off();
        if settings.inventory == Inventory::ManagedClusters {
            if settings.cluster_profiles == Output::Auto {
                let (publisher, wanted, published) =
                    profiles::Publisher::new(client.clone(), &settings, pace.clone());
                feeds.profiles_first(wanted);
                profiles = published;
                keepers.push(tokio::spawn(publisher.run()));
            }
            if settings.registration {
                let (registration, wanted) = Registration::new(client.clone(), &settings, pace);
                feeds.registration(wanted);
                keepers.push(tokio::spawn(registration.run()));
            }
        }
        let publisher = Publisher {
            client: client.clone(),
            afterthoughts: Arc::new(Semaphore::new((settings.parallel_writes / AFTERTHOUGHTS).max(1))),
            slots,
            profiles,
            metrics: metrics.clone(),
        };
        let watches = feeds.watch(&client);
        let (stop, stopped) = oneshot::channel();
        let placements = Placements::new(settings, publisher, events, metrics.clone(), health.clone());
        tokio::spawn(publish_events);
        Controllers {
            health,
            metrics,
            stop,
            placements: tokio::spawn(placements.run(inputs, stopped)),
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

    /// Ends at once, in the middle of whatever is under way: what a crash does. Only tests want that.
    pub fn kill(self) {
        let tasks = self.watches.iter().chain(&self.keepers).chain([&self.placements]);
        tasks.for_each(JoinHandle::abort);
    }

    /// Ends the watches, finishes the writes that are under way, and returns.
    pub async fn stop(self) {
        self.watches.iter().for_each(JoinHandle::abort);
        // Nobody to tell means that it has ended already.
        let _ = self.stop.send(());
        let _ = self.placements.await;
        for keeper in self.keepers {
            let _ = keeper.await;
        }
    }
}

/// Who listens to which watch. A kind that nobody listens to is not watched.
struct Feeds {
    sender: mpsc::Sender<Received>,
    clusters: Vec<Feed<ManagedCluster>>,
    profiles: Vec<Feed<ClusterProfile>>,
    sets: Vec<Feed<ManagedClusterSet>>,
    bindings: Vec<Feed<ManagedClusterSetBinding>>,
    placements: Vec<Feed<Placement>>,
    leases: Option<Feed<Lease>>,
    inventory: Inventory,
    ocm_decisions: Output,
    slices: Output,
}

impl Feeds {
    /// What scheduling listens to.
    fn new(settings: &Settings, sender: mpsc::Sender<Received>) -> Feeds {
        let mut feeds = Feeds {
            clusters: Vec::new(),
            profiles: Vec::new(),
            sets: Vec::new(),
            bindings: Vec::new(),
            placements: vec![Feed::new(sender.clone(), Received::by(Input::Placement))],
            leases: None,
            inventory: settings.inventory,
            ocm_decisions: settings.ocm_decisions,
            slices: settings.slices,
            sender: sender.clone(),
        };
        match settings.inventory {
            Inventory::ManagedClusters => {
                feeds
                    .clusters
                    .push(Feed::new(sender.clone(), Received::by(Input::Cluster)));
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

    fn registration(&mut self, wanted: registration::Feeds) {
        self.clusters.push(wanted.clusters);
        self.sets.push(wanted.sets);
        self.bindings.push(wanted.bindings);
        self.leases = Some(wanted.leases);
    }

    /// Starts one watch per kind. Clusters, sets and bindings are not lost with their definitions.
    fn watch(self, client: &Client) -> Vec<JoinHandle<()>> {
        let (sender, mut watches) = (self.sender, Vec::new());
        macro_rules! watch {
            ($feeds:expr) => {
                watches.push(tokio::spawn(Source::new(client.clone(), $feeds).run()))
            };
            (guarded $feeds:expr) => {{
                let source = Source::new(client.clone(), $feeds).guarded(client.clone());
                watches.push(tokio::spawn(source.run()))
            }};
        }
        watch!(self.placements);
        watch!(vec![Feed::new(sender.clone(), Received::by(Input::Score))]);
        match self.inventory {
            Inventory::ManagedClusters => {
                watch!(guarded self.clusters);
                watch!(guarded self.sets);
                watch!(guarded self.bindings);
                if !self.profiles.is_empty() {
                    watch!(self.profiles);
                }
            }
            Inventory::ClusterProfiles => watch!(guarded self.profiles),
        }
        if let Some(feed) = self.leases {
            watches.push(tokio::spawn(registration::leases(client.clone(), feed).run()));
        }
        if self.ocm_decisions == Output::Auto {
            watch!(vec![Feed::new(sender.clone(), Received::by(Input::Decision))]);
        }
        if self.slices == Output::Auto {
            watch!(vec![Feed::new(sender, Received::by(Input::Slice))]);
        }
        watches
    }
}
