//! Which controller listens to which watch.

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
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::health::Outputs;
use crate::placements::{self, Input, Received};
use crate::profiles::{self, Profiles};
use crate::readiness::Readiness;
use crate::registration::acceptance::{self, Acceptance};
use crate::registration::{self, Registration};
use crate::settings::{Output, Settings};
use crate::upkeep::Pace;
use crate::{replicasets, syncer};

/// How long a watch lasts before it is asked for anew. A hub that is frozen, or behind a line that drops everything, is noticed
/// then; a shorter time asks a healthy one more often for nothing.
const WATCH: Duration = Duration::from_secs(60);

/// The listeners of each watch. A kind without listeners is not watched.
pub(super) struct Feeds {
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
    pub(super) fn new(settings: &Settings, log: FailureLog, tasks: Tasks) -> Feeds {
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
    pub(super) fn scheduling(self, settings: &Settings, sender: mpsc::Sender<Received>) -> Feeds {
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

    pub(super) fn without_scheduling(mut self, outputs: &Outputs) -> Feeds {
        tracing::info!("scheduling is off: --scheduling=off");
        self.readiness = Some(Readiness::new(outputs.clone()));
        self
    }

    /// In front of scheduling: a cluster's profile is on its way before a decision can name it.
    pub(super) fn profiles_first(&mut self, wanted: profiles::Feeds) {
        self.clusters.insert(0, wanted.clusters);
        self.sets.insert(0, wanted.sets);
        self.bindings.insert(0, wanted.bindings);
        self.placements.insert(0, wanted.placements);
        self.profiles.insert(0, wanted.profiles);
    }

    pub(super) fn registration(&mut self, wanted: registration::Feeds, accepting: acceptance::Feeds) {
        self.clusters.push(wanted.clusters);
        self.clusters.push(accepting.clusters);
        self.namespaces = Some(accepting.namespaces);
        self.sets.push(wanted.sets);
        self.bindings.push(wanted.bindings);
        self.leases = Some(wanted.leases);
    }

    /// Starts what looks after ManagedClusters: the profiles that stand for them, and their registration.
    pub(super) fn inventory(
        &mut self,
        client: &Client,
        settings: &Settings,
        pace: &Pace,
        outputs: &Outputs,
    ) -> (Profiles, Vec<JoinHandle<()>>) {
        let (mut profiles, mut keepers) = (Profiles::off(), Vec::new());
        if settings.cluster_profiles == Output::Auto {
            let (publisher, wanted, published) =
                profiles::Publisher::new(client.clone(), settings, pace.clone(), outputs.clone());
            self.profiles_first(wanted);
            profiles = published;
            keepers.push(self.tasks.spawn("cluster profiles", publisher.run()));
        } else {
            outputs.unwanted(Outputs::CLUSTER_PROFILES);
        }
        if settings.registration {
            let (registration, wanted) = Registration::new(client.clone(), settings, pace.clone());
            let (acceptance, accepting) = Acceptance::new(client.clone(), settings, pace.clone());
            self.registration(wanted, accepting);
            keepers.push(self.tasks.spawn("registration", registration.run()));
            keepers.push(self.tasks.spawn("acceptance", acceptance.run()));
        }
        (profiles, keepers)
    }

    pub(super) fn syncer(&mut self, wanted: syncer::Feeds) {
        self.clusters.push(wanted.clusters);
        self.sets.push(wanted.sets);
        self.bindings.push(wanted.bindings);
    }

    /// Joins the watches that there are and starts those that nobody else needs. Behind scheduling, which is what the
    /// rollouts follow.
    pub(super) fn replica_sets(
        &mut self,
        client: &Client,
        wanted: replicasets::Feeds,
    ) -> [JoinHandle<()>; 2] {
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
    pub(super) fn watch(mut self, client: &Client) -> Vec<JoinHandle<()>> {
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
