//! The entry: any HTTP request becomes an answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use serde_json::json;

use super::apart::apart_always;
use super::arrival::Arrival;
use super::call::{Call, Permission};
use super::impersonate::is_impersonated;
use super::in_flight::{BodyBytes, Claim, Counted};
use super::journal::Change;
use super::metrics::Labels;
use super::request::{Asked, Place, Prefix, Query, Target, Verb, target};
use super::status::{Answer, Failure};
use super::turns::LONG_FROM;
use super::{Body, Core, Peer, body};
use crate::access::{Identity, rbac};
use crate::discovery;
use crate::kinds::Resource;
use crate::kinds::names::Rule;
use crate::sabotage;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// A client that has not sent the body of its request by then has stopped sending. Shorter, and clients on slow lines could
/// not send three mebibytes.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the body of a request, which is not done before the request is known to be allowed.
type Incoming = Box<dyn FnOnce(Option<BodyBytes>) -> Arriving + Send>;
type Arriving = Pin<Box<dyn Future<Output = Answer<Bytes>> + Send>>;

/// The hub as a `tower` service. Clones share the hub; `kube::Client::new(service, "default")` makes a client of it
/// without a socket.
#[derive(Debug, Clone)]
pub struct Service {
    core: Arc<Core>,
    peer: Peer,
}

impl Service {
    pub(crate) fn new(core: Arc<Core>, peer: Peer) -> Self {
        Self { core, peer }
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The same hub for whoever is at the other end of a connection.
    pub(crate) fn with_peer(&self, peer: Peer) -> Self {
        Self {
            core: self.core.clone(),
            peer,
        }
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (core, peer) = (self.core.clone(), self.peer.clone());
        Box::pin(async move {
            let (head, incoming) = request.into_parts();
            let started = core.clock.now();
            let mut labels = Labels::of(&head.method);
            let arrival = Arrival::of(head.version, &incoming);
            let noted = arrival.clone();
            let body: Incoming =
                Box::new(move |counted| Box::pin(noted.noting(body::read(incoming, counted))));
            let method = head.method.clone();
            let answer = core
                .answer(&peer, head.method, &head.uri, head.headers, body, &mut labels)
                .await;
            let mut response = answer.unwrap_or_else(|failure| {
                // The path alone: a query may hold what is none of the log's business.
                let (path, code) = (head.uri.path(), failure.code().as_u16());
                tracing::debug!("refused {method} {path}: {code} {}", failure.message());
                body::failure(&failure)
            });
            if arrival.ends_connection() {
                response.headers_mut().insert(CONNECTION, CLOSE);
            }
            let took = core.clock.now().duration_since(started);
            core.metrics.observe(labels, response.status(), took);
            Ok(response)
        })
    }
}

/// The client of one request.
struct Asking {
    counted: Counted,
    /// Whose limits count.
    sender: Identity,
    /// Whose rights count: the sender's, or those of a user whom the sender may act as.
    identity: Identity,
}

/// The first lines of a request.
struct Head<'a> {
    method: Method,
    uri: &'a Uri,
    query: Query,
    headers: HeaderMap,
}

/// The body of a request that has one. That of a read says nothing, and a watch would hold it until its end.
async fn arrived(verb: Verb, body: Incoming, counted: Option<BodyBytes>) -> Answer<Bytes> {
    match verb {
        Verb::Get | Verb::List | Verb::Watch => Ok(Bytes::new()),
        _ => match tokio::time::timeout(BODY_TIMEOUT, body(counted)).await {
            Ok(bytes) => bytes,
            Err(_) => Err(Failure::body_timeout(BODY_TIMEOUT)),
        },
    }
}

impl Core {
    async fn answer(
        self: &Arc<Self>,
        peer: &Peer,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Incoming,
        labels: &mut Labels,
    ) -> Answer<Response<Body>> {
        let sender = self.sender(peer, &headers)?;
        let counted = match peer {
            // They are short, and a monitor of the hub must get them however many others ask. To act as somebody may take long.
            _ if discovery::is_probe(uri.path()) && !is_impersonated(&headers) => None,
            Peer::Known(_) => None,
            // Before the request waits for anything.
            Peer::Remote(_) => self.in_flight.request(&sender)?,
        };
        let identity = self.act_as(&sender, &headers).await?;
        let query = Query::parse(uri);
        let asking = Asking {
            counted,
            sender,
            identity,
        };
        match target(uri.path())? {
            Target::Other(path) => {
                self.answer_about_itself(asking, &method, &path, &query, &headers)
                    .await
            }
            Target::Resource(place) => {
                let head = Head {
                    method,
                    uri,
                    query,
                    headers,
                };
                self.answer_about_objects(asking, head, place, body, labels).await
            }
        }
    }

