//! The hub over plain requests: what its clients' libraries hide, and what no older server can be asked to do as well.

#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod abuse;
mod admission;
mod amplified;
mod definitions;
mod kinds;
mod metrics;
mod own_rules;
mod rules;
mod streaming;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WARNING};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use portolan_hub::{Hub, Service};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// An answer of the hub.
#[derive(Debug)]
struct Answer {
    code: StatusCode,
    body: Value,
    warnings: Vec<String>,
}

impl Answer {
    #[track_caller]
    fn ok(self) -> Value {
        assert!(self.code.is_success(), "{self:?}");
        self.body
    }

    /// The code, the reason and the causes of a refusal as `reason field: message`.
    fn refusal(&self) -> (u16, &str, Vec<String>) {
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let causes = self.body["details"]["causes"].as_array().into_iter().flatten();
        let causes = causes.map(|cause| {
            format!(
                "{} {}: {}",
                text(cause, "reason"),
                text(cause, "field"),
                text(cause, "message")
            )
        });
        let reason = self.body["reason"].as_str().unwrap_or_default();
        (self.code.as_u16(), reason, causes.collect())
    }
}

/// A client without a library.
struct Client(Service);

impl Client {
    fn of(hub: &Hub) -> Self {
        Self(hub.service())
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Answer {
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, kind)
            .body(Full::new(bytes))
            .unwrap();
        let response = self.0.clone().oneshot(request).await.unwrap();
        let warnings = response.headers().get_all(WARNING).iter();
        let warnings = warnings
            .map(|warning| warning.to_str().unwrap().to_owned())
            .collect();
        let code = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
        Answer { code, body, warnings }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", &Value::Null).await
    }

    async fn create(&self, path: &str, object: &Value) -> Answer {
        self.send("POST", path, "application/json", object).await
    }

    async fn replace(&self, path: &str, object: &Value) -> Answer {
        self.send("PUT", path, "application/json", object).await
    }

    async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.send("PATCH", path, "application/merge-patch+json", patch)
            .await
    }

    async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, "", &Value::Null).await
    }
}

/// Waits for what the hub does on its own time.
async fn eventually<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    for _ in 0..2_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("never happened: {what}");
}

/// A definition of Widgets with this schema of `spec`, and an open status.
fn widgets(spec: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": spec,
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"phase": {"type": "string"}}},
                }}},
            }],
        },
    })
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}
