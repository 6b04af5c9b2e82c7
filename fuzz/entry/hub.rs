//! A hub in this process with some objects, and what must hold of each of its answers.
//!
//! Its store is in memory and its time is that of a paused runtime: whatever the hub waits for comes at once. Each thread
//! has a hub of its own, so that tests do not meet.

use std::cell::OnceCell;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use portolan_hub::{Body, Hub, Service};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::Service as _;

use super::hub_objects::{DEFINITION, OBJECTS, Object};

pub(super) const JSON: &str = "application/json";
pub(super) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Kubernetes answers some mistakes of clients with a code that stands for mistakes of servers, and so does the hub.
/// Beside these the hub may say that it is full (507) or is stopping (503).
const LATE: &[(u16, &str)] = &[
    (500, "strconv.ParseUint: parsing"),
    (500, "couldn't decode DeleteOptions"),
    (500, "resourceVersion should not be set on objects to be created"),
    (500, "failed to create typed patch object"),
    (500, "expected a map[string]interface {}, but received a"),
    (500, "merging lists cannot yet be specified in the patch"),
    (500, "doesn't match $setElementOrder list"),
    (500, "does not contain declared merge key"),
    (500, "unknown patch type: "),
    (504, "Too large resource version: "),
];

/// A hub with its objects, and the runtime that it lives on.
pub(super) struct Server {
    runtime: Runtime,
    service: Service,
    _hub: Hub,
}

/// The answer to a request, checked.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn succeeded(&self) -> bool {
        self.code < 400
    }

    pub(super) fn version(&self) -> &str {
        self.body
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// What a client sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) method: &'a str,
    /// The path with the query.
    pub(super) path: &'a str,
    /// The content type.
    pub(super) content: &'a str,
    pub(super) body: &'a [u8],
}

impl Server {
    /// Calls `use_it` with the hub of this thread, which has the kinds of Portolan and the objects.
    pub(super) fn with<T>(use_it: impl FnOnce(&Server) -> T) -> T {
        thread_local! {
            static SERVER: OnceCell<&'static Server> = const { OnceCell::new() };
        }
        let start = || {
            let server = Server::start();
            let widgets = serde_json::from_str(DEFINITION).expect("the definition is JSON");
            for definition in portolan_api::crd_values().into_iter().chain([widgets]) {
                server.create(DEFINITIONS, &definition);
            }
            for object in OBJECTS.iter().filter(|object| !object.text.is_empty()) {
                server.create(object.collection, &object.value());
            }
            server
        };
        use_it(SERVER.with(|cell| *cell.get_or_init(start)))
    }

    /// Calls `use_it` with a hub of this thread that has nothing but the kinds of every hub: each change of a definition makes
    /// a hub read all definitions again.
    pub(super) fn with_empty<T>(use_it: impl FnOnce(&Server) -> T) -> T {
        thread_local! {
            static SERVER: OnceCell<&'static Server> = const { OnceCell::new() };
        }
        use_it(SERVER.with(|cell| *cell.get_or_init(Server::start)))
    }

