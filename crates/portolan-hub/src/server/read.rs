//! Get and list.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::accept::{Encoding, Form, read_form, weighed};
use super::apart::{MOST_AT_ONCE, apart, apart_always};
use super::call::Call;
use super::request::Verb;
use super::selector::Selector;
use super::status::{Answer, Failure};
use super::turns::LONG_FROM;
use super::{Body, Core, body};
use crate::protobuf;
use crate::schema::FieldError;
use crate::store::{Range, Stored};
use crate::table::Headers;

/// What each object of a list counts for in bytes, however short it is.
const VISITED: usize = 32;

/// How long a read waits for a revision that is not there yet.
const REVISION_TIMEOUT: Duration = Duration::from_secs(3);

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
    go_on: Option<String>,
    remaining: Option<usize>,
}

impl Listing {
    pub(super) fn metadata(&self) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if let Some(token) = &self.go_on {
            meta["continue"] = token.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

/// Where a list goes on: in the state of one revision, or (below zero) in the current one.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

impl Core {
    pub(crate) fn get(&self, call: &Call) -> Answer<Arc<Stored>> {
        let stored = self.store.get(&call.key(call.name()));
        stored.ok_or_else(|| Failure::not_found(&call.resource, call.name()))
    }

    pub(crate) async fn list(&self, call: &Call) -> Answer<Listing> {
        let selector = self.selector(call)?;
        let limit = call
            .query
            .number("limit")?
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0);
        let prefix = call.prefix();
        let Range {
            mut objects,
            revision,
        } = match call.query.get("continue") {
            Some(token) => {
                let _turn = self.in_flight.turn(&call.sender, LONG_FROM + 1).await;
                apart_always(|| self.go_on(call, &prefix, token))?
            }
            None => self.snapshot(call, &prefix, limit).await?,
        };
        if !selector.is_empty() {
            objects = self.selected(call, &selector, objects).await;
        }
        let mut listing = Listing {
            objects,
            revision,
            go_on: None,
            remaining: None,
        };
        if let Some(limit) = limit.filter(|limit| listing.objects.len() > *limit) {
            let remaining = listing.objects.len() - limit;
            apart(remaining, || listing.objects.truncate(limit));
            let last = listing
                .objects
                .last()
                .map(|object| &object.key().as_str()[prefix.len()..]);
            listing.go_on = Some(token(listing.revision, last.unwrap_or_default()));
            listing.remaining = selector.is_empty().then_some(remaining);
        }
        Ok(listing)
    }

    /// The objects that match. They are compared in a turn of the user: the answer may be short, and to find it still takes long.
    async fn selected(
        &self,
        call: &Call,
        selector: &Selector,
        mut objects: Vec<Arc<Stored>>,
    ) -> Vec<Arc<Stored>> {
        let weight = objects
            .iter()
            .map(|object| VISITED + selector.weight(object))
            .sum();
        let select = || {
            objects.retain(|object| selector.matches(object));
            objects
        };
        let _turn = self.in_flight.turn(&call.sender, weight).await;
        match weight > LONG_FROM {
            true => apart_always(select),
            false => select(),
        }
    }

    pub(crate) fn selector(&self, call: &Call) -> Answer<Selector> {
        Selector::parse(
            &call.resource,
            call.query.get("labelSelector"),
            call.query.get("fieldSelector"),
        )
    }

    async fn snapshot(&self, call: &Call, prefix: &str, limit: Option<usize>) -> Answer<Range> {
        let wanted = wanted(call, limit)?;
        // Nothing is waited for in a turn that others wait for.
        match wanted {
            Wanted::Exactly(revision) => {
                self.wait_for(revision).await?;
                let _turn = self.in_flight.turn(&call.sender, LONG_FROM + 1).await;
                let range = apart_always(|| self.store.range_at(prefix, revision));
                range.map_err(|compacted| {
                    Failure::expired(format!(
                        "The resourceVersion for the provided list is too old. ({compacted})"
                    ))
                })
            }
            Wanted::NotOlderThan(revision) => {
                self.wait_for(revision).await?;
                let turn = self.in_flight.turn(&call.sender, 0).await;
                if let Some(range) = self.store.range_up_to(prefix, MOST_AT_ONCE) {
                    return Ok(range);
                }
                drop(turn);
                let _turn = self.in_flight.turn(&call.sender, LONG_FROM + 1).await;
                Ok(apart_always(|| self.store.range(prefix)))
            }
        }
    }

    /// The objects behind those of the page before.
    fn go_on(&self, call: &Call, prefix: &str, text: &str) -> Answer<Range> {
        if listed_version(call)?.is_some_and(|revision| revision > 0) {
            return Err(Failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let bad = |why: String| Failure::bad_request(format!("continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|error| bad(error.to_string()))?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let behind = |mut range: Range| {
            let is_behind = |object: &Arc<Stored>| object.key().as_str()[prefix.len()..] > *token.start;
            range.objects.retain(is_behind);
            range
        };
        let Ok(revision) = u64::try_from(token.rv) else {
            return Ok(behind(self.store.range(prefix)));
        };
        if revision > self.store.revision() {
            return Err(bad(format!("revision {revision} has not been reached")));
        }
        match self.store.range_at(prefix, revision) {
            Ok(range) => Ok(behind(range)),
            Err(_) => Err(Failure::expired_continue(encode(-1, &token.start))),
        }
    }

    /// Waits until a revision is there, for a moment.
    pub(crate) async fn wait_for(&self, revision: u64) -> Answer<()> {
        let mut changes = self.store.subscribe();
        let reached = changes.wait_for(|current| *current >= revision);
        match tokio::time::timeout(REVISION_TIMEOUT, reached).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Failure::too_new(revision, self.store.revision())),
        }
    }

    pub(super) async fn serve_read(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        let (form, encoding) = read_form(&call.headers)?;
        let resource = &call.resource;
        let is_whole = (form, encoding) == (Form::Object, Encoding::Protobuf);
        if is_whole && !protobuf::is_written(&resource.api_version(), &resource.kind) {
            return Err(Failure::not_acceptable());
        }
        let bytes = match verb {
            Verb::Watch => {
                let stream = self.watch(call, form, encoding).await?;
                return Ok(body::stream(encoding.stream_type(), stream));
            }
            Verb::List => {
                let mut listing = self.list(&call).await?;
                let text = self.show_in_turn(&call, &mut listing, form, encoding).await?;
                self.confirm(&call)?;
                text
            }
            _ => {
                let object = self.get(&call)?;
                self.show(&call, &object, form, encoding, Headers::Show)?
            }
        };
        Ok(body::typed(StatusCode::OK, encoding.content_type(), bytes))
    }

    /// Writes a list in a turn of the user, and lets its objects go in the same turn: very many take long to let go.
    pub(super) async fn show_in_turn(
        &self,
        call: &Call,
        listing: &mut Listing,
        form: Form,
        encoding: Encoding,
    ) -> Answer<Bytes> {
        let bytes = listing
            .objects
            .iter()
            .map(|object| VISITED + object.bytes().len());
        let weight = weighed(form, encoding, bytes.sum());
        let _turn = self.in_flight.turn(&call.sender, weight).await;
        let mut show = || {
            let text = match encoding {
                Encoding::Json => self.show_list(call, listing, form),
                Encoding::Protobuf => self.encode_list(call, listing, form),
            };
            listing.objects = Vec::new();
            text
        };
        match weight > LONG_FROM {
            true => apart_always(show),
            false => show(),
        }
    }
}

/// The state that a list is of.
enum Wanted {
    /// The state of this revision, which may be past.
    Exactly(u64),
    /// The present one, which has at least this revision.
    NotOlderThan(u64),
}

fn wanted(call: &Call, limit: Option<usize>) -> Answer<Wanted> {
    let revision = listed_version(call)?;
    match (call.query.get("resourceVersionMatch"), revision) {
        (Some(_), None) => Err(list_options(FieldError::forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ))),
        (Some("Exact"), Some(0)) => Err(list_options(FieldError::forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
        ))),
        (None, Some(revision)) if limit.is_some() && revision > 0 => Ok(Wanted::Exactly(revision)),
        (Some("Exact"), Some(revision)) => Ok(Wanted::Exactly(revision)),
        (None | Some("NotOlderThan"), revision) => Ok(Wanted::NotOlderThan(revision.unwrap_or(0))),
        (Some(other), _) => Err(list_options(FieldError::not_supported(
            "resourceVersionMatch",
            &other.into(),
            &["Exact".into(), "NotOlderThan".into()],
        ))),
    }
}

/// A list notices a version that is no number early, a watch late.
fn listed_version(call: &Call) -> Answer<Option<u64>> {
    resource_version(call)
        .map_err(|failure| Failure::bad_request(format!("invalid resource version: {}", failure.message())))
}

pub(crate) fn resource_version(call: &Call) -> Answer<Option<u64>> {
    let Some(text) = call.query.get("resourceVersion") else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let why = format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        );
        Failure::late(why)
    })
}

fn list_options(error: FieldError) -> Failure {
    Failure::invalid_options("ListOptions", &error)
}

fn token(revision: u64, last: &str) -> String {
    encode(i64::try_from(revision).unwrap_or(-1), last)
}

fn encode(rv: i64, start: &str) -> String {
    let token = json!(Token {
        v: "meta.k8s.io/v1".into(),
        rv,
        start: start.into()
    });
    URL_SAFE_NO_PAD.encode(token.to_string())
}
