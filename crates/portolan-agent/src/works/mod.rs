//! Keeps the member cluster as the works of the hub say.
//!
//! ```text
//! work_queue (pure) the works that are known, how well, and which is due
//! work_reconciler  one look at one work: observe ─► plan ─► note ─► apply ─► remove ─► report
//! preparing  what is asked of the member cluster before that
//! object_locks  which objects are being dealt with, so that nobody else does
//! applying, removing   the two things that are done to objects
//! others  everybody who may own an object that is to be removed
//! owning  owner references on objects; leaving  records that somebody deletes
//! definitions  whether the member cluster has a place for records
//! evicting  records whose works are not on the hub
//! taking_over  records that another agent or an earlier version has written
//! executing  what the executor of a work may do
//! unrecorded  works that have no place for a record
//! telling  the status of a work on its way to the hub
//! judging  which works have a say in an object
//! items   the manifests on their way: their places, what the record says
//! known   what is known at one moment; computing  where it is thought about
//! trial   one look without servers, for fuzz targets
//! watching  objects that are looked at as they change
//! hub     what is asked of the hub: finalizer and status are written, works listed, the kind looked up
//! ```
//!
//! Several works are dealt with side by side, so that one whose objects take their time holds up no other. What one may
//! remove, or sees differently than another, it has alone meanwhile.

mod applying;
mod computing;
mod definitions;
mod evicting;
mod executing;
mod hub;
mod items;
mod judging;
mod known;
mod lanes;
mod leaving;
mod object_locks;
mod others;
mod owning;
mod preparing;
mod removing;
mod taking_over;
mod telling;
#[cfg(test)]
mod tests;
mod trial;
mod unrecorded;
mod watching;
mod work_queue;
mod work_reconciler;

use std::sync::Arc;

use kube::Client;
use portolan_api::multicluster;
use portolan_api::work::ManifestWork;
use portolan_runtime::tasks::LONGEST_WAIT;
use portolan_runtime::watch::{Delta, Subscriber, Watch};
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use crate::monitor::Monitor;
use crate::sabotage::{self, Rule, sabotaged};
use crate::settings::Settings;
use crate::work::{Distributed, Untyped, Work, WorkKey, WorkKind, read, unreadable};
pub use trial::try_out;
pub(crate) use watching::Watches;
#[cfg(test)]
pub(crate) use work_queue::Outcome;
pub(crate) use work_reconciler::WorkReconciler;

/// Messages that may wait between a watch and the queue; a full channel slows the watch down.
const WAITING: usize = 64;
/// Names the loop.
const NAME: &str = "works";

/// What a watch of works says.
#[derive(Debug)]
pub(crate) enum Input {
    /// The work is there.
    Work(Box<Work>),
    /// The work is gone.
    Gone(WorkKey),
    /// A list of the kind began.
    Listing(WorkKind),
    /// All works of the kind are known.
    Complete(WorkKind),
    /// The hub does not have the kind.
    Unserved(WorkKind),
    /// An object of the work has changed on the member cluster.
    ObjectChanged(WorkKey),
}

impl Input {
    fn of<K: Distributed>(delta: Delta<Untyped<K>>) -> Input {
        match delta {
            Delta::Applied(object) => {
                let work = read(K::KIND, &object.metadata, &object.spec, &object.status);
                Input::Work(Box::new(work))
            }
            Delta::Unreadable(object) => {
                let work = unreadable(K::KIND, &object.metadata, object.to_string());
                Input::Work(Box::new(work))
            }
            Delta::Deleted(key) => Input::Gone(WorkKey {
                kind: K::KIND,
                name: key.name,
            }),
            // The watches are not guarded, since an agent may not read definitions, and never say when one was made.
            Delta::ListStarted | Delta::CrdCreated(_) => Input::Listing(K::KIND),
            Delta::Synced => Input::Complete(K::KIND),
            Delta::NotServed | Delta::DeletionHeld(_) => Input::Unserved(K::KIND),
        }
    }
}

/// Starts the watches of both kinds and the loop that deals with them.
pub(crate) fn start(
    hub: Client,
    spoke: Client,
    settings: &Settings,
    monitor: &Monitor,
    stop: Receiver<bool>,
) -> (JoinHandle<()>, Vec<JoinHandle<()>>) {
    let (sender, inputs) = mpsc::channel(WAITING);
    let watches = vec![
        watch::<ManifestWork>(&hub, settings, sender.clone(), monitor),
        watch::<multicluster::Work>(&hub, settings, sender.clone(), monitor),
    ];
    let objects = Watches::new(
        spoke.clone(),
        sender,
        monitor.spoke.clone(),
        monitor.tasks.clone(),
    );
    let reconciler = Arc::new(WorkReconciler::new(
        hub,
        spoke,
        objects,
        settings,
        monitor.clone(),
    ));
    let sweeping = leaving::sweep(reconciler.clone(), settings.poll, stop.clone());
    let sweeping = monitor.tasks.spawn("sweep of records", sweeping);
    let looking = definitions::look_for(reconciler.clone(), settings.cluster.clone(), stop.clone());
    let looking = monitor.tasks.spawn_finite("definitions of records", looking);
    let keeping = keep(reconciler, settings.clone(), inputs, stop);
    let keeping = monitor.tasks.spawn(NAME, keeping);
    (keeping, watches.into_iter().chain([sweeping, looking]).collect())
}