    /// Never dropped: a runtime must not end while its thread does.
    fn start() -> &'static Server {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let now: jiff::Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
        // Little history: what a watch can go back to is to end within a run.
        let hub = Hub::builder().clock(move || now).history(64);
        let hub = runtime.block_on(hub.start()).expect("a hub in memory");
        Box::leak(Box::new(Server {
            service: hub.service(),
            runtime,
            _hub: hub,
        }))
    }

    fn create(&self, collection: &str, object: &Value) {
        let answer = self.send("POST", collection, JSON, object.to_string().as_bytes());
        assert!(answer.succeeded(), "{collection}: {answer:?}");
    }

    /// The answer to a request whose path is known to be a valid one.
    pub(super) fn send(&self, method: &str, path: &str, content: &str, body: &[u8]) -> Answer {
        let sent = Sent {
            method,
            path,
            content,
            body,
        };
        self.try_send(sent).expect("a valid path")
    }

    /// The answer, or `None` if the path is none and no HTTP request can have it.
    pub(super) fn try_send(&self, sent: Sent<'_>) -> Option<Answer> {
        let request = request(sent, JSON)?;
        Some(self.runtime.block_on(async {
            let response = self.call(request).await;
            whole(response, sent).await
        }))
    }

    async fn call(&self, request: Request<Full<Bytes>>) -> Response<Body> {
        let Ok(response) = self.service.clone().call(request).await;
        response
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, JSON, b"")
    }

    /// The hub has not lost a task, and an object can be shown in every form.
    pub(super) fn check_well(&self, path: &str) {
        let ready = Sent {
            method: "GET",
            path: "/readyz",
            content: JSON,
            body: b"",
        };
        let table = Sent { path, ..ready };
        self.runtime.block_on(async {
            // Time passes for the hub only where nothing else is to do, and its supervision goes by real time: the loops
            // of the hub would seem to stand still after a minute of requests.
            tokio::time::sleep(Duration::from_secs(30)).await;
            let response = self.call(request(ready, JSON).expect("a path")).await;
            assert_eq!(response.status(), StatusCode::OK, "/readyz");
            let response = self.call(request(table, TABLE).expect("a path")).await;
            let answer = whole(response, table).await;
            assert!(answer.code == 404 || answer.body["kind"] == "Table", "{answer:?}");
        });
    }

    /// Makes an object what it was at first, whatever has become of it.
    pub(super) fn restore(&self, object: &Object) {
        let path = object.path();
        let free = json!({"metadata": {"finalizers": null, "ownerReferences": null}}).to_string();
        self.send("PATCH", &path, MERGE, free.as_bytes());
        self.send(
            "DELETE",
            &format!("{path}?propagationPolicy=Background"),
            JSON,
            b"",
        );
        assert_eq!(self.get(&path).code, 404, "{path} was deleted");
        if !object.text.is_empty() {
            self.create(object.collection, &object.value());
        }
    }

    /// Waits until an object is gone: until the hub's own tasks have done what they do about a deletion.
    pub(super) fn wait_until_gone(&self, path: &str) {
        for _ in 0..1000 {
            if self.get(path).code == 404 {
                return;
            }
            self.runtime
                .block_on(async { tokio::time::sleep(Duration::from_millis(10)).await });
        }
        panic!("{path} is not gone: {:?}", self.get(path));
    }

    /// The lines of a watch, until there is none for a while or many were read; or the refusal. `meanwhile` is
    /// done once the watch has begun.
    pub(super) fn watch(
        &self,
        sent: Sent<'_>,
        accept: &str,
        meanwhile: impl FnOnce(),
    ) -> Option<Result<Vec<Value>, Answer>> {
        const PATIENCE: Duration = Duration::from_secs(70);
        const MOST: usize = 64;
        let request = request(sent, accept)?;
        let response = self.runtime.block_on(self.call(request));
        if response.status() != StatusCode::OK {
            return Some(Err(self.runtime.block_on(whole(response, sent))));
        }
        let is_protobuf = response.headers().get(http::header::CONTENT_TYPE);
        let is_protobuf = is_protobuf.is_some_and(|kind| kind.as_bytes().starts_with(PROTOBUF.as_bytes()));
        let mut body = response.into_body();
        meanwhile();
        let mut text = Vec::new();
        let read = async {
            for _ in 0..MOST {
                match tokio::time::timeout(PATIENCE, body.frame()).await {
                    Ok(Some(Ok(frame))) => text.extend_from_slice(frame.data_ref().expect("data")),
                    Ok(Some(Err(never))) => match never {},
                    Ok(None) | Err(_) => break,
                }
            }
        };
        self.runtime.block_on(read);
        if is_protobuf {
            check_frames(&text, sent);
            return Some(Ok(Vec::new()));
        }
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let parse = |line| serde_json::from_slice(line).expect("a line of a watch is JSON");
        Some(Ok(lines.map(parse).collect()))
    }
}

/// Events as protobuf: each has its length before it, and an object with the bytes that every object starts with.
fn check_frames(mut bytes: &[u8], sent: Sent<'_>) {
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).expect("a length");
        let event = rest
            .get(..length)
            .unwrap_or_else(|| panic!("{sent:?}: an event is cut"));
        assert!(
            event.windows(4).any(|part| part == b"k8s\0"),
            "{sent:?}: {event:?}"
        );
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "{sent:?}: {bytes:?} is left over");
}

fn request(sent: Sent<'_>, accept: &str) -> Option<Request<Full<Bytes>>> {
    let body = Full::new(Bytes::copy_from_slice(sent.body));
    Request::builder()
        .method(sent.method)
        .uri(sent.path)
        .header("content-type", sent.content)
        .header("accept", accept)
        .body(body)
        .ok()
}

/// Reads a whole answer and checks what holds of every one.
async fn whole(response: Response<Body>, sent: Sent<'_>) -> Answer {
    let code = response.status().as_u16();
    let Ok(bytes) = response.into_body().collect().await;
    let bytes = bytes.to_bytes();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        panic!("{sent:?}: the answer {code} is no JSON: {error}: {bytes:?}");
    });
    let answer = Answer { code, body };
    if !answer.succeeded() {
        check_refusal(&answer, sent);
    }
    answer
}

fn check_refusal(answer: &Answer, sent: Sent<'_>) {
    let text = |field: &str| answer.body[field].as_str().unwrap_or_default();
    let code = answer.code;
    assert_eq!(text("kind"), "Status", "{sent:?}: {answer:?}");
    assert_eq!(text("status"), "Failure", "{sent:?}: {answer:?}");
    assert_eq!(answer.body["code"], code, "{sent:?}: {answer:?}");
    assert!(!text("message").is_empty(), "{sent:?}: {answer:?}");
    let late = |known: &&(u16, &str)| known.0 == code && text("message").contains(known.1);
    assert!(
        code < 500 || code == 503 || code == 507 || LATE.iter().any(|known| late(&known)),
        "{sent:?}: {answer:?}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_no_client_can_use_is_a_finding() {
        let refusal = |code: u16, message: &str| Answer {
            code,
            body: json!({"kind": "Status", "status": "Failure", "code": code, "message": message}),
        };
        let sent = Sent {
            method: "GET",
            path: "/",
            content: JSON,
            body: b"",
        };
        let passes = |answer: &Answer| std::panic::catch_unwind(|| check_refusal(answer, sent)).is_ok();
        assert!(passes(&refusal(422, "why")));
        assert!(passes(&refusal(507, "the hub is full")));
        assert!(passes(&refusal(500, "unknown patch type: x in map: {}")));
        assert!(!passes(&refusal(500, "anything else")));
        assert!(!passes(&refusal(422, "")));
        let other = Answer {
            code: 404,
            body: json!({"message": "not found"}),
        };
        assert!(!passes(&other), "it is no Status");
    }
}