    async fn answer_about_itself(
        self: &Arc<Self>,
        asking: Asking,
        method: &Method,
        path: &str,
        query: &Query,
        headers: &HeaderMap,
    ) -> Answer<Response<Body>> {
        let verb = method.as_str().to_ascii_lowercase();
        let target = rbac::Target::Path(path);
        self.authorize_in_turn(&asking.sender, &asking.identity, &verb, target)
            .await?;
        if method != Method::GET && method != Method::HEAD {
            return Err(Failure::method_not_allowed());
        }
        let answer = || {
            discovery::answer(self, path, query, headers)
                .unwrap_or_else(|| discovery::not_found(&self.registry(), path))
        };
        let response = match discovery::is_long(path) {
            true => {
                let _turn = self.in_flight.turn(&asking.sender, LONG_FROM + 1).await;
                apart_always(answer)?
            }
            false => answer()?,
        };
        match asking.counted {
            Some(counted) => self.hold(response, counted, &asking.sender, Refusal::Possible),
            None => Ok(response),
        }
    }

    async fn answer_about_objects(
        self: &Arc<Self>,
        asking: Asking,
        head: Head<'_>,
        place: Place,
        body: Incoming,
        labels: &mut Labels,
    ) -> Answer<Response<Body>> {
        let Asking {
            counted,
            sender,
            identity,
        } = asking;
        let asked = Asked::of(&head.method, &place, &head.query);
        let name = asked.name(&place, &head.query);
        // Before the right is looked for, so that no later change of the roles is missed.
        let roles = self.gate.roles.current();
        self.authorize_in_turn(&sender, &identity, asked.authorized, rbac_target(&place, &name))
            .await?;
        head.query.check()?;
        let registry = self.registry();
        let resource = registry.find(&place.group, &place.version, &place.plural);
        let Some(resource) = resource.cloned() else {
            return discovery::not_found(&registry, head.uri.path());
        };
        check_path(&place, &resource)?;
        let verb = asked.served.ok_or_else(Failure::method_not_allowed)?;
        // Only now: nothing of a client that may not do this is held in memory.
        let (counted, body) = self.take_in(counted, verb, &sender, body).await?;
        let call = Call {
            method: head.method,
            sender,
            identity,
            resource,
            place,
            query: head.query,
            headers: head.headers,
            body,
            permission: Permission {
                verb: asked.authorized,
                name,
                roles,
            },
        };
        let is_apply = call.content_type() == super::media_type::APPLY_PATCH;
        let is_dry = call.query.get("dryRun").is_some();
        labels.name(verb, &call.resource, &call.place, is_apply, is_dry);
        self.carry_out(verb, call, counted, labels).await
    }

    /// Does what is asked for. The answer counts until the client has read it.
    async fn carry_out(
        self: &Arc<Self>,
        verb: Verb,
        call: Call,
        counted: Counted,
        labels: &Labels,
    ) -> Answer<Response<Body>> {
        let sender = call.sender.clone();
        let (change, refusal) = (Change::of(verb, &call), Refusal::of(verb, &call));
        let response = self.serve(verb, call).await?;
        change
            .iter()
            .for_each(|change| change.log(response.extensions().get()));
        if verb == Verb::Watch {
            let watching = self.metrics.watching(labels.clone());
            return Ok(response.map(|body| body.holding((watching, counted))));
        }
        match counted {
            Some(counted) => self.hold(response, counted, &sender, refusal),
            None => Ok(response),
        }
    }

    /// Counts a watch as a watch, and reads the body of a request.
    async fn take_in(
        &self,
        counted: Counted,
        verb: Verb,
        sender: &Identity,
        body: Incoming,
    ) -> Answer<(Counted, Bytes)> {
        let counted = match (counted, verb) {
            (Some(_), Verb::Watch) => self.in_flight.watch(sender)?,
            (counted, _) => counted,
        };
        if counted.is_some() && !matches!(verb, Verb::Get | Verb::List | Verb::Watch) {
            self.in_flight.check_answers(sender)?;
        }
        let bytes = counted.as_ref().and_then(|_| self.in_flight.body(sender));
        let body = arrived(verb, body, bytes).await?;
        Ok((counted, body))
    }

