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
use portolan_runtime::watch::{Subscriber, Watch};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::health::Outputs;
use crate::placements::{self, Input, Received};
use crate::profiles::{self, Profiles};
use crate::readiness::Readiness;
use crate::reconcile::RequestContext;
use crate::registration::acceptance::{self, Acceptance};
use crate::registration::{self, Registration};
use crate::settings::{Output, Settings};
use crate::{replicasets, syncer};

/// How long a watch lasts before it is asked for anew. A hub that is frozen, or behind a line that drops everything, is noticed
/// then; a shorter time asks a healthy one more often for nothing.
const WATCH: Duration = Duration::from_secs(60);

/// The listeners of each watch. A kind without listeners is not watched.
pub(super) struct Subscribers {
    /// Scheduling, where it is on.
    scheduler: Option<mpsc::Sender<Received>>,
    /// Reports when every kind is listed. Only there where scheduling is off: the placements report it otherwise.
    readiness: Option<Readiness>,
    clusters: Vec<Subscriber<ManagedCluster>>,
    profiles: Vec<Subscriber<ClusterProfile>>,
    sets: Vec<Subscriber<ManagedClusterSet>>,
    bindings: Vec<Subscriber<ManagedClusterSetBinding>>,
    placements: Vec<Subscriber<Placement>>,
    decisions: Vec<Subscriber<PlacementDecision>>,
    leases: Option<Subscriber<Lease>>,
    namespaces: Option<Subscriber<Namespace>>,
    inventory: Inventory,
    slices: Output,
    restore_grace: Duration,
    log: FailureLog,
    tasks: Tasks,
}

impl Subscribers {
    pub(super) fn new(settings: &Settings, log: FailureLog, tasks: Tasks) -> Subscribers {
        Subscribers {
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
    pub(super) fn scheduling(self, settings: &Settings, sender: mpsc::Sender<Received>) -> Subscribers {
        let mut subscribers = Subscribers {
            scheduler: Some(sender.clone()),
            placements: vec![Subscriber::new(sender.clone(), Received::by(Input::Placement))],
            ..self
        };
        if settings.ocm_decisions == Output::Auto {
            subscribers
                .decisions
                .push(Subscriber::new(sender.clone(), Received::by(Input::Decision)));
        }
        match settings.inventory {
            Inventory::ManagedClusters => {
                subscribers.clusters.push(Subscriber::batched(
                    sender.clone(),
                    Received::by(Input::Cluster),
                    placements::heartbeats(),
                ));
                subscribers
                    .sets
                    .push(Subscriber::new(sender.clone(), Received::by(Input::Set)));
                subscribers
                    .bindings
                    .push(Subscriber::new(sender, Received::by(Input::Binding)));
            }
            Inventory::ClusterProfiles => subscribers
                .profiles
                .push(Subscriber::new(sender, Received::by(Input::Profile))),
        }
        subscribers
    }

    pub(super) fn without_scheduling(mut self, outputs: &Outputs) -> Subscribers {
        tracing::info!("scheduling is off: --scheduling=off");
        self.readiness = Some(Readiness::new(outputs.clone()));
        self
    }

    /// In front of scheduling: a cluster's profile is on its way before a decision can name it.
    pub(super) fn profiles_first(&mut self, wanted: profiles::Subscribers) {
        self.clusters.insert(0, wanted.clusters);
        self.sets.insert(0, wanted.sets);
        self.bindings.insert(0, wanted.bindings);
        self.placements.insert(0, wanted.placements);
        self.profiles.insert(0, wanted.profiles);
    }

    pub(super) fn registration(
        &mut self,
        wanted: registration::Subscribers,
        accepting: acceptance::Subscribers,
    ) {
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
        context: &RequestContext,
        outputs: &Outputs,
    ) -> (Profiles, Vec<JoinHandle<()>>) {
        let (mut profiles, mut keepers) = (Profiles::off(), Vec::new());
        if settings.cluster_profiles == Output::Auto {
            let (publisher, wanted, published) =
                profiles::Publisher::new(client.clone(), settings, context.clone(), outputs.clone());
            self.profiles_first(wanted);
            profiles = published;
            keepers.push(self.tasks.spawn("cluster profiles", publisher.run()));
        } else {
            outputs.unwanted(Outputs::CLUSTER_PROFILES);
        }
        if settings.registration {
            let (registration, wanted) = Registration::new(client.clone(), settings, context.clone());
            let (acceptance, accepting) = Acceptance::new(client.clone(), settings, context.clone());
            self.registration(wanted, accepting);
            keepers.push(self.tasks.spawn("registration", registration.run()));
            keepers.push(self.tasks.spawn("acceptance", acceptance.run()));
        }
        (profiles, keepers)
    }

    pub(super) fn syncer(&mut self, wanted: syncer::Subscribers) {
        self.clusters.push(wanted.clusters);
        self.sets.push(wanted.sets);
        self.bindings.push(wanted.bindings);
    }

    /// Joins the watches that there are and starts those that nobody else needs. Behind scheduling, which is what the
    /// rollouts follow.
    pub(super) fn replica_sets(
        &mut self,
        client: &Client,
        wanted: replicasets::Subscribers,
    ) -> [JoinHandle<()>; 2] {
        self.placements.push(wanted.placements);
        self.decisions.push(wanted.decisions);
        self.clusters.extend(wanted.clusters);
        self.sets.extend(wanted.cluster_sets);
        self.bindings.extend(wanted.bindings);
        let readiness = &mut self.readiness;
        let mut sets = vec![wanted.sets];
        sets.extend(readiness.as_mut().map(Readiness::subscriber));
        let mut works = vec![wanted.works];
        works.extend(readiness.as_mut().map(Readiness::subscriber));
        let sets = Watch::new(client.clone(), sets)
            .guarded(client.clone(), self.restore_grace)
            .logging(&self.log);
        let works = Watch::new(client.clone(), works)
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
            ($subscribers:expr $(, $guarded:ident)?) => {{
                let mut subscribers = $subscribers;
                // Where scheduling is off, some kinds have no listener.
                if !subscribers.is_empty() {
                    subscribers.extend(self.readiness.as_mut().map(Readiness::subscriber));
                    let watch = Watch::new(client.clone(), subscribers)
                        $(.$guarded(client.clone(), self.restore_grace))?
                        .watch_timeout(WATCH)
                        .logging(&self.log);
                    watches.push(tasks.spawn(watch.name(), watch.run()))
                }
            }};
        }
        watch!(self.placements, guarded);
        let scores = scheduler.clone();
        let scores = scores.map(|sender| Subscriber::new(sender, Received::by(Input::Score)));
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
        if let Some(subscriber) = self.leases {
            let leases = registration::leases(client.clone(), subscriber).logging(&self.log);
            watches.push(tasks.spawn(leases.name(), leases.run()));
        }
        if let Some(subscriber) = self.namespaces {
            let namespaces = acceptance::namespaces(client.clone(), subscriber).logging(&self.log);
            watches.push(tasks.spawn(namespaces.name(), namespaces.run()));
        }
        watch!(self.decisions);
        if self.slices == Output::Auto {
            let slices = scheduler.map(|sender| Subscriber::new(sender, Received::by(Input::Slice)));
            watch!(Vec::from_iter(slices));
        }
        watches.extend(
            self.readiness
                .map(|readiness| tasks.spawn("readiness", readiness.run())),
        );
        watches
    }
}
