//! Keeps objects that went with their CustomResourceDefinition.
//!
//! Deleting a definition deletes every object of the kind, one by one, and each deletion looks like a cluster that left or
//! a set that was dissolved. To take it for that would empty every decision on the hub. While the definition is gone or
//! going, deletions are held back; objects that are not there again some time after it came back have really left.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, Resource};
use tokio::time::Instant;

use super::Key;
use crate::logging::{FailureLog, Operation};

/// Shortest time between two questions about the definition: a whole fleet may be deleted at once, and one answer then
/// serves all deletions before it.
const REQUEST_INTERVAL: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(500);

/// What is known about the definition of a kind, and the deletions that are held back.
pub(super) struct CrdGuard {
    definitions: Api<CustomResourceDefinition>,
    log: FailureLog,
    name: String,
    /// How long objects have to come back after their definition did.
    grace: Duration,
    asked: Option<Instant>,
    /// Deletions that wait for an answer.
    pending: Vec<Key>,
    /// When the definition was created, as last read.
    founded: Option<Timestamp>,
    held: HashMap<(String, String), Key>,
    /// When to look again whether the definition has gone or come back.
    look_at: Option<Instant>,
    /// When those that are still held are let go.
    release_at: Option<Instant>,
}

impl CrdGuard {
    pub(super) fn of<K: Resource<DynamicType = ()>>(client: Client, grace: Duration) -> CrdGuard {
        CrdGuard {
            definitions: Api::all(client),
            log: FailureLog::new("the hub"),
            name: format!("{}.{}", K::plural(&()), K::group(&())),
            grace,
            asked: None,
            pending: Vec::new(),
            founded: None,
            held: HashMap::new(),
            look_at: None,
            release_at: None,
        }
    }

    /// Counts failures together with those of others that talk to the same server.
    pub(super) fn logging(&mut self, log: &FailureLog) {
        self.log = log.clone();
    }

