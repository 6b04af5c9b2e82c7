//! One change and many watchers: how long until the last of them has it.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::mpsc;

use super::client::{Connection, JSON, MERGE_PATCH};
use super::object;
use super::process::Server;
use crate::clock::now;

/// An event that has not arrived by then is lost.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Watchers of the whole collection, each on a connection of its own, and one writer.
#[derive(Debug)]
pub(super) struct Watchers {
    count: usize,
    writer: Connection,
    /// When each watcher had a whole event.
    arrivals: mpsc::UnboundedReceiver<Instant>,
}

impl Watchers {
    pub(super) async fn open(server: &Server, count: usize) -> anyhow::Result<Watchers> {
        let mut writer = Connection::open(&server.access).await?;
        let list = writer.get(&format!("{}?limit=1", object::OBJECTS)).await?;
        let list: Value = serde_json::from_slice(&list)?;
        let revision = list["metadata"]["resourceVersion"].as_str();
        let revision = revision.context("the list has no resourceVersion")?;
        let path = format!("{}?watch=true&resourceVersion={revision}", object::OBJECTS);
        let (sender, arrivals) = mpsc::unbounded_channel();
        for _ in 0..count {
            let mut connection = Connection::open(&server.access).await?;
            let answer = connection.begin(Method::GET, &path, JSON, Bytes::new()).await?;
            if !answer.status().is_success() {
                bail!("GET {path}: {}", answer.status());
            }
            tokio::spawn(follow(connection, answer.into_body(), sender.clone()));
        }
        Ok(Watchers {
            count,
            writer,
            arrivals,
        })
    }

    /// Changes one object; from sending the change until the last watcher has read its event.
    pub(super) async fn event(&mut self, turn: usize) -> anyhow::Result<Duration> {
        let sent = now();
        let path = object::path(turn % 10);
        let body = object::label(turn);
        let answer = self.writer.send(Method::PATCH, &path, MERGE_PATCH, body);
        let (arrivals, count) = (&mut self.arrivals, self.count);
        let all = async {
            let mut last = sent;
            for seen in 0..count {
                let next = tokio::time::timeout(ARRIVAL_TIMEOUT, arrivals.recv()).await;
                let lost = || format!("{} of {count} watchers did not get an event", count - seen);
                last = last.max(next.ok().flatten().with_context(lost)?);
            }
            Ok(last.duration_since(sent))
        };
        let (answer, took) = tokio::join!(answer, all);
        answer?;
        took
    }
}

/// Events are lines; their content is the same for all and not looked at.
async fn follow(connection: Connection, mut body: Incoming, arrivals: mpsc::UnboundedSender<Instant>) {
    while let Some(Ok(frame)) = body.frame().await {
        let lines = frame
            .data_ref()
            .map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
        for _ in 0..lines {
            if arrivals.send(now()).is_err() {
                return;
            }
        }
    }
    drop(connection);
}
