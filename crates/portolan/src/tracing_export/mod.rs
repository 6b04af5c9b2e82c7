//! `--otlp-endpoint`: a trace of every decision, from the watch event to the last write, for an OpenTelemetry collector.
//!
//! Without an endpoint there is no exporter, no thread and no connection, and no span is made. A collector that is slow
//! or away costs spans, never a decision.

#[cfg(feature = "otlp")]
mod client;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(all(test, feature = "otlp"))]
mod tests;

use std::fmt;

use http::Uri;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// Where a collector takes traces over HTTP when only its address is given.
const PATH: &str = "/v1/traces";

/// `--otlp-endpoint`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TraceArgs {
    /// OpenTelemetry collector that gets a trace of every decision: OTLP over HTTP, such as http://localhost:4318
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        hide_env_values = true,
        value_name = "URL",
        value_parser = parse_endpoint
    )]
    otlp_endpoint: Option<Endpoint>,
}

/// The URL that traces are posted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(Uri);

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A part of the subscriber that sends spans away.
pub(crate) type Export<S> = Box<dyn Layer<S> + Send + Sync>;

/// Sends what is left when it is dropped. Keep it until the last decision is written.
#[derive(Debug, Default)]
#[must_use = "spans that wait are sent when it is dropped"]
pub(crate) struct Guard {
    #[cfg(feature = "otlp")]
    provider: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

impl TraceArgs {
    /// What to add to the subscriber, if an endpoint is given, and what to keep until the end.
    pub(crate) fn start<S>(&self) -> anyhow::Result<(Option<Export<S>>, Guard)>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        match &self.otlp_endpoint {
            Some(endpoint) => start(endpoint).map(|(export, guard)| (Some(export), guard)),
            None => Ok((None, Guard::default())),
        }
    }
}

#[cfg(feature = "otlp")]
fn start<S>(endpoint: &Endpoint) -> anyhow::Result<(Export<S>, Guard)>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let (export, provider) = otlp::start(endpoint)?;
    let provider = Some(provider);
    Ok((export, Guard { provider }))
}

#[cfg(not(feature = "otlp"))]
fn start<S>(endpoint: &Endpoint) -> anyhow::Result<(Export<S>, Guard)> {
    anyhow::bail!(
        "cannot send traces to {endpoint}: this portolan was built without the feature `otlp`; build it with \
         `cargo build --features otlp`, or leave out --otlp-endpoint and OTEL_EXPORTER_OTLP_ENDPOINT"
    )
}

#[cfg(feature = "otlp")]
impl Drop for Guard {
    fn drop(&mut self) {
        let Some(provider) = &self.provider else { return };
        if let Err(error) = provider.shutdown_with_timeout(otlp::LAST_WORDS) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// The address of a collector, or the whole URL.
fn parse_endpoint(text: &str) -> Result<Endpoint, String> {
    let accepted =
        "accepted: http://HOST:PORT or https://HOST:PORT, with a path in front of /v1/traces if there is one";
    let uri: Uri = text.parse().map_err(|error| format!("{error}; {accepted}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https"))
        || uri.authority().is_none()
        || uri.query().is_some()
    {
        return Err(accepted.to_owned());
    }
    let base = text.trim_end_matches('/');
    let full = match base.ends_with(PATH) {
        true => base.to_owned(),
        false => format!("{base}{PATH}"),
    };
    full.parse()
        .map(Endpoint)
        .map_err(|error| format!("{error}; {accepted}"))
}

#[cfg(test)]
mod endpoint_tests {
    use super::*;

    #[test]
    fn the_path_for_traces_is_added_unless_it_is_there() {
        for (given, posted) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            (
                "https://otel.example/collect",
                "https://otel.example/collect/v1/traces",
            ),
            ("http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/traces"),
        ] {
            assert_eq!(parse_endpoint(given).unwrap().to_string(), posted);
        }
    }

    #[test]
    fn without_an_endpoint_there_is_nothing_to_send_with() {
        let (export, _guard) = TraceArgs::default()
            .start::<tracing_subscriber::Registry>()
            .unwrap();
        assert!(export.is_none());
    }

    #[cfg(not(feature = "otlp"))]
    #[test]
    fn a_build_without_the_feature_says_so_when_an_endpoint_is_given() {
        let otlp_endpoint = Some(parse_endpoint("http://localhost:4318").unwrap());
        let started = TraceArgs { otlp_endpoint }.start::<tracing_subscriber::Registry>();
        let message = started.err().unwrap().to_string();
        assert!(message.contains("--features otlp"), "{message}");
    }

    #[test]
    fn what_is_no_address_of_a_collector_is_refused() {
        for text in [
            "",
            "localhost",
            "localhost:4318",
            "grpc://localhost:4317",
            "http://",
            "http://h?x=1",
        ] {
            let message = parse_endpoint(text).unwrap_err();
            assert!(message.contains("http://HOST:PORT"), "{text}: {message}");
        }
    }
}