/// Starts the watch of one kind.
fn watch<K: Distributed>(
    hub: &Client,
    settings: &Settings,
    sender: mpsc::Sender<Input>,
    monitor: &Monitor,
) -> JoinHandle<()> {
    let watch = works::<K>(hub, settings, sender).logging(&monitor.hub);
    monitor.tasks.spawn(watch.name(), watch.run())
}

fn works<K: Distributed>(
    hub: &Client,
    settings: &Settings,
    sender: mpsc::Sender<Input>,
) -> Watch<Untyped<K>> {
    let subscriber = Subscriber::new(sender, Input::of::<K>);
    let watch = match sabotaged(Rule::OwnNamespaceOnly) {
        true => Watch::new(hub.clone(), vec![subscriber]),
        false => Watch::namespaced(hub.clone(), &settings.cluster, vec![subscriber]),
    };
    let watch = watch.watch_timeout(settings.watch).listing_after_failures();
    match K::KIND {
        WorkKind::ManifestWork => watch,
        // Roles that were made for other agents know nothing of these.
        WorkKind::Work => watch.refused_means_none(),
    }
}

/// Deals with what is due until it is told to stop.
async fn keep(
    reconciler: Arc<WorkReconciler>,
    settings: Settings,
    mut inputs: mpsc::Receiver<Input>,
    mut stop: Receiver<bool>,
) {
    let turns = reconciler.monitor.tasks.turns(NAME);
    let mut under_way = JoinSet::new();
    loop {
        turns.turn();
        sabotage::at_turn(NAME).await;
        reconciler.monitor.say_burst();
        while let Ok(input) = inputs.try_recv() {
            hear(&reconciler, input, &settings);
        }
        // A dropped agent gets no further requests.
        let stopping = *stop.borrow() || stop.has_changed().is_err();
        if stopping && under_way.is_empty() {
            return;
        }
        let now = Instant::now();
        let due = || (!stopping).then(|| reconciler.queue().due(now)).flatten();
        while let Some(key) = due() {
            let reconciler = reconciler.clone();
            let pass = async move {
                sabotage::at_write(NAME);
                (reconciler.pass(&key).await, key)
            };
            under_way.spawn(pass.in_current_span());
        }
        let next = reconciler.queue().next().filter(|_| !stopping);
        let wake = next.map_or(now + LONGEST_WAIT, |at| at.min(now + LONGEST_WAIT));
        tokio::select! {
            input = inputs.recv() => match input {
                Some(input) => hear(&reconciler, input, &settings),
                None => return,
            },
            Some(ended) = under_way.join_next() => match ended {
                Ok((outcome, key)) => {
                    reconciler.queue().dealt_with(&key, outcome, Instant::now());
                    // It went while it was dealt with, and what was just noted of it is for nobody.
                    let is_gone = !reconciler.queue().works().contains_key(&key);
                    if is_gone {
                        reconciler.gone(&key);
                    }
                }
                // A task ends early only when the runtime does, or by a panic, which is passed on: the work would stay under
                // way for ever. The end of this loop ends the process, and no Lease is renewed from then on.
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => {}
            },
            () = tokio::time::sleep_until(wake) => {}
            _ = stop.changed(), if !stopping => {}
        }
    }
}

/// Takes in what a watch says.
pub(crate) fn hear(reconciler: &WorkReconciler, input: Input, settings: &Settings) {
    if let Input::Gone(key) = &input {
        reconciler.gone(key);
    }
    match &input {
        Input::Unserved(kind) => reconciler.monitor.serves_works(*kind, false),
        Input::Complete(kind) => reconciler.monitor.serves_works(*kind, true),
        _ => {}
    }
    {
        let mut queue = reconciler.queue();
        queue.hear(input, Instant::now());
        reconciler.monitor.lacks(queue.incomplete());
    }
    say_ready(reconciler, &settings.cluster);
}

/// Says once in the log that the agent can do its work.
fn say_ready(reconciler: &WorkReconciler, cluster: &str) {
    if reconciler.monitor.is_ready_at_last() {
        let works = reconciler.queue().works().len();
        let works = portolan_api::count::counted(works, "work");
        tracing::info!("ready: {works} for cluster {cluster}");
    }
}
