//! Two watches, one for each decision kind, with one `DecisionDiff`, until there is a reason to stop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use kube::{Api, Client};
use portolan_api::{cluster, multicluster};
use portolan_runtime::watch::{Delta, Key, Subscriber, Watch};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::diff::{DecisionDiff, Object, Turn};
use crate::decided::Said;
use crate::live::{self, Server, connection};

/// The objects of one decision change one after the other; this long they are waited for.
const SETTLE: Duration = Duration::from_millis(100);
/// How often a hub that says nothing is asked whether it is there.
const ASK: Duration = Duration::from_secs(20);
/// A new decision without clusters may be one that is just being written; after this time it is empty.
const EMPTY: Duration = Duration::from_secs(1);
const FAR: Duration = Duration::from_secs(1 << 30);

/// When to stop by oneself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    /// After this time.
    pub(crate) after: Option<Duration>,
    /// When nothing has changed for this time.
    pub(crate) quiet: Option<Duration>,
}

enum Message {
    Decision(Delta<cluster::PlacementDecision>),
    Slice(Delta<multicluster::PlacementDecision>),
}

/// Fails when the decisions cannot be read: once followed, errors are only retried.
pub(crate) async fn probe(server: &Server, namespace: Option<&str>) -> anyhow::Result<()> {
    let parameters = ListParams::default().limit(1);
    let decisions = api::<cluster::PlacementDecision>(&server.client, namespace)
        .list_metadata(&parameters)
        .await
        .map(drop);
    let slices = api::<multicluster::PlacementDecision>(&server.client, namespace)
        .list_metadata(&parameters)
        .await
        .map(drop);
    let mut served = 0;
    for answer in [decisions, slices] {
        match answer {
            Ok(()) => served += 1,
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(live::explain(&error, "list placementdecisions", &server.url)),
        }
    }
    if served == 0 {
        anyhow::bail!(
            "{} serves no PlacementDecisions; install them with `portolan crds | kubectl apply -f -` or \
             `portolan controller --install-crds`",
            server.url
        );
    }
    Ok(())
}

/// Follows the decisions until it is time to end, or `show` does not want any more. `show` gets turns and whether they
/// were there from the start.
pub(crate) async fn follow(
    client: &Client,
    namespace: Option<&str>,
    ends: Ends,
    mut show: impl FnMut(Vec<Turn>, bool) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<()> {
    let (sender, mut messages) = mpsc::channel(1024);
    // Ends with this function.
    let mut watches = JoinSet::new();
    let failed = Arc::new(Notify::new());
    let decisions = vec![Subscriber::new(sender.clone(), Message::Decision)];
    watches.spawn(watch(client, namespace, decisions, &failed).run());
    let slices = vec![Subscriber::new(sender, Message::Slice)];
    watches.spawn(watch(client, namespace, slices, &failed).run());
    // So does this.
    let back = Arc::new(Notify::new());
    watches.spawn(watch_over(client.clone(), failed.clone(), back.clone()));
    let mut diff = DecisionDiff::default();
    let mut known = [false; 2];
    let mut at_start = true;
    let end = Instant::now() + ends.after.unwrap_or(FAR);
    let mut quiet = Instant::now() + FAR;
    let (mut settle, mut empty) = (None, None);
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                Some(message) => take(&mut diff, &mut known, message),
                None => return Ok(()),
            },
            () = sleep_until(settle.unwrap_or(end)), if settle.is_some() => {
                settle = None;
                let turns = diff.settle(at_start);
                quiet = Instant::now() + ends.quiet.unwrap_or(FAR);
                if show(turns, std::mem::take(&mut at_start))?.is_break() {
                    return Ok(());
                }
            }
            () = sleep_until(empty.unwrap_or(end)), if empty.is_some() => {
                empty = None;
                if show(diff.still_empty(), false)?.is_break() {
                    return Ok(());
                }
            }
            () = back.notified() => quiet = Instant::now() + ends.quiet.unwrap_or(FAR),
            () = sleep_until(end) => return Ok(()),
            () = sleep_until(quiet) => {
                // A hub that cannot be reached is not quiet.
                if !connection::is_lost(client).await {
                    return Ok(());
                }
                quiet = Instant::now() + ends.quiet.unwrap_or(FAR);
                failed.notify_one();
            }
        }
        if diff.has_empty() && empty.is_none() {
            empty = Some(Instant::now() + EMPTY);
        }
        // What is there from the start is shown at once, empty or not.
        if known == [true; 2] && settle.is_none() && (at_start || diff.is_due()) {
            settle = Some(Instant::now() + if at_start { Duration::ZERO } else { SETTLE });
        }
    }
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Says when the hub is lost and when it is back; `back` hears of it, too. A watch that failed may have failed by itself, and a hub that is frozen fails
/// none of them for minutes: it is asked now and then.
async fn watch_over(client: Client, failed: Arc<Notify>, back: Arc<Notify>) {
    loop {
        // Whether a watch failed or it is time: the hub says how it is.
        tokio::time::timeout(ASK, failed.notified()).await.ok();
        if connection::outlast(&client).await {
            back.notify_one();
        }
    }
}

fn watch<K>(
    client: &Client,
    namespace: Option<&str>,
    subscribers: Vec<Subscriber<K>>,
    failed: &Arc<Notify>,
) -> Watch<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + Sync
        + 'static,
{
    let failed = failed.clone();
    let watch = match namespace {
        Some(namespace) => Watch::namespaced(client.clone(), namespace, subscribers),
        None => Watch::new(client.clone(), subscribers),
    };
    watch.reporting(move || failed.notify_one())
}

fn take(diff: &mut DecisionDiff, known: &mut [bool; 2], message: Message) {
    match message {
        Message::Decision(delta) => {
            take_delta(diff, &mut known[0], delta, Object::Decision, Said::by_decision)
        }
        Message::Slice(delta) => take_delta(diff, &mut known[1], delta, Object::Slice, Said::by_slice),
    }
}

fn take_delta<K: kube::Resource>(
    diff: &mut DecisionDiff,
    known: &mut bool,
    delta: Delta<K>,
    object: fn(String, String) -> Object,
    said: fn(&K) -> Option<Said>,
) {
    let named = |key: Key| object(key.namespace, key.name);
    match delta {
        Delta::Applied(decision) => diff.apply(named(Key::of(decision.meta())), said(&decision)),
        Delta::Deleted(key) => diff.remove(&named(key)),
        // What was shown of it stays: it is unknown, not gone.
        Delta::Unreadable(object) => connection::remark(&format!(
            "PlacementDecision {} cannot be read: {object}",
            object.place()
        )),
        Delta::Synced | Delta::NotServed => *known = true,
        // Nothing that was shown is taken back while a list is under way.
        Delta::ListStarted | Delta::DeletionHeld(_) | Delta::CrdCreated(_) => {}
    }
}
