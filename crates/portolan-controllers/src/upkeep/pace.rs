use std::fmt::Display;
use std::sync::Arc;

use kube::api::{PatchParams, PostParams};
use tokio::sync::Semaphore;

use super::Failure;
use crate::metrics::Metrics;
use crate::request::{FIELD_MANAGER, describe};
use crate::settings::{Clock, Settings};

/// How a keeper reaches the server: how much at once, counted by whom, and by which clock.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    pub(crate) clock: Clock,
    /// Writes of this keeper that may be under way.
    pub(crate) parallel: usize,
    /// Requests of all controllers that may be under way.
    slots: Arc<Semaphore>,
    metrics: Metrics,
}

impl Pace {
    pub(crate) fn new(settings: &Settings, slots: Arc<Semaphore>, metrics: Metrics) -> Pace {
        Pace {
            clock: settings.clock.clone(),
            parallel: settings.parallel_writes.max(1),
            slots,
            metrics,
        }
    }

    /// Makes one request within the shared limit. An error is counted, logged and classified; when it is tried again
    /// is up to the keeper's queue.
    pub(crate) async fn request<T>(
        &self,
        verb: &'static str,
        resource: &'static str,
        object: impl Display,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        let result = {
            // The semaphore is never closed.
            let _slot = self.slots.acquire().await;
            request.await
        };
        result.inspect(|_| self.metrics.wrote(resource, verb, "ok")).map_err(|error| {
            let failure = Failure::of(&error);
            self.metrics.wrote(resource, verb, failure.word());
            let error = describe(&error);
            match failure {
                Failure::Conflict => {
                    tracing::info!(verb, resource, %object, error, "somebody else was faster; it is decided anew");
                }
                _ => tracing::warn!(verb, resource, %object, error, "a request failed and is tried again"),
            }
            failure
        })
    }
}

/// For patches: who we are.
pub(crate) fn patching() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// For creations: who we are.
pub(crate) fn creating() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}
