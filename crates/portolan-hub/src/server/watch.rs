//! Watches: a cursor into the store's history per client, and nothing else.
//!
//! There is no queue per watcher. A client that reads slowly makes its own cursor fall behind; once the history has moved
//! past it the watch ends with 410 and the client lists again. So does one that is ahead of the hub.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval};

use super::accept::{Encoding, Form, weighed};
use super::apart::apart_always;
use super::body::Chunks;
use super::call::Call;
use super::read::resource_version;
use super::selector::Selector;
use super::show::{encoded, include_object, partial};
use super::snapshots::{self, Snapshot};
use super::status::{Answer, Failure};
use super::turns::LONG_FROM;
use super::watch_options::{bookmarks, is_streaming, longest};
use super::watches::OpenWatch;
use super::{Core, metadata};
use crate::protobuf;
use crate::store::{Event, Follower, Stored};
use crate::table::Headers;

/// Events taken from the history at a time: enough to pay for the lock.
const BATCH: usize = 64;
/// A chunk is sent once it has this many bytes, so that a watcher that does not read holds little more than one event.
const CHUNK: usize = 256 << 10;
/// What is read of objects for one chunk: as many as make it full, and the last may be as large as an object can be.
const MOST_READ: usize = CHUNK + (4 << 20);

struct Watcher {
    core: Arc<Core>,
    call: Call,
    form: Form,
    encoding: Encoding,
    selector: Selector,
    /// Has read what was sent.
    events: Follower,
    initial: Snapshot,
    initial_end: InitialEnd,
    bookmarks: Option<Interval>,
    deadline: Instant,
    stopping: tokio::sync::watch::Receiver<bool>,
    headers: Headers,
    done: bool,
    _open: OpenWatch,
}

/// Whether the end of the initial objects is still to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitialEnd {
    Owed,
    Paid,
}

enum Next {
    Change,
    Bookmark,
    /// The time of the watch is over.
    Over,
    /// The hub stops.
    Stop,
}

impl Core {
    /// Starts a watch; the stream ends when its time is over, the hub stops or the client falls too far behind.
    pub(crate) async fn watch(
        self: &Arc<Self>,
        mut call: Call,
        form: Form,
        encoding: Encoding,
    ) -> Answer<Chunks> {
        if let Some(name) = call.place.name.take() {
            let escaped = name.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            call.query
                .set("fieldSelector", format!("metadata.name={escaped}"));
        }
        if *self.stopping.borrow() {
            // One that ended at once would be asked for again at once, by clients in this process for ever.
            return Err(Failure::stopping());
        }
        if matches!(form, Form::Table(_)) {
            include_object(&call)?;
        }
        let selector = self.selector(&call)?;
        let asked = resource_version(&call)?;
        let send_initial = match call.query.get("sendInitialEvents") {
            Some("true" | "1") => true,
            Some(_) => false,
            None => asked.unwrap_or(0) == 0,
        };
        let streaming = is_streaming(&call)?;
        if streaming && let Some(revision) = asked {
            self.wait_for(revision).await?;
        }
        let prefix = call.prefix();
        let mut events = self.store.follow(&prefix);
        let (initial, revision) = match send_initial {
            true => self.initial(&call, &prefix).await?,
            false => {
                let asked = asked.filter(|revision| *revision > 0);
                (
                    Snapshot::default(),
                    asked.unwrap_or_else(|| self.store.revision()),
                )
            }
        };
        events.go_to(revision);
        let now = Instant::now();
        let bookmarks = bookmarks(&call, now);
        let longest = longest(&call)?;
        let watcher = Watcher {
            core: self.clone(),
            form,
            encoding,
            selector,
            events,
            initial,
            initial_end: if streaming {
                InitialEnd::Owed
            } else {
                InitialEnd::Paid
            },
            bookmarks,
            deadline: now + longest,
            stopping: self.stopping.clone(),
            headers: Headers::Show,
            done: false,
            _open: self.watches.open(&call.resource.plural),
            call,
        };
        Ok(Box::pin(stream::unfold(watcher, |mut watcher| async {
            let chunk = watcher.next().await?;
            Some((chunk, watcher))
        })))
    }

