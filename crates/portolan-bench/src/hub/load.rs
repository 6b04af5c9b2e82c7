//! Many writers at once, and what they get done.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::task::JoinSet;

use super::client::{Connection, JSON, MERGE_PATCH};
use super::object;
use super::process::Server;
use crate::clock::now;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Create,
    Status,
    Label,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Create, Kind::Status, Kind::Label];

    /// The name of its figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Create => "creates",
            Kind::Status => "statusPatches",
            Kind::Label => "labelPatches",
        }
    }

    fn request(self, index: usize, turn: usize) -> Request {
        let (method, path, content_type, body) = match self {
            Kind::Create => (
                Method::POST,
                object::OBJECTS.to_owned(),
                JSON,
                object::object(index),
            ),
            Kind::Status => (
                Method::PATCH,
                format!("{}/status", object::path(index)),
                MERGE_PATCH,
                object::status(index, turn),
            ),
            Kind::Label => (
                Method::PATCH,
                object::path(index),
                MERGE_PATCH,
                object::label(turn),
            ),
        };
        Request {
            method,
            path,
            content_type,
            body,
        }
    }
}

struct Request {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Bytes,
}

/// One run of writers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) writes: usize,
    pub(super) took: Duration,
    /// What the server's processes took meanwhile.
    pub(super) cpu: Duration,
}

impl Sample {
    pub(super) fn per_second(&self) -> f64 {
        self.writes as f64 / self.took.as_secs_f64()
    }

    pub(super) fn cpu_micros(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.writes.max(1) as f64
    }
}

/// Writes each object of a range once, so many at a time. Requests are made and connections opened before the clock runs.
pub(super) async fn write(
    server: &Server,
    kind: Kind,
    objects: Range<usize>,
    turn: usize,
    concurrency: usize,
) -> anyhow::Result<Sample> {
    let writes = objects.len();
    let requests: VecDeque<Request> = objects.map(|index| kind.request(index, turn)).collect();
    let requests = Arc::new(Mutex::new(requests));
    let mut connections = Vec::new();
    for _ in 0..concurrency.min(writes) {
        connections.push(Connection::open(&server.access).await?);
    }
    let mut workers = JoinSet::new();
    let (cpu, started) = (server.cpu()?, now());
    for connection in connections {
        workers.spawn(work(connection, requests.clone()));
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    Ok(Sample {
        writes,
        took: started.elapsed(),
        cpu: server.cpu()?.saturating_sub(cpu),
    })
}

async fn work(mut connection: Connection, requests: Arc<Mutex<VecDeque<Request>>>) -> anyhow::Result<()> {
    loop {
        let next = requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let Some(request) = next else { return Ok(()) };
        connection
            .send(request.method, &request.path, request.content_type, request.body)
            .await?;
    }
}
