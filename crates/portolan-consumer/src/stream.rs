//! A watch around [`Decisions`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use portolan_api::multicluster::GROUP;
use portolan_api::reading::Received;
use tokio::time::Instant;

use crate::{Cluster, DecisionId, Decisions, Options, Slice, Update};

/// Why the watch was interrupted. It goes on by itself, and nothing counts as removed meanwhile.
pub type Error = watcher::Error;

type Watch = Pin<Box<dyn Stream<Item = Result<Event<Received<DynamicObject>>, Error>> + Send>>;

/// What happens to the decisions that a consumer follows, as a stream of [`Update`]s.
///
/// Errors are for logs: the stream does not end, and what it knew it still knows.
pub struct DecisionStream {
    watch: Watch,
    decisions: Decisions,
    waiting: VecDeque<Update>,
    started: Instant,
}

impl DecisionStream {
    /// Follows decisions in one namespace.
    pub fn namespaced(client: Client, namespace: &str, options: Options) -> DecisionStream {
        let resource = Self::resource();
        DecisionStream::on(Api::namespaced_with(client, namespace, &resource), options)
    }

    /// Follows decisions in all namespaces.
    pub fn everywhere(client: Client, options: Options) -> DecisionStream {
        DecisionStream::on(Api::all_with(client, &Self::resource()), options)
    }

    /// Follows what a watch of one's own says. It must not be limited to fewer slices than
    /// [`Discovery::label_selector`](crate::Discovery::label_selector) allows.
    pub fn of(
        watch: impl Stream<Item = Result<Event<DynamicObject>, Error>> + Send + 'static,
        options: Options,
    ) -> DecisionStream {
        DecisionStream::follow(watch.map(|event| event.map(readable)), options)
    }

    /// The kind that is read.
    pub fn resource() -> ApiResource {
        let kind = GroupVersionKind::gvk(GROUP, "v1alpha1", "PlacementDecision");
        ApiResource::from_gvk_with_plural(&kind, "placementdecisions")
    }

    fn on(api: Api<Received<DynamicObject>>, options: Options) -> DecisionStream {
        let mut config = watcher::Config::default();
        if let Some(selector) = options.discovery.label_selector() {
            config = config.labels(&selector);
        }
        DecisionStream::follow(watcher(api, config).default_backoff(), options)
    }

    fn follow(
        watch: impl Stream<Item = Result<Event<Received<DynamicObject>>, Error>> + Send + 'static,
        options: Options,
    ) -> DecisionStream {
        DecisionStream {
            watch: Box::pin(watch),
            decisions: Decisions::new(options),
            waiting: VecDeque::new(),
            started: Instant::now(),
        }
    }

    /// [`Decisions::resume`], before the first update is asked for.
    pub fn resume(&mut self, decision: DecisionId, clusters: impl IntoIterator<Item = Cluster>) {
        self.decisions.resume(decision, clusters);
    }

    /// What is known at the moment.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// The next update, or why there is none at the moment. `None` only when the watch was one's own and ended.
    pub async fn next(&mut self) -> Option<Result<Update, Error>> {
        loop {
            if let Some(update) = self.waiting.pop_front() {
                return Some(Ok(update));
            }
            let due = self.decisions.next_due().map(|at| self.started + at);
            tokio::select! {
                event = self.watch.next() => match event? {
                    Ok(event) => hear(&mut self.decisions, event),
                    Err(error) => return Some(Err(error)),
                },
                () = until(due) => {}
            }
            let now: Duration = self.started.elapsed();
            self.waiting.extend(self.decisions.updates(now));
        }
    }

    /// The same as a [`Stream`].
    pub fn into_stream(self) -> impl Stream<Item = Result<Update, Error>> {
        futures::stream::unfold(self, |mut stream| async move {
            let item = stream.next().await?;
            Some((item, stream))
        })
    }
}

fn hear(decisions: &mut Decisions, event: Event<Received<DynamicObject>>) {
    match event {
        Event::Init => decisions.list_began(),
        Event::InitApply(object) | Event::Apply(object) => decisions.apply(slice(object)),
        Event::InitDone => decisions.list_ended(),
        Event::Delete(object) => decisions.delete(&slice(object).key()),
    }
}

fn slice(object: Received<DynamicObject>) -> Slice {
    match object {
        Received::Readable(object) => Slice::read(&object.metadata, &object.data),
        Received::Unreadable(object) => Slice::unreadable(&object),
    }
}

fn readable(event: Event<DynamicObject>) -> Event<Received<DynamicObject>> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(Received::Readable(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(Received::Readable(object)),
        Event::Delete(object) => Event::Delete(Received::Readable(object)),
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