    /// The objects that there are, and their revision.
    async fn initial(&self, call: &Call, prefix: &str) -> Answer<(Snapshot, u64)> {
        let _turn = self.in_flight.turn(&call.sender, LONG_FROM + 1).await;
        apart_always(|| {
            let range = self.store.range(prefix);
            let held = self
                .in_flight
                .answer(&call.sender, snapshots::bytes_of(&range.objects))?;
            let snapshot = self.snapshots.take(range.objects, range.revision, held);
            Ok((snapshot, range.revision))
        })
    }
}

impl Watcher {
    async fn next(&mut self) -> Option<Bytes> {
        let mut chunk = Vec::new();
        while !self.done {
            if let Some(compacted) = self.initial.outlived(&self.core.store) {
                let status = Failure::compacted(compacted).status();
                self.put_value(&mut chunk, "ERROR", &status);
                self.done = true;
                return Some(chunk.into());
            }
            self.take_initial(&mut chunk).await;
            if chunk.is_empty() {
                self.take_events(&mut chunk).await;
            }
            if !chunk.is_empty() {
                return Some(chunk.into());
            }
            if !self.initial.is_empty() {
                // None of these matched. The others are there already, so nothing would wake this.
                tokio::task::yield_now().await;
                continue;
            }
            let is_over = match self.wait().await {
                Next::Change => continue,
                Next::Bookmark => false,
                Next::Over => true,
                Next::Stop => return None,
            };
            // Brings it up to the present.
            self.take_events(&mut chunk).await;
            if chunk.is_empty() {
                self.done = is_over;
                // The client goes on from the last bookmark: without one at the end it might ask for a version that the
                // history has moved past, and would have to list again.
                if self.bookmarks.is_some() {
                    let bookmark = self.bookmark(false);
                    self.put_value(&mut chunk, "BOOKMARK", &bookmark);
                }
            }
            if !chunk.is_empty() {
                return Some(chunk.into());
            }
        }
        None
    }

    async fn take_initial(&mut self, chunk: &mut Vec<u8>) {
        let (mut objects, mut bytes, mut compared) = (Vec::new(), 0, 0);
        for _ in 0..BATCH {
            if bytes >= CHUNK {
                break;
            }
            let Some(object) = self.initial.next() else {
                break;
            };
            bytes += object.bytes().len();
            compared += self.selector.weight(&object);
            objects.push(object);
        }
        let put = |watcher: &mut Watcher| {
            for object in objects {
                if watcher.selector.matches(&object) {
                    watcher.put_object(chunk, "ADDED", &object);
                }
                if watcher.done {
                    return;
                }
            }
            if watcher.initial.is_empty() && watcher.initial_end == InitialEnd::Owed {
                watcher.initial_end = InitialEnd::Paid;
                let bookmark = watcher.bookmark(true);
                watcher.put_value(chunk, "BOOKMARK", &bookmark);
            }
        };
        self.in_turn(bytes, compared, put).await;
    }

    async fn take_events(&mut self, chunk: &mut Vec<u8>) {
        if !self.initial.is_empty() {
            return;
        }
        let (at, reached) = (self.events.revision(), self.core.store.revision());
        if at > reached {
            // From before the data was put back to an older copy. Everything up to there would be missed.
            let status = Failure::ahead(at, reached).status();
            self.put_value(chunk, "ERROR", &status);
            self.done = true;
            return;
        }
        match self.events.read(BATCH) {
            Ok(events) => {
                let bytes = events.iter().map(|event| event.object.bytes().len());
                let bytes = bytes.sum::<usize>().min(MOST_READ);
                // Each change is compared with what the object was and with what it is.
                let compared = events.iter().map(|event| 2 * self.selector.weight(&event.object));
                let compared = compared.sum::<usize>().min(2 * MOST_READ);
                let put = |watcher: &mut Watcher| {
                    let mut read = 0;
                    for event in events {
                        let before = chunk.len();
                        watcher.put_event(chunk, &event);
                        if watcher.done {
                            return;
                        }
                        if chunk.len() > before {
                            read += event.object.bytes().len();
                        }
                        if chunk.len() >= CHUNK || read >= CHUNK {
                            watcher.events.go_to(event.revision);
                            return;
                        }
                    }
                };
                self.in_turn(bytes, compared, put).await;
            }
            Err(compacted) => {
                let status = Failure::compacted(compacted).status();
                self.put_value(chunk, "ERROR", &status);
                self.done = true;
            }
        }
    }

