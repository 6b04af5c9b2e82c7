//! A collector that keeps what it gets.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves on a thread of its own: the test's may be busy waiting for it.
pub(super) struct Collector {
    pub(super) url: String,
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    _runtime: Option<Runtime>,
}

impl Collector {
    pub(super) fn start() -> Collector {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.spawn(serve(listener, Arc::clone(&received)));
        Collector {
            url,
            received,
            _runtime: Some(runtime),
        }
    }

    /// Every span, the first to begin first.
    pub(super) fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let scopes = received.iter().flat_map(|request| &request.resource_spans);
        let spans = scopes
            .flat_map(|resource| &resource.scope_spans)
            .flat_map(|scope| &scope.spans);
        let mut spans: Vec<Span> = spans
            .map(|span| Span {
                trace: span.trace_id.clone(),
                id: span.span_id.clone(),
                parent: span.parent_span_id.clone(),
                name: span.name.clone(),
                start: span.start_time_unix_nano,
                end: span.end_time_unix_nano,
                attributes: attributes(&span.attributes),
            })
            .collect();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// The names of the services that sent them.
    pub(super) fn services(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        let resources = received.iter().flat_map(|request| &request.resource_spans);
        let attributes =
            resources.flat_map(|spans| spans.resource.iter().flat_map(|of| attributes(&of.attributes)));
        let mut names: Vec<String> = attributes
            .filter(|(key, _)| key == "service.name")
            .map(|(_, value)| value)
            .collect();
        names.dedup();
        names
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Some(runtime) = self._runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[derive(Debug)]
pub(super) struct Span {
    pub(super) trace: Vec<u8>,
    pub(super) id: Vec<u8>,
    pub(super) parent: Vec<u8>,
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Vec<(String, String)>,
}

impl Span {
    pub(super) fn text(&self, key: &str) -> String {
        let found = self.attributes.iter().find(|(known, _)| known == key);
        found.unwrap_or_else(|| panic!("no {key} in {self:?}")).1.clone()
    }

    pub(super) fn number(&self, key: &str) -> i64 {
        self.text(key).parse().unwrap()
    }
}

fn attributes(attributes: &[KeyValue]) -> Vec<(String, String)> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = attributes.iter();
    pairs.map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}

async fn serve(listener: std::net::TcpListener, received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let received = received.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let received = received.clone();
            async move {
                assert_eq!(request.uri().path(), "/v1/traces");
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let decoded = ExportTraceServiceRequest::decode(body).unwrap();
                received.lock().unwrap().push(decoded);
                let answer = ExportTraceServiceResponse::default().encode_to_vec();
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer))))
            }
        });
        let http = hyper::server::conn::http1::Builder::new();
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}
