//! The line between an agent and a server in the same process, which can be cut.
//!
//! A cut line behaves as a network does: requests fail, and answers that are still coming in break off.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use portolan_hub::Service;
use tokio::sync::watch;

use super::injected_fault::InjectedFault;
use crate::logging::LINE_IS_CUT;

/// What a line lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passage {
    /// Everything.
    Open,
    /// Everything, but the server says that it is ill when it is asked.
    Ill,
    /// Everything, but refusals arrive late: the agent of a member that leaves loses its rights shortly before it is ended, and
    /// would log that as a failure.
    Closing,
    /// Nothing.
    Cut,
}

/// How late a refusal arrives at an agent that is about to be ended. It is ended within a second or two after its rights; with
/// a longer time, an agent that is not ended would not say why it stands still.
const REFUSAL_DELAY: Duration = Duration::from_secs(5);

/// A server at the other end of a line.
#[derive(Clone, Debug)]
pub(super) struct Link {
    server: Service,
    fate: watch::Receiver<InjectedFault>,
    /// What the fate of the member means for this line.
    passage: fn(InjectedFault) -> Passage,
}

type Answering = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

impl Link {
    /// From a member's agent to its hub.
    pub(super) fn to_hub(hub: Service, fate: watch::Receiver<InjectedFault>) -> Link {
        let passage = |fate| match fate {
            InjectedFault::Partitioned => Passage::Cut,
            InjectedFault::Leaving | InjectedFault::Left => Passage::Closing,
            InjectedFault::Well | InjectedFault::Failed => Passage::Open,
        };
        Link {
            server: hub,
            fate,
            passage,
        }
    }

    /// From a member's agent to the member.
    pub(super) fn to_member(member: Service, fate: watch::Receiver<InjectedFault>) -> Link {
        let passage = |fate| match fate {
            InjectedFault::Failed => Passage::Ill,
            InjectedFault::Well
            | InjectedFault::Partitioned
            | InjectedFault::Leaving
            | InjectedFault::Left => Passage::Open,
        };
        Link {
            server: member,
            fate,
            passage,
        }
    }
}

impl<B> tower::Service<Request<B>> for Link
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        let cut = cut(self.fate.clone(), self.passage);
        match (self.passage)(*self.fate.borrow()) {
            Passage::Cut => Box::pin(async { Err(unreachable()) }),
            Passage::Ill if is_question_of_health(request.uri().path()) => Box::pin(async {
                let body = Full::from("simulated: [-]etcd failed\n").boxed_unsync();
                let mut response = Response::new(Body { inner: body, cut });
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                Ok(response)
            }),
            _ => {
                let (fate, passage) = (self.fate.clone(), self.passage);
                let method = request.method().clone();
                let answering = tower::Service::call(&mut self.server, request);
                Box::pin(async move {
                    let response = answering.await.unwrap_or_else(|never| match never {});
                    if passage(*fate.borrow()) == Passage::Closing && is_refusal(&method, response.status()) {
                        tokio::time::sleep(REFUSAL_DELAY).await;
                    }
                    let inner = |body: portolan_hub::Body| body.boxed_unsync();
                    Ok(response.map(|body| Body {
                        inner: inner(body),
                        cut,
                    }))
                })
            }
        }
    }
}

/// Whether an answer says that the account, its rights or the namespace of the member are gone.
fn is_refusal(method: &Method, status: StatusCode) -> bool {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
        // Nothing is missing for a new object but its namespace.
        StatusCode::NOT_FOUND => method == Method::POST,
        _ => false,
    }
}

fn is_question_of_health(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    matches!(first, "healthz" | "livez" | "readyz")
}

type Cutting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Ends when the line is cut.
fn cut(mut fate: watch::Receiver<InjectedFault>, passage: fn(InjectedFault) -> Passage) -> Cutting {
    Box::pin(async move {
        if fate
            .wait_for(|fate| passage(*fate) == Passage::Cut)
            .await
            .is_err()
        {
            // The sender is gone, so the line is never cut again.
            std::future::pending().await
        }
    })
}

fn unreachable() -> io::Error {
    io::Error::new(io::ErrorKind::NetworkUnreachable, LINE_IS_CUT)
}

/// An answer that breaks off when the line is cut.
pub(super) struct Body {
    inner: http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>,
    cut: Cutting,
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<http_body::Frame<Bytes>>>> {
        if self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(unreachable())));
        }
        Pin::new(&mut self.inner)
            .poll_frame(context)
            .map(|frame| frame.map(|frame| frame.map_err(|never| match never {})))
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{ListParams, WatchParams};
    use kube::{Api, Client};
    use portolan_hub::Hub;

    use super::*;

    fn client(line: Link) -> Client {
        Client::new(line, "default")
    }

    async fn is_healthy(client: &Client) -> bool {
        let request = Request::get("/livez").body(Vec::new()).unwrap();
        client.request_text(request).await.is_ok()
    }

    #[tokio::test]
    async fn a_partition_fails_requests_and_ends_watches_until_it_is_over() {
        let hub = Hub::builder().start().await.unwrap();
        let (fate, receiver) = watch::channel(InjectedFault::Well);
        let (to_hub, to_member) = (
            client(Link::to_hub(hub.service(), receiver.clone())),
            client(Link::to_member(hub.service(), receiver)),
        );
        let maps: Api<ConfigMap> = Api::default_namespaced(to_hub);
        maps.list(&ListParams::default()).await.unwrap();
        let mut watch = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();

        fate.send_replace(InjectedFault::Partitioned);
        assert!(maps.list(&ListParams::default()).await.is_err());
        let last = watch.next().await;
        assert!(!matches!(last, Some(Ok(_))), "{last:?}");
        assert!(is_healthy(&to_member).await, "the member is not concerned");

        fate.send_replace(InjectedFault::Well);
        maps.list(&ListParams::default()).await.unwrap();
        hub.stop().await;
    }

    #[test]
    fn a_member_that_leaves_gets_late_what_says_that_its_rights_are_gone() {
        let (get, post) = (Method::GET, Method::POST);
        for (method, status, is_late) in [
            (&get, StatusCode::FORBIDDEN, true),
            (&get, StatusCode::UNAUTHORIZED, true),
            (&post, StatusCode::NOT_FOUND, true),
            (&get, StatusCode::NOT_FOUND, false),
            (&post, StatusCode::CONFLICT, false),
            (&get, StatusCode::OK, false),
        ] {
            assert_eq!(is_refusal(method, status), is_late, "{method} {status}");
        }
    }

    #[tokio::test]
    async fn a_failed_member_says_that_it_is_ill_and_answers_all_the_same() {
        let member = Hub::builder().start().await.unwrap();
        let (fate, receiver) = watch::channel(InjectedFault::Well);
        let agent = client(Link::to_member(member.service(), receiver));
        assert!(is_healthy(&agent).await);
        fate.send_replace(InjectedFault::Failed);
        assert!(!is_healthy(&agent).await);
        let maps: Api<ConfigMap> = Api::default_namespaced(agent.clone());
        maps.list(&ListParams::default()).await.unwrap();
        fate.send_replace(InjectedFault::Well);
        assert!(is_healthy(&agent).await);
        member.stop().await;
    }
}
