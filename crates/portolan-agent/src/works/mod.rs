//! Keeps the member cluster as the works of the hub say.
//!
//! ```text
//! desk    (pure) the works that are known, how well, and which is due
//! pass    one look at one work: observe ─► plan ─► note ─► apply ─► remove ─► report
//! items   the manifests on their way: their places, what the record says
//! hub     the two things that are written to a work: its finalizer and its status
//! ```
//!
//! Works are dealt with one after the other. That is what makes "no other work owns this object" a fact at the moment of
//! a deletion, and requests for the objects of one work run side by side anyway.

mod desk;
mod hub;
mod items;
mod pass;
mod removing;

use std::time::Duration;

use kube::Client;
use portolan_api::multicluster;
use portolan_api::work::ManifestWork;
use portolan_controllers::watch::{Delta, Feed, Source};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::sabotage::{Rule, broken};
use crate::settings::Settings;
use crate::work::{Distributed, Loose, Work, WorkKey, WorkKind, read};
pub(crate) use desk::Desk;
pub(crate) use pass::Passes;

/// Messages that may wait between a watch and the desk; a full channel slows the watch down.
const WAITING: usize = 64;

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
}

impl Input {
    fn of<K: Distributed>(delta: Delta<Loose<K>>) -> Input {
        match delta {
            Delta::Applied(object) => {
                let work = read(K::KIND, &object.metadata, &object.spec, &object.status);
                Input::Work(Box::new(work))
            }
            Delta::Deleted(key) => Input::Gone(WorkKey {
                kind: K::KIND,
                name: key.name,
            }),
            // The watches are not guarded, since an agent may not read definitions, and never say when one was made.
            Delta::Listing | Delta::Founded(_) => Input::Listing(K::KIND),
            Delta::Synced => Input::Complete(K::KIND),
            Delta::Unserved | Delta::Held(_) => Input::Unserved(K::KIND),
        }
    }
}

/// Starts the watches of both kinds and the loop that deals with them.
pub(crate) fn start(
    hub: Client,
    spoke: Client,
    settings: &Settings,
    stop: watch::Receiver<bool>,
) -> (JoinHandle<()>, Vec<JoinHandle<()>>) {
    let (sender, inputs) = mpsc::channel(WAITING);
    let watches = vec![
        tokio::spawn(source::<ManifestWork>(&hub, settings, sender.clone()).run()),
        tokio::spawn(source::<multicluster::Work>(&hub, settings, sender).run()),
    ];
    let desk = Desk::new(settings);
    let passes = Passes::new(hub, spoke, settings);
    let keeping = tokio::spawn(keep(desk, passes, settings.clone(), inputs, stop));
    (keeping, watches)
}

fn source<K: Distributed>(
    hub: &Client,
    settings: &Settings,
    sender: mpsc::Sender<Input>,
) -> Source<Loose<K>> {
    let feed = Feed::new(sender, Input::of::<K>);
    let source = match broken(Rule::OwnNamespaceOnly) {
        true => Source::new(hub.clone(), vec![feed]),
        false => Source::namespaced(hub.clone(), &settings.cluster, vec![feed]),
    };
    source.lasting(settings.watch).listing_after_failures()
}

/// Deals with what is due until it is told to stop.
async fn keep(
    mut desk: Desk,
    mut passes: Passes,
    settings: Settings,
    mut inputs: mpsc::Receiver<Input>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        while let Ok(input) = inputs.try_recv() {
            hear(&mut desk, &mut passes, input, &settings);
        }
        if *stop.borrow() {
            return;
        }
        let now = settings.clock.now();
        if let Some(key) = desk.due(now) {
            let result = passes.pass(&mut desk, &key).await;
            desk.dealt_with(&key, result, settings.clock.now());
            continue;
        }
        let wait = desk.next().map(|at| {
            let wait = at.duration_since(now);
            Duration::try_from(wait).unwrap_or_default()
        });
        tokio::select! {
            input = inputs.recv() => match input {
                Some(input) => hear(&mut desk, &mut passes, input, &settings),
                None => return,
            },
            () = sleep(wait) => {}
            // Nobody who could ask for more holds the agent any more.
            changed = stop.changed() => if changed.is_err() { return },
        }
    }
}

/// Takes in what a watch says.
pub(crate) fn hear(desk: &mut Desk, passes: &mut Passes, input: Input, settings: &Settings) {
    if let Input::Gone(key) = &input {
        passes.gone(key);
    }
    desk.hear(input, settings.clock.now());
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
