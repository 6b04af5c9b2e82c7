//! What is counted and measured. Names are Prometheus'; [`Metrics::text`] is what `/metrics` serves.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_runtime::logging::{FailureLog, UnreadableObjects};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Placement {
    namespace: String,
    placement: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Objects {
    namespace: String,
    placement: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Write {
    resource: &'static str,
    verb: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Condition {
    condition: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Output {
    output: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Field {
    definition: &'static str,
    field: &'static str,
}

/// Counters, gauges and histograms of the controllers.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    clusters: Family<Placement, Gauge>,
    objects: Family<Objects, Gauge>,
    writes: Family<Write, Counter>,
    conditions: Family<Condition, Gauge>,
    evaluations: Counter,
    evaluation: Histogram,
    publication: Histogram,
    latency: Histogram,
    depth: Gauge,
    dropped_events: Counter,
    outputs: Family<Output, Gauge>,
    fields: Family<Field, Gauge>,
    kept: Gauge,
    ready: Gauge<f64, AtomicU64>,
}

/// What one placement has published, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) clusters: usize,
    pub(crate) decisions: usize,
    pub(crate) slices: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    /// Everything at zero.
    pub fn new() -> Metrics {
        let seconds = || Histogram::new(exponential_buckets(0.000_1, 2.0, 20));
        let metrics = Metrics {
            registry: Arc::default(),
            clusters: Family::default(),
            objects: Family::default(),
            writes: Family::default(),
            conditions: Family::default(),
            evaluations: Counter::default(),
            evaluation: seconds(),
            publication: seconds(),
            latency: seconds(),
            depth: Gauge::default(),
            dropped_events: Counter::default(),
            outputs: Family::default(),
            fields: Family::default(),
            kept: Gauge::default(),
            ready: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&self) {
        let mut registry = self.lock();
        let registry = registry.sub_registry_with_prefix("portolan");
        registry.register(
            "placement_decisions",
            "Clusters in the decision of a placement",
            self.clusters.clone(),
        );
        registry.register(
            "placement_slices",
            "Decision objects of a placement, by kind: ocm or kep",
            self.objects.clone(),
        );
        registry.register(
            "writes",
            "Requests that write, by resource, verb and result",
            self.writes.clone(),
        );
        registry.register(
            "placements",
            "Placements by condition and status",
            self.conditions.clone(),
        );
        registry.register(
            "evaluations",
            "Evaluations of placements",
            self.evaluations.clone(),
        );
        registry.register(
            "evaluation_seconds",
            "Time to evaluate one placement and plan its writes",
            self.evaluation.clone(),
        );
        registry.register(
            "publish_seconds",
            "Time to carry out the writes of one placement",
            self.publication.clone(),
        );
        registry.register(
            "event_to_decision_seconds",
            "Time from the watch event that made a placement due to its last write",
            self.latency.clone(),
        );
        registry.register(
            "queue_depth",
            "Placements that wait to be evaluated or written",
            self.depth.clone(),
        );
        registry.register(
            "events_dropped",
            "Events that were not published because there were too many",
            self.dropped_events.clone(),
        );
        registry.register(
            "output_enabled",
            "1 when an output is written, 0 when it is off or its kind is not served",
            self.outputs.clone(),
        );
        registry.register(
            "field_served",
            "0 when a CustomResourceDefinition on the server lacks a field, so that the server drops it",
            self.fields.clone(),
        );
        registry.register(
            "placements_restoring",
            "Placements that keep their decision because what it names may be on its way",
            self.kept.clone(),
        );
        registry.register(
            "ready",
            "1 when every cache is complete and the first decisions are written",
            self.ready.clone(),
        );
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Registry> {
        // The registry is only ever added to: what a panicking thread left behind is whole.
        self.registry
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Counts the objects that a log says cannot be read.
    pub(crate) fn count_unreadable(&self, log: &FailureLog) {
        let mut registry = self.lock();
        let registry = registry.sub_registry_with_prefix("portolan");
        registry.register_collector(Box::new(UnreadableObjects(log.clone())));
    }

    /// The exposition text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.lock());
        text
    }

    /// A request was answered, or not. It counts if it writes.
    pub(crate) fn requested(&self, resource: &'static str, verb: &'static str, result: &'static str) {
        if matches!(verb, "get" | "list") {
            return;
        }
        let label = Write {
            resource,
            verb,
            result,
        };
        self.writes.get_or_create(&label).inc();
    }

    pub(crate) fn evaluated(&self, took: Duration) {
        self.evaluations.inc();
        self.evaluation.observe(took.as_secs_f64());
    }

    pub(crate) fn published(&self, took: Duration, since_event: Option<Duration>) {
        self.publication.observe(took.as_secs_f64());
        if let Some(latency) = since_event {
            self.latency.observe(latency.as_secs_f64());
        }
    }

    pub(crate) fn queue(&self, depth: usize) {
        self.depth.set(depth as i64);
    }

    pub(crate) fn event_dropped(&self) {
        self.dropped_events.inc();
    }

    pub(crate) fn set_ready(&self, ready: bool) {
        self.ready.set(if ready { 1.0 } else { 0.0 });
    }

    pub(crate) fn output(&self, output: &'static str, enabled: bool) {
        let gauge = self.outputs.get_or_create(&Output { output });
        gauge.set(i64::from(enabled));
    }

    pub(crate) fn field(&self, definition: &'static str, field: &'static str, served: bool) {
        let gauge = self.fields.get_or_create(&Field { definition, field });
        gauge.set(i64::from(served));
    }

    pub(crate) fn restoring(&self, placements: usize) {
        self.kept.set(placements as i64);
    }

    pub(crate) fn placement(&self, namespace: &str, name: &str, published: Published) {
        let placement = Placement {
            namespace: namespace.to_owned(),
            placement: name.to_owned(),
        };
        self.clusters
            .get_or_create(&placement)
            .set(published.clusters as i64);
        for (kind, count) in [("ocm", published.decisions), ("kep", published.slices)] {
            self.objects
                .get_or_create(&objects(&placement, kind))
                .set(count as i64);
        }
    }

    pub(crate) fn placement_gone(&self, namespace: &str, name: &str) {
        let placement = Placement {
            namespace: namespace.to_owned(),
            placement: name.to_owned(),
        };
        self.clusters.remove(&placement);
        for kind in ["ocm", "kep"] {
            self.objects.remove(&objects(&placement, kind));
        }
    }

    pub(crate) fn condition(&self, condition: &'static str, status: bool, placements: usize) {
        let status = if status { "true" } else { "false" };
        let label = Condition { condition, status };
        self.conditions.get_or_create(&label).set(placements as i64);
    }
}

fn objects(placement: &Placement, kind: &'static str) -> Objects {
    Objects {
        namespace: placement.namespace.clone(),
        placement: placement.placement.clone(),
        kind,
    }
}