    /// Counts the request, and the bytes of its answer, until the client has read the answer.
    fn hold(
        &self,
        mut response: Response<Body>,
        counted: Claim,
        sender: &Identity,
        refusal: Refusal,
    ) -> Answer<Response<Body>> {
        let mut length = response.body().length().unwrap_or_default();
        let held = match (self.in_flight.answer(sender, length), refusal) {
            (Ok(held), _) => held,
            (Err(refused), Refusal::Possible) => return Err(refused),
            (Err(_), Refusal::LeavesOutTheObjects) => {
                let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
                response = body::value(StatusCode::OK, &done);
                length = response.body().length().unwrap_or_default();
                self.in_flight.answer_anyway(sender, length)
            }
            (Err(_), Refusal::Impossible) => self.in_flight.answer_anyway(sender, length),
        };
        Ok(response.map(|body| body.holding((counted, held))))
    }

    /// Refuses a request whose sender has lost its account, or whose user the right, while the request waited.
    pub(super) fn confirm(&self, call: &Call) -> Answer<()> {
        self.gate.check_account(&call.sender, &self.store)?;
        let permission = &call.permission;
        if Arc::ptr_eq(&permission.roles, &self.gate.roles.current()) {
            return Ok(());
        }
        let target = rbac_target(&call.place, &permission.name);
        self.authorize(&call.identity, permission.verb, target)
    }

    /// Whether who asks may do something else to the same object too.
    pub(super) fn authorize_place(&self, call: &Call, verb: &str) -> Answer<()> {
        if sabotage::sabotaged(sabotage::Rule::CreationIsAsked) {
            return Ok(());
        }
        self.authorize(&call.identity, verb, rbac_target(&call.place, call.name()))
    }
}

/// Whether an answer can be refused because there is no room for it.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    Possible,
    /// What was deleted is not asked for again. The objects are in the answer, but few clients read them there.
    LeavesOutTheObjects,
    /// What was written would be written twice. Such an answer has one object.
    Impossible,
}

impl Refusal {
    fn of(verb: Verb, call: &Call) -> Self {
        match verb {
            Verb::Get | Verb::List | Verb::Watch => Refusal::Possible,
            _ if call.query.get("dryRun").is_some() => Refusal::Possible,
            Verb::DeleteCollection => Refusal::LeavesOutTheObjects,
            Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => Refusal::Impossible,
        }
    }
}

/// Paths that are authorized, but below which nothing can be.
fn check_path(place: &Place, resource: &Resource) -> Answer<()> {
    let in_namespace = place.namespace.is_some();
    let given = [&place.namespace, &place.name, &place.subresource]
        .into_iter()
        .flatten();
    let nothing = place.goes_on
        || place.prefix == Some(Prefix::Proxy)
        || (in_namespace && !resource.namespaced)
        || given.into_iter().any(String::is_empty);
    if nothing {
        return Err(Failure::no_such_path());
    }
    let name = place.name.as_deref().unwrap_or_default();
    match Rule::PathSegment.check(name).first() {
        Some(wrong) => Err(Failure::bad_request(format!(
            "Name parameter invalid: {name:?}: {wrong}"
        ))),
        None => Ok(()),
    }
}

/// What is asked for, as roles name it. A namespace is in itself.
fn rbac_target<'a>(place: &'a Place, name: &'a str) -> rbac::Target<'a> {
    let own = place.plural == "namespaces" && place.namespace.is_none();
    if own && sabotage::sabotaged(sabotage::Rule::ScopesCount) {
        return rbac::Target::Resource {
            group: &place.group,
            resource: &place.plural,
            subresource: place.subresource.as_deref().unwrap_or_default(),
            namespace: name,
            name,
        };
    }
    rbac::Target::Resource {
        group: &place.group,
        resource: &place.plural,
        subresource: place.subresource.as_deref().unwrap_or_default(),
        // Not the selected name: a list of all namespaces with a selector is still a request at cluster scope.
        namespace: if own { &place.name } else { &place.namespace }
            .as_deref()
            .unwrap_or_default(),
        name,
    }
}