    /// Whether deletions that came before were of the objects alone. An answer says nothing about what comes after it.
    /// Asks until the server answers.
    pub(super) async fn crd_exists(&mut self) -> bool {
        let name = self.name.clone();
        let operation = Operation {
            verb: "get",
            resource: "customresourcedefinitions.apiextensions.k8s.io",
            object: &name,
        };
        let sound = loop {
            match self.definitions.get_metadata_opt(&self.name).await {
                Ok(found) => {
                    self.log.succeeded(operation);
                    let created = found
                        .as_ref()
                        .and_then(|found| found.metadata.creation_timestamp.as_ref());
                    self.founded = created.map(|created| created.0);
                    break found.is_some_and(|found| found.metadata.deletion_timestamp.is_none());
                }
                // Without permission to read definitions, the server's answer counts.
                Err(kube::Error::Api(status)) if status.code == 403 => break true,
                Err(error) => {
                    // Until then it is not known whether objects that are missing were deleted.
                    self.log.failed(operation, &error);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        };
        self.asked = Some(Instant::now());
        sound
    }

    /// Lets a deletion wait for the next answer, unless it is time to ask now.
    pub(super) fn waits(&mut self, key: &Key) -> bool {
        let waits = self.asked.is_some_and(|at| at.elapsed() < REQUEST_INTERVAL);
        if waits {
            self.pending.push(key.clone());
        }
        waits
    }

    /// When to ask because deletions wait.
    pub(super) fn ask_at(&self) -> Option<Instant> {
        let asked = self.asked.filter(|_| !self.pending.is_empty())?;
        Some(asked + REQUEST_INTERVAL)
    }

    /// The deletions that waited.
    pub(super) fn waiting(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.pending)
    }

    /// When the definition was created, once [`CrdGuard::crd_exists`] has said that it is. Who may not read it cannot tell.
    pub(super) fn founded(&self) -> Option<Timestamp> {
        self.founded
    }

    /// Holds a deletion back; true for the first one.
    pub(super) fn hold(&mut self, key: Key) -> bool {
        let first = self.held.is_empty();
        if first {
            self.look_again();
            tracing::warn!(
                "the CustomResourceDefinition {} is being deleted with all its objects; decisions that depend on them are \
                 kept",
                self.name
            );
        }
        self.held.insert((key.namespace.clone(), key.name.clone()), key);
        // The time of an earlier removal is not the time of this one.
        self.release_at = None;
        first
    }

    /// The object is there (again).
    pub(super) fn is_back(&mut self, key: &Key) {
        self.pending
            .retain(|gone| (&gone.namespace, &gone.name) != (&key.namespace, &key.name));
        self.held.remove(&(key.namespace.clone(), key.name.clone()));
        if self.held.is_empty() {
            self.release_at = None;
        }
    }

    /// The kind is served and was listed: those that are missing have a while to come back.
    pub(super) fn listed(&mut self) {
        if !self.held.is_empty() && self.release_at.is_none() {
            tracing::warn!(
                "the CustomResourceDefinition {} exists again, but {} of its objects {} missing; objects that are still \
                 missing in {:?} count as deleted",
                self.name,
                self.held.len(),
                portolan_api::count::are(self.held.len()),
                self.grace
            );
            self.release_at = Some(Instant::now() + self.grace);
        }
    }

    /// The definition is not what it should be: it is looked at again in a moment.
    pub(super) fn look_again(&mut self) {
        self.look_at = Some(Instant::now() + PAUSE);
    }

    /// When [`CrdGuard::is_settled`] is to be asked.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Whether the definition has gone or is there to stay, so that a list tells more than it did. A watch does not: a
    /// server may leave it open and silent.
    pub(super) async fn is_settled(&mut self) -> bool {
        let settled = match self.definitions.get_metadata_opt(&self.name).await {
            Ok(found) => found.is_none_or(|found| found.metadata.deletion_timestamp.is_none()),
            Err(_) => false,
        };
        self.look_at = (!settled).then(|| Instant::now() + PAUSE);
        settled
    }

    /// When [`CrdGuard::release`] has something to say.
    pub(super) fn release_at(&self) -> Option<Instant> {
        self.release_at
    }

    /// Those that did not come back. None while the definition is gone again: their time begins when it is back and listed.
    pub(super) async fn release(&mut self) -> Vec<Key> {
        self.release_at = None;
        if !self.crd_exists().await {
            self.look_again();
            return Vec::new();
        }
        self.held.drain().map(|(_, key)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use portolan_api::cluster::ManagedCluster;

    use super::*;

    /// A guard of clusters on a server that has the definition while the flag is set.
    fn guard(exists: &Arc<AtomicBool>) -> CrdGuard {
        let exists = exists.clone();
        let server = tower::service_fn(move |_: Request<Body>| {
            let (code, body) = match exists.load(Ordering::SeqCst) {
                true => (
                    200,
                    r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"x"}}"#,
                ),
                false => (
                    404,
                    r#"{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}"#,
                ),
            };
            let response = Response::builder()
                .status(code)
                .body(Body::from(body.as_bytes().to_vec()));
            async move { response }
        });
        CrdGuard::of::<ManagedCluster>(Client::new(server, "default"), Duration::from_secs(300))
    }

    fn east() -> Key {
        Key {
            namespace: String::new(),
            name: "east".to_owned(),
            uid: "1".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_one_removal_is_not_the_time_of_the_next() {
        let mut guard = guard(&Arc::default());
        guard.hold(east());
        guard.listed();
        let first = guard.release_at().unwrap();
        guard.is_back(&east());
        assert_eq!(guard.release_at(), None, "nothing is missing");
        tokio::time::advance(Duration::from_secs(295)).await;
        guard.hold(east());
        assert_eq!(guard.release_at(), None, "the definition is gone");
        guard.listed();
        assert!(guard.release_at().unwrap() >= first + Duration::from_secs(295));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_let_go_while_the_definition_is_gone_again() {
        let exists = Arc::new(AtomicBool::new(false));
        let mut guard = guard(&exists);
        guard.hold(east());
        guard.listed();
        assert!(guard.release().await.is_empty());
        assert!(guard.look_at().is_some(), "the definition is looked at again");
        exists.store(true, Ordering::SeqCst);
        guard.listed();
        assert!(guard.release_at().is_some());
        assert_eq!(guard.release().await.len(), 1);
    }
}
