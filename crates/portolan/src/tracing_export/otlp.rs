//! Spans on their way to the collector.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use opentelemetry::Value;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter,
};
use portolan_controllers::trace;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use super::client::Client;
use super::{Endpoint, Export};

/// How long spans that wait may take at the end.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(5);
/// Spans that may wait: a start with a thousand placements makes some ten thousand in seconds. More are dropped.
const WAITING: usize = 16_384;

/// What makes spans of ours into those of a collector.
pub(super) fn start<S>(endpoint: &Endpoint) -> anyhow::Result<(Export<S>, SdkTracerProvider)>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new(&endpoint.0)?)
        .with_endpoint(endpoint.to_string())
        .build()
        .with_context(|| format!("cannot send traces to {endpoint}"))?;
    let exporter = Exporter {
        exporter,
        endpoint: endpoint.to_string(),
        fails: AtomicBool::new(false),
    };
    let batches = BatchConfigBuilder::default().with_max_queue_size(WAITING).build();
    let processor = BatchSpanProcessor::builder(exporter)
        .with_batch_config(batches)
        .build();
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_span_processor(processor)
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("portolan"))
        .with_location(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        // Clients have spans too, one for each watch, that no decision is the root of.
        .with_filter(Targets::new().with_target(trace::TARGET, LevelFilter::DEBUG));
    Ok((Box::new(layer), provider))
}

/// The resource that spans belong to. Variables of the environment come first.
fn resource() -> Resource {
    let builder = Resource::builder();
    match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => builder.build(),
        None => builder.with_service_name("portolan").build(),
    }
}

/// Gives spans the start that they say they had, and says when the collector does not take them.
#[derive(Debug)]
struct Exporter {
    exporter: opentelemetry_otlp::SpanExporter,
    endpoint: String,
    fails: AtomicBool,
}

impl SpanExporter for Exporter {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        batch.iter_mut().for_each(begin_earlier);
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        let failed = self.fails.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !failed => {
                tracing::warn!(endpoint = self.endpoint, %error, spans, "the collector takes no traces; they are lost");
            }
            Ok(()) if failed => tracing::info!(endpoint = self.endpoint, "the collector takes traces again"),
            _ => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

fn begin_earlier(span: &mut SpanData) {
    let Some(at) = span
        .attributes
        .iter()
        .position(|known| known.key.as_str() == trace::AGE)
    else {
        return;
    };
    if let Value::I64(microseconds) = span.attributes.remove(at).value
        && let Ok(microseconds) = u64::try_from(microseconds)
        && let Some(start) = span.start_time.checked_sub(Duration::from_micros(microseconds))
    {
        span.start_time = start;
    }
}