    /// Compares and writes objects of so many bytes in a turn of the user: many watches hear of one change.
    async fn in_turn(&mut self, bytes: usize, compared: usize, put: impl FnOnce(&mut Watcher)) {
        let weight = weighed(self.form, self.encoding, bytes) + compared;
        let core = self.core.clone();
        if weight <= LONG_FROM {
            let _turn = core.in_flight.watch_turn(&self.call.sender).await;
            return put(self);
        }
        let _turn = core.in_flight.turn(&self.call.sender, weight).await;
        apart_always(|| put(self));
    }

    /// What a change is to this watcher depends on whether the object matched before and does now.
    fn put_event(&mut self, chunk: &mut Vec<u8>, event: &Event) {
        let before = event
            .previous
            .as_ref()
            .filter(|object| self.selector.matches(object));
        let now = (!event.deleted)
            .then_some(&event.object)
            .filter(|object| self.selector.matches(object));
        match (before, now) {
            (None, Some(object)) => self.put_object(chunk, "ADDED", object),
            (Some(_), Some(object)) => self.put_object(chunk, "MODIFIED", object),
            (Some(_), None) if event.deleted => self.put_object(chunk, "DELETED", &event.object),
            (Some(before), None) => {
                let mut object = self.call.resource.shown(before);
                metadata::of(&mut object).insert("resourceVersion".into(), event.revision.to_string().into());
                let headers = std::mem::replace(&mut self.headers, Headers::Omit);
                if let Ok(shown) = self.core.show_value(&self.call, object, self.form, headers) {
                    self.put_value(chunk, "DELETED", &shown);
                }
            }
            (None, None) => {}
        }
    }

    fn put_object(&mut self, chunk: &mut Vec<u8>, kind: &str, object: &Stored) {
        let headers = std::mem::replace(&mut self.headers, Headers::Omit);
        match self
            .core
            .show(&self.call, object, self.form, self.encoding, headers)
        {
            Ok(shown) => self.put(chunk, kind, &shown),
            Err(failure) => self.end(chunk, &failure),
        }
    }

    fn put_value(&mut self, chunk: &mut Vec<u8>, kind: &str, object: &Value) {
        match encoded(object, self.encoding) {
            Ok(shown) => self.put(chunk, kind, &shown),
            Err(failure) => self.end(chunk, &failure),
        }
    }

    /// An object that cannot be shown ends the watch: without it the client would miss the object and not know.
    fn end(&mut self, chunk: &mut Vec<u8>, failure: &Failure) {
        self.done = true;
        if let Ok(status) = encoded(&failure.status(), self.encoding) {
            self.put(chunk, "ERROR", &status);
        }
    }

    fn put(&self, chunk: &mut Vec<u8>, kind: &str, object: &[u8]) {
        if self.encoding == Encoding::Protobuf {
            chunk.extend_from_slice(&protobuf::encode_event(kind, object));
            return;
        }
        chunk.extend_from_slice(br#"{"type":""#);
        chunk.extend_from_slice(kind.as_bytes());
        chunk.extend_from_slice(br#"","object":"#);
        chunk.extend_from_slice(object);
        chunk.extend_from_slice(b"}\n");
    }

    /// An object with nothing but a version, in the form of all others.
    fn bookmark(&mut self, initial_end: bool) -> Value {
        let mut metadata = json!({"resourceVersion": self.events.revision().to_string()});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let resource = &self.call.resource;
        let object =
            json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata});
        let headers = std::mem::replace(&mut self.headers, Headers::Omit);
        let shown = self
            .core
            .show_value(&self.call, object.clone(), self.form, headers);
        // The parameters of the request were checked when the watch began.
        let mut shown = shown.unwrap_or_else(|_| object.clone());
        // A client that wants rows without objects must learn where the initial objects end, too.
        if initial_end && let Some(Value::Null) = shown.pointer("/rows/0/object") {
            shown["rows"][0]["object"] = partial(&object);
        }
        shown
    }

    async fn wait(&mut self) -> Next {
        let bookmark = async {
            match &mut self.bookmarks {
                Some(ticks) => ticks.tick().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A change that is there goes out before the watch ends.
            biased;
            () = self.events.changed() => Next::Change,
            _ = self.stopping.wait_for(|stopping| *stopping) => Next::Stop,
            () = tokio::time::sleep_until(self.deadline) => Next::Over,
            _ = bookmark => Next::Bookmark,
        }
    }
}
