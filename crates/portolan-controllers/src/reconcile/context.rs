//! Sends the requests of a reconciler: how many at once, with which metrics, by which clock.

use std::fmt::Display;
use std::sync::Arc;

use kube::api::{PatchParams, PostParams};
use portolan_runtime::Clock;
use portolan_runtime::logging::FailureLog;
use portolan_runtime::tasks::Tasks;
use tokio::sync::Semaphore;

use super::Failure;
use crate::health::Outputs;
use crate::metrics::Metrics;
use crate::request::FIELD_MANAGER;
use crate::settings::Settings;

/// How a reconciler reaches the server: how much at once, counted by whom, and by which clock.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) clock: Clock,
    /// Writes of this reconciler that may be under way.
    pub(crate) parallel: usize,
    /// Requests of all controllers that may be under way.
    slots: Arc<Semaphore>,
    metrics: Metrics,
    /// Failures of all controllers.
    pub(crate) log: FailureLog,
    /// Tasks of all controllers.
    pub(crate) tasks: Tasks,
}

impl RequestContext {
    pub(crate) fn new(settings: &Settings, slots: Arc<Semaphore>, outputs: &Outputs) -> RequestContext {
        RequestContext {
            clock: settings.clock.clone(),
            parallel: settings.parallel_writes.max(1),
            slots,
            metrics: outputs.metrics.clone(),
            log: outputs.health.failures().clone(),
            tasks: outputs.health.tasks().clone(),
        }
    }

    /// Makes one request within the shared limit. An error is counted, logged and classified; when it is tried again
    /// is up to the reconciler's queue.
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
        match result {
            Ok(value) => {
                self.metrics.requested(resource, verb, "ok");
                self.log.request_succeeded(verb, resource, &object);
                Ok(value)
            }
            Err(error) => {
                let failure = Failure::of(&error);
                self.metrics.requested(resource, verb, failure.word());
                self.log.request_failed(verb, resource, &object, &error);
                Err(failure)
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reads_are_not_counted_as_writes() {
        let settings = Settings::new(Clock::new(|| jiff::Timestamp::UNIX_EPOCH));
        let outputs = Outputs::default();
        let context = RequestContext::new(&settings, Arc::new(Semaphore::new(1)), &outputs);
        for verb in ["get", "list", "patch"] {
            let answered = context.request(verb, "manifestworks", "east/web", async { kube::Result::Ok(()) });
            assert!(answered.await.is_ok());
        }
        let text = outputs.metrics.text();
        let counted = text
            .lines()
            .filter(|line| line.starts_with("portolan_writes_total{"));
        let counted: Vec<&str> = counted.collect();
        assert_eq!(counted.len(), 1, "{counted:?}");
        assert!(counted[0].contains("verb=\"patch\""), "{counted:?}");
    }
}
